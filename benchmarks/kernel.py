"""The engine's one pass against scikit-learn, as ratios of times in one run (lower is better).

    python benchmarks/kernel.py [--quick]

sklearn.metrics.mean_absolute_error knows no label errors; the pass gives observed, expected and std of MSE, MAE
and bias together, from validated input. All candidates take turns in one process, three runs a turn, and the
least time of all counts, so that other load on the machine hardly matters.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

import numpy as np
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score, root_mean_squared_error
from timing import least_times

from scorebars.engines import describe, normal_sums

MAE = "sklearn MAE"
SIX = "sklearn MSE, RMSE, MAE, R2, NumPy bias, within"
TARGETS = {
    (1_000, "one pass"): 0.10,
    (100_000, "one pass"): 0.50,
    (10_000_000, "one pass"): 0.65,
    (10_000_000, "one pass, 2 threads"): 0.40,
    (100_000, "one pass with labels and tolerance"): 0.35,
    (10_000_000, "one pass with labels and tolerance"): 0.35,
}


def numpy_engine(run: Callable[[], object]) -> Callable[[], object]:
    def forced() -> object:
        os.environ["SCOREBARS_ENGINE"] = "numpy"
        try:
            return run()
        finally:
            del os.environ["SCOREBARS_ENGINE"]

    return forced


def candidates_for(n: int) -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(0)
    y = rng.normal(size=n)
    p = y + rng.normal(size=n)
    sigma, weight = rng.uniform(0.1, 2.0, n), rng.uniform(0.5, 2.0, n)
    singles = [column.astype(np.float32) for column in (y, p, sigma)]

    def six() -> None:
        for metric in (mean_squared_error, root_mean_squared_error, mean_absolute_error, r2_score):
            metric(y, p)
        np.mean(p - y)
        np.mean(np.abs(p - y) <= 0.5)

    return {
        MAE: lambda: mean_absolute_error(y, p),
        SIX: six,
        "one pass": lambda: normal_sums(y, p, sigma, threads=1),
        "one pass, 2 threads": lambda: normal_sums(y, p, sigma, threads=2),
        "one pass, one sigma": lambda: normal_sums(y, p, 0.3, threads=1),
        "one pass, weighted": lambda: normal_sums(y, p, sigma, weight, threads=1),
        "one pass, float32": lambda: normal_sums(*singles, threads=1),
        "one pass, NumPy twin": numpy_engine(lambda: normal_sums(y, p, sigma, threads=1)),
        "one pass with labels and tolerance": lambda: normal_sums(y, p, sigma, None, 0.5, labels=True, threads=1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a second per size, and no 1e7 labels")
    quick = parser.parse_args().quick
    os.environ.pop("SCOREBARS_ENGINE", None)
    print(describe())
    for n in (1_000, 100_000) if quick else (1_000, 100_000, 10_000_000):
        times = least_times(candidates_for(n), 1.0 if quick else 6.0)
        print(f"\nn = {n:,}; {MAE} takes {times[MAE] * 1e6:,.0f} us")
        for name, seconds in times.items():
            against = SIX if "tolerance" in name else MAE
            target = TARGETS.get((n, name))
            note = f"  (target {target:.2f})" if target else ""
            print(f"  {name:40s} {seconds / times[against]:7.3f}  of {against}{note}")


if __name__ == "__main__":
    main()
