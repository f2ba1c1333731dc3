"""Rank sums of drawn labels: sum_{i<j} W_ij sgn(y_i - y_j) in n log n operations a draw.

For Spearman's correlation, W_ij = r_i - r_j, it is sum_i r_i (2 place_i - n + 1), with the place of label i among the
drawn ones. For Kendall's, W_ij = sgn(r_i - r_j), it is (pairs without ties) - 2 (inversions): pairs that stand in the
wrong order when labels are read in the order of the predictions. Only labels without error can tie.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scorebars.laws.base import RNG, FloatArray

_BLOCK = 1 << 20  # labels drawn at a time
_Places = NDArray[np.int64]


def drawn_rank_sums(
    y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool, draws: int, rng: RNG
) -> FloatArray:
    """The sum for as many draws of the labels N(y, sigma^2)."""
    order = np.argsort(rank, kind="stable")
    y, sigma, rank = y[order], sigma[order], rank[order]
    sum_of = _kendall(y, sigma, rank) if signs else _spearman(y, sigma, rank)
    rows = max(1, _BLOCK // y.size)
    out = np.empty(draws)
    for start in range(0, draws, rows):
        labels = y + sigma * rng.standard_normal((min(rows, draws - start), y.size))
        out[start : start + rows] = sum_of(np.argsort(labels, axis=1, kind="stable"))
    return out


def tied_groups(y: FloatArray, sigma: FloatArray) -> list[NDArray[np.intp]]:
    """Labels without error that are equal, group by group."""
    exact = np.flatnonzero(sigma == 0)
    _, group, size = np.unique(y[exact], return_inverse=True, return_counts=True)
    return [exact[group == k] for k in np.flatnonzero(size > 1)]


def _spearman(y: FloatArray, sigma: FloatArray, rank: FloatArray) -> Callable[[_Places], FloatArray]:
    # tied labels stand side by side in an order that does not matter once they share one rank
    rank = rank.copy()
    for group in tied_groups(y, sigma):
        rank[group] = np.mean(rank[group])
    places = 2.0 * np.arange(y.size) - (y.size - 1)

    def of_sorted(order: _Places) -> FloatArray:
        return np.asarray(rank[order] @ places)

    return of_sorted


def _kendall(y: FloatArray, sigma: FloatArray, rank: FloatArray) -> Callable[[_Places], FloatArray]:
    n = y.size
    _, group, size = np.unique(rank, return_inverse=True, return_counts=True)
    untied = n * (n - 1) // 2 - int(np.sum(size * (size - 1))) // 2
    for members in tied_groups(y, sigma):
        both = np.bincount(group[members])
        untied -= (members.size * (members.size - 1) - int(np.sum(both * (both - 1)))) // 2

    def of_sorted(order: _Places) -> FloatArray:
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.arange(n)[None, :], axis=1)
        if group[-1] < n - 1:  # equal predictions are read in the order of their labels: no inversion
            place = np.sort(group * n + place, axis=1) % n
        return np.asarray(untied - 2.0 * inversions(place))

    return of_sorted


def inversions(place: _Places) -> NDArray[np.int64]:
    """How many pairs of each row, a permutation of 0 ... n - 1, stand in falling order.

    Bit by bit from the highest: among the values that share their higher bits, count every 1 that stands before a 0,
    then put the zeros before the ones. Rows are filled up to a power of two, so that half of each group are zeros.
    """
    rows, n = place.shape
    bits = max(n - 1, 1).bit_length()
    filled = np.broadcast_to(np.arange(1 << bits, dtype=np.int32), (rows, 1 << bits)).copy()
    filled[:, :n] = place
    total = np.zeros(rows, dtype=np.int64)
    for bit in range(bits - 1, -1, -1):
        half = 1 << bit
        groups = filled.reshape(rows, -1, 2 * half)
        ones = (groups & half) != 0
        before = np.cumsum(ones, axis=2, dtype=np.int32)
        total += np.sum(before, axis=(1, 2), where=~ones, dtype=np.int64)
        split = groups[~ones].reshape(rows, -1, 1, half), groups[ones].reshape(rows, -1, 1, half)
        filled = np.concatenate(split, axis=2)
    return total
