"""Losses that compare label and prediction by their ratio."""

from __future__ import annotations

import math

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.losses.base import Loss, Pieces

SMALLEST_LABEL = float(np.finfo(np.float64).eps)
"""Below this size of a label scikit-learn divides by this number instead."""


class PercentageError(Loss):
    """|y - p| / |y|, with at least 2.2e-16 in the denominator"""

    degree = 0

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(np.abs(y - p) / np.maximum(np.abs(y), SMALLEST_LABEL))

    def kinks(self, p: FloatArray) -> FloatArray:
        return np.stack([p, np.zeros_like(p)])

    def sublevel(self, p: float, t: float) -> Pieces:
        """Up to t < 1 the labels between p/(1+t) and p/(1-t); from 1 on all but those between p/(1-t) and p/(1+t)."""
        if p == 0:
            return [(0.0, 0.0)] if t < 1 else [(-math.inf, math.inf)]
        near = p / (1.0 + t)
        far = math.copysign(math.inf, p) if t == 1 else p / (1.0 - t)
        if t <= 1:
            return [(min(near, far), max(near, far))]
        return [(-math.inf, min(near, far)), (max(near, far), math.inf)]


class SymmetricPercentage(Loss):
    """2 |y - p| / (|y| + |p|), and 0 where both are 0"""

    degree = 0

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        y, p = np.asarray(y, float) / 2, np.asarray(p, float) / 2  # halves: the sum of two large numbers stays finite
        total = np.abs(y) + np.abs(p)
        return np.asarray(2.0 * (np.abs(y - p) / np.where(total > 0, total, 1.0)))

    def kinks(self, p: FloatArray) -> FloatArray:
        return np.stack([p, np.zeros_like(p)])

    def sublevel(self, p: float, t: float) -> Pieces:
        if t >= 2:
            return [(-math.inf, math.inf)]
        ratio = (2.0 - t) / (2.0 + t)
        return [(min(p * ratio, p / ratio), max(p * ratio, p / ratio))]


class SquaredLogError(Loss):
    """(log(1 + y) - log(1 + p))^2; labels at or below -1 have no logarithm: infinite"""

    least_label = -1.0

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        defined = np.greater(y, -1.0)
        return np.where(defined, np.square(np.log1p(np.where(defined, y, 0.0)) - np.log1p(p)), math.inf)

    def kinks(self, p: FloatArray) -> FloatArray:
        return np.full((1, len(p)), -1.0)

    def sublevel(self, p: float, t: float) -> Pieces:
        centre, reach = math.log1p(p), math.sqrt(t)
        return [(math.expm1(centre - reach), math.expm1(centre + reach) if centre + reach < 709 else math.inf)]
