"""A continuous law tabulated by its normal score.

The law of a median of many labels is nearly normal: the score Phi^{-1}(P(X <= x)) is nearly a straight line in x, and a
polynomial through a few dozen costly probabilities has it everywhere. Beyond six standard deviations the line is
continued.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import ndtr, ndtri

from scorebars.laws.panels import interpolation_points
from scorebars.special import g, g2

_POINTS, _DEGREE = 49, 24
_GOOD = 1e-9


class ScoreTable:
    """Scores between low and high from `tails`, which gives P(X <= x) and P(X > x); `good` if they are a smooth curve."""

    def __init__(self, low: float, high: float, tails: Callable[[float], tuple[float, float]]) -> None:
        self.low, self.high = low, high
        points = interpolation_points(low, high, _POINTS)
        check = low + (high - low) * np.array([0.23, 0.41, 0.55, 0.68])
        scores = np.array([_score(*tails(float(x))) for x in points])
        self.good = bool(np.all(np.isfinite(scores)))
        if self.good:
            # far out a probability has fewer digits: weigh it less
            weight = np.exp(-0.25 * np.minimum(np.square(scores), 60.0))
            self._curve = Chebyshev.fit(points, scores, _DEGREE, domain=[low, high], w=weight)
            exact = np.array([tails(float(x))[0] for x in check])
            self.good = bool(np.all(np.abs(ndtr(self._curve(check)) - exact) < _GOOD))

    def score(self, x: float) -> float:
        """Normal score of P(X <= x)."""
        edge = min(max(x, self.low), self.high)
        return float(self._curve(edge)) + (x - edge) * self._slope(edge)

    def _slope(self, x: float) -> float:
        return max(float(self._curve.deriv()(x)), 0.0)

    def tails(self, x: float) -> tuple[float, float]:
        """P(X <= x) and P(X > x)."""
        score = self.score(x)
        return float(ndtr(score)), float(ndtr(-score))

    def moments(self) -> tuple[float, float]:
        """Mean and variance: E(X - low) = int P(X > x) dx inside, and the normal's own tails outside."""
        nodes, weights = np.polynomial.legendre.leggauss(80)
        width = self.high - self.low
        u = 0.5 * (1.0 + nodes)
        over = 0.5 * weights * ndtr(-self._curve(self.low + width * u))
        first, second = float(np.sum(over)), float(np.sum(2.0 * u * over))
        for edge, side in ((self.high, 1.0), (self.low, -1.0)):
            scale = 1.0 / (width * max(self._slope(edge), 1e-300))
            distance = abs(self.score(edge))
            beyond, square = 0.5 * scale * g(distance), scale * scale * g2(distance)
            first += side * beyond
            second += square + (2.0 * beyond if side > 0 else 0.0)
        return self.low + width * first, width * width * max(second - first * first, 0.0)


def _score(under: float, over: float) -> float:
    if under < over:
        return float(ndtri(under)) if under > 0 else -math.inf
    return -float(ndtri(over)) if over > 0 else math.inf
