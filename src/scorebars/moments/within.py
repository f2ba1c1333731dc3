"""The share of labels within a tolerance needs only probabilities: every family has them."""

from __future__ import annotations

import numpy as np

from scorebars.errors.base import FloatArray, MeasurementError
from scorebars.errors.continuous import Continuous
from scorebars.losses import Within
from scorebars.moments.pair import Moments


def within_any(loss: Within, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Moments:
    """P(p - tol <= label <= p + tol) and P(1 - P), the complement taken from the tails so that it keeps its digits."""
    low, high = p - loss.tolerance, p + loss.tolerance
    inside = errors.between(y, low, high)
    outside = np.minimum(errors.below(y, low) + errors.sf(y, high), 1.0)
    if isinstance(errors, Continuous) and errors.bounded:  # what rounding leaves outside is not there
        outside = np.where(outside < 1e-15, 0.0, outside)
    exact = errors.variance(y) == 0
    if exact.any():  # |y - p| <= tol itself decides, not its rounded bounds
        inside = np.where(exact & (errors.mean(y) == y), loss(y, p), inside)
        outside = np.where(exact & (errors.mean(y) == y), 1.0 - inside, outside)
    return Moments(inside, inside * outside)
