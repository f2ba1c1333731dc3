"""Datasets on disk give what all rows at once give; bad rows are named by their place."""

from itertools import pairwise

import numpy as np
import pytest

import scorebars as sb

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.dataset")
import pyarrow.csv as pacsv  # noqa: E402
import pyarrow.dataset as pads  # noqa: E402
import pyarrow.feather as pafeather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

N = 90_000
METRICS = ["root_mean_squared_error", "mean_absolute_error", "mean_error"]
COLUMNS = {"y": "y", "pred": ["a", "b"], "yerr": "err", "sample_weight": "w"}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    y = rng.normal(3.0, 2.0, N)
    columns = {"y": y, "a": y + 0.3 * rng.standard_normal(N), "b": np.round(y), "w": rng.gamma(2.0, size=N)}
    return pa.table({**columns, "err": 0.2 * np.exp(0.5 * rng.standard_normal(N)), "unused": ["x"] * N})


@pytest.fixture(scope="module")
def whole(table):
    arrays = {name: table[name].to_numpy() for name in ("y", "a", "b", "err", "w")}
    models = {"a": arrays["a"], "b": arrays["b"]}
    return sb.evaluate(arrays["y"], models, yerr=arrays["err"], sample_weight=arrays["w"], metrics=METRICS)


def write(folder, table, ending, cuts=(0, 1000, 1000, 60_000, N)):
    writers = {"parquet": pq.write_table, "csv": pacsv.write_csv, "feather": pafeather.write_feather}
    folder.mkdir(exist_ok=True)
    for k, (start, stop) in enumerate(pairwise(cuts)):
        writers[ending](table.slice(start, stop - start), str(folder / f"part{k}.{ending}"))
    return folder


@pytest.mark.parametrize("ending", ["parquet", "csv", "feather"])
def test_a_folder_gives_the_scores_of_all_rows(tmp_path, table, whole, ending):
    cuts = (0, 1000, 1000, 60_000, N) if ending != "csv" else (0, 1000, 60_000, N)
    folder = write(tmp_path / "data", table, ending, cuts)
    for source in (folder, str(folder), pads.dataset(folder, format=ending)):
        found = sb.evaluate(source, metrics=METRICS, **COLUMNS)
        assert (found.models, found.n) == (["a", "b"], N)
    for key, score in found:
        low, high = whole[key[:2]].interval()
        assert score.expected == pytest.approx(whole[key[:2]].expected, rel=1e-12)
        assert score.std == pytest.approx(whole[key[:2]].std, rel=1e-12)
        assert np.allclose(score.interval(), (low, high), rtol=0, atol=1e-9 * (high - low))


def test_one_file_and_a_number_for_all_errors(tmp_path, table):
    path = tmp_path / "one.parquet"
    pq.write_table(table, path)
    found = sb.evaluate(path, y="y", pred="a", yerr=0.2, metrics="mean_error")
    y, p = table["y"].to_numpy(), table["a"].to_numpy()
    assert found["mean_error"].std == pytest.approx(sb.mean_error(y, p, yerr=0.2).std, rel=1e-12)


def test_whole_numbers_single_precision_and_classes(tmp_path):
    rng = np.random.default_rng(2)
    label, shown = rng.integers(0, 3, 70_000), rng.integers(0, 3, 70_000)
    texts = pa.array(np.array(["cat", "dog", "emu"])[label]).dictionary_encode()
    small = pa.table(
        {"k": label, "f": shown.astype(np.float32), "c": texts, "d": np.array(["cat", "dog", "emu"])[shown]}
    )
    pq.write_table(small, tmp_path / "small.parquet")
    found = sb.evaluate(tmp_path / "small.parquet", y="k", pred="f", metrics="mean_squared_error")
    assert found["mean_squared_error"].observed == pytest.approx(np.mean((label - shown) ** 2), rel=1e-12)
    classes = sb.evaluate(tmp_path / "small.parquet", y="c", pred="d", yerr=0.1, metrics="accuracy_score")
    assert classes["accuracy_score"].observed == pytest.approx(np.mean(label == shown), rel=1e-12)


def spoiled(table, column, row, value):
    values = table[column].to_pylist()
    values[row] = value
    return table.set_column(table.column_names.index(column), column, pa.array(values, pa.float64()))


@pytest.mark.parametrize(
    ("column", "value", "match"),
    [
        ("a", None, r"column 'a' has missing values: the first in row 61000 of the dataset \(row 1000 of .*part3"),
        ("y", np.nan, r"column 'y' contains NaN: the first is nan in row 61000 of the dataset"),
        ("err", -1.0, r"column 'err' has negative values: the first is -1\.0 in row 61000 of the dataset"),
        ("w", -1.0, r"column 'w' has negative values: the first is -1\.0 in row 61000"),
        ("b", np.inf, r"column 'b' contains infinity: the first is inf in row 61000"),
    ],
)
def test_a_bad_value_is_named_by_its_row_and_file(tmp_path, table, column, value, match):
    folder = write(tmp_path / "data", spoiled(table, column, 61_000, value), "parquet")
    with pytest.raises(ValueError, match=match):
        sb.evaluate(folder, metrics=METRICS, **COLUMNS)


def test_what_cannot_be_read(tmp_path, table):
    path = tmp_path / "one.parquet"
    pq.write_table(table.slice(0, 10), path)
    with pytest.raises(ValueError, match=r"pred\[0\] names a column 'aa' that the data do not have"):
        sb.evaluate(path, y="y", pred=["aa"])
    with pytest.raises(ValueError, match="pred is empty"):
        sb.evaluate(path, y="y", pred=[])
    with pytest.raises(ValueError, match="sample_weight must be the name"):
        sb.evaluate(path, y="y", pred="a", sample_weight=3)
    with pytest.raises(ValueError, match="name the columns of a dataset"):
        sb.evaluate(pads.dataset(path), y="y")
    with pytest.raises(ValueError, match="needs all labels at once"):
        sb.evaluate(path, y="y", pred="a", metrics="max_error")
    with pytest.raises(FileNotFoundError, match="there is no file or folder"):
        sb.evaluate(tmp_path / "none.parquet", y="y", pred="a")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ValueError, match=r"notes\.txt has column names but no rows"):
        sb.evaluate(tmp_path / "notes.txt", y="y", pred="a")
    (tmp_path / "notes.doc").write_text("hello")
    with pytest.raises(ValueError, match=r"the ending of notes\.doc does not say what it is"):
        sb.Accumulator().update_from(tmp_path / "notes.doc", y="y", pred="a")
    pq.write_table(table.slice(0, 0), tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="the dataset has no rows"):
        sb.evaluate(tmp_path / "empty.parquet", y="y", pred="a")


def test_datasets_add_up_in_one_accumulator(tmp_path, table, whole):
    halves = [
        write(tmp_path / name, table.slice(start, N // 2), "parquet", (0, N // 2))
        for name, start in (("first", 0), ("second", N // 2))
    ]
    total = sb.Accumulator(METRICS)
    for folder in halves:
        assert total.update_from(folder, **COLUMNS) is total
    assert total.n == N
    assert total.result()["b", "mean_error"].std == pytest.approx(whole["b", "mean_error"].std, rel=1e-12)


def test_every_run_gives_the_same_bits(tmp_path, table):
    cuts = (0, 70_000, 72_000, 80_000, N)
    folder = write(tmp_path / "data", table, "parquet", cuts)
    texts = {sb.Accumulator(METRICS).update_from(folder, **COLUMNS).to_json() for _ in range(3)}
    assert len(texts) == 1


def test_a_bad_last_batch_is_not_lost(tmp_path, table):
    folder = write(tmp_path / "data", spoiled(table, "y", N - 1, np.nan), "parquet")
    with pytest.raises(ValueError, match=f"row {N - 1} of the dataset"):
        sb.Accumulator(METRICS).update_from(folder, **COLUMNS)


def test_filters_and_folders_that_are_columns(tmp_path, table):
    site = pa.array(np.where(np.arange(N) % 3 == 0, "north", "south"))
    pads.write_dataset(
        table.append_column("site", site),
        tmp_path / "data",
        format="parquet",
        partitioning=["site"],
        partitioning_flavor="hive",
    )
    dataset = pads.dataset(tmp_path / "data", partitioning="hive")
    north = sb.evaluate(
        dataset.filter(pads.field("site") == "north"), y="y", pred="a", yerr="err", metrics="mean_error"
    )
    y, p, sigma = (table[name].to_numpy()[::3] for name in ("y", "a", "err"))
    assert north["mean_error"].std == pytest.approx(sb.mean_error(y, p, yerr=sigma).std, rel=1e-12)
    assert sb.evaluate(dataset, y="y", pred="a", metrics="mean_error").n == N
