"""Distribution of the largest absolute error, max_i |delta_i + sigma_i Z_i|.

The largest error is at most x when every error is: F(x) = prod_i p_i(x), p_i(x) = P(|delta_i + sigma_i Z_i| <= x). Mean
and variance are integrals of 1 - F over the window in which F goes from 0 to 1. Labels that cannot reach into that
window drop out. Where many remain, the sum of their logarithms is a smooth function of x and is interpolated.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev

from scorebars.arrays import FloatArray
from scorebars.engines.normal_chances import normal_below
from scorebars.errors import MeasurementError
from scorebars.laws.law import Law
from scorebars.numerics.integration import integral, moments_of_tail
from scorebars.numerics.roots import crossing
from scorebars.numerics.special import folded_cdf

_CERTAIN = 9.3  # standard deviations: no error is larger
_LOWEST = -42.0  # log F at the lower end of the window
_DECIDE, _OFTEN = 1 << 14, 4.0  # labels that show the window, and standard deviations that an error often has
_NEVER = 1e-16  # labels that together are that unlikely to reach the window drop out
_SUMMED = 600  # up to so many labels are summed at every x
_SHARPEST = 256  # of more labels, those with the smallest sigma are still summed
_DEGREES = (24, 48, 96)  # of the interpolating polynomial, tried in turn
_MANY = 10_000  # labels for which the smallest degree never serves
_HARDLY = 1e-10  # log(1 - t) = -t for smaller t
_TOGETHER = 1 << 14  # labels times x whose chances stay in the cache
_CELLS = 1 << 20  # labels times x whose chances are held at once
_REACH = (-14.0, 16.0)  # logarithm of x, in units of the median, between which tails of powers are integrated
_PANELS = 11


class MaxErrorLaw(Law):
    """Distribution of max_i |delta_i + sigma_i Z_i| with independent standard normal Z_i.

    Labels with sigma = 0 set a floor, which the value equals with positive probability.
    """

    method = "exact"

    def __init__(self, delta: Any, sigma: Any) -> None:
        size = np.abs(np.atleast_1d(np.asarray(delta, dtype=float)).ravel())
        sigma = np.broadcast_to(np.asarray(sigma, dtype=float), size.shape)
        uncertain = sigma > 0
        self._floor = float(np.max(size[~uncertain], initial=0.0))
        self._size, self._sigma = size[uncertain], sigma[uncertain]
        self.support = (self._floor, math.inf if self._size.size else self._floor)

    @cached_property
    def _window(self) -> tuple[float, float]:
        """Where F goes from e^-42 (or from the floor) to 1."""
        reach = _CERTAIN * self._sigma
        low = max(self._floor, float(np.max(self._size - reach)))
        high = max(low, float(np.max(self._size + reach)))
        rough = 1e-3 * (high - low)
        size, sigma = self._size, self._sigma
        if size.size > _DECIDE:  # F of some labels lies above that of all: the window gets no narrower
            largest = np.argpartition(size + _OFTEN * sigma, -_DECIDE)[-_DECIDE:]
            size, sigma = size[largest], sigma[largest]

        def excess(x: float) -> float:
            return float(_log_all_below(np.array([x]), size, sigma)[0]) - _LOWEST

        lowest = crossing(excess, low, high, xtol=rough)
        return max(low, lowest - 2.0 * rough), high

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray, Chebyshev | None]:
        """The labels to sum at every x, and the interpolated log(-log) of the product over the others."""
        low, high = self._window
        chance = _above(np.asarray(low), self._size, self._sigma)
        order = np.argsort(chance)  # those that hardly count side by side
        reaching = order[np.searchsorted(np.cumsum(chance[order]), _NEVER) :]
        size, sigma = self._size[reaching], self._sigma[reaching]
        if size.size > _SUMMED:
            sharp = np.argpartition(sigma, _SHARPEST)[:_SHARPEST]
            rest = np.delete(np.arange(size.size), sharp)

            def log_minus_log(x: FloatArray) -> FloatArray:
                return np.log(np.maximum(-_log_all_below(x, size[rest], sigma[rest]), 1e-300))

            check = low + (high - low) * np.array([0.02, 0.1, 0.2, 0.35, 0.5])
            exact = np.exp(-np.exp(log_minus_log(check)))
            for degree in _DEGREES if size.size < _MANY else _DEGREES[1:]:
                curve = Chebyshev.interpolate(log_minus_log, degree, [low, high])
                if np.all(np.abs(np.exp(-np.exp(curve(check))) - exact) < 1e-12):
                    return size[sharp], sigma[sharp], curve
        return size, sigma, None

    def _log_cdf(self, x: FloatArray) -> FloatArray:
        """log F at x inside the window."""
        size, sigma, curve = self._parts
        log = _log_all_below(x, size, sigma)
        return log if curve is None else np.asarray(log - np.exp(curve(x)))

    def _log(self, x: float) -> float:
        """log F at any x."""
        if not self._size.size:
            return 0.0
        low, high = self._window
        return -math.inf if x < low else 0.0 if x > high else float(self._log_cdf(np.array([x]))[0])

    def _cdf(self, x: float) -> float:
        return math.exp(self._log(x))

    def _sf(self, x: float) -> float:
        return -math.expm1(self._log(x))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        if not self._size.size:
            return self._floor, 0.0
        low, high = self._window
        width = high - low
        if width == 0:  # errors below the last digit of the largest residual
            return low, float(self._sigma[np.argmax(self._size)]) ** 2 if low > self._floor else 0.0
        size, sigma, _ = self._parts
        first = np.argsort(size - 9.0 * sigma)[-8:]  # these decide where F begins, maybe sharply
        marks = (size[first] + sigma[first] * np.array([[-9.0], [-3.0], [0.0], [3.0], [9.0]])).ravel()
        # ever smaller steps towards the lower end, where F may begin like a power of x
        marks = np.append(marks, low + width * 10.0 ** -np.arange(1.0, 9.0))
        return moments_of_tail(lambda x: -np.expm1(self._log_cdf(x)), low, high, marks, 1e-15)


def _above(x: FloatArray, size: FloatArray, sigma: FloatArray) -> FloatArray:
    """P(|delta + sigma Z| > x) for x >= 0 and size = |delta| (broadcast)."""
    with np.errstate(over="ignore"):
        return np.asarray(normal_below((size - x) / sigma) + normal_below((-size - x) / sigma))


def _log_all_below(x: FloatArray, size: FloatArray, sigma: FloatArray) -> FloatArray:
    """Log of the probability that every error is at most x, for each x >= 0."""
    out = np.zeros(x.size)
    rows = max(1, _TOGETHER // max(size.size, 1))
    for start in range(0, x.size, rows):
        block = x[start : start + rows, None]
        for first in range(0, size.size, _TOGETHER):
            part = size[first : first + _TOGETHER], sigma[first : first + _TOGETHER]
            tail = _above(block, *part)
            if float(np.max(tail)) < _HARDLY:
                out[start : start + rows] -= np.add.reduce(tail, axis=1)
                continue
            with np.errstate(divide="ignore"):
                log = np.log1p(-np.minimum(tail, 1.0))
                unlikely = tail > 0.5
                if np.any(unlikely):
                    picked = (np.broadcast_to(a, tail.shape)[unlikely] for a in (block, *part))
                    log[unlikely] = np.log(folded_cdf(*picked))
            out[start : start + rows] += np.add.reduce(log, axis=1)
    return out


def mean_of_largest(errors: MeasurementError, y: FloatArray, p: FloatArray, typical: float) -> float:
    """The mean of the largest |label - p| under independent errors whose tails fall as a power of x, from that of P(max > x).

    It is an integral over the logarithm of x; beyond the last x the tail goes on with the power that it has there.
    """

    def above(x: FloatArray) -> FloatArray:
        chunk = max(1, _CELLS // y.size)
        parts = [x[start : start + chunk, None] for start in range(0, len(x), chunk)]
        chances = [errors.sf(y, p + part) + errors.below(y, p - part) for part in parts]
        return np.concatenate([-np.expm1(np.sum(np.log1p(-np.minimum(t, 1.0)), axis=1)) for t in chances])

    def rows(u: FloatArray) -> FloatArray:
        x = np.exp(u)
        return np.asarray((x * above(typical * x))[None])

    with np.errstate(divide="ignore"):  # log 0 where a label is surely above x
        body = float(integral(rows, np.linspace(*_REACH, _PANELS), 1e-9)[0])
        last = math.exp(_REACH[1])
        ends = above(typical * last * np.array([1.0, 2.0]))
    power = math.log2(ends[0] / ends[1])
    return typical * (math.exp(_REACH[0]) + body + last * float(ends[0]) / (power - 1.0))
