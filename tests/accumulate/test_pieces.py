"""Data that come in pieces: what may serve every piece, which task it is, and which column is to blame."""

import numpy as np
import pandas as pd
import pytest

import scorebars as sb

pa = pytest.importorskip("pyarrow")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
import pyarrow.dataset as pads  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

Y = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
P = np.array([1.1, 1.8, 3.3, 4.0, 5.4, 5.9])
ERR = np.array([0.1, 0.2, 3.0, 0.4, 0.5, 0.6])
TABLE = pa.table({"y": Y, "p": P, "err": ERR, "lo": ERR, "hi": 2 * ERR, "w": 1 + ERR})
PER_LABEL = [ERR[:3], ERR, ERR.tolist(), sb.Normal(ERR[:3]), sb.Normal(ERR), pa.array(ERR), pd.Series(ERR)]


def folder(path, table=TABLE):
    path.mkdir(exist_ok=True)
    for k, start in enumerate(range(0, table.num_rows, 3)):
        pq.write_table(table.slice(start, 3), path / f"{k}.parquet")
    return path


def frame(table=TABLE):
    return dd.from_pandas(table.to_pandas(), npartitions=2)


@pytest.fixture(params=["folder", "frame"])
def pieces(request, tmp_path):
    return folder(tmp_path / "two") if request.param == "folder" else frame()


# what may serve every piece ------------------------------------------------------------------------


@pytest.mark.parametrize("yerr", PER_LABEL, ids=lambda yerr: type(yerr).__name__)
def test_errors_of_single_labels_must_be_a_column(pieces, yerr):
    with pytest.raises(ValueError, match=r"yerr is a .*, but labels come in pieces.*: put them in a column"):
        sb.evaluate(pieces, y="y", pred="p", yerr=yerr, metrics="mean_error")


@pytest.mark.parametrize("weight", [ERR, ERR[:3], [1.0, 2.0, 3.0], 2.0])
def test_weights_must_be_a_column(pieces, weight):
    with pytest.raises(ValueError, match=r"sample_weight must be the name of a column, not a .*Put them in a column"):
        sb.evaluate(pieces, y="y", pred="p", sample_weight=weight, metrics="mean_error")


def test_flips_of_single_labels_must_be_a_column(tmp_path):
    classes = pa.table({"y": [0, 1, 0, 1, 0, 1], "p": [0, 1, 1, 1, 0, 1]})
    for yerr in (sb.Flip(ERR[:3] / 10), sb.Votes([[3, 1]] * 3, [0, 1])):
        with pytest.raises(ValueError, match=r"yerr is a .* of 3 labels, but labels come in pieces"):
            sb.evaluate(folder(tmp_path / "classes", classes), y="y", pred="p", yerr=yerr, metrics="accuracy_score")


@pytest.mark.parametrize("yerr", [None, 0.3, 1, np.float32(0.3), np.int64(1), np.array(0.3), sb.Normal(0.3), "err"])
def test_what_serves_all_labels(pieces, yerr):
    found = sb.evaluate(pieces, y="y", pred="p", yerr=yerr, sample_weight="w", metrics="mean_error")["mean_error"]
    whole = sb.mean_error(Y, P, yerr=ERR if isinstance(yerr, str) else yerr, sample_weight=1 + ERR)
    assert (found.n, found.std) == (6, pytest.approx(whole.std, rel=1e-14))


@pytest.mark.parametrize("yerr", [0.1, 1, np.float32(0.1), np.int64(1), sb.Normal(0.1), sb.Normal(0.1, kind="berkson")])
def test_dask_arrays_take_errors_for_all_labels(yerr):
    y, p = da.from_array(Y, chunks=4), da.from_array(P, chunks=4)
    found = sb.evaluate(y, p, yerr=yerr, metrics="mean_error")["mean_error"]
    assert found.to_dict() == sb.mean_error(Y, P, yerr=yerr).to_dict()


def test_dask_arrays_take_flips_and_dask_errors():
    y, p = (da.from_array(values > 3, chunks=4) for values in (Y, P + 2))
    found = sb.evaluate(y, p, yerr=sb.Flip(0.1), metrics="accuracy_score")["accuracy_score"]
    assert found.to_dict() == sb.accuracy_score(Y > 3, P + 2 > 3, yerr=0.1).to_dict()
    y, p, err = (da.from_array(values, chunks=chunks) for values, chunks in ((Y, 4), (P, 4), (ERR, 5)))
    found = sb.evaluate(y, p, yerr=err, sample_weight=2.0, metrics="mean_error")["mean_error"]
    assert found.std == pytest.approx(sb.mean_error(Y, P, yerr=ERR).std, rel=1e-14)


def test_dask_arrays_refuse_other_errors_of_single_labels():
    y, p = da.from_array(Y, chunks=3), da.from_array(P, chunks=3)
    for yerr in (ERR, ERR[:3], ERR.tolist()):
        with pytest.raises(TypeError, match=r"yerr is a .*, but y_true is a dask array: make it one too"):
            sb.evaluate(y, p, yerr=yerr)
    with pytest.raises(
        ValueError, match=r"yerr is a Normal of 3 labels, .*: give the errors of the labels as a dask array"
    ):
        sb.evaluate(y, p, yerr=sb.Normal(ERR[:3]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples: 6 and 3"):
        sb.evaluate(y, p, yerr=da.from_array(ERR[:3], chunks=3))
    with pytest.raises(TypeError, match="yerr is a str, but y_true is a dask array"):
        sb.evaluate(y, p, yerr="err")
    with pytest.raises(TypeError, match=r"y_pred.* is a float, but y_true is a dask array"):
        sb.evaluate(y, 1.0)


# names ---------------------------------------------------------------------------------------------


def test_models_by_name(pieces):
    found = sb.evaluate(pieces, y="y", pred={"forest": "p", "itself": "y"}, yerr=0.1, metrics="mean_error")
    assert found.models == ["forest", "itself"]
    assert found["forest", "mean_error"] == pytest.approx(np.mean(P - Y), rel=1e-13)
    assert sb.evaluate(TABLE, y="y", pred={"forest": "p"}, metrics="mean_error").models == ["forest"]
    with pytest.raises(ValueError, match=r"pred\['forest'\] names a column 'q' that the data do not have"):
        sb.evaluate(pieces, y="y", pred={"forest": "q"})
    with pytest.raises(ValueError, match="y must be the name of a column, not a ndarray"):
        sb.evaluate(pieces, y=Y, pred="p")
    with pytest.raises(ValueError, match="pred holds a ndarray: give the name of a column"):
        sb.evaluate(pieces, y="y", pred=[P])


def test_two_columns_of_one_name_are_refused():
    twice = pa.table([pa.array(Y), pa.array(P), pa.array(P)], names=["y", "p", "p"])
    with pytest.raises(ValueError, match=r"pred\[0\] names a column 'p' that occurs 2 times: rename them"):
        sb.evaluate(twice.to_reader(), y="y", pred="p")


def test_two_columns_of_errors_are_lower_and_upper_errors(pieces):
    with pytest.raises(ValueError, match="two columns, 'lo' and 'hi': lower and upper errors cannot be summed up"):
        sb.evaluate(pieces, y="y", pred="p", yerr=["lo", "hi"])
    with pytest.raises(ValueError, match=r"yerr\[1\] names a column 'high' that the data do not have"):
        sb.evaluate(pieces, y="y", pred="p", yerr=("lo", "high"))


@pytest.mark.parametrize(
    ("column", "values", "options", "match"),
    [
        ("p", [1.0, np.nan, 1.0], {}, "column 'p' contains NaN: the first is nan"),
        (
            "y",
            ["a", "b", "c"],
            {"metrics": "mean_error"},
            "column 'y' holds no numbers but str|column 'y' holds values of",
        ),
        (
            "err",
            [0.1, 0.1, 2.0],
            {"metrics": "accuracy_score"},
            r"column 'err' has values outside \[0, 1\]: the first is 2.0",
        ),
        ("p", [0.0, 1.5, 1.0], {"metrics": "accuracy_score"}, "column 'p' holds continuous values"),
    ],
)
def test_errors_name_the_column(tmp_path, column, values, options, match):
    columns = {"y": [0.0, 1.0, 0.0], "p": [0.0, 1.0, 1.0], "err": [0.1, 0.1, 0.1]}
    bad = pa.table({name: values if name == column else given for name, given in columns.items()})
    for data in (folder(tmp_path / "bad", bad), frame(bad)):
        with pytest.raises(ValueError, match=match):
            sb.evaluate(data, y="y", pred="p", yerr="err", **options)


# the task ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array([True, False, True, False, True, False]),
        np.array(["a", "b", "a", "b", "a", "b"]),
        np.array([1, 0, 1, 0, 1, 0]),
        np.array([1.5, 0.5, 1.0, 0.0, 1.0, 0.0]),
    ],
    ids=["bool", "text", "int", "float"],
)
def test_the_task_is_guessed_as_in_memory(tmp_path, labels):
    shown = labels[::-1].copy()
    whole = sb.evaluate(labels, {"p": shown}, yerr=0.1)
    table = pa.table({"y": labels, "p": shown})
    encoded = pa.table({name: table[name].combine_chunks().dictionary_encode() for name in ("y", "p")})
    for data in (
        folder(tmp_path / "plain", table),
        folder(tmp_path / "coded", encoded),
        frame(table),
        table.to_reader(),
    ):
        assert sb.evaluate(data, y="y", pred="p", yerr=0.1).to_dict() == whole.to_dict()
    arrays = da.from_array(labels, chunks=4), {"p": da.from_array(shown, chunks=4)}
    assert sb.evaluate(*arrays, yerr=0.1).to_dict() == whole.to_dict()
    objects = da.from_array(labels.astype(object), chunks=4)
    assert sb.evaluate(objects, arrays[1], yerr=0.1).metrics == whole.metrics


def test_nullable_columns_and_error_models_tell_the_task(tmp_path):
    table = pd.DataFrame({"y": pd.array([1, 0, 1, 0], dtype="Int64"), "p": [1, 0, 0, 0]})
    data = dd.from_pandas(table, npartitions=2)
    assert sb.evaluate(data, y="y", pred="p").metrics[0] == "accuracy_score"
    assert sb.evaluate(data, y="y", pred="p", task="regression").metrics[0] == "root_mean_squared_error"
    assert sb.evaluate(data, y="y", pred="p", yerr=sb.Flip(0.1)).metrics[0] == "accuracy_score"
    arrow = folder(tmp_path / "ints", pa.table({"y": [1, 0, 1, 0], "p": [1, 0, 0, 0]}))
    assert sb.evaluate(arrow, y="y", pred="p", yerr=sb.Flip(0.1)).metrics[0] == "accuracy_score"
    assert sb.evaluate(arrow, y="y", pred="p", task="classification").metrics[0] == "accuracy_score"


# what can be read ----------------------------------------------------------------------------------


def test_tables_and_readers():
    whole = sb.evaluate(Y, {"p": P}, yerr=ERR, metrics="mean_error")
    columns = {"y": "y", "pred": "p", "yerr": "err"}
    sources = (TABLE, TABLE.combine_chunks().to_batches()[0], TABLE.to_reader(max_chunksize=2), pads.dataset(TABLE))
    for source in sources:
        assert sb.Accumulator("mean_error").update_from(source, **columns).result().to_dict() == whole.to_dict()
    assert sb.evaluate(TABLE.to_reader(), **columns, metrics="mean_error").to_dict() == whole.to_dict()


@pytest.mark.parametrize("what", [5, None, {"y": [1.0]}, pa.array([1.0])])
def test_what_is_no_dataset(what):
    with pytest.raises(TypeError, match=f"dataset is a {type(what).__name__}: give the path of a Parquet"):
        sb.Accumulator().update_from(what, y="y", pred="p")
