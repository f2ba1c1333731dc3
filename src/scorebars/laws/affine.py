"""The law of shift + scale * X: a count becomes a fraction, a mean of squares a metric in the user's units."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scorebars.laws.base import RNG, FloatArray, Law
from scorebars.laws.discrete import ROUNDING, AtomicLaw


class ScaledLaw(Law):
    """The law of shift + scale * X for a law X and scale != 0; a negative scale exchanges the tails.

    Atoms are found through rounding: with X a count and scale 1/M, `pmf(k / M)` is the probability of the count k.
    """

    law: Law
    scale: float
    shift: float

    def __init__(self, law: Law, scale: float, shift: float = 0.0) -> None:
        if isinstance(law, ScaledLaw):  # one map instead of two: atoms are found through one rounding
            scale, shift, law = scale * law.scale, shift + scale * law.shift, law.law
        self.law = law
        self.scale = float(scale)
        self.shift = float(shift)
        self.method = law.method
        self.discrete = law.discrete
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
        """The x behind each y: the atom itself where y is one within rounding."""
        y = np.asarray(y, dtype=float)
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.asarray((y - self.shift) / self.scale)
            if isinstance(self.law, AtomicLaw):
                farthest = max(abs(end) for end in self.support)  # a y far outside rounds to no atom
                size = np.minimum(np.abs(y), farthest) / abs(self.scale) + abs(self.shift / self.scale)
                return self.law.snap(x, ROUNDING * size)
        return x

    def _at(self, x: FloatArray) -> Any:
        """P(X = x): also a continuous law may have shrunk to one point."""
        if self.discrete:
            return self.law.pmf(x)
        low, high = self.law.support
        return np.where((x == low) & (low == high), 1.0, 0.0)[()]

    def _below(self, x: FloatArray) -> Any:
        """P(X < x)."""
        if isinstance(self.law, AtomicLaw):
            return self.law.below(x)
        return np.maximum(self.law.cdf(x) - self._at(x), 0.0)[()]

    def _at_least(self, x: FloatArray) -> Any:
        """P(X >= x)."""
        if isinstance(self.law, AtomicLaw):
            return self.law.at_least(x)
        return np.minimum(self.law.sf(x) + self._at(x), 1.0)[()]

    def _cdf(self, x: float) -> float:
        return float(self.cdf(x))

    def _sf(self, x: float) -> float:
        return float(self.sf(x))

    def cdf(self, x: ArrayLike) -> Any:
        """P(value <= x)."""
        back = self._back(x)
        return self.law.cdf(back) if self.scale > 0 else self._at_least(back)

    def sf(self, x: ArrayLike) -> Any:
        """P(value > x)."""
        back = self._back(x)
        return self.law.sf(back) if self.scale > 0 else self._below(back)

    def pdf(self, x: ArrayLike) -> Any:
        """Density at x; a discrete law has `pmf` instead."""
        return self.law.pdf(self._back(x)) / abs(self.scale)

    def pmf(self, x: ArrayLike) -> Any:
        """Probability of the value x; a continuous law has `pdf` instead."""
        return self.law.pmf(self._back(x))

    def ppf(self, q: ArrayLike) -> Any:
        """The value below which the metric falls with probability q."""
        if self.scale > 0:
            return self.shift + self.scale * self.law.ppf(q)
        if isinstance(self.law, AtomicLaw):
            return self.shift + self.scale * self.law.upper_ppf(q)
        return super().ppf(q)

    def _ppf(self, q: float) -> float:
        # 1 - q loses the digits of a small q; only then is the quantile worth a search of its own
        if q < 1e-3 and not self.discrete:
            return super()._ppf(q)
        return self._forward(float(self.law.ppf(1.0 - q)))

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws from the law; `rng` is a seed or a Generator, and the same seed gives the same draws."""
        return self.shift + self.scale * self.law.rvs(size, rng)
