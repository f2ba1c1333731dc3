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
        return (
            _cut(self.y, start, stop),
            _cut(self.p, start, stop),
            _cut(self.sigma, start, stop),
            _cut(self.weight, start, stop),
        )

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
    if not isinstance(column, np.ndarray):
        return column
    part = column if stop - start == len(column) else column[start:stop]
    if part.dtype.char in "fd" and part.dtype.isnative:
        return part
    return part.astype(np.float64)
