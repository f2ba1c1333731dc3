"""R2, correlations, medians, maxima: estimates and intervals against true values that are known."""

import math

import numpy as np
import pytest
from simulated_coverage import assert_covers, slowly

import scorebars as sb
from scorebars.errors import LogNormal

SUMS = [sb.r2_score, sb.explained_variance_score, sb.pearson_correlation, sb.concordance_correlation]


def items(rng, n):
    t = rng.standard_normal(n)
    return t, 0.9 * t + 0.35 * rng.standard_normal(n) + 0.1


@pytest.mark.parametrize("metric", SUMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("reliability", [0.5, 0.8])
def test_truth_and_next_test_set(metric, reliability):
    rng = np.random.default_rng(1)
    s, truths, next_sets, again = math.sqrt(1 / reliability - 1), [], [], []
    for _ in range(120):
        t, p = items(rng, 60)
        t2, p2 = items(rng, 60)
        score = metric(t + s * rng.standard_normal(60), p, yerr=s)
        truths.append((score.truth.interval(), metric(t, p).observed))
        next_sets.append((score.total_interval(), metric(t2 + s * rng.standard_normal(60), p2).observed))
        again.append((score.remeasured(1).interval(), metric(t + s * rng.standard_normal(60), p).observed))
    for found in (truths, next_sets, again):
        assert_covers(found, 0.95, 0.03, 0.04)


def test_a_common_shift_leaves_the_correlation_alone():
    rng = np.random.default_rng(2)
    t, p = items(rng, 50)
    y = t + 0.05 * rng.standard_normal(50) + 0.7 * rng.standard_normal()
    errors = sb.Normal(0.05, shared=np.full((1, 50), 0.7))
    exact, score = sb.pearson_correlation(t, p).observed, sb.pearson_correlation(y, p, yerr=errors)
    assert score.truth.value == pytest.approx(exact, abs=0.02)
    assert score.perfect.value > 0.99
    assert sb.r2_score(y, p, yerr=errors).truth.std > 0.2  # the shift moves the residuals, and R2 with them


def test_covariance_is_the_same_as_shared_shifts():
    rng = np.random.default_rng(3)
    t, p = items(rng, 30)
    y, u = t + 0.5 * rng.standard_normal(30), rng.normal(size=(2, 30))
    shared, whole = sb.Normal(0.4, shared=u), sb.Normal(cov=0.16 * np.eye(30) + u.T @ u)
    for metric in SUMS[1:]:
        one, other = (metric(y, p, yerr=e) for e in (shared, whole))
        try:
            expected = one.truth
        except sb.UndefinedEstimate:
            continue
        assert other.truth.value == pytest.approx(expected.value, rel=1e-9)
        assert other.truth.std == pytest.approx(expected.std, rel=1e-9)


@pytest.mark.parametrize("errors", [sb.SplitNormal(0.3, 0.9), LogNormal(0.3)], ids=lambda e: type(e).__name__)
def test_families_with_an_offset(errors):
    rng = np.random.default_rng(4)
    t = np.exp(0.5 * rng.standard_normal(2000)) + 1.0
    p = t + 0.2 * rng.standard_normal(2000)
    score = sb.r2_score(errors.sample(t, 1, rng)[0], p, yerr=errors)
    assert abs(score.truth.value - sb.r2_score(t, p).observed) < 3 * score.truth.std < 0.5


def test_nothing_but_noise_is_refused():
    rng = np.random.default_rng(5)
    y, p = rng.standard_normal((2, 20))
    for metric in (sb.r2_score, sb.pearson_correlation, sb.spearman_correlation):
        with pytest.raises(sb.UndefinedEstimate, match="scatter no more than their errors"):
            _ = metric(y, p, yerr=2.0).truth


@pytest.mark.parametrize("metric", [sb.max_error, sb.median_absolute_error], ids=lambda f: f.__name__)
@pytest.mark.parametrize("errors", [sb.Uniform(1.0), sb.Laplace(1.0), sb.StudentT(1.0, df=3)], ids=str)
def test_floors_use_the_errors_of_the_family(metric, errors):
    zero = np.zeros(100)
    perfect = metric(zero, zero + 0.5, yerr=errors).perfect
    drawn = np.abs(errors.sample(zero, 4000, np.random.default_rng(6)))
    exact = drawn.max(axis=1) if metric is sb.max_error else np.median(drawn, axis=1)
    assert perfect.value == pytest.approx(exact.mean(), abs=5 * exact.std() / 4000**0.5 + 0.03 * exact.mean())
    if isinstance(errors, sb.Uniform):
        assert perfect.interval().high <= 1.0


@pytest.mark.parametrize("metric", [sb.pearson_correlation, sb.spearman_correlation, sb.kendall_correlation])
@pytest.mark.parametrize("errors", [None, sb.Normal(0.3), sb.Laplace(0.3)], ids=str)
def test_constant_predictions_follow_one_rule(metric, errors):
    y = np.arange(8.0)
    with pytest.warns(UserWarning, match="does not vary"):
        score = metric(y, np.ones(8), yerr=errors)
    assert score.observed == score.expected == score.truth.value == 0.0 and score.std == 0.0


@pytest.mark.parametrize("metric", [sb.median_absolute_error, sb.max_error], ids=lambda f: f.__name__)
def test_next_order_statistics(metric):
    rng, found = np.random.default_rng(7), []
    for _ in range(300):
        t, p = items(rng, 31)
        t2, p2 = items(rng, 31)
        found.append((metric(t, p).total_interval(), metric(t2, p2).observed))
    assert_covers(found, 0.95, 0.01, 0.02)


@pytest.mark.parametrize("metric", [sb.spearman_correlation, sb.d2_absolute_error_score], ids=lambda f: f.__name__)
@pytest.mark.parametrize("count", slowly(5, 60))
def test_ranks_and_absolute_errors(metric, count):
    rng, found = np.random.default_rng(8), []
    for _ in range(count):
        t, p = items(rng, 50)
        score = metric(t + 0.5 * rng.standard_normal(50), p, yerr=sb.Uniform(0.5 * math.sqrt(3)))
        found.append((score.truth.interval(), metric(t, p).observed))
    assert_covers(found, 0.95, 0.03, 0.05)


@pytest.mark.parametrize("name", ["spearman_correlation", "kendall_correlation", "concordance_index"])
def test_labels_that_rounding_makes_equal_are_not_ordered_as_predicted(name):
    """Equal labels say nothing of their order; taken in the order of the predictions they made the truth too large by 0.05 to 0.1."""
    rng, off = np.random.default_rng(8), []
    metric = getattr(sb, name)
    for _ in range(12):
        truth = rng.normal(0.0, 2.0, 80)
        p = truth + rng.standard_normal(80)
        found = metric(np.round(truth), p, yerr=sb.errors.Rounding(1.0)).truth
        off.append(found - metric(truth, p).observed)
    assert abs(np.mean(off)) < 0.02
