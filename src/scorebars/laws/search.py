"""Where an increasing function reaches a level: exactly, or roughly where a rough place is enough."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq


def roughly(
    f: Callable[[float], float], low: float, high: float, least: float, most: float, upper: bool = False
) -> float:
    """Some x at which the increasing f lies between `least` and `most`; where f jumps over both, the lower (or upper) side."""
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high if upper else low
        value = f(middle)
        if least <= value <= most:
            return middle
        if value < least:
            low = middle
        else:
            high = middle


def crossing(f: Callable[[float], float], low: float, high: float) -> float:
    """Where the increasing f crosses 0 between low and high, to the last digits; an end where it does not."""
    below, over = f(low), f(high)
    while not math.isfinite(below) and high - low > 1e-15 * high:
        # a logarithm of a probability is -inf where nothing can lie: halve the bracket until it is finite
        middle = 0.5 * (low + high)
        value = f(middle)
        if value > 0:
            high, over = middle, value
        else:
            low, below = middle, value
    if below >= 0 or not math.isfinite(below):
        return low
    if over <= 0:
        return high
    return float(brentq(f, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=300))
