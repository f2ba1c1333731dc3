"""Law of the largest absolute error, max_i |delta_i + sigma_i Z_i|.

The largest error is at most x when every error is: F(x) = prod_i p_i(x), p_i(x) = P(|delta_i + sigma_i Z_i| <= x). Mean
and variance are integrals of 1 - F over the window in which F goes from 0 to 1. Labels that cannot reach into that
window drop out; where many remain, the sum of their logarithms is a smooth function of x and is interpolated.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev

from scorebars.laws.absolute_errors import above, density, log_below
from scorebars.laws.base import FloatArray, Law
from scorebars.laws.panels import integrate, interpolant, interpolation_points
from scorebars.laws.search import crossing, roughly

_LOWEST = -42.0  # log F at the lower end of the window
_HIGHEST = 1e-17  # 1 - F at the upper end
_DIRECT = 2000  # labels summed at every x
_SHARPEST = 256  # of more labels those with the smallest sigma are still summed one by one
_POINTS = (64, 128)  # interpolation points, tried in turn


class MaxErrorLaw(Law):
    """Law of max_i |delta_i + sigma_i Z_i| with independent standard normal Z_i.

    Labels with sigma = 0 set a floor, which the law reaches with positive probability.
    """

    method = "exact"

    def __init__(self, delta: Any, sigma: Any) -> None:
        size = np.abs(np.atleast_1d(np.asarray(delta, dtype=float)).ravel())
        sigma = np.broadcast_to(np.asarray(sigma, dtype=float), size.shape).ravel()
        random = sigma > 0
        self._floor = float(np.max(size[~random], initial=0.0))
        self._all = size[random], sigma[random]
        self.support = (self._floor, math.inf if np.any(random) else self._floor)

    def _log_all(self, x: float) -> float:
        return float(log_below(np.array([x]), *self._all)[0]) if x > 0 else -math.inf

    @cached_property
    def _window(self) -> tuple[float, float]:
        """Where F goes from e^-42 (or from the floor) to 1 - 1e-17, roughly."""
        size, sigma = self._all
        low, high = self._floor, float(np.max(size + 10.0 * sigma))
        while -self._log_all(high) > _HIGHEST:
            high *= 1.25
        if self._log_all(low) < _LOWEST:
            low = roughly(self._log_all, low, high, 1.5 * _LOWEST, _LOWEST)
        keep = self._reaching(low)
        size, sigma = size[keep], sigma[keep]

        def minus_tails(x: float) -> float:
            return -float(np.sum(above(np.asarray(x), size, sigma)))  # log F so high up

        return low, roughly(minus_tails, low, high, -_HIGHEST, -0.01 * _HIGHEST, upper=True)

    def _reaching(self, x: float) -> FloatArray:
        """Which labels may exceed x."""
        size, sigma = self._all
        return np.asarray(above(np.asarray(x), size, sigma) > 1e-20 / size.size)

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray, Chebyshev | None]:
        """The labels to be summed one by one, and the interpolated log(-log) of the product of the others."""
        size, sigma = self._all
        low, high = self._window
        keep = self._reaching(low)
        size, sigma = size[keep], sigma[keep]
        if size.size <= _DIRECT:
            return size, sigma, None
        order = np.argpartition(sigma, _SHARPEST)
        sharp, rest = order[:_SHARPEST], order[_SHARPEST:]
        check = low + (high - low) * np.linspace(0.02, 0.98, 7)
        exact = np.exp(log_below(check, size[rest], sigma[rest]))
        for count in _POINTS:
            logs = log_below(interpolation_points(low, high, count), size[rest], sigma[rest])
            curve = interpolant(low, high, np.log(np.maximum(-logs, 1e-300)))
            # trust it only where it is right between its points as well
            if np.all(np.abs(np.exp(-np.exp(curve(check))) - exact) < 1e-12):
                return size[sharp], sigma[sharp], curve
        return size, sigma, None

    def _log_cdf(self, x: FloatArray) -> FloatArray:
        """log F at x inside the window."""
        size, sigma, curve = self._parts
        out = log_below(x, size, sigma) if size.size else np.zeros(x.shape)
        return out if curve is None else np.asarray(out - np.exp(curve(x)))

    def _log(self, x: float) -> float:
        low, high = self._window
        return float(self._log_cdf(np.array([x]))[0]) if low <= x <= high else self._log_all(x)

    def _cdf(self, x: float) -> float:
        return math.exp(self._log(x)) if self._all[0].size else 1.0

    def _sf(self, x: float) -> float:
        return -math.expm1(self._log(x)) if self._all[0].size else 0.0

    def _pdf(self, x: float) -> float:
        """F times the sum of p_i'/p_i (the continuous part: the floor itself has a probability)."""
        size, sigma = self._all
        if size.size == 0:
            return math.inf
        if x <= 0.0:
            return float(density(np.zeros(1), size, sigma)[0]) if size.size == 1 else 0.0
        log = self._log(x)
        if log < -700.0:
            return 0.0
        tail = above(np.asarray(x), size, sigma)
        return math.exp(log) * float(np.sum(density(np.asarray(x), size, sigma) / np.maximum(1.0 - tail, 1e-300)))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """Mean and variance from E(X - low) = int (1 - F) and E(X - low)^2 = 2 int (x - low)(1 - F)."""
        if self._all[0].size == 0:
            return self._floor, 0.0
        low, high = self._window
        width = high - low
        size, sigma, _ = self._parts
        first = np.argsort(size - 9.0 * sigma)[-8:]  # these decide where F begins, maybe sharply
        marks = (size[first] + sigma[first] * np.array([[-9.0], [-3.0], [0.0], [3.0], [9.0]])).ravel()
        ladder = low + width * 10.0 ** -np.arange(1.0, 13.0)
        edges = np.concatenate([[low, high], np.clip(marks, low, high), ladder])

        def tails(u: FloatArray) -> FloatArray:
            tail = -np.expm1(self._log_cdf(low + width * u))
            return np.stack([tail, 2.0 * u * tail])

        one, two = integrate(tails, (edges - low) / width, np.array([1e-15, 1e-15]))
        return low + width * one, width * width * max(two - one * one, 0.0)

    def _mean(self) -> float:
        return self._moments[0]

    def _var(self) -> float:
        return self._moments[1]

    def _ppf(self, q: float) -> float:
        if self._all[0].size == 0 or q <= self._cdf(self._floor):
            return self._floor
        low, high = self._window
        target = math.log(q)
        if self._log(low) > target:
            high, low = low, 0.5 * low
            while self._log_all(low) > target:
                high, low = low, 0.5 * low
        if q <= 0.5:
            return crossing(lambda x: self._log(x) - target, low, high)
        return crossing(lambda x: (1.0 - q) - self._sf(x), low, high)
