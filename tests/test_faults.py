"""Faults of disks, processes, threads and files: each ends with the old result whole, or with a clear error.

`FAULTS` is the table. What needs other processes is in tests/cli/test_processes.py (Ctrl-C and TERM while reading, killed while
writing, a reader that goes away) and tests/accumulate/test_dask.py (a worker that is killed).
"""

import bz2
import errno
import gzip
import os
import pickle
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

import scorebars as sb
from scorebars._shared import writing
from scorebars.files import formats, text_files
from scorebars.streaming import accumulator, sources

pa = pytest.importorskip("pyarrow")
import pyarrow.dataset as pads  # noqa: E402
import pyarrow.feather as feather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

N = 4000
RNG = np.random.default_rng(0)
Y, P = RNG.normal(size=N), RNG.normal(size=N)
TEXT = "y,p\n" + "".join(f"{a},{b}\n" for a, b in zip(Y, P, strict=True))
COLUMNS = {"y": "y", "pred": "p", "metrics": "mean_squared_error"}
RIGHT = float(sb.mean_squared_error(Y, P))


def table(shift=0.0):
    return pa.table({"y": Y, "p": P + shift})


def written(path, shift=0.0, **options):
    """A Parquet file of several row groups, replaced in one step."""
    new = path.with_suffix(".new")
    pq.write_table(table(shift), new, row_group_size=500, write_page_checksum=True, **options)
    os.replace(new, path)
    return path


# files that change, are damaged or cut off ----------------------------------------------------------


def changing(monkeypatch, change, after=3):
    """`change()` happens when some pieces have been taken in."""
    taken, real = [], accumulator.Accumulator._take_piece

    def spy(self, *arguments):
        taken.append(1)
        if len(taken) == after:
            change()
        return real(self, *arguments)

    monkeypatch.setattr(accumulator.Accumulator, "_take_piece", spy)
    monkeypatch.setattr(sources, "ROWS", 500)
    monkeypatch.setattr(text_files, "_BLOCK", 1 << 14)


def replaced_between_pieces(tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet")
    changing(monkeypatch, lambda: written(path, 9.0))
    return lambda: sb.evaluate(path, **COLUMNS), "replaced or written to while it was being read.*read a copy"


def appended_between_pieces(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text(TEXT)

    def append():
        with path.open("a") as file:
            file.write("0,100\n" * 10)

    changing(monkeypatch, append)
    return lambda: sb.evaluate(path, **COLUMNS), "replaced or written to while it was being read"


def removed_between_pieces(tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet")
    changing(monkeypatch, path.unlink)
    return lambda: sb.evaluate(path, **COLUMNS), "was removed while it was being read"


def one_of_a_folder_replaced(tmp_path, monkeypatch):
    for name in "abc":
        written(tmp_path / f"{name}.parquet")
    changing(monkeypatch, lambda: written(tmp_path / "c.parquet", 9.0))
    return lambda: sb.evaluate(tmp_path, **COLUMNS), r"c\.parquet was replaced or written to"


def a_users_dataset_replaced(tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet")
    changing(monkeypatch, lambda: written(path, 9.0))
    return lambda: sb.evaluate(pads.dataset(path), **COLUMNS), "replaced or written to"


def replaced_while_read_as_a_whole(tmp_path, monkeypatch):
    path, real = tmp_path / "a.csv", text_files.column_values
    path.write_text(TEXT)

    def spy(column, name, file):
        if name == "p":
            path.write_text(TEXT.replace(".", ".9"))
        return real(column, name, file)

    monkeypatch.setattr(text_files, "column_values", spy)
    return lambda: sb.evaluate(path, metrics="mean_squared_error"), "replaced or written to"


def cut(tmp_path, name, contents, part=0.5):
    path = tmp_path / name
    path.write_bytes(contents[: int(len(contents) * part)])
    return path


def both_ways(path):
    """Read in pieces, and as a whole."""

    def call():
        for options in (COLUMNS, {"metrics": "mean_squared_error"}):
            with pytest.raises(ValueError, match=path.name):
                sb.evaluate(path, **options)
        return sb.evaluate(path, **COLUMNS)

    return call


def gzip_cut(tmp_path, monkeypatch):
    return both_ways(cut(tmp_path, "a.csv.gz", gzip.compress(TEXT.encode()))), "Truncated.*copy or write it again"


def bzip2_cut(tmp_path, monkeypatch):
    return both_ways(cut(tmp_path, "a.csv.bz2", bz2.compress(TEXT.encode()))), "Truncated.*copy or write it again"


def gzip_flipped(tmp_path, monkeypatch):
    contents = bytearray(gzip.compress(TEXT.encode()))
    contents[len(contents) // 2] ^= 4
    return both_ways(cut(tmp_path, "a.csv.gz", bytes(contents), 1.0)), "damaged or cut off"


def parquet_cut(tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet")
    return both_ways(cut(tmp_path, "a.parquet", path.read_bytes())), "Is it whole"


def feather_cut(tmp_path, monkeypatch):
    path = tmp_path / "a.feather"
    feather.write_feather(table(), str(path))
    return both_ways(cut(tmp_path, "a.feather", path.read_bytes())), "Is it whole"


def zip_cut(tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", TEXT)
    cut(tmp_path, "a.zip", path.read_bytes())
    return lambda: sb.evaluate(path), r"a\.zip cannot be read"


def zip_flipped(tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", TEXT)
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 3] ^= 8
    path.write_bytes(contents)
    return lambda: sb.evaluate(path), r"a\.zip cannot be read"


def flipped_bits(call):
    """No flipped bit of a Parquet file with checksums gives another score: refused, or in a part that does not count."""

    def all_of_them(path):
        good = path.read_bytes()
        places = np.random.default_rng(5).integers(0, 8 * len(good), 40)
        for place in places.tolist():
            contents = bytearray(good)
            contents[place // 8] ^= 1 << place % 8
            path.write_bytes(contents)
            try:
                found = call(path)
            except (ValueError, OSError):
                continue
            assert found == RIGHT, f"bit {place} changes the score without a word"
        contents = bytearray(good)
        contents[200] ^= 1
        path.write_bytes(contents)
        return call(path)

    return all_of_them


def checksum_in_pieces(tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet")
    run = flipped_bits(lambda path: float(sb.evaluate(path, **COLUMNS)["p", "mean_squared_error"]))
    return lambda: run(path), "CRC checksum"


def checksum_as_a_whole(tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet")
    run = flipped_bits(
        lambda path: float(sb.evaluate(path, metrics="mean_squared_error", id="none")["p", "mean_squared_error"])
    )
    return lambda: run(path), "CRC checksum.*copy or write it again"


def checksum_of_a_users_dataset(tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet")
    kept = pads.field("y") > -100

    def call(path):
        return float(sb.evaluate(pads.dataset(path).filter(kept), **COLUMNS)["p", "mean_squared_error"])

    return lambda: flipped_bits(call)(path), "CRC checksum"


def a_column_missing_in_a_later_file(tmp_path, monkeypatch):
    written(tmp_path / "a.parquet")
    pq.write_table(pa.table({"y": Y}), tmp_path / "b.parquet")
    data = pads.dataset(tmp_path)
    return lambda: sb.evaluate(data, **COLUMNS), r"column 'p' is missing in .*b\.parquet.*All files need"


# disks ------------------------------------------------------------------------------------------------


def no_room(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def disk_full_while_a_report_is_written(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(writing.os, "fsync", no_room)

    def call():
        try:
            sb.report.save(path, Y[:50], P[:50], yerr=0.1, metrics="mean_error")
        finally:
            assert path.read_text() == "old"
            assert [file.name for file in tmp_path.iterdir()] == ["report.html"]

    return call, "No space left on device"


def disk_full_behind_standard_output(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("y,p\n1,2\n2,3\n3,5\n")
    command = [
        sys.executable,
        "-m",
        "scorebars",
        "evaluate",
        str(path),
        "--csv",
        "-m",
        "mean_error",
        "--pred",
        "p",
        "--y",
        "y",
    ]

    def call():
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        assert done.returncode == 2
        raise ValueError(done.stderr)

    return call, "standard output cannot be written: no space left on device"


def disk_full_while_standard_input_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(formats.shutil, "copyfileobj", no_room)

    def call():
        with formats.opened("-"):
            pass

    return call, "standard input cannot be kept in .*no space left on device.*TMPDIR"


def disk_full_while_an_archive_is_opened(tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", TEXT)
    monkeypatch.setattr(zipfile.ZipFile, "extractall", no_room)
    return lambda: sb.evaluate(path), "a.zip cannot be kept in .*TMPDIR"


def an_archive_larger_than_the_disk(tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", TEXT)
    usage = formats.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(formats.shutil, "disk_usage", lambda _: usage._replace(free=10))
    return lambda: sb.evaluate(path), "holds .* bytes, but .* has room for 10: extract it"


def more_than_memory_in_a_small_file(tmp_path, monkeypatch):
    """A small gzip of very many rows is read in pieces, by what it holds and not by its size."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"y,p\n" + b"1,2\n2,1\n" * 100_000))
    with formats.opened(str(path)) as source:
        assert source.size < 10_000 < 700_000 < source.bytes_held(2) < 900_000
        assert 1000 < source.bytes_held(2, 1000) <= 1000 + text_files._BLOCK
    constant = tmp_path / "a.parquet"
    pq.write_table(pa.table({"y": np.ones(1 << 20), "p": np.ones(1 << 20)}), constant)
    with formats.opened(str(constant)) as source:
        assert source.size < 10_000 and source.bytes_held(2) == 16 << 20
    raise_if_streamed(monkeypatch, path)
    return lambda: _cli("evaluate", path, "--y", "y", "--pred", "p", "--by", "none"), "streamed"


def raise_if_streamed(monkeypatch, path):
    from scorebars.cli import evaluate_command

    def streamed(*_):
        raise ValueError("streamed")

    monkeypatch.setattr(evaluate_command, "STREAM_ABOVE", 100_000)
    monkeypatch.setattr(evaluate_command, "_streamed", streamed)


def _cli(*arguments):
    from typer.testing import CliRunner

    from scorebars.cli.app import app

    done = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="scorebars")
    assert done.exit_code == 2, done.stdout
    raise ValueError(" ".join(done.stderr.split()))


def no_memory_for_the_whole_file(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text(TEXT)

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(text_files.TextFile, "read", full)
    return lambda: _cli("evaluate", path, "--y", "y", "--pred", "p"), "not enough memory .*--stream"


def a_cell_far_from_the_table(tmp_path, monkeypatch):
    """The reader of spreadsheets would ask for a terabyte, and the process would end without a word."""
    rows = "".join(f'<row r="{k}"><c r="A{k}"><v>{k}</v></c><c r="B{k}"><v>{k}</v></c></row>' for k in (1, 2, 3))
    sheet = f'<worksheet><sheetData>{rows}<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
    return lambda: sb.evaluate(
        path
    ), "a.xlsx has a sheet that reaches to column XFD and row 1,048,576.*save the sheet as CSV"


def a_line_without_end(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"y,p\n1,2\n2,3\n3,4\n" + b"1" * (3 << 20)))
    return lambda: sb.evaluate(path, metrics="mean_error"), "a line is longer than 1 MiB"


def a_cell_without_end(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"y;p;" * (1 << 19)))
    return lambda: sb.evaluate(path), r"a\.csv\.gz cannot be read: field larger than field limit.*Is it a table"


# interruptions ----------------------------------------------------------------------------------------


def interrupted(error):
    """An accumulator that is interrupted while it sums up holds what it held before."""

    def fault(tmp_path, monkeypatch):
        total = sb.Accumulator("mean_squared_error").update(Y, P, yerr=0.1)
        before = total.to_json()

        def stop(*_):
            raise error("stopped")

        def call():
            monkeypatch.setattr(accumulator, "KEPT", 10)
            monkeypatch.setattr(sb.Accumulator, "_with", stop)
            try:
                total.update(Y, P + 5.0, yerr=0.1)
            except error as why:
                assert total.to_json() == before
                assert total.n == N
                raise ValueError("nothing was taken in") from why

        return call, "nothing was taken in"

    fault.__name__ = f"interrupted_by_{error.__name__}"
    return fault


def bad_rows_in_a_later_piece(tmp_path, monkeypatch):
    bad = P.copy()
    bad[3500] = np.nan
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"y": Y, "p": bad}), path, row_group_size=500)
    total = sb.Accumulator("mean_squared_error").update(Y, P, yerr=0.1)
    before = total.to_json()

    def call():
        try:
            total.update_from(path, y="y", pred={"model": "p"}, yerr=0.1)
        finally:
            assert total.to_json() == before

    return call, "column 'p' contains NaN: .*row 3500 of the dataset"


def arrays_changed_under_a_score(tmp_path, monkeypatch):
    y = np.zeros(300_000)  # smaller ones are copied
    score = sb.mean_absolute_error(y, y + 1.0, yerr=0.1)
    y[::2] = 1.0
    return lambda: score.truth, "changed"


FAULTS = [
    replaced_between_pieces,
    appended_between_pieces,
    removed_between_pieces,
    one_of_a_folder_replaced,
    a_users_dataset_replaced,
    replaced_while_read_as_a_whole,
    gzip_cut,
    bzip2_cut,
    gzip_flipped,
    parquet_cut,
    feather_cut,
    zip_cut,
    zip_flipped,
    checksum_in_pieces,
    checksum_as_a_whole,
    checksum_of_a_users_dataset,
    a_column_missing_in_a_later_file,
    disk_full_while_a_report_is_written,
    disk_full_behind_standard_output,
    disk_full_while_standard_input_is_kept,
    disk_full_while_an_archive_is_opened,
    an_archive_larger_than_the_disk,
    more_than_memory_in_a_small_file,
    no_memory_for_the_whole_file,
    a_cell_far_from_the_table,
    a_line_without_end,
    a_cell_without_end,
    interrupted(KeyboardInterrupt),
    interrupted(MemoryError),
    bad_rows_in_a_later_piece,
    arrays_changed_under_a_score,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_ends_clearly(fault, tmp_path, monkeypatch):
    call, text = fault(tmp_path, monkeypatch)
    with pytest.raises((ValueError, OSError, RuntimeError), match=f"(?s){text}"):
        call()


def test_a_file_that_stays_is_read(tmp_path):
    path = written(tmp_path / "a.parquet")
    assert float(sb.evaluate(path, **COLUMNS)["p", "mean_squared_error"]) == pytest.approx(RIGHT)


def test_a_pipe_is_no_file_that_could_change(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    from scorebars.files.formats import mark_of

    assert mark_of(tmp_path / "pipe") is None
    assert mark_of(tmp_path / "nothing") is None


# threads --------------------------------------------------------------------------------------------


@pytest.fixture
def eager():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*works):
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as why:
            errors.append(why)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors and not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("metric", ["mean_squared_error", "accuracy_score"])
def test_threads_that_share_an_accumulator_lose_no_label(eager, metric):
    total = sb.Accumulator(metric)
    y = np.arange(2000) % 2 if metric == "accuracy_score" else Y[:2000]

    def work():
        for _ in range(30):
            total.update(y, y, yerr=0.1)

    together(*[work] * 4)
    assert total.n == 4 * 30 * 2000
    assert total.result()[metric].n == total.n


def test_accumulators_that_merge_each_other_do_not_wait_for_ever(eager):
    one, two = (sb.Accumulator("mean_error").update(Y, P, yerr=0.1) for _ in range(2))
    together(lambda: one.merge(two), lambda: two.merge(one))
    assert one.n + two.n in (4 * N, 5 * N)  # each took the other's labels, before or after it had taken its own
    one.merge(one)


def test_results_while_others_add(eager):
    total = sb.Accumulator("mean_squared_error").update(Y, Y + 1.0, yerr=0.1)
    seen = []

    def add():
        for _ in range(30):
            total.update(Y, Y + 1.0, yerr=0.1)

    def look():
        for _ in range(20):
            found = total.result()
            seen.append((found.n, found["mean_squared_error"].observed))
            assert sb.Accumulator.from_json(total.to_json()).n % N == 0
            assert pickle.loads(pickle.dumps(total)).n % N == 0

    together(add, look, add)
    assert total.n == 61 * N
    assert all(n % N == 0 and value == pytest.approx(1.0) for n, value in seen)


def test_a_copy_goes_its_own_way():
    total = sb.Accumulator("mean_error").update(Y, P, yerr=0.1)
    twin = total.copy()
    twin.update(Y, P, yerr=0.1)
    assert (total.n, twin.n, (total + twin).n) == (N, 2 * N, 3 * N)


def test_the_table_is_long_enough():
    assert len(FAULTS) + 8 >= 20
    assert Path(__file__).with_name("cli").joinpath("test_processes.py").exists()
