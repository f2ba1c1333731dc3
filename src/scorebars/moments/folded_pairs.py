"""Covariance of two absolute errors, |X| and |Y| for correlated normal X and Y.

In standard units (X = U + h, Y = V + k with h, k >= 0, correlation rho, q = sqrt(1 - rho^2); a negative h
turns the sign of rho)

    Cov(|X|, |Y|) = rho (1 - 2Q(h) - 2Q(k)) + 4 P - g(h) g(k),    P = E (U - h)_+ (V - k)_+
    P = (hk + rho) L + q^2 phi2(h, k) - h phi(k) Q((h - rho k)/q) - k phi(h) Q((k - rho h)/q)

with L = P(U > h, V > k) by Owen's T function: closed, and no term is large where the covariance is small. For
moderate rho Mehler's series is faster,

    Cov(|X|, |Y|) = rho erf(h/sqrt2) erf(k/sqrt2) + 4 phi(h) phi(k) sum_{r>=2} rho^r He_{r-2}(h) He_{r-2}(k) / r!

because summed over many pairs each power of rho is one matrix-vector product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import erf, ndtr, owens_t

from scorebars.special import FloatArray, exp_minus_half_square, g, g2, v

_SERIES_ALL = 0.75  # Mehler's series for every pair up to this |rho| (about 130 terms)
_SERIES_FEW = 0.5  # and only up to this one (50 terms) where few pairs lie above it
_BLOCK = 1 << 16  # pairs at a time
_FLAT = 12.0  # exp(-12^2/4) = 2e-16: nothing beyond the first term of the series is left

CorrelationRows = Callable[[int, int], FloatArray]
"""Correlations of labels start..stop with the labels start..n, as a (stop - start, n - start) array."""


def covariance_of_absolute(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Cov(|U + h|, |V + k|) of standard normals U, V with correlation rho in [-1, 1]; any sign of h and k."""
    rho = np.clip(np.where((h < 0) != (k < 0), -rho, rho), -1.0, 1.0)
    h, k = _within(np.abs(h)), _within(np.abs(k))
    linear = rho * (1.0 - 2.0 * ndtr(-h) - 2.0 * ndtr(-k))
    return np.asarray(linear + 4.0 * _product_of_excesses(h, k, rho) - g(h) * g(k))


def _within(size: FloatArray) -> FloatArray:
    """Nothing changes beyond 40, nor below where doubles lose their digits."""
    return np.asarray(np.where(size < 1e-200, 0.0, np.minimum(size, 40.0)))


def _product_of_excesses(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """E (U - h)_+ (V - k)_+ for h, k >= 0."""
    q = np.sqrt((1.0 - rho) * (1.0 + rho))
    larger = np.maximum(h, k)
    one = np.where(rho > 0, g2(larger) + 0.5 * np.abs(h - k) * g(larger), 0.0)  # rho = 1 or -1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        # h - rho k, written so that it keeps its digits near rho = 1
        across_h, across_k = (h - k) + (1.0 - rho) * k, (k - h) + (1.0 - rho) * h
        slope_h = np.where(h > 0, across_k / (h * q), math.inf)
        slope_k = np.where(k > 0, across_h / (k * q), math.inf)
        upper = 0.5 * (ndtr(-h) + ndtr(-k)) - owens_t(h, slope_h) - owens_t(k, slope_k)
        upper = np.where((h == 0) & (k == 0), 0.25 + np.arcsin(rho) / (2.0 * math.pi), upper)
        density = exp_minus_half_square(h) * exp_minus_half_square(np.minimum(np.abs(across_k) / q, 40.0))
        root = math.sqrt(0.5 / math.pi)
        closed = (
            (h * k + rho) * upper
            + q * density / (2.0 * math.pi)
            - h * root * exp_minus_half_square(k) * ndtr(-across_h / q)
            - k * root * exp_minus_half_square(h) * ndtr(-across_k / q)
        )
    return np.where(q > 0, closed, one)


def variance_of_sum(b: FloatArray, z: FloatArray, correlations: CorrelationRows) -> float:
    """Variance of sum b_i |U_i + z_i| for standard normals U_i with the given correlations."""
    off_diagonal = 0.0
    for start, stop in _rows(b.size):
        rho = correlations(start, stop)
        np.clip(rho, -1.0, 1.0, out=rho)
        # each pair once: the part right of the diagonal of this block, and all columns after the block
        rho[:, : stop - start] = np.triu(rho[:, : stop - start], 1)
        off_diagonal += _pairs(b[start:stop], z[start:stop], b[start:], z[start:], rho)
    own = float(np.sum(np.square(b) * v(z)))
    return max(own + 2.0 * off_diagonal, 0.0)


def _rows(n: int) -> Iterator[tuple[int, int]]:
    start = 0
    while start < n:
        stop = min(n, start + max(1, _BLOCK // (n - start)))
        yield start, stop
        start = stop


def _pairs(b: FloatArray, h: FloatArray, c: FloatArray, k: FloatArray, rho: FloatArray) -> float:
    """Sum of b_i c_j Cov(|U_i + h_i|, |V_j + k_j|) over all pairs; `rho` is used up."""
    size = np.abs(rho)
    few = np.count_nonzero(size > _SERIES_FEW) <= 0.05 * rho.size
    i, j = np.nonzero(size > (_SERIES_FEW if few else _SERIES_ALL))
    total = 0.0
    for start in range(0, i.size, _BLOCK):
        rows, columns = i[start : start + _BLOCK], j[start : start + _BLOCK]
        covariance = covariance_of_absolute(h[rows], k[columns], rho[rows, columns])
        total += float(np.sum(b[rows] * c[columns] * covariance))
    rho[i, j] = 0.0
    return total + _mehler(b, h, c, k, rho)


def _mehler(b: FloatArray, h: FloatArray, c: FloatArray, k: FloatArray, rho: FloatArray) -> float:
    """The same by Mehler's series, for |rho| well below 1."""
    root = math.sqrt(0.5)
    total = _form(b * erf(root * h), rho, c * erf(root * k))
    rows, columns = np.abs(h) < _FLAT, np.abs(k) < _FLAT
    if not (rows.all() and columns.all()):
        rho = rho[np.ix_(rows, columns)]
        b, h, c, k = b[rows], h[rows], c[columns], k[columns]
    largest = float(np.max(np.abs(rho), initial=0.0))
    if largest == 0.0:
        return total
    density = math.sqrt(2.0 / math.pi)
    before_b, now_b = np.zeros(b.shape), b * density * exp_minus_half_square(h)
    before_c, now_c = np.zeros(c.shape), c * density * exp_minus_half_square(k)
    power = rho * rho
    r = 2
    while True:
        total += _form(now_b, power, now_c) / (r * (r - 1))
        # He_r / sqrt(r!) grows slower than r^(-1/4) exp(h^2/4): the size of a term is that of its power of rho
        if largest**r < 1e-17 * r:
            return total
        n = r - 2
        before_b, now_b = now_b, (h * now_b - math.sqrt(n) * before_b) / math.sqrt(n + 1)
        before_c, now_c = now_c, (k * now_c - math.sqrt(n) * before_c) / math.sqrt(n + 1)
        power *= rho
        r += 1


def _form(x: FloatArray, matrix: FloatArray, y: FloatArray) -> float:
    """x' matrix y without BLAS, whose threads cost more than they give at this size."""
    return float(np.sum(x * np.einsum("ij,j->i", matrix, y)))
