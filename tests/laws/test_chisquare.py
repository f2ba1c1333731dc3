"""Generalised chi-square: reference values, other methods, properties, large and extreme data."""

import json
import math
import pickle
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scorebars.laws.contour import Inversion
from scorebars.laws.quadratic.chisquare import GeneralizedChiSquare, LowRankCGF

CASES = json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
QUANTILES = np.array([1e-12, 1e-6, 0.025, 0.3, 0.5, 0.7, 0.975, 1 - 1e-6, 1 - 1e-12])


def reference_law(case):
    inputs = case["inputs"]
    delta = np.array(inputs["y"]) - np.array(inputs["y_pred"])
    if "cov" in inputs:
        return GeneralizedChiSquare.covariance(delta, np.array(inputs["cov"]))
    sigma = np.array(inputs["sigma"])
    if case["metric"] == "reduced_chi2":
        return GeneralizedChiSquare.independent(delta / sigma, 1.0)
    return GeneralizedChiSquare.independent(delta, sigma)


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c["metric"] in ("mse", "reduced_chi2") and c["question"] == "remeasured"],
    ids=lambda c: c["id"],
)
def test_reference(case):
    law, exact = reference_law(case), case["exact"]
    close = {"rtol": 1e-12, "atol": 0}
    np.testing.assert_allclose(law.mean, float(exact["mean"]), **close)
    np.testing.assert_allclose(law.var, float(exact["var"]), **close)
    for point in exact.get("cdf", []):
        np.testing.assert_allclose(law.cdf(point["x"]), float(point["p"]), **close)
        np.testing.assert_allclose(law.sf(point["x"]), float(1 - mp.mpf(point["p"])), rtol=1e-13)
    for point in exact.get("quantiles", []):
        np.testing.assert_allclose(law.ppf(point["p"]), float(point["x"]), **close)


def test_reference_p_value_of_a_perfect_model():
    case = next(c for c in CASES if c["id"] == "reduced_chi2_M7")
    perfect = GeneralizedChiSquare.independent(np.zeros(7), 1.0)
    observed = float(case["exact"]["observed"])
    np.testing.assert_allclose(perfect.sf(observed), float(case["exact"]["pvalue_perfect_model"]), rtol=1e-13)


def round_trip(law, quantiles=QUANTILES, rtol=2e-11):
    """cdf(ppf(q)) = q in the smaller tail, up to what the rounding of x allows."""
    x = law.ppf(quantiles)
    smaller = np.minimum(quantiles, 1 - quantiles)
    tail = np.where(quantiles < 0.5, law.cdf(x), law.sf(x))
    np.testing.assert_array_less(np.abs(tail / smaller - 1), rtol + 1e-15 * law.pdf(x) * x / smaller)


@pytest.mark.parametrize("ratio", [0, 1e-8, 1e-4, 0.1, 1, 3, 10, 100, 1e4, 1e8])
def test_one_label_is_a_squared_normal(ratio):
    law = GeneralizedChiSquare.independent(np.array([float(ratio)]), np.array([1.0]))
    for q in (1e-12, 0.01, 0.3, 0.6, 0.99, 1 - 1e-12):
        x = law.ppf(q)
        with mp.workdps(40):
            root = mp.sqrt(mp.mpf(x))
            lower = (mp.erfc((ratio - root) / mp.sqrt(2)) - mp.erfc((ratio + root) / mp.sqrt(2))) / 2
            upper = (mp.erfc((root - ratio) / mp.sqrt(2)) + mp.erfc((root + ratio) / mp.sqrt(2))) / 2
            density = (mp.npdf(root - ratio) + mp.npdf(root + ratio)) / (2 * root)
        slack = float(density) * x * 4e-16 / min(q, 1 - q)
        np.testing.assert_allclose(law.cdf(x), float(lower), rtol=1e-11 + slack)
        np.testing.assert_allclose(law.sf(x), float(upper), rtol=1e-11 + slack)
        np.testing.assert_allclose(law.pdf(x), float(density), rtol=1e-11 + slack)
        np.testing.assert_allclose(float(lower if q < 0.5 else upper), q if q < 0.5 else 1 - q, rtol=1e-11 + slack)


@pytest.mark.parametrize("m", [1, 2, 3, 7, 30, 1000, 10**5, 10**7])
@pytest.mark.parametrize("noncentrality", [0.0, 1.0, 50.0, 1e4, 1e8])
def test_constant_sigma_is_the_noncentral_chi_square(m, noncentrality):
    exact = GeneralizedChiSquare.of_nodes(np.array([1.0]), np.array([float(m)]), np.array([noncentrality]))
    law = stats.ncx2(m, noncentrality) if noncentrality else stats.chi2(m)
    for q in (0.025, 0.5, 0.975):
        x = exact.ppf(q)
        np.testing.assert_allclose(x, law.ppf(q), rtol=1e-12)
        np.testing.assert_allclose(exact.cdf(x), q, atol=1e-15 * law.pdf(x) * x + 1e-12)
    np.testing.assert_allclose(exact.var, law.var(), rtol=1e-14)


def test_constant_sigma_is_one_node():
    delta = np.random.default_rng(1).normal(size=5000)
    for sigma in (0.3, np.full(5000, 0.3)):
        law = GeneralizedChiSquare.independent(delta, sigma)
        assert law.cgf.lam.size == 1 and law.cgf.count[0] == pytest.approx(5000, rel=1e-12)
        scale = 0.09 / 5000
        np.testing.assert_allclose(law.ppf(0.2), scale * stats.ncx2(5000, np.sum(delta**2) / 0.09).ppf(0.2), rtol=1e-12)


def two_labels_by_quadrature(x, delta, sigma):
    """P(sum of two squared normals <= 2 x): the second label's law integrated over the first."""
    d, s = [mp.mpf(v) for v in delta], [mp.mpf(v) for v in sigma]
    with mp.workdps(20):
        reach = mp.sqrt(2 * mp.mpf(x))

        def inner(angle):
            first, half = reach * mp.sin(angle), reach * mp.cos(angle)
            inside = mp.ncdf((half - d[1]) / s[1]) - mp.ncdf((-half - d[1]) / s[1])
            return mp.npdf((first - d[0]) / s[0]) / s[0] * inside * half

        return float(mp.quad(inner, mp.linspace(-mp.pi / 2, mp.pi / 2, 13)))


@pytest.mark.parametrize(
    ("delta", "sigma"), [((0.5, -0.3), (0.2, 1.0)), ((2.0, 0.0), (0.5, 0.05)), ((0.0, 1.0), (1.0, 30.0))]
)
def test_two_labels_by_quadrature(delta, sigma):
    law = GeneralizedChiSquare.independent(np.array(delta), np.array(sigma))
    for q in (1e-6, 0.5):
        x = law.ppf(q)
        np.testing.assert_allclose(two_labels_by_quadrature(x, delta, sigma), q, rtol=1e-12)


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("size", [5, 200, 3000])
def test_round_trip_and_simulation(spread, size):
    rng = np.random.default_rng(7)
    delta, sigma = rng.normal(size=size), rng.lognormal(0, spread, size)
    weight = rng.exponential(size=size)
    law = GeneralizedChiSquare.independent(delta, sigma, weight)
    round_trip(law)
    draws = np.array(
        [np.average((delta + sigma * rng.standard_normal(size)) ** 2, weights=weight) for _ in range(2000)]
    )
    assert stats.kstest(law.cdf(draws[:200]), "uniform").pvalue > 1e-4
    assert stats.kstest(law.rvs(2000, rng=3), draws).pvalue > 1e-4


def test_point_mass():
    for law in (
        GeneralizedChiSquare.independent(np.array([1.0, 2.0]), 0.0),
        GeneralizedChiSquare.independent(np.array([1.0, 2.0]), np.zeros(2)),
        GeneralizedChiSquare.covariance(np.array([1.0, 2.0]), np.zeros((2, 2))),
        GeneralizedChiSquare.low_rank(np.array([1.0, 2.0]), 0.0, np.zeros((3, 2))),
        GeneralizedChiSquare.independent(np.full(1000, math.sqrt(2.5)), np.zeros(1000)),
    ):
        value = law.ppf(0.3)
        assert value == pytest.approx(2.5, rel=1e-13) and law.mean == value and law.var == 0 and law.std == 0
        assert law.cdf([value - 1e-9, value, value + 1e-9]).tolist() == [0, 1, 1]
        assert law.sf([value - 1e-9, value, value + 1e-9]).tolist() == [1, 0, 0]
        assert law.pdf([value - 1e-9, value, value + 1e-9]).tolist() == [0, math.inf, 0]
        assert law.rvs(3, rng=0).tolist() == [value] * 3 and law.rvs(rng=0) == value


def test_labels_without_error_shift_the_law():
    delta, sigma = np.array([3.0, 0.5, -1.0, 1e4]), np.array([0.0, 0.7, 0.2, 0.0])
    law = GeneralizedChiSquare.independent(delta, sigma)
    part = GeneralizedChiSquare.independent(delta[1:3] / math.sqrt(2), sigma[1:3] / math.sqrt(2))
    floor = (9 + 1e8) / 4
    assert law.support == (floor, math.inf)
    np.testing.assert_allclose(law.ppf(0.4) - floor, part.ppf(0.4), rtol=1e-6)
    assert law.cdf(floor) == 0 and law.cdf(floor - 1) == 0 and law.sf(floor) == 1
    np.testing.assert_allclose(law.var, part.var, rtol=1e-14)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_density_at_the_floor(m):
    law = GeneralizedChiSquare.independent(np.full(m, 0.4), np.full(m, 0.8))
    at_zero = law.pdf(0.0)
    if m == 1:
        assert at_zero > 1e40
        np.testing.assert_allclose(law.cdf(1e-80), 2 * stats.norm.pdf(0.5) / 0.8 * 1e-40, rtol=1e-13)
    else:
        np.testing.assert_allclose(at_zero, law.pdf(1e-12) if m == 2 else 0.0, rtol=1e-11, atol=1e-40)
    assert law.cdf(1e300) == 1 and law.sf(1e300) == 0 and law.pdf(1e300) == 0


def test_covariance_and_low_rank_agree():
    rng = np.random.default_rng(3)
    n = 260
    delta, variance, shared = rng.normal(size=n), rng.lognormal(size=n), rng.normal(size=(2, n)) * 0.4
    weight = rng.exponential(size=n)
    dense = GeneralizedChiSquare.covariance(delta, np.diag(variance) + shared.T @ shared, weight)
    thin = GeneralizedChiSquare.low_rank(delta, variance, shared, weight)
    assert isinstance(thin.cgf, LowRankCGF)
    np.testing.assert_allclose(thin.ppf(QUANTILES), dense.ppf(QUANTILES), rtol=1e-13)
    x = dense.ppf(QUANTILES)
    np.testing.assert_allclose(thin.pdf(x), dense.pdf(x), rtol=1e-11)
    np.testing.assert_allclose([thin.mean, thin.var], [dense.mean, dense.var], rtol=1e-13)
    np.testing.assert_allclose(
        GeneralizedChiSquare.low_rank(delta, variance, 0 * shared, weight).ppf(QUANTILES),
        GeneralizedChiSquare.independent(delta, np.sqrt(variance), weight).ppf(QUANTILES),
        rtol=1e-13,
    )


@pytest.mark.parametrize("size", [0.001, 1.0, 1000.0])
def test_low_rank_formulas_without_compression(size):
    rng = np.random.default_rng(5)
    n, k = 12, 3
    delta, variance, shared = rng.normal(size=n), rng.lognormal(0, 2, n), size * rng.normal(size=(k, n))
    dense = GeneralizedChiSquare.covariance(delta * math.sqrt(n), n * (np.diag(variance) + shared.T @ shared))
    along = rng.normal(size=k) / size
    x = np.vstack([delta - along @ shared, shared]).T
    cgf = LowRankCGF(np.ones(n), variance, x[:, :, None] * x[:, None, :], along)
    limit = 0.5 / dense.cgf.lam.max()
    np.testing.assert_allclose([cgf.mean, cgf.k2], [dense.cgf.mean, dense.cgf.k2], rtol=1e-10)
    s = (1j * np.array([0.1, 1.0, 5.0]) + 0.2) * limit
    np.testing.assert_allclose(cgf.centred(s), dense.cgf.centred(s), rtol=1e-10)
    for t in (s, np.array([-100.0, -30.0, -0.01, 0.4 * limit, 0.95 * limit])):
        np.testing.assert_allclose(cgf.exponent(t, 0.3), dense.cgf.exponent(t, 0.3), rtol=1e-8)
    inversion = Inversion(cgf.contour, cgf.mean, math.sqrt(cgf.k2))
    np.testing.assert_allclose(inversion.ppf(0.01), dense.ppf(0.01), rtol=1e-10)


def test_low_rank_with_labels_free_of_own_error():
    rng = np.random.default_rng(8)
    n = 9
    delta, variance, shared = rng.normal(size=n), rng.lognormal(size=n), rng.normal(size=(2, n))
    variance[:5] = 0
    law = GeneralizedChiSquare.low_rank(delta, variance, shared)
    dense = GeneralizedChiSquare.covariance(delta, np.diag(variance) + shared.T @ shared)
    np.testing.assert_allclose(law.ppf(QUANTILES), dense.ppf(QUANTILES), rtol=1e-10)
    residual = delta[:5] - shared[:, :5].T @ np.linalg.lstsq(shared[:, :5].T, delta[:5])[0]
    np.testing.assert_allclose(law.support[0], residual @ residual / n, rtol=1e-12)
    np.testing.assert_allclose(dense.support[0], residual @ residual / n, rtol=1e-10)
    common = GeneralizedChiSquare.low_rank(np.full(n, 2.0), 0.0, np.full((1, n), 0.5))
    np.testing.assert_allclose(
        common.ppf(0.3), GeneralizedChiSquare.independent(np.array([2.0]), 0.5).ppf(0.3), rtol=1e-13
    )


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(0, 2)), min_size=1, max_size=6),
    st.floats(0.01, 100),
    st.floats(0.001, 0.999),
    st.randoms(use_true_random=False),
)
def test_scaling_and_permutation(labels, scale, q, random):
    delta, sigma = np.array(labels).T
    law = GeneralizedChiSquare.independent(delta, sigma)
    x = law.ppf(q)
    assert np.isfinite(x) and x >= law.support[0] and law.var >= 0
    scaled = GeneralizedChiSquare.independent(scale * delta, scale * sigma)
    np.testing.assert_allclose(scaled.ppf(q), scale**2 * x, rtol=1e-10, atol=1e-300)
    order = list(range(delta.size))
    random.shuffle(order)
    np.testing.assert_allclose(
        GeneralizedChiSquare.independent(-delta[order], sigma[order], np.full(delta.size, 0.3)).ppf(q),
        x,
        rtol=1e-10,
        atol=1e-300,
    )


def test_array_interface_and_pickle():
    law = GeneralizedChiSquare.independent(np.array([0.5, 1.0]), np.array([0.3, 0.4]))
    x = np.array([[0.2, 0.5], [1.0, 2.0]])
    assert law.cdf(x).shape == (2, 2) and isinstance(law.cdf(0.5), float)
    np.testing.assert_allclose(law.cdf(x) + law.sf(x), 1.0, rtol=1e-15)
    again = pickle.loads(pickle.dumps(law))
    assert again.ppf(0.3) == law.ppf(0.3)
    assert law.rvs((2, 3), rng=1).shape == (2, 3) and isinstance(law.rvs(rng=1), float)
    assert np.array_equal(law.rvs(5, rng=1), law.rvs(5, rng=1))
