"""Law of a nearly normal value whose mean slides along a curve: a mixture of smeared normals.

Given a shared shift s the metric is nearly normal around m(s), and s itself is random. Cutting s into cells, in each of
which m runs straight from `start` to `end` while the std stays, gives P(value <= x) as a weighted sum of averages of
normal distribution functions over a straight line, which are closed: with u = (x - m)/std

    average of Phi over [u_end, u_start] = (B(u_start) - B(u_end)) / (u_start - u_end),    B(u) = u Phi(u) + phi(u),

so that cells may be wider than the normal is broad, down to no breadth at all. Skewness and excess kurtosis of the
value given s enter by the Edgeworth series, whose terms integrate as easily.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from scorebars.laws.base import FloatArray, Law


class ShiftedMixture(Law):
    """Mixture of cells with probabilities `weight`; `mean` and `var` are those known exactly."""

    def __init__(
        self,
        weight: FloatArray,
        start: FloatArray,
        end: FloatArray,
        std: FloatArray,
        skewness: FloatArray,
        kurtosis: FloatArray,
        *,
        mean: float,
        var: float,
        method: str = "quadrature",
        support: tuple[float, float] = (0.0, math.inf),
    ) -> None:
        self.method, self.support = method, support
        self._known = mean, var
        self._weight = weight / np.sum(weight)
        # cells are moved and stretched (by very little) so that the mixture has the exact mean and variance
        middle = 0.5 * (start + end)
        centre = float(np.sum(self._weight * middle))
        spread = float(
            np.sum(self._weight * (np.square(middle - centre) + np.square(end - start) / 12.0 + np.square(std)))
        )
        factor = math.sqrt(var / spread) if spread > 0 else 1.0
        self._start, self._end = mean + factor * (start - centre), mean + factor * (end - centre)
        floor = 1e-12 * math.sqrt(var)  # no breadth is a breadth far below what can be seen
        self._scale = np.maximum(factor * std, floor)
        self._skewness, self._kurtosis = skewness, kurtosis

    def _mean(self) -> float:
        return self._known[0]

    def _var(self) -> float:
        return self._known[1]

    def _parts(self, u: FloatArray, sign: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Density, tail (lower for sign 1, upper for -1) and integral of the tail over u, by the Edgeworth series."""
        g3, g4 = self._skewness / 6.0, self._kurtosis / 24.0
        g33 = np.square(self._skewness) / 72.0
        square = u * u
        with np.errstate(under="ignore"):
            phi = np.exp(-0.5 * np.minimum(square, 1500.0)) / math.sqrt(2.0 * math.pi)
        he2, he3, he4 = square - 1.0, u * (square - 3.0), square * (square - 6.0) + 3.0
        he5, he6 = u * (square * (square - 10.0) + 15.0), square * (square * (square - 15.0) + 45.0) - 15.0
        density = phi * (1.0 + g3 * he3 + g4 * he4 + g33 * he6)
        tail = ndtr(sign * u) - sign * phi * (g3 * he2 + g4 * he3 + g33 * he5)
        integral = u * ndtr(sign * u) + sign * phi * (1.0 + g3 * u + g4 * he2 + g33 * he4)
        return density, tail, integral

    def _average(self, x: float, sign: float) -> tuple[float, float]:
        """The tail at x and the density there."""
        first, last = (x - self._start) / self._scale, (x - self._end) / self._scale
        width = first - last
        density1, tail1, integral1 = self._parts(first, sign)
        density2, tail2, integral2 = self._parts(last, sign)
        density3, tail3, _ = self._parts(0.5 * (first + last), sign)
        narrow = np.abs(width) < 0.05
        safe = np.where(narrow, 1.0, width)
        tail = np.where(narrow, (tail1 + 4.0 * tail3 + tail2) / 6.0, (integral1 - integral2) / safe)
        density = np.where(narrow, (density1 + 4.0 * density3 + density2) / 6.0, sign * (tail1 - tail2) / safe)
        return float(np.sum(self._weight * tail)), float(np.sum(self._weight * density / self._scale))

    def _cdf(self, x: float) -> float:
        return min(max(self._average(x, 1.0)[0], 0.0), 1.0)

    def _sf(self, x: float) -> float:
        return min(max(self._average(x, -1.0)[0], 0.0), 1.0)

    def _pdf(self, x: float) -> float:
        return max(self._average(x, 1.0)[1], 0.0)
