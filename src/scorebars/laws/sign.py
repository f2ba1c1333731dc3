"""P(N > 0) for a quadratic form N of either sign, and densities of ratios, by a contour integral.

    P(N > 0) = 1/(2 pi i) int exp(K(t)) dt / t    along a path through t0 > 0  (for t0 < 0 it is -P(N <= 0)),

with t0 the saddlepoint K'(t0) = 0. The path is a hyperbola as in `contour`; which way and how far it may bend
depends on the signs of the form, so a few are tried along their whole length and the cheapest is taken. Where none
serves, as with errors of very different size, the path turns as the integrand asks (`downhill`).
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit, ndtr

from scorebars.laws.base import FloatArray
from scorebars.laws.cgf import UNDERFLOW, ComplexArray, Numbers
from scorebars.laws.downhill import FAR, NEGLIGIBLE, Transform, downhill

_DIGITS = 42.0  # discretisation error exp(-42), below rounding
_ANGLES = (0.24 * math.pi, 0.125 * math.pi, 0.03 * math.pi)
_NEAR: FloatArray = np.geomspace(0.5, 40.0, 8)  # in widths
_PROBES: FloatArray = np.append(_NEAR, np.geomspace(60.0, FAR, 38))
_BLOCK = 32
_MOST = 1000  # steps of a sensible hyperbola
_FEW = 100  # steps of a hyperbola than which none is looked for that is better


class Form(Transform, Protocol):
    """What is known of N besides its K."""

    width: float
    """About 1 / sqrt(K''(0))."""
    real_singularities: bool
    """Whether K has its singularities on the real axis only, so that any path above it will do."""

    def __hash__(self) -> int: ...


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


class _Choice(NamedTuple):
    """A path, the step on it, the logarithm of how much the integrand grows, and the number of steps."""

    path: _Path
    step: float
    growth: float
    steps: float


class SignContour:
    """The integrand exp(K(t)) dt along a path through t0.

    `certain`: the tail beyond 0 is 0 in floating point, and there is no path. `good`: there is a path on which the
    integrand falls.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self.t0, _, curvature = saddlepoint(form)
        self.width = 1.0 / math.sqrt(curvature)
        self.upper = self.t0 >= 0
        self._peak = float(form.exponent(np.array([self.t0]))[0])
        self.certain = self._peak < UNDERFLOW

    @cached_property
    def _choice(self) -> _Choice:
        """The hyperbola with the fewest steps."""
        likely = -1.0 if self.form.upper > -self.form.lower else 1.0  # away from the farther end
        choices = [self._judged(self._path(_ANGLES[0], likely))]
        if not choices[0].steps < _FEW:
            others = [(angle, side) for angle in _ANGLES for side in (likely, -likely)][1:]
            choices += [self._judged(self._path(angle, side)) for angle, side in others]
        return min(choices, key=lambda choice: choice.steps)

    @property
    def good(self) -> bool:
        return self.certain or self.form.real_singularities or self._choice.steps < _MOST

    def _judged(self, path: _Path) -> _Choice:
        """How to go along a path.

        Moved forward by its angle it must not make the integrand grow much, by exp(g) say, before it has become
        negligible; moved back it becomes a vertical line, where nothing exceeds the value on the real axis. The error
        of step h is then exp(g - 2 pi angle / h).
        """
        for probes in (_NEAR, _PROBES):
            y = np.arcsinh(probes * self.width / path.radius)
            points = [path.t(np.zeros(1), -path.angle), path.t(np.append(0.0, y), path.angle), path.t(y)]
            with np.errstate(all="ignore"):  # far out on a bad path
                exponent = self.form.exponent(np.concatenate(points)).real - self._peak
            moved, main = exponent[: -y.size], exponent[-y.size :]
            if main[-1] < NEGLIGIBLE:
                break
        end = int(np.argmax(np.maximum.accumulate(main[::-1])[::-1] < NEGLIGIBLE)) or y.size - 1
        step = 0.8 * 2.0 * math.pi * path.angle / (_DIGITS + max(float(moved[: end + 3].max()), 0.0))
        growth = max(float(main.max()), 0.0)  # terms of the sum larger than the result
        steps = float(y[end]) / step * math.exp(min(2.0 * growth, 100.0))
        return _Choice(path, step, growth, steps if math.isfinite(steps) else math.inf)

    @cached_property
    def _nodes(self) -> tuple[ComplexArray, ComplexArray, float]:
        """t, and exp(K) dt / pi, along the path up to where it is negligible; and what the sum misses of the pole."""
        bendable = self.form.real_singularities
        if not bendable or self._choice.steps < _MOST:
            found = self._hyperbola(strict=bendable)
            if found is not None:
                return found
        return self._downhill()

    def _hyperbola(self, strict: bool) -> tuple[ComplexArray, ComplexArray, float] | None:
        """The hyperbola chosen; if `strict`, None where the integrand grows more on it than was seen before."""
        path, step, growth, _ = self._choice
        nodes, weights = [], []
        last = math.asinh(FAR * self.width / path.radius)
        for start in range(0, min(math.ceil(last / step), 4 * _MOST), _BLOCK):
            y = (np.arange(float(start), start + _BLOCK) + 0.5) * step
            t = path.t(y)
            exponent = self.form.exponent(t)
            height = float(exponent.real.max()) - self._peak
            if strict and not height < growth + 1.0:
                return None
            if height > _DIGITS:  # only on a bad path
                break
            nodes.append(t)
            weights.append(np.exp(exponent) * path.direction(y) * (step / math.pi))
            if exponent[-1].real - self._peak < NEGLIGIBLE:
                break
        return np.concatenate(nodes), np.concatenate(weights), self._pole(path, step)

    def _downhill(self) -> tuple[ComplexArray, ComplexArray, float]:
        t0, width, peak = self.t0, self.width, self._peak
        least = 0.2 * min(width, self.form.upper, -self.form.lower)
        if abs(t0) < least:  # not so close to the pole
            t0 = least if self.upper else -least
            peak = float(self.form.exponent(np.array([t0]))[0])
        return *downhill(self.form, t0, width, peak), 0.0

    def _path(self, angle: float, side: float) -> _Path:
        ahead, behind = self.form.upper - self.t0, self.t0 - self.form.lower
        if side < 0:
            ahead, behind = behind, ahead
        forward = math.sin(2 * angle) - math.sin(angle)
        room = min(ahead / forward, behind / math.sin(angle))
        return _Path(self.t0, min(0.9 * room, 9.0 * self.width / forward), angle, side)

    def _pole(self, path: _Path, step: float) -> float:
        """What the midpoint rule misses of the pole t = 0, where it lies close to the path."""
        height = path.pole_height()
        if height > min(path.angle, 8.0 * self.width / path.radius):
            return 0.0
        whole = math.exp(float(self.form.exponent(np.zeros(1))[0]))
        return whole * float(expit(-2.0 * math.pi * height / step))

    @property
    def t(self) -> ComplexArray:
        """The nodes of the path."""
        return self._nodes[0]

    def tail(self) -> float:
        """P(N > 0) if `upper`, else P(N <= 0), over the cases that K covers."""
        if self.certain:
            return 0.0
        t, weight, pole = self._nodes
        total = float(np.sum((weight / t).imag))
        return max((total if self.upper else -total) + pole, 0.0)

    def density(self, factor: Numbers | float = 1.0) -> float:
        """E[f delta(N)], where `factor` is the mean of f under the weight exp(tN) at the nodes t."""
        return 0.0 if self.certain else max(float(np.sum((self._nodes[1] * factor).imag)), 0.0)


def rough_probability(form: Form) -> float:
    """P(N <= 0) among the cases that K covers, by the saddlepoint approximation of Barndorff-Nielsen."""
    near, slope, curvature = saddlepoint(form)
    t, width = near - slope / curvature, 1.0 / math.sqrt(curvature)
    if not form.lower < t < form.upper:
        t = near
    k, whole = (float(value) for value in form.exponent(np.array([t, 0.0])))
    w, u = math.copysign(math.sqrt(max(2.0 * (whole - k), 0.0)), t), t / width
    return float(ndtr(w + math.log(u / w) / w if abs(w) > 0.05 else w))


def _derivatives(form: Form, t: float) -> tuple[float, float]:
    """K'(t) and K''(t), roughly: they only place the path."""
    h = max(0.03 * form.width, 1e-3 * abs(t))
    h = min(h, 1e-3 * (form.upper - t), 1e-3 * (t - form.lower))
    left, middle, right = (float(value) for value in form.exponent(np.array([t - h, t, t + h])))
    return (right - left) / (2.0 * h), max(right - 2.0 * middle + left, 1e-13) / h**2


@lru_cache(maxsize=4)  # of a form one asks first roughly, then exactly
def saddlepoint(form: Form) -> tuple[float, float, float]:
    """t with K'(t) = 0, nearly, K' and K'' there; t where the tail has underflowed if there is none."""
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
    return t, slope, curvature
