"""Laws of rank correlations when labels move: Spearman's with mid-ranks, Kendall's tau-b.

Both are a fixed factor times sum_{i<j} W_ij sgn(y_i - y_j), with W the difference of the predictions' ranks (ties at
mid-ranks) or its sign; labels without error that are tied stay tied, and the normalisation knows them. Up to 2000 labels
mean and variance are exact (rank_moments), and up to 1000 the shape comes from draws with a fixed seed; beyond it is
normal. Above 2000 labels, where exact moments would take longer than draws, mean and variance are drawn as well.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from scorebars.laws.base import FloatArray, Law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.rank_draws import drawn_rank_sums, tied_groups
from scorebars.laws.rank_moments import rank_sum_moments
from scorebars.laws.samples import SampleLaw

_SHAPED = 1_000  # labels: above, the law is normal to within what draws could show
_EXACT = 2_000  # labels: above, mean and variance are drawn
_DRAWS = 20_000
_DRAWN_LABELS = {
    False: 10_000_000,
    True: 2_500_000,
}  # in all draws together; counting inversions takes four times as long
_FEWEST = {False: 64, True: 32}  # draws at least: the std is then known to 9 %, 13 %
_SEED = 20240517


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
    return [group.size for group in tied_groups(y, np.broadcast_to(sigma, y.shape))]


def _law(y: FloatArray, r: FloatArray, sigma: FloatArray | float, factor: float, *, signs: bool) -> Law:
    s = np.asarray(np.broadcast_to(sigma, y.shape), dtype=np.float64)
    if factor == 0:
        return NormalLaw(0.0, 0.0)
    if y.size > _EXACT:
        return DrawnNormalLaw(factor * _draws(y, s, r, signs))
    mean, variance = rank_sum_moments(y, s, r, signs)
    mean, variance = factor * mean, factor * factor * variance
    if variance == 0 or y.size > _SHAPED:
        return NormalLaw(mean, math.sqrt(variance), method="exact" if variance == 0 else "delta")
    return RankCorrelationLaw(y, s, r, factor, signs, mean, variance)


def _draws(y: FloatArray, s: FloatArray, r: FloatArray, signs: bool) -> FloatArray:
    """The sum over pairs on drawn labels; fewer draws of more labels."""
    count = max(_FEWEST[signs], min(_DRAWS, _DRAWN_LABELS[signs] // y.size)) if np.any(s > 0) else 1
    return drawn_rank_sums(y, s, r, signs, count, np.random.default_rng(_SEED))


class DrawnNormalLaw(NormalLaw):
    """Normal with the mean and standard deviation of `draws`."""

    def __init__(self, draws: FloatArray) -> None:
        spread = float(np.std(draws, ddof=1)) if draws.size > 1 else 0.0
        super().__init__(float(np.mean(draws)), spread, method="simulation" if spread > 0 else "exact")
        self._count = draws.size

    def standard_error(self, q: float) -> float:
        """Standard error of the quantile at q, from the finite number of draws."""
        return self.std * math.sqrt((1.0 + 0.5 * float(ndtri(q)) ** 2) / self._count)


class RankCorrelationLaw(Law):
    """factor * sum_{i<j} W_ij sgn(y_i - y_j): exact mean and variance, the rest from draws made when first needed."""

    method = "simulation"
    support = (-1.0, 1.0)

    def __init__(
        self, y: FloatArray, s: FloatArray, r: FloatArray, factor: float, signs: bool, mean: float, variance: float
    ) -> None:
        self._y, self._s, self._r, self._factor, self._signs = y, s, r, factor, signs
        self._exact = mean, variance

    def _mean(self) -> float:
        return self._exact[0]

    def _var(self) -> float:
        return self._exact[1]

    @cached_property
    def draws(self) -> SampleLaw:
        """The metric on drawn labels."""
        values = self._factor * _draws(self._y, self._s, self._r, self._signs)
        return SampleLaw(values, mean=self._exact[0], var=self._exact[1])

    def _cdf(self, x: float) -> float:
        return self.draws._cdf(x)

    def _pdf(self, x: float) -> float:
        return self.draws._pdf(x)

    def _ppf(self, q: float) -> float:
        return float(self.draws.ppf(q))

    def standard_error(self, q: float) -> float:
        """Standard error of the quantile at q, from the finite number of draws."""
        return self.draws.standard_error(q)
