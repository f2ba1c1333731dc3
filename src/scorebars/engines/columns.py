"""The arrays that go through a pass, cut and converted chunk by chunk: never a full-size copy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Column = NDArray[Any] | float | None
Doubles = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # labels, predictions, errors, weights


class Columns(NamedTuple):
    """Labels, predictions, errors (one for all, or one each) and weights (None: all alike)."""

    y: NDArray[Any]
    p: NDArray[Any]
    sigma: NDArray[Any] | float
    weight: NDArray[Any] | None

    def cut(self, start: int, stop: int) -> tuple[Column, Column, Column, Column]:
        """What an engine takes: float32 and float64 as they lie in memory, all else as float64."""
        y, p, sigma, weight = self if stop - start == len(self.y) else [_cut(c, start, stop) for c in self]
        return _floats(y), _floats(p), _floats(sigma), None if weight is None else _floats(weight)

    def as_doubles(self, start: int, stop: int) -> Doubles:
        """Four float64 arrays of the chunk's length."""
        columns = self.cut(start, stop)
        length = stop - start
        y, p, sigma, weight = (
            np.broadcast_to(np.asarray(1.0 if column is None else column, dtype=np.float64), length)
            for column in columns
        )
        return y, p, sigma, weight


def _cut(column: Column, start: int, stop: int) -> Column:
    return column[start:stop] if isinstance(column, np.ndarray) else column


def _floats(column: Column) -> Column:
    if type(column) is float or (column.dtype.char in "fd" and column.dtype.isnative):  # type: ignore[union-attr]
        return column
    return column.astype(np.float64)  # type: ignore[union-attr]
