"""The public functions from many threads at once: each result is the same, to the last bit, as that of one thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import scorebars as sb

THREADS = 8


def data(seed: int, n: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return {"y_true": y, "y_pred": y + rng.normal(size=n), "yerr": rng.uniform(0.0, 1.0, n)}


def classes(seed: int, n: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"y_true": rng.integers(0, 2, n), "y_pred": rng.integers(0, 2, n), "yerr": rng.uniform(0.0, 0.3, n)}


def answers(seed: int) -> tuple[Any, ...]:
    """Several metrics and their answers, on data of this seed; some are large enough for several threads."""
    n = 520_000 if seed % 4 == 1 else 300
    found: list[Any] = []
    for metric in (sb.mean_squared_error, sb.mean_absolute_error, sb.mean_error):
        score = metric(**data(seed, n))
        found += [score.observed, score.expected, score.std]
    few = data(seed, 300)
    for score in (sb.mean_squared_error(**few), sb.r2_score(**few), sb.fraction_within(**few, tolerance=0.5)):
        found += [score.expected, score.std, *score.interval()]
    found.append(float(sb.mean_absolute_error(**few).truth))
    for score in (sb.accuracy_score(**classes(seed, 300)), sb.f1_score(**classes(seed, 300))):
        found += [score.expected, score.std, *score.interval(), float(score.truth)]
    return tuple(found)


def test_results_are_those_of_one_thread(engine: str) -> None:
    seeds = range(THREADS)
    alone = [answers(seed) for seed in seeds]
    with ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(answers, seeds, timeout=300))
    assert together == alone
    assert len(set(alone)) == THREADS


def test_one_score_asked_by_many_threads(engine: str) -> None:
    """What a score finds when first asked for is found once or several times, but always the same."""
    score = sb.mean_absolute_error(**data(0, 500))
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda _: (score.interval(), float(score.truth), float(score.perfect)), range(THREADS)))
    assert len(set(found)) == 1
    assert found[0][0] == sb.mean_absolute_error(**data(0, 500)).interval()


def test_errors_stay_with_their_thread(engine: str) -> None:
    """Bad input in one thread is refused there, and does no harm to the others."""

    def work(seed: int) -> float | str:
        columns = data(seed, 20_000)
        if seed % 2:
            columns["y_pred"][seed] = np.nan
        try:
            return float(sb.mean_absolute_error(**columns))
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(work, range(THREADS)))
    for seed, result in enumerate(found):
        if seed % 2:
            assert f"y_pred contains NaN: the first is nan at index {seed}, 1 in all" in str(result)
        else:
            assert result == pytest.approx(float(sb.mean_absolute_error(**data(seed, 20_000))), rel=0)
