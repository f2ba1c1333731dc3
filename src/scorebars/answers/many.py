"""Very many labels at hand: their laws are built from what a stream would keep of them, in flat memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorebars.engines.summary import Summary, summarise
from scorebars.engines.totals import sums_of
from scorebars.errors import Normal
from scorebars.measured import Measured

MANY = 8192


def summary_of(data: Measured, need: str) -> Summary | None:
    """The summary for a law ("squares", "absolute", "ratio"); None where labels are few or err in other ways."""
    errors = data.errors
    if data.n < MANY or type(errors) is not Normal or not errors.independent:
        return None
    if not all(map(_readable, (data.y, data.p, errors.sigma, data.weight))):
        return None
    key = f"summary: {need}"
    if key not in data.shelf:
        sums = sums_of(data, labels=need == "ratio")
        try:
            data.shelf[key] = summarise(data.y, data.p, errors.sigma, data.weight, {need}, sums=sums)
        except OverflowError:  # extreme magnitudes, which the laws of the labels themselves can take
            data.shelf[key] = None
    found: Summary | None = data.shelf[key]
    return found


def _readable(column: NDArray[np.float64] | float | None) -> bool:
    """Whether the bins can read a column as it lies in memory."""
    return not isinstance(column, np.ndarray) or (column.dtype == np.float64 and column.flags.c_contiguous)
