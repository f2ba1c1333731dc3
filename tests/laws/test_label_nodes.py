"""Compression of many labels: the law stays that of the full sum."""

import math

import numpy as np
import pytest

from scorebars.laws.contour import Inversion
from scorebars.laws.quadratic.chisquare import DiagonalCGF, GeneralizedChiSquare
from scorebars.laws.quadratic.quadratic_form import BLOCK, EXACT, compress, merge_equal


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("size", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("n", [400, 5000])
def test_quantiles_of_the_full_sum(n, size, spread):
    rng = np.random.default_rng(2)
    delta, sigma = size * rng.normal(size=n), rng.lognormal(0, spread, n)
    law = GeneralizedChiSquare.independent(delta, sigma)
    full = DiagonalCGF(np.ones(n), sigma**2 / n, delta**2 / n)
    assert law.cgf.lam.size <= EXACT
    assert law.var == pytest.approx(full.k2, rel=1e-13) and law.mean == pytest.approx(full.mean, rel=1e-13)
    for q in (1e-12, 0.025, 0.5, 0.975, 1 - 1e-12):
        x = law.ppf(q)
        lower, upper, _ = Inversion(full.contour, full.mean, math.sqrt(full.k2)).probabilities(x)
        off = lower - q if q < 0.5 else (1 - q) - upper
        assert abs(off) / law.pdf(x) < 5e-15 * x + 1e-11 * min(q, 1 - q) / law.pdf(x)


def test_small_errors_on_large_deviations_are_kept():
    """Labels with sigma of 1e-6 and deviations of 1e6 weigh as much as the others."""
    rng = np.random.default_rng(4)
    n = 2000
    sigma = np.where(np.arange(n) < 500, 1.0, 1e-6) * rng.lognormal(0, 0.5, n)
    delta = np.where(np.arange(n) < 500, 1.0, 1e6) * rng.normal(size=n)
    law = GeneralizedChiSquare.independent(delta, sigma)
    np.testing.assert_allclose(law.cgf.k2, np.sum((2 * sigma**4 + 4 * sigma**2 * delta**2) / n**2), rtol=1e-12)


def test_labels_without_error_and_few_distinct_values():
    n = 3000
    sigma = np.repeat([0.0, 0.5, 2.0], n // 3)
    delta = np.linspace(-1, 1, n)
    law = GeneralizedChiSquare.independent(delta, sigma)
    groups = sigma.reshape(3, -1)[:, 0] ** 2 / n
    b2 = np.sum(delta.reshape(3, -1) ** 2, axis=1) / n
    exact = GeneralizedChiSquare.of_nodes(groups, np.full(3, n / 3), b2)
    np.testing.assert_allclose(law.support[0], b2[0], rtol=1e-14)
    np.testing.assert_allclose(law.ppf([1e-9, 0.5, 0.999]), exact.ppf([1e-9, 0.5, 0.999]), rtol=1e-14)


def test_sums_of_smooth_functions():
    rng = np.random.default_rng(6)
    v, column = rng.lognormal(0, 2, 3 * BLOCK), rng.normal(size=3 * BLOCK)

    def block(part):
        return v[part], np.stack([np.ones(v[part].size), column[part]])

    nodes, (count, sums), certain = compress(v.size, block)
    assert not certain.any()
    top = np.sort(v)[-64]
    for t in (-0.3 / top, 0.1j / top, (0.2 + 0.4j) / top):
        for weights, compressed in ((np.ones(v.size), count), (column, sums)):
            exact = np.sum(weights / (1 - 2 * t * v))
            assert abs(np.sum(compressed / (1 - 2 * t * nodes)) - exact) < 1e-12 * np.sum(np.abs(weights))


def test_merge_equal():
    nodes, columns = merge_equal(np.array([2.0, 1.0, 2.0]), np.array([[1.0, 1.0, 1.0], [5.0, 6.0, 7.0]]))
    assert nodes.tolist() == [1, 2] and columns.tolist() == [[1, 2], [6, 12]]


def test_many_draws_from_a_compressed_law():
    rng = np.random.default_rng(9)
    law = GeneralizedChiSquare.independent(rng.normal(size=1000), rng.lognormal(size=1000))
    draws = law.rvs(20000, rng=5)
    few = law.rvs(3, rng=5)
    assert draws.mean() == pytest.approx(law.mean, abs=5 * law.std / 141)
    assert np.mean(draws < law.ppf(0.1)) == pytest.approx(0.1, abs=0.011)
    assert few.shape == (3,) and law.rvs((0,), rng=1).size == 0 and isinstance(law.rvs(rng=2), float)
    np.testing.assert_allclose(few, draws[:3], atol=1e-4 * law.std)
