"""Many labels of like residual and error, counted together, so that a fit to millions costs as much as to thousands."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars.errors.base import FloatArray

_UNBINNED = 2000
"""Up to this many labels each is its own cell."""
_MOST_CELLS = 8000
_LEVELS_PER_OCTAVE = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125)


class Cells(NamedTuple):
    """Mean residual and effective error of the labels in each cell, sum of their shares and of the squared shares."""

    residual: FloatArray
    sd: FloatArray
    share: FloatArray
    square: FloatArray


def cells_of(residual: FloatArray, sd: FloatArray, share: FloatArray, grid: FloatArray, spacing: float) -> Cells:
    """Labels in cells whose errors differ by some 9 % (more if need be) and whose residuals by half the error.

    Where half the error is less than the grid's typical spacing, cells are as wide as a step of the grid.
    """
    share = share / float(np.add.reduce(share))
    if len(residual) <= _UNBINNED:
        return Cells(residual, sd, share, np.square(share))
    smallest = float(sd.min())
    octave = np.log2(sd / smallest)
    step = np.floor(np.interp(residual, grid, np.arange(len(grid), dtype=np.float64)))
    for per_octave in _LEVELS_PER_OCTAVE:
        level = np.floor(octave * per_octave)
        width = 0.5 * smallest * np.exp2(level / per_octave)
        position = np.where(width > spacing, np.floor((residual - grid[0]) / width), step)
        _, cell = np.unique(level * (position.max() + 1.0) + position, return_inverse=True)
        if int(cell.max()) < _MOST_CELLS:
            break
    return _merged(cell, residual, sd, share)


def _merged(cell: NDArray[np.intp], residual: FloatArray, sd: FloatArray, share: FloatArray) -> Cells:
    """One entry for each cell. The scatter lost in the mean residual is taken from its error (Sheppard's correction)."""
    total = np.bincount(cell, share).astype(np.float64)
    mean = np.bincount(cell, share * residual) / total
    lost = np.bincount(cell, share * np.square(residual - mean[cell])) / total
    variance = np.bincount(cell, share * np.square(sd)) / total
    effective = np.sqrt(np.maximum(variance - lost, variance / 2))
    return Cells(mean, effective, total, np.bincount(cell, np.square(share)).astype(np.float64))
