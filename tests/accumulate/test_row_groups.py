"""Parquet files go through in row groups: whatever their sizes, types and number, nothing is lost and the order is kept."""

import numpy as np
import pytest

import scorebars as sb
from scorebars.engines import engine
from scorebars.streaming import sources
from scorebars.streaming.accumulator import LANES
from scorebars.streaming.sources import Source

pa = pytest.importorskip("pyarrow")
pads = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

N = 300_000
METRICS = ["root_mean_squared_error", "mean_absolute_error", "mean_error", "r2_score"]
COLUMNS = {"y": "y", "pred": "p", "yerr": "err"}
RNG = np.random.default_rng(8)
Y = RNG.normal(5.0, 2.0, N)
DATA = {"y": Y, "p": Y + 0.3 * RNG.standard_normal(N), "err": 0.2 * np.exp(0.5 * RNG.standard_normal(N))}


def written(folder, row_groups, **columns):
    pq.write_table(pa.table(DATA | columns), folder / "one.parquet", row_group_size=row_groups)
    return folder / "one.parquet"


def numbers(found):
    scores = [found[metric] for metric in METRICS]
    return [(score.observed, score.expected, score.std, *score.interval()) for score in scores]


@pytest.fixture(scope="module")
def in_memory():
    return numbers(sb.evaluate(DATA["y"], DATA["p"], yerr=DATA["err"], metrics=METRICS))


@pytest.mark.parametrize("row_groups", [1_000, 70_001, N])
def test_row_groups_of_any_size(tmp_path, monkeypatch, in_memory, row_groups):
    monkeypatch.setattr(sources, "ROWS", 50_000)
    path = written(tmp_path, row_groups)
    pieces = list(Source(path).pieces(["y", "p", "err"], ["y", "p", "err"]))
    assert sum(piece.rows for piece in pieces) == N
    assert len(pieces) == {1_000: 6, 70_001: 5, N: 1}[row_groups]
    read = np.concatenate([batch.column("y").to_numpy() for piece in pieces for batch in piece.batches()])
    assert np.array_equal(read, DATA["y"])
    assert np.allclose(numbers(sb.evaluate(path, metrics=METRICS, **COLUMNS)), in_memory, rtol=1e-9, atol=0)


def test_the_same_bits_on_any_number_of_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROWS", 10_000)
    path = written(tmp_path, 10_000)
    found = []
    for threads in ("1", "2", "3", str(2 * LANES)):
        monkeypatch.setenv("SCOREBARS_THREADS", threads)
        assert engine.threads() == int(threads)
        found.append(numbers(sb.evaluate(path, metrics=METRICS, **COLUMNS)))
    assert found[1:] == found[:-1]


def test_files_of_other_types_and_partitions(tmp_path, in_memory):
    """What is not in a file as it is wanted is made by the dataset: wider types, and columns that folders stand for."""
    half = N // 2
    one = {name: values[:half] for name, values in DATA.items()}
    other = {name: values[half:].astype(np.float32) for name, values in DATA.items()}
    for night, part in (("1", one), ("2", other)):
        (tmp_path / f"night={night}").mkdir()
        pq.write_table(pa.table(part), tmp_path / f"night={night}" / "part.parquet")
    dataset = pads.dataset(
        tmp_path, partitioning=pads.partitioning(pa.schema([("night", pa.float64())]), flavor="hive")
    )
    found = numbers(sb.evaluate(dataset, metrics=METRICS, **COLUMNS))
    assert np.allclose(found, in_memory, rtol=2e-6)
    night = sb.evaluate(dataset, y="y", pred="p", yerr="night", metrics="mean_squared_error")["mean_squared_error"]
    assert night.expected - night.observed == pytest.approx(0.5 * (1.0 + 4.0), rel=1e-9)


def test_an_empty_file_among_others(tmp_path, in_memory):
    written(tmp_path, N)
    empty = {name: np.empty(0) for name in DATA}
    pq.write_table(pa.table(empty), tmp_path / "empty.parquet")
    assert np.allclose(numbers(sb.evaluate(tmp_path, metrics=METRICS, **COLUMNS)), in_memory, rtol=1e-9, atol=0)


def test_a_file_that_ends_early_is_named(tmp_path):
    path = written(tmp_path, 50_000)
    whole = path.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + b"\0" * (len(whole) - footer - middle) + whole[-footer:])
    # the damage is met while the first rows are looked at, or later: threads of pyarrow read ahead as they find time
    with pytest.raises(
        (OSError, ValueError), match=r"one\.parquet cannot be read: .*[^.]\. The file is damaged or cut off"
    ):
        sb.evaluate(path, metrics=METRICS, **COLUMNS)


def test_a_bad_value_is_named_by_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROWS", 100_000)
    y = np.where(np.arange(N) == 222_222, np.nan, DATA["y"])
    path = written(tmp_path, 100_000, y=y)
    with pytest.raises(
        ValueError, match=r"column 'y' contains NaN: the first is nan in row 222222 of the dataset \(row 222222"
    ):
        sb.evaluate(path, metrics=METRICS, **COLUMNS)


def test_a_bad_value_in_a_large_batch_is_named_by_its_own_index():
    total = sb.Accumulator(METRICS).update(DATA["y"][:10], DATA["p"][:10], yerr=0.1)
    p = np.where(np.arange(N) == N - 1, np.inf, DATA["p"])
    with pytest.raises(ValueError, match=f"at index {N - 1}"):
        total.update(DATA["y"], p, yerr=0.1)
    assert total.n == 10
