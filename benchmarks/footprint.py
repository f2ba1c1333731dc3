"""Memory above the inputs, and the time that an import takes."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

from timing import Row, labels

import scorebars as sb

MEGABYTE = 1e6


def peak_memory(sizes: tuple[int, ...]) -> list[Row]:
    """Peak memory of value, std and interval above the arrays given; 64 MB are allowed at any size."""
    rows = []
    for n in sizes:
        y, p, sigma = labels(n)
        for metric in (sb.mean_squared_error, sb.mean_absolute_error):
            tracemalloc.start()
            metric(y, p, yerr=sigma).interval()
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            rows.append(Row(f"{metric.__name__} with interval: peak MB", n, peak / MEGABYTE, "64 MB", 64.0, 1.0))
    return rows


def import_time(repeats: int = 7) -> list[Row]:
    """`import scorebars` against `import numpy`, each in a fresh interpreter; 0.15 s above it are allowed."""
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"

    def seconds(module: str) -> float:
        runs = [subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True, check=True)]
        runs += [
            subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True, check=True)
            for _ in range(repeats - 1)
        ]
        return min(float(run.stdout) for run in runs)

    alone = seconds("numpy")
    return [Row("import scorebars", 0, seconds("scorebars"), "import numpy + 0.15 s", alone + 0.15, 1.0)]
