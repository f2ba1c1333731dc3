"""Every kind of file gives the same scores; what is wrong in one is said with its column, row and line."""

import io
import json

import numpy as np
import pytest
from small_table import TABLE, write_csv

import scorebars as sb

METRIC = ("-m", "rmse", "--json", "-q")


def scores(result):
    assert result.exit_code == 0, result.stderr
    return {row["model"]: row["expected"] for row in json.loads(result.stdout)["scores"]}


@pytest.fixture
def expected():
    y, yerr = np.array(TABLE["y"]), np.array(TABLE["y_err"])
    return {
        name: float(sb.root_mean_squared_error(y, np.array(TABLE[f"pred_{name}"]), yerr=yerr))
        for name in ("drop", "shell")
    }


def write_fits(path):
    from astropy.table import Table

    Table(TABLE).write(path)


def write_ecsv(path):
    from astropy.table import Table

    Table(TABLE).write(path, format="ascii.ecsv")


def write_netcdf(path):
    import xarray

    xarray.Dataset({name: ("nucleus", values) for name, values in TABLE.items()}).to_netcdf(path)


def write_parquet(path):
    import pyarrow as pa
    import pyarrow.parquet

    pa.parquet.write_table(pa.table(TABLE), path)


def write_feather(path):
    import pyarrow as pa
    import pyarrow.feather

    pa.feather.write_feather(pa.table(TABLE), path)


def write_gz(path):
    import gzip

    plain = write_csv(path.with_suffix(".plain"), TABLE)
    path.write_bytes(gzip.compress(plain.read_bytes()))


WRITERS = {
    "t.csv": lambda path: write_csv(path, TABLE),
    "t.tsv": lambda path: write_csv(path, TABLE, "\t"),
    "t.txt": lambda path: write_csv(path, TABLE, ";"),
    "t.csv.gz": write_gz,
    "t.parquet": write_parquet,
    "t.feather": write_feather,
    "t.fits": write_fits,
    "t.ecsv": write_ecsv,
    "t.nc": write_netcdf,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file(run, tmp_path, expected, name):
    WRITERS[name](tmp_path / name)
    assert scores(run("evaluate", tmp_path / name, *METRIC)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_through_a_pipe(run, tmp_path, expected, name):
    WRITERS[name](tmp_path / name)
    found = scores(run("evaluate", "-", *METRIC, input=(tmp_path / name).read_bytes()))
    assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.fits"])
def test_folder(run, tmp_path, expected, name):
    """Two halves in two files are the whole."""
    folder = tmp_path / "parts"
    folder.mkdir()
    whole = TABLE.copy()
    for k, part in enumerate((slice(0, 5), slice(5, None))):
        TABLE.update({key: values[part] for key, values in whole.items()})
        try:
            WRITERS[name](folder / f"{k}{name}")
        finally:
            TABLE.update(whole)
    (folder / "_SUCCESS").write_text("")
    assert scores(run("evaluate", folder, *METRIC)) == pytest.approx(expected, rel=1e-14)


def test_comments_above_the_header(run, tmp_path, expected):
    path = write_csv(tmp_path / "t.csv", TABLE)
    path.write_text("# made by hand\n#\n" + path.read_text())
    assert scores(run("evaluate", path, *METRIC)) == pytest.approx(expected)
    path.write_text(path.read_text().replace("0.15", "x"))
    assert "row 5 (line 8 of t.csv): 'x'" in " ".join(run("evaluate", path, *METRIC).stderr.split())


def test_kind_named_by_option(run, tmp_path, expected):
    path = write_csv(tmp_path / "table.data", TABLE)
    assert scores(run("evaluate", path, "--format", "csv", *METRIC)) == pytest.approx(expected)
    assert "does not say what it is" in run("evaluate", path).stderr


def test_asymmetric_errors_and_limits(run, tmp_path):
    y, low, high, p = [5.0, 6.0, 7.5, 9.0], [0.2, 0.1, 0.4, 0.3], [0.4, 0.2, 0.2, 0.6], [5.2, 6.1, 7.1, 9.9]
    expected = float(sb.root_mean_squared_error(y, p, yerr=[low, high]))
    errors = write_csv(tmp_path / "e.csv", {"y": y, "y_lo": low, "y_hi": high, "pred": p})
    assert scores(run("evaluate", errors, *METRIC))["pred"] == pytest.approx(expected)
    ends = {"y_lo": list(np.subtract(y, low)), "y_hi": list(np.add(y, high))}
    limits = write_csv(tmp_path / "l.csv", {"y": y, **ends, "pred": p})
    asked = run("evaluate", limits, *METRIC)
    assert asked.exit_code == 2
    assert "are 'y_lo' and 'y_hi' errors or limits?" in asked.stderr
    assert scores(run("evaluate", limits, "--limits", "y_lo,y_hi", *METRIC))["pred"] == pytest.approx(expected)
    assert "is above the label in row 1" in run("evaluate", limits, "--limits", "y_hi,y_lo").stderr


def test_netcdf_grid_is_broadcast(run, tmp_path):
    import xarray

    rng = np.random.default_rng(3)
    y, p = rng.normal(size=(2, 4, 3))
    sigma = np.array([0.1, 0.2, 0.3])
    data = xarray.Dataset({"y": (("time", "x"), y), "y_err": ("x", sigma), "pred": (("time", "x"), p)})
    data.to_netcdf(tmp_path / "g.nc")
    expected = float(sb.root_mean_squared_error(y.ravel(), p.ravel(), yerr=np.tile(sigma, 4)))
    assert scores(run("evaluate", tmp_path / "g.nc", *METRIC))["pred"] == pytest.approx(expected)
    data["y"][2, 1] = np.nan
    data.to_netcdf(tmp_path / "h.nc")
    assert "column 'y' has no value in time 2, x 1." in run("evaluate", tmp_path / "h.nc").stderr


def test_units(run, tmp_path):
    from astropy import units as u
    from astropy.table import QTable

    y, p = np.array([1.0, 2.0, 3.0]), np.array([1.1, 2.2, 2.8])
    QTable({"y": y * u.mJy, "y_err": 0.1 * u.mJy * np.ones(3), "pred": p * u.mJy}).write(tmp_path / "a.ecsv")
    assert "in mJy" in run("evaluate", tmp_path / "a.ecsv", "-m", "rmse").stdout
    QTable({"y": y * u.mJy, "y_err": 0.1 * u.mJy * np.ones(3), "pred": p / 1000 * u.Jy}).write(tmp_path / "b.ecsv")
    refused = run("evaluate", tmp_path / "b.ecsv")
    assert refused.exit_code == 2
    assert "column 'pred' is in Jy but 'y' is in mJy. Convert them to one unit first." in refused.stderr
    QTable({"y": y * u.mJy, "pred": p}).write(tmp_path / "c.ecsv")
    assert "no unit is given for pred: taken to be mJy" in run("evaluate", tmp_path / "c.ecsv", "-m", "rmse").stderr


def test_rows_left_out_on_request(run, tmp_path, table):
    table["y_err"][3], table["pred_shell"][7] = None, None
    path = write_csv(tmp_path / "t.csv", table)
    done = run("evaluate", path, "--nan-policy", "omit", "-m", "rmse", "--json")
    kept = [k for k in range(12) if k not in (3, 7)]
    y, p, s = (np.array([TABLE[c][k] for k in kept]) for c in ("y", "pred_drop", "y_err"))
    found = json.loads(done.stdout)
    assert (found["n"], found["omitted"]) == (10, 2)
    assert found["scores"][0]["expected"] == pytest.approx(float(sb.root_mean_squared_error(y, p, yerr=s)))
    assert "2 of 12 rows have missing values and were left out, for every model." in done.stderr


def changed(column, row, value):
    return lambda table: table[column].__setitem__(row, value)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (changed("y", 2, None), "column 'y' has no value in row 3 (line 4 of t.csv). Fill in the values"),
        (changed("y_err", 5, "oops"), "column 'y_err' holds no number in row 6 (line 7 of t.csv): 'oops'."),
        (changed("y_err", 5, -1), "column 'y_err' is negative in row 6 (line 7 of t.csv): -1.0. An error is"),
        (changed("pred_drop", 0, "inf"), "column 'pred_drop' is infinite in row 1 (line 2 of t.csv): inf."),
        (
            lambda t: t.update(w=[-1.0] * 12),
            "column 'w' is negative in row 1 (line 2 of t.csv): -1.0, and in 11 more rows.",
        ),
        (lambda t: t.update(y=["a,b"] * 12), "line 2 of t.csv has 7 cells, but there are 6 column names."),
        (lambda t: [v.clear() for v in t.values()], "t.csv has column names but no rows."),
    ],
)
def test_bad_cells(run, tmp_path, table, change, text):
    change(table)
    done = run("evaluate", write_csv(tmp_path / "t.csv", table))
    assert done.exit_code == 2
    assert text in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "t.csv is empty"),
        (b"1.0,0.1,1.2\n2.0,0.1,2.2\n", "t.csv starts with numbers, not with column names"),
        (b"y,y_err,pred\n1,2,3\n\0\0\0,1,1\n", "t.csv cannot be read as a text: it holds bytes of 0."),
        (b"y,y,pred\n1,2,3\n", "t.csv has 2 columns called 'y'. Rename them."),
    ],
)
def test_bad_text_files(run, tmp_path, content, text):
    (tmp_path / "t.csv").write_bytes(content)
    done = run("evaluate", tmp_path / "t.csv")
    assert done.exit_code == 2
    assert text in done.stderr


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.fits", "t.ecsv", "t.nc"])
def test_damaged_files(run, tmp_path, name):
    (tmp_path / name).write_bytes(b"this is not what the ending says, by far not, not at all")
    done = run("evaluate", tmp_path / name)
    assert done.exit_code == 2, done.stderr
    assert f"{name} cannot be read" in done.stderr


def test_missing_file_names_its_neighbour(run, masses):
    done = run("evaluate", masses.with_name("mases.csv"))
    assert done.exit_code == 2
    assert f"Didyoumean{masses}?" in "".join(done.stderr.split())


def test_folder_of_different_tables(run, tmp_path, table):
    write_csv(tmp_path / "a.csv", table)
    table["extra"] = table["y"]
    write_csv(tmp_path / "b.csv", table)
    assert "differ in their columns: b.csv has 'extra', a.csv has not." in " ".join(
        run("evaluate", tmp_path).stderr.split()
    )


def test_shipped_data_sets(run):
    masses = sb.datasets.load_nuclear_masses()
    found = scores(run("evaluate", "dataset:nuclear_masses", *METRIC))
    for model, value in found.items():
        assert value == float(sb.root_mean_squared_error(masses.y, masses.predictions[model], yerr=masses.yerr))
    assert len(found) == 7
    assert "Did you mean dataset:nuclear_masses?" in run("evaluate", "dataset:nuclear_mases").stderr


def test_empty_pipe(run):
    assert "standard input is empty" in run("evaluate", "-", input=io.BytesIO(b"").read()).stderr
