"""Interval for the true mean square: inversion of the non-central chi-square and its generalisation."""

import numpy as np
import pytest
from scipy import stats

from scorebars.laws.quadratic.chisquare import GeneralizedChiSquare, interval_from_nodes
from scorebars.laws.quadratic.quadratic_form import compress


def noncentrality_interval(observed, sigma, level=0.95, *, weight=1.0, shape=1.0):
    """Interval for theta from labels of standard deviation sigma, the shape c of weighted mean 1."""
    share = np.broadcast_to(weight, sigma.shape) / np.sum(np.broadcast_to(weight, sigma.shape))
    lam, b2 = sigma**2 * share, shape * share
    nodes, columns, certain = compress(
        sigma.size, lambda part: (lam[part], np.stack([np.ones(lam[part].size), b2[part]]))
    )
    return interval_from_nodes(observed, nodes, *columns, fixed=float(certain[1]), level=level)


@pytest.mark.parametrize(
    ("m", "observed", "sigma"), [(5, 2.0, 0.5), (100, 1.5, 1.0), (1000, 3.0, 0.3), (1, 30.0, 1.0), (3000, 1.5, 1.0)]
)
def test_constant_sigma_inverts_the_noncentral_chi_square(m, observed, sigma):
    low, high = noncentrality_interval(observed, np.full(m, sigma), 0.9)
    scale = m / sigma**2
    np.testing.assert_allclose(stats.ncx2.sf(scale * observed, m, scale * low), 0.05, rtol=1e-9)
    np.testing.assert_allclose(stats.ncx2.cdf(scale * observed, m, scale * high), 0.05, rtol=1e-9)


def test_low_end_zero_and_high_end_above_zero():
    """However small the observed value, some true residuals are possible: the high end is never 0."""
    low, high = noncentrality_interval(1.2, np.ones(100))
    assert low == 0 and high > 0.3
    low, high = noncentrality_interval(0.2, np.ones(30), 0.9)
    chance = stats.ncx2.cdf(30 * 0.2, 30, 30 * high) / stats.chi2.cdf(30 * 0.2, 30)
    assert low == 0 and chance == pytest.approx(0.1, rel=1e-6)
    # as observed -> 0 the probability falls like exp(-sum D^2 / 2)
    for tiny in (0.0, 1e-200, 1e-9):
        assert noncentrality_interval(tiny, np.ones(3)) == pytest.approx((0.0, -2 * np.log(0.05) / 3), rel=1e-6)


@pytest.mark.parametrize("n", [4, 2000])
def test_mixed_sigma_weights_and_shape(n):
    rng = np.random.default_rng(3)
    sigma, weight, shape = rng.lognormal(size=n), rng.exponential(size=n), rng.exponential(size=n)
    sigma[0] = 0
    shape /= np.average(shape, weights=weight)
    observed = 1.5 * np.average(sigma**2, weights=weight) + 1.0
    low, high = noncentrality_interval(observed, sigma, 0.8, weight=weight, shape=shape)
    assert 0 <= low < high
    for theta, side in ((low, "sf"), (high, "cdf")):
        law = GeneralizedChiSquare.independent(np.sqrt(theta * shape), sigma, weight)
        if theta > 0:
            np.testing.assert_allclose(getattr(law, side)(observed), 0.1, rtol=1e-9)


def test_exact_labels_give_the_observed_value():
    assert noncentrality_interval(0.7, np.zeros(5)) == (0.7, 0.7)
    low, high = noncentrality_interval(1.0, np.full(10, 1e-9))
    np.testing.assert_allclose([low, high], 1.0, rtol=1e-8)
    assert low <= 1.0 <= high


def test_coverage():
    rng = np.random.default_rng(5)
    sigma, deviations = rng.lognormal(0, 0.5, 20), rng.normal(size=20)
    shape = deviations**2 / np.mean(deviations**2)
    hits = 0
    for _ in range(60):
        observed = np.mean((deviations + sigma * rng.standard_normal(20)) ** 2)
        low, high = noncentrality_interval(observed, sigma, 0.8, shape=shape)
        hits += low <= np.mean(deviations**2) <= high
    assert 39 <= hits <= 57
