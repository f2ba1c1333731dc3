"""Counts: labels that take whole numbers only."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from scipy.special import gammaincinv, gammaln, pdtr, pdtrc, pdtrik, xlogy

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.errors.asymmetric import LogNormal
from scorebars.errors.measurement_error import MeasurementError, check_kind

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
_LARGEST_DRAWN = 1e15  # above, counts are drawn from the normal distribution: NumPy's generator ends at 2^63


class Poisson(MeasurementError):
    r"""Counts: a fresh label is a Poisson variable whose mean is the label (which need not be a whole number).

    Parameters
    ----------
    kind : {"classical", "berkson"}
        Whether the label was counted or is itself the set mean of a count.

    Notes
    -----
    A fresh label is the count :math:`k` with probability :math:`e^{-y} y^k / k!`. Its variance is its mean :math:`y`, so
    there is nothing to pass. Labels must not be negative.

    References
    ----------
    F. Garwood, Biometrika 28 (1936) 437, for the limits of a Poisson mean.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.mean_squared_error([4, 9, 16], [5, 8, 15], yerr=sb.errors.Poisson()).truth.value
    -8.666666666666666
    """

    discrete = non_negative = True

    unit: float = 1.0
    """What one count is in the unit of the labels."""

    def __init__(self, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)

    def scaled(self, factor: float) -> Self:
        """The same counts in another unit."""
        return self._changed(unit=self.unit * factor)

    def check_labels(self, y: FloatArray, argument: str = "y_true") -> None:
        hint = "Poisson needs counts of at least 0."
        checks.refuse(argument, "has negative values, which are not counts", y < 0, y, hint)

    def variance(self, y: FloatArray) -> FloatArray:
        return self.unit * y

    def third(self, y: FloatArray) -> FloatArray:
        return self.unit * self.unit * y

    def fourth(self, y: FloatArray) -> FloatArray:
        return self.unit * self.unit * y * (self.unit + 3.0 * y)

    def probability(self, y: FloatArray, count: FloatArray) -> FloatArray:
        """P(count), count = 0, 1, 2, ...; between whole numbers the smooth continuation of it."""
        return _probability(np.asarray(count, dtype=np.float64), y / self.unit)

    def window(self, y: FloatArray, reach: float) -> tuple[FloatArray, FloatArray]:
        """First and last count within `reach` standard deviations of the mean, with room for small means."""
        mean = y / self.unit
        spread = reach * np.sqrt(mean)
        return np.maximum(np.floor(mean - spread), 0.0), np.ceil(mean + spread + reach * reach / 3)

    def pdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        count = np.divide(x, self.unit)
        whole = (count >= 0) & (count == np.floor(count))
        return np.where(whole, self.probability(y, np.where(whole, count, 0.0)), 0.0)

    def cdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        count = np.floor(np.divide(x, self.unit))
        return np.where(count < 0, 0.0, pdtr(np.maximum(count, 0.0), y / self.unit))

    def sf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        count = np.floor(np.divide(x, self.unit))
        return np.where(count < 0, 1.0, pdtrc(np.maximum(count, 0.0), y / self.unit))

    def ppf(self, y: FloatArray, q: FloatArray) -> FloatArray:
        mean = y / self.unit
        none = np.less_equal(q, np.exp(-mean))
        count = np.ceil(pdtrik(np.where(none, 0.5, q), np.where(none, 1.0, mean)))
        before = np.maximum(count - 1.0, 0.0)
        count = np.where(pdtr(before, mean) >= q, before, count)
        return np.where(none, 0.0, count) * self.unit

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[LogNormal, FloatArray]:
        """Log-normal, with the mean at the label and `level` times the variance of a count: labels stay positive."""
        some = y > 0
        log_variance = np.where(some, np.log1p(level * self.unit / np.where(some, y, 1.0)), 0.0)
        model = LogNormal(0.0, kind=self.kind)
        model.sigma_log = np.sqrt(log_variance)
        return model, y * np.exp(-log_variance / 2)

    def truth_between(self, y: FloatArray, tail: float) -> tuple[FloatArray, FloatArray]:
        """The exact limits of a Poisson mean (Garwood 1936)."""
        count = y / self.unit
        low = np.where(count > 0, gammaincinv(np.maximum(count, 1e-9), tail), 0.0)
        return low * self.unit, gammaincinv(count + 1.0, 1.0 - tail) * self.unit

    def likelihood(self, y: FloatArray, truth: FloatArray) -> FloatArray:
        possible = truth >= 0
        return np.where(possible, self.probability(np.where(possible, truth, 0.0).T, y / self.unit).T, 0.0)

    def unbiased_square_variance(self, y: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Var((y - p)^2 - y) = 4 mu (mu - p)^2 + 2 mu^2, with y(y-1) and y(y-1)(y-2) for mu^2 and mu^3: unbiased."""
        count, c = y / self.unit, p / self.unit
        square = count * (count - 1.0)
        floor = 2.0 * square
        variance = 4.0 * (square * (count - 2.0 - 2.0 * c) + c * c * count) + floor
        return variance * self.unit**4, floor * self.unit**4

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        mean = np.asarray(y, dtype=np.float64) / self.unit
        large = mean > _LARGEST_DRAWN
        counts = rng.poisson(np.where(large, 0.0, mean), (size, len(mean))).astype(np.float64)
        if large.any():
            counts[:, large] = np.rint(rng.normal(mean[large], np.sqrt(mean[large]), (size, int(large.sum()))))
        return counts * self.unit


def _probability(count: FloatArray, mean: FloatArray) -> FloatArray:
    """exp(-mean) mean^count / count!; large counts by Loader's method, whose exponent is not a difference of large numbers.

    At 1e12 counts it keeps 13 digits, where the logarithm of the factorial leaves 4.
    """
    k = np.maximum(count, 16.0)
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        stirling = np.polynomial.polynomial.polyval(1.0 / (k * k), _STIRLING) / k
        large = np.exp(-stirling - _deviance(k, mean)) / np.sqrt(2 * math.pi * k)
        small = np.exp(xlogy(count, mean) - mean - gammaln(count + 1.0))
    return np.where(count < 16, small, np.where(mean > 0, large, 0.0))


def _deviance(k: FloatArray, mean: FloatArray) -> FloatArray:
    """k log(k/mean) + mean - k, by a series where k and mean are close."""
    gap = k - mean
    v = gap / (k + mean)
    close = np.abs(v) < 0.1
    v2 = np.where(close, v * v, 0.0)
    series = np.polynomial.polynomial.polyval(v2, [1 / (2 * j + 3) for j in range(9)])
    near = gap * v + 2.0 * k * v * v2 * series
    return np.where(close, near, k * np.log(k / mean) - gap)
