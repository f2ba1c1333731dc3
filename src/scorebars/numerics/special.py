"""Universal functions of the folded normal |Z + z|, Z standard normal.

The absolute error of a label with normal error is |delta + sigma Z| = sigma |Z + z|, z = delta/sigma, so
whatever an absolute error does is a function of z alone:

    g(z)    = E|Z + z| - |z| = 2 [phi(z) - |z| Q(|z|)]     what label noise adds to an absolute error
    v(z)    = Var|Z + z|     = 1 - 2|z| g - g^2
    g2(z)   = E (Z - z)_+^2  = (1 + z^2) Q(z) - z phi(z)    (= integral of g from z on, for z >= 0)
    kappa3, kappa4           = third and fourth cumulant of |Z + z|

(phi, Q: density and upper tail of the normal.) As printed, the differences lose all digits in the tail.
Here g = exp(-z^2/2) P(z)/R(z) with polynomials of positive coefficients only, and the same for g2: no
cancellation, a few 1e-16 relative error for every z up to 37.4, where normal doubles end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import comb, log_ndtr, ndtr, owens_t

from scorebars.arrays import FloatArray

FLAT = 40.0  # exp(-40^2/2) is zero: from here on |Z + z| is Z + z
_FAR = 1e20  # keeps the highest power below overflow; only scaled functions are asked for there
_NARROW = 0.02  # intervals over which the normal density is a short Taylor series
_ROOT_2_PI = math.sqrt(2.0 * math.pi)
_BLOCK = 16384  # keeps the temporaries of one block in the cache

# Rational approximations on [0, inf), made by tests/reference/make_folded_coefficients.py. Constant term first.
# fmt: off
_G_TOP = (
    0.7978845608028654, 1.1581994466103858, 0.8478228072447471, 0.4042725699497545, 0.13765979585730115,
    0.034794790443073695, 0.0066001758637610495, 0.0009290806803859112, 9.333378963288326e-05, 6.100654908847556e-06,
    2.0080977677584863e-07,
)
_G_BOTTOM = (
    1.0, 2.7049018775832843, 3.4526800734847862, 2.755728466046405, 1.5353568881897213,
    0.6308415123061513, 0.19665595990336393, 0.04705621641247589, 0.008621513326362054, 0.001187368062568153,
    0.00011773159123255104, 7.646037044141855e-06, 2.516777321443409e-07,
)
_G2_BOTTOM = (
    1.0, 2.8822861986780492, 3.9434584625730347, 3.397400973539754, 2.0607799260447948,
    0.9317261612291958, 0.3239980223824562, 0.08805271757704966, 0.018784497069357985, 0.003124151147347917,
    0.0003966192099521852, 3.67664352519733e-05, 2.2646470548663242e-06, 7.202472853634693e-08,
)
_G2_TOP = (
    0.5, 0.6432585385361587, 0.42199757354614575, 0.18206747178832008, 0.05659558781844017,
    0.01317043383439701, 0.0023192857737495804, 0.00030561478261366344, 2.8990566529938673e-05, 1.806926920745517e-06,
    5.746741889516877e-08,
)
# fmt: on


def _polynomial(coefficients: tuple[float, ...], z: FloatArray) -> FloatArray:
    out = np.full(z.shape, coefficients[-1])
    for c in coefficients[-2::-1]:
        out *= z
        out += c
    return out


def exp_minus_half_square(z: FloatArray) -> FloatArray:
    """exp(-z^2/2) for |z| <= 40 to the last digit: z is split so that the large square is exact."""
    coarse = np.rint(z * 1024.0) / 1024.0
    rest = z - coarse
    return np.asarray(np.exp(-0.5 * coarse * coarse) * np.exp(-rest * (coarse + 0.5 * rest)))


def scaled_g(z: FloatArray) -> FloatArray:
    """g(z) exp(z^2/2) for z >= 0: what is left of g in ratios deep in the tail."""
    z = np.minimum(z, _FAR)
    return _polynomial(_G_TOP, z) / _polynomial(_G_BOTTOM, z)


def scaled_g2(z: FloatArray) -> FloatArray:
    """g2(z) exp(z^2/2) for z >= 0."""
    z = np.minimum(z, _FAR)
    return _polynomial(_G2_TOP, z) / _polynomial(_G2_BOTTOM, z)


def _g(z: FloatArray) -> FloatArray:
    """g for 0 <= z <= 40."""
    return exp_minus_half_square(z) * scaled_g(z)


def _in_blocks(function: Callable[..., FloatArray]) -> Callable[..., Any]:
    """The function of arguments of any shapes that go together, block by block; a float for scalars, else an array."""

    @wraps(function)
    def public(*arguments: ArrayLike) -> Any:
        arrays = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in arguments))
        flat = [a.reshape(-1) for a in arrays]
        parts = (slice(start, start + _BLOCK) for start in range(0, max(flat[0].size, 1), _BLOCK))
        with np.errstate(under="ignore", over="ignore"):
            out = np.concatenate([function(*(f[part] for f in flat)) for part in parts])
        return out.reshape(arrays[0].shape) if arrays[0].ndim else float(out[0])

    return public


@_in_blocks
def g(z: FloatArray) -> FloatArray:
    """g(z) = E|Z + z| - |z|, even in z: sqrt(2/pi) at 0, falling as 2 phi(z)/z^2.

    >>> round(g(0.5), 6)
    0.395593
    """
    return _g(np.minimum(np.abs(z), FLAT))


@_in_blocks
def one_minus_v(z: FloatArray) -> FloatArray:
    """1 - Var|Z + z| = g (2|z| + g): the share of the label variance that folding takes away."""
    z = np.minimum(np.abs(z), FLAT)
    gain = _g(z)
    return gain * (2.0 * z + gain)


def v(z: ArrayLike) -> Any:
    """v(z) = Var|Z + z|, from 1 - 2/pi at z = 0 up to 1."""
    return 1.0 - one_minus_v(z)


@_in_blocks
def g2(z: FloatArray) -> FloatArray:
    """g2(z) = E (Z - z)_+^2 for z of any sign; g2(-z) = 1 + z^2 - g2(z).

    >>> g2(0.0)
    0.5
    """
    size = np.minimum(np.abs(z), FLAT)
    upper = exp_minus_half_square(size) * scaled_g2(size)
    return np.asarray(np.where(z >= 0, upper, 1.0 + z * z - upper))


def _third(z: FloatArray, gain: FloatArray) -> FloatArray:
    """E|Z + z|^3 - (z^3 + 3z) = 2 E(Z - z)_+^3 for z >= 0."""
    return (z * z + 2.0) * gain - 2.0 * z * ndtr(-z)


@_in_blocks
def kappa3(z: FloatArray) -> FloatArray:
    """Third cumulant of |Z + z|: with r = 2 E(Z - z)_+^3 it is r + 3g(z^2 - 1) + 6z g^2 + 2g^3."""
    z = np.minimum(np.abs(z), FLAT)
    gain = _g(z)
    return _third(z, gain) + gain * (3.0 * (z * z - 1.0) + gain * (6.0 * z + 2.0 * gain))


@_in_blocks
def kappa4(z: FloatArray) -> FloatArray:
    """Fourth cumulant of |Z + z|: -4r(z + g) + 4zg(3 - z^2) + 12g^2(1 - 2z^2) - 24z g^3 - 6g^4, r as in kappa3."""
    z = np.minimum(np.abs(z), FLAT)
    gain, square = _g(z), z * z
    polynomial = 4.0 * z * (3.0 - square) + gain * (12.0 - 24.0 * square - gain * (24.0 * z + 6.0 * gain))
    return gain * polynomial - 4.0 * _third(z, gain) * (z + gain)


def standardised(delta: FloatArray, sigma: FloatArray) -> FloatArray:
    """z = |delta|/sigma, with inf (no noise) where sigma is 0 whatever delta is."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(sigma > 0, np.abs(delta) / sigma, math.inf)


@_in_blocks
def folded_mean(delta: FloatArray, sigma: FloatArray) -> FloatArray:
    """E|delta + sigma Z| = |delta| + sigma g(delta/sigma); sigma = 0 gives |delta|.

    >>> round(folded_mean(0.5, 0.2), 6)
    0.500802
    """
    return np.abs(delta) + sigma * _g(np.minimum(standardised(delta, sigma), FLAT))


@_in_blocks
def folded_variance(delta: FloatArray, sigma: FloatArray) -> FloatArray:
    """Var|delta + sigma Z| = sigma^2 v(delta/sigma); sigma = 0 gives 0.

    >>> round(folded_variance(0.5, 0.2), 6)
    0.039198
    """
    z = np.minimum(standardised(delta, sigma), FLAT)
    gain = _g(z)
    return sigma * sigma * (1.0 - gain * (2.0 * z + gain))


def folded_sf(x: FloatArray, size: FloatArray, sigma: FloatArray) -> FloatArray:
    """P(|delta + sigma Z| > x) with full relative accuracy, for x >= 0, size = |delta| and sigma > 0 (broadcast)."""
    with np.errstate(over="ignore"):
        return np.asarray(ndtr((size - x) / sigma) + ndtr((-size - x) / sigma))


def folded_cdf(x: FloatArray, size: FloatArray, sigma: FloatArray) -> FloatArray:
    """P(|delta + sigma Z| <= x) for x >= 0, to 13 digits however small it is."""
    with np.errstate(over="ignore"):
        half, centre = np.broadcast_arrays(x / sigma, size / sigma)
        out = np.asarray(ndtr((x - size) / sigma) - ndtr((-x - size) / sigma))
        narrow = half * (1.0 + centre) < _NARROW
    if np.any(narrow):  # the difference loses its digits: Taylor series of the normal density over the interval
        u, c = np.square(half[narrow]), np.square(np.minimum(centre[narrow], 1e50))
        with np.errstate(under="ignore"):
            density = np.exp(-0.5 * np.minimum(c, 2000.0)) / _ROOT_2_PI
        terms = 1.0 + u * ((c - 1.0) / 6.0 + u * (c * (c - 6.0) + 3.0) / 120.0)
        out[narrow] = 2.0 * half[narrow] * density * terms
    return out


def folded_pdf(x: FloatArray, size: FloatArray, sigma: FloatArray) -> FloatArray:
    """Density of |delta + sigma Z| at x >= 0."""
    with np.errstate(under="ignore", over="ignore"):
        u, v = (np.minimum(np.abs(x + side * size) / sigma, 60.0) for side in (-1.0, 1.0))
        return np.asarray((np.exp(-0.5 * u * u) + np.exp(-0.5 * v * v)) / (sigma * _ROOT_2_PI))


def log_between(low: FloatArray, high: FloatArray) -> FloatArray:
    """log[Phi(high) - Phi(low)], the difference taken in the tail that keeps its digits."""
    flip = low > 0
    a, b = np.where(flip, -low, high), np.where(flip, -high, low)
    whole = log_ndtr(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(np.isneginf(b), 0.0, np.exp(np.minimum(log_ndtr(b) - whole, 0.0)))
        found = whole + np.log1p(-part)
    return np.where(np.isnan(found), -np.inf, found)


_ALL_AT_THE_END = 1e5
"""A normal variable beyond this many standard deviations lies at the nearer end: its density loses its digits there."""


def moments_between(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and mean square of a standard normal variable that is known to lie between low and high, in any tail."""
    log = log_between(low, high)
    with np.errstate(over="ignore", invalid="ignore"):
        at_low, at_high = (np.exp(-0.5 * np.square(end) - log) / _ROOT_2_PI for end in (low, high))
        mean = at_low - at_high
        square = 1.0 + np.where(np.isinf(low), 0.0, low * at_low) - np.where(np.isinf(high), 0.0, high * at_high)
        finite = np.isfinite(mean + square)
    nearest = np.clip(np.clip(0.0, low, high), -1e150, 1e150)
    lost = ~finite | (
        np.abs(nearest) > _ALL_AT_THE_END
    )  # so far out, or so narrow, that all of it lies at the nearer end
    mean = np.where(lost, nearest, np.clip(mean, low, high))
    return mean, np.maximum(np.where(lost, np.square(nearest), square), np.square(mean))


def cumulants_from(moments: FloatArray) -> FloatArray:
    """Cumulants, by rows of their order, from a mean (row 1) and central moments; those of order 0 stay as they are."""
    out = moments.copy()
    for r in range(4, len(moments)):
        ways = comb(r - 1, np.arange(1, r - 2))
        out[r] -= np.einsum("m,mi,mi->i", ways, out[2 : r - 1], moments[r - 2 : 1 : -1])
    return out


def both_below(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """P(U < h, V < k) of standard normals with correlation rho in [-1, 1], by Owen's T function."""
    h, k = np.broadcast_arrays(h, k)
    root = np.sqrt(np.maximum((1.0 - rho) * (1.0 + rho), 0.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # k - rho h keeps its digits near rho = 1
        slope_h = np.where(h != 0, ((k - h) + (1.0 - rho) * h) / (h * root), np.where(k >= 0, math.inf, -math.inf))
        slope_k = np.where(k != 0, ((h - k) + (1.0 - rho) * k) / (k * root), np.where(h >= 0, math.inf, -math.inf))
    opposite = np.where((h < 0) != (k < 0), 0.5, 0.0)
    found = 0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, slope_h) - owens_t(k, slope_k) - opposite
    found = np.where((h == 0) & (k == 0), 0.25 + np.arcsin(np.clip(rho, -1.0, 1.0)) / (2.0 * math.pi), found)
    alike = np.where(rho > 0, ndtr(np.minimum(h, k)), np.maximum(ndtr(h) - ndtr(-k), 0.0))
    return np.asarray(np.where(root == 0, alike, found))
