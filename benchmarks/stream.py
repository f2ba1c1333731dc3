"""How fast are scores of a dataset on disk, next to pyarrow reading the same columns, and in how much memory?

    python benchmarks/stream.py [millions of rows]

Prints rows per second of reading alone and of evaluation, for the common metrics, and the peak memory of each.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

FILES = 4
CHOICES = {
    "MSE, RMSE, bias": ["mean_squared_error", "root_mean_squared_error", "mean_error"],
    "RMSE, MAE, bias": ["root_mean_squared_error", "mean_absolute_error", "mean_error"],
    "RMSE, MAE, bias, R2": ["root_mean_squared_error", "mean_absolute_error", "mean_error", "r2_score"],
}


def write(folder: Path, rows: int) -> None:
    """Labels of 4 digits in float64, as measured data are, in `FILES` Parquet files."""
    rng = np.random.default_rng(0)
    for k in range(FILES):
        n = rows // FILES
        y = rng.normal(5.0, 2.0, n)
        table = {
            "y": y,
            "model": y + 0.3 * rng.standard_normal(n),
            "y_err": 0.2 * np.exp(0.5 * rng.standard_normal(n)),
        }
        pq.write_table(pa.table(table), folder / f"part{k}.parquet")


def read(folder: str) -> int:
    """Rows, as pyarrow alone reads them."""
    batches = pads.dataset(folder).to_batches(columns=["y", "model", "y_err"])
    return sum(batch.num_rows for batch in batches)


def score(folder: str, metrics: list[str]) -> int:
    """Rows, as scorebars scores them."""
    from scorebars.studies.accumulate import Accumulator
    from scorebars.studies.stream import read_into

    total = read_into(Accumulator(metrics), pads.dataset(folder), y="y", pred="model", yerr="y_err")
    total.result()
    return total.n


def once(folder: str, choice: str) -> None:
    """Time the best of three passes in this process and print it with the memory used."""
    work = (lambda: read(folder)) if choice == "read" else (lambda: score(folder, CHOICES[choice]))
    best, rows = float("inf"), 0
    for _ in range(3):
        start = time.perf_counter()
        rows = work()
        best = min(best, time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{choice:22} {rows / best / 1e6:8.1f} million rows/s   peak {peak:6.0f} MB", flush=True)


def main() -> None:
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), int(millions * 1e6))
        for choice in ("read", *CHOICES):
            subprocess.run([sys.executable, __file__, "--once", folder, choice], check=True)


if __name__ == "__main__":
    once(*sys.argv[2:]) if sys.argv[1:2] == ["--once"] else main()
