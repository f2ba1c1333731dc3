"""Which of two classifiers has the higher accuracy on the same uncertain labels?

Only items on which they differ count. Such an item moves the difference of correct counts by +1 with probability a
(the label is A's prediction), by -1 with probability b (it is B's), and with K > 2 classes by 0 otherwise. With two
classes a + b = 1, and the difference is 2 PB(a) - n: a Poisson-binomial count.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from scorebars.arrays import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.poisson_binomial import PoissonBinomial, convolve_steps
from scorebars.laws.counts.weighted_bernoulli import BernoulliSum
from scorebars.laws.discrete import ListedLaw, ProbabilityTable
from scorebars.laws.law import Law, NormalLaw


def accuracy_difference_law(p_a: ArrayLike, p_b: ArrayLike, total: float, weights: ArrayLike | None = None) -> Law:
    """The distribution of accuracy(A) - accuracy(B).

    `p_a`, `p_b`: for each item on which A and B differ, the probability that the label is A's or B's prediction;
    `total`: number of all items; with sample weights of the differing items, the total weight of all items. Exact
    without weights and for two classes; normal for weighted items of more classes.
    """
    a, b = np.asarray(p_a, dtype=float).ravel(), np.asarray(p_b, dtype=float).ravel()
    two_classes = bool(np.all(np.abs(a + b - 1) <= 1e-15))
    if weights is None:
        if two_classes:
            return ScaledLaw(PoissonBinomial(a), 2 / total, -a.size / total)
        return ScaledLaw(TrinomialSum(a, b), 1 / total)
    share = np.asarray(weights, dtype=float).ravel() / total
    if two_classes:
        return BernoulliSum(2 * share, a, shift=-float(np.add.reduce(share)))
    mean = float(np.add.reduce(share * (a - b)))
    return NormalLaw(mean, math.sqrt(float(np.add.reduce(share**2 * _variances(a, b)))), method="delta")


def _variances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Variance of a step of +1 with probability a and -1 with probability b, without cancellation."""
    return a * (1 - a) + b * (1 - b) + 2 * a * b


class TrinomialSum(ListedLaw):
    """Sum of independent steps: +1 with probability a_i, -1 with probability b_i, else 0."""

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        self._a, self._b = np.asarray(a, dtype=float).ravel(), np.asarray(b, dtype=float).ravel()
        low = np.count_nonzero(self._a == 1) - np.count_nonzero(self._b > 0)
        high = np.count_nonzero(self._a > 0) - np.count_nonzero(self._b == 1)
        self.support = (float(low), float(high))

    def _mean(self) -> float:
        return float(np.add.reduce(self._a - self._b))

    def _var(self) -> float:
        return float(np.add.reduce(_variances(self._a, self._b)))

    @cached_property
    def table(self) -> ProbabilityTable:
        first, pmf = convolve_steps(np.stack([self._b, np.maximum(1 - self._a - self._b, 0.0), self._a], axis=1))
        return ProbabilityTable.of(first - self._a.size + np.arange(pmf.size, dtype=float), pmf)
