"""Law of the MAE under shared shifts and full covariance: simulation, exact parts, limits."""

import math
import pickle

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

from scorebars.laws.law import NormalLaw
from scorebars.laws.mean_absolute.correlated_labels import SlidingNormal, correlated_law, shared_law
from scorebars.laws.mean_absolute.independent_labels import FoldedNormalMean
from scorebars.laws.mixture import MixtureLaw
from scorebars.laws.samples import SampleLaw
from scorebars.moments.correlated import variance_correlated, variance_shared


def problem(n, k, noise, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, n), noise * rng.uniform(0.5, 1.5, n), 0.4 + 0.3 * rng.standard_normal((k, n))


def simulated(delta, sigma, shared, count):
    rng = np.random.default_rng(5)
    blocks = []
    for _ in range(10):
        rows = count // 10
        errors = sigma * rng.standard_normal((rows, delta.size)) + rng.standard_normal((rows, shared.shape[0])) @ shared
        blocks.append(np.abs(delta + errors).mean(axis=1))
    return np.sort(np.concatenate(blocks))


@pytest.mark.parametrize("noise", [0.5, 0.01, 0.0])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("n", [3, 30, 100])
def test_quantiles_by_simulation(n, k, noise):
    delta, sigma, shared = problem(n, k, noise)
    law = shared_law(delta, sigma, shared)
    moments = variance_shared(delta, sigma, shared)
    assert law.mean == pytest.approx(moments.mean, rel=1e-8)
    assert law.var == pytest.approx(moments.variance, rel=1e-7)
    q = np.array([0.025, 0.5, 0.975])
    draws = simulated(delta, sigma, shared, 100_000)
    seen = np.searchsorted(draws, law.ppf(q)) / draws.size
    tolerance = 4.5 * np.sqrt(q * (1 - q) / draws.size) * (1 if law.method == "quadrature" else 2)
    assert np.all(np.abs(seen - q) < tolerance + 5e-4)
    assert law.method == ("simulation" if isinstance(law, SampleLaw) or k > 1 else "quadrature")
    x = law.ppf(0.3)
    assert law.cdf(x) == pytest.approx(0.3, abs=1e-6)
    assert law.cdf(x) + law.sf(x) == pytest.approx(1.0, abs=1e-12)
    assert law.pdf(x) > 0


def test_one_label_is_exact():
    law = shared_law(np.array([0.5]), np.array([0.3]), np.array([[0.4]]))
    assert law.method == "exact"
    assert law.cdf(0.7) == pytest.approx(FoldedNormalMean([0.5], [0.5]).cdf(0.7), abs=1e-15)


def test_no_shift_is_exact():
    delta, sigma, _ = problem(5, 1, 0.5)
    assert shared_law(delta, sigma, np.zeros((2, 5))).ppf(0.4) == FoldedNormalMean(delta, sigma).ppf(0.4)


def test_exact_parts_and_smeared_cells_agree():
    """25 labels are served by cells; the mixture of exact laws is the other way."""
    delta, sigma, _ = problem(25, 1, 0.8)
    shared = np.full((1, 25), 0.25)
    law = shared_law(delta, sigma, shared)
    s = np.linspace(-7, 7, 57)
    parts = [FoldedNormalMean(delta + 0.25 * x, sigma) for x in s]
    exact = MixtureLaw(parts, norm.pdf(s) / norm.pdf(s).sum())
    x = law.mean + law.std * np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    assert isinstance(law, SlidingNormal)
    assert law.cdf(x) == pytest.approx(exact.cdf(x), abs=2e-4)
    assert law.pdf(x) == pytest.approx(exact.pdf(x), rel=5e-3)


def test_only_a_shift():
    """No error but a common offset t ~ N(0, 1): mean |d + t| is a convex function of t."""
    delta, n = np.array([-1.0, 0.2, 0.5, 2.0]), 4
    law = shared_law(delta, np.zeros(n), np.ones((1, n)))
    for x in (1.2, 2.0):
        t = np.linspace(-6, 6, 600_001)
        inside = t[np.abs(delta[:, None] + t).mean(axis=0) <= x]
        assert law.cdf(x) == pytest.approx(ndtr(inside[-1]) - ndtr(inside[0]), abs=2e-5)


def test_weights_and_exact_labels():
    delta, sigma, shared = problem(40, 1, 0.5)
    sigma[0], shared[:, 0], delta[0] = 0.0, 0.0, 8.0
    weight = np.linspace(1, 3, 40)
    law = shared_law(delta, sigma, shared, weight)
    assert law.support[0] == pytest.approx(8.0 * weight[0] / weight.sum())
    assert law.mean == pytest.approx(variance_shared(delta, sigma, shared, weight).mean, rel=1e-12)
    assert pickle.loads(pickle.dumps(law)).ppf(0.2) == law.ppf(0.2)


def test_cells_of_any_breadth():
    """A straight line of means: normal plus uniform, from a point to far wider than the normal."""
    for width in (0.0, 1e-3, 1.0, 1e6):
        cells = np.array([[1.0], [0.0], [width], [1.0], [0.0], [0.0]])
        law = SlidingNormal(cells, width / 2, 1 + width**2 / 12, lowest=-math.inf)
        x = width / 2 + 0.7
        u = np.linspace(0, width, 200_001)
        expected = np.mean(ndtr(x - u)) if width < 10 else x / width
        assert law.cdf(x) == pytest.approx(expected, abs=1e-5)
    sharp = SlidingNormal(np.array([[1.0], [0.0], [1.0], [0.0], [0.0], [0.0]]), 0.5, 1 / 12)
    assert sharp.cdf([0.25, 0.75]) == pytest.approx([0.25, 0.75], abs=1e-10)


def test_full_covariance():
    delta, sigma, shared = problem(8, 2, 0.4)
    cov = np.diag(sigma**2) + shared.T @ shared
    law = correlated_law(delta, cov)
    assert law.method == "simulation"
    assert law.var == pytest.approx(variance_correlated(delta, cov), rel=1e-13)
    q = np.array([0.05, 0.5, 0.95])
    seen = np.searchsorted(simulated(delta, sigma, shared, 200_000), law.ppf(q)) / 200_000
    assert seen == pytest.approx(q, abs=0.012)
    assert correlated_law(delta, cov).ppf(0.3) == law.ppf(0.3)


def test_diagonal_covariance_is_exact():
    delta, sigma, _ = problem(8, 1, 0.4)
    assert correlated_law(delta, np.diag(sigma**2)).ppf(0.2) == FoldedNormalMean(delta, sigma).ppf(0.2)


def test_singular_covariance_and_exact_labels():
    delta = np.array([0.3, -0.2, 1.0, 5.0])
    cov = np.zeros((4, 4))
    cov[:3, :3] = 1.0
    law = correlated_law(delta, cov, np.array([1.0, 1.0, 1.0, 3.0]))
    t = np.random.default_rng(0).standard_normal(200_000)
    draws = 2.5 + np.abs(delta[:3, None] + t).sum(axis=0) / 6
    assert law.mean == pytest.approx(draws.mean(), rel=3e-3)
    assert law.ppf([0.1, 0.9]) == pytest.approx(np.quantile(draws, [0.1, 0.9]), rel=0.01)


def test_mixture_of_normals():
    law = MixtureLaw([NormalLaw(0.0, 1.0), NormalLaw(10.0, 2.0)], [0.25, 0.75])
    assert law.mean == 7.5
    assert law.cdf(law.ppf([0.001, 0.2, 0.25, 0.6])) == pytest.approx([0.001, 0.2, 0.25, 0.6], abs=1e-12)
