"""Quantiles of a law by Newton's method where its range is stretched over the whole line."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import NamedTuple

from scipy.special import ndtri

from scorebars.laws.base import Law

_ROUGHLY = 3e-3  # how near the rough normal quantile is brought
_COMMON = 3.0  # normal quantiles up to which three points guide the search
_SAME, _CLOSE = 1e-9, 0.02  # differences of normal quantiles between which a parabola through two points has its slope
_FARTHEST = 37.0
"""Normal quantiles beyond have a density below the smallest double."""
_ROUNDING = 1e-15


class _Point(NamedTuple):
    """The normal quantile z at u, its slope (0 where there is none), half its second derivative, roughly, and by which
    share the slope may be wrong."""

    u: float
    z: float
    slope: float
    bend: float = 0.0
    doubt: float = 0.0

    def missed(self, step: float) -> float:
        """By how much a step along the slope may miss the normal quantile."""
        return self.doubt * abs(step) * self.slope + self.bend * step * step


class StretchedLaw(Law):
    """A law with a scale u(x) from -inf to inf on which the normal quantile of its distribution function is nearly
    straight. Subclasses give `tails`, the scale, and where to start."""

    _small = 1e-13
    """By how much the normal quantile may be missed."""
    _straight = False
    """Whether the normal quantile is so straight that one point tells where others are."""

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

    def _sides(self, x: float, near: float) -> tuple[float, float]:
        """The first two of `tails`; they may take less time, the more so as those of a value `near` were just found."""
        return self.tails(x)[:2]

    def _ppf(self, q: float) -> float:
        target = _normal_quantile(q, 1.0 - q)
        low, high = -math.inf, math.inf
        u, here = self._near(target), None
        for _ in range(100):
            here = self._point(u, here)
            low, high = (u, high) if here.z < target else (low, u)
            step = math.copysign(1.0, target - here.z)
            if here.slope > 0:
                step = min(max((target - here.z) / here.slope, -2.0), 2.0)
                if abs(step) < 2.0 and here.missed(step) < self._small:
                    return self._unstretch(u + step)[0]
            following = u + step
            if not low < following < high:
                following = 0.5 * (low + high) if math.isfinite(low + high) else u + math.copysign(1.0, target - here.z)
            if self._unstretch(following)[0] == self._unstretch(u)[0]:
                break
            u = following
        return self._unstretch(u)[0]

    def _point(self, u: float, last: _Point | None) -> _Point:
        """The normal quantile at u; close to the last point its slope is that of a parabola through both."""
        x, pace = self._unstretch(u)
        way = 0.0 if last is None or last.doubt > 0 else (u - last.u) * last.slope
        if last is not None and _SAME < abs(way) < _CLOSE:
            z = _normal_quantile(*self._sides(x, self._unstretch(last.u)[0]))
            turn = 2.0 * (z - last.z - way) / way  # of the slope, as a share of it
            bend = 0.5 * turn * last.slope / (u - last.u)
            return _Point(u, z, (1.0 + turn) * last.slope, abs(bend), turn * turn + way * way + _ROUNDING / abs(way))
        lower, upper, pdf = self.tails(x)
        z = _normal_quantile(lower, upper)
        if pdf <= 0 or not abs(z) < _FARTHEST:
            return _Point(u, z, 0.0)
        slope = pdf * pace * math.exp(0.5 * z * z) * math.sqrt(2.0 * math.pi)
        before, rough, _ = self._middle
        bend = abs(slope - (z - rough) / (u - before)) / abs(u - before) if u != before else 10.0 * slope * slope
        return _Point(u, z, slope, bend)

    # near a quantile ---------------------------------------------------------------------------

    @cached_property
    def _middle(self) -> tuple[float, float, float]:
        """Where the search begins: u, the rough normal quantile there, and how fast it rises."""
        u = self._stretch(self._start())
        return u, self._rough_quantile(u), self._start_slope()

    @cached_property
    def _guide(self) -> list[tuple[float, float]]:
        """Rough normal quantiles, and their u, in the middle and on both sides."""
        u, z, slope = self._middle
        return [(self._rough_quantile(v), v) for v in (u - 1.5 / slope, u + 1.5 / slope)] + [(z, u)]

    def _near(self, target: float) -> float:
        """u where the rough distribution function has about the normal quantile `target`."""
        u, z, slope = self._middle
        if not self._straight and abs(target) < _COMMON:
            points = list(self._guide)
            least, *_, largest = sorted(u for _, u in points)
            while len(points) < 5 and len({z for z, _ in points}) == len(points):
                u = _interpolated(points, target)
                if not 2.0 * least - largest < u < 2.0 * largest - least:
                    break
                z = self._rough_quantile(u)
                if abs(target - z) < _ROUGHLY:
                    return u
                points.append((z, u))
            z, u = min(points, key=lambda point: abs(target - point[0]))
        return self._by_secants(target, u, z, slope)

    def _by_secants(self, target: float, u: float, z: float, slope: float) -> float:
        before = (0.0, -math.inf)
        for _ in range(30):
            if abs(target - z) < _ROUGHLY:
                break
            step = min(max((target - z) / slope, -1.0), 1.0)
            before, u = (u, z), u + step
            z = self._rough_quantile(u)
            if z != before[1]:
                slope = max((z - before[1]) / (u - before[0]), 0.3 * slope)
        return u

    def _rough_quantile(self, u: float) -> float:
        return float(ndtri(min(max(self._rough(self._unstretch(u)[0]), 1e-300), 1.0 - 1e-16)))


def _normal_quantile(lower: float, upper: float) -> float:
    return float(ndtri(lower)) if lower <= 0.5 else -float(ndtri(upper))


def _interpolated(points: list[tuple[float, float]], target: float) -> float:
    """u at z = target, of the polynomial u(z) through the points (Neville's scheme)."""
    z, u = [point[0] for point in points], [point[1] for point in points]
    for k in range(1, len(z)):
        u = [((target - z[i + k]) * u[i] + (z[i] - target) * u[i + 1]) / (z[i] - z[i + k]) for i in range(len(z) - k)]
    return u[0]
