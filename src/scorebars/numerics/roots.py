"""The one root finder: where an increasing function crosses zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from scipy.optimize import brentq

_FINEST = 8.9e-16
"""The smallest relative tolerance that Brent's method accepts."""


def crossing(
    f: Callable[[float], float], low: float, high: float, *, xtol: float = 1e-300, rtol: float = _FINEST
) -> float:
    """Where the increasing f crosses 0 between low and high, by Brent's method; an end where it does not cross.

    f may be -inf or inf, as the logarithm of a probability is: such an end is first bisected away.
    """
    f = cache(f)  # Brent's method begins with the ends once more
    below, above = f(low), f(high)
    if below >= 0:
        return low
    if above <= 0:
        return high
    while not (math.isfinite(below) and math.isfinite(above)):
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low <= xtol:
            return middle
        value = f(middle)
        if value < 0:
            low, below = middle, value
        else:
            high, above = middle, value
    return float(brentq(f, low, high, xtol=xtol, rtol=rtol, maxiter=500))


def crossing_from(
    f: Callable[[float], float],
    start: float,
    step: float,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    xtol: float = 1e-300,
    rtol: float = _FINEST,
) -> float:
    """Where an increasing f crosses zero, given a start: the ends of the bracket are looked for in steps that double."""
    f = cache(f)
    a = b = start
    while a > low and f(a) > 0:
        b, a, step = a, max(low, a - step), 2.0 * step
    while b < high and f(b) < 0:
        a, b, step = b, min(high, b + step), 2.0 * step
    return crossing(f, a, b, xtol=xtol, rtol=rtol)
