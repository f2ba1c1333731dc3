"""The share of labels within a tolerance needs only probabilities: every family has them."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from scorebars.errors.base import FloatArray, MeasurementError
from scorebars.errors.continuous import Continuous, divisible
from scorebars.errors.normal import Normal
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


def within_normal(loss: Within, errors: Normal, y: FloatArray, p: FloatArray) -> Moments:
    """The same from the distances to the near and to the far edge: a label crosses the near one, or both."""
    away = np.abs(p - y)
    hit, width = away <= loss.tolerance, divisible(errors.total)
    with np.errstate(over="ignore"):
        near, far = ndtr(-np.abs(loss.tolerance - away) / width), ndtr(-(loss.tolerance + away) / width)
    crosses = np.where(errors.exact(y), 0.0, near + np.where(hit, far, -far))
    return Moments(np.where(hit, 1.0 - crosses, crosses), crosses * (1.0 - crosses))
