"""The mean of any loss at another noise level: smoothed by more label error, or extrapolated to less (SIMEX).

The labels at hand carry an error. With extra error of `level` times its variance on top, the mean loss of each label is a
known integral. A parabola through the levels 0, 0.5, 1, 1.5, 2, read at -1 (no label error at all) or anywhere between,
estimates the loss at less error. It is linear in the five values, so it is a mean of per-label terms.

Labels too few to show a distribution of true residuals still bound the truth. Label error s raises the mean loss of an
item with true residual D by g_s(D) = E loss(D + s Z) - loss(D), so the mean loss against the truth is the expected
observed score less the mean of g_s(D_i). D_i is not known, but it lies within a few s_i of the observed residual: the
smallest and the largest g_s there bound the truth on both sides. For |D| these are 0 and sqrt(2/pi) s, or 0 and 0 for a
residual many errors away from the kink.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from scorebars.answers.intervals import half_width_in_std, kept_between
from scorebars.answers.score import Interval
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError, Normal
from scorebars.forecasts import Forecast
from scorebars.losses import Loss
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.closed_forms import label_mean

_LEVELS = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
_FIT = np.linalg.pinv(np.vander(_LEVELS, 3))
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(12)
_NODE_WEIGHTS = _NODE_WEIGHTS / math.sqrt(2 * math.pi)
_REACH = 4.0
"""A true residual is taken to lie within this many errors of the observed one."""
_POINTS = 33
_BESIDE = 1e-9
"""A jump is sampled on both sides, this part of the error away."""
_MOST_LABELS = 2000
"""More labels than this are thinned out."""


def loss_at_level(
    loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray, level: FloatArray | float
) -> FloatArray:
    """The mean loss of each label with `level` times its error variance more (-1: none at all).

    Level 0 is the loss itself, above 0 it is smoothed, below 0 extrapolated.
    """
    level = np.where(errors.label_variance(y) > 0, np.asarray(level, dtype=np.float64), 0.0)
    out = np.array(loss(y, p), dtype=np.float64)
    up, down = np.flatnonzero(level > 0), np.flatnonzero(level < 0)
    if up.size:
        out[up] = _smoothed(loss, errors[up], y[up], p[up], level[up])
    if down.size:
        errors, y, p = errors[down], y[down], p[down]
        read = np.stack([np.square(level[down]), level[down], np.ones(down.size)])
        weights = (read.T @ _FIT).T
        terms = np.stack([_smoothed(loss, errors, y, p, lam) for lam in _LEVELS])
        with np.errstate(invalid="ignore"):
            out[down] = np.where(np.isfinite(terms).all(axis=0), np.sum(weights * terms, axis=0), np.inf)
    return out


def _smoothed(
    loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray, level: FloatArray | float
) -> FloatArray:
    model, centre = errors.noisier(y, level)
    return label_mean(loss, model, centre, p)


def level_variance(
    loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray, level: FloatArray | float
) -> FloatArray:
    """Variance of each label's term in `loss_at_level` if the label at hand were redrawn from its error bar."""
    own = errors.label_level()
    first, *others = zip(*(own.moved(y, p, z) for z in _NODES), strict=True)
    spread = _spread_over(loss, errors, first, level)
    for way in others:  # errors of the prediction
        spread = spread + _spread_over(loss, errors, way, level)
    return np.where(np.isfinite(spread), spread, np.inf)


def _spread_over(
    loss: Loss,
    errors: MeasurementError,
    again: Iterable[tuple[FloatArray, FloatArray]],
    level: FloatArray | float,
) -> FloatArray:
    """Variance of each label's term over labels measured again."""
    if errors.of_predictions() is None:
        terms = np.stack([loss_at_level(loss, errors, *at, level) for at in again])
    else:  # integrals over two errors: all at once
        y, p = map(np.concatenate, zip(*again, strict=True))
        n = len(y) // _NODES.size
        tiled = errors[np.tile(np.arange(n), _NODES.size)]
        levels = np.tile(np.broadcast_to(level, (n,)), _NODES.size)
        terms = loss_at_level(loss, tiled, y, p, levels).reshape(_NODES.size, n)
    with np.errstate(invalid="ignore"):
        change = terms - terms[_NODES.size // 2]
        shift = _NODE_WEIGHTS @ change
        return np.asarray(_NODE_WEIGHTS @ np.square(change - shift))


def raised_by_noise(loss: Loss, data: Measured, sd: FloatArray) -> tuple[float, float]:
    """The least and the most by which label errors `sd` may have raised the mean loss, of the residual or of a forecast."""
    width = data.p.numbers_per_label if isinstance(data.p, Forecast) else 1
    rows = np.arange(0, data.n, max(1, data.n * width // _MOST_LABELS))
    few, s = data[rows], sd[rows]
    y, p, errors = few.labels, few.predictions, Normal.trusted(s)
    kinks = loss.kinks(p)
    near = np.concatenate([kinks, kinks - _BESIDE * s, kinks + _BESIDE * s])
    points = np.concatenate([y + np.linspace(-_REACH, _REACH, _POINTS)[:, None] * s, near])
    points = np.clip(points, y - _REACH * s, y + _REACH * s)
    raised = np.stack([np.subtract(label_moments(loss, errors, row, p).mean, loss(row, p)) for row in points])
    return float(raised.min(axis=0) @ few.shares), float(raised.max(axis=0) @ few.shares)


def for_any_residuals(
    bounds: tuple[float, float], value: float, limits: tuple[float, float], std: float, df: float, level: float
) -> Interval:
    """From `bounds` of the truth, each known up to a scatter; holds the estimate and stays in the range."""
    scatter = half_width_in_std(level, df) * std
    return kept_between(min(bounds[0] - scatter, value), max(bounds[1] + scatter, value), *limits)
