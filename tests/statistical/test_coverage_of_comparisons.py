"""Differences between models: intervals hold what they promise, and tied models are not told apart."""

import numpy as np
import pytest
from simulated_coverage import effort

import scorebars as sb


def tied(task, n, rng):
    """Two models that are equally good in the population: truth, predictions, labels, errors."""
    if task == "regression":
        truth = rng.normal(5, 1, n)
        shared = rng.normal(0, 0.2, n)
        a, b = (truth + shared + rng.normal(0, 0.4, n) for _ in "ab")
        return truth, a, b, truth + rng.normal(0, 0.4, n), 0.4
    truth, hard = rng.integers(0, 2, n), rng.random(n) < 0.1
    a, b = (np.where(hard | (rng.random(n) < 0.15), 1 - truth, truth) for _ in "ab")
    return truth, a, b, np.where(rng.random(n) < 0.3, 1 - truth, truth), sb.Flip(0.3)


def shares(metric, n, count, seed=0):
    """How often the truth, the population, the next test set are held, and how often tied models are told apart."""
    rng = np.random.default_rng(seed)
    score = getattr(sb, metric)
    task = score.declaration.task
    held = np.zeros(4)
    for _ in range(count):
        truth, a, b, y, yerr = tied(task, n, rng)
        _, a2, b2, y2, _ = tied(task, n, rng)
        c = sb.compare(y, {"a": a, "b": b}, yerr=yerr, metric=metric, sampling=True)
        d = c.difference("a", "b")
        exact = score(truth, a).observed - score(truth, b).observed
        afresh = score(y2, a2).observed - score(y2, b2).observed
        inside = [
            low <= value <= high
            for (low, high), value in (
                (d.truth.interval(), exact),
                (d.truth.total_interval(), 0.0),
                (d.total_interval(), afresh),
            )
        ]
        held += [*inside, c.verdict("a", "b") != "cannot tell"]
    return held / count


@effort(150)
@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("metric", ["mean_squared_error", "accuracy_score"])
def test_intervals_of_differences(metric, n, count):
    truth, population, afresh, told = shares(metric, n, count)
    noise = 4 * np.sqrt(0.05 * 0.95 / count)
    for share in (truth, population, afresh):
        assert 0.92 - noise <= share <= 0.99 + noise
    assert told <= 0.08 + noise


@effort(300)
@pytest.mark.parametrize("n", [6, 10])
def test_few_items_do_not_tell_tied_models_apart(n, count):
    assert shares("mean_squared_error", n, count, seed=1)[3] <= 0.06 + 4 * np.sqrt(0.05 * 0.95 / count)


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric", ["root_mean_squared_error", "r2_score", "pearson_correlation", "mean_absolute_error"]
)
def test_intervals_of_other_differences(metric):
    truth, population, afresh, told = shares(metric, 50, 200)
    assert min(truth, population, afresh) >= 0.92 - 0.062 and told <= 0.08 + 0.062
