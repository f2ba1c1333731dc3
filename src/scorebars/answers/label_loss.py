"""Answers of metrics that are linear in the labels: accuracy, log loss, Brier score, top-k accuracy.

The metric is the weighted mean of L[i, label_i], a table of what each label would cost. Mean and variance are exact, and so
is the estimate against the truth: sum_k a_ik L_ik with the unbiased indicators a_i of the true class.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.class_answers import ClassAnswers, Spread
from scorebars.answers.labelled import Labelled
from scorebars.errors.base import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import Law
from scorebars.laws.discrete import DiscreteLaw
from scorebars.laws.normal import NormalLaw
from scorebars.laws.outcomes import MetricMoments
from scorebars.laws.poisson_binomial import PoissonBinomial
from scorebars.laws.samples import SampleLaw
from scorebars.laws.weighted_bernoulli import BernoulliSum
from scorebars.score import Declaration

_LISTED = 1 << 13
_DRAWS = 10_000
_MOST_DRAWN = 20_000_000
UNBIASED = "unbiased: the costs of labels carried back through the label errors"
ENTROPY = "expected score of a model that knows the true class and how labels err, and says so in its probabilities"


class LossSpread:
    """The mean of table[i, label_i] under independent labels with probabilities p."""

    def __init__(self, table: FloatArray, p: FloatArray, shares: FloatArray, counted: bool) -> None:
        self._table, self._p, self._shares, self._counted = table, p, shares, counted
        mean = np.add.reduce(p * table, axis=1)
        var = np.add.reduce(p * np.square(table - mean[:, None]), axis=1)
        self._mean = float(np.add.reduce(shares * mean))
        self._var = float(np.add.reduce(np.square(shares) * var))

    def moments(self) -> MetricMoments:
        return MetricMoments(self._mean, self._var, 1.0, "exact")

    def law(self) -> Law:
        """Exact where each label has two possible costs, or few labels can change; else drawn, or normal for many."""
        possible = self._p > 0
        low = np.min(np.where(possible, self._table, np.inf), axis=1)
        high = np.max(np.where(possible, self._table, -np.inf), axis=1)
        at_high = possible & (self._table == high[:, None])
        if np.all(~possible | at_high | (self._table == low[:, None])):
            return self._two_valued(low, high, np.minimum(np.add.reduce(self._p * at_high, axis=1), 1.0))
        if float(np.add.reduce(np.log(np.add.reduce(possible, axis=1)))) <= math.log(_LISTED) + 1e-9:
            return self._listed(possible)
        if self._mean_is_normal():
            return NormalLaw(self._mean, math.sqrt(self._var), method="delta")
        return self._drawn()

    def _two_valued(self, low: FloatArray, high: FloatArray, p: FloatArray) -> Law:
        if self._counted:  # costs 0 and 1, equal weights
            p = np.where(high == low, high, p)
            return ScaledLaw(PoissonBinomial(p), 1.0 / len(p))
        return BernoulliSum(self._shares * (high - low), p, float(np.add.reduce(self._shares * low)))

    def _listed(self, possible: NDArray[np.bool_]) -> Law:
        values, chances = np.zeros(1), np.ones(1)
        for costs, p, share, allowed in zip(self._table, self._p, self._shares, possible, strict=True):
            values = np.add.outer(values, share * costs[allowed]).ravel()
            chances = np.multiply.outer(chances, p[allowed]).ravel()
        return DiscreteLaw(values, chances)

    def _mean_is_normal(self) -> bool:
        """Too many labels to draw; their mean is normal."""
        return self._p.shape[0] * _DRAWS > _MOST_DRAWN * 10

    def _drawn(self) -> Law:
        rng = np.random.default_rng(0)
        open_items = np.flatnonzero(np.max(self._p, axis=1) < 1)
        sure = self._p.max(axis=1) == 1
        base = float(np.add.reduce((self._shares * np.add.reduce(self._p * self._table, axis=1))[sure]))
        draws = max(1000, min(_DRAWS, _MOST_DRAWN // open_items.size))
        out = np.full(draws, base)
        for i in open_items:
            picked = np.searchsorted(np.cumsum(self._p[i])[:-1], rng.random(draws), side="right")
            out += self._shares[i] * self._table[i, picked]
        return SampleLaw(out, mean=self._mean, var=self._var)


class LabelLossAnswers(ClassAnswers):
    """The weighted mean of a cost table (n, K); `perfect_table` is that of a perfect model."""

    _truth_method = "unbiased"

    def __init__(
        self, declaration: Declaration, data: Labelled, table: FloatArray, perfect_table: FloatArray | None = None
    ) -> None:
        self._table, self._perfect_table = table, perfect_table
        right = table[np.arange(data.n), data.shown]
        self._counts_items = bool(np.all((table == 0) | (table == 1)))
        self._counted = data.weight is None and self._counts_items
        if data.weight is None:
            observed = float(np.add.reduce(right)) / data.n
        else:
            observed = float(np.add.reduce(data.weight * right)) / float(np.add.reduce(data.weight))
        super().__init__(declaration, data, observed)
        if perfect_table is not None:
            self._perfect_note = ENTROPY

    def _spread(self, p: FloatArray) -> Spread:
        return LossSpread(self._table, p, self.data.shares, self._counted)

    def _perfect_spread(self, p: FloatArray) -> Spread:
        """A prediction of the shown class, or the given table."""
        table = self.data.one_hot if self._perfect_table is None else self._perfect_table
        return LossSpread(table, p, self.data.shares, self._counted)

    def _at(self, indicators: FloatArray) -> float:
        return float(np.add.reduce(self.data.shares * np.add.reduce(indicators * self._table, axis=1)))

    def _true_value(self) -> tuple[float, str]:
        return self._at(self.data.indicators), UNBIASED

    def _slopes(self, indicators: FloatArray) -> FloatArray:
        return np.asarray(self._table * self.data.shares[:, None])

    def _influences(self, indicators: FloatArray) -> FloatArray:
        return np.asarray(self.data.shares[:, None] * (self._table - self._at(indicators)))
