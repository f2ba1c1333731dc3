"""Files that mean harm get an answer in words, leave nothing behind, and the server goes on."""

import csv
import gzip
import io
import zipfile
from pathlib import Path

import pytest
from web_tables import NUMBERS, csv_bytes

from scorebars.web.limits import Limits
from web_server import WebServer

EVIL = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>'


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A server with little room."""
    limits = Limits(bytes=2 << 20, rows=1000, columns=200, seconds=20, memory=600 << 20)
    with WebServer(limits, tmp_path_factory.mktemp("scratch")) as found:
        yield found


@pytest.fixture
def guest(small):
    with small.visitor() as found:
        yield found
        at = found.upload("alive.csv", csv_bytes(NUMBERS))  # the server is alive
        assert found.json(f"{at}/columns.json")["columns"]


def zipped(*members):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return sink.getvalue()


def lying_zip():
    """An archive whose directory says 10 bytes where 50 MB come out."""
    data = bytearray(zipped(("t.csv", b"y,pred_a\n" + b"1,2\n" * 12_000_000)))
    real = (9 + 4 * 12_000_000).to_bytes(4, "little")
    while (at := data.find(real)) >= 0:
        data[at : at + 4] = (10).to_bytes(4, "little")
    return bytes(data)


def parquet():
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table({"y": [1.0, 2.0], "pred_a": [1.0, 2.0]}), sink)
    return sink.getvalue()


HOSTILE = {
    "zip bomb": ("bomb.zip", lambda: zipped(("t.csv", b"0" * 50_000_000)), "unpack to"),
    "zip of zips": ("many.zip", lambda: zipped(*((f"{k}.csv", b"y\n1\n") for k in range(1500))), "1500 files"),
    "lying zip": ("lie.zip", lying_zip, ""),
    "zip that climbs": ("climb.zip", lambda: zipped(("../../../../tmp/climbed.csv", b"y,pred_a\n1,2\n2,3\n")), None),
    "gzip bomb": ("bomb.csv.gz", lambda: gzip.compress(b"y,pred_a\n" + b"1.0,2.0\n" * 4_000_000, 1), ""),
    "10,000 columns": ("wide.csv", lambda: b",".join(b"c%d" % k for k in range(10_000)) + b"\n" + b"1," * 9_999 + b"1\n", "10000 columns"),
    "too many rows": ("long.csv", lambda: b"y,y_err,pred_a\n" + b"1.5,0.1,2.5\n" * 1001, "1001 labels"),
    "binary junk": ("junk.csv", lambda: bytes(range(256)) * 400, ""),
    "junk as Excel": ("junk.xlsx", lambda: b"PK\x03\x04" + bytes(range(256)) * 40, ""),
    "junk as FITS": ("junk.fits", lambda: bytes(range(256)) * 40, ""),
    "junk as NetCDF": ("junk.nc", lambda: b"\x89HDF" + bytes(range(256)) * 40, ""),
    "truncated Parquet": ("cut.parquet", lambda: parquet()[:-20], ""),
    "unknown ending": ("run.exe", lambda: b"MZ", "does not say what it is"),
    "only names": ("names.csv", lambda: b"y,pred_a\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_an_error_in_words(guest, small, kind, tmp_path):
    name, made, message = HOSTILE[kind]
    at = guest.upload(name, made())
    answer = guest.client.get(f"{at}/columns.json")
    if answer.status_code == 200:
        answer = guest.client.get(f"{at}/result.json", params={"metric": "rmse"})
    if message is None:  # read as it should be, and nothing was written elsewhere
        assert answer.status_code == 200
        assert not Path("/tmp/climbed.csv").exists()
    else:
        assert answer.status_code == 422, answer.text[:300]
        said = answer.json()["problem"]
        assert message in said and "Traceback" not in said and str(small.scratch.path) not in said
    guest.client.post(f"{at}/forget")
    assert sum(file.stat().st_size for file in small.scratch.path.rglob("*") if file.is_file()) < 4 << 20


def test_an_upload_that_is_too_large_is_refused_and_removed(guest, small):
    before = set(small.scratch.path.rglob("*"))
    answer = guest.send("big.csv", b"y,pred_a\n" + b"1,2\n" * 600_000)
    assert answer.status_code == 413 and "larger than the 2 MB" in answer.json()["problem"]

    def pieces():
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="big.csv"\r\n\r\n'
        for _ in range(40):
            yield b"1" * 65536
        yield b"\r\n--x--\r\n"

    kind = {"content-type": "multipart/form-data; boundary=x", "accept": "application/json"}
    answer = guest.client.post("/upload", content=pieces(), headers=kind)  # no length is told beforehand
    assert answer.status_code == 413
    assert set(small.scratch.path.rglob("*")) == before


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"", "multipart/form-data; boundary=x"), (b"--y", "multipart/form-data; boundary=x"), (b"{}", "application/json"),
     (b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n", "multipart/form-data; boundary=x")],
)  # fmt: skip
def test_a_damaged_form_is_refused(guest, content, kind):
    answer = guest.client.post("/upload", content=content, headers={"content-type": kind, "accept": "application/json"})
    assert answer.status_code in (400, 415) and answer.json()["problem"]


@pytest.mark.parametrize(
    "name", ["../../../etc/cron.d/x.csv", "/etc/passwd.csv", "C:\\windows\\x.csv", "....csv", "a\x00b.csv"]
)
def test_the_name_of_an_upload_opens_no_path(guest, small, name):
    at = guest.upload(name, csv_bytes(NUMBERS))
    assert all(path.is_relative_to(small.scratch.path) for path in small.scratch.path.rglob("*.csv"))
    assert guest.json(f"{at}/columns.json")["columns"]


@pytest.mark.parametrize("option", [{"cov": "/etc/passwd"}, {"cov": "../../secret.txt"}])
def test_no_path_of_the_visitor_is_opened(guest, option):
    at = guest.upload("t.csv", csv_bytes(NUMBERS))
    said = guest.problem(f"{at}/result.json", {"y": "y", "pred": "pred_a", **option})
    assert "no covariance matrix yet" in said
    assert guest.client.get("/file/..%2f..%2fetc%2fpasswd/columns.json").status_code in (403, 404)
    assert guest.client.get("/static/..%2f..%2fserver.py").status_code == 404


def test_scripts_in_names_and_cells_stay_text(guest):
    table = {EVIL: NUMBERS["y"], "=cmd|' /C calc'!A0": NUMBERS["pred_a"], "site": [EVIL] * 12 + ["x"] * 12}
    sink = io.StringIO()
    out = csv.writer(sink)
    out.writerow(table)
    out.writerows(zip(*table.values(), strict=True))
    at = guest.upload(f"{EVIL}.csv", sink.getvalue().encode())
    view = {"y": EVIL, "pred": "=cmd|' /C calc'!A0", "yerr": "0.3", "metric": "rmse", "by": "site"}
    for page in ("columns", "result", "plan"):
        answer = guest.get(f"{at}/{page}", view)
        assert answer.status_code == 200, answer.text[-500:]
        assert "<img" not in answer.text and "<script>window" not in answer.text
    assert guest.get(f"{at}/export/report.html", view).status_code == 200


def test_a_question_that_takes_too_long_is_stopped(tmp_path):
    with WebServer(Limits(seconds=0.3), tmp_path) as server, server.visitor() as visitor:
        at = visitor.upload(
            "t.csv", b"y,y_err,pred_a\n" + b"".join(b"%d.5,0.1,%d.25\n" % (k, k) for k in range(150_000))
        )
        said = visitor.problem(f"{at}/result.json", {"metric": "mae"})
        assert "longer than the 0.3 seconds" in said


def test_a_question_can_be_stopped(guest):
    rows = b"".join(b"%d.5,0.1,%d.25,%d.125\n" % (k, k, k) for k in range(900))
    at = guest.upload("t.csv", b"y,y_err,pred_a,pred_b\n" + rows)
    view = {"metric": ["kendall_correlation", "spearman_correlation", "median_absolute_error", "mae", "r2", "rmse"]}
    answer = guest.client.get(f"{at}/result", params=view)
    if answer.status_code == 202:
        job = answer.text.partition('data-job="')[2].partition('"')[0]
        assert "so far" in answer.text and guest.client.post(f"/jobs/{job}/stop").status_code == 303
        assert guest.client.post("/jobs/unknown/stop").status_code == 303


@pytest.mark.parametrize("memory", [12 << 20, 1 << 20])
def test_memory_is_limited(memory, tmp_path):
    with WebServer(Limits(memory=memory), tmp_path) as server, server.visitor() as visitor:
        at = visitor.upload("t.csv", b"y,y_err,pred_a\n" + b"1.5,0.1,2.5\n" * 400_000)
        said = visitor.problem(f"{at}/result.json", {"metric": "mae"})
        assert "memory" in said and "smaller" in said
