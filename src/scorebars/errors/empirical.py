"""Labels known from draws of them."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from scorebars.arrays import BoolArray, FloatArray
from scorebars.errors.measurement_error import MeasurementError, check_kind
from scorebars.errors.parameters import rows_of_numbers

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
