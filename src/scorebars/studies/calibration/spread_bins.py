"""Is the error larger where the forecast says so? Labels in bins of equal number, by the spread of their forecast."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from scorebars.studies.calibration.judged_forecast import JudgedForecast

_FEWEST_IN_BIN = 10
_MOST_BINS = 10


class SpreadBin(NamedTuple):
    """Labels of similar spread: what the forecast says of its error, and what was found."""

    n: int
    spread: float
    """Root mean squared spread of the forecasts."""
    error: float
    """Root mean squared error against the truth: the label variance is taken out."""
    low: float
    high: float
    """Its 95 % interval."""
    naive: float
    """Root mean squared error against the labels: their variance is left in."""


def binned_by_spread(judged: JudgedForecast, bins: int | None) -> list[SpreadBin]:
    """Bins of equal number; by default at most ten of at least ten labels, and one where all spreads are alike."""
    most = max(1, min(_MOST_BINS, judged.n // _FEWEST_IN_BIN))
    if bins is not None and not (isinstance(bins, int | np.integer) and 1 <= bins <= judged.n):
        raise ValueError(f"bins must be a whole number from 1 to the number of labels, {judged.n}, got {bins!r}.")
    if bins is None and float(np.ptp(judged.scale)) <= 1e-12 * float(judged.scale.max()):
        most = 1
    order = np.argsort(judged.scale, kind="stable")
    return [_bin(judged, rows) for rows in np.array_split(order, most if bins is None else int(bins))]


def _bin(judged: JudgedForecast, rows: Any) -> SpreadBin:
    square = np.square(judged.residual[rows])
    found = square - judged.noise2[rows]
    mean, count = float(np.mean(found)), len(rows)
    # of normal residuals, and of those at hand where these scatter more
    own = 2.0 * float(np.mean(np.square(np.maximum(mean, 0.0) + judged.noise2[rows])))
    std = math.sqrt(max(own, float(np.var(square, ddof=1)) if count > 1 else 0.0) / count)
    low, high = (math.sqrt(max(end, 0.0)) for end in (mean - 1.96 * std, mean + 1.96 * std))
    spread = math.sqrt(float(np.mean(judged.spread2[rows])))
    return SpreadBin(count, spread, math.sqrt(max(mean, 0.0)), low, high, math.sqrt(float(np.mean(square))))
