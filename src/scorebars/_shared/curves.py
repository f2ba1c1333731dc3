"""The distribution of a metric as a curve to draw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from scorebars.arrays import FloatArray
from scorebars.laws.law import Law

_BINS = 48
_POINTS = 97


class Curve(NamedTuple):
    """Heights of a distribution: densities at the points `x`, or probabilities of the bins between the edges `x`."""

    x: FloatArray
    height: FloatArray
    binned: bool


def law_curve(law: Law, low: float, high: float, n: int) -> Curve:
    """The distribution of a metric of n labels between two values, from a few values of its distribution function.

    Single values, as counts have them, and draws are taken together in bins. Else the normal scores of the distribution
    function are a smooth curve, nearly a straight line for many labels: 9 of them give the density to 0.02 % of its
    peak for 100 labels or more, 25 of them to 2 % for 10 labels (squared, absolute, R2 and Pearson).
    """
    if law.discrete or law.method.startswith("simul"):
        step = 1.0 / n if law.discrete else (high - low) / _BINS
        # bins hold equally many multiples of 1/n, the values that shares of n labels take: else the bars would alias
        width = step * max(1, round((high - low) / step / _BINS))
        start = (np.floor(low * n) - 0.5) / n if law.discrete else low
        edges = np.arange(start, high + width, width)
        return Curve(edges, np.diff(np.asarray(law.cdf(edges), dtype=np.float64)), True)
    from scipy.interpolate import CubicSpline  # not before it is needed: it loads half of SciPy

    knots = np.linspace(low, high, 9 if n >= 100 else 25)
    scores = ndtri(np.asarray(law.cdf(knots), dtype=np.float64))
    known = np.abs(scores) < 7.5  # beyond, 1 - cdf has lost its digits, and nothing is to be seen
    if np.count_nonzero(known) < 2:
        return Curve(knots, np.zeros_like(knots), False)
    score = CubicSpline(knots[known], scores[known])
    x = np.linspace(knots[known][0], knots[known][-1], _POINTS)
    return Curve(x, np.maximum(np.exp(-0.5 * score(x) ** 2) / np.sqrt(2 * np.pi) * score(x, 1), 0.0), False)
