"""Reduced chi-squared: exact values, laws, correlated errors, limits and bad input."""

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

import scorebars as sb
from scorebars.datasets import load_pantheon
from scorebars.metrics.chi_squared import reduced_chi_squared

REFERENCE = Path(__file__).parents[1] / "reference" / "reference.json"
CASE = next(
    case for case in json.loads(REFERENCE.read_text(encoding="utf-8"))["cases"] if case["id"] == "reduced_chi2_M7"
)


def sample(n, seed, size=1.5):
    rng = np.random.default_rng(seed)
    s = rng.lognormal(0, 0.7, n)
    p = rng.standard_normal(n)
    return p + size * s * rng.standard_normal(n), p, s


def systematics(n, k, seed):
    return np.random.default_rng(seed).normal(size=(k, n)) * 0.8


# exact values ------------------------------------------------------------------------------------


def test_reference():
    exact, inputs = CASE["exact"], CASE["inputs"]
    found = reduced_chi_squared(inputs["y"], inputs["y_pred"], yerr=inputs["sigma"])
    assert found.observed == pytest.approx(float(exact["observed"]), rel=1e-14)
    assert found.expected == pytest.approx(float(exact["mean"]), rel=1e-14)
    assert found.variance == pytest.approx(float(exact["var"]), rel=1e-13)
    assert found.pvalue == pytest.approx(float(exact["pvalue_perfect_model"]), rel=1e-12)
    for point in exact["cdf"]:
        assert found.distribution.cdf(point["x"]) == pytest.approx(float(point["p"]), rel=1e-11)


def test_supernovae():
    data = load_pantheon()
    found = reduced_chi_squared(data.y, data.predictions["LCDM_Om0.298"], yerr=sb.Normal(cov=data.columns["cov_total"]))
    assert 40 * found.observed == pytest.approx(39.31, abs=0.005)
    assert found.pvalue == pytest.approx(chi2.sf(40 * found.observed, 40), rel=1e-12)


def test_all_answers_of_independent_errors():
    y, p, s = sample(12, seed=1)
    found = reduced_chi_squared(y, p, yerr=s)
    observed = np.mean(((y - p) / s) ** 2)
    assert found.observed == pytest.approx(observed, rel=1e-14)
    assert found.expected == pytest.approx(observed + 1, rel=1e-14)
    assert found.variance == pytest.approx((2 * 12 + 4 * 12 * observed) / 144, rel=1e-13)
    law = ncx2(12, 12 * observed)
    for x in (0.5, 2.0, 4.0, 9.0):
        assert found.distribution.cdf(x) == pytest.approx(law.cdf(12 * x), abs=1e-13)
    assert found.interval(0.9) == pytest.approx(law.ppf([0.05, 0.95]) / 12, rel=1e-9)
    assert found.truth == pytest.approx(observed - 1, rel=1e-13) and found.truth.method == "unbiased"
    assert found.remeasured(1) == pytest.approx(observed, rel=1e-13)
    assert found.remeasured(4) == pytest.approx(observed - 0.75, rel=1e-13)
    assert found.perfect == pytest.approx(1.0, rel=1e-14)
    assert found.perfect.interval(0.9) == pytest.approx(chi2.ppf([0.05, 0.95], 12) / 12, rel=1e-9)
    assert found.noise_share == pytest.approx(1 / observed)
    assert found.pvalue == pytest.approx(chi2.sf(12 * observed, 12), rel=1e-12)
    assert (found.n, found.name, found.greater_is_better) == (12, "reduced_chi_squared", False)


def test_weights():
    y, p, s = sample(9, seed=2)
    w = np.random.default_rng(3).uniform(0.2, 3, 9)
    found = reduced_chi_squared(y, p, yerr=s, sample_weight=w)
    pulls = (y - p) / s
    assert found.observed == pytest.approx(np.average(pulls**2, weights=w), rel=1e-13)
    assert found.expected == pytest.approx(found.observed + 1, rel=1e-13)
    draws = np.random.default_rng(4).standard_normal((200_000, 9)) ** 2 @ w / w.sum()
    assert found.pvalue == pytest.approx(np.mean(draws >= found.observed), abs=0.005)
    equal = reduced_chi_squared(y, p, yerr=s, sample_weight=np.full(9, 5.0))
    assert equal.pvalue == pytest.approx(reduced_chi_squared(y, p, yerr=s).pvalue, rel=1e-9)


# correlated errors -------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 10])
def test_shared_shifts_are_a_covariance(k):
    y, p, s = sample(10, seed=5)
    shared = systematics(10, k, seed=6)
    cov = np.diag(s**2) + shared.T @ shared
    low_rank = reduced_chi_squared(y, p, yerr=sb.Normal(s, shared=shared))
    full = reduced_chi_squared(y, p, yerr=sb.Normal(cov=cov))
    assert low_rank.observed == pytest.approx((y - p) @ np.linalg.solve(cov, y - p) / 10, rel=1e-11)
    for name in ("observed", "expected", "std", "pvalue"):
        assert getattr(low_rank, name) == pytest.approx(getattr(full, name), rel=1e-10)
    assert float(low_rank.truth) == pytest.approx(float(full.truth), rel=1e-9)
    assert low_rank.interval(0.9) == pytest.approx(full.interval(0.9), rel=1e-9)


def test_correlated_errors_against_simulation():
    rng = np.random.default_rng(7)
    shared = systematics(6, 2, seed=8)
    model = sb.Normal(np.full(6, 0.5), shared=shared)
    true_residual = rng.standard_normal(6)
    precision = np.linalg.inv(0.25 * np.eye(6) + shared.T @ shared)
    labels = model.sample(true_residual, 4000, rng)
    found = [reduced_chi_squared(row, np.zeros(6), yerr=model) for row in labels[:400]]
    exact = true_residual @ precision @ true_residual / 6
    assert np.mean([s.truth for s in found]) == pytest.approx(exact, abs=4 * np.std([s.truth for s in found]) / 20)
    one = reduced_chi_squared(true_residual, np.zeros(6), yerr=model)
    values = np.einsum("ij,jk,ik->i", labels, precision, labels) / 6
    assert one.expected == pytest.approx(values.mean(), abs=4 * values.std() / math.sqrt(4000))
    assert one.std == pytest.approx(values.std(), rel=0.08)


def test_a_perfect_model_has_uniform_pvalues():
    rng = np.random.default_rng(9)
    s = rng.lognormal(0, 1, 8)
    found = np.sort([reduced_chi_squared(s * rng.standard_normal(8), np.zeros(8), yerr=s).pvalue for _ in range(400)])
    assert np.max(np.abs(found - (np.arange(400) + 0.5) / 400)) < 1.63 / 20


# other errors, limits, properties ----------------------------------------------------------------


def test_asymmetric_errors_divide_by_their_mean():
    y, p, s = sample(10, seed=10)
    found = reduced_chi_squared(y, p, yerr=np.stack([0.5 * s, 1.5 * s]))
    assert found.observed == pytest.approx(np.mean(((y - p) / s) ** 2), rel=1e-13)
    draws = sb.SplitNormal(np.full(10, 0.5), np.full(10, 1.5)).sample(np.zeros(10), 50_000, np.random.default_rng(11))
    assert found.perfect == pytest.approx(np.mean(draws**2), abs=0.02)
    assert found.pvalue == pytest.approx(np.mean(np.mean(draws**2, axis=1) >= found.observed), abs=0.02)
    same = reduced_chi_squared(y, p, yerr=np.stack([s, s]))
    assert same.expected == pytest.approx(reduced_chi_squared(y, p, yerr=s).expected, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e200])
def test_units_and_order_do_not_matter(unit):
    y, p, s = sample(20, seed=12)
    mixed = np.random.default_rng(13).permutation(20)
    one, other = (
        reduced_chi_squared(y, p, yerr=s),
        reduced_chi_squared(unit * y[mixed], unit * p[mixed], yerr=unit * s[mixed]),
    )
    for name in ("observed", "expected", "std", "pvalue", "sampling_std"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9)
    assert other.truth.interval() == pytest.approx(one.truth.interval(), rel=1e-6)


def test_one_label_and_no_residual():
    found = reduced_chi_squared([3.0], [1.0], yerr=2.0)
    assert (found.observed, found.expected, found.truth.value) == (1.0, 2.0, 0.0)
    assert found.pvalue == pytest.approx(0.31731050786291415, rel=1e-12)
    nothing = reduced_chi_squared([1.0, 2.0], [1.0, 2.0], yerr=0.3)
    assert (nothing.observed, nothing.expected, nothing.pvalue, nothing.truth.value) == (0.0, 1.0, 1.0, -1.0)
    assert "below the noise floor" in nothing.truth.note


@pytest.mark.parametrize("size", [1e-8, 1e8, 1e170])
@pytest.mark.filterwarnings("ignore:the expected value of reduced_chi_squared is infinite")
def test_extreme_pulls(size):
    found = reduced_chi_squared([size, 0.0], [0.0, 0.0], yerr=1.0)
    assert found.expected == pytest.approx(size**2 / 2 + 1 if size < 1e100 else math.inf)
    assert found.pvalue == (pytest.approx(1.0) if size < 1 else 0.0)


def test_tiny_pvalues_keep_their_digits():
    found = reduced_chi_squared(np.full(5, 10.0), np.zeros(5), yerr=1.0)
    assert found.pvalue == pytest.approx(chi2.sf(500, 5), rel=1e-10) and 0 < found.pvalue < 1e-100


def test_berkson_errors():
    y, p, s = sample(10, seed=14)
    found = reduced_chi_squared(y, p, yerr=sb.Normal(s, kind="berkson"))
    assert found.truth == found.expected
    with pytest.raises(sb.UndefinedEstimate):
        found.remeasured()


def test_it_is_a_score():
    y, p, s = sample(10, seed=15)
    found = reduced_chi_squared(y, p, yerr=s)
    assert isinstance(found, sb.Score) and float(found) == found.expected
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is type(found) and (again.pvalue, again.std) == (found.pvalue, found.std)
    assert "Reduced chi-squared of 10 labels" in found.explain() and "reduced_chi_squared" in repr(found)
    assert found.to_dict()["truth"] == found.truth.value
    y[:] = 0  # the score keeps its own pulls
    assert found.truth.value == again.truth.value


# bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("yerr", "text"),
    [
        (None, "needs yerr"),
        (0.0, "needs a positive error for each label: the first is 0.0 at index 0, 3 in all"),
        ([0.1, 0.0, 0.0], "needs a positive error for each label: the first is 0.0 at index 1, 2 in all"),
        ([[0.1, 0.0, 0.2], [0.1, 0.0, 0.1]], "needs a positive error for each label: the first is 0.0 at index 1"),
        ([0.1, -0.1, 0.1], "yerr has negative values: the first is -0.1 at index 1"),
        ([0.1, math.nan, 0.1], "yerr contains NaN"),
        ([0.1, 0.2], "yerr has shape"),
        (sb.Normal(shared=np.ones(3)), "needs a positive error for each label"),
        (sb.Normal(cov=np.ones((3, 3))), "cov is singular"),
        (sb.Normal(cov=np.diag([1.0, 0.0, 1.0])), "needs a positive error for each label: the first is 0.0 at index 1"),
        (sb.Flip(0.1), "describes class labels"),
    ],
)
def test_bad_errors(yerr, text):
    with pytest.raises(ValueError, match=text):
        reduced_chi_squared([1.0, 2.0, 3.0], [1.0, 2.5, 3.0], yerr=yerr)


def test_other_bad_input():
    with pytest.raises(ValueError, match="y_true contains NaN"):
        reduced_chi_squared([1.0, math.nan], [1.0, 2.0], yerr=0.1)
    with pytest.raises(ValueError, match="Multioutput not supported in reduced_chi_squared"):
        reduced_chi_squared(np.ones((3, 2)), np.ones((3, 2)), yerr=0.1)
    with pytest.raises(ValueError, match="sample_weight has no meaning"):
        reduced_chi_squared([1.0, 2.0], [1.0, 2.5], yerr=sb.Normal(cov=np.eye(2)), sample_weight=[1.0, 2.0])
    with pytest.raises(OverflowError, match="leaves the range of doubles"):
        reduced_chi_squared([1e200], [0.0], yerr=1e-200)


def test_labels_and_predictions_with_errors_of_their_own():
    unumpy = pytest.importorskip("uncertainties.unumpy")
    y, p, s, q = np.arange(5.0), np.arange(5.0) + 0.3, np.full(5, 0.2), np.full(5, 0.1)
    both = sb.reduced_chi_squared(unumpy.uarray(y, s), unumpy.uarray(p, q), yerr=None)
    assert both.observed == pytest.approx(sb.reduced_chi_squared(y, p, yerr=s, prederr=q).observed)
    with pytest.raises(ValueError, match="needs yerr"):
        sb.reduced_chi_squared(y, p, yerr=None)
