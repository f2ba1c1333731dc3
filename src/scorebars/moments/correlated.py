"""Variance of a mean loss when the errors of the labels are correlated."""

from __future__ import annotations

import numpy as np

from scorebars.errors import Normal
from scorebars.errors.base import FloatArray
from scorebars.losses import AbsoluteError, Loss, SignedError, SquaredError
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.folded_covariance import variance_correlated, variance_shared
from scorebars.moments.hermite import correlated_variance_of
from scorebars.moments.quadratic import quadratic_terms


def correlated_variance(loss: Loss, data: Measured) -> float:
    """Variance of the weighted mean of the loss under correlated normal errors."""
    errors, a, d = data.errors, data.shares, data.residual
    assert isinstance(errors, Normal)
    if isinstance(loss, SquaredError):
        return quadratic_terms(errors, a, d).variance
    if isinstance(loss, SignedError):
        return mean_variance(errors, data)
    if not isinstance(loss, AbsoluteError):
        y, p = np.asarray(data.y, float), np.asarray(data.p, float)
        return correlated_variance_of(loss, data, label_moments(loss, errors, y, p))
    if errors.cov is not None:
        return variance_correlated(d, errors.cov, data.weight)
    assert errors.shared is not None
    sigma = np.broadcast_to(errors.sigma, d.shape)
    return variance_shared(d, sigma, errors.shared, data.weight).variance


def mean_variance(errors: Normal, data: Measured) -> float:
    """Variance of the weighted mean of the errors."""
    return sum_variance(errors, data.shares)


def sum_variance(errors: Normal, a: FloatArray) -> float:
    """Variance of sum a_i e_i, a' S a."""
    if errors.cov is not None:
        return float(a @ errors.cov @ a)
    own = float(np.sum(np.square(a * errors.sigma)))
    return own if errors.shared is None else own + float(np.sum(np.square(errors.shared @ a)))
