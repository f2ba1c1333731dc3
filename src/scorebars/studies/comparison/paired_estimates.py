"""The difference of two estimates from the intervals of both and the correlation of their errors (Zou and Donner 2008)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np

from scorebars.answers.classes.over_rates import OverRates
from scorebars.answers.intervals import IntervalAt, half_width_in_std
from scorebars.answers.score import Estimate, Interval


def paired_interval(
    first: Estimate,
    second: Estimate,
    correlation: Callable[[], float],
    intervals: tuple[IntervalAt, IntervalAt],
    level: float,
) -> Interval:
    """The interval of first - second from the `intervals` of both, and the correlation of the two estimates.

    With l and u the distances from an estimate to the ends of its own interval, the lower end lies
    sqrt(l_a^2 + u_b^2 - 2 r l_a u_b) below a - b, the upper one sqrt(u_a^2 + l_b^2 - 2 r u_a l_b) above it.
    """
    (low_a, high_a), (low_b, high_b) = (interval(level) for interval in intervals)
    a, b = float(first), float(second)
    below, above = (
        error_of_difference(a - low_a, high_b - b, correlation),
        error_of_difference(high_a - a, b - low_b, correlation),
    )
    return Interval(a - b - below, a - b + above)


def widened_by_items(value: float, alone: IntervalAt, std: Callable[[], float], df: float, level: float) -> Interval:
    """The interval for a population where labels share errors: that of these items, and the scatter of items.

    A common error may move the models apart. Items drawn again do not show it, so the correlation of two models over
    items says too much about it.
    """
    low, high = alone(level)
    items = half_width_in_std(level, df) * std()
    return Interval(value - math.hypot(value - low, items), value + math.hypot(high - value, items))


def over_common_rates(
    first: Estimate, second: Estimate, labels: Callable[[], float], items: Callable[[], float], note: str
) -> Estimate:
    """The difference of two truths whose error rates were counted: each draw of the rates serves both."""
    a, b, total_a, total_b = (
        cast(OverRates, one) for one in (first._interval, second._interval, first._total, second._total)
    )
    both = _less(a, b, labels())
    rates = [over.checked.variance(over.slopes) for over in (a, b, both)]
    own = [math.sqrt(max(one.std**2 - part, 0.0)) for one, part in zip((first, second), rates, strict=False)]
    return Estimate(
        float(first) - float(second),
        math.hypot(error_of_difference(own[0], own[1], labels), math.sqrt(rates[2])),
        method=" and ".join(dict.fromkeys((first.method, second.method))),
        note=note,
        interval=both,
        total_interval=_less(total_a, total_b, items()),
    )


def _less(first: OverRates, second: OverRates, correlation: float) -> OverRates:
    """The first estimate less the second, for each draw of the rates; their label errors are correlated."""
    a, b = first.variances(), second.variances()
    fixed = np.maximum(a + b - 2.0 * correlation * np.sqrt(a * b), 0.0)
    value, values, slopes = first.value - second.value, first.values - second.values, first.slopes - second.slopes
    return OverRates(value, values, fixed, slopes, first.checked, df=first.df)


def error_of_difference(one: float, other: float, correlation: Callable[[], float]) -> float:
    """The error of a difference whose parts have these errors; negative ones (an estimate out of range) count as 0."""
    one, other = max(one, 0.0), max(other, 0.0)
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return math.sqrt(max(one * one + other * other - 2.0 * correlation() * one * other, 0.0))
