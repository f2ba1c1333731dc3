"""Laws and intervals after the pass: in milliseconds, and against scipy.stats.poisson_binom and Monte Carlo."""

from __future__ import annotations

import time
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import f1_score
from timing import Row, labels, least_times

import scorebars as sb

FIVE_MS, FIFTY_MS = 0.005, 0.050
MANY = 10_000_000  # labels from which on a first interval is compared with the pass over them


def intervals(sizes: tuple[int, ...]) -> list[Row]:
    """interval() after the pass; the first one builds the law, later ones use it."""
    metrics = {
        "mean_squared_error": sb.mean_squared_error,
        "mean_absolute_error": sb.mean_absolute_error,
        "r2_score": sb.r2_score,
        "fraction_within": partial(sb.fraction_within, tolerance=0.5),
    }
    rows = []
    for n in sizes:
        y, p, sigma = labels(n)
        for name, metric in metrics.items():
            first, later, passes = [], [], []
            for _ in range(5):
                begin = time.perf_counter()
                score = metric(y, p, yerr=sigma)
                start = time.perf_counter()
                passes.append(start - begin)
                score.interval(0.95)
                middle = time.perf_counter()
                score.interval(0.9)
                first.append(middle - start)
                later.append(time.perf_counter() - middle)
            rows.append(Row(f"{name}: interval, distribution built", n, min(later), "5 ms", FIVE_MS, 1.0))
            rows.append(Row(f"{name}: interval, the first", n, min(first), "5 ms", FIVE_MS))
            if n >= MANY:
                work = f"{name}: interval, the first, of arrays in memory"
                rows.append(Row(work, n, min(first), "its pass: value, expected, std", min(passes), 3.0))
    return rows


def streamed(sizes: tuple[int, ...]) -> list[Row]:
    """The first interval() after labels went through an accumulator, whose pass keeps what laws need."""
    names = ("mean_squared_error", "mean_absolute_error", "r2_score")
    rows = []
    for n in sizes:
        y, p, sigma = labels(n)
        total = sb.Accumulator(list(names)).update(y, p, yerr=sigma)
        for name in names:
            found = []
            for _ in range(10):
                score = total.result()["model", name]
                start = time.perf_counter()
                score.interval(0.95)
                found.append(time.perf_counter() - start)
            rows.append(
                Row(f"{name}: the first interval after an Accumulator's pass", n, min(found), "5 ms", FIVE_MS, 1.0)
            )
    return rows


def classes(seconds: float) -> list[Row]:
    """Exact laws when class labels may be wrong."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1_000_000)
    p = np.where(rng.random(y.size) < 0.15, 1 - y, y)
    q = rng.beta(1, 15, y.size)
    scores = [sb.accuracy_score(y, p, yerr=q) for _ in range(5)]
    after = []
    for score in scores:
        start = time.perf_counter()
        score.interval()
        after.append(time.perf_counter() - start)
    rows = [
        Row("accuracy_score, a q each: exact distribution and interval", y.size, min(after), "50 ms", FIFTY_MS, 1.0)
    ]

    few = 10_000
    y, p, q = y[:few], p[:few], q[:few]
    agree = np.where(y == p, 1 - q, q)
    scipy_name = "scipy.stats.poisson_binom, one cdf value"
    both = {
        "ours": lambda: sb.accuracy_score(y, p, yerr=q).distribution.cdf(0.8),
        scipy_name: lambda: stats.poisson_binom(agree).cdf(8000),
    }
    times = least_times(both, seconds, repeats=20)
    rows.append(Row("accuracy_score and one cdf value", few, times["ours"], scipy_name, times[scipy_name], 0.01))

    def loop() -> float:
        drawn = [f1_score(np.where(rng.random(few) < q, 1 - y, y), p) for _ in range(100)]
        return float(np.std(drawn))

    drawn = "100 draws with scikit-learn"
    times = least_times({drawn: loop, "ours": lambda: sb.f1_score(y, p, yerr=q).interval()}, seconds)
    rows.append(Row("f1_score: exact distribution and interval", few, times["ours"], drawn, times[drawn]))
    return rows


def comparisons() -> list[Row]:
    """Every pair of ten models on ten thousand labels, and two models with their truth."""
    rng, n, two_seconds, tenth = np.random.default_rng(0), 10_000, 2.0, 0.1
    y, few = rng.normal(size=n), 2_149
    sigma = rng.uniform(0.1, 0.6, n)
    models = {f"m{k}": y + rng.normal(0.0, 0.5 + 0.02 * k, n) for k in range(10)}
    pair = {name: models[name][:few] for name in ("m0", "m1")}
    truth = rng.integers(0, 2, n)
    labellers = {f"m{k}": np.where(rng.random(n) < 0.1 + 0.01 * k, 1 - truth, truth) for k in range(10)}

    def every_pair(y: Any, models: Any, yerr: Any, metric: str) -> None:
        found = sb.compare(y, models, yerr=yerr, metric=metric)
        for a, b in combinations(found.models, 2):
            found.verdict(a, b)
        found.ranking()

    works = {
        "compare: verdict on two models by MAE, ranking": (few, tenth, (y[:few], pair, sigma[:few])),
        "compare: verdicts on all pairs of ten models by MAE, ranking": (n, two_seconds, (y, models, sigma)),
        "compare: verdicts on all pairs of ten models by F1, ranking": (n, two_seconds, (truth, labellers, 0.05)),
    }
    rows = []
    for work, (size, limit, data) in works.items():
        metric = "f1_score" if "F1" in work else "mean_absolute_error"
        start = time.process_time()
        every_pair(*data, metric=metric)
        rows.append(Row(work, size, time.process_time() - start, f"{limit:g} s", limit, 1.0))
    return rows
