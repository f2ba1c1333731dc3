"""Quantiles of a law by Newton's method where its range is stretched over the whole line."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property

from scipy.special import ndtri

from scorebars.laws.base import Law


class StretchedLaw(Law):
    """A law with a scale u(x) from -inf to inf on which the normal quantile of its distribution function is nearly
    straight. Subclasses give `tails`, the scale, and where to start."""

    _small = 1e-15
    """By how much the normal quantile may be missed."""

    @abstractmethod
    def tails(self, x: float) -> tuple[float, float, float]:
        """P(value <= x), P(value > x) and the density at x."""

    @abstractmethod
    def _rough(self, x: float) -> float:
        """P(value <= x) roughly and cheaply, increasing with x."""

    @abstractmethod
    def _start(self) -> float:
        """Some value inside the support."""

    def _start_slope(self) -> float:
        """Roughly how fast the normal quantile rises with u at the start."""
        return 1.0

    @abstractmethod
    def _stretch(self, x: float) -> float:
        """u(x)."""

    @abstractmethod
    def _unstretch(self, u: float) -> tuple[float, float]:
        """x(u) and dx/du."""

    def _cdf(self, x: float) -> float:
        return self.tails(x)[0]

    def _sf(self, x: float) -> float:
        return self.tails(x)[1]

    def _pdf(self, x: float) -> float:
        return self.tails(x)[2]

    def _ppf(self, q: float) -> float:
        target = float(ndtri(q)) if q <= 0.5 else -float(ndtri(1.0 - q))
        low, high = -math.inf, math.inf
        u = self._near(target)
        before, rough, _ = self._middle
        for _ in range(100):
            x, pace = self._unstretch(u)
            lower, upper, pdf = self.tails(x)
            z = float(ndtri(lower)) if lower <= 0.5 else -float(ndtri(upper))
            low, high = (u, high) if z < target else (low, u)
            step, missed = math.copysign(1.0, target - z), math.inf
            if pdf > 0 and math.isfinite(z):
                slope = pdf * pace * math.exp(0.5 * z * z) * math.sqrt(2.0 * math.pi)
                step = min(max((target - z) / slope, -2.0), 2.0)
                if u != before:  # by how much the curve bends away from its tangent
                    missed = abs((slope - (z - rough) / (u - before)) / (u - before)) * step * step
            following = u + step
            if abs(target - z) < 1e-7 or (missed < self._small and abs(step) < 2.0):  # the last step squares the error
                return self._unstretch(following)[0]
            if not low < following < high:
                following = 0.5 * (low + high) if math.isfinite(low + high) else u + math.copysign(1.0, target - z)
            if self._unstretch(following)[0] == x:
                break
            u = following
        return self._unstretch(u)[0]

    @cached_property
    def _middle(self) -> tuple[float, float, float]:
        """Where the search begins: u, the rough normal quantile there, and how fast it rises."""
        u = self._stretch(self._start())
        return u, self._rough_quantile(u), self._start_slope()

    def _near(self, target: float) -> float:
        """u where the rough distribution function has about the normal quantile `target`: secant steps."""
        u, z, slope = self._middle
        before = (0.0, -math.inf)
        for _ in range(30):
            if abs(target - z) < 3e-3:
                break
            step = min(max((target - z) / slope, -1.0), 1.0)
            before, u = (u, z), u + step
            z = self._rough_quantile(u)
            if z != before[1]:
                slope = max((z - before[1]) / (u - before[0]), 0.3 * slope)
        return u

    def _rough_quantile(self, u: float) -> float:
        return float(ndtri(min(max(self._rough(self._unstretch(u)[0]), 1e-300), 1.0 - 1e-16)))
