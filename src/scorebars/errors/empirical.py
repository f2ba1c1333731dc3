"""Errors known from draws: each label comes with a sample of what it may be."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scorebars import checks
from scorebars.errors.base import FloatArray, MeasurementError, check_kind


class Empirical(MeasurementError):
    """Each label is known by draws of it: a posterior sample, a bootstrap, an ensemble of calibrations.

    Parameters
    ----------
    samples : (n, draws), or n sequences of different lengths
        Row i holds draws of label i *itself*, not of its error; NaN fills up short rows. A fresh label is one of them,
        each equally likely. ``y_true=None`` takes the row means as labels.
    kind : {"classical", "berkson"}
        Whether the draws scatter as measurements of the truth do, or as the truth does (a calibrated posterior).

    Examples
    --------
    >>> import scorebars as sb
    >>> model = sb.errors.Empirical([[1.0, 1.5, 0.75, 2.0], [3.0, 3.5]])
    >>> model
    Empirical(<2 labels, 2 to 4 draws>)
    >>> model.labels()
    array([1.3125, 3.25  ])
    """

    discrete = True

    def __init__(self, samples: Any, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        self.samples: FloatArray = _rows(samples)

    @property
    def size(self) -> int | None:
        return len(self.samples)

    def _with(self, samples: FloatArray) -> Self:
        part = type(self).__new__(type(self))
        part.kind, part.samples = self.kind, samples
        return part

    def _part(self, index: Any) -> Self:
        return self._with(self.samples[index])

    def scaled(self, factor: float) -> Self:
        """The draws multiplied by `factor`."""
        return self._with(self.samples * factor)

    def labels(self) -> FloatArray:
        return self.mean(np.empty(len(self.samples)))

    # draws as atoms of equal probability -------------------------------------------------------

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which entries of `samples` are draws."""
        return ~np.isnan(self.samples)

    @property
    def counts(self) -> FloatArray:
        """Number of draws of each label."""
        return self.present.sum(axis=1).astype(np.float64)

    def atoms(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Draws and their probabilities, each of shape (draws, n); gaps repeat the first draw with probability 0."""
        filled = self.present
        first = self.samples[np.arange(len(self.samples)), filled.argmax(axis=1)]
        values = np.where(filled, self.samples, first[:, None])
        return values.T, (filled / self.counts[:, None]).T

    def mean(self, y: FloatArray) -> FloatArray:
        values, probabilities = self.atoms(y)
        centre = values[0]
        return np.asarray(centre + np.sum(probabilities * (values - centre), axis=0))

    def _central(self, y: FloatArray, order: int) -> FloatArray:
        values, probabilities = self.atoms(y)
        return np.asarray(np.sum(probabilities * (values - self.mean(y)) ** order, axis=0))

    def variance(self, y: FloatArray) -> FloatArray:
        return self._central(y, 2)

    def third(self, y: FloatArray) -> FloatArray:
        return self._central(y, 3)

    def fourth(self, y: FloatArray) -> FloatArray:
        return self._central(y, 4)

    def largest(self, y: FloatArray) -> float:
        return float(np.nanmax(np.abs(self.samples - y[:, None])))

    def _share(self, chosen: NDArray[np.bool_]) -> FloatArray:
        """Share of the draws of each label, of shape (..., n, draws), that were chosen."""
        return np.asarray(np.sum(chosen, axis=-1) / self.counts)

    def cdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self._share(self.samples <= np.asarray(x)[..., None])

    def sf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self._share(self.samples > np.asarray(x)[..., None])

    def below(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self._share(self.samples < np.asarray(x)[..., None])

    def at_least(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self._share(self.samples >= np.asarray(x)[..., None])

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
        return self._with(centre[:, None] + factor * (self.samples - self.mean(y)[:, None])), centre

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        packed = np.sort(self.samples, axis=1)
        pick = (rng.random((size, len(y))) * self.counts).astype(int)
        return np.asarray(packed[np.arange(len(y)), pick])

    def __repr__(self) -> str:
        counts = self.counts
        low, high = int(counts.min()), int(counts.max())
        draws = f"{low}" if low == high else f"{low} to {high}"
        berkson = "" if self.kind == "classical" else f", kind={self.kind!r}"
        return f"Empirical(<{len(self.samples)} labels, {draws} draws>{berkson})"


def _rows(samples: Any) -> FloatArray:
    """Draws as an (n, draws) array, short rows filled with NaN; each row must hold at least one number."""
    if isinstance(samples, list | tuple) and len({np.size(row) for row in samples}) > 1:
        longest = max(np.size(row) for row in samples)
        padded = np.full((len(samples), longest), np.nan)
        for i, row in enumerate(samples):
            values = checks.real_array(row, f"samples[{i}]").reshape(-1)
            padded[i, : values.size] = values
        samples = padded
    array = np.asarray(checks.real_array(samples, "samples"), dtype=np.float64)
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"samples must have one row of draws for each label, shape (n, draws), but has shape {array.shape}."
        )
    infinite = np.isinf(array)
    if infinite.any():
        raise checks.complain("samples", "contains infinity", infinite, array, "Remove these draws or set them to NaN.")
    empty = np.asarray(np.isnan(array).all(axis=1))
    if empty.any():
        raise checks.complain(
            "samples", "has rows without any draw", empty, array[:, 0], "Each label needs at least one."
        )
    return array
