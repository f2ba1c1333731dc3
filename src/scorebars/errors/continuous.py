"""Families with a density: what they share, and the symmetric ones that only differ in their standard law.

A fresh label is a monotone function of a standard coordinate u, for example y + sigma u. The family knows the density of
u, smooth between its `edges`; that is all that probabilities and integrals over labels need.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from scorebars.errors.base import FloatArray, MeasurementError, check_kind, picked
from scorebars.errors.parameters import described, non_negative

NO_ERROR = 1e-300
"""Smaller widths cannot be divided by: the label is as good as exact."""


def divisible(width: FloatArray | float) -> FloatArray:
    """The width where it can be divided by, else 1."""
    return np.where(np.greater(width, NO_ERROR), width, 1.0)


class Continuous(MeasurementError):
    """A family with a density. Arguments `u` and `x` have shape (..., n), one column for each label."""

    edges: ClassVar[tuple[float, ...]]
    """Where panels of an integral over u begin and end: the density is smooth in each, and negligible outside."""

    additive: ClassVar[bool] = True
    """Whether the error is added to the label whatever the label is, so that only residuals count."""

    bounded: ClassVar[bool] = False
    """Whether labels beyond the last edges are impossible."""

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
    def exact(self, y: FloatArray) -> NDArray[np.bool_]:
        """Whether each label has no error at all."""

    @abstractmethod
    def density(self, u: FloatArray) -> FloatArray:
        """Density of the standard coordinate."""

    @abstractmethod
    def _lower(self, u: FloatArray) -> FloatArray:
        """P(U <= u)."""

    @abstractmethod
    def _upper(self, u: FloatArray) -> FloatArray:
        """P(U > u)."""

    @abstractmethod
    def _quantile(self, q: FloatArray) -> FloatArray:
        """The coordinate below which U falls with probability q."""

    def cdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return np.where(self.exact(y), 1.0 * (y <= x), self._lower(self.coordinate(y, x)))

    def sf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return np.where(self.exact(y), 1.0 * (y > x), self._upper(self.coordinate(y, x)))

    def below(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return np.where(self.exact(y), 1.0 * (y < x), self._lower(self.coordinate(y, x)))

    def at_least(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return np.where(self.exact(y), 1.0 * (y >= x), self._upper(self.coordinate(y, x)))

    def pdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            smooth = self.density(self.coordinate(y, x)) * self.slope(y, x)
        return np.where(self.exact(y), np.where(x == y, np.inf, 0.0), smooth)

    def ppf(self, y: FloatArray, q: FloatArray) -> FloatArray:
        return np.where(self.exact(y), y, self.at(y, self._quantile(q)))


class Symmetric(Continuous):
    """label = y + width U, with U symmetric about 0 and of the family's standard law."""

    parameter: ClassVar[str]
    """What the width is called in the signature of the family."""

    standard_moments: ClassVar[tuple[float, float]]
    """Variance and fourth moment of U."""

    width: FloatArray | float

    def __init__(self, width: Any, kind: str) -> None:
        self.kind = check_kind(kind)
        self.width = non_negative(width, self.parameter, f"{self.parameter} says how far a label may be off")

    @property
    def size(self) -> int | None:
        return len(self.width) if isinstance(self.width, np.ndarray) else None

    def _with_width(self, width: FloatArray | float) -> Self:
        part = type(self).__new__(type(self))
        part.kind, part.width = self.kind, width
        return part

    def _part(self, index: Any) -> Self:
        return self._with_width(picked(self.width, index))

    def scaled(self, factor: float) -> Self:
        """The errors of the labels multiplied by `factor`."""
        return self._with_width(self.width * factor)

    def largest(self, y: FloatArray) -> float:
        return float(np.max(self.width))

    def at(self, y: FloatArray, u: FloatArray) -> FloatArray:
        return y + self.width * u

    def coordinate(self, y: FloatArray, x: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray((x - y) / divisible(self.width))

    def slope(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return 1.0 / divisible(self.width)

    def exact(self, y: FloatArray) -> NDArray[np.bool_]:
        return np.broadcast_to(np.less_equal(self.width, NO_ERROR), y.shape)

    def mean(self, y: FloatArray) -> FloatArray:
        return y

    def variance(self, y: FloatArray) -> FloatArray:
        return np.broadcast_to(self.standard_moments[0] * np.square(self.width), y.shape)

    def third(self, y: FloatArray) -> FloatArray:
        return np.zeros_like(y)

    def fourth(self, y: FloatArray) -> FloatArray:
        return np.broadcast_to(self.standard_moments[1] * np.square(np.square(self.width)), y.shape)

    def _lower(self, u: FloatArray) -> FloatArray:
        return self._upper(-u)

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[Self, FloatArray]:
        return self._with_width(self.width * np.sqrt(level)), y

    @abstractmethod
    def gain(self, z: FloatArray) -> FloatArray:
        """E|U - z| - z for z >= 0: what the label error adds to an absolute error, in units of the width."""

    def __repr__(self) -> str:
        return described(type(self).__name__, self.kind, **{self.parameter: self._shown})

    @property
    def _shown(self) -> FloatArray | float:
        return self.width
