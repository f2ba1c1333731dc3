"""The pinball loss under normal errors.

With u = x - p, z = delta/sigma >= 0 and u_- = max(-u, 0), the loss is alpha u + u_-, so

    mean     = alpha delta + sigma g(z)/2
    variance = sigma^2 [alpha^2 - 2 alpha Q(z) + g2(z) - g(z)^2/4]

and for delta < 0 the same with 1 - alpha for alpha. (g, g2, Q: see `scorebars.special`.)
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from scorebars.errors import Normal
from scorebars.errors.base import FloatArray
from scorebars.losses import Pinball
from scorebars.moments.pair import Moments
from scorebars.special import g, g2, standardised


def pinball_normal(loss: Pinball, errors: Normal, y: FloatArray, p: FloatArray) -> Moments:
    """Mean and variance of each label's pinball loss."""
    delta = y - p
    sigma = np.broadcast_to(errors.total, delta.shape)
    alpha = np.where(delta >= 0, loss.alpha, 1.0 - loss.alpha)
    z = np.minimum(standardised(delta, sigma), 1e100)
    gain = g(z)
    spread = alpha * (alpha - 2.0 * ndtr(-z)) + g2(z) - gain * gain / 4
    return Moments(alpha * np.abs(delta) + sigma * gain / 2, np.square(sigma) * np.maximum(spread, 0.0))
