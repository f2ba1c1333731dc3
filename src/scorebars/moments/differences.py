"""Difference of the losses of two models on the same label: noise that both share cancels.

For predictions a and b of one label, the squared losses differ by (b - a)(2 y - a - b), linear in the label. The absolute
losses differ by +-(2 clip(y, lo, hi) - a - b) with lo, hi the smaller and larger prediction: under normal errors a clipped
normal, whose moments are closed.
"""

from __future__ import annotations

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.moments.closed import Moments
from scorebars.special import folded_mean, g, g2


def squared_difference(mean: FloatArray, variance: FloatArray, a: FloatArray, b: FloatArray) -> Moments:
    """(y - a)^2 - (y - b)^2 for labels of any law with this mean and variance."""
    gap = b - a
    return Moments(gap * (2.0 * mean - a - b), 4.0 * np.square(gap) * variance)


def absolute_difference(y: FloatArray, sigma: FloatArray, a: FloatArray, b: FloatArray) -> Moments:
    """|x - a| - |x - b| for normal labels x ~ N(y, sigma^2)."""
    mean = folded_mean(y - a, sigma) - folded_mean(y - b, sigma)
    exact = sigma == 0
    spread = np.where(exact, 1.0, sigma)
    low, high = np.minimum(a, b), np.maximum(a, b)
    mirrored = 2.0 * y > low + high  # the label is nearer the larger prediction: look from the other side
    alpha = np.where(mirrored, y - high, low - y) / spread
    beta = np.where(mirrored, y - low, high - y) / spread
    first = _above(alpha) - _above(beta)
    second = g2(alpha) - g2(beta) - 2.0 * (beta - alpha) * _above(beta)
    clipped = np.maximum(second - np.square(first), 0.0)
    return Moments(mean, np.where(exact, 0.0, 4.0 * np.square(spread) * clipped))


def _above(z: FloatArray) -> FloatArray:
    """E (Z - z)_+ for any sign of z."""
    return 0.5 * g(np.abs(z)) + np.maximum(-z, 0.0)
