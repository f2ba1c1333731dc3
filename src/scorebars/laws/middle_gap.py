"""The gap between the two middle values of an even number of independent absolute errors.

For s <= t let H(s, t) = P(X_(k) <= s and X_(k+1) > t): half of the errors lie at or below s, the other half above t,
none between. It is the coefficient of z^k in prod_i (F_i(s) z + 1 - F_i(t)), found on the unit circle. The average of the
two middle values is at most x if both are, or if they lie around x and the upper one is nearer, so that with
N(x) = number of errors at or below x

    P(average <= x) = P(N(x) > k) + int_0^inf -dH/dt(x - u, x + u) du,      E(gap^2)/4 = int int_0^inf H(x - u, x + u) du dx.

With whole-number weights e_i the power z becomes z^(e_i), and k half of their sum.
"""

from __future__ import annotations

import math

import numpy as np

from scorebars.laws.absolute_errors import above, below, density
from scorebars.laws.base import FloatArray
from scorebars.laws.panels import integrate

_CHUNK = 1 << 15
_LAGUERRE = np.polynomial.laguerre.laggauss(3)


class MiddleGap:
    """H of the errors |delta_i + sigma_i Z_i|, sigma_i > 0, with whole exponents whose sum is even."""

    def __init__(self, size: FloatArray, sigma: FloatArray, exponent: FloatArray, width: float) -> None:
        self.size, self.sigma, self.exponent = size, sigma, exponent
        self.width = width  # gaps wider than this do not occur
        self.target = float(np.sum(exponent)) / 2.0
        self.spread = 0.5 * math.sqrt(float(np.sum(np.square(exponent))))
        full = int(2 * self.target) + 1
        self.circle = min(full | 1, 2 * math.ceil(10.0 * self.spread + 10.0) + 1)  # odd: z^e is never -1
        self.all_orders = self.circle >= full

    def probability(self, s: FloatArray, t: FloatArray) -> FloatArray:
        """H(s, t)."""
        return self._coefficient(s, t, slope=False)

    def upper_density(self, s: FloatArray, t: FloatArray) -> FloatArray:
        """-dH/dt: the density of the upper middle value at t, the lower one being at most s."""
        return self._coefficient(s, t, slope=True)

    def _coefficient(self, s: FloatArray, t: FloatArray, slope: bool) -> FloatArray:
        out = np.zeros(s.shape)
        rows = max(1, _CHUNK // self.size.size)
        for start in range(0, s.size, rows):
            part = slice(start, start + rows)
            low = below(np.maximum(s[part], 0.0)[:, None], self.size, self.sigma)
            high = np.maximum(above(t[part, None], self.size, self.sigma), 1e-290)
            f = density(t[part, None], self.size, self.sigma) if slope else None
            total = np.zeros(low.shape[0])
            largest = 0.0
            with np.errstate(under="ignore"):
                for j in range(self.circle // 2 + 1):
                    angle = 2.0 * math.pi * j / self.circle
                    factors = low * np.exp(1j * angle * self.exponent) + high
                    value = np.prod(factors, axis=1)
                    if f is not None:
                        value *= np.add.reduce(f / factors, axis=1)
                    largest = max(largest, float(np.max(np.abs(value))))
                    if np.max(np.abs(value)) < 1e-18 * largest and np.all(self.exponent == 1.0):
                        break  # what follows is smaller still
                    turned = value * np.exp(-1j * angle * self.target)
                    total += turned.real if j == 0 else 2.0 * turned.real
                if not self.all_orders:
                    # far from the target the coefficient is nothing but its own alias
                    mean = np.add.reduce(self.exponent * low / (low + high), axis=1)
                    total[np.abs(mean - self.target) > 9.0 * self.spread] = 0.0
            out[part] = np.maximum(total, 0.0) / self.circle
        return out

    def upper_nearer(self, x: float) -> float:
        """P(the middle values lie around x and the upper one is nearer): int -dH/dt du."""

        def integrand(u: FloatArray) -> FloatArray:
            return self.upper_density(x - u, x + u)[None, :]

        return float(integrate(integrand, self._edges(x), np.array([1e-13]))[0])

    def mean_half_gap(self, x: float) -> float:
        """J(x) = int H(x - u, x + u) du."""

        def integrand(u: FloatArray) -> FloatArray:
            return self.probability(x - u, x + u)[None, :]

        return float(integrate(integrand, self._edges(x), np.array([1e-13 * self.width]))[0])

    def mean_half_gap_of_many(self, x: float) -> float:
        """The same for many labels: H falls nearly as exp(-2 u sum of densities), three Laguerre nodes do."""
        rate = 2.0 * float(np.sum(density(np.asarray(x), self.size, self.sigma)))
        if rate == 0.0:
            return 0.0
        nodes, weights = _LAGUERRE
        u = nodes / rate
        return float(np.sum(weights * np.exp(nodes) * self.probability(x - u, x + u))) / rate

    def _edges(self, x: float) -> FloatArray:
        """Where H may bend: geometric steps from the typical gap on, and labels with a sharp error."""
        top = min(x, self.width)
        rate = float(np.sum(density(np.asarray(x), self.size, self.sigma)))
        steps = np.array([0.5, 2.0, 6.0, 20.0]) / max(rate, 1.0 / self.width)
        sharp = np.flatnonzero(self.sigma < 0.02 * self.width)
        distance = np.abs(self.size[sharp] - x)
        nearest = np.argsort(distance)[:16]
        marks = distance[nearest] + self.sigma[sharp[nearest]] * np.array([[-8.0], [0.0], [8.0]])
        return np.unique(np.clip(np.concatenate([[0.0, top], steps, marks.ravel()]), 0.0, top))
