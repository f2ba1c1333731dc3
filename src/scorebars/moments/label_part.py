"""How much of the scatter of observed losses is the labels' own error?

A label t + e has the loss l(t + e), with variance V(t) over its error. The truth t is not known, only the label: V at the
label is V smoothed by the error once, V averaged over a label measured again is V smoothed twice. With both,

    V(t) = 2 V(label) - V(label measured again),

exact where V is a parabola, as for squared errors: 4 d^2 s^2 - 2 s^4 for normal errors.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from scorebars.errors import Empirical, Normal
from scorebars.errors.base import FloatArray, MeasurementError
from scorebars.losses import Loss
from scorebars.moments import label_moments
from scorebars.special import v as folded_v

_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_NODE_WEIGHTS = _NODE_WEIGHTS / math.sqrt(2 * math.pi)


def label_part(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> FloatArray:
    """Variance of each label's loss over its own error, about the true value behind the label."""
    own = errors.label_level() if isinstance(errors, Normal) else errors
    here = label_moments(loss, own, y, p).variance
    if isinstance(errors, Empirical):  # its draws do not move with the label
        return here
    again = [w * label_moments(loss, own, own.ppf(y, np.full(len(y), ndtr(z))), p).variance for z, w in _rule()]
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(here), 2.0 * here - np.sum(again, axis=0), np.inf)


def folded_part(z: FloatArray) -> FloatArray:
    """The same for |D + s Z| in units of s^2, z = |observed D| / s.

    >>> folded_part(np.array([0.0, 1.0, 30.0])).round(3).tolist()
    [0.163, 0.612, 1.0]
    """
    again = [w * folded_v(np.abs(z + node)) for node, w in _rule()]
    return np.asarray(2.0 * folded_v(z) - np.sum(again, axis=0))


def _rule() -> list[tuple[float, float]]:
    return list(zip(_NODES.tolist(), _NODE_WEIGHTS.tolist(), strict=True))
