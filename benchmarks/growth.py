"""What every regression metric costs from 1e2 to 1e6 labels. Run: python benchmarks/growth.py [--largest 1e6] [--only name]

Milliseconds of processor time, the least of a few runs, under independent normal errors (log-normal ones for percentages and
logarithms). Linear algebra runs on one thread, ours and that of others, since processor time counts threads that wait:

- interval: value, std and 95 % interval through the public function
- truth: the metric against the truth with its std and interval
- value: scikit-learn, SciPy or NumPy for the value alone, without error bars
- draws: 1000 draws of the labels with that same function, which is what a user would do instead

Writes results/growth.md.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn import metrics as sklearn_metrics
from threadpoolctl import threadpool_limits
from timing import Row, machine

import scorebars as sb
from scorebars.metrics.registry import declarations, entry_of

RESULTS = Path(__file__).parent / "results"
SIZES = [100, 1_000, 2_000, 10_000, 100_000, 1_000_000]
ARGUMENTS: dict[str, dict[str, Any]] = {"fraction_within": {"tolerance": 0.5}}
ENOUGH = 1.0
"""Seconds after which a measurement is not repeated."""
DRAWS = 1000

Metric = Callable[[np.ndarray, np.ndarray], Any]
PLAIN: dict[str, Metric] = {
    "mean_pinball_loss": lambda y, p: sklearn_metrics.mean_pinball_loss(y, p),
    "mean_error": lambda y, p: np.mean(p - y),
    "huber_loss": lambda y, p: np.mean(np.where(abs(y - p) <= 1, (y - p) ** 2 / 2, abs(y - p) - 0.5)),
    "log_cosh_loss": lambda y, p: np.mean(np.logaddexp(y - p, p - y) - math.log(2)),
    "symmetric_mean_absolute_percentage_error": lambda y, p: np.mean(2 * abs(y - p) / (abs(y) + abs(p))),
    "fraction_within": lambda y, p: np.mean(abs(y - p) <= 0.5),
    "pearson_correlation": lambda y, p: stats.pearsonr(y, p)[0],
    "spearman_correlation": lambda y, p: stats.spearmanr(y, p)[0],
    "kendall_correlation": lambda y, p: stats.kendalltau(y, p)[0],
    "concordance_index": lambda y, p: 0.5 + 0.5 * stats.kendalltau(y, p)[0],
    "concordance_correlation": lambda y, p: 2 * np.cov(y, p)[0, 1] / (np.var(y) + np.var(p) + (y - p).mean() ** 2),
}
"""What a user would call for the value alone, where scikit-learn has no function of the same name."""


def data(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = 10 + rng.normal(size=n)
    return y, y + rng.normal(0, 0.5, n), rng.uniform(0.1, 0.6, n)


def errors_for(metric: str, sigma: np.ndarray) -> object:
    """Percentages and logarithms have no moments under normal errors."""
    relative = "percentage" in metric or "log_error" in metric
    return sb.LogNormal(sigma / 10) if relative else sigma


def plain(metric: str, sigma: np.ndarray) -> Metric:
    """The metric without error bars."""
    if metric == "reduced_chi_squared":
        return lambda y, p: np.mean(((y - p) / sigma) ** 2)
    return PLAIN.get(metric) or getattr(sklearn_metrics, metric)


def least(work: Callable[[], object]) -> float:
    """Least processor time of up to five runs."""
    best, spent = math.inf, 0.0
    for _ in range(5):
        start = time.process_time()
        work()
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
        if spent > ENOUGH:
            break
    return best


def costs(metric: str, n: int, longest_truth: int) -> dict[str, float]:
    """Seconds of the four pieces of work; NaN for a truth of more labels, or one that cannot be estimated."""
    y, p, sigma = data(n)
    errors, function, alone = errors_for(metric, sigma), entry_of(metric).function, plain(metric, sigma)
    options, rng = ARGUMENTS.get(metric, {}), np.random.default_rng(1)
    few = min(DRAWS, max(5, 200_000 // n))

    def score() -> sb.Score:
        return function(y, p, yerr=errors, **options)

    def interval() -> object:
        found = score()
        return found.std, found.interval()

    def truth() -> object:
        found = score().truth
        return found.std, found.interval()

    def draws() -> float:
        return float(np.std([alone(y + sigma * rng.standard_normal(n), p) for _ in range(few)]))

    found = {"interval": least(interval), "truth": math.nan, "value": least(lambda: alone(y, p))}
    if n <= longest_truth:
        with contextlib.suppress(sb.UndefinedEstimate):
            found["truth"] = least(truth)
    return {**found, "draws": least(draws) * DRAWS / few}


def names() -> list[str]:
    return [name for name, declared in declarations().items() if declared.task == "regression" and declared.scored]


def table(found: dict[str, dict[int, dict[str, float]]]) -> list[str]:
    """A line for each metric and size."""
    lines = ["| metric | n | interval | truth | value alone | 1000 draws | draws / interval |", "|---" * 7 + "|"]
    for metric, sizes in found.items():
        lines += [line(metric, n, cost) for n, cost in sizes.items()]
    return lines


def line(metric: str, n: int, cost: dict[str, float]) -> str:
    cells = " | ".join(
        "" if math.isnan(cost[what]) else f"{1e3 * cost[what]:.3g}" for what in ("interval", "truth", "value", "draws")
    )
    return f"| {metric} | {n:g} | {cells} | {cost['draws'] / cost['interval']:.3g} |"


def measured(
    sizes: list[int], chosen: list[str], longest_truth: int, shown: bool = False
) -> dict[str, dict[int, dict[str, float]]]:
    """The costs of these metrics at these sizes."""
    found: dict[str, dict[int, dict[str, float]]] = {}
    with threadpool_limits(1):
        for metric in chosen:
            for n in sizes:
                found.setdefault(metric, {})[n] = costs(metric, n, longest_truth)
                if shown:
                    print(line(metric, n, found[metric][n]), flush=True)
    return found


def written(found: dict[str, dict[int, dict[str, float]]]) -> None:
    """Keep the table."""
    head = f"Milliseconds of processor time. {machine()['processor']}."
    (RESULTS / "growth.md").write_text("\n".join([head, "", *table(found)]) + "\n")


def rows(found: dict[str, dict[int, dict[str, float]]]) -> list[Row]:
    """The interval against 1000 draws."""
    return [
        Row(f"{metric}: value, std and interval", n, cost["interval"], "1000 draws of the labels", cost["draws"], 1.0)
        for metric, sizes in found.items()
        for n, cost in sizes.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=float, default=1e6)
    parser.add_argument("--truth", type=float, default=2e3, help="the most labels for which the truth is timed")
    parser.add_argument("--only", default="", help="part of the names of metrics")
    options = parser.parse_args()
    sizes = [n for n in SIZES if n <= options.largest]
    chosen = [name for name in names() if options.only in name]
    found = measured(sizes, chosen, int(options.truth), shown=True)
    if sizes == SIZES and not options.only:
        written(found)


if __name__ == "__main__":
    main()
