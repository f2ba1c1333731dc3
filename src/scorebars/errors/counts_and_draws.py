"""Errors that take single values: counts, and labels known from draws."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincinv, gammaln, pdtr, pdtrc, pdtrik, xlogy

from scorebars import checks
from scorebars.arrays import BoolArray, FloatArray
from scorebars.errors.asymmetric import LogNormal
from scorebars.errors.measurement_error import MeasurementError, check_kind
from scorebars.errors.parameters import rows_of_numbers

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


_MOST_DRAWS = 64
"""A smoothed density takes this many quantiles of a label's draws where there are more."""


class Empirical(MeasurementError):
    """Each label is known by draws of it: a posterior sample, a bootstrap, an ensemble of calibrations.

    Parameters
    ----------
    samples : (n, draws), or n sequences of different lengths
        Row i holds draws of label i *itself*, not of its error; NaN fills up short rows. ``y_true=None`` takes the row
        means as labels.
    kind : {"classical", "berkson"}
        Whether the draws scatter as measurements of the truth do, or as the truth does (a calibrated posterior).

    Notes
    -----
    A fresh label is one of its m draws, each with probability :math:`1/m`.

    Examples
    --------
    >>> import scorebars as sb
    >>> model = sb.errors.Empirical([[1.0, 1.5, 0.75, 2.0], [3.0, 3.5]])
    >>> model
    Empirical(<2 labels, 2 to 4 draws>)
    >>> model.labels()
    array([1.3125, 3.25  ])
    """

    per_label = ("samples",)
    discrete = True
    follows_label = False

    def __init__(self, samples: ArrayLike, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        self.samples: FloatArray = rows_of_numbers(samples, "samples", "draw")

    def scaled(self, factor: float) -> Self:
        """The draws multiplied by `factor`."""
        return self._changed(samples=self.samples * factor)

    def labels(self) -> FloatArray:
        return self.mean(np.empty(len(self.samples)))

    @property
    def counts(self) -> FloatArray:
        """Number of draws of each label."""
        return (~np.isnan(self.samples)).sum(axis=1).astype(np.float64)

    def draws(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gaps repeat the first draw with probability 0."""
        there = ~np.isnan(self.samples)
        values = np.where(there, self.samples, self._first)
        return values.T, (there / self.counts[:, None]).T

    @property
    def _first(self) -> FloatArray:
        """The first draw of each label, (n, 1)."""
        return np.take_along_axis(self.samples, np.isnan(self.samples).argmin(axis=1)[:, None], axis=1)

    def mean(self, y: FloatArray) -> FloatArray:
        return np.asarray(self._first[:, 0] + np.nanmean(self.samples - self._first, axis=1))

    def _central(self, y: FloatArray, order: int) -> FloatArray:
        return np.asarray(np.nanmean((self.samples - self.mean(y)[:, None]) ** order, axis=1))

    def variance(self, y: FloatArray) -> FloatArray:
        return self._central(y, 2)

    def third(self, y: FloatArray) -> FloatArray:
        return self._central(y, 3)

    def fourth(self, y: FloatArray) -> FloatArray:
        return self._central(y, 4)

    def largest(self, y: FloatArray) -> float:
        return float(np.nanmax(np.abs(self.samples - y[:, None])))

    def _share(self, chosen: BoolArray) -> FloatArray:
        """Share of the draws of each label, of shape (..., n, draws), that were chosen."""
        return np.asarray(np.sum(chosen, axis=-1) / self.counts)

    def cdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self._share(self.samples <= np.asarray(x)[..., None])

    def sf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self._share(self.samples > np.asarray(x)[..., None])

    def pdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self._share(self.samples == np.asarray(x)[..., None])

    def ppf(self, y: FloatArray, q: FloatArray) -> FloatArray:
        ordered = np.sort(self.samples, axis=1)
        q = np.broadcast_to(q, np.broadcast_shapes(np.shape(q), y.shape))
        rank = np.clip(np.ceil(q * self.counts * (1.0 - 1e-15)) - 1, 0, self.counts - 1).astype(int)
        return np.asarray(ordered[np.arange(len(ordered)), rank])

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[Empirical, FloatArray]:
        centre = self.unbiased_label(y)
        factor = np.broadcast_to(np.sqrt(level), y.shape)[:, None]
        return self._changed(samples=centre[:, None] + factor * (self.samples - self.mean(y)[:, None])), centre

    def likelihood(self, y: FloatArray, truth: FloatArray) -> FloatArray:
        """By a normal kernel about each draw's error; draws are moved inwards so that the variance stays what it was."""
        error = self.samples - y[:, None]
        if error.shape[1] > _MOST_DRAWS:
            error = np.nanquantile(error, (np.arange(_MOST_DRAWS) + 0.5) / _MOST_DRAWS, axis=1).T
        count = np.sum(~np.isnan(error), axis=1, keepdims=True)
        centre = np.nanmean(error, axis=1, keepdims=True)
        spread = np.sqrt(np.nanmean(np.square(error - centre), axis=1, keepdims=True))
        kernel = np.minimum(1.06 * count**-0.2, 0.9)
        points = centre + np.sqrt(1.0 - np.square(kernel)) * (error - centre)
        width = np.where(spread > 0, kernel * spread, 1.0)
        density = np.zeros_like(truth)
        for column in points.T:
            z = (y[:, None] - truth - column[:, None]) / width
            density += np.where(np.isnan(z), 0.0, np.exp(-0.5 * np.square(np.minimum(np.abs(z), 1e3))))
        return np.asarray(density / width)

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        packed = np.sort(self.samples, axis=1)
        pick = (rng.random((size, len(y))) * self.counts).astype(int)  # sorting moved gaps to the end
        return np.asarray(packed[np.arange(len(y)), pick])

    def __repr__(self) -> str:
        low, high = int(self.counts.min()), int(self.counts.max())
        draws = f"{low}" if low == high else f"{low} to {high}"
        return self._text(f"<{len(self.samples)} labels, {draws} draws>")
