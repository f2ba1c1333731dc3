"""Flips with a common correlation: the two-state model has the flips it promises."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scorebars as sb
from scorebars.laws.counts.correlated_flips import conditional_flip_probabilities

CASES = {
    c["id"]: c for c in json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
}


def largest_correlation(q):
    """What a shared two-point cause can give flips of probabilities q."""
    odds = q / (1 - q)
    return math.sqrt(np.min(odds) / np.max(odds))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.01, 0.6), min_size=2, max_size=8), st.floats(0, 1))
def test_probabilities_and_correlations_are_kept(q, share):
    q = np.array(q)
    rho = share * largest_correlation(q)
    weights, r = conditional_flip_probabilities(q, rho)
    assert np.all((r >= 0) & (r <= 1)) and weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(weights @ r, q, rtol=1e-10)
    covariance = (weights[:, None] * (r - q)).T @ (r - q)
    sd = np.sqrt(q * (1 - q))
    np.testing.assert_allclose(covariance, rho * np.outer(sd, sd), atol=1e-12)


def test_certain_labels_set_no_limit():
    weights, r = conditional_flip_probabilities([0.0, 0.1, 1.0, 0.1], 0.3)
    assert r[:, 0].tolist() == [0, 0] and r[:, 2].tolist() == [1, 1]
    np.testing.assert_allclose(weights @ r, [0, 0.1, 1, 0.1], atol=1e-15)
    assert np.array_equal(conditional_flip_probabilities([0.0, 1.0], 0.9)[1], [[0, 1], [0, 1]])


def test_full_correlation_is_one_shared_flip():
    weights, r = conditional_flip_probabilities(np.full(5, 0.05), 1.0)
    assert r.tolist() == [[1.0] * 5, [0.0] * 5]
    np.testing.assert_allclose(weights, [0.05, 0.95], rtol=1e-14)


def test_impossible_correlation_is_named():
    with pytest.raises(
        ValueError, match=r"correlation=0\.5 cannot be shared .* between 0\.01 and 0\.3: at most 0\.153"
    ):
        conditional_flip_probabilities([0.01, 0.3], 0.5)
    bound = largest_correlation(np.array([0.01, 0.3]))
    assert bound == pytest.approx(math.sqrt((0.01 / 0.99) / (0.3 / 0.7)))
    conditional_flip_probabilities([0.01, 0.3], bound)


@pytest.mark.parametrize("weight", [None, np.full(100, 0.3)])
@pytest.mark.parametrize("rho", [0.0, 0.2, 0.7, 1.0])
def test_variance_of_accuracy(rho, weight):
    m, right, q = 100, 85, 0.05
    score = sb.accuracy_score(
        np.ones(m, dtype=int), (np.arange(m) < right) * 1, yerr=sb.Flip(q, correlation=rho), sample_weight=weight
    )
    a, pq = right / m, q * (1 - q)
    assert score.expected == pytest.approx(a + q * (1 - 2 * a), rel=1e-13)
    variance = pq * (1 - rho) / m + rho * pq * (1 - 2 * a) ** 2
    assert score.std**2 == pytest.approx(variance, rel=1e-12)
    assert score.distribution.var() == pytest.approx(variance, rel=1e-12)


def test_shared_flip_matches_reference():
    exact = CASES["accuracy_M100_paper"]["exact"]
    score = sb.accuracy_score(np.ones(100, dtype=int), (np.arange(100) < 85) * 1, yerr=sb.Flip(0.05, correlation=1.0))
    assert score.std**2 == pytest.approx(float(exact["var_shared_flip"]), rel=1e-13)
    assert score.distribution.pmf([0.85, 0.15]) == pytest.approx([0.95, 0.05])


def test_several_classes():
    score = sb.accuracy_score(["a", "b"], ["a", "c"], yerr=sb.Flip(0.3, correlation=0.4))
    assert score.expected == pytest.approx((0.7 + 0.15) / 2)


def test_simulated_flips():
    rng = np.random.default_rng(1)
    q, rho = np.array([0.05, 0.1, 0.2]), 0.3
    weights, r = conditional_flip_probabilities(q, rho)
    state = (rng.random(200_000) > weights[0]).astype(int)
    flips = rng.random((200_000, 3)) < r[state]
    np.testing.assert_allclose(flips.mean(axis=0), q, atol=4e-3)
    np.testing.assert_allclose(np.corrcoef(flips.T), 0.7 * np.eye(3) + 0.3, atol=0.02)
