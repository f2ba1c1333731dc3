"""Rank correlations when labels move: exact mean and variance, from pairs and triples of labels.

Both are a fixed factor times S = sum_{i<j} W_ij sgn(y_i - y_j), with W the difference of the predictions' ranks (Spearman,
ties at mid-ranks) or its sign (Kendall's tau-b). Under independent normal errors

    E sgn(y_i - y_j) = 2 Phi((mu_i - mu_j) / sqrt(s_i^2 + s_j^2)) - 1 =: E_ij,
    Var S = sum_{i<j} W_ij^2 (1 - E_ij^2) + sum_i [ Var(sum_j e_ij(y_i)) - sum_j Var e_ij(y_i) ],
    e_ij(y) = W_ij (2 Phi((y - mu_j) / s_j) - 1).

Labels without error that are tied stay tied: their pairs do not count, and the normalisation knows them.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, owens_t

from scorebars.laws.base import FloatArray, Law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.samples import SampleLaw

_TRIPLES = 64  # up to so many labels every triple is computed in closed form
_PAIRS = 4_000  # up to so many labels mean and variance are exact; above they are drawn
_DRAWS = 20_000
_SEED = 20240517
_REACH = 8.5


def spearman_law(y: FloatArray, p: FloatArray, sigma: FloatArray | float) -> Law:
    """Law of Spearman's rank correlation of labels N(y, sigma^2) and predictions p."""
    ranks = _ranks(p)
    centred = ranks - ranks.mean()
    n = y.size
    scatter = float(np.sum(centred * centred)) * (n * (n * n - 1.0) - sum(t**3 - t for t in _ties(y, sigma))) / 12.0
    return _law(y, centred, sigma, 0.5 / math.sqrt(scatter) if scatter > 0 else 0.0, signs=False)


def kendall_law(y: FloatArray, p: FloatArray, sigma: FloatArray | float) -> Law:
    """Law of Kendall's tau-b of labels N(y, sigma^2) and predictions p."""
    n = y.size
    pairs = n * (n - 1) / 2
    tied_p = sum(t * (t - 1) / 2 for t in np.unique(p, return_counts=True)[1])
    tied_y = sum(t * (t - 1) / 2 for t in _ties(y, sigma))
    size = (pairs - tied_p) * (pairs - tied_y)
    return _law(y, _ranks(p), sigma, 1.0 / math.sqrt(size) if size > 0 else 0.0, signs=True)


def _ranks(p: FloatArray) -> FloatArray:
    _values, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - 0.5 * (counts - 1))[inverse], dtype=np.float64)


def _ties(y: FloatArray, sigma: FloatArray | float) -> list[int]:
    """Sizes of groups of equal labels that have no error."""
    exact = y[np.broadcast_to(sigma, y.shape) == 0]
    return [int(t) for t in np.unique(exact, return_counts=True)[1] if t > 1]


def _weights(r: FloatArray, rows: slice, signs: bool) -> FloatArray:
    gap = r[rows, None] - r
    return np.sign(gap) if signs else gap


def _law(y: FloatArray, r: FloatArray, sigma: FloatArray | float, factor: float, *, signs: bool) -> Law:
    s = np.broadcast_to(np.asarray(sigma, dtype=np.float64), y.shape)
    if not np.any(s > 0) or factor == 0:
        total = sum(float(np.sum(_weights(r, rows, signs) * np.sign(y[rows, None] - y))) for rows in _blocks(y.size))
        return NormalLaw(0.5 * factor * total, 0.0)
    draws = _drawn(y, r, s, factor, signs)
    if y.size > _PAIRS:
        return SampleLaw(draws)
    mean, variance = _mean(y, r, s, signs), _variance(y, r, s, signs)
    return SampleLaw(draws, mean=factor * mean, var=factor * factor * variance)


def _blocks(n: int) -> list[slice]:
    step = max(1, 2_000_000 // n)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _order(y: FloatArray, s: FloatArray, rows: slice) -> FloatArray:
    """E sgn(y_i - y_j) for a block of i and all j."""
    spread = np.hypot(s[rows, None], s)
    gap = y[rows, None] - y
    certain = spread == 0
    return np.where(certain, np.sign(gap), 2.0 * ndtr(gap / np.where(certain, 1.0, spread)) - 1.0)


def _mean(y: FloatArray, r: FloatArray, s: FloatArray, signs: bool) -> float:
    return 0.5 * math.fsum(float(np.sum(_weights(r, rows, signs) * _order(y, s, rows))) for rows in _blocks(y.size))


def _variance(y: FloatArray, r: FloatArray, s: FloatArray, signs: bool) -> float:
    pairs = []
    for rows in _blocks(y.size):
        w, e = _weights(r, rows, signs), _order(y, s, rows)
        moving = (s[rows, None] > 0) | (s > 0)
        pairs.append(float(np.sum(np.where(moving, w * w * (1.0 - e * e), 0.0))))
    triples = _triples_closed if y.size <= _TRIPLES else _triples_quadrature
    return max(0.5 * math.fsum(pairs) + triples(y, r, s, signs), 0.0)


def _triples_closed(y: FloatArray, r: FloatArray, s: FloatArray, signs: bool) -> float:
    """sum_i sum_{j != k} W_ij W_ik Cov(sgn(y_i - y_j), sgn(y_i - y_k)), by the bivariate normal."""
    total = []
    for i in np.flatnonzero(s > 0):
        others = np.flatnonzero(np.arange(y.size) != i)
        w = (np.sign(r[i] - r) if signs else r[i] - r)[others]
        spread = np.hypot(s[i], s[others])
        h = (y[i] - y[others]) / spread
        rho = s[i] * s[i] / np.multiply.outer(spread, spread)
        joint = _both_positive(h[:, None], h[None, :], np.minimum(rho, 1.0))
        mean = 2.0 * ndtr(h) - 1.0
        covariance = 4.0 * joint - 2.0 * ndtr(h)[:, None] - 2.0 * ndtr(h)[None, :] + 1.0 - np.multiply.outer(mean, mean)
        np.fill_diagonal(covariance, 0.0)
        total.append(float(w @ covariance @ w))
    return math.fsum(total)


def _both_positive(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """P(X < h, Y < k) of standard normals with correlation 0 < rho <= 1, by Owen's T function."""
    h, k = np.broadcast_arrays(h, k)
    perfect = rho >= 1.0 - 1e-15
    root = np.sqrt(np.where(perfect, 1.0, (1.0 - rho) * (1.0 + rho)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        first = np.where(h != 0, (k - rho * h) / (np.where(h != 0, h, 1.0) * root), np.copysign(np.inf, k))
        second = np.where(k != 0, (h - rho * k) / (np.where(k != 0, k, 1.0) * root), np.copysign(np.inf, h))
    apart = np.where((h * k > 0) | ((h * k == 0) & (h + k >= 0)), 0.0, 0.5)
    value = 0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, first) - owens_t(k, second) - apart
    origin = (h == 0) & (k == 0)
    value = np.where(origin, 0.25 + np.arcsin(np.minimum(rho, 1.0)) / (2.0 * math.pi), value)
    return np.where(perfect, ndtr(np.minimum(h, k)), value)


def _triples_quadrature(y: FloatArray, r: FloatArray, s: FloatArray, signs: bool) -> float:
    """The same by the trapezoid rule in y_i, fine enough for the sharpest step that a label of small error makes."""
    typical = float(np.quantile(s[s > 0], 0.05))
    total = []
    for i in np.flatnonzero(s > 0):
        step = min(0.25, max(0.5 * typical / s[i], 0.02))
        z = np.arange(-_REACH, _REACH + step, step)
        weight = np.exp(-0.5 * z * z)
        weight /= weight.sum()
        w = np.sign(r[i] - r) if signs else r[i] - r
        gap = (y[i] + s[i] * z)[:, None] - y
        e = np.where(s > 0, 2.0 * ndtr(gap / np.where(s > 0, s, 1.0)) - 1.0, np.sign(gap)) * w
        summed = e.sum(axis=1)
        whole = float(weight @ np.square(summed)) - float(weight @ summed) ** 2
        own = float(np.sum(weight @ np.square(e) - np.square(weight @ e)))
        total.append(whole - own)
    return math.fsum(total)


def _drawn(y: FloatArray, r: FloatArray, s: FloatArray, factor: float, signs: bool) -> FloatArray:
    """The metric on drawn labels."""
    rng = np.random.default_rng(_SEED)
    n = y.size
    count = int(min(_DRAWS, max(20_000_000 // (n * (n if signs else 30)), 400)))
    draws = np.empty(count)
    for k in range(count):
        labels = y + s * rng.standard_normal(n)
        if signs:
            draws[k] = factor * _kendall_sum(labels, r)
        else:
            draws[k] = 2.0 * factor * float(np.sum(r * _ranks(labels)))
    return draws


def _kendall_sum(labels: FloatArray, r: FloatArray) -> float:
    """sum over pairs of sgn(label difference) * sgn(rank difference), block by block."""
    total = 0.0
    for rows in _blocks(labels.size):
        total += float(np.sum(np.sign(labels[rows, None] - labels) * np.sign(r[rows, None] - r)))
    return 0.5 * total
