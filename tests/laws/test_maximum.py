"""Law of the largest absolute error: reference values (those of the median too), closed cases, draws, many labels, sharp and exact labels."""

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
from scipy.stats import kstest

import scorebars as sb
from scorebars.laws.order import largest
from scorebars.laws.order.largest import MaxErrorLaw
from scorebars.laws.order.median import median_law
from scorebars.numerics.integration import integral
from scorebars.numerics.special import folded_cdf, folded_mean, folded_pdf, folded_sf, folded_variance

CASES = json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]


# the law, and how exact its mean, variance and distribution function are
LAWS = {"max_error": (MaxErrorLaw, 1e-14, 1e-13, 1e-14), "median_ae": (median_law, 1e-13, 1e-11, 1e-12)}


@pytest.mark.parametrize("case", [c for c in CASES if c["metric"] in LAWS], ids=lambda c: c["id"])
def test_reference(case):
    inputs, exact, (make, mean, variance, cdf) = case["inputs"], case["exact"], LAWS[case["metric"]]
    law = make(np.subtract(inputs["y"], inputs["y_pred"]), inputs["sigma"])
    assert law.mean == pytest.approx(float(exact["mean"]), rel=mean)
    assert law.var == pytest.approx(float(exact["var"]), rel=variance)
    for row in exact["cdf"]:
        assert law.cdf(row["x"]) == pytest.approx(float(row["p"]), rel=cdf, abs=cdf / 10)


@pytest.mark.parametrize("delta", [0.0, 0.7, 40.0])
def test_one_label_is_the_folded_normal(delta):
    law = MaxErrorLaw([delta], [0.5])
    assert law.mean == pytest.approx(folded_mean(delta, 0.5), rel=1e-14)
    assert law.var == pytest.approx(folded_variance(delta, 0.5), rel=1e-11)


def problem(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, n), rng.uniform(0.2, 1.0, n)


def product(x, delta, sigma):
    return np.prod([ndtr((x - d) / s) - ndtr((-x - d) / s) for d, s in zip(delta, sigma, strict=True)])


def test_product_and_moments_by_quadrature():
    delta, sigma = problem(6)
    law = MaxErrorLaw(delta, sigma)
    for x in (0.3, 1.0, 2.0, 3.5):
        assert law.cdf(x) == pytest.approx(product(x, delta, sigma), rel=1e-12)
        assert law.pdf(x) == pytest.approx((law.cdf(x + 1e-5) - law.cdf(x - 1e-5)) / 2e-5, rel=1e-7)
    mean = quad(lambda x: 1 - product(x, delta, sigma), 0, 9, epsabs=1e-12)[0]
    square = quad(lambda x: 2 * x * (1 - product(x, delta, sigma)), 0, 9, epsabs=1e-12)[0]
    assert law.mean == pytest.approx(mean, rel=1e-11)
    assert law.var == pytest.approx(square - mean**2, rel=1e-9)


@pytest.mark.parametrize("n", [1, 5, 300])
def test_quantiles_and_draws(n):
    law = MaxErrorLaw(*problem(n, 1))
    q = np.array([1e-12, 1e-3, 0.2, 0.5, 0.9, 1 - 1e-9])
    x = law.ppf(q)
    assert law.cdf(x[:5]) == pytest.approx(q[:5], rel=1e-9)
    assert law.sf(x[2:]) == pytest.approx(1 - q[2:], rel=1e-6)
    delta, sigma = problem(n, 1)
    draws = np.max(np.abs(delta + sigma * np.random.default_rng(2).standard_normal((3000, n))), axis=1)
    assert kstest(draws, law.cdf).pvalue > 0.001
    assert kstest(law.rvs(300, rng=1), law.cdf).pvalue > 0.001


def test_many_labels_interpolated_or_summed(monkeypatch):
    delta, sigma = problem(4000, 3)
    law = MaxErrorLaw(delta, sigma)
    assert law._parts[2] is not None
    monkeypatch.setattr(largest, "_SUMMED", 10_000)
    summed = MaxErrorLaw(delta, sigma)
    assert summed._parts[2] is None
    assert law.mean == pytest.approx(summed.mean, rel=1e-13)
    assert law.var == pytest.approx(summed.var, rel=1e-10)
    x = law.ppf([0.01, 0.5, 0.99])
    assert summed.cdf(x) == pytest.approx([0.01, 0.5, 0.99], abs=1e-12)


def test_equal_labels():
    """n half-normals: F = (2 Phi(x) - 1)^n, also far beyond what is summed one by one."""
    for n in (10, 100_000):
        law = MaxErrorLaw(np.zeros(n), 1.0)
        for x in (2.0, 4.5, 5.5):
            assert law.cdf(x) == pytest.approx(math.exp(n * math.log1p(-2 * ndtr(-x))), rel=1e-10)


def test_a_sharp_label_and_an_exact_one():
    delta, sigma = problem(50, 4)
    delta[0] = 4.0
    for small in (0.0, 1e-9):
        sigma[0] = small
        law = MaxErrorLaw(delta, sigma)
        rest = MaxErrorLaw(delta[1:], sigma[1:])
        low, high = 4.0, 12.0
        mean = 4.0 + quad(rest.sf, low, high, epsabs=1e-13, limit=200)[0]
        assert law.mean == pytest.approx(mean, rel=1e-9)
        assert law.cdf(4.5) == pytest.approx(rest.cdf(4.5), rel=1e-12)
    assert law.cdf(3.9) < 1e-30
    exact = MaxErrorLaw(delta, np.where(np.arange(50) == 0, 0.0, sigma))
    assert exact.support == (4.0, math.inf)
    assert exact.cdf(4.0) == pytest.approx(rest.cdf(4.0), rel=1e-12)
    assert exact.ppf(0.5 * rest.cdf(4.0)) == 4.0


def test_all_labels_exact():
    law = MaxErrorLaw([1.0, -2.0], 0.0)
    assert (law.mean, law.var, law.ppf(0.3), law.cdf(2.0), law.cdf(1.9)) == (2.0, 0.0, 2.0, 1.0, 0.0)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(1e-8, 1e8)), min_size=1, max_size=5), st.integers(-200, 200))
def test_unit_and_order_do_not_matter(labels, power):
    delta, sigma = np.array(labels).T
    unit = 2.0**power
    law, other = MaxErrorLaw(delta, sigma), MaxErrorLaw(-unit * delta[::-1], unit * sigma[::-1])
    assert other.mean == pytest.approx(unit * law.mean, rel=1e-10)
    assert other.std == pytest.approx(unit * law.std, rel=1e-6)
    assert law.mean >= max(folded_mean(delta, sigma)) * (1 - 1e-12)


def test_single_errors():
    x, size, sigma = np.array([1e-9, 0.3, 5.0, 40.0]), np.array([3.0, 0.0, 5.0, 0.1]), np.array([1.0, 2.0, 1e-3, 1.0])
    assert folded_cdf(x, size, sigma) + folded_sf(x, size, sigma) == pytest.approx(np.ones(4), rel=1e-15)
    assert folded_cdf(x[:1], size[:1], sigma[:1])[0] == pytest.approx(
        2e-9 * folded_pdf(x[:1], size[:1], sigma[:1])[0] / 2, rel=1e-9
    )
    assert folded_sf(x, size, sigma)[3] < 1e-300


def test_integration_of_a_sharp_bend():
    def f(x):
        return np.stack([np.abs(x - 0.3), np.tanh((x - 0.7) / 1e-5)])

    got = integral(f, np.array([0.0, 1.0]), 1e-13)
    assert got == pytest.approx([0.045 + 0.245, -0.4], abs=1e-11)


def test_pickle():
    law = MaxErrorLaw(*problem(20))
    x = law.ppf(0.4)
    assert pickle.loads(pickle.dumps(law)).ppf(0.4) == x


def test_errors_below_the_last_digit_of_the_residual():
    """The largest residual alone scatters then, by its own error."""
    assert sb.max_error([3.0, 1.0], [0.0, 0.0], yerr=[1e-20, 1e-18]).std == pytest.approx(1e-20, rel=1e-12)
