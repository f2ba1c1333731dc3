"""Log-normal errors: a label that is right within a factor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorebars import checks
from scorebars.arrays import BoolArray, FloatArray
from scorebars.errors.continuous import NO_ERROR, Continuous, divisible
from scorebars.errors.measurement_error import check_kind
from scorebars.errors.parameters import non_negative

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

    def __init__(self, sigma_log: Any, *, kind: str = "classical") -> None:
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

    # moments: E x^k = y^k exp(k^2 s^2 / 2) -----------------------------------------------------

    def _spread(self, y: FloatArray) -> FloatArray:
        """w - 1 with w = exp(s^2)."""
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

    # the standard coordinate is the normal one of the logarithm --------------------------------

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

    # against the truth, the median: multiplicative corrections ---------------------------------

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
