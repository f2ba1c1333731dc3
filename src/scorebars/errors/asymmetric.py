"""Errors whose lower and upper sides differ: split normal and log-normal."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from scorebars import checks
from scorebars.arrays import BoolArray, FloatArray
from scorebars.errors.continuous import NO_ERROR, Continuous, divisible, normal_density
from scorebars.errors.measurement_error import MeasurementError, check_kind
from scorebars.errors.parameters import non_negative, require_common_size, standard_deviations


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

    def error_bars(self, y: FloatArray) -> FloatArray:
        return np.stack([np.broadcast_to(self.lower, y.shape), np.broadcast_to(self.upper, y.shape)])

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
        hint = (
            "It is the standard deviation of the natural logarithm: 0.05 for 5 %. Errors in the unit of the labels: "
            "Normal(sigma)."
        )
        checks.refuse("sigma_log", f"has values above {_LARGEST:g}", values > _LARGEST, values, hint)

    def check_labels(self, y: FloatArray, argument: str = "y_true") -> None:
        what = "has values that are not positive, which log-normal errors cannot describe"
        hint = "LogNormal takes each label as the median of positive values; use Normal or SplitNormal for others."
        checks.refuse(argument, what, y <= 0, y, hint)

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
        with np.errstate(over="ignore", divide="ignore"):  # a noisier count may be 0
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
