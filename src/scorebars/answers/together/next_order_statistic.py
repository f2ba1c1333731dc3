"""Order statistics of the next test set: where they fall among the items of this one.

Two test sets of n items from one population are exchangeable, whatever the law of their errors. The number of items of
this set that lie below the k-th smallest of the next follows the beta-binomial law BB(n, k, n + 1 - k), so that items of
this set bound it. Nothing bounds the largest of the next set from above: it exceeds the largest of this one with
probability 1/2, by an amount that no item shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln

from scorebars.arrays import FloatArray
from scorebars.score import Interval


@dataclass(frozen=True, eq=False)
class NextOrderStatistic:
    """The interval of the k-th smallest of the next n values, k between 1 and n; fractions lie between two.

    `ordered` are the values at hand; they end at `low` and `high`. `margin` times the quantile is added on both sides.
    """

    ordered: FloatArray
    k: float
    low: float
    high: float

    def _below(self, tail: float, k: float, values: FloatArray) -> float:
        """The value that the k-th smallest falls below with this probability, between two items."""
        n = values.size
        j = np.arange(n + 1.0)
        log = gammaln(n + 1.0) - gammaln(j + 1.0) - gammaln(n - j + 1.0) + betaln(j + k, 2.0 * n + 1.0 - j - k)
        below = np.cumsum(np.exp(log - betaln(k, n + 1.0 - k)))
        ends = np.concatenate([[-np.inf], values])
        first = int(np.searchsorted(below, tail, side="right"))  # below[first - 1] <= tail < below[first]
        if first == 0:
            return -np.inf
        if first > n - 1:
            return float(values[-1])
        share = (tail - below[first - 1]) / (below[first] - below[first - 1])
        return float(ends[first] + share * (ends[first + 1] - ends[first]))

    def __call__(self, level: float) -> Interval:
        n = self.ordered.size
        if self.k >= n:  # the largest: all of the risk is on the lower side
            return Interval(max(self._below(1.0 - level, self.k, self.ordered), self.low), self.high)
        tail = (1.0 - level) / 2
        low = self._below(tail, self.k, self.ordered)
        high = -self._below(tail, n + 1.0 - self.k, -self.ordered[::-1])
        return Interval(max(low, self.low), min(high, self.high))
