"""How a metric of the confusion matrix moves with each of its cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorebars.moments.confusion import ConfusionMetric

FloatArray = NDArray[np.float64]


def cell_gradient(f: ConfusionMetric, c: FloatArray, step: float = 1e-4) -> FloatArray:
    """The derivative of f with respect to each cell of c (K, K), by central differences.

    The step is a small part of the row or column that the cell belongs to, whichever is smaller: ratios of a rare class
    bend on that scale. Rows without labels hold no items, and f may jump there: 0. Metrics are ratios, so the step is
    the same part of the matrix whatever its unit.
    """
    k = c.shape[0]
    rows, columns = np.add.reduce(c, axis=1), np.add.reduce(c, axis=0)
    total = float(np.add.reduce(rows))
    sizes = np.where(columns > 0, np.minimum(rows[:, None], np.where(columns > 0, columns, total)), rows[:, None])
    cells = np.argwhere(sizes > 1e-12 * total)
    out = np.zeros((k, k))
    block = max(1, 1_000_000 // (k * k))
    for start in range(0, len(cells), block):
        row, column = cells[start : start + block].T
        h = step * sizes[row, column]
        moved = np.zeros((len(row), k, k))
        moved[np.arange(len(row)), row, column] = h
        with np.errstate(invalid="ignore", divide="ignore"):
            change = (np.asarray(f(c + moved)) - np.asarray(f(c - moved))) / (2 * h)
        out[row, column] = np.where(np.isfinite(change), change, 0.0)
    return out
