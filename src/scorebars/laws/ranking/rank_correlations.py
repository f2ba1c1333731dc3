"""Distributions of rank correlations when labels are drawn from their error bars: Spearman's with mid-ranks, Kendall's tau-b.

Both are a fixed factor times sum_{i<j} W_ij sgn(y_i - y_j), with W the difference of the predictions' ranks (ties at
mid-ranks) or its sign; labels without error that are tied stay tied, and the normalisation knows them. Up to 2000 labels
mean and variance are exact (rank_moments), and up to 1000 the shape comes from draws with a fixed seed; beyond it is
normal. Above 2000 labels, where exact moments would take longer than draws, mean and variance are drawn as well.

A draw takes n log n operations. For Spearman's correlation the sum is sum_i r_i (2 place_i - n + 1), with the place of
label i among the drawn ones. For Kendall's it is (pairs without ties) - 2 (inversions): pairs that stand in the wrong order
when labels are read in the order of the predictions. Only labels without error can tie.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from scorebars.arrays import FloatArray, IntArray
from scorebars.laws.law import RNG, Law, NormalLaw
from scorebars.laws.ranking.rank_moments import rank_sum_moments
from scorebars.laws.samples import SampleLaw

_SHAPED = 1_000  # labels: above, the distribution is normal to within what draws could show
_EXACT = 2_000  # labels: above, mean and variance are drawn
_DRAWS = 20_000
_DRAWN_LABELS = {False: 10_000_000, True: 2_500_000}  # in all draws; counting inversions takes four times as long
_FEWEST = {False: 64, True: 32}  # draws at least: the std is then known to 9 %, 13 %
_SEED = 20240517
_BLOCK = 1 << 20  # labels drawn at a time


def spearman_law(y: FloatArray, p: FloatArray, sigma: FloatArray | float) -> Law:
    """Distribution of Spearman's rank correlation of labels N(y, sigma^2) and predictions p."""
    s, ranks, n = _per_label(sigma, y), _mid_ranks(p), y.size
    tied = sum(group.size**3 - group.size for group in tied_groups(y, s))
    scatter = float(np.sum(np.square(ranks - ranks.mean()))) * (n * (n * n - 1.0) - tied) / 12.0
    return _law(y, ranks - ranks.mean(), s, 0.5 / math.sqrt(scatter) if scatter > 0 else 0.0, signs=False)


def kendall_law(y: FloatArray, p: FloatArray, sigma: FloatArray | float) -> Law:
    """Distribution of Kendall's tau-b of labels N(y, sigma^2) and predictions p."""
    s, n = _per_label(sigma, y), y.size
    pairs = n * (n - 1) / 2
    tied_p = sum(t * (t - 1) / 2 for t in np.unique(p, return_counts=True)[1])
    tied_y = sum(group.size * (group.size - 1) / 2 for group in tied_groups(y, s))
    size = (pairs - tied_p) * (pairs - tied_y)
    return _law(y, _mid_ranks(p), s, 1.0 / math.sqrt(size) if size > 0 else 0.0, signs=True)


def somers_law(y: FloatArray, p: FloatArray, sigma: FloatArray | float) -> Law:
    """Distribution of Somers' D: pairs ordered rightly less those ordered wrongly, of all pairs of different labels."""
    s, n = _per_label(sigma, y), y.size
    apart = n * (n - 1) / 2 - sum(group.size * (group.size - 1) / 2 for group in tied_groups(y, s))
    return _law(y, _mid_ranks(p), s, 1.0 / apart if apart > 0 else 0.0, signs=True)


def _mid_ranks(p: FloatArray) -> FloatArray:
    from scipy.stats import rankdata  # slow to import, and needed for ranks only

    return np.asarray(rankdata(p), dtype=np.float64)


def _per_label(sigma: FloatArray | float, y: FloatArray) -> FloatArray:
    return np.asarray(np.broadcast_to(sigma, y.shape), dtype=np.float64)


def _law(y: FloatArray, r: FloatArray, s: FloatArray, factor: float, *, signs: bool) -> Law:
    if factor == 0:
        return NormalLaw(0.0, 0.0)
    if y.size > _EXACT:
        return DrawnNormalLaw(_draws(y, s, r, factor, signs))
    mean, variance = rank_sum_moments(y, s, r, signs)
    mean, variance = factor * mean, factor * factor * variance
    if variance == 0 or y.size > _SHAPED:
        return NormalLaw(mean, math.sqrt(variance), method="exact" if variance == 0 else "delta")
    return SampleLaw(partial(_draws, y, s, r, factor, signs), mean=mean, var=variance)


def _draws(y: FloatArray, s: FloatArray, r: FloatArray, factor: float, signs: bool) -> FloatArray:
    """The correlation of drawn labels; fewer draws of more labels."""
    count = max(_FEWEST[signs], min(_DRAWS, _DRAWN_LABELS[signs] // y.size)) if np.any(s > 0) else 1
    return factor * drawn_rank_sums(y, s, r, signs, count, np.random.default_rng(_SEED))


class DrawnNormalLaw(NormalLaw):
    """Normal with the mean and standard deviation of `draws`."""

    def __init__(self, draws: FloatArray) -> None:
        spread = float(np.std(draws, ddof=1)) if draws.size > 1 else 0.0
        super().__init__(float(np.mean(draws)), spread, method="simulation" if spread > 0 else "exact")
        self._count = draws.size

    def standard_error(self, q: float) -> float:
        """Standard error of the quantile at q, from the finite number of draws."""
        return self.std * math.sqrt((1.0 + 0.5 * float(ndtri(q)) ** 2) / self._count)


def drawn_rank_sums(
    y: FloatArray, sigma: FloatArray, rank: FloatArray, signs: bool, draws: int, rng: RNG
) -> FloatArray:
    """The sum for as many draws of the labels N(y, sigma^2)."""
    order = np.argsort(rank, kind="stable")
    y, sigma, rank = y[order], sigma[order], rank[order]
    of_sorted = _KendallSum(y, sigma, rank) if signs else _SpearmanSum(y, sigma, rank)
    rows = max(1, _BLOCK // y.size)
    out = np.empty(draws)
    for start in range(0, draws, rows):
        labels = y + sigma * rng.standard_normal((min(rows, draws - start), y.size))
        out[start : start + rows] = of_sorted(np.argsort(labels, axis=1, kind="stable"))
    return out


def tied_groups(y: FloatArray, sigma: FloatArray) -> list[NDArray[np.intp]]:
    """Labels without error that are equal, group by group."""
    exact = np.flatnonzero(sigma == 0)
    _, group, size = np.unique(y[exact], return_inverse=True, return_counts=True)
    return [exact[group == k] for k in np.flatnonzero(size > 1)]


class _SpearmanSum:
    """The sum for labels, sorted by rank, that are drawn in a given order."""

    def __init__(self, y: FloatArray, sigma: FloatArray, rank: FloatArray) -> None:
        # tied labels stand side by side in an order that does not matter once they share one rank
        self._rank, self._places = rank.copy(), 2.0 * np.arange(y.size) - (y.size - 1)
        for group in tied_groups(y, sigma):
            self._rank[group] = np.mean(rank[group])

    def __call__(self, order: IntArray) -> FloatArray:
        return np.asarray(self._rank[order] @ self._places)


class _KendallSum:
    """The same for Kendall's."""

    def __init__(self, y: FloatArray, sigma: FloatArray, rank: FloatArray) -> None:
        n = y.size
        _, self._group, size = np.unique(rank, return_inverse=True, return_counts=True)
        self._untied = n * (n - 1) // 2 - int(np.sum(size * (size - 1))) // 2
        for members in tied_groups(y, sigma):
            both = np.bincount(self._group[members])
            self._untied -= (members.size * (members.size - 1) - int(np.sum(both * (both - 1)))) // 2

    def __call__(self, order: IntArray) -> FloatArray:
        n, group = self._group.size, self._group
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.arange(n)[None, :], axis=1)
        if group[-1] < n - 1:  # equal predictions are read in the order of their labels: no inversion
            place = np.sort(group * n + place, axis=1) % n
        return np.asarray(self._untied - 2.0 * inversions(place))


def inversions(place: IntArray) -> IntArray:
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
