"""What one pass over labels with independent normal errors gives. The regression metrics follow from these sums.

Label i has the value y, the error sigma, the weight w and the prediction p; d = p - y. Drawn afresh from its error bar
the label differs from the prediction by d + sigma Z with Z standard normal. For the mean absolute error, for instance,

    observed = abs / w,    expected = (abs + fold) / w,    variance = foldvar_w2 / w^2.

A second pass, made when a distribution is asked for, adds the higher sums behind the cumulants 3 to 6 of a metric (`HIGHER`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from scorebars.measured import SAFE


class NormalSums(NamedTuple):
    """Sums over n labels; a name ending in _w2 has the squared weight in each term. (A named tuple, because a
    frozen dataclass of this size takes longer to make than the sums over 1000 labels.)

    Sums that were not asked for are NaN.

    With z = |d|/sigma, g(z) = E|Z + z| - z, P = P(|d + sigma Z| <= tolerance) and c = y - y_shift:
    """

    n: int
    w: float  # sum w
    w2: float  # sum w^2
    d: float  # sum w d
    abs: float  # sum w |d|
    sq: float  # sum w d^2
    var: float  # sum w sigma^2
    fold: float  # sum w sigma g(z), what the errors add to the absolute error
    d_w2: float  # sum w^2 d
    sq_w2: float  # sum w^2 d^2
    fourth_w2: float  # sum w^2 d^4
    expabs_w2: float  # sum w^2 (|d| + sigma g(z))
    var_w2: float  # sum w^2 sigma^2
    var2_w2: float  # sum w^2 sigma^4
    sqvar_w2: float  # sum w^2 d^2 sigma^2
    foldvar_w2: float  # sum w^2 Var|d + sigma Z|
    within: float  # sum w 1[|d| <= tolerance]
    within_p: float  # sum w P
    within_var_w2: float  # sum w^2 P (1 - P)
    y1: float  # sum w c
    y2: float  # sum w c^2
    d_var_w2: float  # sum w^2 d sigma^2
    y_var_w2: float  # sum w^2 c sigma^2
    y2_var_w2: float  # sum w^2 c^2 sigma^2
    y_d_var_w2: float  # sum w^2 c d sigma^2
    max_abs_d: float  # the largest, over labels of positive weight
    max_sigma: float
    max_weight: float
    max_abs_y: float  # of |c|; at least that, after a merge
    tolerance: float  # NaN: not asked for
    y_shift: float  # NaN: not asked for

    # How the expected losses of the labels, squared and plain, scatter from label to label: sums under w^2.

    @property
    def loss2_sq(self) -> float:
        """sum w^2 (d^2 + sigma^2)^2"""
        return self.fourth_w2 + 2.0 * self.sqvar_w2 + self.var2_w2

    @property
    def lossw_sq(self) -> float:
        """sum w^2 (d^2 + sigma^2)"""
        return self.sq_w2 + self.var_w2

    @property
    def loss2_abs(self) -> float:
        """sum w^2 (|d| + sigma g)^2, as E^2 = (second moment) - variance; at least 0.63 of the first part"""
        return self.sq_w2 + self.var_w2 - self.foldvar_w2

    def ordinary(self, ratio: bool = False) -> bool:
        """Whether no fourth power left the doubles or lost digits; with `ratio` also of the labels themselves."""
        larger, smaller = max(self.max_abs_d, self.max_sigma), min(self.max_abs_d, self.max_sigma)
        label = self.max_abs_y if ratio else 0.0
        return (
            (larger == 0 or 1.0 / SAFE < larger < SAFE)
            and (smaller == 0 or smaller >= TINY)
            and (label == 0 or TINY <= label <= SAFE)
            and (self.max_weight == 0 or _LIGHTEST <= self.max_weight <= SAFE)
        )

    def merged(self, other: NormalSums) -> NormalSums:
        """The sums over both sets of labels, about the reference of this one; what one of them lacks is NaN."""
        there = other._about(self.y_shift)
        numbers = {name: getattr(self, name) + getattr(there, name) for name in SUMS}
        numbers |= {name: max(getattr(self, name), getattr(there, name)) for name in LARGEST}
        tolerance = self.tolerance if self.tolerance == other.tolerance else math.nan
        if math.isnan(there.y_shift):
            numbers["max_abs_y"] = math.nan
        return NormalSums(self.n + other.n, **numbers, tolerance=tolerance, y_shift=there.y_shift)

    def _about(self, y_shift: float) -> NormalSums:
        """The same sums with labels counted from another reference: c becomes c + move."""
        move = self.y_shift - y_shift
        return self._replace(
            y1=self.y1 + move * self.w,
            y2=self.y2 + move * (2.0 * self.y1 + move * self.w),
            y_var_w2=self.y_var_w2 + move * self.var_w2,
            y2_var_w2=self.y2_var_w2 + move * (2.0 * self.y_var_w2 + move * self.var_w2),
            y_d_var_w2=self.y_d_var_w2 + move * self.d_var_w2,
            max_abs_y=self.max_abs_y + abs(move),
            y_shift=y_shift + 0.0 * move,  # NaN where one of the two is
        )

    def divided(self, power: int) -> NormalSums:
        """The sums of the same labels divided by 2^power."""
        moved: dict[str, Any] = {k: math.ldexp(getattr(self, k), -power * unit) for k, unit in _LABEL_POWERS.items()}
        return self._replace(**moved)

    def with_lighter(self, power: int) -> NormalSums:
        """The sums with all weights divided by 2^power."""
        names = (*SUMS, "max_weight")
        moved: dict[str, Any] = {k: math.ldexp(getattr(self, k), -power * (2 if "w2" in k else 1)) for k in names}
        return self._replace(**moved)


TINY = 2.0**-180
"""Fourth powers of smaller numbers lose digits."""
_LIGHTEST = 2.0**-100

SUMS: tuple[str, ...] = NormalSums._fields[1:25]
LARGEST: tuple[str, ...] = NormalSums._fields[25:29]
SMALLEST: tuple[str, ...] = ("min_sigma", "min_weight")
"""Over all labels: negative ones are not allowed, so these only serve to find them."""
NAMES: tuple[str, ...] = (*SUMS, *LARGEST, *SMALLEST)
"""The numbers that an engine returns, in this order."""
TOLERANCE_SUMS: tuple[str, ...] = NormalSums._fields[16:19]
LABEL_SUMS: tuple[str, ...] = NormalSums._fields[19:25]

_LABEL_POWERS = {
    **dict.fromkeys(("d", "abs", "fold", "d_w2", "expabs_w2", "y1", "tolerance", "y_shift"), 1),
    **dict.fromkeys(("max_abs_d", "max_sigma", "max_abs_y"), 1),
    **dict.fromkeys(("sq", "var", "sq_w2", "var_w2", "foldvar_w2", "y2"), 2),
    **dict.fromkeys(("d_var_w2", "y_var_w2"), 3),
    **dict.fromkeys(("fourth_w2", "var2_w2", "sqvar_w2", "y2_var_w2", "y_d_var_w2"), 4),
}
"""The power of the label unit in each number that has one."""


ORDERS = (3, 4, 5, 6)
"""Of the cumulants that higher sums give."""
HIGHER: dict[str, tuple[str, ...]] = {
    "squares": ("own", "d2") * len(ORDERS),
    "ratio": ("own", "d2", "one", "d", "c", "cd", "c2") * len(ORDERS),
    "absolute": ("own", "folded") * len(ORDERS) + ("errors",),
}
"""Higher sums by what they serve, order by order. Of order r with u = w s^2 and c = y - y_shift:

"squares"     own = sum u^r,  d2 = sum u^(r-1) w d^2
"ratio"       the same, and sums of u^(r-1) w times 1, d, c, c d and c^2
"absolute"    own = sum (w s)^r,  folded = sum (w s)^r kr(|Z + z|), kr the r-th cumulant; errors = sum w s
"""


class HigherRows(NamedTuple):
    """Which higher sums an engine is to form, of labels times `per_unit` and weights times `per_weight`."""

    kind: int
    """The place in HIGHER, counted from 1."""
    per_unit: float
    per_weight: float

    @property
    def need(self) -> str:
        return list(HIGHER)[self.kind - 1]


class HigherSums(NamedTuple):
    """Higher sums of one pass, and its other sums, all of labels divided by 2^power and weights by a power of their own."""

    need: str
    sums: NormalSums
    rows: tuple[float, ...]
    power: int

    def by_order(self) -> list[tuple[float, ...]]:
        """The rows of order 3, 4, 5 and 6."""
        width = len(HIGHER[self.need]) // len(ORDERS)
        return [self.rows[width * i : width * (i + 1)] for i in range(len(ORDERS))]


def combine(results: list[tuple[float, ...]]) -> tuple[float, ...]:
    """The numbers of NAMES for all chunks together, and higher sums that may follow them."""
    columns = list(zip(*results, strict=True))
    largest, smallest = len(SUMS), len(SUMS) + len(LARGEST)
    return (
        *map(exact_sum, columns[:largest]),
        *map(max, columns[largest:smallest]),
        *map(min, columns[smallest : len(NAMES)]),
        *map(exact_sum, columns[len(NAMES) :]),
    )


def exact_sum(values: Iterable[float]) -> float:
    """The exact sum, rounded once; NaN where it is not finite."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return math.nan
