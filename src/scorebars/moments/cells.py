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
    """Mean residual and effective error of the labels in each cell, sum of their shares and of the squared shares.

    `group` is the mean of what else the labels of a cell have in common.
    """

    residual: FloatArray
    sd: FloatArray
    share: FloatArray
    square: FloatArray
    group: FloatArray


def cells_of(
    residual: FloatArray, sd: FloatArray, share: FloatArray, grid: FloatArray, spacing: float, group: FloatArray
) -> Cells:
    """Labels in cells whose `group` > 0 differs by some 9 % (more if need be) and whose residuals by half the error.

    The error is a function of the group: the error itself, or that of a residual that was scaled with it. Where half the
    error is less than the grid's typical spacing, cells are as wide as a step of the grid.
    """
    share = share / float(np.add.reduce(share))
    if len(residual) <= _UNBINNED:
        return Cells(residual, sd, share, np.square(share), group)
    octave = np.log2(group / float(group.min()))
    step = np.floor(np.interp(residual, grid, np.arange(len(grid), dtype=np.float64)))
    for per_octave in _LEVELS_PER_OCTAVE:
        level = np.floor(octave * per_octave)
        levels, which = np.unique(level, return_inverse=True)
        narrowest = np.full(len(levels), np.inf)
        np.minimum.at(narrowest, which, sd)
        width = 0.5 * narrowest[which]
        position = np.where(width > spacing, np.floor((residual - grid[0]) / width), step)
        _, cell = np.unique(level * (position.max() + 1.0) + position, return_inverse=True)
        if int(cell.max()) < _MOST_CELLS:
            break
    return _merged(cell, residual, sd, share, group)


def _merged(
    cell: NDArray[np.intp], residual: FloatArray, sd: FloatArray, share: FloatArray, group: FloatArray
) -> Cells:
    """One entry for each cell. The scatter lost in the mean residual is taken from its error (Sheppard's correction)."""
    total = np.bincount(cell, share).astype(np.float64)
    mean = np.bincount(cell, share * residual) / total
    lost = np.bincount(cell, share * np.square(residual - mean[cell])) / total
    variance = np.bincount(cell, share * np.square(sd)) / total
    effective = np.sqrt(np.maximum(variance - lost, variance / 2))
    square = np.bincount(cell, np.square(share)).astype(np.float64)
    return Cells(mean, effective, total, square, np.bincount(cell, share * group) / total)
