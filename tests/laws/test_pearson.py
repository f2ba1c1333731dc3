"""Law of Pearson's correlation: Student's t, non-central t, simulation, limits."""

import math
import pickle

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, roots_legendre
from unequal_errors import require_drawn_law, unequal

from scorebars.laws.quadratic.pearson import PearsonLaw


def correlation(y, p, weight=None):
    """The correlation of each row of y with p."""
    w = np.full(p.size, 1 / p.size) if weight is None else weight / weight.sum()
    y, p = y - (y @ w)[:, None], p - p @ w
    return (y * p) @ w / np.sqrt((y * y) @ w * ((p * p) @ w))


@pytest.mark.parametrize("n", [3, 4, 5, 10, 60, 500])
@pytest.mark.parametrize("slope", [0.0, 0.8])
def test_equal_errors_about_a_line_give_the_noncentral_t(n, slope):
    """r sqrt(n - 2) / sqrt(1 - r^2) is non-central t for labels of mean a + slope p and equal sigma."""
    p = np.random.default_rng(n).normal(size=n)
    law = PearsonLaw.of_labels(1.0 + slope * p, p, 0.9)
    shift = slope * math.sqrt(np.sum((p - p.mean()) ** 2)) / 0.9
    other = stats.nct(n - 2, shift) if shift else stats.t(n - 2)
    for q in (0.01, 0.3, 0.6, 0.98):
        t = other.ppf(q)
        r = t / math.sqrt(n - 2 + t * t)
        np.testing.assert_allclose(law.cdf(r), q, rtol=1e-8)
        np.testing.assert_allclose(law.ppf(q), r, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(law.pdf(r), other.pdf(t) * math.sqrt(n - 2) / (1 - r * r) ** 1.5, rtol=5e-7)
    if slope == 0:
        assert law.mean == pytest.approx(0, abs=1e-15) and law.var == pytest.approx(1 / (n - 1), rel=1e-12)


def test_variance_of_small_errors_against_many_digits():
    """Two uncertain labels of three: r as an explicit function, integrated with Gauss-Hermite in many digits."""
    mu, p = [0.3, 1.1, 2.0], [0.0, 1.0, 2.5]
    for sigma in (0.05, 1e-6):
        law = PearsonLaw.of_labels(np.array(mu), np.array(p), np.array([sigma, sigma, 0.0]))
        with mp.workdps(40):
            nodes, weights = np.polynomial.hermite_e.hermegauss(24)

            def r(a, b, sigma=sigma):
                y = [mp.mpf(mu[0]) + sigma * mp.mpf(a), mp.mpf(mu[1]) + sigma * mp.mpf(b), mp.mpf(mu[2])]
                my, mx = mp.fsum(y) / 3, mp.fsum(map(mp.mpf, p)) / 3
                top = mp.fsum((yi - my) * (mp.mpf(xi) - mx) for yi, xi in zip(y, p, strict=True))
                bottom = mp.fsum((yi - my) ** 2 for yi in y) * mp.fsum((mp.mpf(xi) - mx) ** 2 for xi in p)
                return top / mp.sqrt(bottom)

            total = mp.fsum(map(mp.mpf, weights))
            pairs = [
                (mp.mpf(v) * w / total**2, r(a, b))
                for a, v in zip(nodes, weights, strict=True)
                for b, w in zip(nodes, weights, strict=True)
            ]
            mean = mp.fsum(w * x for w, x in pairs)
            var = mp.fsum(w * (x - mean) ** 2 for w, x in pairs)
        np.testing.assert_allclose(law.mean, float(mean), rtol=1e-11)
        np.testing.assert_allclose(law.var, float(var), rtol=1e-8)


@pytest.mark.parametrize(
    ("n", "noise", "weighted"), [(3, 1.0, False), (5, 0.3, True), (8, 2.0, False), (400, 1.0, True)]
)
def test_simulation(n, noise, weighted):
    rng = np.random.default_rng(n)
    mu = rng.normal(size=n)
    p, sigma = mu + 0.7 * rng.normal(size=n), noise * rng.lognormal(-0.5, 0.7, n)
    if n == 8:
        sigma[:3] = 0
    weight = rng.exponential(size=n) if weighted else None
    law = PearsonLaw.of_labels(mu, p, sigma, weight)
    draws = correlation(mu + sigma * rng.standard_normal((4000, n)), p, weight)
    assert stats.kstest(law.rvs(4000, rng=1), draws).pvalue > 1e-4
    assert draws.mean() == pytest.approx(law.mean, abs=5 * law.std / 63)
    assert draws.var() == pytest.approx(law.var, rel=0.25)
    for q in (0.02, 0.3, 0.7, 0.98):
        assert law.cdf(np.quantile(draws, q)) == pytest.approx(q, abs=5 * math.sqrt(q * (1 - q) / 4000))


@pytest.mark.parametrize("seed", [2, 29, 78, 82, 86, 129, 140])
def test_errors_of_very_different_size(seed):
    y, p, sigma, weight = unequal(seed)
    drawn = y + sigma * np.random.default_rng(0).standard_normal((20_000, y.size))
    require_drawn_law(PearsonLaw.of_labels(y, p, sigma, weight), correlation(drawn, p, weight))


def test_a_hyperbola_that_grows_where_nobody_looked_is_not_taken():
    """For these labels one had terms of 1e16 between the points at which it was judged, near r = -0.006."""
    rng = np.random.default_rng(46)
    n = int(rng.choice([3, 4, 6, 10, 20, 50, 100, 400, 3000]))
    spread = rng.choice([0, 0.3, 1, 3, 5])
    y = rng.normal(size=n) * 10 ** rng.uniform(-1, 1) + rng.normal() * 3
    p = y * rng.uniform(-0.5, 1.5) + rng.normal(size=n) * 10 ** rng.uniform(-2, 0.5)
    law = PearsonLaw.of_labels(y, p, np.exp(spread * rng.normal(size=n)) * 10 ** rng.uniform(-2, 0.5))
    x = np.linspace(-0.01, 0.01, 21)
    cdf = law.cdf(x)
    assert np.all(np.diff(cdf) > 0)
    assert np.all(np.abs(cdf - 0.5) < 2e-3)
    assert law.cdf(law.ppf(0.5)) == pytest.approx(0.5, abs=1e-14)


def test_close_to_the_ends():
    """P(r <= x) is proportional to 1 + x there, for four labels of which one is exact."""
    law = PearsonLaw.of_labels(
        np.array([0.3, -1.0, 0.8, 0.1]), np.array([0.1, 0.9, -0.4, 0.2]), np.array([0.3, 0.3, 0.0, 0.3])
    )
    ends = np.array([1e-6, 1e-9, 1e-11, 1e-13])
    gaps = (-1.0 + ends) + 1.0
    slope = law.cdf(-1.0 + ends) / gaps
    np.testing.assert_allclose(slope, slope[0], rtol=1e-6)
    assert law.pdf(-1.0 + 1e-6) == pytest.approx(slope[0], rel=5e-3)  # the density is good to 1e-7 of its peak
    assert np.all(law.sf(1.0 - ends) < 1e-12)


@pytest.mark.parametrize("size", [0.05, 0.5])
def test_moments_are_those_of_the_quantiles(size):
    rng = np.random.default_rng(3)
    mu = rng.normal(size=12)
    law = PearsonLaw.of_labels(mu, mu + 0.5 * rng.normal(size=12), size * rng.lognormal(0, 0.5, 12))
    nodes, weights = roots_legendre(40)
    z = 9 * nodes
    values, density = law.ppf(ndtr(z)), 9 * weights * stats.norm.pdf(z)
    np.testing.assert_allclose(density @ values, law.mean, rtol=1e-7)
    np.testing.assert_allclose(density @ (values - law.mean) ** 2, law.var, rtol=1e-5)


def test_two_labels_have_correlation_plus_or_minus_one():
    law = PearsonLaw.of_labels(np.array([0.0, 0.5]), np.array([1.0, 3.0]), np.array([1.0, 0.5]))
    up = stats.norm.cdf(0.5 / math.sqrt(1.25))
    assert law.mean == pytest.approx(2 * up - 1) and law.var == pytest.approx(4 * up * (1 - up))
    assert law.cdf(0.3) == pytest.approx(1 - up) and law.ppf(0.1) == -1 and law.ppf(0.9) == 1


def test_errors_that_cannot_move_the_numerator():
    mu, p, sigma = np.array([-1.0, 1.0, 0.2]), np.array([-2.0, 2.0, 0.0]), np.array([0.0, 0.0, 0.8])
    law = PearsonLaw.of_labels(mu, p, sigma)
    draws = correlation(mu + sigma * np.random.default_rng(1).standard_normal((4000, 3)), p)
    for q in (0.1, 0.5):
        assert law.cdf(np.quantile(draws, q)) == pytest.approx(q, abs=0.04)
    assert law.cdf(-0.5) == 0 and law.sf(0.0) == 1
    assert draws.mean() == pytest.approx(law.mean, abs=0.01)


def test_limits_and_symmetries():
    rng = np.random.default_rng(5)
    mu, p, sigma = rng.normal(size=7), rng.normal(size=7), rng.lognormal(size=7)
    law, mirrored = PearsonLaw.of_labels(mu, p, sigma), PearsonLaw.of_labels(mu, -3 * p + 1, sigma)
    np.testing.assert_allclose(mirrored.mean, -law.mean, rtol=1e-12)
    np.testing.assert_allclose(mirrored.sf(-0.3), law.cdf(0.3), rtol=1e-10)
    near = np.array([-1e-7, 2e-5, 1e-4])
    np.testing.assert_allclose(law.cdf(near), law.cdf(0.0) + law.pdf(0.0) * near, rtol=1e-6)
    edge = law._near_zero
    np.testing.assert_allclose(law.cdf(0.999 * edge) + 0.002 * edge * law.pdf(edge), law.cdf(1.001 * edge), rtol=1e-9)
    assert law.cdf(-1.0) == 0 and law.cdf(1.0) == 1 and law.support == (-1, 1)
    tiny = PearsonLaw.of_labels(mu, p, 1e-8 * sigma)
    observed = correlation(mu[None], p)[0]
    assert tiny.mean == pytest.approx(observed, rel=1e-12) and tiny.std == pytest.approx(
        1e-3 * PearsonLaw.of_labels(mu, p, 1e-5 * sigma).std, rel=1e-8
    )
    fixed = PearsonLaw.of_labels(mu, p, 0.0)
    assert fixed.mean == pytest.approx(observed) and fixed.var == 0 and fixed.ppf(0.4) == fixed.mean
    assert fixed.cdf(fixed.mean) == 1 and fixed.rvs(2, rng=1).tolist() == [fixed.mean] * 2
    assert pickle.loads(pickle.dumps(law)).ppf(0.3) == law.ppf(0.3)
    assert law.rvs((2, 3), rng=1).shape == (2, 3) and isinstance(law.rvs(rng=1), float)
    with pytest.raises(ValueError, match="all predictions are equal"):
        PearsonLaw.of_labels(mu, np.ones(7), sigma)
    with pytest.raises(ValueError, match="all labels are equal"):
        PearsonLaw.of_labels(np.ones(7), p, 0.0)
