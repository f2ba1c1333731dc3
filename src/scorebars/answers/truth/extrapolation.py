"""The mean of any loss at another noise level: smoothed by more label error, or extrapolated to less (SIMEX).

The labels at hand carry an error. With extra error of `level` times its variance on top, the mean loss of each label is a
known integral. A parabola through the levels 0, 0.5, 1, 1.5, 2, read at -1 (no label error at all) or anywhere between,
estimates the loss at less error. It is linear in the five values, so it is a mean of per-label terms.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.losses import Loss
from scorebars.moments import label_moments

_LEVELS = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
_FIT = np.linalg.pinv(np.vander(_LEVELS, 3))
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(12)
_NODE_WEIGHTS = _NODE_WEIGHTS / math.sqrt(2 * math.pi)


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
    return label_moments(loss, model, centre, p).mean


def level_variance(
    loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray, level: FloatArray | float
) -> FloatArray:
    """Variance of each label's term in `loss_at_level` when the label at hand moves within its error."""
    own = errors.label_level()
    terms = np.stack([loss_at_level(loss, errors, own.ppf(y, np.full(len(y), ndtr(z))), p, level) for z in _NODES])
    with np.errstate(invalid="ignore"):
        change = terms - terms[_NODES.size // 2]
        shift = _NODE_WEIGHTS @ change
        spread = _NODE_WEIGHTS @ np.square(change - shift)
    return np.where(np.isfinite(spread), spread, np.inf)
