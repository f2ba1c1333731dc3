"""The log-cosh loss under normal errors: no closed form, but the trapezoid rule is exact to rounding.

The loss is analytic within pi/2 of the real axis, so with step h in z the error is exp(-pi^2 / (h sigma)): 1e-16 for
h = 1/4 up to sigma = 1. Wider errors are left to the adaptive rule.
"""

from __future__ import annotations

import numpy as np

from scorebars.errors import Normal
from scorebars.errors.base import FloatArray
from scorebars.errors.normal import normal_density
from scorebars.losses import LogCosh
from scorebars.moments.pair import Moments
from scorebars.moments.quadrature import integrate

_STEP = 0.25
_Z = np.linspace(-12.0, 12.0, 97)
_WEIGHT = _STEP * normal_density(_Z)
_WIDEST = 1.0
_BLOCK = 2048


def log_cosh_normal(loss: LogCosh, errors: Normal, y: FloatArray, p: FloatArray) -> Moments:
    """Mean and variance of each label's log-cosh loss."""
    sigma = np.broadcast_to(errors.total, y.shape)
    mean, variance = np.empty(len(y)), np.empty(len(y))
    wide = sigma > _WIDEST
    if wide.any():
        mean[wide], variance[wide] = integrate(loss, Normal.trusted(sigma[wide]), y[wide], p[wide])
    narrow = np.flatnonzero(~wide)
    for start in range(0, narrow.size, _BLOCK):
        part = narrow[start : start + _BLOCK]
        residual, zero = y[part] - p[part], np.zeros(part.size)
        seen = loss(residual, zero)
        change = loss(residual + _Z[:, None] * sigma[part], zero) - seen
        shift = _WEIGHT @ change
        mean[part], variance[part] = seen + shift, _WEIGHT @ np.square(change - shift)
    return Moments(mean, variance)
