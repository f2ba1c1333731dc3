"""Flips with a common correlation: the two-state model has the flips it promises."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.correlated_flips import (
    conditional_flip_probabilities,
    correlated_correct_count,
    largest_correlation,
)
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.mixture import MixtureLaw

CASES = {
    c["id"]: c for c in json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
}


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
    assert largest_correlation(np.array([0.0, 1.0])) == 1.0
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


@pytest.mark.parametrize("rho", [0.0, 0.2, 0.7, 1.0])
def test_variance_of_accuracy(rho):
    m, right, q = 100, 85, 0.05
    law = correlated_correct_count(np.arange(m) < right, q, rho)
    a, pq = right / m, q * (1 - q)
    assert law.mean / m == pytest.approx(a + q * (1 - 2 * a), rel=1e-13)
    assert law.var / m**2 == pytest.approx(pq * (1 - rho) / m + rho * pq * (1 - 2 * a) ** 2, rel=1e-12)


def test_shared_flip_matches_reference():
    exact = CASES["accuracy_M100_paper"]["exact"]
    law = correlated_correct_count(np.arange(100) < 85, 0.05, 1.0)
    assert law.var / 100**2 == pytest.approx(float(exact["var_shared_flip"]), rel=1e-13)
    assert law.pmf([85, 15]) == pytest.approx([0.95, 0.05])


def test_without_correlation_it_is_the_poisson_binomial_law():
    rng = np.random.default_rng(0)
    right, q = rng.random(60) < 0.8, rng.random(60) * 0.3
    law, plain = correlated_correct_count(right, q, 0.0), PoissonBinomial(np.where(right, 1 - q, q))
    k = np.arange(61)
    np.testing.assert_allclose(law.cdf(k), plain.cdf(k), atol=1e-15)


def test_several_classes():
    law = correlated_correct_count([True, False], 0.3, 0.4, n_classes=4)
    assert law.mean == pytest.approx(0.7 + 0.1)


def test_simulated_flips():
    rng = np.random.default_rng(1)
    q, rho = np.array([0.05, 0.1, 0.2]), 0.3
    weights, r = conditional_flip_probabilities(q, rho)
    state = (rng.random(200_000) > weights[0]).astype(int)
    flips = rng.random((200_000, 3)) < r[state]
    np.testing.assert_allclose(flips.mean(axis=0), q, atol=4e-3)
    np.testing.assert_allclose(np.corrcoef(flips.T), 0.7 * np.eye(3) + 0.3, atol=0.02)


def test_equals_the_mixture_of_the_two_states():
    rng = np.random.default_rng(2)
    right, q = rng.random(40) < 0.8, 0.1 + 0.1 * rng.random(40)
    weights, flips = conditional_flip_probabilities(q, 0.3)
    mixture = MixtureLaw([ScaledLaw(PoissonBinomial(np.where(right, 1 - r, r)), 1 / 40) for r in flips], weights)
    law = ScaledLaw(correlated_correct_count(right, q, 0.3), 1 / 40)
    k = np.arange(41) / 40
    np.testing.assert_allclose(law.pmf(k), mixture.pmf(k), atol=1e-15)
    np.testing.assert_allclose(law.cdf(k), mixture.cdf(k), atol=1e-14)
    assert law.var == pytest.approx(mixture.var) and law.mean == pytest.approx(mixture.mean)
    np.testing.assert_allclose(law.ppf([0.025, 0.3, 0.975]), mixture.ppf([0.025, 0.3, 0.975]), atol=1e-12)
