"""The Poisson-binomial law against exact fractions, SciPy's binomial, direct convolution and the reference values."""

import json
import math
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom

from scorebars.laws.counts.poisson_binomial import (
    PoissonBinomial,
    around_rank,
    centred_log_phi,
    convolve_steps,
    log_factors,
)
from scorebars.laws.discrete import ProbabilityTable

CASES = {
    c["id"]: c for c in json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
}


def exact_pmf(p):
    """Convolution in exact fractions."""
    pmf = [Fraction(1)]
    for x in map(Fraction, p):
        pmf = [a * (1 - x) + b * x for a, b in zip([*pmf, 0], [0, *pmf], strict=True)]
    return np.array([float(v) for v in pmf])


def assert_relative(actual, expected, rtol):
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=1e-300)


@pytest.mark.parametrize("case", ["binary_M1_q0.25", "binary_M7_q0", "binary_M7_q0.5", "binary_M7_q0.05"])
def test_number_correct_matches_reference(case):
    inputs, exact = CASES[case]["inputs"], CASES[case]["exact"]["accuracy"]
    q = np.array(inputs["q"])
    right = np.array(inputs["y"]) == np.array(inputs["y_pred"])
    law = PoissonBinomial(np.where(right, 1 - q, q))
    expected = [float(v) for v in exact["pmf_count_correct"]]
    assert_relative(law.pmf(np.arange(len(expected))), expected, 1e-14)
    assert law.mean / q.size == pytest.approx(float(exact["mean_given_defined"]), rel=1e-15)
    assert law.var / q.size**2 == pytest.approx(float(exact["var_given_defined"]), rel=1e-14)


def test_paper_example_matches_reference():
    exact = CASES["accuracy_M100_paper"]["exact"]
    law = PoissonBinomial([0.95, 0.05], [85, 15])
    for point in exact["cdf_count"]:
        assert law.cdf(point["k"]) == pytest.approx(float(point["p"]), rel=1e-14)
    assert law.mean / 100 == pytest.approx(float(exact["mean"]), rel=1e-15)
    assert law.var / 100**2 == pytest.approx(float(exact["var"]), rel=1e-15)


def test_within_tolerance_matches_reference():
    case = CASES["within_tol_M7"]
    y, pred, sigma = (np.array(case["inputs"][k]) for k in ("y", "y_pred", "sigma"))
    tol, d = case["inputs"]["tol"], y - pred
    with np.errstate(divide="ignore"):
        p = np.where(sigma > 0, ndtr((tol - d) / sigma) - ndtr((-tol - d) / sigma), (np.abs(d) <= tol) * 1.0)
    law = PoissonBinomial(p)
    np.testing.assert_allclose(law.pmf(np.arange(8)), [float(v) for v in case["exact"]["pmf_count"]], atol=2e-16)
    assert law.mean / 7 == pytest.approx(float(case["exact"]["mean"]), rel=1e-14)


def test_direct_convolution_keeps_relative_accuracy_in_both_tails():
    p = np.random.default_rng(0).beta(1, 5, 120)
    exact = exact_pmf(p)
    law = PoissonBinomial(p)
    k = np.arange(121)
    assert_relative(law.pmf(k), exact, 1e-13)
    assert_relative(law.cdf(k[:10]), np.cumsum(exact)[:10], 1e-13)
    assert_relative(law.sf(k[:-1]), np.cumsum(exact[::-1])[-2::-1], 1e-12)
    assert exact[-1] < 1e-100


@pytest.mark.parametrize("n, p", [(1, 0.3), (50, 0.5), (2000, 1e-3), (10**6, 0.3), (10**6, 0.999), (10**9, 1e-9)])
def test_one_probability_is_the_binomial_law(n, p):
    law, other = PoissonBinomial([p], [n]), binom(n, p)
    k = np.unique(np.clip(np.round(law.mean + law.std * np.linspace(-8, 8, 400)), 0, n))
    np.testing.assert_allclose(law.cdf(k), other.cdf(k), atol=1e-12)
    np.testing.assert_allclose(law.sf(k), other.sf(k), atol=1e-12)
    np.testing.assert_allclose(law.pmf(k), other.pmf(k), atol=1e-12)
    assert np.array_equal(law.ppf([0.025, 0.5, 0.975]), other.ppf([0.025, 0.5, 0.975]))
    assert law.mean == pytest.approx(n * p) and law.var == pytest.approx(n * p * (1 - p))


def probabilities_of_kind(kind, n):
    rng = np.random.default_rng(3)
    return {
        "rare": lambda: rng.random(n) * 1e-4,
        "often": lambda: 1 - rng.random(n) * 1e-4,
        "beta": lambda: rng.beta(1, 15, n),
        "mixed": lambda: np.where(rng.random(n) < 0.85, 1 - rng.beta(1, 15, n), rng.beta(1, 15, n)),
        "uniform": lambda: rng.random(n),
        "a few open": lambda: np.where(np.arange(n) < 300, 0.5, 1e-6),
        "certain": lambda: rng.choice([0.0, 1.0, 0.1, 0.7], n),
    }[kind]()


@pytest.mark.parametrize("kind", ["rare", "often", "beta", "mixed", "uniform", "a few open", "certain"])
@pytest.mark.parametrize("n", [2500, 12000])
def test_inversion_agrees_with_direct_convolution(kind, n):
    p = probabilities_of_kind(kind, n)
    first, pmf = convolve_steps(np.stack([1 - p, p], axis=1))
    direct = ProbabilityTable.of(first + np.arange(pmf.size, dtype=float), pmf)
    law = PoissonBinomial(p)
    np.testing.assert_allclose(law.cdf(direct.values), direct.cdf, atol=1e-11)
    np.testing.assert_allclose(law.sf(direct.values), direct.sf, atol=1e-11)
    np.testing.assert_allclose(law.pmf(direct.values), direct.pmf, atol=1e-11)


def test_multiplicities_equal_repetition():
    rng = np.random.default_rng(5)
    p, count = rng.random(40), rng.integers(0, 120, 40)
    a, b = PoissonBinomial(p, count), PoissonBinomial(np.repeat(p, count))
    assert a.support == b.support and a.mean == pytest.approx(b.mean, rel=1e-14)
    k = np.arange(a.support[0], a.support[1] + 1)
    np.testing.assert_allclose(a.cdf(k), b.cdf(k), atol=1e-11)


def test_certain_trials_only_shift():
    p = np.array([0.2, 0.7, 0.4])
    law, shifted = PoissonBinomial(p), PoissonBinomial([0, 1, *p, 1, 0, 0])
    assert shifted.support == (2.0, 5.0)
    assert_relative(shifted.pmf(np.arange(2, 6)), law.pmf(np.arange(4)), 1e-15)
    constant = PoissonBinomial([1.0, 0.0, 1.0])
    assert constant.support == (2.0, 2.0) and constant.std == 0 and constant.ppf(0.3) == 2
    assert constant.cdf([1.9, 2, 3]).tolist() == [0, 1, 1] and constant.rvs(3, 0).tolist() == [2, 2, 2]


def test_million_trials_with_few_uncertain_are_exact():
    p = np.ones(10**6)
    p[:3] = [0.5, 0.25, 0.125]
    assert PoissonBinomial(p).pmf(10**6) == 0.5 * 0.25 * 0.125


def test_questions_between_and_beyond_the_counts():
    law = PoissonBinomial([0.5, 0.5])
    assert law.cdf([-math.inf, -1, 0.5, 1, 7, math.inf]).tolist() == [0, 0, 0.25, 0.75, 1, 1]
    assert law.sf([-math.inf, -1, 0.5, 1, 7, math.inf]).tolist() == [1, 1, 0.75, 0.25, 0, 0]
    assert law.pmf([-1, 0.5, 1, math.inf]).tolist() == [0, 0, 0.5, 0]
    assert math.isnan(law.cdf(math.nan)) and math.isnan(law.pmf(math.nan))
    assert law.ppf([0, 0.25, 0.26, 0.75, 0.8, 1]).tolist() == [0, 0, 1, 1, 2, 2]
    assert law.upper_ppf([0, 0.25, 0.26, 0.75, 0.8, 1]).tolist() == [2, 2, 1, 1, 0, 0]
    with pytest.raises(ValueError, match=r"q must be a probability between 0 and 1, got 1\.5"):
        law.ppf([0.5, 1.5])
    with pytest.raises(AttributeError, match="discrete: use pmf"):
        law.pdf(1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.001, 0.999))
def test_properties(p, level):
    law = PoissonBinomial(p)
    k = np.arange(len(p) + 1)
    pmf = law.pmf(k)
    assert np.all(pmf >= 0) and pmf.sum() == pytest.approx(1, abs=1e-14)
    assert (k * pmf).sum() == pytest.approx(law.mean, abs=1e-12)
    mirrored = PoissonBinomial(1 - np.array(p))
    np.testing.assert_allclose(mirrored.pmf(len(p) - k), pmf, atol=1e-14)
    value = law.ppf(level)
    assert law.cdf(value) >= level and (value == law.support[0] or law.cdf(value - 1) < level)


def test_draws_follow_the_law_and_the_seed():
    p = np.random.default_rng(0).beta(1, 9, 5000)
    law = PoissonBinomial(p)
    draws = law.rvs(20000, rng=1)
    assert np.array_equal(draws, law.rvs(20000, rng=1))
    assert draws.mean() == pytest.approx(law.mean, abs=4 * law.std / math.sqrt(20000))
    assert draws.std() == pytest.approx(law.std, rel=0.03)
    assert isinstance(law.rvs(rng=1), float)


def test_survives_pickling():
    law = PoissonBinomial([0.1, 0.2, 0.9])
    law.cdf(1)
    assert pickle.loads(pickle.dumps(law)).cdf(1) == law.cdf(1)


@pytest.mark.parametrize("shape", [(1, 15), (15, 1), (0.5, 0.5), (1, 300)])
@pytest.mark.parametrize("last", [0.3, 3.0])
def test_characteristic_function_agrees_with_the_product_over_trials(shape, last):
    p = np.random.default_rng(6).beta(*shape, 3000)
    weight = np.random.default_rng(7).integers(1, 4, p.size).astype(float)
    t = np.linspace(0, last, 7)
    for w in (None, weight):
        (log_size,), (phase,) = centred_log_phi(p[None], w, t)
        single = log_factors(p, w, t)
        np.testing.assert_allclose(log_size, single.real, rtol=1e-12, atol=2e-12)
        np.testing.assert_allclose(phase, single.imag, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("n", [30, 500, 3000])
def test_many_numbers_of_trials_around_a_rank(n):
    p = np.clip(np.random.default_rng(n).normal(0.45, 0.2, (5, n)), 0.0, 1.0)
    rank = int(0.46 * n)
    found = around_rank(p, None, rank)
    for row, chances in zip(p, found.T, strict=True):
        law = PoissonBinomial(row)
        exact = law.cdf(rank - 1), law.cdf(rank) - law.cdf(rank - 1), law.sf(rank)
        assert chances == pytest.approx(exact, abs=2e-14)
    twice = around_rank(p, np.full(n, 2.0), 2 * rank)
    assert twice == pytest.approx(around_rank(np.repeat(p, 2, axis=1), None, 2 * rank), abs=1e-13)
    for far in (-1, 0, n, n + 5):
        assert np.sum(around_rank(p, None, far), axis=0) == pytest.approx(1.0, abs=1e-12)
