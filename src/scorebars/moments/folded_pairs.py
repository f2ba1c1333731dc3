"""The covariance of two folded normals |X| and |Y|, closed and as a series.

In standard units (X = U + h, Y = V + k with h, k >= 0, correlation rho, q = sqrt(1 - rho^2); a negative h turns the sign of
rho)

    Cov(|X|, |Y|) = rho (1 - 2Q(h) - 2Q(k)) + 4 P - g(h) g(k),    P = E (U - h)_+ (V - k)_+
    P = (hk + rho) L + q^2 phi2(h, k) - h phi(k) Q((h - rho k)/q) - k phi(h) Q((k - rho h)/q)

with L = P(U > h, V > k) by Owen's T function; as Mehler's series it is sum_{m >= 1} rho^m c_m(h) c_m(k), with c_m the
Hermite coefficients of |Z + z|.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erf, ndtr

from scorebars.arrays import FloatArray
from scorebars.errors.continuous import normal_density
from scorebars.numerics.special import both_below, exp_minus_half_square, g, g2

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_POINTS, _WEIGHTS = 0.5 + 0.5 * _POINTS, 0.5 * _WEIGHTS
_CHUNK = 8192  # keeps the temporaries in the cache


def covariance_at_one(z: FloatArray, rho: FloatArray) -> FloatArray:
    """Cov(|U + z|, |V + z|) for correlation rho in [0, 1], both (n,), without any cancellation.

    Its derivative by rho is E sign(U + z) sign(V + z), and that of this 4 phi2(z, z; rho) (Price 1958). So with
    rho = sin(theta), t = tan(theta/2)

        C = rho erf(z/sqrt 2)^2 + (4/pi) int_0^T [rho - 2t/(1 + t^2)] exp(-z^2 (1 + t^2)/(1 + t)^2) dt / (1 + t^2),

    T = rho/(1 + sqrt(1 - rho^2)). Nothing is singular within 1 of the range: ten points of Gauss's rule give 1e-13.
    """
    out = np.empty(z.shape)
    for start in range(0, len(z), _CHUNK):
        part = slice(start, start + _CHUNK)
        r = rho[part]
        square = np.square(np.minimum(np.abs(z[part]), 40.0))
        end = r / (1.0 + np.sqrt((1.0 - r) * (1.0 + r)))
        total = np.zeros(len(r))
        for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
            t = point * end
            both = t * t
            both += 1.0
            t += 1.0
            factor = r - 2.0 * (t - 1.0) / both
            factor *= weight / both
            t *= t
            np.divide(both, t, out=both)
            both *= -square
            factor *= np.exp(both, out=both)
            total += factor
        sign = erf(np.sqrt(0.5 * square))
        out[part] = r * sign * sign + (4.0 / math.pi) * end * total
    return out


def absolute_coefficients(z: FloatArray, order: int) -> FloatArray:
    """Hermite coefficients of |Z + z|: erf(z/sqrt 2), then 2 phi(z) He_{m-2}(z) / sqrt(m!)."""
    out = np.empty((order, z.size))
    out[0] = erf(z / math.sqrt(2.0))
    near = np.clip(z, -40.0, 40.0)
    before, now = np.zeros(z.shape), math.sqrt(2.0 / math.pi) * exp_minus_half_square(near)
    for m in range(order - 1):
        out[m + 1] = now / math.sqrt((m + 2) * (m + 1))
        before, now = now, (near * now - math.sqrt(m) * before) / math.sqrt(m + 1)
    return out


def covariance_of_absolute(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Cov(|U + h|, |V + k|) of standard normals U, V with correlation rho in [-1, 1]; any sign of h and k."""
    rho = np.clip(np.where((h < 0) != (k < 0), -rho, rho), -1.0, 1.0)
    # nothing changes beyond 40, nor below where doubles lose their digits
    h, k = (np.where(np.abs(x) < 1e-200, 0.0, np.minimum(np.abs(x), 40.0)) for x in (h, k))
    linear = rho * (1.0 - 2.0 * ndtr(-h) - 2.0 * ndtr(-k))
    return np.asarray(linear + 4.0 * _product_of_excesses(h, k, rho) - g(h) * g(k))


def _product_of_excesses(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """E (U - h)_+ (V - k)_+ for h, k >= 0."""
    q = np.sqrt((1.0 - rho) * (1.0 + rho))
    larger = np.maximum(h, k)
    one = np.where(rho > 0, g2(larger) + 0.5 * np.abs(h - k) * g(larger), 0.0)  # rho = 1 or -1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        # h - rho k, written so that it keeps its digits near rho = 1
        across_h, across_k = (h - k) + (1.0 - rho) * k, (k - h) + (1.0 - rho) * h
        density = exp_minus_half_square(h) * exp_minus_half_square(np.minimum(np.abs(across_k) / q, 40.0))
        closed = (
            (h * k + rho) * both_below(-h, -k, rho)
            + q * density / (2.0 * math.pi)
            - h * normal_density(k) * ndtr(-across_h / q)
            - k * normal_density(h) * ndtr(-across_k / q)
        )
    return np.where(q > 0, closed, one)
