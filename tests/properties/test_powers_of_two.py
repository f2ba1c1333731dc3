"""Labels, predictions, errors and parameters multiplied by a power of two: every answer is multiplied by one too.

Such a unit changes no digit, so nothing may change but the exponent: no square of a tiny error that vanishes, none of a
huge one that overflows (warnings are errors here).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scorebars as sb
from scorebars.metrics.registry import declarations

Y = np.array([1.5, 2.25, 3.0, 1.125, 2.75, 3.5, 1.75])
P = np.array([1.25, 2.75, 2.0, 1.25, 2.5, 3.75, 2.5])
SIGMA = np.array([0.25, 0.375, 0.5, 0.125, 0.25, 0.625, 0.375])
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.25, 1.0])
POWERS = [-600, -500, 500]

# parameters in the unit of the labels, and the degree that the metric has with them
PARAMETERS = {"fraction_within": {"tolerance": 0.375}, "huber_loss": {"delta": 0.375}}
DEGREE = {"fraction_within": 0, "huber_loss": 2}
OTHERWISE = {
    "mean_squared_log_error": "logarithms of 1 + label have no unit",
    "root_mean_squared_log_error": "logarithms of 1 + label have no unit",
    "log_cosh_loss": "residuals are measured against 1",
    "mean_absolute_percentage_error": "labels below 2.2e-16 count as 2.2e-16, as in scikit-learn",
}
METRICS = [name for name, entry in declarations().items() if entry.task == "regression" and name not in OTHERWISE]
FAMILIES: dict[str, Callable[[float], Any]] = {
    "normal": lambda c: SIGMA * c,
    "exact": lambda c: None,
    "shared": lambda c: sb.Normal(SIGMA * c, shared=np.full(len(Y), 0.25) * c),
    "berkson": lambda c: sb.Normal(SIGMA * c, kind="berkson"),
    "split": lambda c: sb.SplitNormal(SIGMA * c, 2 * SIGMA * c),
    "Laplace": lambda c: sb.Laplace(SIGMA * c),
    "LogNormal": lambda c: sb.LogNormal(0.25),
    "repeats": lambda c: sb.Repeats.from_means(sigma=SIGMA * c, n=3),
}
LOSSES = ["fraction_within", "huber_loss", "mean_pinball_loss", "symmetric_mean_absolute_percentage_error", "max_error"]


def degree(name: str) -> int:
    found = DEGREE.get(name, declarations()[name].degree)
    assert found is not None, f"{name}: say how it scales, or why it does not"
    return found


def score(name: str, power: int, family: str = "normal", weight: Any = None) -> sb.Score:
    c = 2.0**power
    options = {key: value * c for key, value in PARAMETERS.get(name, {}).items()}
    if weight is not None:
        options["sample_weight"] = weight
    found = getattr(sb, name)(Y * c, P * c, yerr=FAMILIES[family](c), **options)
    assert isinstance(found, sb.Score)
    return found


def answers(found: sb.Score) -> dict[str, float]:
    """Every answer in the unit of the metric."""
    given = {name: float(getattr(found, name)) for name in ("observed", "expected", "std", "sampling_std")}
    ends = {"interval": found.interval(0.9), "total interval": found.total_interval(0.9)}
    for name in ("truth", "perfect"):
        try:
            estimate = getattr(found, name)
            ends[name] = estimate.interval(0.9)
        except sb.UndefinedEstimate:
            continue
        given |= {name: estimate.value, f"{name} std": estimate.std}
    for name, (low, high) in ends.items():
        given |= {f"{name} low": low, f"{name} high": high}
    return given


@functools.cache
def ordinary(name: str, family: str = "normal", weighted: bool = False) -> tuple[dict[str, float], float | None]:
    found = score(name, 0, family, WEIGHT if weighted else None)
    return answers(found), found.noise_share


def same_but_for_the_unit(name: str, power: int, family: str = "normal", weighted: bool = False) -> None:
    expected, share = ordinary(name, family, weighted)
    found = score(name, power, family, WEIGHT if weighted else None)
    here = answers(found)
    assert here.keys() == expected.keys()
    moved = {key: math.ldexp(value, power * degree(name)) for key, value in expected.items()}
    size = max(abs(moved["expected"]), moved["std"])
    for key, value in moved.items():
        assert here[key] == pytest.approx(value, rel=1e-12, abs=1e-12 * size), key
    assert found.noise_share == (None if share is None else pytest.approx(share, rel=1e-12, abs=1e-12))
    assert not math.isnan(found.distribution.cdf(found.expected))


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("name", METRICS)
def test_every_metric(name: str, power: int) -> None:
    same_but_for_the_unit(name, power)


@pytest.mark.parametrize("power", [-600, 500])
@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "normal"])
@pytest.mark.parametrize("name", LOSSES)
def test_every_kind_of_error(name: str, family: str, power: int) -> None:
    same_but_for_the_unit(name, power, family)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("name", ["fraction_within", "huber_loss"])
def test_weights(name: str, power: int) -> None:
    same_but_for_the_unit(name, power, weighted=True)


def test_all_metrics_are_here_or_say_why_not() -> None:
    assert {name for name, entry in declarations().items() if entry.task == "regression"} == {*METRICS, *OTHERWISE}


@pytest.mark.parametrize("scale", [1e-305, 1e160])
def test_median_of_many(scale: float) -> None:
    p = np.linspace(0, 1, 400)
    here = sb.median_absolute_error(np.zeros(400), p, yerr=0.5)
    there = sb.median_absolute_error(np.zeros(400), p * scale, yerr=0.5 * scale)
    assert (there.expected / scale, there.std / scale) == pytest.approx((here.expected, here.std), rel=1e-9)


def test_several_outputs() -> None:
    y, p = np.stack([Y, Y + 1], axis=1), np.stack([P, P], axis=1)
    c = 2.0**-600
    for name in ("fraction_within", "huber_loss", "median_absolute_error"):
        options = PARAMETERS.get(name, {})
        here = getattr(sb, name)(y, p, yerr=0.25, **options)
        there = getattr(sb, name)(y * c, p * c, yerr=0.25 * c, **{key: value * c for key, value in options.items()})
        for key in ("observed", "expected", "std"):
            expected = math.ldexp(getattr(here, key), -600 * degree(name))
            assert getattr(there, key) == pytest.approx(expected, rel=1e-12), key


@pytest.mark.parametrize("scale", [1e80, 1e300])
@pytest.mark.parametrize("family", ["normal", "exact", "split"])
@pytest.mark.parametrize("name", ["huber_loss", "log_cosh_loss"])
def test_losses_that_are_linear_far_from_the_bend(name: str, family: str, scale: float) -> None:
    """Residuals and errors far larger than 1, where the loss bends: all is that of the mean absolute error."""
    y, p, yerr = Y * scale, P * scale, FAMILIES[family](scale)
    here, there = sb.mean_absolute_error(y, p, yerr=yerr), getattr(sb, name)(y, p, yerr=yerr)
    for key in ("observed", "expected", "std", "sampling_std"):
        assert getattr(there, key) == pytest.approx(getattr(here, key), rel=1e-12), key
    assert float(there.perfect) == pytest.approx(float(here.perfect), rel=1e-12)
    assert float(there.truth) == pytest.approx(float(here.truth), rel=1e-9)
    assert there.interval() == pytest.approx(here.interval(), rel=0.05)


@pytest.mark.parametrize("c", [2.0**-58, 2.0**-70, 2.0**70])
def test_a_bend_of_another_size_than_the_residuals(c: float) -> None:
    here = sb.huber_loss(Y, P, yerr=SIGMA, delta=2.0**-8)
    there = sb.huber_loss(Y * c, P * c, yerr=SIGMA * c, delta=2.0**-8 * c)
    for key in ("observed", "expected", "std"):
        assert getattr(there, key) == pytest.approx(getattr(here, key) * c * c, rel=1e-12), key


def test_a_tolerance_beyond_all_labels() -> None:
    for tolerance in (1.0, 1e300):
        found = sb.fraction_within(Y * 1e-200, P * 1e-200, yerr=SIGMA * 1e-200, tolerance=tolerance)
        assert (found.observed, found.expected, found.std) == (1, 1, 0)
        assert float(found.perfect) == pytest.approx(1, rel=1e-15)


def test_errors_of_another_size_than_the_largest_residual() -> None:
    """One prediction is off by 1e200: the other labels, and what their errors do, still count."""
    y, p = np.zeros(5), np.array([0.0, 0.1, 0.2, 0.3, 1e200])
    within, near = (sb.fraction_within(y[:n], p[:n], yerr=1.0, tolerance=1.0) for n in (5, 4))
    assert within.expected == pytest.approx(near.expected * 4 / 5, rel=1e-12)
    assert within.std == pytest.approx(near.std * 4 / 5, rel=1e-12)
    median = sb.median_absolute_error(y, p, yerr=1.0)
    assert median.std == pytest.approx(sb.median_absolute_error(y, np.minimum(p, 1e6), yerr=1.0).std, rel=1e-9)
    assert sb.max_error(y, p, yerr=1.0).expected == 1e200


def test_a_score_larger_than_the_largest_double() -> None:
    with pytest.warns(sb.UndefinedMomentWarning, match="above the largest double"):
        found = sb.max_error([1e308, -1e308], [-1e308, 1e308], yerr=1e307)
    assert found.observed == math.inf


def test_squares_larger_than_the_largest_double() -> None:
    with pytest.warns(sb.UndefinedMomentWarning, match="above the largest double"):
        found = sb.mean_squared_error(Y * 2.0**600, P * 2.0**600, yerr=SIGMA * 2.0**600)
    numbers = [*found.interval(), *found.truth.interval(), *found.perfect.interval(), *found.distribution.support]
    assert not np.isnan(numbers).any()
    assert found.truth.interval().low == 0
    assert found.noise_share == pytest.approx(sb.mean_squared_error(Y, P, yerr=SIGMA).noise_share, rel=1e-12)


def compared(metric: str, c: float) -> sb.Comparison:
    return sb.compare(Y * c, {"a": P * c, "b": (P + 0.25) * c}, yerr=SIGMA * c, metric=metric)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("metric", ["mean_squared_error", "root_mean_squared_error", "mean_absolute_error"])
def test_comparisons(metric: str, power: int) -> None:
    here, there = compared(metric, 1.0), compared(metric, 2.0**power)
    first, second = here.difference("a", "b"), there.difference("a", "b")
    for key in ("observed", "expected", "std"):
        value = math.ldexp(getattr(first, key), power * degree(metric))
        assert getattr(second, key) == pytest.approx(value, rel=1e-12), key
    assert second.interval() == pytest.approx(
        [math.ldexp(end, power * degree(metric)) for end in first.interval()], rel=1e-12
    )
    if metric == "mean_squared_error":
        assert second.truth.std == pytest.approx(math.ldexp(first.truth.std, 2 * power), rel=1e-12)
    assert there.probability("a", "b") == pytest.approx(here.probability("a", "b"), rel=1e-12)
    assert there.verdict("a", "b") == here.verdict("a", "b")
    assert there.warnings == here.warnings


def test_comparison_by_drawn_labels() -> None:
    here, there = (compared("median_absolute_error", c).difference("a", "b") for c in (1.0, 2.0**-600))
    assert there.std == pytest.approx(math.ldexp(here.std, -600), rel=1e-12)
    assert there.expected == pytest.approx(math.ldexp(here.expected, -600), rel=1e-12)


@pytest.mark.parametrize("delta", [1e-250, 1e-100, 1e100, 1e300])
def test_a_bend_far_from_ordinary_residuals(delta: float) -> None:
    """Far below the residuals the loss is delta times the absolute error, far above it half the squared error."""
    found = sb.huber_loss(Y, P, yerr=0.25, delta=delta)
    plain = (sb.mean_absolute_error if delta < 1 else sb.mean_squared_error)(Y, P, yerr=0.25)
    factor = delta if delta < 1 else 0.5
    for key in ("observed", "expected", "std"):
        assert getattr(found, key) == pytest.approx(getattr(plain, key) * factor, rel=1e-9), key
