"""Intervals of the score's own law: fresh labels around the label values."""

import numpy as np
import pytest
from simulated_coverage import assert_covers

import scorebars as sb

METRICS = {
    "mse": (sb.mean_squared_error, lambda e: np.mean(e * e, axis=-1)),
    "rmse": (sb.root_mean_squared_error, lambda e: np.sqrt(np.mean(e * e, axis=-1))),
    "mae": (sb.mean_absolute_error, lambda e: np.mean(np.abs(e), axis=-1)),
    "mean_error": (sb.mean_error, lambda e: np.mean(e, axis=-1)),
}


def sigmas(rng, n, kind):
    return {
        "equal": np.full(n, 0.5),
        "mixed": rng.lognormal(-1, 1, n),
        "some zero": rng.integers(0, 2, n) * rng.random(n),
    }[kind]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["equal", "mixed", "some zero"])
@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("level", [0.9])
def test_fresh_labels(metric, kind, n, level):
    rng = np.random.default_rng(1)
    function, value = METRICS[metric]
    found = []
    for _ in range(10):
        y, p, sigma = rng.standard_normal(n), rng.standard_normal(n), sigmas(rng, n, kind)
        sigma[0] = 0.5
        interval = function(y, p, yerr=sigma).interval(level)
        fresh = value(p - y - sigma * rng.standard_normal((1000, n)))
        found += [(interval, x) for x in fresh]
    assert_covers(found, level, 0.0, 0.0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("model", ["cov", "shared", "split"])
def test_fresh_labels_of_other_errors(metric, model):
    rng = np.random.default_rng(2)
    function, value = METRICS[metric]
    n, found = 12, []
    for _ in range(5):
        y, p, sigma, shifts = (
            rng.standard_normal(n),
            rng.standard_normal(n),
            0.5 * rng.random(n),
            0.3 * rng.random((2, n)),
        )
        if model == "split":
            upper = rng.random(n)
            interval = function(y, p, yerr=[sigma, upper]).interval(0.9)
            below = rng.random((2000, n)) * (sigma + upper) < sigma
            e = np.where(below, -sigma, upper) * np.abs(rng.standard_normal((2000, n)))
        else:
            cov = np.diag(sigma**2) + shifts.T @ shifts
            errors = sb.Normal(cov=cov) if model == "cov" else sb.Normal(sigma, shared=shifts)
            interval = function(y, p, yerr=errors).interval(0.9)
            e = rng.multivariate_normal(np.zeros(n), cov, 2000)
        found += [(interval, x) for x in value(p - y - e)]
    assert_covers(found, 0.9, 0.01, 0.01)


@pytest.mark.parametrize("correlation", [0.0, 0.2])
def test_fresh_classes(correlation):
    """A discrete law: the interval holds at least what it says."""
    rng = np.random.default_rng(3)
    n, q = 60, 0.1
    p = np.ones(n, dtype=int)
    y = np.where(np.arange(n) < 48, 1, 0)
    low, high = sb.accuracy_score(y, p, yerr=sb.Flip(q, correlation=correlation)).interval(0.9)
    cause = rng.random((20_000, 1)) < q  # the shared cause of the flips, as likely as a flip
    chance = np.where(cause, q + np.sqrt(correlation) * (1 - q), q * (1 - np.sqrt(correlation)))
    fresh = np.where(rng.random((20_000, n)) < chance, 1 - y, y)
    values = np.mean(fresh == p, axis=1)
    inside = np.mean((values >= low - 1e-9) & (values <= high + 1e-9))
    assert 0.9 - 0.005 <= inside <= 0.99
    assert np.mean(values < low - 1e-9) <= 0.05 + 0.005
    assert np.mean(values > high + 1e-9) <= 0.05 + 0.005
