"""A contour for transforms that no hyperbola serves: out of the real axis and downhill at every distance.

Where errors are of very different size, |exp(K(t))| falls now to the left, now to the right of the imaginary direction, as
|t| passes one group of labels after the other. K has its singularities on the real axis only, so every way through the upper
half plane gives the same integral: at each of many distances r from t0 the angle is taken that keeps the integrand small,

    t = t0 + r exp(i angle(log r)),

and Gauss' rule is applied from distance to distance, halved where it has not converged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from scorebars.laws.base import FloatArray
from scorebars.laws.cgf import ComplexArray
from scorebars.laws.complex_log import Numbers

_ANGLES: FloatArray = np.arange(1.0, 32.0) * (math.pi / 32.0)
_TURN = 2
"""By how many of these angles the way may turn from one distance to the next."""
_PER_OCTAVE = 2
FAR = 1e13  # widths: further out K is lost in rounding
NEGLIGIBLE = -41.0  # exponent at which the sum along a path may end
_POINTS, _RULE = np.polynomial.legendre.leggauss(16)
_CONVERGED = 1e-15
_HALVINGS = 8

Way = Callable[[FloatArray], tuple[ComplexArray, ComplexArray]]
"""t and dt/dv at each v."""


class Transform(Protocol):
    """The logarithm K(t) of the mean of exp(tN), possibly over a part of the cases only."""

    lower: float
    upper: float

    def exponent(self, t: Numbers) -> Numbers:
        """K(t), real or complex, lower < t < upper."""


def downhill(
    form: Transform, t0: float, width: float, peak: float, *, turning: bool = True
) -> tuple[ComplexArray, ComplexArray]:
    """Nodes t from t0 up, and exp(K) dt / pi there; `width` is 1 / sqrt(K''(t0)) and `peak` = K(t0).

    Not `turning`, it goes straight up, where nothing is larger than at t0.
    """
    first = 0.25 * min(abs(t0), width, form.upper - t0, t0 - form.lower)
    logs, angles = _way(form, t0, first, FAR * width, peak, _TURN if turning else 0)
    angle = PchipInterpolator(logs, angles)
    turn = angle.derivative()

    def straight(v: FloatArray) -> tuple[ComplexArray, ComplexArray]:
        up = np.full(v.shape, complex(0.0, first), dtype=np.complex128)
        return t0 + up * v, up

    def bent(v: FloatArray) -> tuple[ComplexArray, ComplexArray]:
        away = np.exp(v + 1j * angle(v))
        return t0 + away, away * (1.0 + 1j * turn(v))

    parts = [_integrated(form, peak, straight, np.array([0.0, 1.0])), _integrated(form, peak, bent, logs)]
    return np.concatenate([t for t, _ in parts]), np.concatenate([weight for _, weight in parts])


def _way(
    form: Transform, t0: float, first: float, last: float, peak: float, turn: int
) -> tuple[FloatArray, FloatArray]:
    """Logarithms of distances, and the angles there: of all ways that turn slowly the one with the least on it."""
    count = math.ceil(_PER_OCTAVE * math.log2(last / first)) + 1
    logs: FloatArray = math.log(first) + math.log(2.0) / _PER_OCTAVE * np.arange(float(count))
    with np.errstate(all="ignore"):
        t = t0 + np.exp(logs[:, None] + 1j * _ANGLES)
        height = form.exponent(t.ravel()).real.reshape(t.shape) - peak
    height = np.where(np.isnan(height), np.inf, height)
    place = len(_ANGLES) // 2  # straight up at first
    total = np.full(len(_ANGLES), np.inf)
    total[place] = 0.0
    came_from = np.full(height.shape, place)
    for k in range(1, count):
        reach = np.stack([_moved(total, by) for by in range(-turn, turn + 1)])
        best = np.argmin(reach, axis=0)
        came_from[k] = np.arange(len(_ANGLES)) - (best - turn)
        total = reach.min(axis=0) + np.exp(np.clip(height[k], -100.0, 600.0))
    chosen = np.empty(count, dtype=np.intp)
    place = int(np.argmin(total))
    for k in range(count - 1, -1, -1):
        chosen[k] = place
        place = int(came_from[k, place])
    along = height[np.arange(count), chosen]
    needed = np.flatnonzero(along > NEGLIGIBLE)
    end = min(int(needed[-1]) + 2 if needed.size else 2, count)
    return logs[:end], _ANGLES[chosen[:end]]


def _moved(total: FloatArray, by: int) -> FloatArray:
    """The totals of the ways that come from `by` angles below."""
    out = np.full(total.shape, np.inf)
    out[max(by, 0) : len(out) + min(by, 0)] = total[max(-by, 0) : len(out) + min(-by, 0)]
    return out


def _integrated(form: Transform, peak: float, way: Way, edges: FloatArray) -> tuple[ComplexArray, ComplexArray]:
    """Nodes and weights between the edges, panels halved until the integral of exp(K) / t has converged."""
    low, high = edges[:-1], edges[1:]
    coarse = _panels(form, peak, way, low, high)
    kept = []
    for depth in range(_HALVINGS + 1):
        middle = 0.5 * (low + high)
        low, high = np.stack([low, middle], axis=1), np.stack([middle, high], axis=1)
        fine = _panels(form, peak, way, low.ravel(), high.ravel())
        missed = np.abs(fine.integral.reshape(-1, 2).sum(axis=1) - coarse.integral)
        done = (missed <= _CONVERGED + fine.rounding.reshape(-1, 2).sum(axis=1)) | (depth == _HALVINGS)
        kept.append(fine.pick(np.repeat(done, 2)))
        if done.all():
            break
        low, high, coarse = low[~done].ravel(), high[~done].ravel(), fine.pick(np.repeat(~done, 2))
    t: ComplexArray = np.concatenate([panels.t.ravel() for panels in kept])
    weight: ComplexArray = np.concatenate([panels.weight.ravel() for panels in kept])
    weight *= math.exp(peak) / math.pi
    return t, weight


class _Panels(NamedTuple):
    """Nodes (p, m) of panels, exp(K - peak) dt there, the integrals (p,) of exp(K - peak) / t, and how exact they can be."""

    t: ComplexArray
    weight: ComplexArray
    integral: ComplexArray
    rounding: FloatArray

    def pick(self, some: NDArray[np.bool_]) -> _Panels:
        return _Panels(self.t[some], self.weight[some], self.integral[some], self.rounding[some])


def _panels(form: Transform, peak: float, way: Way, low: FloatArray, high: FloatArray) -> _Panels:
    half = 0.5 * (high - low)[:, None]
    t, pace = way(0.5 * (low + high)[:, None] + half * _POINTS)
    exponent: ComplexArray = form.exponent(t.ravel()).reshape(t.shape)
    weight: ComplexArray = np.exp(exponent - peak) * pace * (half * _RULE)
    terms = weight / t
    rounding: FloatArray = np.sum(np.abs(terms) * np.abs(exponent), axis=1) * (4.0 * np.finfo(float).eps)
    return _Panels(t, weight, np.sum(terms, axis=1), rounding)
