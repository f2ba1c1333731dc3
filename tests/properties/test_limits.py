"""Where the errors vanish, dominate, or belong to the truth instead of the label."""

import math

import numpy as np
import pytest
from scipy.stats import chi2
from situations import (
    CORRELATED,
    COV,
    ERRORS,
    METRICS,
    SHIFTS,
    SIGMA,
    UPPER,
    WEIGHT,
    P,
    Y,
    answers,
    assert_same_answers,
)

import scorebars as sb

every_metric = pytest.mark.parametrize("metric", METRICS)
weights = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])


@every_metric
@weights
@pytest.mark.parametrize("tiny", [1e-12, 1e-100, 5e-324])
@pytest.mark.parametrize(
    "errors",
    [
        lambda c: c,
        lambda c: SIGMA * c,
        lambda c: sb.Normal(SIGMA * c, shared=SHIFTS * c),
        lambda c: sb.SplitNormal(SIGMA * c, UPPER * c),
    ],
    ids=["one", "mixed", "shared", "split"],
)
def test_errors_that_vanish(metric, weight, tiny, errors):
    """All questions have the classical answer."""
    exact = METRICS[metric](Y, P, sample_weight=weight)
    score = METRICS[metric](Y, P, yerr=errors(tiny), sample_weight=weight)
    assert score.observed == exact.observed
    near = pytest.approx(exact.observed, rel=1e-10)
    assert score.expected == near
    assert score.truth == near
    assert score.remeasured() == near
    assert score.interval() == (near, near)
    assert score.truth.interval() == (near, near)
    assert 0 <= score.std < 1e-11
    assert abs(score.perfect) < 1e-11
    assert 0 <= (score.noise_share or 0.0) < 1e-10


@every_metric
def test_exact_labels(metric):
    """Without errors every answer is the observed value, without scatter."""
    score = METRICS[metric](Y, P)
    assert score.expected == score.observed == score.truth == score.remeasured(1) == score.remeasured(100)
    assert score.std == score.truth.std == score.perfect.std == score.perfect == 0
    assert score.interval() == (score.observed, score.observed)
    assert score.truth.interval() == pytest.approx((score.observed, score.observed), rel=1e-14)
    assert score.distribution.cdf(score.observed) == 1
    assert score.distribution.cdf(np.nextafter(score.observed, -1)) == 0
    assert score.distribution.ppf([0.1, 0.9]).tolist() == [score.observed] * 2
    assert score.noise_share == (None if metric == "mean_error" else 0)
    assert "(labels)" not in str(score) and "(sample)" in str(score)


@every_metric
def test_perfect_predictions_of_exact_labels(metric):
    score = METRICS[metric](Y, Y)
    assert all(value == 0 for value, _ in (v for k, v in answers(score).items() if not k.startswith("cdf")))


@every_metric
@pytest.mark.parametrize("errors", [e for e in ERRORS if e != "no error"])
def test_perfect_predictions(metric, errors):
    """A prediction that meets every label is not the truth: the errors of the labels show in every other answer."""
    score = METRICS[metric](Y, Y, yerr=ERRORS[errors]())
    found = answers(score)
    assert not any(math.isnan(value) for value, _ in found.values())
    assert score.observed == 0
    assert score.noise_share is None
    if metric == "mse" and errors != "berkson":
        assert score.truth < 0
        assert score.truth.interval(0.95).low == 0


@every_metric
@pytest.mark.parametrize("huge", [1e12, 1e150])
@weights
def test_errors_that_dominate(metric, weight, huge):
    """The residuals do not matter any more: the score is that of a perfect model."""
    score = METRICS[metric](Y, P, yerr=SIGMA * huge, sample_weight=weight)
    floor = METRICS[metric](Y, Y, yerr=SIGMA * huge, sample_weight=weight)
    near = 1e-9 * max(abs(floor.expected), floor.std)
    assert score.expected == pytest.approx(floor.expected, rel=1e-9, abs=near)
    assert score.std == pytest.approx(floor.std, rel=1e-9)
    assert score.interval() == pytest.approx(floor.interval(), rel=1e-8, abs=near)
    assert score.perfect.std == pytest.approx(floor.std if metric != "rmse" else score.perfect.std, rel=1e-8)
    assert metric == "mean_error" or score.noise_share > 0.9
    assert math.isfinite(score.truth)
    assert score.truth.interval().high >= score.truth.interval().low


def test_equal_errors_and_no_residuals_give_chi_square():
    score = sb.mean_squared_error(Y, Y, yerr=0.5)
    law = chi2(8, scale=0.25 / 8)
    x = law.ppf([1e-6, 0.01, 0.5, 0.99])
    np.testing.assert_allclose(score.distribution.cdf(x), law.cdf(x), rtol=1e-11)
    np.testing.assert_allclose(score.distribution.sf(x), law.sf(x), rtol=1e-11)


@every_metric
@pytest.mark.parametrize("ratio", [1e-8, 1.0, 1e8])
def test_one_label(metric, ratio):
    """One label and any ratio of error and residual."""
    score = METRICS[metric]([1.0], [0.0], yerr=ratio)
    assert not any(math.isnan(value) for value, _ in answers(score).values())
    z = 1 / ratio
    pdf, tail = math.exp(-z * z / 2) / math.sqrt(2 * math.pi), math.erfc(z / math.sqrt(2)) / 2
    folded = 1 + ratio * 2 * (pdf - z * tail)
    expected = {"mse": 1 + ratio**2, "rmse": folded, "mae": folded, "mean_error": -1.0}[metric]
    assert score.expected == pytest.approx(expected, rel=1e-12)
    assert score.sampling_std == math.inf
    assert score.total_interval() == (score.declaration.low, math.inf)


@every_metric
def test_very_unequal_errors(metric):
    sigma = 10.0 ** np.arange(-8, 8)
    y = np.where(np.arange(16) % 2, 1.0, -1.0) * sigma[::-1]
    found = answers(METRICS[metric](y, np.zeros(16), yerr=sigma))
    assert not any(math.isnan(value) for value, _ in found.values())
    assert found["interval low"] < found["expected"] < found["interval high"]


@pytest.mark.parametrize("metric", ["rmse", "mae", "mean_error"])
@pytest.mark.parametrize("huge", [1e200, 1e306])
def test_scores_in_range_whose_squares_are_not(metric, huge):
    here, there = (METRICS[metric](Y * c, P * c, yerr=SIGMA * c) for c in (1.0, huge))
    assert_same_answers(there, here, scale=huge)


def test_a_score_beyond_the_doubles_is_said_to_be():
    with pytest.warns(
        sb.UndefinedMomentWarning, match="mean_squared_error is infinite: it is above the largest double"
    ):
        assert sb.mean_squared_error(Y * 1e200, P * 1e200, yerr=1e200) == math.inf


# truth = label + error ---------------------------------------------------------------------------------------------


@every_metric
@weights
@pytest.mark.parametrize(
    "make",
    [
        lambda kind: sb.Normal(0.5, kind=kind),
        lambda kind: sb.Normal(SIGMA, kind=kind),
        lambda kind: sb.Normal(cov=COV, kind=kind),
        lambda kind: sb.Normal(SIGMA, shared=SHIFTS, kind=kind),
        lambda kind: sb.SplitNormal(SIGMA, UPPER, kind=kind),
    ],
    ids=["one", "mixed", "cov", "shared", "split"],
)
def test_berkson(metric, weight, make):
    score = METRICS[metric](Y, P, yerr=make("berkson"), sample_weight=weight)
    classical = METRICS[metric](Y, P, yerr=make("classical"), sample_weight=weight)
    assert score.truth == score.expected
    assert score.truth.std == score.std
    assert score.truth.interval() == score.interval()
    assert "Berkson" in score.truth.note
    with pytest.raises(sb.UndefinedEstimate, match=r"Berkson.*remeasured is not determined"):
        score.remeasured()
    for name in ("observed", "expected", "std", "interval"):
        here, there = getattr(score, name), getattr(classical, name)
        assert (here() if callable(here) else here) == (there() if callable(there) else there)
    assert score.to_dict()["remeasured"] is None
    assert "remeasured cannot be estimated here" in score.explain()


def test_berkson_flips():
    y, p = [1, 1, 0, 0, 1], [1, 0, 0, 0, 1]
    for model in (sb.Flip(0.1, kind="berkson"), sb.Flip([0.1, 0.2, 0.0, 0.5, 0.3], kind="berkson")):
        score = sb.accuracy_score(y, p, yerr=model)
        assert score.truth == score.expected
        assert score.truth.interval() == score.interval()
        with pytest.raises(sb.UndefinedEstimate, match="remeasured is not determined"):
            score.remeasured()
        with pytest.raises(sb.UndefinedEstimate, match="remeasured is not determined"):
            sb.zero_one_loss(y, p, yerr=model).remeasured()


# the questions -----------------------------------------------------------------------------------------------------


@every_metric
@pytest.mark.parametrize("errors", [e for e in ERRORS if e not in ("berkson", "no error")])
def test_a_fresh_measurement_like_this_one_needs_no_correction(metric, errors):
    score = METRICS[metric](Y, P, yerr=ERRORS[errors]())
    assert score.remeasured(1) == pytest.approx(score.observed, rel=1e-14)


@pytest.mark.parametrize("metric", ["mse", "rmse", "mae"])
@pytest.mark.parametrize("errors", ["one sigma", "sigmas"])
def test_repeats_lead_from_observed_to_truth(metric, errors):
    score = METRICS[metric](Y, P, yerr=ERRORS[errors]())
    fresh = [float(score.remeasured(k)) for k in (1, 2, 5, 100)]
    assert fresh == sorted(fresh, reverse=True)
    assert score.remeasured(math.inf) == pytest.approx(score.truth, rel=1e-12)
    assert score.truth < score.observed < score.expected


@pytest.mark.parametrize("errors", [e for e in ERRORS if e not in (*CORRELATED, "berkson", "no error", "split")])
def test_noise_is_added_and_taken_away(errors):
    """MSE: expected - observed = observed - truth = perfect."""
    score = sb.mean_squared_error(Y, P, yerr=ERRORS[errors]())
    assert score.correction == pytest.approx(score.observed - score.truth, rel=1e-12)
    assert score.correction == pytest.approx(score.perfect, rel=1e-12)
    assert score.noise_share == pytest.approx(min(score.perfect / score.observed, 1.0), rel=1e-12)


@every_metric
@pytest.mark.parametrize("errors", ERRORS)
def test_intervals_are_nested(metric, errors):
    score = METRICS[metric](Y, P, yerr=ERRORS[errors]())
    for interval in (
        score.interval,
        score.truth.interval,
        score.perfect.interval,
        score.total_interval,
        score.truth.total_interval,
    ):
        narrow, wide = interval(0.5), interval(0.99)
        assert wide.low <= narrow.low <= narrow.high <= wide.high
        assert score.declaration.low <= wide.low
