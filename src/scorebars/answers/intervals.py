"""Ways to turn an estimate into an interval; small objects, so that estimates can be pickled."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri, stdtrit

from scorebars.laws.base import Law
from scorebars.score import Interval


@dataclass(frozen=True)
class Symmetric:
    """value -+ quantile * std, kept inside the metric's range; Student's quantile if df is finite."""

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
        return Interval(
            min(max(self.value - reach, self.low), self.high), max(min(self.value + reach, self.high), self.low)
        )


@dataclass(frozen=True)
class OfLaw:
    """The central interval of a law."""

    law: Law

    def __call__(self, level: float) -> Interval:
        tail = (1.0 - level) / 2
        return Interval(float(self.law.ppf(tail)), float(self.law.ppf(1.0 - tail)))


@dataclass(frozen=True)
class Power:
    """An interval of x carried over to x**power (power > 0, x >= 0), as for RMSE from MSE."""

    inner: object
    power: float

    def __call__(self, level: float) -> Interval:
        low, high = self.inner(level)  # type: ignore[operator]
        return Interval(max(low, 0.0) ** self.power, max(high, 0.0) ** self.power)


@dataclass(frozen=True)
class Affine:
    """An interval of x carried over to shift + scale * x."""

    inner: object
    scale: float
    shift: float = 0.0

    def __call__(self, level: float) -> Interval:
        # 0 stays 0 where the scale itself is larger than the largest double
        ends = [self.shift + (self.scale * end if end else 0.0) for end in self.inner(level)]  # type: ignore[operator]
        return Interval(min(ends), max(ends))
