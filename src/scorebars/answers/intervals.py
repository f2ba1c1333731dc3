"""Ways to turn an estimate into an interval; small objects, so that estimates can be pickled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.special import log_ndtr, ndtri, ndtri_exp, stdtr, stdtrit

from scorebars.laws.law import Law
from scorebars.score import Declaration, Interval

_FAR = 1e6


@dataclass(frozen=True)
class Symmetric:
    """value -+ quantile * std, kept inside the metric's range; Student's quantile if df is finite.

    An estimate may fall outside the range, say below it, where that is `low`. The interval then begins at `low`, and
    ends where a parameter u would make an estimate as small as this one (1 - level) times as probable as `low` makes it:
    P(estimate | u) = (1 - level) P(estimate | low). For value = low this is the ordinary end; it never meets `low`.
    """

    value: float
    std: float
    low: float = -math.inf
    high: float = math.inf
    df: float = math.inf

    def __call__(self, level: float) -> Interval:
        if not math.isfinite(self.std):
            return Interval(self.low, self.high)
        tail = (1.0 + level) / 2
        z = float(ndtri(tail) if math.isinf(self.df) else stdtrit(self.df, tail))
        reach = z * self.std
        below, above = self.value - reach, self.value + reach
        if self.value < self.low:
            above = self.low + self._room(self.low - self.value, level)
        elif self.value > self.high:
            below = self.high - self._room(self.value - self.high, level)
        return Interval(min(max(below, self.low), self.high), max(min(above, self.high), self.low))

    def _room(self, outside: float, level: float) -> float:
        """How far the interval reaches into the range, for an estimate `outside` by this much."""
        if self.std == 0:
            return 0.0
        gap = outside / self.std
        if math.isfinite(self.df) and (chance := float(stdtr(self.df, -gap))) > 0:
            return -float(stdtrit(self.df, (1.0 - level) * chance)) * self.std - outside
        if gap > _FAR:  # the difference of two large numbers is lost, but its limit is known
            return -math.log1p(-level) * self.std / gap
        return -float(ndtri_exp(math.log1p(-level) + float(log_ndtr(-gap)))) * self.std - outside


@dataclass(frozen=True)
class ScoreInterval:
    """All values x of a parameter that the estimate does not contradict: (estimate - x)^2 <= z^2 V(x).

    V(x) = fixed + curve (x - low)(high - x), or fixed + curve (x - low) where the range has no upper end. With fixed = 0
    and curve = 1/n this is Wilson's interval of a share; `fixed` is variance that does not depend on where x lies, such
    as that of wrong labels. An estimate outside the range counts as its nearest end: that is never farther from a
    possible x, so the interval holds x at least as often, and it is never empty.
    """

    value: float
    fixed: float
    curve: float
    low: float
    high: float
    df: float = math.inf

    def __call__(self, level: float) -> Interval:
        tail = (1.0 + level) / 2
        z = float(ndtri(tail) if math.isinf(self.df) else stdtrit(self.df, tail))
        if not self.low < self.high:
            return Interval(self.low, self.high)
        width, bent = (self.high - self.low, 1.0) if math.isfinite(self.high) else (1.0, 0.0)
        most = 1.0 if bent else math.inf
        x = min(max((self.value - self.low) / width, 0.0), most)
        fixed, curve = z * z * self.fixed / width**2, z * z * self.curve
        if not math.isfinite(fixed + curve):
            return Interval(self.low, self.high)
        reach = math.sqrt(max(curve * (x * (1.0 - bent * x) + curve / 4) + fixed * (1.0 + bent * curve), 0.0))
        ends = ((x + curve / 2 - reach) / (1.0 + bent * curve), (x + curve / 2 + reach) / (1.0 + bent * curve))
        # rounding must not push the estimate itself out
        low, high = max(min(ends[0], x), 0.0), min(max(ends[1], x), most)
        return Interval(self.low + width * low, self.low + width * high)


@dataclass(frozen=True)
class OfLaw:
    """The central interval of a law, with the estimate in it: the mean of rare large values lies beyond most of them."""

    law: Law
    value: float | None = None
    """The estimate; None where it is the mean of the law."""

    def __call__(self, level: float) -> Interval:
        tail = (1.0 - level) / 2
        low, high = float(self.law.ppf(tail)), float(self.law.ppf(1.0 - tail))
        estimate = float(self.law.mean) if self.value is None else self.value
        return Interval(min(low, estimate), max(high, estimate))


@dataclass(frozen=True)
class NextShare:
    """Where a share falls on the next test set: all values of which this set and the next do not differ too much.

    Both scatter about one population value, of which their mean x is the best guess:
    (next - observed)^2 <= z^2 2 V(x), V(x) = fixed + curve (x - low)(high - x). In terms of the mean that is the score
    interval with V/2 in place of V, and next = 2 x - observed. Unlike a variance taken from the observed share it does
    not vanish where all items are right (docs/theory/new-test-sets.md).
    """

    middle: ScoreInterval

    def __call__(self, level: float) -> Interval:
        ends = (2.0 * end - self.middle.value for end in self.middle(level))
        low, high = (min(max(end, self.middle.low), self.middle.high) for end in ends)
        return Interval(low, high)


def next_share(
    observed: float, curve: float, declaration: Declaration, shared_variance: float = 0.0, df: float = math.inf
) -> NextShare:
    """The interval of a share, or of a metric that scatters like one, on a new test set.

    `curve` is one over the number of items that the share is taken of; `shared_variance` what errors common to all
    labels add.
    """
    middle = ScoreInterval(observed, shared_variance / 2, curve / 2, declaration.low, declaration.high, df)
    return NextShare(middle)


@dataclass(frozen=True)
class Held:
    """An interval, widened where it must be to hold the estimate."""

    inner: Callable[[float], Interval]
    value: float

    def __call__(self, level: float) -> Interval:
        low, high = self.inner(level)
        return Interval(min(low, self.value), max(high, self.value))


@dataclass(frozen=True)
class Power:
    """An interval of x carried over to x**power (power > 0, x >= 0), as for RMSE from MSE."""

    inner: Callable[[float], Interval]
    power: float

    def __call__(self, level: float) -> Interval:
        low, high = self.inner(level)
        return Interval(max(low, 0.0) ** self.power, max(high, 0.0) ** self.power)


@dataclass(frozen=True)
class Affine:
    """An interval of x carried over to shift + x * (each of the factors).

    They are multiplied one after the other: their product may leave the doubles where the ends do not.
    """

    inner: Callable[[float], Interval]
    factors: tuple[float, ...]
    shift: float = 0.0

    def __call__(self, level: float) -> Interval:
        ends = [self.shift + times(end, self.factors) for end in self.inner(level)]
        return Interval(min(ends), max(ends))


def times(value: float, factors: tuple[float, ...]) -> float:
    """value times each of the factors; 0 stays 0 where a factor is larger than the largest double."""
    for factor in factors:
        value = value * factor if value else 0.0
    return value
