"""Exact laws under wrong labels, as ratios against peers in one run. Run: python benchmarks/classification.py

The targets: accuracy with a q for each of 1e6 labels, law and interval in at most 50 ms after the pass; F1 exact at 1e4
labels in at most 100 ms; at least 100 times faster than scipy.stats.poisson_binom at 1e4.
"""

from __future__ import annotations

import time

import numpy as np
from scipy import stats

import scorebars as sb


def best(function: object, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()  # type: ignore[operator]
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1_000_000)
    p = np.where(rng.random(y.size) < 0.15, 1 - y, y)
    q = rng.beta(1, 15, y.size)

    def accuracy() -> None:
        sb.accuracy_score(y, p, yerr=q).interval()

    made = [sb.accuracy_score(y, p, yerr=q) for _ in range(5)]
    whole, after = best(accuracy), min(best(lambda s=s: s.interval(), 1) for s in made)
    print(
        f"accuracy, 1e6 labels, q each: score and interval {1e3 * whole:.1f} ms, interval after the pass {1e3 * after:.1f} ms"
    )

    small = slice(0, 10_000)
    ours = best(lambda: sb.accuracy_score(y[small], p[small], yerr=q[small]).distribution.cdf(0.8))
    agree = np.where(y[small] == p[small], 1 - q[small], q[small])
    theirs = best(lambda: stats.poisson_binom(agree).cdf(8000), 2)
    print(
        f"one cdf value at 1e4 labels: {1e3 * ours:.2f} ms, scipy.stats.poisson_binom {1e3 * theirs:.0f} ms: ratio {theirs / ours:.0f}"
    )

    f1 = best(lambda: sb.f1_score(y[small], p[small], yerr=q[small]).interval())
    draws = 50
    start = time.perf_counter()
    from sklearn.metrics import f1_score

    for _ in range(draws):
        f1_score(np.where(rng.random(10_000) < q[small], 1 - y[small], y[small]), p[small])
    loop = (time.perf_counter() - start) / draws * 1000
    print(
        f"F1 exact with interval at 1e4 labels: {1e3 * f1:.1f} ms; 1000 draws with scikit-learn {loop:.1f} s: ratio {loop / f1:.0f}"
    )


if __name__ == "__main__":
    main()
