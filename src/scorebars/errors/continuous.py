"""Families with a density: what they share, and the symmetric ones, which differ only in their standard distribution.

A fresh label is a monotone function of a standard coordinate u, for example y + sigma u. The family knows the density of
u, smooth between its `edges`. Probabilities and integrals over labels need no more. The standard distribution is the
normal one unless a family says otherwise.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, poch, stdtr, stdtrit

from scorebars import checks
from scorebars.arrays import BoolArray, FloatArray
from scorebars.errors.measurement_error import (
    MeasurementError,
    check_kind,
    non_negative,
    positive_parameter,
    require_common_size,
    standard_deviations,
)

NO_ERROR = 1e-300
"""Smaller widths cannot be divided by: the label is as good as exact."""


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

    def why_infinite(self) -> str:
        return (
            f"Student errors have no moments of the order of their df or above (the smallest df is "
            f"{float(np.min(self.df)):g}). Use observed, or the median distribution.ppf(0.5)."
        )


class SplitNormal(Continuous):
    r"""Asymmetric errors, as in a quoted value :math:`y^{+b}_{-a}`.

    Parameters
    ----------
    lower, upper : number or (n,)
        Lower and upper error of each label, as in matplotlib's ``errorbar``. Passing ``yerr`` of shape (2, n) means this.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Notes
    -----
    The density is a half normal of width `lower` below the label and one of width `upper` above it, joined where
    they meet: the label is the *mode*. Its mean is not the label but :math:`y + \sqrt{2/\pi}\,(upper - lower)`.

    References
    ----------
    K. F. Wallis, Statistical Science 29 (2014) 106: the two-piece normal of Fechner (1897).

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.SplitNormal(lower=0.1, upper=0.3)
    SplitNormal(lower=0.1, upper=0.3)
    """

    per_label = shown = ("lower", "upper")

    lower: FloatArray | float
    upper: FloatArray | float

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        self.lower = standard_deviations(lower, "lower")
        self.upper = standard_deviations(upper, "upper")
        require_common_size(lower=self.lower, upper=self.upper)

    def scaled(self, factor: FloatArray | float) -> Self:
        return self._changed(lower=self.lower * factor, upper=self.upper * factor)

    def _widths(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.broadcast_to(self.lower, y.shape), np.broadcast_to(self.upper, y.shape)

    def largest(self, y: FloatArray) -> float:
        return float(max(np.max(self.lower), np.max(self.upper)))

    def error_bar(self, y: FloatArray) -> FloatArray:
        return np.broadcast_to((np.asarray(self.lower) + self.upper) / 2, y.shape)

    def in_units_of_labels(self, n: int) -> MeasurementError:
        bar = self.error_bar(np.zeros(n))
        return self.scaled(1.0 / np.where(bar > 0, bar, 1.0))

    def mean(self, y: FloatArray) -> FloatArray:
        low, up = self._widths(y)
        return y + math.sqrt(2 / math.pi) * (up - low)

    def variance(self, y: FloatArray) -> FloatArray:
        low, up = self._widths(y)
        return (1 - 2 / math.pi) * np.square(up - low) + low * up

    def third(self, y: FloatArray) -> FloatArray:
        low, up = self._widths(y)
        gap = up - low
        return math.sqrt(2 / math.pi) * gap * ((4 / math.pi - 1) * gap * gap + low * up)

    def fourth(self, y: FloatArray) -> FloatArray:
        """From the moments about the mode: E(x-m)^4 = 3 (p2 s2^4 + p1 s1^4), each half weighted by its width."""
        low, up = self._widths(y)
        total = np.where(low + up > 0, low + up, 1.0)
        shift = math.sqrt(2 / math.pi) * (up - low)
        second = self.variance(y) + shift * shift
        third = 2 * math.sqrt(2 / math.pi) * (up**4 - low**4) / total
        raw = 3 * (up**5 + low**5) / total
        return raw - 4 * shift * third + 6 * shift**2 * second - 3 * shift**4

    @property
    def _share_above(self) -> FloatArray:
        """Probability of the upper half."""
        total = np.add(self.lower, self.upper)
        return np.where(total > 0, self.upper / np.where(total > 0, total, 1.0), 0.5)

    def at(self, y: FloatArray, u: FloatArray) -> FloatArray:
        return y + np.where(u >= 0, self.upper, self.lower) * u

    def slope(self, y: FloatArray, x: FloatArray) -> FloatArray:
        width = np.where(np.greater_equal(x, y), self.upper, self.lower)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(1.0 / width)

    def coordinate(self, y: FloatArray, x: FloatArray) -> FloatArray:
        gap = np.subtract(x, y)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(gap == 0, 0.0, gap * self.slope(y, x))

    def exact(self, y: FloatArray) -> BoolArray:
        return np.broadcast_to(np.less_equal(self.lower, NO_ERROR) & np.less_equal(self.upper, NO_ERROR), y.shape)

    def density(self, u: FloatArray) -> FloatArray:
        above = self._share_above
        return 2.0 * np.where(u >= 0, above, 1.0 - above) * normal_density(u)

    def pdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        total = np.where(self.exact(y), 1.0, np.add(self.lower, self.upper))
        joined = 2.0 * normal_density(self.coordinate(y, x)) / total
        return np.where(self.exact(y), np.where(x == y, np.inf, 0.0), joined)

    def _lower(self, u: FloatArray) -> FloatArray:
        above = self._share_above
        return np.where(u >= 0, 1.0 - 2.0 * above * ndtr(-np.abs(u)), 2.0 * (1.0 - above) * ndtr(-np.abs(u)))

    def _upper(self, u: FloatArray) -> FloatArray:
        above = self._share_above
        return np.where(u >= 0, 2.0 * above * ndtr(-np.abs(u)), 1.0 - 2.0 * (1.0 - above) * ndtr(-np.abs(u)))

    def _quantile(self, q: FloatArray) -> FloatArray:
        above = self._share_above
        under = 1.0 - above
        left = ndtri(np.minimum(q / np.where(under > 0, 2.0 * under, 1.0), 0.5))
        right = -ndtri(np.minimum((1.0 - np.asarray(q)) / np.where(above > 0, 2.0 * above, 1.0), 0.5))
        return np.where(np.less(q, under), left, right)

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[SplitNormal, FloatArray]:
        model, centre = self.scaled(np.sqrt(level)), self.unbiased_label(y)
        return model, 2.0 * centre - model.mean(centre)

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        low, up = self._widths(y)
        total = np.where(low + up > 0, low + up, 1.0)
        above = rng.random((size, len(y))) < up / total
        return y + np.where(above, up, -low) * np.abs(rng.standard_normal((size, len(y))))


_LARGEST = 15.0
"""Errors of more than a factor of e^15, three million: their moments leave the doubles, and no label has them."""


class LogNormal(Continuous):
    r"""Multiplicative errors: the logarithm of a fresh label is normal about the logarithm of the label.

    Parameters
    ----------
    sigma_log : number or (n,)
        Standard deviation of the natural logarithm, about the relative error where that is small: 0.05 for 5 %.
        Multiply an error in decades (dex) by ln 10 = 2.303.
    kind : {"classical", "berkson"}
        Whether label = truth * error (a measurement) or truth = label * error.

    Notes
    -----
    :math:`\log x \sim N(\log y, s^2)` with s = `sigma_log`: the label is the *median*, the mean is
    :math:`y\,e^{s^2/2}`. Labels must be positive.

    References
    ----------
    E. Limpert, W. A. Stahel, M. Abbt, BioScience 51 (2001) 341.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.LogNormal(0.05)
    LogNormal(sigma_log=0.05)
    """

    per_label = shown = ("sigma_log",)
    additive = False
    non_negative = True

    sigma_log: FloatArray | float

    def __init__(self, sigma_log: ArrayLike, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        self.sigma_log = non_negative(sigma_log, "sigma_log", "sigma_log is the standard deviation of the logarithm")
        values = np.atleast_1d(self.sigma_log)
        if np.any(values > _LARGEST):
            hint = (
                "It is the standard deviation of the natural logarithm: 0.05 for 5 %. Errors in the unit of the labels: "
                "Normal(sigma)."
            )
            raise checks.complain("sigma_log", f"has values above {_LARGEST:g}", values > _LARGEST, values, hint)

    def check_labels(self, y: FloatArray, argument: str = "y_true") -> None:
        if np.any(y <= 0):
            what = "has values that are not positive, which log-normal errors cannot describe"
            hint = "LogNormal takes each label as the median of positive values; use Normal or SplitNormal for others."
            raise checks.complain(argument, what, y <= 0, y, hint)

    def _spread(self, y: FloatArray) -> FloatArray:
        """w - 1 with w = exp(s^2), by which the moments E x^k = y^k exp(k^2 s^2 / 2) are written."""
        with np.errstate(over="ignore"):
            return np.broadcast_to(np.expm1(np.square(self.sigma_log)), y.shape)

    def mean(self, y: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return y * np.exp(np.square(self.sigma_log) / 2)

    def variance(self, y: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.square(self.mean(y)) * self._spread(y)

    def largest(self, y: FloatArray) -> float:
        """Without squares of the labels, which may be too large or too small for doubles."""
        with np.errstate(over="ignore"):
            return float(np.max(self.mean(y) * np.sqrt(self._spread(y))))

    def third(self, y: FloatArray) -> FloatArray:
        v = self._spread(y)
        with np.errstate(over="ignore"):
            return self.mean(y) ** 3 * v * v * (v + 3.0)

    def fourth(self, y: FloatArray) -> FloatArray:
        v = self._spread(y)
        w = v + 1.0
        with np.errstate(over="ignore"):
            return np.square(self.variance(y)) * (w**4 + 2 * w**3 + 3 * w**2 - 3.0)

    def at(self, y: FloatArray, u: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return y * np.exp(self.sigma_log * u)

    def coordinate(self, y: FloatArray, x: FloatArray) -> FloatArray:
        positive = np.greater(x, 0)
        with np.errstate(over="ignore"):
            u = log_ratio(np.where(positive, x, 1.0), y) / divisible(self.sigma_log)
        return np.where(positive, u, -math.inf)

    def slope(self, y: FloatArray, x: FloatArray) -> FloatArray:
        positive = np.greater(x, 0)
        with np.errstate(over="ignore"):
            return np.where(positive, 1.0 / divisible(self.sigma_log) / np.where(positive, x, 1.0), 0.0)

    def exact(self, y: FloatArray) -> BoolArray:
        return np.broadcast_to(np.less_equal(self.sigma_log, NO_ERROR), y.shape)

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[LogNormal, FloatArray]:
        return self._changed(sigma_log=self.sigma_log * np.sqrt(level)), y

    def truth_between(self, y: FloatArray, tail: float) -> tuple[FloatArray, FloatArray]:
        q = np.full(len(y), tail)
        return self.ppf(y, q), self.ppf(y, 1.0 - q)

    def likelihood(self, y: FloatArray, truth: FloatArray) -> FloatArray:
        possible = truth > 0
        return np.where(possible, self.pdf(np.where(possible, truth, 1.0).T, y).T, 0.0)

    def unbiased_label(self, y: FloatArray) -> FloatArray:
        """y exp(-s^2/2), since the mean of a fresh label is the truth times exp(s^2/2)."""
        return y * np.exp(-np.square(self.sigma_log) / 2)

    def unbiased_square(self, y: FloatArray, p: FloatArray) -> FloatArray:
        """y^2 exp(-2 s^2) - 2 p y exp(-s^2/2) + p^2, written so that equal terms cancel exactly."""
        t = self.unbiased_label(y)
        return np.square(t - p) + np.square(t) * np.expm1(-np.square(self.sigma_log))

    def unbiased_square_variance(self, y: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """t^4 (w^4 - 1) - 4 p t^3 (w^2 - 1) + 4 p^2 t^2 (w - 1), w = exp(s^2), with unbiased estimates of t^2, t^3, t^4.

        With q = y exp(-s^2/2) these are q^2 exp(-s^2), q^3 exp(-3 s^2), q^4 exp(-6 s^2). A perfect prediction leaves
        t^4 (w^4 - 4 w^2 + 4 w - 1).
        """
        s2, v, q = np.square(self.sigma_log), self._spread(y), self.unbiased_label(y)
        with np.errstate(over="ignore", invalid="ignore"):
            shrink = q * q * np.expm1(-6.0 * s2) - 2.0 * p * q * np.expm1(-3.0 * s2) + p * p * np.expm1(-s2)
            curved = q * v * (q * np.exp(-6.0 * s2) * (v * v + 4.0 * v + 6.0) - 4.0 * p * np.exp(-3.0 * s2))
            variance = v * q * q * (4.0 * np.square(q - p) + 4.0 * shrink + curved)
            floor = np.square(np.square(q)) * np.exp(-6.0 * s2) * v * v * (v * v + 4.0 * v + 2.0)
        return np.where(np.isnan(variance), np.inf, variance), np.where(np.isnan(floor), np.inf, floor)

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return self.at(y, rng.standard_normal((size, len(y))))


def log_ratio(x: FloatArray, y: FloatArray) -> FloatArray:
    """log(x / y) of positive numbers, with the digits of their difference where they are close."""
    close = np.abs(x - y) < 0.5 * y
    return np.where(close, np.log1p(np.where(close, (x - y) / y, 0.0)), np.log(x) - np.log(y))
