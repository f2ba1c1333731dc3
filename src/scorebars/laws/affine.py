"""The distribution of shift + scale * X: a count becomes a fraction, a mean of squares a metric in the user's units."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scorebars.arrays import FloatArray
from scorebars.laws.discrete import ROUNDING, ListedLaw
from scorebars.laws.law import RNG, Law, numbers_in


class ScaledLaw(Law):
    """The distribution of shift + scale * X for scale != 0; a negative scale exchanges the tails.

    Values of a discrete X are found through rounding: with X a count and scale 1/M, `pmf(k / M)` is P(X = k).
    """

    law: Law
    scale: float
    shift: float

    def __init__(self, law: Law, scale: float, shift: float = 0.0) -> None:
        if isinstance(law, ScaledLaw):  # one map instead of two: values are found through one rounding
            scale, shift, law = scale * law.scale, shift + scale * law.shift, law.law
        self.law, self.scale, self.shift = law, float(scale), float(shift)
        self.method, self.discrete = law.method, law.discrete
        ends = [self._forward(end) for end in law.support]
        self.support = (min(ends), max(ends))

    def _forward(self, x: float) -> float:
        return self.shift + (self.scale * x if x else 0.0)  # 0 stays 0 where the scale is larger than every double

    def _mean(self) -> float:
        return self._forward(self.law._mean())

    def _std(self) -> float:
        return abs(self.scale) * self.law._std()

    def _var(self) -> float:
        return self.scale * (self.scale * self.law._var())

    def _back(self, y: ArrayLike) -> FloatArray:
        """The x behind each y: the value of a discrete X itself where y is one within rounding."""
        y = numbers_in(y, "x")
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.where(np.isinf(y), y * np.sign(self.scale), (y - self.shift) / self.scale)
            if isinstance(self.law, ListedLaw):
                farthest = max(abs(end) for end in self.support)  # a y far outside rounds to no value
                size = np.minimum(np.abs(y), farthest) / abs(self.scale) + abs(self.shift / self.scale)
                return self.law.snap(x, ROUNDING * size)
        return x

    def _at(self, x: FloatArray) -> Any:
        """P(X = x): also a continuous distribution may have shrunk to one point."""
        low, high = self.law.support
        return self.law.pmf(x) if self.discrete else np.where((x == low) & (low == high), 1.0, 0.0)

    def _cdf(self, x: float) -> float:
        return float(self.cdf(x))

    def _sf(self, x: float) -> float:
        return float(self.sf(x))

    def cdf(self, x: ArrayLike) -> Any:
        """P(value <= x)."""
        return self._tail(self._back(x), upper=False)

    def sf(self, x: ArrayLike) -> Any:
        """P(value > x)."""
        return self._tail(self._back(x), upper=True)

    def _tail(self, x: FloatArray, upper: bool) -> Any:
        if self.scale > 0:
            return self.law.sf(x) if upper else self.law.cdf(x)
        if isinstance(self.law, ListedLaw):
            return self.law.below(x) if upper else self.law.at_least(x)
        at = self._at(x)
        return (np.maximum(self.law.cdf(x) - at, 0.0) if upper else np.minimum(self.law.sf(x) + at, 1.0))[()]

    def pdf(self, x: ArrayLike) -> Any:
        """Density at x; a discrete distribution has `pmf` instead."""
        return self.law.pdf(self._back(x)) / abs(self.scale)

    def pmf(self, x: ArrayLike) -> Any:
        """Probability of the value x; a continuous distribution has `pdf` instead."""
        return self.law.pmf(self._back(x))

    def ppf(self, q: ArrayLike) -> Any:
        """The value below which the metric falls with probability q."""
        if self.scale > 0:
            return self.shift + self.scale * self.law.ppf(q)
        if isinstance(self.law, ListedLaw):
            return self.shift + self.scale * self.law.upper_ppf(q)
        return super().ppf(q)

    def _ppf(self, q: float) -> float:
        # 1 - q loses the digits of a small q; only then is the quantile worth a search of its own
        if q < 1e-3 and not self.discrete:
            return super()._ppf(q)
        return self._forward(float(self.law.ppf(1.0 - q)))

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws; `rng` is a seed or a Generator, and the same seed gives the same draws."""
        return self.shift + self.scale * self.law.rvs(size, rng)
