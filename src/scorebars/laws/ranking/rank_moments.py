"""Exact mean and variance of rank correlations under independent normal label errors.

Spearman's and Kendall's correlation are a fixed factor times S = sum_{i<j} W_ij sgn(y_i - y_j), where W_ij is the
difference of the predictions' (mid-)ranks or its sign. With E_ij = E sgn(y_i - y_j) = 2 Phi((mu_i - mu_j)/sqrt(s_i^2 +
s_j^2)) - 1 and psi_j(y) = 2 Phi((y - mu_j)/s_j) - 1, the mean of sgn(y - y_j),

    E S   = sum_{i<j} W_ij E_ij
    Var S = sum_{i<j} W_ij^2 (1 - E_ij^2) + sum_i { Var[S_i(y_i)] - sum_j W_ij^2 Var[psi_j(y_i)] }
    S_i(y) = sum_j W_ij psi_j(y).

Few labels: the braces are sums over triples, closed by the bivariate normal. Many: S_i(y) for all i comes from running
sums of psi_j(y) over the labels in the order of their predictions, so the integral over y_i takes one grid in y for all
labels of like error: the cost is labels times grid points, not labels squared times nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, owens_t

from scorebars.arrays import FloatArray

_Index = NDArray[np.intp]

_TRIPLES = 64  # labels
_REACH = 8.5
_OCTAVES = 3  # labels whose errors lie within a factor 2^3 share a grid
_FINE, _COARSE = 0.01, 0.4  # grid step over the smallest error of the class, where sharper labels exist and where not
_MOST_POINTS = 20_000_000  # labels times grid points, for each class of errors
_BLOCK = 1 << 17


def rank_sum_moments(y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool) -> tuple[float, float]:
    """Mean and variance of sum_{i<j} W_ij sgn(y_i - y_j), W_ij = rank_i - rank_j or, with `signs`, its sign."""
    order = np.argsort(rank, kind="stable")
    y, sigma, rank = y[order], sigma[order], rank[order] - np.mean(rank)
    unit = float(np.max(sigma))
    if unit == 0.0:
        return _pair_sums(y, sigma, rank, signs)[0], 0.0
    y, sigma = y / unit, sigma / unit
    mean, spread, own = _pair_sums(y, sigma, rank, signs)
    if y.size <= _TRIPLES:
        return mean, max(spread + _triples(y, sigma, rank, signs), 0.0)
    braces = math.fsum(_class_terms(y, sigma, rank, signs, members) for members in _classes(sigma))
    return mean, max(spread + own + braces, 0.0)


def _weights(rank: FloatArray, rows: _Index, signs: bool) -> FloatArray:
    gap = rank[rows, None] - rank
    return np.asarray(np.sign(gap) if signs else gap)


def _pair_sums(y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool) -> tuple[float, float, float]:
    """sum_{i<j} W E, sum_{i<j} W^2 (1 - E^2) over pairs that can change order, and sum_ij W^2 E^2 over i with an error."""
    mean, spread, own = [], [], []
    step = max(1, _BLOCK // y.size)
    for start in range(0, y.size, step):
        rows = np.arange(start, min(start + step, y.size))
        width, gap = np.hypot(sigma[rows, None], sigma), y[rows, None] - y
        fixed = width == 0
        expected = np.where(fixed, np.sign(gap), 2.0 * ndtr(gap / np.where(fixed, 1.0, width)) - 1.0)
        w = _weights(rank, rows, signs)
        square = np.square(w * expected)
        mean.append(float(np.sum(w * expected)))
        spread.append(float(np.sum(np.where(fixed, 0.0, w * w - square))))
        own.append(float(np.sum(square[sigma[rows] > 0])))
    return 0.5 * math.fsum(mean), 0.5 * math.fsum(spread), math.fsum(own)


def _triples(y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool) -> float:
    """sum_i sum_{j != k} W_ij W_ik Cov(sgn(y_i - y_j), sgn(y_i - y_k))."""
    total = []
    for i in np.flatnonzero(sigma > 0):
        others = np.arange(y.size) != i
        w = _weights(rank, np.array([i]), signs)[0, others]
        width = np.hypot(sigma[i], sigma[others])
        h = (y[i] - y[others]) / width
        cosine = sigma[i] / width
        covariance = 4.0 * orthant_excess(h[:, None], h[None, :], np.multiply.outer(cosine, cosine))
        np.fill_diagonal(covariance, 0.0)
        total.append(float(np.sum(w[:, None] * covariance * w)))
    return math.fsum(total)


def orthant_excess(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """P(U < h, V < k) - P(U < h) P(V < k) of standard normals with correlation 0 <= rho <= 1, by Owen's T function."""
    h, k = np.broadcast_arrays(h, k)
    root = np.sqrt(np.maximum((1.0 - rho) * (1.0 + rho), 0.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope_h = np.where(h != 0, ((k - h) + (1.0 - rho) * h) / (h * root), np.where(k >= 0, math.inf, -math.inf))
        slope_k = np.where(k != 0, ((h - k) + (1.0 - rho) * k) / (k * root), np.where(h >= 0, math.inf, -math.inf))
    opposite = np.where((h < 0) != (k < 0), 0.5, 0.0)
    joint = 0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, slope_h) - owens_t(k, slope_k) - opposite
    joint = np.where((h == 0) & (k == 0), 0.25 + np.arcsin(np.minimum(rho, 1.0)) / (2.0 * math.pi), joint)
    joint = np.where(root == 0, ndtr(np.minimum(h, k)), joint)
    return np.asarray(joint - ndtr(h) * ndtr(k))


def _classes(sigma: FloatArray) -> Iterator[_Index]:
    """Labels with errors, in groups of like size."""
    random = np.flatnonzero(sigma > 0)
    octave = np.floor(np.log2(sigma[random]) / _OCTAVES)
    for group in np.unique(octave):
        yield random[octave == group]


def _class_terms(y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool, members: _Index) -> float:
    """Sum over the members of Var[S_i(y_i)] - sum_j W_ij^2 E[psi_j(y_i)^2], by the trapezoid rule in y_i."""
    mu, s = y[members], sigma[members]
    smallest = float(np.min(s))
    low, high = float(np.min(mu - _REACH * s)), float(np.max(mu + _REACH * s))
    step = _COARSE * smallest
    if np.any(sigma < smallest):
        step = min(max(_FINE * smallest, (high - low) * y.size / _MOST_POINTS), step)
    per_label = 2.0 * _REACH * float(np.max(s)) / step
    if (high - low) / step <= min(members.size * per_label, _MOST_POINTS / y.size):
        grids = [(members, low, high)]
    else:  # the members lie far apart: each on a grid of its own
        grids = [(members[[i]], mu[i] - _REACH * s[i], mu[i] + _REACH * s[i]) for i in range(members.size)]
    return math.fsum(
        _on_grid(y, sigma, rank, signs, part, np.arange(first, last + step, step, dtype=np.float64), step)
        for part, first, last in grids
    )


def _on_grid(
    y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool, members: _Index, grid: FloatArray, step: float
) -> float:
    """The same for members that share a grid; labels are sorted by rank."""
    mu, s = y[members, None], sigma[members, None]
    below = np.searchsorted(rank, rank[members], side="left")
    not_above = np.searchsorted(rank, rank[members], side="right")
    weight, first, second, squares = np.zeros((4, members.size))
    columns = max(1, _BLOCK // y.size)
    for start in range(0, grid.size, columns):
        points = grid[start : start + columns]
        psi = _mean_sign(points, y[:, None], sigma[:, None], step)
        if signs:
            sums, square_sums = (np.pad(np.cumsum(x, axis=0), ((1, 0), (0, 0))) for x in (psi, np.square(psi)))
            s_i = sums[below] - (sums[-1] - sums[not_above])
            q_i = square_sums[-1] - (square_sums[not_above] - square_sums[below])
        else:
            r = rank[members, None]
            s_i = r * np.add.reduce(psi, axis=0) - rank @ psi
            psi *= psi
            q_i = r * r * np.add.reduce(psi, axis=0) - 2.0 * r * (rank @ psi) + np.square(rank) @ psi
        with np.errstate(under="ignore"):
            w = np.exp(-0.5 * np.square(np.minimum(np.abs(points - mu) / s, 40.0)))
        weight += np.add.reduce(w, axis=1)
        first += np.add.reduce(w * s_i, axis=1)
        second += np.add.reduce(w * np.square(s_i), axis=1)
        squares += np.add.reduce(w * q_i, axis=1)
    return float(np.sum((second - squares) / weight - np.square(first / weight)))


def _mean_sign(points: FloatArray, mu: FloatArray, sigma: FloatArray, step: float) -> FloatArray:
    """psi_j(y); a step sharper than the grid is averaged over the cell around the grid point."""
    gap = points - mu
    sharp = sigma < step
    smooth = 2.0 * ndtr(gap / np.where(sharp, 1.0, sigma)) - 1.0
    return np.asarray(np.where(sharp, np.clip(2.0 * gap / step, -1.0, 1.0), smooth)) if np.any(sharp) else smooth
