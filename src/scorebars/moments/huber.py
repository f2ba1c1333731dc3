"""The Huber loss under normal errors: a parabola between two straight lines.

In z = (x - y)/sigma the loss minus its value at the label is a polynomial of degree 2 on each of three pieces, and the
moments of a normal variable between two bounds are known,

    I_j = (j - 1) I_{j-2} + lo^{j-1} phi(lo) - hi^{j-1} phi(hi).

Taking the loss relative to its value at the label keeps the digits of a small scatter about a large loss.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from scorebars.errors import Normal
from scorebars.errors.base import FloatArray
from scorebars.errors.normal import normal_density
from scorebars.losses import Huber
from scorebars.moments.pair import Moments

_FAR = 39.0  # no normal probability is left beyond
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def huber_normal(loss: Huber, errors: Normal, y: FloatArray, p: FloatArray) -> Moments:
    """Mean and variance of each label's Huber loss."""
    k, a = loss.delta, np.abs(y - p)
    sigma = np.broadcast_to(errors.total, a.shape)
    low, high = _bound(-k - a, sigma), _bound(k - a, sigma)
    inside = a <= k
    # constants of the three pieces relative to the loss at the label, which itself is on one of them
    left = np.where(inside, -np.square(k + a) / 2, -2.0 * k * a)
    middle = np.where(inside, 0.0, np.square(a - k) / 2)
    right = np.where(inside, -np.square(k - a) / 2, 0.0)
    first, second = _parabola(low, high, middle, a * sigma, np.square(sigma) / 2)
    for bounds, constant, slope in (((-_FAR, low), left, -k * sigma), ((high, _FAR), right, k * sigma)):
        i0, i1, i2, _, _ = _normal_moments(*bounds)
        first = first + constant * i0 + slope * i1
        second = second + constant * (constant * i0 + 2.0 * slope * i1) + slope * slope * i2
    exact, seen = sigma == 0, loss(y, p)
    mean = np.where(exact, seen, seen + first)
    return Moments(mean, np.where(exact, 0.0, np.maximum(second - first * first, 0.0)))


def _parabola(
    low: FloatArray, high: FloatArray, c0: FloatArray, c1: FloatArray, c2: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """First and second moment of c0 + c1 z + c2 z^2 between two bounds; a short range by Gauss's rule, without cancelling."""
    i0, i1, i2, i3, i4 = _normal_moments(low, high)
    first = c0 * i0 + c1 * i1 + c2 * i2
    second = c0 * c0 * i0 + 2 * c0 * c1 * i1 + (c1 * c1 + 2 * c0 * c2) * i2 + 2 * c1 * c2 * i3 + c2 * c2 * i4
    half = 0.5 * (high - low)
    short = half < 0.5
    if not short.any():
        return first, second
    z = 0.5 * (high + low) + _POINTS[:, None] * half
    value = c0 + z * (c1 + c2 * z)
    mass = half * _WEIGHTS[:, None] * normal_density(z)
    terms = mass * value
    return np.where(short, terms.sum(axis=0), first), np.where(short, (terms * value).sum(axis=0), second)


def _bound(distance: FloatArray, sigma: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.clip(distance / np.where(sigma > 0, sigma, 1.0), -_FAR, _FAR)


def _normal_moments(low: FloatArray | float, high: FloatArray | float) -> tuple[FloatArray, ...]:
    """E Z^j between two bounds, j = 0 ... 4."""
    low, high = np.clip(low, -_FAR, _FAR), np.clip(high, -_FAR, _FAR)
    at_low, at_high = (np.where(np.abs(b) < _FAR, normal_density(b), 0.0) for b in (low, high))
    i0 = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    i1 = at_low - at_high
    i2 = i0 + low * at_low - high * at_high
    i3 = 2.0 * i1 + low**2 * at_low - high**2 * at_high
    i4 = 3.0 * i2 + low**3 * at_low - high**3 * at_high
    return i0, i1, i2, i3, i4
