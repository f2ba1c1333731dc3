"""The gap between the two middle values of an even number of independent absolute errors.

For s <= t let H(s, t) = P(X_(k) <= s and X_(k+1) > t): half of the errors lie at or below s, the other half above t,
none between. It is the coefficient of z^k in prod_i (F_i(s) z + 1 - F_i(t)), found on the unit circle. The average of the
two middle values is at most x if both are, or if they lie around x and the upper one is nearer, so that with
N(x) = number of errors at or below x

    P(average <= x) = P(N(x) > k) + int_0^inf -dH/dt(x - u, x + u) du,     E(half the gap)^2 = int_{s<t} H ds dt / 2.

With whole-number weights e_i the power z becomes z^(e_i), and k a sum of weights. An exact label cannot lie in the gap:
the nearest one to x ends the integral, and where it lies above x it may itself be the upper value.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from scorebars.laws.absolute_errors import above, below, density
from scorebars.laws.base import FloatArray
from scorebars.laws.panels import integrate

_CHUNK = 1 << 15
_MARKED = 20  # labels with sharp errors that get panels of their own
_LAGUERRE = np.polynomial.laguerre.laggauss(3)
_LEGENDRE = np.polynomial.legendre.leggauss(12)


class MiddleGap:
    """H of the errors |delta_i + sigma_i Z_i| with whole exponents, `half` = k of them below; sigma_i = 0 allowed."""

    def __init__(
        self, size: FloatArray, sigma: FloatArray, exponent: FloatArray, half: float, window: tuple[float, float]
    ) -> None:
        random = sigma > 0
        self.size, self.sigma, self.exponent = size[random], sigma[random], exponent[random]
        order = np.argsort(size[~random])
        self.exact = size[~random][order]
        self.taken = np.concatenate([[0.0], np.cumsum(exponent[~random][order])])  # exponents at or below
        self.low, self.high = window
        self.width = self.high - self.low  # wider gaps do not occur
        self.half = half
        self.spread = 0.5 * math.sqrt(float(np.sum(np.square(self.exponent))))
        full = int(np.sum(self.exponent)) + 1
        self.circle = min(full | 1, 2 * math.ceil(10.0 * self.spread + 10.0) + 1)  # odd: z^e is never -1
        self.all_orders = self.circle >= full
        self.equal = bool(np.all(self.exponent == 1.0))

    def probability(self, s: FloatArray, t: FloatArray) -> FloatArray:
        """H(s, t), given that no exact label lies between s and t."""
        return self._coefficient(s, t, slope=False)

    def _coefficient(self, s: FloatArray, t: FloatArray, slope: bool) -> FloatArray:
        """H, or with `slope` -dH/dt, the density of the upper middle value at t while the lower one is at most s."""
        out = np.zeros(s.shape)
        target = self.half - self.taken[np.searchsorted(self.exact, s, side="right")]
        rows = max(1, _CHUNK // self.size.size)
        for start in range(0, s.size, rows):
            part = slice(start, start + rows)
            low = below(np.maximum(s[part], 0.0)[:, None], self.size, self.sigma)
            high = np.maximum(above(t[part, None], self.size, self.sigma), 1e-290)
            f = density(t[part, None], self.size, self.sigma) if slope else None
            total, largest = np.zeros(low.shape[0]), 0.0
            with np.errstate(under="ignore"):
                for j in range(self.circle // 2 + 1):
                    angle = 2.0 * math.pi * j / self.circle
                    factors = low * np.exp(1j * angle * self.exponent) + high
                    value = np.prod(factors, axis=1)
                    if f is not None:
                        value *= np.add.reduce(f / factors, axis=1)
                    size = float(np.max(np.abs(value)))
                    largest = max(largest, size)
                    if self.equal and size < 1e-18 * largest:
                        break  # what follows is smaller still
                    turned = (value * np.exp(-1j * angle * target[part])).real
                    total += turned if j == 0 else 2.0 * turned
                if not self.all_orders:
                    # far from the target the coefficient is nothing but its own alias
                    mean = np.add.reduce(self.exponent * low / (low + high), axis=1)
                    total[np.abs(mean - target[part]) > 9.0 * self.spread] = 0.0
            out[part] = np.maximum(total, 0.0) / self.circle
        out[(target < 0) | (target > np.sum(self.exponent))] = 0.0
        return out

    def reach(self, x: float) -> tuple[float, bool]:
        """How far the gap around x may extend on either side, and whether an exact label above x ends it."""
        i = int(np.searchsorted(self.exact, x, side="right"))
        under = x - float(self.exact[i - 1]) if i > 0 else math.inf
        over = float(self.exact[i]) - x if i < self.exact.size else math.inf
        free = min(x, self.width)
        return min(under, over, free), over <= min(under, free)

    def rate(self, x: float) -> float:
        """Expected number of errors per unit length at x."""
        return float(np.sum(density(np.asarray(x), self.size, self.sigma)))

    def upper_nearer(self, x: float) -> float:
        """P(the middle values lie around x and the upper one is nearer)."""
        top, ends_above = self.reach(x)
        total = 0.0
        if top > 0:

            def integrand(u: FloatArray) -> FloatArray:
                return self._coefficient(x - u, x + u, slope=True)[None, :]

            total = float(integrate(integrand, self._edges(x, top), np.array([1e-13]))[0])
        return total + float(self.probability(np.array([x - top]), np.array([x + top]))[0]) if ends_above else total

    def mean_half_gap(self, x: float) -> float:
        """J(x) = int H(x - u, x + u) du for many random labels: nearly exponential, three Laguerre nodes do."""
        rate = 2.0 * self.rate(x)
        if rate == 0.0:
            return 0.0
        nodes, weights = _LAGUERRE
        u = nodes / rate
        return float(np.sum(weights * np.exp(nodes) * self.probability(x - u, x + u))) / rate

    def mean_square_half_gap(self) -> float:
        """E (half the gap)^2 on panels in s and t; H is smooth between exact labels."""
        inside = self.exact[(self.exact > self.low) & (self.exact < self.high)]
        blocks = np.unique(np.concatenate([[self.low], inside, [self.high]]))
        sharp = np.argsort(self.sigma)[:_MARKED]
        sharp = sharp[self.sigma[sharp] < 0.02 * self.width]
        marks = self.size[sharp] + self.sigma[sharp] * np.array([[-6.0], [0.0], [6.0]])
        total = 0.0
        for low, high in itertools.pairwise(blocks):
            count = 1 + math.ceil(12.0 * (high - low) / self.width)
            within = marks[(marks > low) & (marks < high)]
            edges = np.unique(np.concatenate([np.linspace(low, high, count + 1), within]))
            total += self._block(edges)
        return 0.5 * total

    def _block(self, edges: FloatArray) -> float:
        """int_{s<t} H over the triangle between the first and the last edge."""
        nodes, weights = _LEGENDRE
        unit, weight = 0.5 * (1.0 + nodes), 0.5 * weights
        start, length = edges[:-1], np.diff(edges)
        s = (start[:, None] + length[:, None] * unit).ravel()
        ws = (length[:, None] * weight).ravel()
        # panels on the diagonal are triangles: t from s to the end of the panel
        rest = np.repeat(edges[1:], nodes.size) - s
        t = s[:, None] + rest[:, None] * unit
        total = np.sum(ws[:, None] * rest[:, None] * weight * self._on(s[:, None], t))
        panel = np.repeat(np.arange(start.size), nodes.size)
        for j in range(1, start.size):
            # H grows with s and falls with t: panels whose nearest corner has nothing have nothing
            most = self.probability(edges[1 : j + 1], np.full(j, start[j]))
            before = np.isin(panel, np.flatnonzero(most > 1e-14))
            upper = start[j] + length[j] * unit
            values = self._on(s[before][:, None], np.broadcast_to(upper, (int(before.sum()), upper.size)))
            total += np.sum(ws[before][:, None] * length[j] * weight * values)
        return float(total)

    def _on(self, s: FloatArray, t: FloatArray) -> FloatArray:
        s = np.broadcast_to(s, t.shape)
        return self.probability(s.ravel(), t.ravel()).reshape(t.shape)

    def _edges(self, x: float, top: float) -> FloatArray:
        """Where H may bend: geometric steps from the typical gap on, and labels with a sharp error."""
        steps = np.array([0.5, 2.0, 6.0, 20.0]) / max(self.rate(x), 1.0 / self.width)
        sharp = np.flatnonzero(self.sigma < 0.02 * self.width)
        distance = np.abs(self.size[sharp] - x)
        nearest = np.argsort(distance)[:_MARKED]
        marks = distance[nearest] + self.sigma[sharp[nearest]] * np.array([[-8.0], [0.0], [8.0]])
        return np.unique(np.clip(np.concatenate([[0.0, top], steps, marks.ravel()]), 0.0, top))
