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

from scorebars.laws.base import FloatArray

Index = NDArray[np.intp]

_TRIPLES = 64  # labels
_REACH = 8.5
_OCTAVES = 3  # labels whose errors lie within a factor 2^3 share a grid
_FINE, _COARSE = 0.01, 0.4  # grid step over the smallest error of the class, where sharper labels exist and where not
_MOST_POINTS = 20_000_000  # labels times grid points, for each class of errors
_BLOCK = 1 << 17
_ALL_PAIRS = 5_000  # labels: above, the sums over pairs (a share 1/n of the variance) are taken from so many rows


def rank_sum_moments(y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool) -> tuple[float, float]:
    """Mean and variance of sum_{i<j} W_ij sgn(y_i - y_j), W_ij = rank_i - rank_j or, with `signs`, its sign."""
    order = np.argsort(rank, kind="stable")
    y, sigma, rank = y[order], sigma[order], rank[order] - np.mean(rank)
    unit = float(np.max(sigma))
    if unit == 0.0:
        return 0.5 * float(np.sum(_row_sums(y, sigma, rank, signs, np.arange(y.size)))), 0.0
    y, sigma = y / unit, sigma / unit
    mean, spread, own = _pair_sums(y, sigma, rank, signs)
    if y.size <= _TRIPLES:
        return mean, max(spread + _triples(y, sigma, rank, signs), 0.0)
    braces, means = np.zeros(y.size), np.zeros(y.size)
    for members in _classes(sigma):
        braces[members], means[members] = _class_terms(y, sigma, rank, signs, members)
    if y.size > _ALL_PAIRS:
        exact = np.flatnonzero(sigma == 0)
        means[exact] = _row_sums(y, sigma, rank, signs, exact)
        mean = 0.5 * float(np.sum(means))
    return mean, max(spread + own + float(np.sum(braces)), 0.0)


def _weights(rank: FloatArray, rows: Index, signs: bool) -> FloatArray:
    gap = rank[rows, None] - rank
    return np.asarray(np.sign(gap) if signs else gap)


def _expected_signs(y: FloatArray, sigma: FloatArray, rows: Index) -> tuple[FloatArray, NDArray[np.bool_]]:
    """E_ij for some i and all j, and which of these pairs do not move."""
    width = np.hypot(sigma[rows, None], sigma)
    fixed = width == 0
    gap = y[rows, None] - y
    return np.where(fixed, np.sign(gap), 2.0 * ndtr(gap / np.where(fixed, 1.0, width)) - 1.0), fixed


def _blocks(rows: Index, n: int) -> Iterator[Index]:
    step = max(1, _BLOCK // n)
    for start in range(0, rows.size, step):
        yield rows[start : start + step]


def _row_sums(y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool, rows: Index) -> FloatArray:
    """sum_j W_ij E_ij for some i."""
    parts = [
        np.add.reduce(_weights(rank, block, signs) * _expected_signs(y, sigma, block)[0], axis=1)
        for block in _blocks(rows, y.size)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def _pair_sums(y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool) -> tuple[float, float, float]:
    """sum_{i<j} W E, sum_{i<j} W^2 (1 - E^2) over pairs that move, and sum_ij W^2 E^2 over i with an error."""
    n = y.size
    rows = np.arange(n) if n <= _ALL_PAIRS else np.linspace(0, n - 1, _ALL_PAIRS).astype(np.intp)
    mean, spread, own = [], [], []
    for block in _blocks(rows, n):
        expected, fixed = _expected_signs(y, sigma, block)
        w = _weights(rank, block, signs)
        square = np.square(w * expected)
        mean.append(float(np.sum(w * expected)))
        spread.append(float(np.sum(np.where(fixed, 0.0, w * w - square))))
        own.append(float(np.sum(square[sigma[block] > 0])))
    scale = n / rows.size
    return 0.5 * scale * math.fsum(mean), 0.5 * scale * math.fsum(spread), scale * math.fsum(own)


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


def _classes(sigma: FloatArray) -> Iterator[Index]:
    """Labels with errors, in groups of like size."""
    random = np.flatnonzero(sigma > 0)
    octave = np.floor(np.log2(sigma[random]) / _OCTAVES)
    for group in np.unique(octave):
        yield random[octave == group]


def _class_terms(
    y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool, members: Index
) -> tuple[FloatArray, FloatArray]:
    """Var[S_i(y_i)] - sum_j W_ij^2 E[psi_j(y_i)^2] and E S_i(y_i) of the members, by the trapezoid rule in y_i."""
    mu, s = y[members], sigma[members]
    smallest = float(np.min(s))
    sharper = bool(np.any(sigma < smallest))
    low, high = float(np.min(mu - _REACH * s)), float(np.max(mu + _REACH * s))
    step = smallest * (_FINE if sharper else _COARSE)
    if sharper:
        step = min(max(step, (high - low) * y.size / _MOST_POINTS), _COARSE * smallest)
    per_label = 2.0 * _REACH * float(np.max(s)) / step
    if (high - low) / step <= min(members.size * per_label, _MOST_POINTS / y.size):
        grids = [(np.arange(members.size), low, high)]
    else:  # the members lie far apart: each on a grid of its own
        grids = [(np.array([i]), mu[i] - _REACH * s[i], mu[i] + _REACH * s[i]) for i in range(members.size)]
    out = np.empty((2, members.size))
    for part, first, last in grids:
        count = math.ceil((last - first) / step)
        grid = np.asarray(first + step * np.arange(count + 1), dtype=np.float64)
        out[:, part] = _on_grid(y, sigma, rank, signs, members[part], grid, step)
    return out[0], out[1]


def _on_grid(
    y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool, members: Index, grid: FloatArray, step: float
) -> FloatArray:
    """The same for members that share a grid; labels are sorted by rank."""
    mu, s = y[members, None], sigma[members, None]
    below = np.searchsorted(rank, rank[members], side="left")
    not_above = np.searchsorted(rank, rank[members], side="right")
    weight = np.zeros(members.size)
    first, second, squares = np.zeros((3, members.size))
    columns = max(1, _BLOCK // y.size)
    for start in range(0, grid.size, columns):
        points = grid[start : start + columns]
        psi = _mean_sign(points, y[:, None], sigma[:, None], step)
        if signs:
            sums, square_sums = _running(psi), _running(np.square(psi))
            s_i = sums[below] - (sums[-1] - sums[not_above])
            q_i = square_sums[-1] - (square_sums[not_above] - square_sums[below])
        else:
            r = rank[members, None]
            s_i = r * np.add.reduce(psi, axis=0) - np.add.reduce(rank[:, None] * psi, axis=0)
            psi *= psi
            moments = [np.add.reduce(rank[:, None] ** power * psi, axis=0) for power in range(3)]
            q_i = r * r * moments[0] - 2.0 * r * moments[1] + moments[2]
        z = np.minimum(np.abs(points - mu) / s, 40.0)
        with np.errstate(under="ignore"):
            w = np.exp(-0.5 * z * z)
        weight += np.add.reduce(w, axis=1)
        first += np.add.reduce(w * s_i, axis=1)
        second += np.add.reduce(w * np.square(s_i), axis=1)
        squares += np.add.reduce(w * q_i, axis=1)
    first, second, squares = first / weight, second / weight, squares / weight
    return np.stack([second - np.square(first) - squares, first])


def _mean_sign(points: FloatArray, mu: FloatArray, sigma: FloatArray, step: float) -> FloatArray:
    """psi_j(y); a step sharper than the grid is averaged over the cell around the grid point."""
    gap = points - mu
    sharp = sigma < step
    smooth = 2.0 * ndtr(gap / np.where(sharp, 1.0, sigma)) - 1.0
    return np.asarray(np.where(sharp, np.clip(2.0 * gap / step, -1.0, 1.0), smooth)) if np.any(sharp) else smooth


def _running(values: FloatArray) -> FloatArray:
    """Running sums over labels, starting with 0."""
    out = np.zeros((values.shape[0] + 1, values.shape[1]))
    np.cumsum(values, axis=0, out=out[1:])
    return out
