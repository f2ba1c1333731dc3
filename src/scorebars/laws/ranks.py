"""Laws of rank correlations when labels move: Spearman's with mid-ranks, Kendall's tau-b.

Both are a fixed factor times sum_{i<j} W_ij sgn(y_i - y_j), with W the difference of the predictions' ranks (ties at
mid-ranks) or its sign; labels without error that are tied stay tied, and the normalisation knows them. Mean and variance
are exact (rank_moments). The shape comes from draws with a fixed seed, and is normal where there are many labels.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from scorebars.laws.base import FloatArray, Law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.rank_moments import rank_sum_moments
from scorebars.laws.samples import SampleLaw

_DRAWN = 1_000  # labels: above, the law is normal to within what draws could show
_DRAWS, _FEWEST = 20_000, 1_000
_WORK = 200_000_000  # pairs of labels in all draws
_BLOCK = 1 << 20
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
    exact = y[np.broadcast_to(sigma, y.shape) == 0]
    return [int(t) for t in np.unique(exact, return_counts=True)[1] if t > 1]


def _law(y: FloatArray, r: FloatArray, sigma: FloatArray | float, factor: float, *, signs: bool) -> Law:
    s = np.asarray(np.broadcast_to(sigma, y.shape), dtype=np.float64)
    if factor == 0:
        return NormalLaw(0.0, 0.0)
    mean, variance = rank_sum_moments(y, s, r, signs)
    mean, variance = factor * mean, factor * factor * variance
    if variance == 0 or y.size > _DRAWN:
        return NormalLaw(mean, math.sqrt(variance), method="exact" if variance == 0 else "delta")
    return RankCorrelationLaw(y, s, r, factor, signs, mean, variance)


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
        """The metric on drawn labels, as many pairs at a time as fit into memory."""
        rng = np.random.default_rng(_SEED)
        n = self._y.size
        i, j = np.triu_indices(n, 1)
        gap = self._r[i] - self._r[j]
        weight = self._factor * (np.sign(gap) if self._signs else gap)
        count = max(_FEWEST, min(_DRAWS, _WORK // i.size))
        rows = max(1, _BLOCK // i.size)
        values = np.empty(count)
        for start in range(0, count, rows):
            labels = self._y + self._s * rng.standard_normal((min(rows, count - start), n))
            values[start : start + rows] = np.add.reduce(np.sign(labels[:, i] - labels[:, j]) * weight, axis=1)
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
