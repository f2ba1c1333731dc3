"""Long streams: flat memory, a bar where one is asked for, and many threads at once."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import scorebars as sb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 70_000
METRICS = ["root_mean_squared_error", "mean_absolute_error", "r2_score"]
COLUMNS = {"y": "y", "pred": "p", "yerr": "err"}


def batch(seed):
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(ROWS)
    columns = {"y": y, "p": y + 0.3 * rng.standard_normal(ROWS), "err": rng.uniform(0.1, 0.5, ROWS)}
    return pa.RecordBatch.from_pydict({name: pa.array(values) for name, values in columns.items()})


def peak_of(batches):
    """The largest memory of Python and NumPy during a stream."""
    reader = pa.RecordBatchReader.from_batches(batch(0).schema, (batch(seed) for seed in range(batches)))
    tracemalloc.start()
    try:
        found = sb.evaluate(reader, metrics=METRICS, **COLUMNS)
        return found.n, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_stream():
    """How many batches are in the works at once is a matter of chance; 40 of them would take four times as much as 10."""
    (few, small), (many, large) = peak_of(10), peak_of(40)
    assert (few, many) == (10 * ROWS, 40 * ROWS)
    assert large < 2 * small


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_bar_is_shown_where_one_is_asked_for(tmp_path, capsys, monkeypatch, ending):
    pytest.importorskip("rich")
    for name, value in {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    path, table = tmp_path / f"one.{ending}", pa.Table.from_batches([batch(0)]).slice(0, 1000)
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        pytest.importorskip("pyarrow.csv").write_csv(table, path)
    quiet = sb.evaluate(path, metrics="mean_error", **COLUMNS)
    silent = capsys.readouterr()
    assert (silent.out, silent.err) == ("", "")
    shown = sb.evaluate(path, metrics="mean_error", progress=True, **COLUMNS)
    noisy = capsys.readouterr()
    assert noisy.out == ""
    assert "scoring" in noisy.err
    assert ("100%" in noisy.err) == (ending == "parquet")  # whose length is known
    assert shown.to_dict() == quiet.to_dict()


def test_many_threads_at_once(tmp_path):
    paths = []
    for seed in range(8):
        paths.append(tmp_path / f"{seed}.parquet")
        pq.write_table(pa.Table.from_batches([batch(seed)]), paths[-1])

    def work(path):
        table = pq.read_table(path)
        y, p, err = (table[name].to_numpy() for name in ("y", "p", "err"))
        total = sb.Accumulator(METRICS).update(y, {"p": p}, yerr=err)
        streamed = sb.evaluate(path, metrics=METRICS, **COLUMNS)
        whole = sb.evaluate(y, {"p": p}, yerr=err, metrics=METRICS[:2])
        return total.to_json(), [(score.observed, score.std) for _, score in (*streamed, *whole)]

    alone = [work(path) for path in paths]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, paths)) == alone
    merged = sb.Accumulator.from_json(alone[0][0])
    for text, _ in alone[1:]:
        merged.merge(sb.Accumulator.from_json(text))
    assert merged.n == 8 * ROWS
