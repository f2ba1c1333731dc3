"""Exact mean and variance of rank correlations under independent normal label errors.

Spearman's and Kendall's correlation are a fixed factor times S = sum_{i<j} W_ij sgn(y_i - y_j), where W_ij is the
difference of the predictions' (mid-)ranks or its sign. With E_ij = E sgn(y_i - y_j) = 2 Phi((mu_i - mu_j)/sqrt(s_i^2 +
s_j^2)) - 1 and psi_j(y) = 2 Phi((y - mu_j)/s_j) - 1, the mean of sgn(y - y_j),

    E S   = sum_{i<j} W_ij E_ij
    Var S = sum_{i<j} W_ij^2 (1 - E_ij^2) + sum_i { Var[S_i(y_i)] - sum_j W_ij^2 Var[psi_j(y_i)] }
    S_i(y) = sum_j W_ij psi_j(y).

S_i(y) for all i comes from running sums of psi_j(y) over the labels in the order of their predictions, so the integral over
y_i takes one grid in y for all labels of like error: the cost is labels times grid points, not labels squared times nodes.
Where some errors are much smaller than others, psi_j has steps that the grid does not resolve: of few such labels the braces
are sums over triples, closed by the bivariate normal (50 ms for 64 labels; the grid takes 0.3 ms).

Very many (`first_order_moments`): S is its projection, sum_i S_i(y_i) - E S, up to a part of the variance of about one over the
number of labels that lie within one error of each other. S_i(y) is read off a table in the rank of i and in y.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from scorebars.arrays import FloatArray
from scorebars.engines.engine import score_loops
from scorebars.engines.normal_chances import normal_below
from scorebars.numerics.special import both_below

_Index = NDArray[np.intp]

_TRIPLES = 64  # labels of very different error that are summed up by triples
_REACH = 8.5
_OCTAVES = 3  # labels whose errors lie within a factor 2^3 share a grid
_COARSE = 0.55  # grid step over the smallest error
_FINE = 0.01  # over the smallest error of the class, where much sharper labels exist
_MOST_POINTS = 20_000_000  # labels times grid points, for each class of errors
_BLOCK = 1 << 15


def rank_sum_moments(y: FloatArray, sigma: FloatArray, rank: FloatArray, kendall: bool) -> tuple[float, float]:
    """Mean and variance of sum_{i<j} W_ij sgn(y_i - y_j), W_ij = rank_i - rank_j or, for Kendall, its sign."""
    order = np.argsort(rank, kind="stable")
    y, sigma, rank = y[order], sigma[order], rank[order] - np.mean(rank)
    unit = float(np.max(sigma))
    if unit == 0.0:
        return _pair_sums(y, sigma, rank, kendall)[0], 0.0
    y, sigma = y / unit, sigma / unit
    mean, spread, own = _pair_sums(y, sigma, rank, kendall)
    if y.size <= _TRIPLES and _FINE * float(np.max(sigma)) > _COARSE * float(np.min(sigma)):
        return mean, max(spread + _triples(y, sigma, rank, kendall), 0.0)
    braces = math.fsum(_class_terms(y, sigma, rank, kendall, members) for members in _classes(sigma))
    return mean, max(spread + own + braces, 0.0)


def _weights(rank: FloatArray, rows: _Index, kendall: bool) -> FloatArray:
    gap = rank[rows, None] - rank
    return np.asarray(np.sign(gap) if kendall else gap)


def _pair_sums(y: FloatArray, sigma: FloatArray, rank: FloatArray, kendall: bool) -> tuple[float, float, float]:
    """sum_{i<j} W E, sum_{i<j} W^2 (1 - E^2) over pairs that can change order, and sum_ij W^2 E^2 over i with an error."""
    variance, random, exact = np.square(sigma), sigma > 0, bool(np.any(sigma == 0))
    loops = score_loops()
    if loops is not None and not exact:
        sums = np.zeros(3)
        loops.rank_pairs(y.size, kendall, y, variance, rank, sums)
        return float(sums[0]), float(sums[1]), 2.0 * float(sums[2])
    mean, spread, own = [], [], []
    step = max(1, _BLOCK // y.size)
    for start in range(0, y.size, step):
        rows, columns = np.arange(start, min(start + step, y.size)), slice(start, None)  # pairs further left were met
        width, gap = np.sqrt(variance[rows, None] + variance[columns]), y[rows, None] - y[columns]
        fixed = width == 0 if exact else None
        if fixed is None:
            expected = 2.0 * ndtr(gap / width) - 1.0
        else:
            expected = np.where(fixed, np.sign(gap), 2.0 * ndtr(gap / np.where(fixed, 1.0, width)) - 1.0)
        gap = rank[rows, None] - rank[columns]
        w = np.sign(gap) if kendall else gap
        expected *= w
        square = np.square(expected)
        once = np.ones(y.size - start)
        once[: rows.size] = 0.5  # both ways
        mean.append(float(np.sum(expected @ once)))
        change = w * w - square
        spread.append(float(np.sum((change if fixed is None else np.where(fixed, 0.0, change)) @ once)))
        own.append(float(random[rows] @ (square @ once) + np.sum(square @ (once * random[columns]))))
    return math.fsum(mean), math.fsum(spread), math.fsum(own)


def _triples(y: FloatArray, sigma: FloatArray, rank: FloatArray, kendall: bool) -> float:
    """sum_i sum_{j != k} W_ij W_ik Cov(sgn(y_i - y_j), sgn(y_i - y_k))."""
    total = []
    for i in np.flatnonzero(sigma > 0):
        others = np.arange(y.size) != i
        w = _weights(rank, np.array([i]), kendall)[0, others]
        width = np.hypot(sigma[i], sigma[others])
        h = (y[i] - y[others]) / width
        cosine = sigma[i] / width
        covariance = 4.0 * orthant_excess(h[:, None], h[None, :], np.multiply.outer(cosine, cosine))
        np.fill_diagonal(covariance, 0.0)
        total.append(float(np.sum(w[:, None] * covariance * w)))
    return math.fsum(total)


def orthant_excess(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """P(U < h, V < k) - P(U < h) P(V < k) of standard normals with correlation 0 <= rho <= 1."""
    return np.asarray(both_below(h, k, rho) - ndtr(h) * ndtr(k))


def _classes(sigma: FloatArray) -> Iterator[_Index]:
    """Labels with errors, in groups of like size."""
    random = np.flatnonzero(sigma > 0)
    octave = np.floor(np.log2(sigma[random] / np.min(sigma[random])) / _OCTAVES)
    for group in np.unique(octave):
        yield random[octave == group]


def _class_terms(y: FloatArray, sigma: FloatArray, rank: FloatArray, kendall: bool, members: _Index) -> float:
    """Sum over the members of Var[S_i(y_i)] - sum_j W_ij^2 E[psi_j(y_i)^2], by the trapezoid rule in y_i."""
    mu, s = y[members], sigma[members]
    smallest = float(np.min(s))
    low, high = float(np.min(mu - _REACH * s)), float(np.max(mu + _REACH * s))
    step, sharpest = _COARSE * smallest, float(np.min(sigma))
    if sharpest < smallest:
        fine = max(_FINE * smallest, (high - low) * y.size / _MOST_POINTS)
        step = min(max(fine, _COARSE * sharpest), step)
    per_label = 2.0 * _REACH * float(np.max(s)) / step
    if (high - low) / step <= min(members.size * per_label, _MOST_POINTS / y.size):
        grids = [(members, low, high)]
    else:  # the members lie far apart: each on a grid of its own
        grids = [(members[[i]], mu[i] - _REACH * s[i], mu[i] + _REACH * s[i]) for i in range(members.size)]
    return math.fsum(
        _on_grid(y, sigma, rank, kendall, part, np.arange(first, last + step, step, dtype=np.float64), step)
        for part, first, last in grids
    )


def _on_grid(
    y: FloatArray, sigma: FloatArray, rank: FloatArray, kendall: bool, members: _Index, grid: FloatArray, step: float
) -> float:
    """The same for members that share a grid; labels are sorted by rank."""
    mu, s = y[members, None], sigma[members, None]
    below = np.searchsorted(rank, rank[members], side="left")
    not_above = np.searchsorted(rank, rank[members], side="right")
    alone = members.size == y.size and bool(np.all(not_above - below == 1))  # all labels, no two of one rank
    weight, first, second, squares = np.zeros((4, members.size))
    columns = max(1, _BLOCK // y.size)
    for start in range(0, grid.size, columns):
        points = grid[start : start + columns]
        psi = _mean_sign(points, y[:, None], sigma[:, None], step)
        if kendall:
            s_i, q_i = _sums_of_signs(psi, None if alone else (below, not_above))
        else:
            r = rank[members, None]
            s_i = r * np.add.reduce(psi, axis=0) - rank @ psi
            psi *= psi
            q_i = r * r * np.add.reduce(psi, axis=0) - 2.0 * r * (rank @ psi) + np.square(rank) @ psi
        with np.errstate(under="ignore"):
            w = np.exp(-0.5 * np.square(np.minimum(np.abs(points - mu) / s, 40.0)))
        weight += np.add.reduce(w, axis=1)
        squares += np.einsum("ik,ik->i", w, q_i)
        w *= s_i
        first += np.add.reduce(w, axis=1)
        second += np.einsum("ik,ik->i", w, s_i)
    return float(np.sum((second - squares) / weight - np.square(first / weight)))


def _sums_of_signs(psi: FloatArray, ranges: tuple[_Index, _Index] | None) -> tuple[FloatArray, FloatArray]:
    """sum_j W_ij psi_j and sum_j W_ij^2 psi_j^2 for signs W: labels of the same rank, given as `ranges`, do not count."""
    sums = np.zeros((len(psi) + 1, psi.shape[1]))
    np.cumsum(psi, axis=0, out=sums[1:])
    if ranges is None:
        s_i = sums[:-1] + sums[1:]
        s_i -= sums[-1]
        psi *= psi
        return s_i, np.add.reduce(psi, axis=0) - psi
    below, not_above = ranges
    s_i = (sums[below] + sums[not_above]) - sums[-1]
    psi *= psi
    np.cumsum(psi, axis=0, out=sums[1:])
    return s_i, sums[-1] - (sums[not_above] - sums[below])


def _mean_sign(points: FloatArray, mu: FloatArray, sigma: FloatArray, step: float) -> FloatArray:
    """psi_j(y); a step sharper than the grid is averaged over the cell around the grid point."""
    gap, sharp = points - mu, sigma < step
    smooth = normal_below(gap / np.where(sharp, 1.0, sigma))
    smooth *= 2.0
    smooth -= 1.0
    return np.asarray(np.where(sharp, np.clip(2.0 * gap / step, -1.0, 1.0), smooth)) if np.any(sharp) else smooth


# very many labels -----------------------------------------------------------------------------------

_PARTNERS = 8192  # labels from which the table is made, and that tell the variance
_RANKS, _PLACES = 64, 400  # size of the table
_PAIRS, _FEWEST_SHIFTS = 6_000_000, 64  # pairs for the mean, and partners of each label at least
_FAR = 9.0  # standard deviations: labels further apart never change their order
_STRIP = 1 << 14  # pairs whose chances stay in the cache
_NEVER = 1e-300  # the error of the difference of two labels without error
_CROWDED = 50  # labels within one error of each other at least
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(10)
_NODE_WEIGHTS = _NODE_WEIGHTS / math.sqrt(2 * math.pi)


def first_order_moments(
    y: FloatArray, sigma: FloatArray, rank: FloatArray, kendall: bool
) -> tuple[float, float] | None:
    """Mean and variance of very many labels, to first order; None where few labels overlap, or many ranks are equal."""
    n = y.size
    order = np.argsort(rank)
    y, sigma, rank = y[order], sigma[order], rank[order] - np.mean(rank)
    low, high = np.quantile(y, [0.1, 0.9])
    if (
        not float(np.quantile(sigma, 0.1)) * 0.8 * n > _CROWDED * (high - low)
        or np.count_nonzero(np.diff(rank)) < 0.9 * n
    ):
        return None
    some = ((np.arange(min(n, _PARTNERS)) + 0.5) * (n / min(n, _PARTNERS))).astype(np.intp)
    mu, s, r, scale = y[some], sigma[some], rank[some], n / some.size
    places = np.quantile(mu + s * np.resize(_NODES, some.size), np.linspace(0.0, 1.0, _PLACES))
    edges = np.linspace(0, some.size, _RANKS + 1).astype(np.intp)
    sums, moved = np.empty((2, _RANKS, _PLACES))
    for b, (start, stop) in enumerate(pairwise(edges.tolist())):
        with np.errstate(divide="ignore", invalid="ignore"):
            psi = 2.0 * normal_below(np.nan_to_num((places - mu[start:stop, None]) / s[start:stop, None])) - 1.0
        sums[b], moved[b] = np.sum(psi, axis=0), r[start:stop] @ psi
    before = np.concatenate([np.zeros((1, _PLACES)), np.cumsum(sums, axis=0)])
    table = 2.0 * before - before[-1]  # of a label between two blocks, for Kendall
    row = np.interp(np.arange(some.size) + 0.5, edges, np.arange(_RANKS + 1.0))
    if not kendall:
        ends = np.interp(edges, np.arange(some.size) + 0.5, r)
        table = ends[:, None] * before[-1] - np.sum(moved, axis=0)
        row = np.interp(r, ends, np.arange(_RANKS + 1.0))
    values = scale * _read(table, row, np.interp(mu + s * _NODES[:, None], places, np.arange(float(_PLACES))))
    means = _NODE_WEIGHTS @ values
    variance = scale * float(np.sum(_NODE_WEIGHTS @ np.square(values - means)))
    return _mean_by_distances(y, sigma, rank, kendall), variance


def _read(table: FloatArray, row: FloatArray, column: FloatArray) -> FloatArray:
    """The table between its rows and columns, linear in both."""
    i = np.minimum(row.astype(np.intp), len(table) - 2)
    j = np.minimum(column.astype(np.intp), table.shape[1] - 2)
    u, v = row - i, column - j
    return np.asarray((1 - u) * ((1 - v) * table[i, j] + v * table[i, j + 1])) + u * (
        (1 - v) * table[i + 1, j] + v * table[i + 1, j + 1]
    )


def _mean_by_distances(y: FloatArray, sigma: FloatArray, rank: FloatArray, kendall: bool) -> float:
    """sum_{i<j} W E: that of the labels as they are, and W (E - sgn) of the pairs that may change order.

    Labels are sorted, and pairs taken at some distances in their order, each of which stands for those near it.
    """
    order, n = np.argsort(y), y.size
    y, rank, variance = y[order], rank[order], np.square(sigma[order])
    if kendall:
        from scipy.stats import kendalltau  # slow to import, and needed for ranks only

        pairs = [0.5 * n * (n - 1) - _tied_pairs(x) for x in (y, np.sort(rank))]
        total = float(kendalltau(y, rank).statistic) * math.sqrt(pairs[0] * pairs[1])
    else:
        total = float(rank @ (2.0 * np.arange(n) - (n - 1)))
    farthest, probe = n - 1, 1
    widest = _FAR * float(np.sqrt(2.0 * np.max(variance)))
    while probe < n - 1 and farthest == n - 1:  # beyond, no pair changes its order
        farthest = probe if float(np.min(y[probe:] - y[:-probe])) > widest else n - 1
        probe *= 2
    count = min(farthest, max(_FEWEST_SHIFTS, _PAIRS // n))
    edges = np.square(np.linspace(0.0, 1.0, count + 1)) * farthest
    edges = np.unique(np.round(np.maximum(edges, np.arange(count + 1.0)))).astype(np.intp)
    for low, high in pairwise(edges.tolist()):
        k = (low + high + 1) // 2  # stands for the distances above `low`, up to `high`
        each = 2.0 * _changed_order(y, variance, rank, kendall, k) / (n - k)
        total -= each * ((high - low) * (n - 0.5 * (low + high + 1)))
    return total


def _changed_order(y: FloatArray, variance: FloatArray, rank: FloatArray, kendall: bool, k: int) -> float:
    """The sum of W times the chance that two labels change their order, over labels k places apart."""
    loops, n, total = score_loops(), y.size, 0.0
    if loops is not None:
        return float(loops.shifted_pairs(n, k, kendall, y, variance, rank))
    for start in range(0, n - k, _STRIP):
        here, there = slice(start, min(start + _STRIP, n - k)), slice(start + k, min(start + _STRIP + k, n))
        width = np.maximum(np.sqrt(variance[here] + variance[there]), _NEVER)
        apart = rank[there] - rank[here]
        total += float((np.sign(apart) if kendall else apart) @ ndtr((y[here] - y[there]) / width))
    return total


def _tied_pairs(ordered: FloatArray) -> float:
    """Pairs of equal numbers."""
    size = np.diff(np.flatnonzero(np.concatenate([[True], np.diff(ordered) > 0, [True]])))
    return float(np.sum(size * (size - 1.0))) / 2
