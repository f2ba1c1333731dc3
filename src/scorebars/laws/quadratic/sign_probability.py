"""P(N > 0) from the cumulant generating function of N, by integration along a path through the saddlepoint.

    P(N > 0) = 1/(2 pi i) int exp(K(t)) dt / t    along a path through t0 > 0  (for t0 < 0 it is -P(N <= 0)),

with t0 near the saddlepoint K'(t0) = 0, where the smaller tail keeps its relative accuracy. On the way straight up,
t = t0 + i r, the integrand is never larger than at t0, and with many labels it falls fast. With few labels it falls
slowly and oscillates. Where all singularities of K lie on the real axis, the path may turn: at each distance r from
t0 it takes an angle at which the integrand is small,

    t = t0 + r exp(i angle(log r)).

Gauss' rule from distance to distance, with panels halved until it has converged, adds up the integral.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.special import expit, ndtr

from scorebars.arrays import ComplexArray, FloatArray
from scorebars.laws.complex_log import Numbers

Exponent = Callable[[Numbers, FloatArray], Numbers]
"""K(t, x) of each pair (t, x): real for real t, NaN where real K does not exist."""

_UNDERFLOW = -745.0  # logarithm of the smallest positive double
_NEGLIGIBLE = -26.0  # exponent, relative to that at t0, at which the path may end
_FARTHEST = 1e9  # widths: no t further out is taken for a saddlepoint, as K has few digits there
_CLOSE = 0.05  # standard deviations by which the mean of the tilted N may miss 0
_BEND = math.pi / 8  # by which the hyperbola leaves the way straight up
_RADIUS = 2.0  # of the hyperbola, in widths
_STEP = 0.07  # along the hyperbola
_BLOCKS = (0, 30, 60, 120, 240, 480)  # steps that are made together
_COARSE = 3e-5, 1e-6  # by which three times the step may change the result: on a bent and on a straight path
_FAR = 1e13  # widths at t = 0: further out K is lost in rounding
_OCTAVE = 0.5 * math.log(2.0)
_ANGLES: FloatArray = np.arange(1.0, 32.0) * (math.pi / 32.0)
_TURN = 2  # by how many of these angles the winding path may turn from one distance to the next
_LOSS = 1e3  # by which the terms along the winding path may add up to more than the largest of them
_TOLERANCE = 1e-9
_HALVINGS = 10
_NODES, _RULE = np.polynomial.legendre.leggauss(20)
_LAST_TERMS = _RULE[:, None] * np.polynomial.legendre.legvander(_NODES, 19)[:, -4:]
"""Gives the last four Legendre coefficients of a function on a panel: small where the rule has converged."""
_MOST_PANELS = 400


class Saddlepoints(NamedTuple):
    """t near K'(t) = 0 for each x, and K, K' and K'' there."""

    t: FloatArray
    value: FloatArray
    slope: FloatArray
    curvature: FloatArray

    def probability(self, at_zero: FloatArray) -> FloatArray:
        """P(N <= 0) by the approximation of Barndorff-Nielsen, given K(0)."""
        k = self.value - 0.5 * self.slope**2 / self.curvature
        t = self.t - self.slope / self.curvature
        with np.errstate(all="ignore"):
            w = np.copysign(np.sqrt(np.maximum(2.0 * (at_zero - k), 0.0)), t)
            corrected = w + np.log(t * np.sqrt(self.curvature) / w) / w
        return np.asarray(ndtr(np.where(np.abs(w) > 0.05, corrected, w)))


def saddlepoints(exponent: Exponent, x: FloatArray, width: FloatArray, guess: FloatArray | None = None) -> Saddlepoints:
    """For each x the minimum of K(t, x) over real t, by Newton's method inside a bracket that shrinks.

    `width` is about 1 / sqrt(K'') at t = 0. Where K falls for ever, some t far out, where exp(K) is small.
    """
    low, high = -_FARTHEST * width, _FARTHEST * width
    best = _differences(exponent, np.zeros(x.shape) if guess is None else guess, x, width)
    at_zero = exponent(np.zeros(x.shape), x)
    if guess is not None and not ((best.value <= at_zero + 0.1) & (best.curvature > 0)).all():
        return saddlepoints(exponent, x, width)  # K is larger than at t = 0, or ends here: the guess is no help
    t = best.t
    reach = 2.0 * np.maximum(width, np.abs(t))
    for _ in range(200):
        t, value, slope, curvature = best
        open_ = (
            (np.abs(slope) > _CLOSE * np.sqrt(curvature)) & (value > _UNDERFLOW) & (np.abs(t) < 0.1 * _FARTHEST * width)
        )
        if not open_.any():
            break
        low, high = np.where(slope < 0, t, low), np.where(slope > 0, t, high)
        step = np.clip(-slope / curvature, -reach, reach)
        following = t + step
        outside = (following <= low) | (following >= high)
        following = np.where(outside, 0.5 * (low + high), following)
        new = _differences(exponent, np.where(open_, following, t), x, 1.0 / np.sqrt(curvature))
        bad = np.isnan(new.curvature)
        low, high = np.where(bad & (following < t), following, low), np.where(bad & (following > t), following, high)
        stuck = bad & (np.abs(following - t) <= 1e-9 * np.abs(t))
        if not (open_ & ~stuck).any():
            break
        reach = np.where(bad, reach, 2.0 * reach)
        best = Saddlepoints(*(np.where(bad, old, now) for old, now in zip(best, new, strict=True)))
    return best


def _differences(exponent: Exponent, t: FloatArray, x: FloatArray, width: FloatArray) -> Saddlepoints:
    """K at t, and K' and K'' there by finite differences: they only place the path."""
    h = np.maximum(0.01 * width, 1e-3 * np.abs(t))
    with np.errstate(all="ignore"):
        for _ in range(5):
            left, middle, right = exponent(np.concatenate([t - h, t, t + h]), np.tile(x, 3)).reshape(3, -1)
            outside = np.isnan(left + right)  # K ends closer than that
            if not outside.any():
                break
            h = np.where(outside, 0.1 * h, h)
        curvature = np.maximum(right - 2.0 * middle + left, 1e-13) / h**2
    return Saddlepoints(t, middle, (right - left) / (2.0 * h), curvature)


class Path(NamedTuple):
    """Nodes t, exp(K - peak) dt / pi there, and peak = K(t0), NaN where K is lost in rounding; `upper` if t0 > 0.

    `pole` is the share of the pole at t = 0 that the sum over the nodes misses, and `whole` = exp(K(0)) its residue.
    """

    t: ComplexArray
    weight: ComplexArray
    pole: float
    peak: float
    whole: float
    upper: bool

    def total(self, factor: Numbers) -> float:
        """The sum over the nodes of factor times the integrand, without 1/t."""
        return math.exp(self.peak) * float(np.sum((self.weight * factor).imag))

    def tail(self) -> float:
        """P(N > 0) if `upper`, else P(N <= 0)."""
        if self.peak < _UNDERFLOW:
            return 0.0
        return max(self.total(1.0 / self.t) * (1.0 if self.upper else -1.0) + self.pole * self.whole, 0.0)


def path_above(exponent: Exponent, x: float, start: Saddlepoints, unit: float, *, turning: bool) -> Path:
    """A path through t0 near the saddlepoint; `turning` if all singularities of K are real.

    `unit` is about 1 / sqrt(K'') at t = 0.
    """
    t0, width = float(start.t[0]), 1.0 / math.sqrt(float(start.curvature[0]))
    t0 = math.copysign(max(abs(t0), 0.05 * min(width, unit)), t0)  # not too close to the pole t = 0

    def k(t: Numbers) -> Numbers:
        return exponent(t, np.full(t.shape, x))

    # exp(K) falls to the left or to the right of the way straight up
    far = 50.0 * width * np.exp(1j * np.array([0.5 * math.pi - _BEND, 0.5 * math.pi + _BEND]))
    with np.errstate(all="ignore"):
        peak, zero, right, left = (float(v) for v in k(np.concatenate([[t0, 0.0], t0 + far])).real)
    if not (
        _UNDERFLOW < peak < zero + 0.1 and t0 != 0 and math.isfinite(t0 * width)
    ):  # no K is larger than at 0 and at the saddlepoint
        peak = -math.inf if peak <= _UNDERFLOW else math.nan
        return Path(np.empty(0, complex), np.empty(0, complex), 0.0, peak, 0.0, t0 > 0)
    whole = math.exp(zero)
    found = _hyperbola(k, t0, width, peak, whole, math.copysign(_BEND, left - right) if turning else 0.0)
    return Path(*(found or _winding(k, t0, width, peak, _FAR * unit, turning)), peak, whole, t0 > 0)


def _hyperbola(
    k: Callable[[Numbers], Numbers], t0: float, width: float, peak: float, whole: float, bend: float
) -> tuple[ComplexArray, ComplexArray, float] | None:
    """t = t0 + R (sin(bend + i y) - sin(bend)) with equal steps in y; None where that does not converge fast.

    What the midpoint rule misses of the pole at t = 0 is known exactly.
    """
    radius = _RADIUS * width
    nodes, weights = [], []
    for start, end in itertools.pairwise(_BLOCKS):
        y = (np.arange(start, end) + 0.5) * _STEP
        t = t0 + radius * (np.sin(bend + 1j * y) - math.sin(bend))
        with np.errstate(all="ignore"):
            height = k(t) - peak
        if not height.real.max() < 3.0:
            return None
        nodes.append(t)
        weights.append(np.exp(height) * np.cos(bend + 1j * y) * (1j * radius * _STEP / math.pi))
        if height[-1].real < _NEGLIGIBLE:
            break
    else:
        return None
    t, weight = np.concatenate(nodes), np.concatenate(weights)
    sine = math.sin(bend) - t0 / radius
    away = abs(bend - math.asin(sine)) if abs(sine) < 1 else math.inf  # of the pole, in y
    pole, coarse_pole = (float(expit(-2.0 * math.pi * away / step)) for step in (_STEP, 3.0 * _STEP))
    terms = (weight / t).imag
    # three times the step: its error is the third root of that of the single one
    missed = (coarse_pole - pole) * whole * math.exp(min(-peak, 700.0))
    change = math.copysign(1.0, t0) * (3.0 * terms[1::3].sum() - terms.sum()) + missed
    return (t, weight, pole) if abs(change) < _COARSE[bend == 0] else None


def _winding(
    k: Callable[[Numbers], Numbers], t0: float, width: float, peak: float, last: float, turning: bool
) -> tuple[ComplexArray, ComplexArray, float]:
    """At every distance from t0, up to `last`, the angle that keeps the integrand small, or straight up."""
    first = 0.25 * min(abs(t0), width)
    logs = math.log(first) + _OCTAVE * np.arange(max(math.ceil(math.log(last / first) / _OCTAVE), 1) + 1.0)
    angles = _ANGLES if turning else np.array([0.5 * math.pi])
    with np.errstate(all="ignore"):
        grid = t0 + np.exp(logs[:, None] + 1j * angles)
        heights = np.nan_to_num(k(grid.ravel()).real.reshape(grid.shape) - peak, nan=math.inf)
    chosen = _lowest_way(heights)
    needed = np.flatnonzero(heights[np.arange(logs.size), chosen] > _NEGLIGIBLE)
    end = int(needed.max(initial=0)) + 2
    logs, along = logs[:end], angles[chosen[:end]]
    angle = PchipInterpolator(logs, along)
    turn = angle.derivative()

    def begin(v: FloatArray) -> tuple[ComplexArray, ComplexArray]:
        t: ComplexArray = t0 + 1j * first * v.astype(np.complex128)
        return t, np.full(v.shape, 1j * first, dtype=np.complex128)

    def onward(v: FloatArray) -> tuple[ComplexArray, ComplexArray]:
        away: ComplexArray = np.exp(v + 1j * angle(v))
        return t0 + away, away * (1.0 + 1j * turn(v))

    with np.errstate(all="ignore"):
        parts = [_panels(k, peak, begin, np.array([0.0, 1.0])), _panels(k, peak, onward, logs)]
        t, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        lost = not float(np.sum(np.abs(weight / t))) < _LOSS
    return _winding(k, t0, width, peak, last, False) if lost and turning else (t, weight, 0.0)


def _lowest_way(heights: FloatArray) -> NDArray[np.intp]:
    """Of all ways through (distances, angles) that begin in the middle and turn slowly, the one with the least on it."""
    count, width = heights.shape
    total = np.full(width, np.inf)
    total[width // 2] = 0.0
    came_from = np.full(heights.shape, width // 2)
    for k in range(1, count):
        padded = np.pad(total, _TURN, constant_values=np.inf)
        reach = np.lib.stride_tricks.sliding_window_view(padded, 2 * _TURN + 1)
        came_from[k] = np.arange(width) + np.argmin(reach, axis=1) - _TURN
        total = reach.min(axis=1) + np.exp(np.clip(heights[k], -100.0, 600.0))
    chosen = np.empty(count, dtype=np.intp)
    place = int(np.argmin(total))
    for k in range(count - 1, -1, -1):
        chosen[k], place = place, int(came_from[k, place])
    return chosen


def _panels(
    k: Callable[[Numbers], Numbers],
    peak: float,
    way: Callable[[FloatArray], tuple[ComplexArray, ComplexArray]],
    edges: FloatArray,
) -> tuple[ComplexArray, ComplexArray]:
    """Nodes and weights between the edges, panels halved until the integral of exp(K) / t has converged."""
    low, high = edges[:-1], edges[1:]
    nodes, weights = [], []
    for depth in range(_HALVINGS + 1):
        half = 0.5 * (high - low)[:, None]
        t, pace = way(0.5 * (low + high)[:, None] + half * _NODES)
        values = np.exp(k(t.ravel()).reshape(t.shape) - peak) * pace * half
        values[~np.isfinite(values)] = 0.0  # so far out that K is lost in rounding
        gap = np.abs((values / t) @ _LAST_TERMS).sum(axis=1)
        done = (gap <= _TOLERANCE) | (depth == _HALVINGS) | (low.size > _MOST_PANELS)
        nodes.append(t[done].ravel())
        weights.append((values[done] * _RULE).ravel() / math.pi)
        if done.all():
            break
        middle = 0.5 * (low + high)[~done]
        low, high = np.concatenate([low[~done], middle]), np.concatenate([middle, high[~done]])
    return np.concatenate(nodes), np.concatenate(weights)
