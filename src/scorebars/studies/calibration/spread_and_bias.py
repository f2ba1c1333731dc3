"""By which factor is the spread of forecasts wrong, and how much too high are they? Both agree with the tests of the PIT."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from scorebars.answers.intervals import IntervalAt, Symmetric, half_width_in_std, std_of
from scorebars.answers.means.intrinsic_scatter import most_likely
from scorebars.answers.score import Estimate, Interval, UndefinedEstimate
from scorebars.moments.extra_variance import in_own_units
from scorebars.moments.uncertain_spreads import NO_SCATTER, UncertainScatter
from scorebars.studies.calibration.judged_forecast import JudgedForecast
from scorebars.studies.calibration.pit import DOUBT, Pit

ALONE = 0.05
"""Below this a p-value would speak against a forecast if it were the only one; intervals of 95 % are shown."""


class _Likeliest(NamedTuple):
    """The most likely factor, with its likelihood profile."""

    value: float
    std: float | Callable[[], float]
    interval: IntervalAt


def spread_factor(pit: Pit, offset: bool) -> Estimate:
    """The factor on the spread that explains the residuals; with `offset` a common bias is fitted along and taken out."""
    judged = pit.judged
    if offset and judged.n < 2:
        raise UndefinedEstimate("one label cannot tell bias from spread.")
    found = (_of_known_spreads if judged.possible_spreads is None else _of_sample_spreads)(judged, offset)
    note = "the residuals are no larger than the label errors alone would make them" if found.value == 0 else ""
    ends = partial(_agreeing, pit, found, offset)
    return Estimate(found.value, found.std, method="ml", note=note, interval=ends, total_interval=ends, sampled=True)


def _of_known_spreads(judged: JudgedForecast, offset: bool) -> _Likeliest:
    d, noise2, x = judged.in_units_of_spread
    scatter, unit = in_own_units(d, np.sqrt(noise2), None, offset=False)
    scatter = replace(scatter, as_seen=True)  # the forecast claims a shape
    if offset:
        scatter = replace(scatter, offset=True, restricted=True, x=x / float(np.max(np.abs(x))))
    found = most_likely(scatter, unit)
    return _Likeliest(float(found), found.std, found.interval)


def _of_sample_spreads(judged: JudgedForecast, offset: bool) -> _Likeliest:
    """Of ensembles, whose spreads are uncertain themselves."""
    possible, sample = judged.possible_spreads, judged.forecast.estimated_spread
    assert possible is not None and sample is not None
    unit2 = float(np.mean(np.square(judged.scale)))
    d, noise2 = judged.residual / math.sqrt(unit2), judged.noise2 / unit2
    exact = d[noise2 == 0]
    if len(exact) and not np.any(exact != (exact[0] if offset else 0.0)):
        return _Likeliest(0.0, 0.0, Symmetric(0.0, 0.0))  # labels without error that are met exactly
    scatter = UncertainScatter(d, possible.values / unit2, noise2, offset)
    x, top = scatter.best()
    # spreads that are known from each other err together, as much as all members do
    share = float(np.mean(np.square(judged.spread2 / (judged.spread2 + judged.noise2))))
    interval = partial(_within_drop, scatter, x, top, 1.0 + possible.common * share / sample.degrees)
    value = 0.0 if x == NO_SCATTER else math.exp(x / 2)
    return _Likeliest(value, partial(std_of, interval, value), interval)


def _within_drop(scatter: UncertainScatter, x: float, top: float, widened: float, level: float) -> Interval:
    """All factors whose log likelihood is within chi^2_1 / 2 of the highest."""
    return Interval(*scatter.reach(x, top, 0.5 * half_width_in_std(level) ** 2 * widened))


def _agreeing(pit: Pit, found: _Likeliest, offset: bool, level: float) -> Interval:
    """The interval of a factor, which holds 1 if the exact test of the spread does not object, and not if the verdict does.

    Below 95 % it is that of the likelihood alone: the verdict does not ask for less.
    """
    (low, high), test = found.interval(level), pit.spread_test(offset)
    if level < 1.0 - ALONE:
        return Interval(low, high)
    if test.pvalue >= 1.0 - level:
        return Interval(min(low, 1.0), max(high, 1.0))
    if test.pvalue < DOUBT and test.narrow and found.value > 1:
        return Interval(max(low, math.nextafter(1.0, 2.0)), high)
    if test.pvalue < DOUBT and not test.narrow and found.value < 1:
        return Interval(low, min(high, math.nextafter(1.0, 0.0)))
    return Interval(low, high)


def forecast_bias(pit: Pit, factor: float) -> Estimate:
    """The weighted mean of forecast - label, where the true spread is `factor` times that of the forecasts."""
    d, noise2, x = pit.judged.in_units_of_spread
    variance = factor**2 + noise2
    if not float(variance.min()) > 0:
        variance = 1.0 + noise2
    weight = float(np.sum(x * x / variance))
    value = float(np.sum(x * d / variance)) / weight
    scatter = float(np.sum(np.square(d - value * x) / variance)) / (pit.judged.n - 1)
    std = math.sqrt(scatter / weight)
    interval = partial(_with_none, pit, Symmetric(value, std, df=pit.judged.n - 1))
    return Estimate(value, std, method="weighted mean", interval=interval, total_interval=interval, sampled=True)


def _with_none(pit: Pit, interval: IntervalAt, level: float) -> Interval:
    """With 0, where the exact test of a calibrated forecast sees no bias."""
    low, high = interval(level)
    if level >= 1.0 - ALONE and pit.calibrated and pit.bias_pvalue >= 1.0 - level:
        return Interval(min(low, 0.0), max(high, 0.0))
    return Interval(low, high)
