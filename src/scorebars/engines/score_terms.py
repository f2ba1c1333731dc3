"""Scores of forecasts as observed, with their mean and variance over the label errors, label by label.

Compiled for the CRPS of normal forecasts and of members under independent normal errors; all else by the closed forms, or by
quadrature. Both give the same numbers to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.engines.engine import score_loops
from scorebars.errors import MeasurementError, Normal
from scorebars.forecasts import EnsembleForecast, NormalForecast
from scorebars.losses import Crps, Loss
from scorebars.moments import label_moments

Terms3 = tuple[FloatArray, FloatArray, FloatArray]
"""Observed score, mean and variance of each label."""
_SMALL = 1e-4
"""Variances of members below this part of the label's are found again with all their digits."""


def score_terms(loss: Loss, errors: MeasurementError, y: FloatArray, p: Any) -> Terms3:
    """The loss of each label, its mean and its variance."""
    loops = score_loops() if isinstance(loss, Crps) and type(errors) is Normal and errors.independent else None
    if loops is not None and type(p) is NormalForecast:
        return _normal(loops, errors, y, p)  # type: ignore[arg-type]
    if loops is not None and type(p) is EnsembleForecast:
        return _members(loops, loss, errors, y, p)  # type: ignore[arg-type]
    moments = label_moments(loss, errors, y, p)
    return loss(y, p), moments.mean, moments.variance


def _column(values: Any, n: int) -> FloatArray:
    return np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=np.float64), (n,)))


def _normal(loops: Any, errors: Normal, y: FloatArray, p: NormalForecast) -> Terms3:
    n = len(y)
    found = np.empty((3, n))
    columns = (_column(values, n) for values in (y, p.mean, p.std, errors.sigma))
    loops.normal_crps(n, *columns, *found)
    return found[0], found[1], found[2]


def _members(loops: Any, loss: Crps, errors: Normal, y: FloatArray, p: EnsembleForecast) -> Terms3:
    n, m = len(y), p.size
    found = np.empty((3, n))
    sigma = _column(errors.sigma, n)
    pairs = float(m * m if loss.estimator == "plain" else m * (m - 1))
    members = np.ascontiguousarray(p.members, dtype=np.float64)
    loops.member_crps(n, m, pairs, members, _column(y, n), sigma, *found)
    small = np.flatnonzero((found[2] < _SMALL * np.square(sigma)) & (sigma > 0))
    if small.size:
        found[2, small] = label_moments(loss, Normal.trusted(sigma[small]), y[small], p[small]).variance  # type: ignore[arg-type]
    return found[0], found[1], found[2]
