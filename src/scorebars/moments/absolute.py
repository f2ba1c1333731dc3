"""|x - p| under every family: how much label errors add to an absolute error.

With delta = E x - p and the gain G = E|x - p| - |delta| >= 0,

    E|x - p| = |delta| + G,        Var|x - p| = s2 - G (2|delta| + G),

so each family only has to know its gain: normal sigma g(z), uniform (w - |delta|)^2 / 2w, triangular
(w - |delta|)^3 / 3w^2, Laplace b exp(-|delta|/b), Student, log-normal, Poisson as below.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx, ndtr

from scorebars.errors import LogNormal, Normal, Poisson, SplitNormal
from scorebars.errors.base import FloatArray
from scorebars.errors.continuous import NO_ERROR, Symmetric
from scorebars.errors.log_normal import log_ratio
from scorebars.errors.normal import normal_density
from scorebars.moments.pair import Moments
from scorebars.special import folded_mean, folded_variance, g, scaled_g, standardised

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def from_gain(size: FloatArray, gain: FloatArray, variance: FloatArray) -> Moments:
    """Moments of |x - p| from |delta|, the gain and the variance of the label."""
    with np.errstate(invalid="ignore", over="ignore"):
        spread = np.maximum(variance - gain * (2.0 * size + gain), 0.0)
    return Moments(size + gain, np.where(np.isinf(variance), np.inf, spread))


def absolute_normal(errors: Normal, y: FloatArray, p: FloatArray) -> Moments:
    """The folded normal."""
    delta = y - p
    sigma = np.broadcast_to(errors.absolute_sd if errors.independent else errors.total, delta.shape)
    return Moments(folded_mean(delta, sigma), folded_variance(delta, sigma))


def absolute_symmetric(errors: Symmetric, y: FloatArray, p: FloatArray) -> Moments:
    """Uniform, triangular, Laplace and Student errors."""
    size = np.abs(y - p)
    z = standardised(size, np.broadcast_to(errors.width, y.shape))
    width = np.where(errors.exact(y), 1.0, errors.width)
    gain = np.where(errors.exact(y), 0.0, width * errors.gain(np.minimum(z, 1e300)))
    return from_gain(size, gain, errors.variance(y))


def absolute_split_normal(errors: SplitNormal, y: FloatArray, p: FloatArray) -> Moments:
    """p above the mode leaves the upper half normal to fold, below it the lower."""
    lower, upper = np.broadcast_to(errors.lower, y.shape), np.broadcast_to(errors.upper, y.shape)
    total = np.where(lower + upper > 0, lower + upper, 1.0)
    width = np.where(p >= y, upper, lower)
    gap = np.abs(p - y)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = np.where(width > 0, gap / np.where(width > 0, width, 1.0), np.inf)
    shift = math.sqrt(2 / math.pi) * (upper - lower)
    away = gap - np.where(p >= y, shift, -shift)
    folded = 2.0 * (width / total) * width * g(z)
    return Moments(away + folded, np.maximum(errors.variance(y) - folded * (folded + 2.0 * away), 0.0))


def absolute_log_normal(errors: LogNormal, y: FloatArray, p: FloatArray) -> Moments:
    """The gain is twice E(p - x)_+ where p is below the mean, else twice E(x - p)_+."""
    excess = log_normal_excess(np.broadcast_to(errors.sigma_log, y.shape), y, p)
    return from_gain(np.abs(errors.mean(y) - p), 2.0 * excess, errors.variance(y))


def log_normal_excess(s: FloatArray, y: FloatArray, p: FloatArray) -> FloatArray:
    """The smaller of E(p - x)_+ and E(x - p)_+, x log-normal with median y, mean mu and k = log(p/y)/s.

    E(p - x)_+ = p Phi(k) - mu Phi(k - s), and mu phi(k - s) = p phi(k): the difference of two large numbers is
    p phi(k) [R(-k) - R(s - k)] with Mills' ratio R = Q/phi, and for small s the integral of -R' = 1 - t R(t).
    """
    inside = (p > 0) & (s > NO_ERROR)
    c, width = np.where(inside, p, 1.0), np.where(inside, s, 1.0)
    k = log_ratio(c, np.where(inside, y, 1.0)) / width
    up = k <= width / 2
    a = np.where(up, -k, k - width)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scale = c * normal_density(k)
        narrow = np.zeros_like(a)
        for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
            narrow += 0.5 * weight * _minus_slope(a + np.minimum(width, 0.5) * (0.5 + 0.5 * point))
        far = _mills(np.maximum(a, 0.0)) - _mills(np.maximum(a, 0.0) + width)
        base = np.where(up, c, c * np.exp(width * np.minimum(width / 2 - k, 0.0)))
        near = base * ndtr(-a) - scale * _mills(a + width)
        wide = np.where(a >= 0, scale * far, near)
        return np.where(inside, np.where(width < 0.5, scale * width * narrow, wide), 0.0)


def _mills(t: FloatArray) -> FloatArray:
    """R(t) = Q(t)/phi(t)."""
    return np.asarray(math.sqrt(math.pi / 2) * erfcx(t / math.sqrt(2)))


def _minus_slope(t: FloatArray) -> FloatArray:
    """-R'(t) = 1 - t R(t); for t >= 0 this is g(t) / (2 phi(t)), which keeps its digits."""
    positive = scaled_g(np.maximum(t, 0.0)) * math.sqrt(math.pi / 2)
    return np.where(t >= 0, positive, 1.0 - t * _mills(np.clip(t, -1.0, 0.0)))


def absolute_poisson(errors: Poisson, y: FloatArray, p: FloatArray) -> Moments:
    """E(p - x)_+ = (p - mu) P(x <= p) + mu P(x = floor p), and E(x - p)_+ = (mu - p) P(x > p) + the same."""
    count = np.floor(p / errors.unit)
    peak = y * np.where(count >= 0, errors.probability(y, np.maximum(count, 0.0)), 0.0)
    lower = peak - (y - p) * errors.cdf(y, p)
    upper = peak - (p - y) * errors.sf(y, p)
    excess = np.maximum(np.where(p < y, lower, upper), 0.0)
    return from_gain(np.abs(y - p), 2.0 * excess, errors.variance(y))
