"""How the cost of each metric grows with the number of labels. Run: python benchmarks/growth.py [--largest 1e6]

Value, std and 95 % interval under independent normal errors (log-normal ones for percentages and logarithms). The last column
is the growth of the time from the second largest to the largest size, as a power of n: 1 means linear. Writes
results/growth.md.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
from timing import machine

import scorebars as sb
from scorebars.metrics.registry import declarations, entry_of

RESULTS = Path(__file__).parent / "results"
SIZES = [1_000, 10_000, 100_000, 1_000_000]
ARGUMENTS = {"fraction_within": {"tolerance": 0.5}}


def data(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = 10 + rng.normal(size=n)
    return y, y + rng.normal(0, 0.5, n), rng.uniform(0.1, 0.6, n)


def errors_for(metric: str, sigma: np.ndarray) -> object:
    """Percentages and logarithms have no moments under normal errors."""
    relative = "percentage" in metric or "log_error" in metric
    return sb.LogNormal(sigma / 10) if relative else sigma


def seconds(metric: str, n: int) -> float:
    y, p, sigma = data(n)
    function = entry_of(metric).function
    start = time.process_time()
    score = function(y, p, yerr=errors_for(metric, sigma), **ARGUMENTS.get(metric, {}))
    _ = score.std, score.interval()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=float, default=1e6)
    sizes = [n for n in SIZES if n <= parser.parse_args().largest]
    lines = [f"Milliseconds of processor time for value, std and 95 % interval. {machine()['processor']}.", ""]
    lines += ["| metric | " + " | ".join(f"n = {n:g}" for n in sizes) + " | growth |", "|---" * (len(sizes) + 2) + "|"]
    print("\n".join(lines))
    for metric, declared in declarations().items():
        if declared.task != "regression" or not declared.scored:
            continue
        times = [seconds(metric, n) for n in sizes]
        growth = math.log10(times[-1] / max(times[-2], 1e-6)) / math.log10(sizes[-1] / sizes[-2])
        cells = " | ".join(f"{1e3 * t:.1f}" for t in times)
        lines.append(f"| {metric} | {cells} | {growth:.2f} |")
        print(lines[-1], flush=True)
    if sizes == SIZES:
        (RESULTS / "growth.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
