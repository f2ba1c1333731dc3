"""P(N > 0) for a quadratic form N of either sign, and densities of ratios, by a contour integral.

    P(N > 0) = 1/(2 pi i) int exp(K(t)) dt / t    along a path through t0 > 0  (for t0 < 0 it is -P(N <= 0)),

with t0 the saddlepoint K'(t0) = 0. The path is a hyperbola as in `contour`; which way and how far it may bend
depends on the signs of the form, so a few are tried along their whole length, until one has few steps, and the cheapest on
which the integrand stays as small as it was seen to be is taken. Where none serves, as with errors of very different size,
the path turns as the integrand asks, or goes straight up (`downhill`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.special import expit, ndtr

from scorebars.laws.base import FloatArray
from scorebars.laws.cgf import UNDERFLOW, ComplexArray
from scorebars.laws.complex_log import Numbers
from scorebars.laws.downhill import FAR, NEGLIGIBLE, Transform, downhill

_DIGITS = 42.0  # discretisation error exp(-42), below rounding
_ANGLES = (0.125 * math.pi, 0.24 * math.pi, 0.03 * math.pi)
_NEAR: FloatArray = np.geomspace(0.5, 120.0, 10)  # in widths
_PROBES: FloatArray = np.append(_NEAR, np.geomspace(200.0, FAR, 36))
_LOSS = 1e3  # by which terms may add up to more than they do on the way straight up
_LEAST = 16
"""No fewer steps are made together."""
_MOST = 1000  # steps of a sensible hyperbola
_FEW = 64  # steps of a hyperbola than which none is looked for that is better


class Form(Transform, Protocol):
    """What is known of N besides its K."""

    width: float
    """About 1 / sqrt(K''(0))."""
    real_singularities: bool
    """Whether K has its singularities on the real axis only, so that any path above it will do."""

    def at_zero(self) -> tuple[float, float, float]:
        """K(0), and roughly K'(0) and K''(0)."""

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


AForm = TypeVar("AForm", bound="Form")


class _Nodes(NamedTuple):
    """t and exp(K) dt / pi along a path, what their sum misses of the pole t = 0, and which path it is."""

    t: ComplexArray
    weight: ComplexArray
    pole: float
    choice: _Choice


class SignContour(Generic[AForm]):
    """The integrand exp(K(t)) dt along a path through t0.

    `certain`: the tail beyond 0 is 0 in floating point, and there is no path. The contour of a form that is nearly the
    same may be given: then its path will do here.
    """

    t0: float

    def __init__(self, form: AForm, near: SignContour[AForm] | None = None) -> None:
        self.form, self._near = form, near
        saddle = saddlepoint(form, 0.0 if near is None else near.t0)
        self.t0, self._peak, curvature = saddle.t, saddle.value, saddle.curvature
        self.width = 1.0 / math.sqrt(curvature)
        self.upper = self.t0 >= 0
        self.certain = self._peak < UNDERFLOW

    def _choices(self) -> Iterator[_Choice]:
        """Hyperbolas, one with few steps as soon as it is found, the others by their steps."""
        if self._near is not None and self._near._found is not None:
            path, *others = self._near._found.choice
            yield _Choice(self._path(path.angle, path.side), *others)
        likely = -1.0 if self.form.upper > -self.form.lower else 1.0  # away from the farther end
        long = []
        for angle, side in itertools.product(_ANGLES, (likely, -likely)):
            choice = self._judged(self._path(angle, side))
            if choice.steps < _FEW:
                yield choice
            elif choice.steps < _MOST:
                long.append(choice)
        yield from sorted(long, key=lambda choice: choice.steps)

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
    def _found(self) -> _Nodes | None:
        """The first hyperbola that serves."""
        return next((nodes for nodes in map(self._hyperbola, self._choices()) if nodes is not None), None)

    @cached_property
    def _nodes(self) -> tuple[ComplexArray, ComplexArray, float]:
        """t, and exp(K) dt / pi, along the path up to where it is negligible; and what the sum misses of the pole."""
        return self._downhill() if self._found is None else self._found[:3]

    def _hyperbola(self, choice: _Choice) -> _Nodes | None:
        """The nodes of a hyperbola; None where the integrand grows more on it than was seen before."""
        path, step, growth, steps = choice
        nodes, weights = [], []
        last = math.asinh(FAR * self.width / path.radius)
        block = math.ceil(min(max(steps, _LEAST), _FEW))
        for start in range(0, min(math.ceil(last / step), 4 * _MOST), block):
            y = (np.arange(float(start), start + block) + 0.5) * step
            t = path.t(y)
            exponent = self.form.exponent(t)
            if not float(exponent.real.max()) - self._peak < growth + 1.0:
                return None
            nodes.append(t)
            weights.append(np.exp(exponent) * path.direction(y) * (step / math.pi))
            if exponent[-1].real - self._peak < NEGLIGIBLE:
                break
        return _Nodes(np.concatenate(nodes), np.concatenate(weights), self._pole(path, step), choice)

    def _downhill(self) -> tuple[ComplexArray, ComplexArray, float]:
        """Any way up on which the integrand stays small, or straight up, where it does."""
        t0, width, peak = self.t0, self.width, self._peak
        least = 0.2 * min(width, self.form.upper, -self.form.lower)
        if abs(t0) < least:  # not so close to the pole
            t0 = least if self.upper else -least
            peak = float(self.form.exponent(np.array([t0]))[0])
        if self.form.real_singularities:
            with np.errstate(over="ignore", invalid="ignore"):
                t, weight = downhill(self.form, t0, width, peak)
                if float(np.sum(np.abs(weight / t))) < _LOSS * math.exp(peak):
                    return t, weight, 0.0
        return *downhill(self.form, t0, width, peak, turning=False), 0.0

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
        whole = math.exp(self.form.at_zero()[0])
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
    near, value, slope, curvature = saddlepoint(form, 0.0)
    t, width = near - slope / curvature, 1.0 / math.sqrt(curvature)
    k = value - 0.5 * slope * slope / curvature
    if not form.lower < t < form.upper:
        t, k = near, value
    w, u = math.copysign(math.sqrt(max(2.0 * (form.at_zero()[0] - k), 0.0)), t), t / width
    return float(ndtr(w + math.log(u / w) / w if abs(w) > 0.05 else w))


def derivatives(form: Transform, t: float, width: float) -> tuple[float, float, float]:
    """K, K' and K'' at t; the last two roughly: they only place the path."""
    h = max(0.03 * width, 1e-3 * abs(t))
    h = min(h, 1e-3 * (form.upper - t), 1e-3 * (t - form.lower))
    left, middle, right = form.exponent(np.array([t - h, t, t + h])).tolist()
    return middle, (right - left) / (2.0 * h), max(right - 2.0 * middle + left, 1e-13) / h**2


class Saddlepoint(NamedTuple):
    """t with K'(t) = 0, nearly, and K, K' and K'' there."""

    t: float
    value: float
    slope: float
    curvature: float


@lru_cache(maxsize=4)  # of a form one asks first roughly, then exactly
def saddlepoint(form: Form, guess: float) -> Saddlepoint:
    """Where K' vanishes, or, if it does not, where the tail has underflowed."""
    if guess != 0 and form.lower < guess < form.upper:
        value, slope, curvature = derivatives(form, guess, form.width)
        if abs(slope) < 0.05 * math.sqrt(curvature):
            return Saddlepoint(guess, value, slope, curvature)
    value, slope, curvature = form.at_zero()
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
            if abs(following - t) <= 1e-9 * abs(t) or value < UNDERFLOW:
                break
        else:
            following = t - slope / curvature
            if not min(inside, t) < following < max(inside, t):
                following = 0.5 * (inside + t)
            step = abs(t - inside)
        t = following
        value, slope, curvature = derivatives(form, t, form.width)
    return Saddlepoint(t, value, slope, curvature)
