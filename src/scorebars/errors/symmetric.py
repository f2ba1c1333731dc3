"""Symmetric errors: uniform, rounding, triangular, Laplace and Student's t. They differ only in their standard distribution."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import poch, stdtr, stdtrit

from scorebars.arrays import FloatArray
from scorebars.errors.continuous import LocationScale
from scorebars.errors.measurement_error import MeasurementError, check_kind
from scorebars.errors.parameters import non_negative, positive_parameter, require_common_size
from scorebars.numerics import FIXED_SEED


class OneWidth(LocationScale):
    """LocationScale families with one parameter that says how wide they are, the first of `per_label`."""

    def __init__(self, width: ArrayLike, kind: str) -> None:
        self.kind = check_kind(kind)
        name = self.per_label[0]
        setattr(self, name, non_negative(width, name, f"{name} says how far a label may be off"))

    @property
    def width(self) -> FloatArray | float:
        return getattr(self, self.per_label[0])

    def scaled(self, factor: FloatArray | float) -> Self:
        name = self.per_label[0]
        return self._changed(**{name: getattr(self, name) * factor})

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[Self, FloatArray]:
        return self.scaled(np.sqrt(level)), y

    @abstractmethod
    def gain(self, z: FloatArray) -> FloatArray:
        """E|U - z| - z for z >= 0: what the label error adds to an absolute error, in units of the width."""


class Tolerance(OneWidth):
    """Errors that end at +- `halfwidth`."""

    per_label = shown = ("halfwidth",)
    bounded = sharp = True

    halfwidth: FloatArray | float

    def __init__(self, halfwidth: ArrayLike, *, kind: str = "classical") -> None:
        super().__init__(halfwidth, kind)


class Uniform(Tolerance):
    r"""The label is anywhere within +- `halfwidth`, all values equally likely: a tolerance, a digital display.

    Parameters
    ----------
    halfwidth : number or (n,)
        Largest possible error of each label.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Notes
    -----
    The density is :math:`1/(2w)` within :math:`\pm w`, the standard deviation :math:`w/\sqrt3`.

    References
    ----------
    JCGM 100:2008, Guide to the expression of uncertainty in measurement, 4.3.7.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.Uniform(0.5)
    Uniform(halfwidth=0.5)
    """

    standard_moments = (1 / 3, 1 / 5)
    edges = (-1.0, 1.0)

    def density(self, u: FloatArray) -> FloatArray:
        return np.where(np.abs(u) <= 1.0, 0.5, 0.0)

    def _upper(self, u: FloatArray) -> FloatArray:
        return np.clip((1.0 - u) / 2, 0.0, 1.0)

    def _quantile(self, q: FloatArray) -> FloatArray:
        return 2.0 * q - 1.0

    def gain(self, z: FloatArray) -> FloatArray:
        return np.square(np.maximum(1.0 - z, 0.0)) / 2

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return y + self.width * rng.uniform(-1.0, 1.0, (size, len(y)))


class Rounding(Uniform):
    r"""Labels rounded to multiples of `step`: the error is uniform within +- step/2.

    Parameters
    ----------
    step : number or (n,)
        Distance of neighbouring values that a label may take, 0.1 for labels with one decimal.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Notes
    -----
    The standard deviation is :math:`step/\sqrt{12}` (Sheppard's correction).

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.Rounding(0.1)
    Rounding(step=0.1)
    """

    shown = ("step",)

    def __init__(self, step: ArrayLike, *, kind: str = "classical") -> None:
        super().__init__(non_negative(step, "step", "step says how far a label may be off"), kind=kind)
        self.halfwidth = self.halfwidth / 2

    @property
    def step(self) -> FloatArray | float:
        """Distance of neighbouring values that a label may take."""
        return 2.0 * self.halfwidth

    def without_ties(self, y: FloatArray) -> tuple[FloatArray, MeasurementError]:
        """Labels moved by lot within their step: rounding and lot together make a triangular error.

        That is independent of the true value, as rounding alone is not, and leaves no ties.
        """
        rng = np.random.default_rng(FIXED_SEED)
        return y + self.halfwidth * rng.uniform(-1.0, 1.0, len(y)), Triangular(self.step, kind=self.kind)


class Triangular(Tolerance):
    r"""The density falls linearly from the label to zero at +- `halfwidth`, as the sum of two equal tolerances does.

    Parameters
    ----------
    halfwidth : number or (n,)
        The error of each label at which the density ends.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Notes
    -----
    The density is :math:`(w - |e|)/w^2` within :math:`\pm w`, the standard deviation :math:`w/\sqrt6`.

    References
    ----------
    JCGM 100:2008, Guide to the expression of uncertainty in measurement, 4.3.9.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.Triangular(0.5)
    Triangular(halfwidth=0.5)
    """

    standard_moments = (1 / 6, 1 / 15)
    edges = (-1.0, 0.0, 1.0)

    def density(self, u: FloatArray) -> FloatArray:
        return np.maximum(1.0 - np.abs(u), 0.0)

    def _upper(self, u: FloatArray) -> FloatArray:
        tail = np.square(self.density(u)) / 2
        return np.where(u >= 0, tail, 1.0 - tail)

    def _quantile(self, q: FloatArray) -> FloatArray:
        return np.where(q <= 0.5, np.sqrt(2.0 * q) - 1.0, 1.0 - np.sqrt(2.0 * (1.0 - q)))

    def gain(self, z: FloatArray) -> FloatArray:
        return np.maximum(1.0 - z, 0.0) ** 3 / 3

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return y + self.width * rng.triangular(-1.0, 0.0, 1.0, (size, len(y)))


class Laplace(OneWidth):
    r"""The density falls exponentially on both sides of the label: heavier tails than the normal, a sharp peak.

    Parameters
    ----------
    scale : number or (n,)
        Mean absolute error of each label, as `scale` in `scipy.stats.laplace`.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Notes
    -----
    The density is :math:`e^{-|e|/b}/(2b)`, the standard deviation :math:`\sqrt2\,b`, with b = `scale`.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.Laplace(0.5)
    Laplace(scale=0.5)
    """

    per_label = shown = ("scale",)
    standard_moments = (2.0, 24.0)
    sharp = True
    edges = (-700.0, -150.0, -40.0, -12.0, -4.0, 0.0, 4.0, 12.0, 40.0, 150.0, 700.0)

    scale: FloatArray | float

    def __init__(self, scale: ArrayLike, *, kind: str = "classical") -> None:
        super().__init__(scale, kind)

    def density(self, u: FloatArray) -> FloatArray:
        return np.exp(-np.abs(u)) / 2

    def _upper(self, u: FloatArray) -> FloatArray:
        tail = self.density(u)
        return np.where(u >= 0, tail, 1.0 - tail)

    def _quantile(self, q: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.where(q <= 0.5, np.log(2.0 * q), -np.log(2.0 * (1.0 - q)))

    def gain(self, z: FloatArray) -> FloatArray:
        return np.exp(-z)

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return y + self.width * rng.laplace(0.0, 1.0, (size, len(y)))


class StudentT(OneWidth):
    r"""Student's t errors with `df` degrees of freedom: heavy tails, as with rare gross errors.

    Parameters
    ----------
    scale : number or (n,)
        Scale of each label's error, as `scale` in `scipy.stats.t`. It is not the standard deviation.
    df : number or (n,)
        Degrees of freedom.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Notes
    -----
    The standard deviation is :math:`scale\sqrt{df/(df-2)}` for df > 2. Moments exist below the order `df` only: the mean
    absolute error needs df > 1, the mean squared error and the variance of the mean absolute error df > 2, the variance
    of the mean squared error df > 4. What does not exist is reported as infinite.

    References
    ----------
    K. L. Lange, R. J. A. Little, J. M. G. Taylor, J. Am. Stat. Assoc. 84 (1989) 881.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.StudentT(0.5, df=4)
    StudentT(scale=0.5, df=4)
    """

    per_label = shown = ("scale", "df")
    edges = (*(-(4.0**k) for k in range(24, 0, -1)), -1.5, 0.0, 1.5, *(4.0**k for k in range(1, 25)))
    algebraic_tails = True

    scale: FloatArray | float
    df: FloatArray | float

    def __init__(self, scale: ArrayLike, df: ArrayLike, *, kind: str = "classical") -> None:
        super().__init__(scale, kind)
        self.df = positive_parameter(df, "df", "df is the number of degrees of freedom")
        require_common_size(scale=self.scale, df=self.df)

    def as_single_measurements(self) -> Self:
        return self._changed(scale=np.asarray(self.scale) / np.sqrt(self.repeats), repeats=1.0)

    def _moment(self, y: FloatArray, order: int, standard: FloatArray) -> FloatArray:
        """A moment of the family where df allows it, infinite elsewhere; 0 for a label without error."""
        value = np.where(np.greater(self.df, order), standard * np.power(self.scale, order), np.inf)
        return np.broadcast_to(np.where(np.equal(self.scale, 0.0), 0.0, value), y.shape)

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
        beyond = np.log(np.maximum(np.abs(u) / np.maximum(near, 1.0), 1.0))
        inverse_beta = poch(df / 2, 0.5) / math.sqrt(math.pi)
        return np.asarray(np.exp(-exponent * (0.5 * np.log1p(np.square(near) / df) + beyond)) * inverse_beta)

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

    def has_moment(self, order: float) -> bool:
        return bool(np.all(np.greater(self.df, order) | np.equal(self.scale, 0.0)))

    def why_infinite(self) -> str:
        return (
            f"Student errors have no moments of the order of their df or above (the smallest df is "
            f"{float(np.min(self.df)):g}). Use observed, or the median distribution.ppf(0.5)."
        )
