"""Measurement errors with a density: a fresh label is a monotone function of a standard coordinate u, for example y + sigma u.

A family knows the density of u, smooth between its `edges`. Probabilities and integrals over labels need no more. The
standard distribution is the normal one unless a family says otherwise.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from scorebars.arrays import BoolArray, FloatArray
from scorebars.errors.measurement_error import MeasurementError

NO_ERROR = 1e-300
"""A smaller width cannot be divided by; the label is then taken as exact."""


def divisible(width: FloatArray | float) -> FloatArray:
    """The width where it can be divided by, else 1."""
    return np.where(np.greater(width, NO_ERROR), width, 1.0)


def normal_density(u: FloatArray) -> FloatArray:
    """Density of the standard normal distribution."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(-0.5 * np.square(u)) / math.sqrt(2 * math.pi))


class Continuous(MeasurementError):
    """A family with a density. Arguments `u` and `x` have shape (..., n), one column for each label."""

    edges: ClassVar[tuple[float, ...]] = (-38.0, -12.0, -6.0, -3.0, 0.0, 3.0, 6.0, 12.0, 38.0)
    """Where panels of an integral over u begin and end: the density is smooth in each, and negligible outside."""

    additive: ClassVar[bool] = True
    """Whether the error is added to the label whatever the label is, so that only residuals count."""

    algebraic_tails: ClassVar[bool] = False
    """Whether the density falls off like a power of u, so that what lies beyond the last edge must be extrapolated."""

    @abstractmethod
    def at(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """The label at the standard coordinate u."""

    @abstractmethod
    def coordinate(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """The standard coordinate of the label x; infinite where x is out of reach."""

    @abstractmethod
    def slope(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """du/dx at the label x."""

    @abstractmethod
    def exact(self, y: FloatArray) -> BoolArray:
        """Whether each label has no error at all."""

    def kinks(self, n: int) -> FloatArray:
        if not self.additive:
            return super().kinks(n)
        return np.stack([self.at(np.zeros(n), np.full(n, edge)) for edge in self.edges])

    def density(self, u: FloatArray) -> FloatArray:
        """Density of the standard coordinate."""
        return normal_density(u)

    def _upper(self, u: FloatArray) -> FloatArray:
        """P(U > u)."""
        return np.asarray(ndtr(-u))

    def _lower(self, u: FloatArray) -> FloatArray:
        """P(U <= u)."""
        return self._upper(-u)

    def _quantile(self, q: FloatArray) -> FloatArray:
        """The coordinate below which U falls with probability q."""
        return np.asarray(ndtri(q))

    def cdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return np.where(self.exact(y), 1.0 * (y <= x), self._lower(self.coordinate(y, x)))

    def sf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return np.where(self.exact(y), 1.0 * (y > x), self._upper(self.coordinate(y, x)))

    def pdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            smooth = self.density(self.coordinate(y, x)) * self.slope(y, x)
        return np.where(self.exact(y), np.where(x == y, np.inf, 0.0), smooth)

    def ppf(self, y: FloatArray, q: FloatArray) -> FloatArray:
        return np.where(self.exact(y), y, self.at(y, self._quantile(q)))


class LocationScale(Continuous):
    """label = y + width U, with U symmetric about 0 and of the family's standard distribution."""

    standard_moments: ClassVar[tuple[float, float]]
    """Variance and fourth moment of U."""

    @property
    @abstractmethod
    def width(self) -> FloatArray | float:
        """What U is multiplied by."""

    def at(self, y: FloatArray, u: FloatArray) -> FloatArray:
        return y + self.width * u

    def coordinate(self, y: FloatArray, x: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray((x - y) / divisible(self.width))

    def slope(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return 1.0 / divisible(self.width)

    def exact(self, y: FloatArray) -> BoolArray:
        return np.broadcast_to(np.less_equal(self.width, NO_ERROR), y.shape)

    def largest(self, y: FloatArray) -> float:
        return float(np.max(self.width))

    def variance(self, y: FloatArray) -> FloatArray:
        return np.broadcast_to(self.standard_moments[0] * np.square(self.width), y.shape)

    def fourth(self, y: FloatArray) -> FloatArray:
        return np.broadcast_to(self.standard_moments[1] * np.square(np.square(self.width)), y.shape)
