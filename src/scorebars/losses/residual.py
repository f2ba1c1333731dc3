"""Losses of the residual y - p."""

from __future__ import annotations

import math

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.losses.base import Loss, Pieces


class SquaredError(Loss):
    """(y - p)^2"""

    of_residual = True
    degree = 2

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.square(y - p)

    def sublevel(self, p: float, t: float) -> Pieces:
        return [(p - math.sqrt(t), p + math.sqrt(t))]


class AbsoluteError(Loss):
    """|y - p|"""

    of_residual = True
    degree = 1

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.abs(y - p)

    def kinks(self, p: FloatArray) -> FloatArray:
        return p[None]

    def sublevel(self, p: float, t: float) -> Pieces:
        return [(p - t, p + t)]


class SignedError(Loss):
    """p - y: positive where the prediction is too high"""

    of_residual = True
    degree = 1

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.subtract(p, y)

    def sublevel(self, p: float, t: float) -> Pieces:
        return [(p - t, math.inf)]


class Pinball(Loss):
    """alpha (y - p) where the label is above the prediction, (1 - alpha) (p - y) where it is below"""

    of_residual = True
    degree = 1

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        d = y - p
        return np.where(d >= 0, self.alpha * d, (self.alpha - 1.0) * d)

    def kinks(self, p: FloatArray) -> FloatArray:
        return p[None]

    def sublevel(self, p: float, t: float) -> Pieces:
        down = t / (1.0 - self.alpha) if self.alpha < 1 else math.inf
        return [(p - down, p + t / self.alpha if self.alpha > 0 else math.inf)]


class Huber(Loss):
    """(y - p)^2 / 2 up to delta, then delta (|y - p| - delta/2)"""

    of_residual = True

    def __init__(self, delta: float) -> None:
        self.delta = delta

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        size = np.abs(y - p)
        inner = np.minimum(size, self.delta)
        return inner * (size - 0.5 * inner)

    def kinks(self, p: FloatArray) -> FloatArray:
        return np.stack([p - self.delta, p + self.delta])

    def sublevel(self, p: float, t: float) -> Pieces:
        reach = math.sqrt(2.0 * t) if t <= self.delta * self.delta / 2 else t / self.delta + self.delta / 2
        return [(p - reach, p + reach)]


class LogCosh(Loss):
    """log cosh(y - p)"""

    of_residual = True

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        size = np.abs(y - p)
        near = np.minimum(size, 1.0)
        # log cosh x = log1p(2 sinh(x/2)^2) keeps the digits of small residuals, |x| - log 2 + ... the range of large ones
        small = np.log1p(2.0 * np.square(np.sinh(near / 2)))
        return np.where(size <= 1.0, small, size - math.log(2.0) + np.log1p(np.exp(-2.0 * size)))

    def kinks(self, p: FloatArray) -> FloatArray:
        """No kinks, but where a wide error meets the narrow bend at the prediction."""
        return np.add.outer(np.array([-20.0, -4.0, 0.0, 4.0, 20.0]), p)

    def sublevel(self, p: float, t: float) -> Pieces:
        reach = t + math.log1p(math.sqrt(-math.expm1(-2.0 * t)))
        return [(p - reach, p + reach)]


class Within(Loss):
    """1 where |y - p| <= tolerance, else 0"""

    of_residual = True
    continuous = False

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.where(np.abs(y - p) <= self.tolerance, 1.0, 0.0)

    def kinks(self, p: FloatArray) -> FloatArray:
        return np.stack([p - self.tolerance, p + self.tolerance])
