"""Values too large or too small for sums of fourth powers, and values that are no numbers at all.

Sums over ordinary data neither overflow nor underflow. When a pass shows that they might have, the data are
searched, and the pass is made again with labels and errors divided by a power of two, which is exact. Only
squares of what is 200 orders of magnitude below the largest difference or error are lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from scorebars.engines.chunks import chunk_ranges
from scorebars.engines.columns import Columns, Doubles, FloatArray
from scorebars.engines.names import SUMS

# Powers of two. For up to 2^40 labels sum w^2 (d^2 + s^2)^2 stays finite while the largest |d| and s are below
# 2^190 and the largest weight is below 2^100, and it keeps its digits down to 2^-180 and 2^-100.
_HIGHEST, _LOWEST = 190, -180
_WEIGHT_RANGE = 100
_ZERO = -(10**6)  # stands for the power above zero; half of it is below any other power

_TINY, _HUGE = math.ldexp(0.5, _LOWEST), math.ldexp(1.0, _HIGHEST)
_LIGHT, _HEAVY = math.ldexp(0.5, -_WEIGHT_RANGE), math.ldexp(1.0, _WEIGHT_RANGE)


class BadValues(Exception):
    """Some value is not finite, or an error or a weight is negative. The border finds out which."""


class Powers(NamedTuple):
    """Labels and errors are divided by 2^label, weights by 2^weight."""

    label: int
    weight: int


ORDINARY = Powers(0, 0)


def is_ordinary(numbers: Sequence[float]) -> bool:
    """Whether the numbers that a pass gave can be trusted as they are."""
    abs_d, sigma, weight, abs_y, min_sigma, min_weight = numbers[len(SUMS) :]
    return (
        math.isfinite(sum(numbers))
        and min_sigma >= 0
        and min_weight >= 0
        and (_TINY <= abs_d < _HUGE or abs_d == 0)
        and (_TINY <= sigma < _HUGE or sigma == 0)
        and (_TINY <= abs_y < _HUGE or abs_y == 0)
        and (_LIGHT <= weight < _HEAVY or weight == 0)
    )


def power_above(value: float) -> int:
    """The smallest power of two above a value that is not negative."""
    return math.frexp(value)[1] if value > 0 else _ZERO


def choose_powers(labels: Iterable[int], weight: int) -> Powers:
    """How to divide, given the powers above the largest |d|, s and |c|, and above the largest weight."""
    nonzero = [power for power in labels if power > _ZERO // 2]
    down = 0
    if nonzero and (min(nonzero) < _LOWEST or max(nonzero) > _HIGHEST):
        down = max(max(nonzero) - _HIGHEST, -1000)  # both 2^1000 and its inverse are doubles
    return Powers(down, weight if weight > _ZERO // 2 and abs(weight) > _WEIGHT_RANGE else 0)


def search(columns: Columns, reference: float | None) -> Powers:
    """Go through all data; raises BadValues unless they are finite, and errors and weights not negative."""
    d = s = c = w = size = _ZERO
    for start, stop in chunk_ranges(len(columns.y)):
        y, p, sigma, weight = columns.as_doubles(start, stop)
        if not all(np.isfinite(column).all() for column in (y, p, sigma, weight)):
            raise BadValues
        if sigma.min() < 0 or weight.min() < 0:
            raise BadValues
        counted = weight > 0
        y, p = y[counted], p[counted]
        d = max(d, _power_of_difference(p, y))
        s = max(s, _power_of_largest(sigma[counted]))
        w = max(w, _power_of_largest(weight))
        if reference is not None:
            c = max(c, _power_of_difference(y, np.full_like(y, reference)))
        size = max(size, _power_of_largest(y), _power_of_largest(p))
    powers = choose_powers((d, s, c), w)
    return powers._replace(label=max(powers.label, size - 1000)) if powers.label < 0 else powers


def divide(chunk: Doubles, reference: float | None, powers: Powers) -> Doubles:
    """A chunk divided by the powers of two; what a label without weight holds is taken out of the way."""
    y, p, sigma, weight = chunk
    counted = weight > 0
    still = 0.0 if reference is None else reference
    with np.errstate(under="ignore"):
        return (
            np.ldexp(np.where(counted, y, still), -powers.label),
            np.ldexp(np.where(counted, p, still), -powers.label),
            np.ldexp(np.where(counted, sigma, 0.0), -powers.label),
            np.ldexp(weight, -powers.weight),
        )


def divide_number(value: float | None, powers: Powers) -> float | None:
    """A tolerance or reference divided like the labels."""
    if value is None:
        return None
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(value, -powers.label))


def _power_of_largest(values: FloatArray) -> int:
    return power_above(float(np.abs(values).max(initial=0.0)))


def _power_of_difference(a: FloatArray, b: FloatArray) -> int:
    with np.errstate(over="ignore"):
        largest = float(np.abs(a - b).max(initial=0.0))
    if math.isinf(largest):
        return _power_of_largest(a / 4 - b / 4) + 2
    return power_above(largest)
