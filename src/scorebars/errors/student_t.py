"""Student errors: now and then a label is off by far."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from scipy.special import beta, stdtr, stdtrit

from scorebars.errors.base import FloatArray, picked
from scorebars.errors.continuous import Symmetric
from scorebars.errors.parameters import common_size, described, positive

_RATIO = (1.0, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144, 869 / 4194304, 39325 / 33554432)


def _inverse_beta(a: FloatArray) -> FloatArray:
    """1 / B(1/2, a); for large a by the asymptotic series of Gamma(a + 1/2) / Gamma(a), which keeps all digits."""
    large = np.sqrt(a / math.pi) * np.polynomial.polynomial.polyval(1.0 / np.maximum(a, 50.0), _RATIO)
    return np.where(a > 50.0, large, 1.0 / beta(0.5, np.minimum(a, 50.0)))


class StudentT(Symmetric):
    r"""Student's t errors with `df` degrees of freedom: heavy tails, as with rare gross errors.

    Moments exist below the order `df` only: the mean absolute error needs df > 1, the mean squared error and the
    variance of the mean absolute error df > 2, the variance of the mean squared error df > 4. What does not exist is
    reported as infinite.

    Parameters
    ----------
    scale : number or (n,)
        Scale of each label's error, as `scale` in `scipy.stats.t`. It is not the standard deviation, which is
        :math:`scale\sqrt{df/(df-2)}` for df > 2.
    df : number or (n,)
        Degrees of freedom.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.StudentT(0.5, df=4)
    StudentT(scale=0.5, df=4)
    """

    parameter = "scale"
    edges = (*(-(4.0**k) for k in range(24, 0, -1)), -1.5, 0.0, 1.5, *(4.0**k for k in range(1, 25)))
    algebraic_tails = True

    df: FloatArray | float

    def __init__(self, scale: Any, df: Any, *, kind: str = "classical") -> None:
        super().__init__(scale, kind)
        self.df = positive(df, "df", "df is the number of degrees of freedom")
        common_size(scale=self.width, df=self.df)

    @property
    def scale(self) -> FloatArray | float:
        """Scale of each label's error."""
        return self.width

    @property
    def size(self) -> int | None:
        return common_size(scale=self.width, df=self.df)

    def _with_width(self, width: FloatArray | float) -> Self:
        part = super()._with_width(width)
        part.df = self.df
        return part

    def _part(self, index: Any) -> Self:
        part = super()._part(index)
        part.df = picked(self.df, index)
        return part

    def _moment(self, y: FloatArray, order: int, standard: FloatArray) -> FloatArray:
        """A moment of the family where df allows it, infinite elsewhere; 0 for a label without error."""
        exists = np.greater(self.df, order)
        value = np.where(exists, standard * np.power(self.width, order), np.inf)
        return np.broadcast_to(np.where(np.equal(self.width, 0.0), 0.0, value), y.shape)

    def mean(self, y: FloatArray) -> FloatArray:
        return y + self._moment(y, 1, np.zeros(1))

    def variance(self, y: FloatArray) -> FloatArray:
        df = np.asarray(self.df)
        return self._moment(y, 2, df / np.where(df > 2, df - 2, 1.0))

    def third(self, y: FloatArray) -> FloatArray:
        return self._moment(y, 3, np.zeros(1))

    def fourth(self, y: FloatArray) -> FloatArray:
        df = np.asarray(self.df)
        return self._moment(y, 4, 3.0 * (df / np.where(df > 4, df - 2, 1.0)) * (df / np.where(df > 4, df - 4, 1.0)))

    def _power(self, u: FloatArray, exponent: FloatArray) -> FloatArray:
        """(1 + u^2/df)^(-exponent/2) / B(1/2, df/2)."""
        df = np.asarray(self.df)
        near = np.minimum(np.abs(u), 1e100)  # beyond, the 1 does not count; squares stay in range
        stretch = np.log(np.maximum(np.abs(u) / np.maximum(near, 1.0), 1.0))
        return np.exp(-exponent * (0.5 * np.log1p(np.square(near) / df) + stretch)) * _inverse_beta(df / 2)

    def density(self, u: FloatArray) -> FloatArray:
        return self._power(u, np.asarray(self.df) + 1.0) / np.sqrt(self.df)

    def _upper(self, u: FloatArray) -> FloatArray:
        return np.asarray(stdtr(self.df, -u))

    def _quantile(self, q: FloatArray) -> FloatArray:
        upper = np.greater(q, 0.5)  # 1 - q keeps its digits where q is read from above
        u = np.asarray(stdtrit(self.df, np.where(upper, 1.0 - np.asarray(q), q)))
        return np.where(np.equal(q, 0.5), 0.0, np.where(upper, -u, u))

    def gain(self, z: FloatArray) -> FloatArray:
        """2 [f(z)(df + z^2)/(df - 1) - z P(U > z)]."""
        df = np.asarray(self.df)
        few = df <= 1
        with np.errstate(invalid="ignore"):
            far = np.where(np.isfinite(z), z * self._upper(z), 0.0)
        near = np.sqrt(df) * self._power(z, df - 1.0) / np.where(few, 1.0, df - 1.0)
        return np.where(few, math.inf, 2.0 * np.maximum(near - far, 0.0))

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return y + self.width * rng.standard_t(self.df, (size, len(y)))

    def __repr__(self) -> str:
        return described("StudentT", self.kind, scale=self.width, df=self.df)
