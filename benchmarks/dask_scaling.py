"""How much faster are two dask workers than one, on the same data?

    python benchmarks/dask_scaling.py [millions of rows]

The labels are made on the workers, chunk by chunk, so nothing but accumulators travels. Prints seconds for one and for two
worker processes of one thread each, and their ratio (2 would be ideal), and checks that both give the same bits.
"""

from __future__ import annotations

import sys
import time

import dask
import dask.array as da
import distributed
import numpy as np

from scorebars.studies.dask_tree import accumulate_dask

CHUNK = 1_000_000
METRICS = ["root_mean_squared_error", "mean_absolute_error", "mean_error", "r2_score"]


def arrays(rows: int) -> tuple[da.Array, da.Array, da.Array]:
    """Labels, predictions and errors."""
    random = da.random.default_rng(0)
    y = random.normal(5.0, 2.0, rows, chunks=CHUNK)
    return (
        y,
        y + 0.3 * random.normal(size=rows, chunks=CHUNK),
        0.2 * np.exp(0.5 * random.normal(size=rows, chunks=CHUNK)),
    )


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
            text = accumulate_dask(y, p, yerr=sigma, metrics=METRICS).to_json()
            best = min(best, time.perf_counter() - start)
        return best, text


def main() -> None:
    rows = int(float(sys.argv[1] if len(sys.argv) > 1 else 20) * 1e6)
    with dask.config.set({"distributed.logging.distributed": "error"}):
        (one, text), (two, other) = seconds(1, rows), seconds(2, rows)
    print(
        f"{rows / 1e6:g} million rows: one worker {one:.2f} s, two workers {two:.2f} s, {one / two:.2f} times as fast"
    )
    print("the same bits" if text == other else "DIFFERENT RESULTS")


if __name__ == "__main__":
    main()
