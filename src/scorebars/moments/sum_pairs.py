"""Metrics that are functions of two sums: R2, explained variance, Pearson's and the concordance correlation.

With weights w, true values (or labels) t, predictions p, and bars for weighted means:

    R2                   1 - X/Y        X = sum w (t - p)^2             Y = sum w (t - tbar)^2
    explained variance   1 - X/Y        X = sum w (t - p - mean)^2      Y = sum w (t - tbar)^2
    concordance          X/Y            X = 2 sum w (p - pbar) t        Y = sum w [(t - pbar)^2 + (p - pbar)^2]
    Pearson              X/sqrt(Y)      X = sum w (p - pbar) t / |p|    Y = sum w (t - tbar)^2,  |p|^2 = sum w (p - pbar)^2
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.moments.label_noise import QuadraticSums

Kind = Literal["lost", "ratio", "root"]


def value_of(kind: Kind, x: float, y: float) -> float:
    """1 - x/y, x/y or x/sqrt(y)."""
    return 1.0 - x / y if kind == "lost" else x / y if kind == "ratio" else x / math.sqrt(y)


def slope_of(kind: Kind, x: float, y: float) -> FloatArray:
    """Its derivatives by x and y."""
    if kind == "root":
        return np.array([1.0, -0.5 * x / y]) / math.sqrt(y)
    sign = -1.0 if kind == "lost" else 1.0
    return sign * np.array([1.0, -x / y]) / y


class SumPair(ABC):
    """One metric as a function of two sums."""

    kind: ClassVar[Kind]
    square: ClassVar[tuple[float, float]]
    centred: ClassVar[tuple[float, float]]

    @abstractmethod
    def sums(self, t: FloatArray, p: FloatArray, w: FloatArray) -> tuple[float, float]:
        """X and Y of these values."""

    @abstractmethod
    def slopes(self, t: FloatArray, p: FloatArray, w: FloatArray) -> FloatArray:
        """(2, n): half the derivatives of X and Y by each value."""

    @abstractmethod
    def items(self, t: FloatArray, p: FloatArray, w: FloatArray, v: FloatArray | float) -> FloatArray:
        """(2, n): what each item contributes to X and Y, squares of t lowered by v; predictions belong to the items."""

    def quadratic(self, t: FloatArray, p: FloatArray, w: FloatArray) -> QuadraticSums:
        """Both sums as quadratic forms of the labels t."""
        return QuadraticSums(w, self.square, self.centred, self.slopes(t, p, w))

    def scatter(self, t: FloatArray, p: FloatArray, w: FloatArray, v: FloatArray | float) -> FloatArray:
        """Covariance (2, 2) of X and Y over test sets, from the scatter of their items."""
        terms = self.items(t, p, w, v)
        terms = terms - w * (terms.sum(axis=1) / w.sum())[:, None]
        n = int(np.count_nonzero(w))
        return np.asarray(terms @ terms.T * (n / max(n - 1, 1)))


def _about_mean(x: FloatArray, w: FloatArray) -> FloatArray:
    return x - float(w @ x) / float(w.sum())


class R2Sums(SumPair):
    """Squared residuals over squared deviations from the mean."""

    kind, square, centred = "lost", (1.0, 1.0), (0.0, 1.0)

    def _residual(self, t: FloatArray, p: FloatArray, w: FloatArray) -> FloatArray:
        return t - p

    def sums(self, t: FloatArray, p: FloatArray, w: FloatArray) -> tuple[float, float]:
        return float(w @ np.square(self._residual(t, p, w))), float(w @ np.square(_about_mean(t, w)))

    def slopes(self, t: FloatArray, p: FloatArray, w: FloatArray) -> FloatArray:
        return np.stack([w * self._residual(t, p, w), w * _about_mean(t, w)])

    def items(self, t: FloatArray, p: FloatArray, w: FloatArray, v: FloatArray | float) -> FloatArray:
        return np.stack([w * (np.square(self._residual(t, p, w)) - v), w * (np.square(_about_mean(t, w)) - v)])


class ExplainedVarianceSums(R2Sums):
    """The same with residuals about their mean."""

    centred = (1.0, 1.0)

    def _residual(self, t: FloatArray, p: FloatArray, w: FloatArray) -> FloatArray:
        return _about_mean(t - p, w)


class ConcordanceSums(SumPair):
    """Twice the covariance over both variances and the squared difference of the means."""

    kind, square, centred = "ratio", (0.0, 1.0), (0.0, 0.0)

    def sums(self, t: FloatArray, p: FloatArray, w: FloatArray) -> tuple[float, float]:
        centre = float(w @ p) / float(w.sum())
        q = p - centre
        return 2.0 * float(w @ (q * _about_mean(t, w))), float(w @ (np.square(t - centre) + np.square(q)))

    def slopes(self, t: FloatArray, p: FloatArray, w: FloatArray) -> FloatArray:
        centre = float(w @ p) / float(w.sum())
        return np.stack([w * (p - centre), w * (t - centre)])

    def items(self, t: FloatArray, p: FloatArray, w: FloatArray, v: FloatArray | float) -> FloatArray:
        centre = float(w @ p) / float(w.sum())
        q, apart = p - centre, float(w @ (t - centre)) / float(w.sum())
        y = np.square(t - centre) - v + np.square(q) - 2.0 * apart * q
        return np.stack([2.0 * w * q * _about_mean(t, w), w * y])


class PearsonSums(SumPair):
    """The covariance in units of the predictions' scatter, over the root of the labels' scatter."""

    kind, square, centred = "root", (0.0, 1.0), (0.0, 1.0)

    def _direction(self, p: FloatArray, w: FloatArray) -> FloatArray:
        q = _about_mean(p, w)
        return q / math.sqrt(float(w @ np.square(q)))

    def sums(self, t: FloatArray, p: FloatArray, w: FloatArray) -> tuple[float, float]:
        about = _about_mean(t, w)
        return float(w @ (self._direction(p, w) * about)), float(w @ np.square(about))

    def slopes(self, t: FloatArray, p: FloatArray, w: FloatArray) -> FloatArray:
        return np.stack([0.5 * w * self._direction(p, w), w * _about_mean(t, w)])

    def items(self, t: FloatArray, p: FloatArray, w: FloatArray, v: FloatArray | float) -> FloatArray:
        q, about = self._direction(p, w), _about_mean(t, w)
        x = q * about
        return np.stack([w * (x - 0.5 * float(w @ x) * np.square(q)), w * (np.square(about) - v)])
