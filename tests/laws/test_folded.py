"""Law of the MAE: reference values, convolution, the sum over all labels, draws, extreme data."""

import itertools
import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import foldnorm, kstest, norm

from scorebars.laws.mean_absolute import independent_labels
from scorebars.laws.mean_absolute.independent_labels import FoldedNormalMean, folded_cumulants, log_mgf
from scorebars.numerics.special import g, kappa3, kappa4, v

CASES = json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
MAE = [c for c in CASES if c["metric"] == "mae" and c["question"] == "remeasured" and "sigma" in c["inputs"]]
MAE = [c for c in MAE if set(c["inputs"]) <= {"y", "y_pred", "sigma", "sample_weight"}]


@pytest.mark.parametrize("case", MAE, ids=lambda c: c["id"])
def test_reference(case):
    inputs, exact = case["inputs"], case["exact"]
    delta = np.subtract(inputs["y"], inputs["y_pred"])
    law = FoldedNormalMean(delta, inputs["sigma"], inputs.get("sample_weight"))
    assert law.mean == pytest.approx(float(exact["mean"]), rel=1e-15)
    assert law.var == pytest.approx(float(exact["var"]), rel=4e-15)
    for row in exact.get("cdf", []):
        assert law.cdf(row["x"]) == pytest.approx(float(row["p"]), rel=1e-13, abs=1e-15)


def test_one_label_is_the_folded_normal():
    law, scipy_law = FoldedNormalMean([0.7], [0.5]), foldnorm(1.4, scale=0.5)
    x = np.linspace(0.0, 4.0, 9)
    assert law.cdf(x) == pytest.approx(scipy_law.cdf(x), abs=1e-15)
    assert law.pdf(x) == pytest.approx(scipy_law.pdf(x), rel=1e-12)
    assert law.sf(6.0) == pytest.approx(norm.sf(10.6) + norm.sf(13.4), rel=1e-12)
    assert law.ppf([1e-9, 0.3, 0.999999]) == pytest.approx(scipy_law.ppf([1e-9, 0.3, 0.999999]), rel=1e-9)


def convolution(x, delta, sigma):
    """P((|X1| + |X2|)/2 <= x) by quadrature over the second label."""

    def integrand(u):
        density = (norm.pdf((u - delta[1]) / sigma[1]) + norm.pdf((u + delta[1]) / sigma[1])) / sigma[1]
        rest = 2 * x - u
        return density * (ndtr((rest - delta[0]) / sigma[0]) - ndtr((-rest - delta[0]) / sigma[0]))

    nodes, weights = np.polynomial.legendre.leggauss(80)
    edges = sorted({0.0, 2 * x, *np.clip(abs(delta[1]) + np.array([-9, -5, -2, 0, 2, 5, 9]) * sigma[1], 0, 2 * x)})
    return sum(
        0.5 * (b - a) * np.sum(weights * integrand(0.5 * (b - a) * nodes + 0.5 * (a + b)))
        for a, b in itertools.pairwise(edges)
    )


@pytest.mark.parametrize("delta", [(0.0, 0.0), (0.3, -1.0), (2.0, 0.0), (5.0, 1.0), (0.0, 11.0)])
@pytest.mark.parametrize("ratio", [1.0, 0.1, 1e-3])
def test_two_labels_by_convolution(delta, ratio):
    delta, sigma = (delta[0], delta[1] * ratio), (1.0, ratio)
    law = FoldedNormalMean(delta, sigma)
    for x in law.mean + law.std * np.array([-1.2, -0.4, 0.01, 0.7, 2.5]):
        if x > 0:
            assert law.cdf(x) == pytest.approx(convolution(x, delta, sigma), abs=2e-14)


def dominated(kind, n):
    rng = np.random.default_rng(8)
    sigma = np.full(n, 0.05)
    if kind == "one":
        sigma[0] = 100.0
    elif kind == "three":
        sigma[:3] = 10.0
    elif kind == "steps":
        sigma[:20], sigma[20:200] = 1.0, 0.1
    elif kind == "lognormal":
        sigma = np.exp(rng.normal(0, 2, n))
    elif kind == "pareto":
        sigma = rng.pareto(1.0, n)
    elif kind == "uniform":
        sigma = rng.uniform(0.2, 1.0, n)
    return rng.normal(0, 0.3, n), sigma


def summed_over_all_labels(monkeypatch, delta, sigma, x):
    """Both tails with no label in the power series."""
    monkeypatch.setattr(independent_labels, "_FEW", delta.size)
    law = FoldedNormalMean(delta, sigma)
    return law.cdf(x), law.sf(x)


@pytest.mark.parametrize("kind", ["uniform", "one", "three", "steps", "lognormal", "pareto"])
def test_series_of_small_labels_against_all_labels(kind, monkeypatch):
    delta, sigma = dominated(kind, 400)
    law = FoldedNormalMean(delta, sigma)
    x = law.mean + law.std * np.array([-5.0, -2.0, -1.0, 0.0, 0.3, 2.0, 4.0, 8.0])
    x = x[x > 0]
    below, above = summed_over_all_labels(monkeypatch, delta, sigma, x)
    assert law.cdf(x) == pytest.approx(below, rel=1e-9, abs=1e-13)
    assert law.sf(x) == pytest.approx(above, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("kind", ["lognormal", "three"])
def test_series_of_small_labels_at_5000(kind, monkeypatch):
    delta, sigma = dominated(kind, 5000)
    law = FoldedNormalMean(delta, sigma)
    x = law.ppf([0.025, 0.975])
    below, _ = summed_over_all_labels(monkeypatch, delta, sigma, x)
    assert below == pytest.approx([0.025, 0.975], abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 7, 48, 49, 300, 20_000])
def test_quantiles_invert_the_distribution(n):
    delta, sigma = dominated("uniform", n)
    law = FoldedNormalMean(delta, sigma)
    q = np.array([1e-12, 1e-4, 0.025, 0.3, 0.5, 0.7, 0.975, 1 - 1e-6])
    x = law.ppf(q)
    assert law.cdf(x[:5]) == pytest.approx(q[:5], rel=1e-9)
    assert law.sf(x[3:]) == pytest.approx(1 - q[3:], rel=1e-9)
    assert np.all(np.diff(x) > 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 300), st.floats(-3, 3), st.floats(0, 5), st.integers(0, 2**32 - 1))
def test_quantiles_of_any_depth_are_there_and_in_order(n, offset, spread, seed):
    rng = np.random.default_rng(seed)
    law = FoldedNormalMean(rng.normal(size=n) * 10**offset, np.exp(spread * rng.normal(size=n)))
    shares = [1e-300, 1e-100, 1e-30, 1e-12, 1e-3, 0.025, 0.3, 0.5, 0.7, 0.975, 1 - 1e-12]
    x = law.ppf(shares)
    assert np.all(np.diff(x) >= 0)
    for q, at in zip(shares, x, strict=True):
        if at - law.support[0] > 1e-6 * law.mean:  # nearer to the end of the support the float itself is too coarse
            assert (law.cdf(at) if q < 0.5 else law.sf(at)) == pytest.approx(min(q, 1 - q), rel=1e-6)


def test_density_integrates_to_the_distribution():
    law = FoldedNormalMean([0.1, 0.5, -1.0], [0.4, 0.2, 0.9])
    low, high = law.ppf([0.1, 0.9])
    assert quad(law.pdf, low, high, epsabs=1e-12)[0] == pytest.approx(0.8, abs=1e-11)


def test_draws_follow_the_law():
    delta, sigma = dominated("steps", 40)
    law = FoldedNormalMean(delta, sigma, np.linspace(1, 2, 40))
    draws = law.rvs(4000, rng=1)
    assert kstest(draws, law.cdf).pvalue > 0.001
    assert law.rvs(5, rng=1).tolist() == law.rvs(5, rng=1).tolist()
    assert isinstance(law.rvs(rng=2), float)
    many = FoldedNormalMean(*dominated("uniform", 6000))
    assert kstest(many.rvs(300, rng=1), many.cdf).pvalue > 0.001


def test_exact_labels_shift_the_law():
    law = FoldedNormalMean([1.0, -2.0, 0.5, 0.2], [0.0, 0.0, 0.3, 0.4])
    part = FoldedNormalMean([0.5, 0.2], [0.3, 0.4])
    x = np.array([0.2, 0.4, 0.9])
    assert law.cdf(0.75 + x / 2) == pytest.approx(part.cdf(x), abs=1e-14)
    assert law.support == (0.75, math.inf)
    assert law.cdf(0.7) == 0.0


def test_all_labels_exact():
    law = FoldedNormalMean([1.0, -2.0], [0.0, 0.0])
    assert (law.mean, law.var, law.ppf(0.3), law.cdf(1.5), law.cdf(1.4)) == (1.5, 0.0, 1.5, 1.0, 0.0)
    assert law.rvs(3, rng=0).tolist() == [1.5, 1.5, 1.5]


def test_weights():
    delta, sigma = [0.5, -1.0, 0.2], [0.3, 0.2, 0.5]
    doubled = FoldedNormalMean([0.5, 0.5, -1.0], [0.3, 0.0, 0.2], [1.0, 0.0, 1.0])
    assert doubled.mean == pytest.approx(FoldedNormalMean([0.5, -1.0], [0.3, 0.2]).mean, rel=1e-15)
    weighted = FoldedNormalMean(delta, sigma, [1.0, 2.0, 3.0])
    scaled = FoldedNormalMean(delta, sigma, [1e200, 2e200, 3e200])
    assert weighted.cdf(0.8) == pytest.approx(scaled.cdf(0.8), abs=1e-15)
    assert weighted.mean == pytest.approx(
        np.average([FoldedNormalMean(d, s).mean for d, s in zip(delta, sigma, strict=True)], weights=[1, 2, 3])
    )


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-10, 10), st.floats(1e-8, 1e8)), min_size=2, max_size=6),
    st.integers(-250, 250),
)
def test_unit_and_order_do_not_matter(labels, power):
    delta, sigma = np.array(labels).T
    unit = 2.0**power
    law, other = FoldedNormalMean(delta, sigma), FoldedNormalMean(unit * delta[::-1], -unit * -sigma[::-1])
    assert other.mean == pytest.approx(unit * law.mean, rel=1e-14)
    assert other.std == pytest.approx(unit * law.std, rel=1e-14)
    x = law.mean + 0.8 * law.std
    assert other.cdf(unit * x) == pytest.approx(law.cdf(x), abs=1e-9)
    assert 0.0 <= law.cdf(law.mean - 0.8 * law.std) <= law.cdf(x) <= 1.0


def test_large_residuals_are_normal():
    delta, sigma = np.array([50.0, -40.0, 90.0]), np.array([1.0, 0.5, 2.0])
    law = FoldedNormalMean(delta, sigma)
    std = math.sqrt(5.25) / 3
    x = 60.0 + std * np.array([-7.0, -1.0, 0.0, 2.0, 9.0])
    assert law.cdf(x) == pytest.approx(norm.cdf(x, 60.0, std), rel=1e-12)
    assert law.sf(x) == pytest.approx(norm.sf(x, 60.0, std), rel=1e-12)


def test_far_tails():
    law = FoldedNormalMean(np.zeros(3), np.ones(3))
    # three half-normals: near 0 the sum has density f(0)^3 x^2/2
    x = 1e-4
    assert law.cdf(x / 3) == pytest.approx((2 / math.pi) ** 1.5 * x**3 / 6, rel=1e-6)
    assert 0 < law.sf(7.0) < law.sf(6.0) < 1e-20
    assert law.sf(1e6) == 0.0
    assert law.cdf(1e6) == 1.0
    assert law.cdf(0.0) == 0.0


def test_generating_function_and_its_derivatives():
    z = np.array([0.0, 0.4, 2.0, 7.0, 11.9])
    gain = g(z)
    at_zero = folded_cumulants(z, gain, 8)
    for row, exact in ((1, z + gain), (2, v(z)), (3, kappa3(z)), (4, kappa4(z))):
        assert at_zero[row] == pytest.approx(exact, rel=1e-12, abs=1e-13)
    # Cauchy's integral on a small circle
    circle = 0.5 * np.exp(2j * np.pi * np.arange(32) / 32)
    values = log_mgf(circle[:, None], z, gain)
    for r in range(1, 9):
        derivative = np.mean(values * circle[:, None] ** -r, axis=0).real * math.factorial(r)
        expected = at_zero[r] - (z + gain if r == 1 else 0.0)
        assert derivative == pytest.approx(expected, rel=1e-8, abs=1e-10 * math.factorial(r))


def test_pickle():
    law = FoldedNormalMean([0.5, 0.1], [0.2, 0.3])
    x = law.ppf(0.3)
    assert pickle.loads(pickle.dumps(law)).ppf(0.3) == x
