"""The one contour integrator: probabilities and densities from a cumulant generating function.

With k(t) = log E exp(tN), where N is X - x for the value X and a place x,

    P(N > 0) = 1/(2 pi i) int exp(k(t)) dt / t    along a path through t0 > 0  (for t0 < 0 it is -P(N <= 0)),

and without 1/t it is the density of N at 0. With t0 near the saddlepoint k'(t0) = 0 nothing cancels, and the smaller tail
keeps its relative accuracy. The path is a branch of the hyperbola

    t = t0 + R (sin(bend + iy) - sin(bend)),

bent to the side on which exp(k) falls. Equal steps in y converge exponentially; the pole at t = 0 may lie close to the
path, and what the midpoint rule misses of it is known exactly. Three times the step tells whether the sum has converged.
Where it has not (few labels with errors of very different size), the path is a ray from t0, at the angle at which the
integrand is smallest, and Gauss' rule adds up panels that are halved until they have converged.

SciPy has no contour integral; its real quadratures take thousands of points where 30 to 60 serve here.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from scorebars.arrays import ComplexArray, FloatArray
from scorebars.laws.law import Law

Numbers = NDArray[Any]
"""Real or complex."""
Exponent = Callable[[Numbers], Numbers]
"""k(t): real for real t, NaN where real k does not exist."""
Bent = Literal["where k falls", "right", "straight"]
"""How a path leaves the real axis."""

_UNDERFLOW = -745.0  # logarithm of the smallest positive double
_NEGLIGIBLE = -35.0  # exponent, relative to that at t0, at which the path may end
_FARTHEST = 1e9  # widths: no t further out is taken for a saddlepoint, as k has few digits there
_CLOSE = 0.05  # standard deviations by which the mean of the tilted N may miss 0
_BEND = math.pi / 8  # by which the hyperbola leaves the way straight up
_RADIUS = 2.0  # of the hyperbola, in widths
_STEP = 0.07  # along the hyperbola
_RISE = 3.0  # by which the integrand may rise above exp(peak) along it
_MOVED = _NEGLIGIBLE + 5.0  # at which the path may end for a neighbour of the k that it was made for
_BLOCKS = (0, 36, 72, 144, 288, 576)  # steps that are made together
_COARSE = 3e-5, 1e-6  # by which three times the step may change the result: on a bent and on a straight path
_FAR = 1e13  # widths at t = 0: further out k is lost in rounding
_OCTAVE = 0.5 * math.log(2.0)
_ANGLES: FloatArray = 0.5 * math.pi + math.pi / 16.0 * np.arange(-6.0, 7.0)
_TOLERANCE = 1e-11
_HALVINGS = 10
_NODES, _RULE = np.polynomial.legendre.leggauss(20)
_LAST_TERMS = _RULE[:, None] * np.polynomial.legendre.legvander(_NODES, 19)[:, -4:]
"""Gives the last four Legendre coefficients of a function on a panel: small where the rule has converged."""
_MOST_PANELS = 400
_SHARED = 0.6  # local standard deviations: how far from its x a contour still serves
_SHARED_BELOW = 0.1  # of the distance of its x from the lower end of the support
_SPACING = 0.8  # standard deviations between the places at which contours are made
_NOTHING_BEYOND = 1e5  # standard deviations above the mean


def log(x: Numbers) -> Numbers:
    """log x, the principal value: several times as fast as NumPy's for complex numbers whose squares are doubles."""
    if not np.iscomplexobj(x):
        return np.asarray(np.log(x))
    return _complex(0.5 * np.log(x.real * x.real + x.imag * x.imag), np.arctan2(x.imag, x.real))


def log1p(x: Numbers) -> Numbers:
    """log(1 + x), the principal value, without losing small x."""
    if not np.iscomplexobj(x):
        return np.asarray(np.log1p(x))
    size = 0.5 * np.log1p(x.real * (2.0 + x.real) + x.imag * x.imag)
    return _complex(size, np.arctan2(x.imag, 1.0 + x.real))


def _complex(real: Numbers, imag: Numbers) -> Numbers:
    out = np.empty(real.shape, dtype=np.complex128)
    out.real, out.imag = real, imag
    return out


class Steps(NamedTuple):
    """A path with equal steps: k - peak at its nodes, what three times the step misses of the pole, and by how much that
    step may change the result."""

    height: Numbers
    coarse_pole: float
    tolerance: float


class Contour(NamedTuple):
    """Nodes t, exp(k - peak) dt / pi there, and peak = k(t0); `upper` if t0 > 0.

    `pole` is what the sum over the nodes misses of the pole at t = 0. `t0` and `width` = 1 / sqrt(k''(t0)) say where
    the path crosses the real axis, and how fast the integrand falls. A hyperbola has `steps`, a ray has none.
    """

    t: ComplexArray
    weight: ComplexArray
    pole: float
    peak: float
    t0: float
    width: float
    steps: Steps | None = None

    @property
    def upper(self) -> bool:
        return self.t0 > 0

    def total(self, factor: Numbers, shift: float = 0.0) -> float:
        """The sum over the nodes of factor times the integrand, without 1/t, for N - shift instead of N."""
        weight, peak = self.weight, self.peak
        if shift:
            weight, peak = weight * np.exp(-shift * (self.t - self.t0)), peak - shift * self.t0
        return math.exp(min(peak, 700.0)) * float(np.sum((weight * factor).imag))

    def tail(self, shift: float = 0.0) -> float:
        """P(N > shift) if `upper`, else P(N <= shift)."""
        if not self.t.size:
            return 0.0
        return max(self.total(1.0 / self.t, shift) * (1.0 if self.upper else -1.0) + self.pole, 0.0)

    def converged(self) -> bool:
        """Whether three times the step gives nearly the same: its error is the third root of that of the single one."""
        if self.steps is None:
            return False
        terms = (self.weight / self.t).imag
        missed = (self.steps.coarse_pole - self.pole) * math.exp(min(-self.peak, 700.0))
        change = math.copysign(1.0, self.t0) * (3.0 * terms[1::3].sum() - terms.sum()) + missed
        return bool(abs(change) < self.steps.tolerance)

    def moved(self, k: Exponent) -> Contour | None:
        """The same path for a k that differs little from its own and not at t = 0; None where it does not serve."""
        if self.steps is None:
            return None
        with np.errstate(all="ignore"):
            if not k(np.array([self.t0]))[0] - self.peak < _RISE:  # or it ends between 0 and t0
                return None
            height = k(self.t) - self.peak
            weight = self.weight * np.exp(height - self.steps.height)
        found = self._replace(weight=weight, steps=self.steps._replace(height=height))
        return found if height.real.max() < _RISE and height[-1].real < _MOVED and found.converged() else None


def saddlepoint(k: Exponent, unit: float, guess: float = 0.0) -> tuple[float, float]:
    """t near the minimum of k over real t, and 1 / sqrt(k'') there, by Newton's method inside a bracket that shrinks.

    `unit` is about 1 / sqrt(k'') at t = 0. Where k falls for ever, some t far out, where exp(k) is small. Derivatives are
    finite differences: they only place the path.
    """
    farthest = _FARTHEST * max(unit, abs(guess))
    low, high, reach, trial, t, width = -farthest, farthest, 2.0 * unit + abs(guess), guess, 0.0, max(unit, abs(guess))
    step, found = 0.0, False
    for _ in range(200):
        h = max(0.01 * width, 1e-3 * abs(trial))
        for _ in range(5):
            left, middle, right = k(np.array([trial - h, trial, trial + h])).tolist()
            if not math.isnan(left + right):
                break
            h *= 0.1  # k ends closer than that
        if math.isnan(left + middle + right):
            if not found and guess:
                return saddlepoint(k, unit)
            low, high = (low, trial) if trial > t else (trial, high)
            if abs(trial - t) <= 1e-9 * abs(t):
                break
        else:
            t, slope, curvature = trial, (right - left) / (2.0 * h), max(right - 2.0 * middle + left, 1e-13) / h**2
            width, reach, found = 1.0 / math.sqrt(curvature), 2.0 * reach, True
            if abs(slope) * width < _CLOSE or middle < _UNDERFLOW or abs(t) > 0.1 * farthest:
                break
            low, high = (t, high) if slope < 0 else (low, t)
            step = min(max(-slope / curvature, -reach), reach)
        trial = t + step if low < t + step < high else 0.5 * (low + high)
    return t, width


def contour(k: Exponent, unit: float, guess: float = 0.0, bent: Bent = "where k falls") -> Contour:
    """A path through the saddlepoint.

    `unit` is about 1 / sqrt(k'') at t = 0, and `guess` a place near which the saddlepoint may be. A path that is bent "right"
    suits an X with a lower end. It must be "straight" where k has singularities off the real axis.
    """
    with np.errstate(all="ignore"):
        return contour_through(k, *saddlepoint(k, unit, guess), unit, bent)


def contour_through(k: Exponent, t0: float, width: float, unit: float, bent: Bent = "where k falls") -> Contour:
    """A path through t0, where k has the curvature 1 / width^2; bent "right" it asks for k on the path alone."""
    with np.errstate(all="ignore"):
        t0 = math.copysign(max(abs(t0), 0.05 * min(width, unit)), t0)  # not too close to the pole t = 0
        residue, bend = 1.0, _BEND
        if bent == "right":
            peak = float(k(np.array([complex(t0)]))[0].real)
        else:
            far = 50.0 * width * np.exp(1j * np.array([0.5 * math.pi - _BEND, 0.5 * math.pi + _BEND]))
            peak, zero, right, left = k(np.concatenate([[t0, 0.0], t0 + far])).real.tolist()
            residue, bend = math.exp(zero), 0.0 if bent == "straight" else math.copysign(_BEND, left - right)
        if peak <= _UNDERFLOW:
            return Contour(np.empty(0, complex), np.empty(0, complex), 0.0, peak, t0, width)
        found = _hyperbola(k, t0, width, peak, residue, bend)
        return found or _ray(k, t0, width, peak, _FAR * max(unit, abs(t0)), bent != "straight")


def _hyperbola(k: Exponent, t0: float, width: float, peak: float, residue: float, bend: float) -> Contour | None:
    """The path with equal steps in y; None where that does not converge fast."""
    radius = _RADIUS * width
    nodes, weights, heights = [], [], []
    for start, end in itertools.pairwise(_BLOCKS):
        y = (np.arange(start, end) + 0.5) * _STEP
        t = t0 + radius * (np.sin(bend + 1j * y) - math.sin(bend))
        height = k(t) - peak
        if not height.real.max() < _RISE:
            return None
        nodes.append(t)
        heights.append(height)
        weights.append(np.exp(height) * np.cos(bend + 1j * y) * (1j * radius * _STEP / math.pi))
        if height[-1].real < _NEGLIGIBLE:
            break
    else:
        return None
    t, weight, height = (np.concatenate(blocks) for blocks in (nodes, weights, heights))
    sine = math.sin(bend) - t0 / radius
    away = abs(bend - math.asin(sine)) if abs(sine) < 1 else math.inf  # of the pole, in y
    away = away if away < _BEND else math.inf  # so far that other singularities may lie closer
    pole, coarse_pole = (residue * float(expit(-2.0 * math.pi * away / step)) for step in (_STEP, 3.0 * _STEP))
    found = Contour(t, weight, pole, peak, t0, width, Steps(height, coarse_pole, _COARSE[bend == 0]))
    return found if found.converged() else None


def _ray(k: Exponent, t0: float, width: float, peak: float, last: float, turning: bool) -> Contour:
    """A straight path from t0, up to the distance `last`: at the angle that keeps the integrand small, or straight up."""
    first = 0.25 * min(abs(t0), width)
    logs = math.log(first) + _OCTAVE * np.arange(max(math.ceil(math.log(last / first) / _OCTAVE), 1) + 1.0)
    angles = _ANGLES if turning else np.array([0.5 * math.pi])
    grid = t0 + np.exp(logs[:, None] + 1j * angles)
    heights = np.nan_to_num(k(grid.ravel()).real.reshape(grid.shape) - peak, nan=math.inf)
    lowest = int(np.argmin(np.sum(np.exp(np.clip(heights, -100.0, 600.0)), axis=0)))
    end = int(np.flatnonzero(heights[:, lowest] > _NEGLIGIBLE).max(initial=0)) + 2
    direction = np.exp(1j * angles[lowest])

    def begin(v: FloatArray) -> tuple[ComplexArray, ComplexArray]:
        return t0 + first * direction * v, np.full(v.shape, first * direction)

    def onward(v: FloatArray) -> tuple[ComplexArray, ComplexArray]:
        return t0 + direction * np.exp(v), direction * np.exp(v)

    parts = [_panels(k, peak, begin, np.array([0.0, 1.0])), _panels(k, peak, onward, logs[:end])]
    t, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Contour(t, weight, 0.0, peak, t0, width)


def _panels(
    k: Exponent, peak: float, way: Callable[[FloatArray], tuple[ComplexArray, ComplexArray]], edges: FloatArray
) -> tuple[ComplexArray, ComplexArray]:
    """Nodes and weights between the edges, panels halved until the integral of exp(k) / t has converged."""
    low, high = edges[:-1], edges[1:]
    nodes, weights = [], []
    for depth in range(_HALVINGS + 1):
        half = 0.5 * (high - low)[:, None]
        t, pace = way(0.5 * (low + high)[:, None] + half * _NODES)
        values = np.exp(k(t.ravel()).reshape(t.shape) - peak) * pace * half
        values[~np.isfinite(values)] = 0.0  # so far out that k is lost in rounding
        gap = np.abs((values / t) @ _LAST_TERMS).sum(axis=1)
        done = (gap <= _TOLERANCE) | (depth == _HALVINGS) | (low.size > _MOST_PANELS)
        nodes.append(t[done].ravel())
        weights.append((values[done] * _RULE).ravel() / math.pi)
        if done.all():
            break
        middle = 0.5 * (low + high)[~done]
        low, high = np.concatenate([low[~done], middle]), np.concatenate([middle, high[~done]])
    return np.concatenate(nodes), np.concatenate(weights)


class Inversion:
    """Distribution function, density and quantiles of X > lowest, given the contour for any x and a guess of t0.

    Contours are made at fixed places, each for all x close to it: a second probability near the first costs 0.05 ms, and
    the digits of an answer do not depend on what was asked before.
    """

    def __init__(
        self, contour_of: Callable[[float, float], Contour], mean: float, std: float, lowest: float = 0.0
    ) -> None:
        self._contour_of, self._mean, self._std, self._lowest = contour_of, mean, std, lowest
        self._contours: dict[float, Contour] = {}

    def _serves(self, path: Contour, place: float, x: float) -> bool:
        """Whether the contour made for X - place is good for X - x: further down, exp(-tx) would fall too slowly."""
        return abs(x - place) * path.width <= _SHARED and place - x <= _SHARED_BELOW * (place - self._lowest)

    def _contour_near(self, x: float) -> tuple[float, Contour]:
        """The place nearest to x and its contour, or x and its own where that does not serve."""
        step, span, height = _SPACING * self._std, self._mean - self._lowest, x - self._lowest
        place = self._mean + step * round((x - self._mean) / step)
        if x < self._mean:  # a low X scatters less; close to the lower end places would be lost in rounding
            steps = round(math.log(height / span) * span / step) if height > 0.01 * span else None
            place = x if steps is None else self._lowest + span * math.exp(step / span * steps)
        for at in (place, x):
            if at not in self._contours:
                # close to the lower end t is about -1 / height
                guess = -0.5 / (at - self._lowest) if at - self._lowest < 0.1 * span else 0.0
                self._contours[at] = self._contour_of(at, guess)
            if self._serves(self._contours[at], at, x):
                break
        return at, self._contours[at]

    def probabilities(self, x: float, near: tuple[float, Contour] | None = None) -> tuple[float, float, float]:
        """P(X <= x), P(X > x) and the density; the smaller tail has relative accuracy."""
        if x - self._mean > _NOTHING_BEYOND * self._std:
            return 1.0, 0.0, 0.0
        if x <= self._lowest:  # or so close above that rounding put it there
            return 0.0, 1.0, 0.0
        place, path = near or self._contour_near(x)
        tail = min(path.tail(x - place), 1.0)
        density = max(path.total(np.ones(1), x - place), 0.0) if path.t.size else 0.0
        return (1.0 - tail, tail, density) if path.upper else (tail, 1.0 - tail, density)

    def ppf(self, q: float) -> float:
        """x with P(X <= x) = q: Newton's method on the logarithm of the smaller tail, nearly a line far out.

        Not by the general root finder: the density comes with the tail, so that few contours are needed. The lower tail
        is taken against log(x - lowest), near which it is a power.
        """
        lower, p, lowest = q < 0.5, min(q, 1.0 - q), self._lowest
        x = self._mean + float(ndtri(q)) * self._std
        x = x if x > lowest else lowest + 0.1 * (self._mean - lowest)
        low, high, near = lowest, math.inf, self._contour_near(x)
        for _ in range(200):
            near = near if self._serves(near[1], near[0], x) else self._contour_near(x)
            under, over, density = self.probabilities(x, near)
            tail = under if lower else over
            miss = (1.0 if lower else -1.0) * math.log(tail / p) if tail > 0 else -math.inf if lower else math.inf
            low, high = (x, high) if miss < 0 else (low, x)
            step = -miss * tail / density if density > 0 < tail else math.nan
            height = x - lowest
            new = lowest + height * math.exp(min(step / height, 30.0)) if lower else x + min(step, 3.0 * self._std)
            if abs(step) <= 1e-9 * min(self._std, height) and low <= new <= high:
                return new  # the next step is the square of this one
            if not low < new < high and high == math.inf:
                new = x + self._std
            elif not low < new < high:
                new = lowest + (math.sqrt((low - lowest) * (high - lowest)) if low > lowest else 1e-3 * (high - lowest))
            if not low < new < high:
                break
            x = new
        return x


class InvertedLaw(Law):
    """A distribution whose tails and density come from one contour."""

    @abstractmethod
    def _probabilities(self, x: float) -> tuple[float, float, float]:
        """P(value <= x), P(value > x) and density."""

    def _cdf(self, x: float) -> float:
        return self._probabilities(x)[0]

    def _sf(self, x: float) -> float:
        return self._probabilities(x)[1]

    def _pdf(self, x: float) -> float:
        return self._probabilities(x)[2]
