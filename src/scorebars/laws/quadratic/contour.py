"""Distribution function, density and quantiles from a cumulant generating function.

With K the cumulant generating function of Q and any t0 in (0, limit)

    P(Q > x) = 1/(2 pi i) int exp(K(t) - t x) dt / t,    along a path through t0;

for t0 < 0 the same integral is -P(Q <= x), and without the 1/t it is the density. With t0 the saddlepoint,
K'(t0) = x, both tails keep their relative accuracy. The path is the branch of a hyperbola

    t = t0 + R (sin(angle + i y) - sin(angle)),   angle = pi/8,

that bends around the cut beginning at `limit`, as steepest descent does. Moved sideways in y by up to pi/8
it stays between the vertical and the diagonal, where no label makes the integrand grow: hence the midpoint
rule in y converges exponentially whatever the labels. The pole t = 0 may lie close to the path; what it does
to the midpoint rule is known exactly and taken off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from scorebars.arrays import ComplexArray, FloatArray
from scorebars.laws.complex_log import Numbers

UNDERFLOW = -745.0
"""Logarithm of the smallest positive float."""

_ANGLE = math.pi / 8
_DIGITS = 42.0  # discretisation error exp(-42), below rounding
_NEGLIGIBLE = -41.0  # exponent at which the sum along the path may end
_BLOCK = 20
_RANGE = (-600.0, 20.0)  # of theta = -log(1 - t / limit); beyond it the tails are 0 in floating point
_REACH: FloatArray = 4.0 ** np.arange(7.0)
_HEIGHTS = np.array([0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.5, 7.5, 10.0])


class CGF(Protocol):
    """What the contour integral needs to know about a distribution."""

    @property
    def mean(self) -> float:
        """K'(0)."""

    @property
    def gain(self) -> float:
        """How far tilting moved the mean: K'(t) - K'(0) of the distribution before `tilted(t)`, 0 without tilting."""

    @property
    def limit(self) -> float:
        """K(t) is finite for t < limit."""

    @property
    def depth(self) -> float:
        """Logarithm of the smallest lower tail that K is good for."""

    @property
    def k2(self) -> float:
        """The variance K''(0)."""

    def tilted(self, t: float) -> Self:
        """The distribution with density proportional to exp(t Q) times the present one."""

    def peak(self, t: float) -> float:
        """K(t) - t K'(t), never positive, with full relative accuracy for all t."""

    def centred(self, s: Numbers) -> Numbers:
        """K(s) - s K'(0), with full relative accuracy for small s."""

    def value(self, t: FloatArray) -> FloatArray:
        """K(t) for t <= 0, with full relative accuracy for large -t."""


class Contour:
    """The integrand along one path through t0, good for all x near K'(t0)."""

    def __init__(self, cgf: CGF, t0: float) -> None:
        self.t0, self.tilted = t0, cgf.tilted(t0)
        self.upper = t0 >= 0
        self.width = 1.0 / math.sqrt(self.tilted.k2)
        self._peak = cgf.peak(t0)
        # moved to the right by pi/8, the path still passes left of the cut
        self._radius = 0.95 * (cgf.limit - t0) / (math.sin(2 * _ANGLE) - math.sin(_ANGLE))
        step = self._step()
        self._pole = self._pole_share(step)
        path, exponent = [], []
        for start in range(0, 100 * _BLOCK, _BLOCK):
            y = (np.arange(start, start + _BLOCK) + 0.5) * step
            path.append(self._path(y))
            exponent.append(self.tilted.centred(path[-1]))
            if exponent[-1][-1].real < _NEGLIGIBLE:
                break
        y = (np.arange(len(path) * _BLOCK) + 0.5) * step
        direction = self._radius * (math.sin(_ANGLE) * np.sinh(y) + 1j * math.cos(_ANGLE) * np.cosh(y))
        self._s = np.concatenate(path)
        self._density = np.exp(np.concatenate(exponent)) * direction * (step / math.pi)
        self._tail = self._density / (t0 + self._s)

    def _path(self, y: NDArray[Any]) -> ComplexArray:
        out = np.empty(y.shape, dtype=complex)
        out.real = 2.0 * self._radius * math.sin(_ANGLE) * np.sinh(0.5 * y) ** 2
        out.imag = self._radius * math.cos(_ANGLE) * np.sinh(y)
        return out

    def _step(self) -> float:
        """Step of y whose error is below exp(-42).

        Moving the path sideways by a, to where it crosses the real axis with an integrand larger by exp(g),
        shows the error of step h to be below exp(g - 2 pi a / h).
        """
        a = np.minimum(_HEIGHTS * self.width / self._radius, _ANGLE)
        steps = []
        for side in (-a, a):
            crossing = 2.0 * self._radius * np.sin(0.5 * side) * np.cos(_ANGLE + 0.5 * side)
            steps.append(np.max(2 * math.pi * a / (_DIGITS + self.tilted.centred(crossing))))
        return 0.8 * float(min(steps))  # the integrand may be a little larger beside the real axis

    def _pole_share(self, step: float) -> float:
        """What the midpoint rule misses of the pole at t = 0, residue 1, where it lies close to the path."""
        rise = self.t0 / self._radius
        sine = math.sin(_ANGLE) - rise
        if abs(sine) >= 1:
            return 0.0
        # height = angle - asin(sine) without cancellation
        bent = (math.sin(_ANGLE) + sine) / (math.sqrt(1 - sine * sine) + math.cos(_ANGLE))
        height = abs(math.asin(rise * (math.cos(_ANGLE) + math.sin(_ANGLE) * bent)))
        if height > min(_ANGLE, 8.0 * self.width / self._radius):
            return 0.0
        return float(expit(-2.0 * math.pi * height / step))

    def tail(self, shift: float) -> float:
        """P(Q > x) if `upper`, else P(Q <= x), at x = K'(t0) + shift."""
        total = self._integral(self._tail, shift)
        return (total if self.upper else -total) + self._pole

    def pdf(self, shift: float) -> float:
        """Density at x = K'(t0) + shift."""
        return max(self._integral(self._density, shift), 0.0)

    def _integral(self, integrand: ComplexArray, shift: float) -> float:
        exponent = self._peak - self.t0 * shift
        if exponent < UNDERFLOW:
            return 0.0
        return math.exp(min(exponent, -UNDERFLOW - 40)) * float(np.sum((np.exp(-shift * self._s) * integrand).imag))


def distance(cgf: CGF, tilted: CGF, x: float) -> float:
    """x - K'(t0): from the mean where that is exact, from zero far below it."""
    if x > 0.5 * cgf.mean:
        return (x - cgf.mean) - tilted.gain
    return x - tilted.mean


def _newton(cgf: CGF, t: float, miss: Callable[[float, CGF], tuple[float, float, bool]]) -> float:
    """The t at which `miss` = (target - present value, its slope in t, close enough) is close enough.

    Works on theta = -log(1 - t / limit), which stretches both ends, and bisects where Newton would leave
    the bracket; the value asked for must increase with t.
    """
    low, high = -math.inf, math.inf
    theta = -math.log1p(-t / cgf.limit)
    for _ in range(100):
        t = -cgf.limit * math.expm1(-theta)
        short, slope, done = miss(t, cgf.tilted(t))
        if done:
            break
        if short > 0:
            low = theta
        else:
            high = theta
        step = short / (slope * cgf.limit) * math.exp(theta)
        following = theta + min(max(step, -3.0), 3.0)
        if not low < following < high:
            following = 0.5 * (low + high)
        following = min(max(following, _RANGE[0]), _RANGE[1])
        if following == theta:
            break
        theta = following
    return t


def saddlepoint(cgf: CGF, x: float) -> float:
    """The t with K'(t) = x, to a few hundredths of the width of the path there; x > 0."""

    def miss(t: float, tilted: CGF) -> tuple[float, float, bool]:
        short = distance(cgf, tilted, x)
        relative = short / tilted.mean
        # log K' is nearly linear in theta at both ends
        logarithm = math.log1p(relative) if relative > -0.9 else math.log(x / tilted.mean)
        return logarithm, tilted.k2 / tilted.mean, abs(short) < 0.03 * math.sqrt(tilted.k2)

    return _newton(cgf, min((x - cgf.mean) / cgf.k2, 0.5 * cgf.limit), miss)


def _normal_start(cgf: CGF, z: float) -> float:
    """The t at which Barndorff-Nielsen's r*(t), nearly a standard normal quantile of x = K'(t), is z."""

    def miss(t: float, tilted: CGF) -> tuple[float, float, bool]:
        std = math.sqrt(tilted.k2)
        near = 1e-3 / std if abs(t * std) < 1e-3 else t  # at t = 0 both u and w vanish
        u, w = near * std, math.copysign(math.sqrt(-2.0 * cgf.peak(near)), near)
        value = w + math.log(u / w) / w + (t - near) * std
        return z - value, t * tilted.k2 / w if near == t else std, abs(z - value) < 0.02

    return _newton(cgf, min(z / math.sqrt(cgf.k2), 0.5 * cgf.limit), miss)


def _beyond(cgf: CGF, x: float) -> bool:
    """Whether P(Q <= x), which is below exp(K(t) - t x) for every t < 0, is too small for this K."""
    return x < cgf.mean and float(np.min(cgf.value(np.negative(_REACH) / x) + _REACH)) < cgf.depth


def tails(cgf: CGF, x: float) -> tuple[float, float]:
    """P(Q <= x) and P(Q > x), x > 0; the smaller one has full relative accuracy."""
    if _beyond(cgf, x):
        return 0.0, 1.0
    contour = Contour(cgf, saddlepoint(cgf, x))
    tail = min(max(contour.tail(distance(cgf, contour.tilted, x)), 0.0), 1.0)
    return (1.0 - tail, tail) if contour.upper else (tail, 1.0 - tail)


def density(cgf: CGF, x: float) -> float:
    """Density of Q at x > 0."""
    if _beyond(cgf, x):
        return 0.0
    contour = Contour(cgf, saddlepoint(cgf, x))
    return contour.pdf(distance(cgf, contour.tilted, x))


def quantile(cgf: CGF, q: float) -> float:
    """The x with P(Q <= x) = q, 0 < q < 1: a saddlepoint guess, then Newton along one fixed path."""
    q = max(q, math.exp(cgf.depth))
    z = float(ndtri(q)) if q <= 0.5 else -float(ndtri(1.0 - q))
    contour = Contour(cgf, _normal_start(cgf, z))
    x = contour.tilted.mean
    for _ in range(10):
        shift, target, spread = 0.0, 1.0 - q if contour.upper else q, 1.0 / contour.width
        for _ in range(20):
            tail = contour.tail(shift)
            pdf = contour.pdf(shift)
            if tail <= 0 or pdf <= 0:
                break
            move = math.log(tail / target) * tail / pdf
            x = contour.tilted.mean + shift
            if not contour.upper:  # Newton in log x, in which the lower tail is nearly a power
                move = x * math.expm1(-move / x)
            shift += min(max(move, -spread), spread)
            if abs(move) <= max(1e-14 * x, 1e-13 * spread) or abs(shift) > 2.0 * spread:
                break
        x = contour.tilted.mean + shift
        if abs(shift) < 0.3 * spread:
            break
        contour = Contour(cgf, saddlepoint(cgf, x))
    return x
