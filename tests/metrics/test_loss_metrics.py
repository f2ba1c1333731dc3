"""Pinball, Huber, log-cosh, fraction within, percentage and log errors: scikit-learn, five questions, messages."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

import scorebars as sb
from scorebars import errors

RNG = np.random.default_rng(0)
N = 25
Y = np.exp(RNG.normal(size=N)) + 0.5
P = Y * np.exp(0.2 * RNG.normal(size=N))
W = RNG.random(N)
MANY_Y, MANY_P = np.exp(RNG.normal(size=(N, 3))), np.exp(RNG.normal(size=(N, 3)))

SKLEARN = {
    "mean_pinball_loss": {"alpha": 0.2},
    "mean_absolute_percentage_error": {},
    "mean_squared_log_error": {},
    "root_mean_squared_log_error": {},
}
METRICS: dict[str, Callable[..., Any]] = {
    "pinball": lambda *a, **k: sb.mean_pinball_loss(*a, alpha=0.2, **k),
    "huber": lambda *a, **k: sb.huber_loss(*a, delta=0.2, **k),
    "log_cosh": sb.log_cosh_loss,
    "within": lambda *a, **k: sb.fraction_within(*a, tolerance=0.3, **k),
    "mape": sb.mean_absolute_percentage_error,
    "smape": sb.symmetric_mean_absolute_percentage_error,
    "msle": sb.mean_squared_log_error,
    "rmsle": sb.root_mean_squared_log_error,
    "mse": sb.mean_squared_error,
    "rmse": sb.root_mean_squared_error,
    "mae": sb.mean_absolute_error,
    "bias": sb.mean_error,
}
FAMILIES = {
    "uniform": errors.Uniform(0.2),
    "laplace": errors.Laplace(0.1),
    "student": errors.StudentT(0.1, 6.0),
    "split": errors.SplitNormal(0.05, 0.15),
    "log_normal": errors.LogNormal(0.15),
    "poisson": errors.Poisson(),
    "empirical": errors.Empirical(Y[:, None] * np.exp(0.1 * RNG.normal(size=(N, 7)))),
    "shared": errors.Normal(0.1, shared=np.full(N, 0.05)),
    "berkson": errors.Laplace(0.1, kind="berkson"),
}


# exact labels: scikit-learn ------------------------------------------------------------------


@pytest.mark.parametrize("name", SKLEARN)
@pytest.mark.parametrize("weight", [None, W], ids=["equal", "weighted"])
@pytest.mark.parametrize("outputs", ["one", "uniform_average", "raw_values", "weights"])
def test_equals_scikit_learn_without_errors(name: str, weight: Any, outputs: str) -> None:
    y, p = (Y, P) if outputs == "one" else (MANY_Y, MANY_P)
    options: dict[str, Any] = dict(SKLEARN[name])
    if outputs != "one":
        options["multioutput"] = [0.2, 0.3, 0.5] if outputs == "weights" else outputs
    expected = getattr(sklearn_metrics, name)(y, p, sample_weight=weight, **options)
    found = getattr(sb, name)(y, p, sample_weight=weight, **options)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-14)
    if outputs != "raw_values":
        assert found.std == 0.0
        assert found.observed == pytest.approx(float(expected), rel=1e-14)
        assert found.truth == pytest.approx(float(expected), rel=1e-13)


def test_percentage_error_of_a_label_of_zero() -> None:
    assert sb.mean_absolute_percentage_error([0.0, 1.0], [1e-3, 1.0]) == pytest.approx(
        sklearn_metrics.mean_absolute_percentage_error([0.0, 1.0], [1e-3, 1.0]), rel=1e-15
    )
    assert sb.symmetric_mean_absolute_percentage_error([0.0, 1.0], [0.0, 3.0]) == 0.5


def test_formulas_of_exact_labels() -> None:
    d = Y - P
    huber = np.where(np.abs(d) <= 0.2, d * d / 2, 0.2 * (np.abs(d) - 0.1))
    assert sb.huber_loss(Y, P, delta=0.2) == pytest.approx(huber.mean(), rel=1e-14)
    assert sb.log_cosh_loss(Y, P) == pytest.approx(np.log(np.cosh(d)).mean(), rel=1e-13)
    assert sb.fraction_within(Y, P, tolerance=0.3) == pytest.approx(np.mean(np.abs(d) <= 0.3), rel=1e-15)
    assert sb.symmetric_mean_absolute_percentage_error(Y, P) == pytest.approx(
        np.mean(2 * np.abs(d) / (np.abs(Y) + np.abs(P))), rel=1e-14
    )
    far = sb.log_cosh_loss([1e5], [0.0])
    assert far == pytest.approx(1e5 - math.log(2), rel=1e-15)
    assert sb.log_cosh_loss([1e-9], [0.0]) == pytest.approx(5e-19, rel=1e-12)


# all metrics under all families ---------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::scorebars.UndefinedMomentWarning")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", METRICS)
def test_every_metric_answers_under_every_family(name: str, family: str) -> None:
    score = METRICS[name](Y, P, yerr=FAMILIES[family])
    draws = FAMILIES[family].sample(Y, 225, np.random.default_rng(8))
    values = np.array([METRICS[name](y, P).observed for y in np.maximum(draws, -0.99)])
    if math.isfinite(score.std):
        assert score.expected == pytest.approx(values.mean(), abs=6 * score.std / 15)
        assert score.std == pytest.approx(values.std(), rel=0.4)
    low, high = score.interval(0.9)
    assert low <= np.median(values) <= high
    assert not math.isnan(score.expected)
    assert math.isfinite(score.observed)
    assert score.perfect.interval().low <= score.perfect.interval().high
    assert score.noise_share is None or 0 <= score.noise_share <= 1
    assert score.total_interval().low <= score.total_interval().high
    if family == "berkson":
        if math.isfinite(score.expected):
            assert score.truth == score.expected
        else:
            with pytest.raises(sb.UndefinedEstimate, match="no finite expected value"):
                _ = score.truth
        with pytest.raises(sb.UndefinedEstimate, match="Berkson"):
            score.remeasured()
    else:
        again = score.remeasured()
        assert float(again) == pytest.approx(score.observed, rel=1e-12)
        assert again.std > 0
        try:
            truth = score.truth
        except sb.UndefinedEstimate:
            assert math.isinf(score.expected)
        else:
            assert truth.interval().low <= truth.interval().high
            assert math.isfinite(truth)
    copy = pickle.loads(pickle.dumps(score))
    assert copy.expected == score.expected
    if family in ("uniform", "shared"):
        assert copy.interval() == pytest.approx(score.interval(), rel=1e-12)
    assert name in ("bias",) or isinstance(score.explain(), str)


def test_weights_multiply_labels() -> None:
    """A weight of 2 counts a label twice; for the std that means fully correlated twins, so compare the mean only."""
    weight = np.array([2.0] + [1.0] * (N - 1))
    twice = np.r_[0, np.arange(N)]
    for name in ("pinball", "huber", "log_cosh", "within", "smape"):
        weighted = METRICS[name](Y, P, yerr=0.2, sample_weight=weight)
        repeated = METRICS[name](Y[twice], P[twice], yerr=0.2)
        assert weighted.expected == pytest.approx(repeated.expected, rel=1e-13)
        assert weighted.std > repeated.std


def test_a_label_without_weight_may_be_infinitely_bad() -> None:
    weight = np.array([1.0, 0.0, 1.0])
    model = errors.Uniform(0.5)
    score = sb.mean_absolute_percentage_error([3.0, 0.0, 5.0], [3.0, 1.0, 4.0], yerr=model, sample_weight=weight)
    assert math.isfinite(score.expected)
    assert math.isfinite(score.std)


@pytest.mark.parametrize("name", ["pinball", "huber", "log_cosh", "within", "smape"])
def test_order_of_labels_does_not_matter(name: str) -> None:
    order = RNG.permutation(N)
    sigma = 0.1 + RNG.random(N)
    one, other = METRICS[name](Y, P, yerr=sigma), METRICS[name](Y[order], P[order], yerr=sigma[order])
    assert one.expected == pytest.approx(other.expected, rel=1e-14)
    assert one.std == pytest.approx(other.std, rel=1e-13)


@pytest.mark.parametrize("name", ["pinball", "mape", "smape"])
def test_scaling_of_units(name: str) -> None:
    for c in (1e-30, 1e30):
        one = METRICS[name](Y, P, yerr=errors.Uniform(0.2))
        other = METRICS[name](c * Y, c * P, yerr=errors.Uniform(0.2 * c))
        unit = c if name == "pinball" else 1.0
        if name != "mape" or c > 1:  # scikit-learn's smallest denominator has a unit
            assert other.expected == pytest.approx(unit * one.expected, rel=1e-12)
            assert other.std == pytest.approx(unit * one.std, rel=1e-11)


def test_pinball_at_one_half_is_half_the_absolute_error() -> None:
    for yerr in (0.3, errors.Laplace(0.2), errors.LogNormal(0.1), errors.Poisson()):
        half, whole = sb.mean_pinball_loss(Y, P, yerr=yerr), sb.mean_absolute_error(Y, P, yerr=yerr)
        assert 2 * half.expected == pytest.approx(whole.expected, rel=1e-12)
        assert 2 * half.std == pytest.approx(whole.std, rel=1e-11)


def test_huber_between_its_limits() -> None:
    yerr = errors.Normal(0.3)
    wide, narrow = sb.huber_loss(Y, P, yerr=yerr, delta=1e6), sb.huber_loss(Y, P, yerr=yerr, delta=1e-7)
    square, absolute = sb.mean_squared_error(Y, P, yerr=yerr), sb.mean_absolute_error(Y, P, yerr=yerr)
    assert wide.expected == pytest.approx(square.expected / 2, rel=1e-12)
    assert wide.std == pytest.approx(square.std / 2, rel=1e-11)
    assert narrow.expected / 1e-7 == pytest.approx(absolute.expected, rel=1e-6)
    assert narrow.std / 1e-7 == pytest.approx(absolute.std, rel=1e-6)


def test_one_label_is_drawn_evenly_and_has_exact_moments() -> None:
    score = sb.huber_loss([1.0], [1.5], yerr=errors.Laplace(0.3), delta=0.4)
    assert score.distribution.cdf(score.interval(0.5).high) == pytest.approx(0.75, abs=1e-9)
    root = sb.root_mean_squared_error([1.0], [1.5], yerr=errors.Uniform(0.3))
    assert root.expected == pytest.approx(
        sb.mean_absolute_error([1.0], [1.5], yerr=errors.Uniform(0.3)).expected, rel=1e-12
    )


def test_fraction_within_reference() -> None:
    y, p = [0.5, -1.0, 2.25, 0.0, 3.5, -0.75, 1.0], [0.3, 0.1, 2.0, 0.0, 1.5, -0.5, 0.0]
    score = sb.fraction_within(y, p, tolerance=0.5, yerr=[0.1, 0.5, 1.0, 2.0, 0.0, 0.7, 1.5])
    assert score.expected == pytest.approx(0.3415470754781144, rel=1e-14)
    assert score.variance == pytest.approx(0.018593336926896541, rel=1e-13)
    assert score.distribution.pmf(2 / 7) == pytest.approx(0.39367481387941575, rel=1e-12)
    assert score.method == "exact"
    assert score.greater_is_better


def test_log_errors_normal_in_the_logarithm() -> None:
    """If log(1 + y) has normal errors, the MSE of the logarithms is the answer."""
    score = sb.mean_squared_error(np.log1p([1.5]), np.log1p([2.0]), yerr=0.25)
    assert score.expected == pytest.approx(0.09574115007177122, rel=1e-13)
    assert score.variance == pytest.approx(0.016122787517942806, rel=1e-12)


# what does not exist --------------------------------------------------------------------------


def test_percentage_error_under_normal_errors_is_infinite() -> None:
    with pytest.warns(
        sb.UndefinedMomentWarning, match=r"mean_absolute_percentage_error is infinite.*3 of 3 labels can come"
    ):
        score = sb.mean_absolute_percentage_error([2.0, 3.0, 4.0], [2.5, 3.0, 4.0], yerr=0.3)
    assert score.expected == score.std == math.inf
    assert score.observed == pytest.approx(0.25 / 3)
    assert 0.05 < score.distribution.ppf(0.5) < 0.5
    low, high = score.interval()
    assert 0 < low < high < 1
    with pytest.raises(sb.UndefinedEstimate, match="no finite mean"):
        _ = score.truth
    assert float(score.remeasured()) == score.observed


def test_percentage_error_is_finite_where_labels_stay_away_from_zero() -> None:
    y, p = [2.0, 3.0, 4.0], [2.5, 3.0, 4.0]
    for yerr in (errors.Uniform(1.9), errors.LogNormal(0.5), errors.Triangular(1.0)):
        assert math.isfinite(sb.mean_absolute_percentage_error(y, p, yerr=yerr).std)
    for model in (errors.Uniform(2.0), errors.Laplace(0.1), errors.StudentT(0.1, 9.0), errors.Poisson()):
        with pytest.warns(sb.UndefinedMomentWarning, match="arbitrarily close to 0"):
            assert sb.mean_absolute_percentage_error(y, p, yerr=model).expected == math.inf
    assert sb.mean_absolute_percentage_error(y, np.zeros(3), yerr=0.3) == pytest.approx(1.0)


def test_log_error_where_labels_can_fall_below_minus_one() -> None:
    with pytest.warns(sb.UndefinedMomentWarning, match=r"probability up to 0\.0228 \(2 of 2 labels\)"):
        score = sb.mean_squared_log_error([1.0, 3.0], [1.5, 3.0], yerr=1.0)
    assert score.expected == score.std == math.inf
    assert math.isfinite(score.interval().high)
    with pytest.warns(sb.UndefinedMomentWarning, match="root_mean_squared_log_error is infinite"):
        assert sb.root_mean_squared_log_error([1.0, 3.0], [1.5, 3.0], yerr=1.0).expected == math.inf


@pytest.mark.parametrize(
    ("df", "mse", "mae", "rmse"), [(4.0, "std", "", ""), (2.0, "both", "std", "std"), (1.0, "both", "both", "both")]
)
def test_student_errors_lack_moments(df: float, mse: str, mae: str, rmse: str) -> None:
    model = errors.StudentT(0.2, df)
    for name, lacking in (("mse", mse), ("mae", mae), ("rmse", rmse)):
        if lacking:
            what = "expected value" if lacking == "both" else "std"
            with pytest.warns(sb.UndefinedMomentWarning, match=f"the {what} of .* is infinite: Student errors"):
                score = METRICS[name](Y, P, yerr=model)
        else:
            score = METRICS[name](Y, P, yerr=model)
        assert math.isinf(score.expected) == (lacking == "both")
        assert math.isinf(score.std) == bool(lacking)
        assert math.isfinite(score.interval().high)
        if name == "mse" and df <= 2:
            with pytest.raises(sb.UndefinedEstimate, match="no finite variance"):
                _ = score.truth


# messages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sb.mean_pinball_loss([1.0], [1.0], alpha=1.5), "alpha must be a number between 0 and 1, got 1.5."),
        (lambda: sb.mean_pinball_loss([1.0], [1.0], alpha="a"), "alpha must be a number between 0 and 1, got 'a'."),
        (lambda: sb.huber_loss([1.0], [1.0], delta=0.0), "delta must be a positive number, got 0.0."),
        (lambda: sb.fraction_within([1.0], [1.0], tolerance=-1), "tolerance must be a number of at least 0, got -1."),
        (
            lambda: sb.mean_squared_log_error([0.0, -1.0, -2.0], [1.0, 1.0, 1.0]),
            "Mean Squared Logarithmic Error cannot be used when targets contain values less than or equal to -1: y_true has "
            "such values: the first is -1.0 at index 1, 2 in all.",
        ),
        (
            lambda: sb.root_mean_squared_log_error([0.0, 1.0], [-3.0, 1.0]),
            "Root Mean Squared Logarithmic Error cannot be used when targets contain values less than or equal to -1: y_pred",
        ),
        (
            lambda: sb.huber_loss([1.0, np.nan], [1.0, 1.0]),
            "y_true contains NaN: the first is nan at index 1, 1 in all.",
        ),
        (lambda: sb.log_cosh_loss([1.0, 2.0], [1.0, np.inf], yerr=0.1), "y_pred contains infinity: the first is inf"),
        (
            lambda: sb.huber_loss([1.0, 2.0], [1.0, 1.0], yerr=[0.1, -0.2]),
            "yerr has negative values: the first is -0.2",
        ),
        (lambda: sb.fraction_within([1.0], [1.0, 2.0], tolerance=1), "inconsistent numbers of samples"),
    ],
)
def test_messages(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        call()


@pytest.mark.parametrize("tiny", [5e-324, 1e-100, 1e-12])
@pytest.mark.parametrize(
    "family",
    [errors.Normal, errors.Uniform, errors.Laplace, errors.LogNormal, lambda c: errors.StudentT(c, 3.0)],
    ids=["normal", "uniform", "laplace", "log_normal", "student"],
)
@pytest.mark.parametrize("name", ["pinball", "huber", "log_cosh", "within", "smape", "mape", "msle"])
@pytest.mark.filterwarnings("ignore::scorebars.UndefinedMomentWarning")
def test_errors_that_vanish(name: str, family: Callable[[float], errors.MeasurementError], tiny: float) -> None:
    """All questions have the classical answer."""
    exact = METRICS[name](Y, P)
    score = METRICS[name](Y, P, yerr=family(tiny))
    assert score.observed == exact.observed
    if name in ("mape", "msle") and isinstance(family(1.0), errors.StudentT):
        return  # Student's tails reach everywhere
    near = pytest.approx(exact.observed, rel=1e-9)
    assert score.expected == near
    assert score.truth == near
    assert score.remeasured(3) == near
    assert score.interval() == (near, near)
    assert 0 <= score.std < 1e-11
    assert score.noise_share < 1e-9
