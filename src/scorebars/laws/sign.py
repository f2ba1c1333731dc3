"""P(N > 0) for a quadratic form N of either sign, and densities of ratios, by a contour integral.

    P(N > 0) = 1/(2 pi i) int exp(K(t)) dt / t    along a path through t0 > 0  (for t0 < 0 it is -P(N <= 0)),

with t0 the saddlepoint K'(t0) = 0. The path is a hyperbola as in `contour`; which way and how far it may bend
depends on the signs of the form, so a few are tried along their whole length and the cheapest is taken.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import expit, ndtr

from scorebars.laws.base import FloatArray
from scorebars.laws.cgf import UNDERFLOW, ComplexArray, Numbers

_DIGITS = 42.0  # discretisation error exp(-42), below rounding
_NEGLIGIBLE = -41.0  # exponent at which the sum along the path may end
_ANGLES = (0.24 * math.pi, 0.125 * math.pi, 0.03 * math.pi)
_PROBES: FloatArray = np.append(np.geomspace(0.5, 40.0, 8), np.geomspace(100.0, 1e13, 5))
_BLOCK = 32
_MOST = 2000  # steps of a sensible path
_FEW = 100  # steps of a path than which none is looked for that is better


class Transform(Protocol):
    """The logarithm K(t) of the mean of exp(tN), possibly over a part of the cases only."""

    lower: float
    upper: float
    width: float
    """About 1 / sqrt(K''(0))."""

    def exponent(self, t: Numbers) -> Numbers:
        """K(t), real or complex, lower < t < upper."""


class _Path:
    """t = t0 + side R (sin(angle + i y) - sin(angle)), or the same with a larger angle: moved sideways."""

    def __init__(self, t0: float, radius: float, angle: float, side: float) -> None:
        self.t0, self.radius, self.angle, self.side = t0, radius, angle, side

    def t(self, y: FloatArray, move: float = 0.0) -> ComplexArray:
        angle = self.angle + move
        out = np.empty(y.shape, dtype=complex)
        bend = 2.0 * math.sin(angle) * np.sinh(0.5 * y) ** 2 + (math.sin(angle) - math.sin(self.angle))
        out.real = self.t0 + self.side * self.radius * bend
        out.imag = self.radius * math.cos(angle) * np.sinh(y)
        return out

    def direction(self, y: FloatArray) -> ComplexArray:
        """dt / dy."""
        out = np.empty(y.shape, dtype=complex)
        out.real = self.side * self.radius * math.sin(self.angle) * np.sinh(y)
        out.imag = self.radius * math.cos(self.angle) * np.cosh(y)
        return out

    def pole_height(self) -> float:
        """How far in y the pole t = 0 lies from the path."""
        rise = self.side * self.t0 / self.radius
        sine, cosine = math.sin(self.angle), math.cos(self.angle)
        other = sine - rise
        if abs(other) >= 1:
            return math.inf
        return abs(math.asin(rise * (cosine + sine * (sine + other) / (math.sqrt(1 - other * other) + cosine))))


class SignContour:
    """The integrand exp(K(t)) dt along a path through t0.

    `certain`: the tail beyond 0 is 0 in floating point, and there is no path. `good`: there is a path on which the
    integrand falls.
    """

    def __init__(self, form: Transform) -> None:
        self.form = form
        self.t0, self.width = saddlepoint(form)
        self.upper = self.t0 >= 0
        self._peak = float(form.exponent(np.array([self.t0]))[0])
        self.certain = self._peak < UNDERFLOW
        self.good = True
        if not self.certain:
            self._route, self._step, cost = self._choose()
            self.good = cost < _MOST

    def _choose(self) -> tuple[_Path, float, float]:
        """The path with the fewest steps, the step and how many there are.

        Moved forward by its angle it must not make the integrand grow much, by exp(g) say, before it has become
        negligible; moved back it becomes a vertical line, where nothing exceeds the value on the real axis. The
        error of step h is then exp(g - 2 pi angle / h).
        """
        likely = -1.0 if self.form.upper > -self.form.lower else 1.0  # away from the farther end
        choices = self._judged([self._path(_ANGLES[0], likely)])
        if choices[0][2] > _FEW:
            others = [(angle, side) for angle in _ANGLES for side in (likely, -likely)][1:]
            choices += self._judged([self._path(angle, side) for angle, side in others])
        return min(choices, key=lambda choice: choice[2])

    def _judged(self, paths: list[_Path]) -> list[tuple[_Path, float, float]]:
        """Each path with its step and how many steps there are."""
        heights = [np.arcsinh(_PROBES * self.width / path.radius) for path in paths]
        points = []
        for path, y in zip(paths, heights, strict=True):
            points += [path.t(np.zeros(1), -path.angle), path.t(np.append(0.0, y), path.angle), path.t(y)]
        with np.errstate(all="ignore"):  # far out on a bad path
            exponents = (self.form.exponent(np.concatenate(points)).real - self._peak).reshape(len(paths), -1)
        choices = []
        for path, y, exponent in zip(paths, heights, exponents, strict=True):
            moved, main = exponent[: -y.size], exponent[-y.size :]
            end = int(np.argmax(np.maximum.accumulate(main[::-1])[::-1] < _NEGLIGIBLE)) or y.size - 1
            step = 0.8 * 2.0 * math.pi * path.angle / (_DIGITS + max(float(moved[: end + 3].max()), 0.0))
            rounding = max(float(main.max()), 0.0)  # terms of the sum larger than the result
            cost = float(y[end]) / step * math.exp(min(2.0 * rounding, 100.0))
            choices.append((path, step, cost if math.isfinite(cost) else math.inf))
        return choices

    def _path(self, angle: float, side: float) -> _Path:
        ahead, behind = self.form.upper - self.t0, self.t0 - self.form.lower
        if side < 0:
            ahead, behind = behind, ahead
        forward = math.sin(2 * angle) - math.sin(angle)
        room = min(ahead / forward, behind / math.sin(angle))
        return _Path(self.t0, min(0.9 * room, 9.0 * self.width / forward), angle, side)

    @cached_property
    def _nodes(self) -> tuple[ComplexArray, ComplexArray]:
        """t, and exp(K) dt / pi, along the path up to where it is negligible."""
        nodes, weights = [], []
        last = math.asinh(_PROBES[-1] * self.width / self._route.radius)  # further out K is lost in rounding
        for start in range(0, min(math.ceil(last / self._step), 2 * _MOST), _BLOCK):
            y = (np.arange(float(start), start + _BLOCK) + 0.5) * self._step
            t = self._route.t(y)
            exponent = self.form.exponent(t)
            if exponent.real.max() > self._peak + _DIGITS:  # only on a bad path
                break
            nodes.append(t)
            weights.append(np.exp(exponent) * self._route.direction(y) * (self._step / math.pi))
            if exponent[-1].real - self._peak < _NEGLIGIBLE:
                break
        return np.concatenate(nodes), np.concatenate(weights)

    @property
    def t(self) -> ComplexArray:
        """The nodes of the path."""
        return self._nodes[0]

    def _pole(self) -> float:
        """What the midpoint rule misses of the pole t = 0, where it lies close to the path."""
        height = self._route.pole_height()
        if height > min(self._route.angle, 8.0 * self.width / self._route.radius):
            return 0.0
        whole = math.exp(float(self.form.exponent(np.zeros(1))[0]))
        return whole * float(expit(-2.0 * math.pi * height / self._step))

    def tail(self) -> float:
        """P(N > 0) if `upper`, else P(N <= 0), over the cases that K covers."""
        if self.certain:
            return 0.0
        t, weight = self._nodes
        total = float(np.sum((weight / t).imag))
        return max((total if self.upper else -total) + self._pole(), 0.0)

    def density(self, factor: Numbers | float = 1.0) -> float:
        """E[f delta(N)], where `factor` is the mean of f under the weight exp(tN) at the nodes t."""
        return 0.0 if self.certain else max(float(np.sum((self._nodes[1] * factor).imag)), 0.0)


def rough_probability(form: Transform) -> float:
    """P(N <= 0) among the cases that K covers, by the saddlepoint approximation of Barndorff-Nielsen."""
    near, _ = saddlepoint(form)
    slope, curvature = _derivatives(form, near)
    t, width = near - slope / curvature, 1.0 / math.sqrt(curvature)
    if not form.lower < t < form.upper:
        t = near
    k, whole = (float(value) for value in form.exponent(np.array([t, 0.0])))
    w, u = math.copysign(math.sqrt(max(2.0 * (whole - k), 0.0)), t), t / width
    return float(ndtr(w + math.log(u / w) / w if abs(w) > 0.05 else w))


def _derivatives(form: Transform, t: float) -> tuple[float, float]:
    """K'(t) and K''(t), roughly: they only place the path."""
    h = max(0.03 * form.width, 1e-3 * abs(t))
    h = min(h, 1e-3 * (form.upper - t), 1e-3 * (t - form.lower))
    left, middle, right = (float(value) for value in form.exponent(np.array([t - h, t, t + h])))
    return (right - left) / (2.0 * h), max(right - 2.0 * middle + left, 1e-13) / h**2


def saddlepoint(form: Transform) -> tuple[float, float]:
    """t with K'(t) = 0, nearly, and 1 / sqrt(K'') there; t where the tail has underflowed if there is none."""
    slope, curvature = _derivatives(form, 0.0)
    t, side = 0.0, -math.copysign(1.0, slope)
    end = form.upper if side > 0 else form.lower
    step, inside = 1.0 / math.sqrt(curvature), 0.0
    for _ in range(200):
        if abs(slope) < 0.05 * math.sqrt(curvature):
            break
        if slope * side < 0:  # not yet past the root
            inside, newton = t, abs(slope) / curvature
            following = t + side * min(newton, step, 0.7 * abs(end - t))
            step *= 2.0
            if abs(following - t) <= 1e-9 * abs(t) or float(form.exponent(np.array([t]))[0]) < UNDERFLOW:
                break
        else:
            following = t - slope / curvature
            if not min(inside, t) < following < max(inside, t):
                following = 0.5 * (inside + t)
            step = abs(t - inside)
        t = following
        slope, curvature = _derivatives(form, t)
    return t, 1.0 / math.sqrt(curvature)
