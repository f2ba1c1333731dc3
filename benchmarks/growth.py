"""What every metric costs from 1e2 to 1e6 labels. Run: python benchmarks/growth.py [--largest 1e6] [--only name]

Milliseconds of processor time, the least of a few runs. Regression: independent normal errors (log-normal ones for percentages
and logarithms). Classes: two (five for top-k), wrong with probability 0.05. Forecasts: normal ones, or intervals. Linear
algebra runs on one thread, ours and that of others, since processor time counts threads that wait:

- interval: value, std and 95 % interval through the public function
- truth: the metric against the truth with its std and interval
- compare: the verdict on two models and their ranking
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
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import ndtr
from sklearn import metrics as sklearn_metrics
from threadpoolctl import threadpool_limits
from timing import Row, machine

import scorebars as sb
from scorebars.metrics.registry import declarations, entry_of

RESULTS = Path(__file__).parent / "results"
SIZES = [100, 1_000, 2_000, 10_000, 100_000, 1_000_000]
COMPARED = 2_000
"""So many labels are compared."""
ARGUMENTS: dict[str, dict[str, Any]] = {
    "fraction_within": {"tolerance": 0.5},
    "fbeta_score": {"beta": 0.5},
    "interval_score": {"level": 0.9},
    "interval_coverage": {"level": 0.9},
}
ENOUGH = 1.0
"""Seconds after which a measurement is not repeated."""
DRAWS = 1000
COLUMNS = ("interval", "truth", "compare", "value", "draws")
OF_PROBABILITIES = ("log_loss", "brier_score_loss", "roc_auc_score", "average_precision_score")

Metric = Callable[[Any, Any], Any]


def crps_normal(y: np.ndarray, forecast: sb.NormalForecast) -> float:
    z = (y - forecast.mean) / forecast.std
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return float(np.mean(forecast.std * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi))))


def interval_score(y: np.ndarray, bounds: np.ndarray) -> float:
    low, high = bounds.T
    return float(np.mean(high - low + 20 * (np.maximum(low - y, 0) + np.maximum(y - high, 0))))


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
    "specificity_score": lambda y, p: sklearn_metrics.recall_score(y, p, pos_label=0),
    "fbeta_score": lambda y, p: sklearn_metrics.fbeta_score(y, p, beta=0.5),
    "crps": crps_normal,
    "log_score": lambda y, f: -np.mean(stats.norm.logpdf(y, f.mean, f.std)),
    "dawid_sebastiani_score": lambda y, f: np.mean(((y - f.mean) / f.std) ** 2 + 2 * np.log(f.std)),
    "interval_score": interval_score,
    "interval_coverage": lambda y, bounds: np.mean((y >= bounds[:, 0]) & (y <= bounds[:, 1])),
}
"""What a user would call for the value alone, where scikit-learn has no function of the same name."""


class Case(NamedTuple):
    """One metric on n labels: what two models say of them, how they err, the plain metric, and redrawn labels."""

    y: np.ndarray
    models: tuple[Any, Any]
    said: Any
    """The first model for the plain metric."""
    errors: object
    alone: Metric
    redrawn: Callable[[np.random.Generator], np.ndarray]


def case(metric: str, n: int) -> Case:
    task = declarations()[metric].task
    return {"regression": numbers, "forecast": forecasts}.get(task, classes)(metric, n)


def data(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = 10 + rng.normal(size=n)
    return y, y + rng.normal(0, 0.5, n), rng.uniform(0.1, 0.6, n)


def numbers(metric: str, n: int) -> Case:
    y, p, sigma = data(n)
    other = y + np.random.default_rng(1).normal(0, 0.52, n)
    alone = PLAIN.get(metric) or getattr(sklearn_metrics, metric, None)
    if metric == "reduced_chi_squared":
        alone = lambda y, p: np.mean(((y - p) / sigma) ** 2)  # noqa: E731
    return Case(y, (p, other), p, errors_for(metric, sigma), alone, lambda rng: y + sigma * rng.standard_normal(n))


def errors_for(metric: str, sigma: np.ndarray) -> object:
    """Percentages and logarithms have no moments under normal errors."""
    relative = "percentage" in metric or "log_error" in metric
    return sb.LogNormal(sigma / 10) if relative else sigma


def forecasts(metric: str, n: int) -> Case:
    rng = np.random.default_rng(0)
    y, sigma = rng.normal(size=n), rng.uniform(0.1, 0.6, n)
    centres, spread = [y + rng.normal(0, wide, n) for wide in (0.5, 0.52)], rng.uniform(0.5, 1.0, n)
    bounds = [centre[:, None] + [-0.8, 0.8] for centre in centres]
    normal = [sb.NormalForecast(centre, spread) for centre in centres]
    intervals = [sb.QuantileForecast([0.05, 0.95], each) for each in bounds]
    models, said = (intervals, bounds[0]) if "interval" in metric else (normal, normal[0])
    return Case(y, tuple(models), said, sigma, PLAIN[metric], lambda rng: y + sigma * rng.standard_normal(n))


def classes(metric: str, n: int) -> Case:
    rng, count, wrong = np.random.default_rng(0), 5 if metric == "top_k_accuracy_score" else 2, 0.05
    y = rng.integers(0, count, n)
    models = [np.where(rng.random(n) < share, 1 - y, y) for share in (0.15, 0.16)] if count == 2 else []
    if metric in OF_PROBABILITIES:
        models = [np.clip(0.25 + 0.5 * y + rng.normal(0, wide, n), 0.01, 0.99) for wide in (0.25, 0.26)]
    if count > 2:
        models = [rng.dirichlet(np.ones(count), n) + 0.5 * np.eye(count)[y] for _ in range(2)]
    alone = PLAIN.get(metric) or getattr(sklearn_metrics, metric)

    def redrawn(rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(n) < wrong, (y + rng.integers(1, count, n)) % count, y)

    return Case(y, tuple(models), models[0], wrong, alone, redrawn)


def least(work: Callable[[], object]) -> float:
    """Least processor time of up to five runs, the first of which may import a module."""
    best, spent = math.inf, 0.0
    for _ in range(5):
        start = time.process_time()
        work()
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
        if spent > ENOUGH:
            break
    return best


def costs(metric: str, n: int) -> dict[str, float]:
    """Seconds of the pieces of work; NaN for a truth that cannot be estimated."""
    y, models, said, errors, alone, redrawn = case(metric, n)
    function, options, rng = entry_of(metric).function, ARGUMENTS.get(metric, {}), np.random.default_rng(1)
    few = min(DRAWS, max(5, 200_000 // n))

    def score() -> sb.Score:
        return function(y, models[0], yerr=errors, **options)

    def interval() -> object:
        found = score()
        return found.std, found.interval()

    def truth() -> object:
        found = score().truth
        return found.std, found.interval()

    def compare() -> object:
        asked = partial(function, **options) if options else metric
        found = sb.compare(y, dict(zip("ab", models, strict=True)), yerr=errors, metric=asked)
        return found.verdict("a", "b"), found.ranking()

    def draws() -> float:
        return float(np.std([alone(redrawn(rng), said) for _ in range(few)]))

    found = dict.fromkeys(COLUMNS, math.nan)
    found |= {"interval": least(interval), "value": least(lambda: alone(y, said))}
    with contextlib.suppress(sb.UndefinedEstimate):
        found["truth"] = least(truth)
    if n == COMPARED and metric != "mean_error":  # of two biases neither sign is better
        found["compare"] = least(compare)
    return {**found, "draws": least(draws) * DRAWS / few}


def names() -> list[str]:
    return [name for name, declared in declarations().items() if declared.scored]


def table(found: dict[str, dict[int, dict[str, float]]]) -> list[str]:
    """A line for each metric and size."""
    lines = [
        "| metric | n | interval | truth | compare | value alone | 1000 draws | draws / interval |",
        "|---" * 8 + "|",
    ]
    for metric, sizes in found.items():
        lines += [line(metric, n, cost) for n, cost in sizes.items()]
    return lines


def line(metric: str, n: int, cost: dict[str, float]) -> str:
    cells = " | ".join("" if math.isnan(cost[what]) else f"{1e3 * cost[what]:.3g}" for what in COLUMNS)
    return f"| {metric} | {n:g} | {cells} | {cost['draws'] / cost['interval']:.3g} |"


def measured(sizes: list[int], chosen: list[str], shown: bool = False) -> dict[str, dict[int, dict[str, float]]]:
    """The costs of these metrics at these sizes."""
    found: dict[str, dict[int, dict[str, float]]] = {}
    with threadpool_limits(1):
        for metric in chosen:
            for n in sizes:
                found.setdefault(metric, {})[n] = costs(metric, n)
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
    parser.add_argument("--only", default="", help="part of the names of metrics")
    options = parser.parse_args()
    sizes = [n for n in SIZES if n <= options.largest]
    chosen = [name for name in names() if options.only in name]
    found = measured(sizes, chosen, shown=True)
    if sizes == SIZES and not options.only:
        written(found)


if __name__ == "__main__":
    main()
