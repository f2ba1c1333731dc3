"""How much faster are two dask workers than one, on the same data?

    python benchmarks/dask_scaling.py [millions of rows]

The labels are made on the workers, chunk by chunk, so nothing but accumulators travels. Prints seconds for one and for two
worker processes of one thread each, and their ratio (2 would be ideal), and checks that both give the same bits. The same
work by one and by two plain processes, without dask, shows what the machine's two cores are worth together.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
from timing import Row

from scorebars.engines.engine import one_thread
from scorebars.streaming.accumulator import Accumulator
from scorebars.streaming.dask_tree import accumulate_dask

CHUNK = 4_000_000
ROUNDS = 3
METRICS = ["root_mean_squared_error", "mean_absolute_error", "mean_error", "r2_score"]


def labels(seed: int, rows: int = CHUNK) -> np.ndarray:
    """Labels, predictions and errors, one below the other."""
    rng = np.random.default_rng(seed)
    y = rng.normal(5.0, 2.0, rows)
    return np.stack([y, y + 0.3 * rng.normal(size=rows), 0.2 * np.exp(0.5 * rng.normal(size=rows))])


def _block(block_info: Any = None) -> np.ndarray:
    (_, (start, stop)) = block_info[None]["array-location"]
    return labels(start, stop - start)


def arrays(rows: int) -> list[da.Array]:
    """Labels, predictions and errors: those of a chunk are made in one place, so nothing has to travel for an update."""
    sizes = [CHUNK] * (rows // CHUNK) + [rows % CHUNK] * (rows % CHUNK > 0)
    return list(da.map_blocks(_block, chunks=((3,), tuple(sizes)), dtype=np.float64))


def seconds(workers: int, rows: int) -> tuple[float, str]:
    """Time of one evaluation and what it found."""
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=workers, **options) as cluster, distributed.Client(cluster) as client:
        y, p, sigma = client.persist(arrays(rows))
        distributed.wait([y, p, sigma])
        accumulate_dask(y[:CHUNK], p[:CHUNK], yerr=sigma[:CHUNK], metrics=METRICS)  # imports, on the workers
        best, text = float("inf"), ""
        for _ in range(3):
            start = time.perf_counter()
            total = accumulate_dask(y, p, yerr=sigma, metrics=METRICS)
            best, text = min(best, time.perf_counter() - start), total.to_json()
        return best, text


def _plain(start: Any, ends: Any, chunks: int) -> None:
    """A process that sums up its chunks when told to, again and again."""
    data = [labels(seed) for seed in range(chunks)]
    while True:
        start.wait()
        with one_thread():
            total = Accumulator(METRICS)
            for y, p, sigma in data:
                total.update(y, p, yerr=sigma)
        ends.wait()


def plain_seconds(workers: int, rows: int) -> float:
    """The least time of the same work by processes that share nothing."""
    context = multiprocessing.get_context("spawn")
    start, ends = context.Barrier(workers + 1), context.Barrier(workers + 1)
    arguments = (start, ends, rows // CHUNK // workers)
    processes = [context.Process(target=_plain, args=arguments, daemon=True) for _ in range(workers)]
    for process in processes:
        process.start()
    times = []
    for _ in range(3):
        start.wait()
        begin = time.perf_counter()
        ends.wait()
        times.append(time.perf_counter() - begin)
    for process in processes:
        process.terminate()
    return min(times)


def rows(millions: float = 120.0) -> list[Row]:
    """Seconds of two workers against those of one; 1.6 times as fast is aimed at.

    Dask's scheduler gets a fresh process, since it shares it with all that was loaded and left there.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        return fresh.submit(_rows, millions).result()


def _rows(millions: float) -> list[Row]:
    number = int(millions * 1e6)
    with dask.config.set({"distributed.logging.distributed": "critical"}):
        runs = [(workers, *seconds(workers, number)) for workers in (1, 2) * ROUNDS]  # in turns, as all benchmarks
    if len({text for _, _, text in runs}) > 1:
        raise AssertionError("one and two workers gave different results")
    one, two = (min(time for count, time, _ in runs if count == workers) for workers in (1, 2))
    return [Row("dask arrays, 2 workers", number, two, "1 worker", one, 1 / 1.6)]


def main() -> None:
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    (row,) = rows(millions)
    plain = [(workers, plain_seconds(workers, row.n)) for workers in (1, 2) * ROUNDS]
    alone, both = (min(time for count, time in plain if count == workers) for workers in (1, 2))
    for name, one, two in (("dask workers", row.peer_seconds, row.seconds), ("plain processes", alone, both)):
        print(f"{millions:g} million rows, {name}: one {one:.2f} s, two {two:.2f} s, {one / two:.2f} times as fast")


if __name__ == "__main__":
    main()
