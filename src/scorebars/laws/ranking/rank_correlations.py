"""Distributions of rank correlations when labels are drawn from their error bars: Spearman's with mid-ranks, Kendall's tau-b.

Both are a fixed factor times sum_{i<j} W_ij sgn(y_i - y_j), with W the difference of the predictions' ranks (ties at
mid-ranks) or its sign; labels without error that are tied stay tied, and the normalisation knows them. Up to 1000 labels
mean and variance are exact (rank_moments). The shape of few labels comes from draws with a fixed seed; that of more from
the skewness of draws of some of them, which falls as one over the root of the number of labels: probabilities are uncertain
by about 0.003. Above 1000 labels the distribution is taken as normal, with mean and standard deviation to first order, within
about 1 % of the latter; drawn where labels hardly overlap.

A draw takes n log n operations. For Spearman's correlation the sum is sum_i r_i (2 place_i - n + 1), with the place of
label i among the drawn ones. For Kendall's it is (pairs without ties) - 2 (inversions): pairs that stand in the wrong order
when labels are read in the order of the predictions. Only labels without error can tie.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scorebars.arrays import FloatArray, IntArray
from scorebars.laws.law import RNG, Law, NormalLaw
from scorebars.laws.ranking.rank_moments import first_order_moments, rank_sum_moments
from scorebars.laws.samples import SampleLaw, drawn_in_blocks
from scorebars.numerics import FIXED_SEED
from scorebars.numerics.inversions import inversions

_FEW = 64  # labels: up to so many, draws are the distribution
_EXACT = 1_000  # labels: above, the distribution is taken as normal, with moments to first order
_DRAWS, _DRAWN_LABELS = 20_000, 500_000  # of few labels
_SHAPE_LABELS, _SHAPE_DRAWS = 96, 2_000  # for a skewness known to 0.05; its part in many labels is smaller
_MANY_DRAWS = 1_000
_MOMENT_LABELS, _FEWEST = 5_000_000, 64  # labels in all draws, and draws at least: the std is then known to 9 %
_MOST_SKEWED = 0.9  # draws of few labels overstate a larger one


def spearman_law(y: FloatArray, p: FloatArray, sigma: FloatArray | float) -> Law:
    """Distribution of Spearman's rank correlation of labels N(y, sigma^2) and predictions p."""
    s, ranks, n = _per_label(sigma, y), _mid_ranks(p), y.size
    tied = sum(group.size**3 - group.size for group in tied_groups(y, s))
    scatter = float(np.sum(np.square(ranks - ranks.mean()))) * (n * (n * n - 1.0) - tied) / 12.0
    return _law(y, ranks - ranks.mean(), s, 0.5 / math.sqrt(scatter) if scatter > 0 else 0.0, kendall=False)


def kendall_law(y: FloatArray, p: FloatArray, sigma: FloatArray | float) -> Law:
    """Distribution of Kendall's tau-b of labels N(y, sigma^2) and predictions p."""
    s, n = _per_label(sigma, y), y.size
    pairs = n * (n - 1) / 2
    equal = np.unique(p, return_counts=True)[1].astype(np.float64)
    tied_p = float(np.sum(equal * (equal - 1.0))) / 2
    tied_y = sum(group.size * (group.size - 1) / 2 for group in tied_groups(y, s))
    size = (pairs - tied_p) * (pairs - tied_y)
    return _law(y, _mid_ranks(p), s, 1.0 / math.sqrt(size) if size > 0 else 0.0, kendall=True)


def somers_law(y: FloatArray, p: FloatArray, sigma: FloatArray | float) -> Law:
    """Distribution of Somers' D: pairs ordered rightly less those ordered wrongly, of all pairs of different labels."""
    s, n = _per_label(sigma, y), y.size
    apart = n * (n - 1) / 2 - sum(group.size * (group.size - 1) / 2 for group in tied_groups(y, s))
    return _law(y, _mid_ranks(p), s, 1.0 / apart if apart > 0 else 0.0, kendall=True)


def _mid_ranks(p: FloatArray) -> FloatArray:
    from scipy.stats import rankdata  # slow to import, and needed for ranks only

    return np.asarray(rankdata(p), dtype=np.float64)


def _per_label(sigma: FloatArray | float, y: FloatArray) -> FloatArray:
    return np.asarray(np.broadcast_to(sigma, y.shape), dtype=np.float64)


def _law(y: FloatArray, r: FloatArray, s: FloatArray, factor: float, *, kendall: bool) -> Law:
    if factor == 0:
        return NormalLaw(0.0, 0.0)
    if y.size > _EXACT:
        found = first_order_moments(y, s, r, kendall)
        if found is None:
            draws = _draws(y, s, r, factor, kendall)
            spread = float(np.std(draws, ddof=1)) if draws.size > 1 else 0.0
            return NormalLaw(float(np.mean(draws)), spread, "simulation" if spread > 0 else "exact")
        return NormalLaw(factor * found[0], factor * math.sqrt(found[1]), method="delta")
    mean, variance = rank_sum_moments(y, s, r, kendall)
    mean, variance = factor * mean, factor * factor * variance
    if variance == 0:
        return NormalLaw(mean, 0.0)
    if y.size <= _FEW:
        return SampleLaw(partial(_draws, y, s, r, factor, kendall), mean=mean, var=variance)
    return SkewedLaw(mean, math.sqrt(variance), partial(_skewness, y, s, r, kendall))


def _draws(y: FloatArray, s: FloatArray, r: FloatArray, factor: float, kendall: bool) -> FloatArray:
    """The correlation of drawn labels; fewer draws of more labels."""
    n = y.size
    count = min(_DRAWS, _DRAWN_LABELS // n) if n <= _FEW else max(_FEWEST, min(_MANY_DRAWS, _MOMENT_LABELS // n))
    return factor * drawn_rank_sums(y, s, r, kendall, count if np.any(s > 0) else 1, np.random.default_rng(FIXED_SEED))


def _skewness(y: FloatArray, s: FloatArray, r: FloatArray, kendall: bool) -> float:
    """That of drawn sums of some labels, evenly spread over the predictions, times the root of their part of all."""
    count = min(y.size, _SHAPE_LABELS)
    part = count / y.size
    some = np.argsort(r, kind="stable")[((np.arange(count) + 0.5) * (y.size / count)).astype(np.intp)]
    rank = _mid_ranks(r[some])
    rng = np.random.default_rng(FIXED_SEED)
    draws = drawn_rank_sums(y[some], s[some], rank - rank.mean(), kendall, int(part * _SHAPE_DRAWS), rng)
    scatter = float(np.std(draws))
    return math.sqrt(part) * float(np.mean(np.power((draws - np.mean(draws)) / scatter, 3))) if scatter > 0 else 0.0


class SkewedLaw(NormalLaw):
    """A shifted gamma distribution (Pearson's type III) of given mean, standard deviation and skewness.

    The skewness is drawn when a probability is first asked for.
    """

    def __init__(self, mean: float, std: float, skewness: Callable[[], float]) -> None:
        super().__init__(mean, std, "simulation")
        self._source = skewness

    @cached_property
    def _shape(self) -> Any:
        from scipy.stats import pearson3

        return pearson3(min(max(self._source(), -_MOST_SKEWED), _MOST_SKEWED))

    def _below(self, z: float) -> float:
        return float(self._shape.cdf(z))

    def _sf(self, x: float) -> float:
        return float(self._shape.sf(self._z(x)))

    def _density(self, z: float) -> float:
        return float(self._shape.pdf(z))

    def _quantile(self, q: float) -> float:
        return float(self._shape.ppf(q))

    def _draw(self, rng: RNG, size: Any) -> Any:
        return self._shape.rvs(size, rng)


def drawn_rank_sums(
    y: FloatArray, sigma: FloatArray, rank: FloatArray, kendall: bool, draws: int, rng: RNG
) -> FloatArray:
    """The sum for as many draws of the labels N(y, sigma^2)."""
    order = np.argsort(rank, kind="stable")
    y, sigma, rank = y[order], sigma[order], rank[order]
    of_sorted = _KendallSum(y, sigma, rank) if kendall else _SpearmanSum(y, sigma, rank)
    kind: Literal["stable"] | None = "stable" if np.count_nonzero(sigma == 0) > 1 else None  # some may be tied

    def draw(rng: RNG, rows: int) -> FloatArray:
        labels = y + sigma * rng.standard_normal((rows, y.size))
        return of_sorted(np.argsort(labels, axis=1, kind=kind))

    return drawn_in_blocks(draw, draws, y.size, rng)


def tied_groups(y: FloatArray, sigma: FloatArray) -> list[NDArray[np.intp]]:
    """Labels without error that are equal, group by group."""
    exact = np.flatnonzero(sigma == 0)
    _, group, size = np.unique(y[exact], return_inverse=True, return_counts=True)
    return [exact[group == k] for k in np.flatnonzero(size > 1)]


class _SpearmanSum:
    """Spearman's sum for labels, sorted by rank, that are drawn in a given order."""

    def __init__(self, y: FloatArray, sigma: FloatArray, rank: FloatArray) -> None:
        # tied labels stand side by side in an order that does not matter once they share one rank
        self._rank, self._places = rank.copy(), 2.0 * np.arange(y.size) - (y.size - 1)
        for group in tied_groups(y, sigma):
            self._rank[group] = np.mean(rank[group])

    def __call__(self, order: IntArray) -> FloatArray:
        return np.asarray(self._rank[order] @ self._places)


class _KendallSum:
    """Kendall's sum for labels, sorted by rank, that are drawn in a given order."""

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
