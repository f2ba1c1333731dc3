"""The two tables of the paper, recomputed through the public functions.

Rows of Table 1 (expected values): MSE with one sigma, MSE with a sigma of each label, MAE, accuracy. Rows of Table 2
(variances): MSE, MAE, accuracy. Each is compared with the right formula (docs/theory/errata.md) to 1e-13 and with a simulation
of the label errors within four standard errors.
"""

from __future__ import annotations

import numpy as np
import pytest

import scorebars as sb
from paper_formulas import mean_of, right_mae, right_variance_abs, variance_of

DRAWS = 100_000
RNG = np.random.default_rng(2209)
Y = RNG.normal(0.0, 2.0, 12)
PREDICTION = Y + RNG.normal(0.1, 0.8, 12)
SIGMA = RNG.uniform(0.05, 1.5, 12)
LABELS = RNG.integers(0, 2, 40)
CLASSES = np.where(RNG.random(40) < 0.8, LABELS, 1 - LABELS)
FLIP = RNG.uniform(0.0, 0.4, 40)


def simulated_differences(sigma: np.ndarray | float) -> np.ndarray:
    """Fresh label minus prediction, shape (draws, labels)."""
    return Y - PREDICTION + sigma * np.random.default_rng(15588).standard_normal((DRAWS, Y.size))


def simulated_accuracy(q: np.ndarray | float) -> np.ndarray:
    flips = np.random.default_rng(15589).random((DRAWS, LABELS.size)) < q
    return np.mean(np.where(flips, 1 - LABELS, LABELS) == CLASSES, axis=1)


@pytest.mark.parametrize("sigma", [0.7, SIGMA], ids=["one sigma", "a sigma of each label"])
def test_mean_squared_error(sigma):
    score = sb.mean_squared_error(Y, PREDICTION, yerr=sigma)
    delta, s = Y - PREDICTION, np.broadcast_to(sigma, Y.shape)
    draws = np.mean(simulated_differences(sigma) ** 2, axis=1)
    assert score.expected == pytest.approx(np.mean(delta**2 + s**2), rel=1e-13)
    assert score.variance == pytest.approx((2 * np.sum(s**4) + 4 * np.sum(delta**2 * s**2)) / Y.size**2, rel=1e-13)
    assert mean_of(draws).agrees(score.expected)
    assert variance_of(draws).agrees(score.variance)
    assert float(score) == score.expected
    assert score.observed == pytest.approx(np.mean(delta**2), rel=1e-13)


@pytest.mark.parametrize("sigma", [0.7, SIGMA], ids=["one sigma", "a sigma of each label"])
def test_mean_absolute_error(sigma):
    score = sb.mean_absolute_error(Y, PREDICTION, yerr=sigma)
    delta, s = Y - PREDICTION, np.broadcast_to(sigma, Y.shape)
    draws = np.mean(np.abs(simulated_differences(sigma)), axis=1)
    assert score.expected == pytest.approx(right_mae(delta, s), rel=1e-13)
    assert score.variance == pytest.approx(np.sum(right_variance_abs(delta, s)) / Y.size**2, rel=1e-13)
    assert mean_of(draws).agrees(score.expected)
    assert variance_of(draws).agrees(score.variance)


@pytest.mark.parametrize("q", [0.05, FLIP], ids=["one q", "a q of each label"])
def test_accuracy(q):
    score = sb.accuracy_score(LABELS, CLASSES, yerr=q)
    correct, flip = (LABELS == CLASSES).astype(float), np.broadcast_to(q, LABELS.shape)
    draws = simulated_accuracy(q)
    assert score.expected == pytest.approx(np.mean(correct + flip * (1 - 2 * correct)), rel=1e-13)
    assert score.variance == pytest.approx(np.sum(flip * (1 - flip)) / LABELS.size**2, rel=1e-13)
    assert mean_of(draws).agrees(score.expected)
    assert variance_of(draws).agrees(score.variance)


def test_worked_example():
    """a = 0.85 with labels that are wrong with probability 5 %: the expected accuracy is 0.815 (printed: 0.815 %)."""
    labels = np.ones(100, dtype=int)
    prediction = (np.arange(100) < 85).astype(int)
    score = sb.accuracy_score(labels, prediction, yerr=0.05)
    assert score.observed == 0.85
    assert score.expected == pytest.approx(0.815, rel=1e-13)
    assert score.variance == pytest.approx(0.05 * 0.95 / 100, rel=1e-13)


def test_printed_examples_of_negative_values_are_gone():
    """d = -0.5, sigma = 0.2: the printed formulas give MAE -0.334 and variance -0.221."""
    score = sb.mean_absolute_error([0.0], [0.5], yerr=0.2)
    assert score.expected == pytest.approx(0.5008016548716512801670916801, rel=1e-13)
    assert score.variance == pytest.approx(0.03919770247781548204332232475, rel=1e-13)


@pytest.mark.parametrize("metric", ["mean_squared_error", "mean_absolute_error"])
def test_expected_regression_error_is_never_below_the_observed_one(metric):
    """The paper's statement on MSE and MAE, which is right; equality without errors."""
    function = getattr(sb, metric)
    assert function(Y, PREDICTION, yerr=SIGMA).expected > function(Y, PREDICTION, yerr=SIGMA).observed
    exact = function(Y, PREDICTION, yerr=0.0)
    assert exact.expected == exact.observed and exact.variance == 0.0
