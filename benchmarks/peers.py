"""The public functions against the peers that people use today.

scikit-learn's and torch's metrics know no label errors; ours give value, expected value and standard deviation from
validated input. Monte Carlo and `uncertainties` are what people use to get an error bar at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from sklearn import metrics as sklearn_metrics
from timing import Row, Work, labels, least_times

import scorebars as sb

MAE = "scikit-learn mean_absolute_error, no errors"
SIX = "the same six by scikit-learn and NumPy, no errors"
TARGETS = {1_000: 0.10, 100_000: 0.50, 10_000_000: 0.65}
TWO_THREADS = 0.40
SIX_TARGET = 0.35
THREADS_PAY = 500_000


@contextmanager
def threads(count: int) -> Iterator[None]:
    """So many threads for the one pass."""
    before = os.environ.get("SCOREBARS_THREADS")
    os.environ["SCOREBARS_THREADS"] = str(count)
    try:
        yield
    finally:
        os.environ.pop("SCOREBARS_THREADS")
        if before is not None:
            os.environ["SCOREBARS_THREADS"] = before


def absolute_error(y: np.ndarray, p: np.ndarray, sigma: np.ndarray) -> Work:
    def work() -> tuple[float, float, float]:
        score = sb.mean_absolute_error(y, p, yerr=sigma)
        return score.observed, score.expected, score.std

    return work


def on_threads(count: int, work: Work) -> Work:
    def limited() -> object:
        with threads(count):
            return work()

    return limited


def one_metric(sizes: tuple[int, ...], seconds: float) -> list[Row]:
    """mean_absolute_error against the error-blind ones of scikit-learn and torch."""
    rows = []
    for n in sizes:
        y, p, sigma = labels(n)
        ours = absolute_error(y, p, sigma)
        several = n > THREADS_PAY  # below, there is one thread anyway
        candidates = {
            "ours": on_threads(1, ours) if several else ours,
            **({"ours, 2 threads": on_threads(2, ours)} if several else {}),
            MAE: lambda y=y, p=p: sklearn_metrics.mean_absolute_error(y, p),
            **_torch(y, p),
        }
        times = least_times(candidates, seconds, repeats=1 if n > 1e6 else 20)
        work = "mean_absolute_error: observed, expected, std"
        rows.append(Row(work, n, times["ours"], MAE, times[MAE], TARGETS.get(n)))
        if several:
            rows.append(Row(f"{work}; 2 threads", n, times["ours, 2 threads"], MAE, times[MAE], TWO_THREADS))
        rows += [Row(work, n, times["ours"], name, times[name]) for name in times if name.startswith("torch")]
    return rows


def _torch(y: np.ndarray, p: np.ndarray) -> dict[str, Work]:
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    a, b = torch.from_numpy(y), torch.from_numpy(p)
    return {"torch l1_loss, 1 thread, no errors": lambda: torch.nn.functional.l1_loss(b, a)}


def six_metrics(sizes: tuple[int, ...], seconds: float) -> list[Row]:
    """MSE, RMSE, MAE, bias, R2 and fraction within a tolerance from one pass."""
    names = ["mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "mean_error", "r2_score"]
    chosen = [*names, partial(sb.fraction_within, tolerance=0.5)]
    rows = []
    for n in sizes:
        y, p, sigma = labels(n)

        def ours(y: np.ndarray = y, p: np.ndarray = p, sigma: np.ndarray = sigma) -> object:
            with threads(1):
                return [float(score.std) for _, score in sb.evaluate(y, p, yerr=sigma, metrics=chosen)]

        def theirs(y: np.ndarray = y, p: np.ndarray = p) -> None:
            for name in ("mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2_score"):
                getattr(sklearn_metrics, name)(y, p)
            np.mean(p - y)
            np.mean(np.abs(p - y) <= 0.5)

        times = least_times({"ours": ours, SIX: theirs}, seconds, repeats=1)
        rows.append(Row("evaluate: six metrics with expected and std", n, times["ours"], SIX, times[SIX], SIX_TARGET))
    return rows


def error_bars_by_other_means(seconds: float) -> list[Row]:
    """What an error bar costs by drawing labels, and by first-order propagation."""
    n, draws = 10_000, 1000
    y, p, sigma = labels(n)
    rng = np.random.default_rng(1)

    def loop() -> float:
        drawn = [sklearn_metrics.mean_absolute_error(y + sigma * rng.standard_normal(n), p) for _ in range(draws)]
        return float(np.std(drawn))

    def tuned() -> float:
        gap = y - p
        drawn = [np.abs(gap + sigma * rng.standard_normal(n)).mean() for _ in range(draws)]
        return float(np.std(drawn))

    names = {"Monte Carlo, 1000 draws, scikit-learn": loop, "Monte Carlo, 1000 draws, NumPy": tuned}
    times = {**least_times(names, seconds, repeats=1), **least_times({"ours": absolute_error(y, p, sigma)}, 0.2, 20)}
    work = "mean_absolute_error: observed, expected, std"
    rows = [Row(work, n, times["ours"], name, times[name]) for name in names]
    small, few = "uncertainties, first order only", 1000
    y, p, sigma = y[:few], p[:few], sigma[:few]
    times = least_times({"ours": absolute_error(y, p, sigma), small: _uncertainties(y, p, sigma)}, seconds, repeats=20)
    return [*rows, Row(work, few, times["ours"], small, times[small])]


def _uncertainties(y: np.ndarray, p: np.ndarray, sigma: np.ndarray) -> Work:
    from uncertainties import unumpy

    measured = unumpy.uarray(y, sigma)

    def work() -> float:
        return float(np.mean(np.where(measured > p, 1.0, -1.0) * (measured - p)).std_dev)

    return work
