"""Answers of metrics that are linear in the labels: accuracy, log loss, Brier score, top-k accuracy.

The metric is the weighted mean of L[i, label_i], a table of what each label would cost. Mean and variance are exact, and so
is the estimate against the truth: sum_k a_ik L_ik with the unbiased indicators a_i of the true class.
"""

from __future__ import annotations

import math

import numpy as np

from scorebars.answers.classes.class_answers import ENTROPY, ClassAnswers, Spread
from scorebars.answers.classes.labelled import Labelled
from scorebars.arrays import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.counts.weighted_bernoulli import BernoulliSum
from scorebars.laws.discrete import DiscreteLaw, MetricMoments
from scorebars.laws.law import Law
from scorebars.laws.normal_law import NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.score import Declaration

_LISTED = 1 << 13
_DRAWS = 10_000
_MOST_DRAWN = 20_000_000
UNBIASED = "unbiased: the costs of labels carried back through the label errors"


def listed_sums(tables: list[FloatArray], p: FloatArray) -> tuple[list[FloatArray], FloatArray] | None:
    """sum_i table[i, label_i] of each table for all possible labels, with their chances; None where they are many."""
    possible = p > 0
    if float(np.add.reduce(np.log(np.add.reduce(possible, axis=1)))) > math.log(_LISTED) + 1e-9:
        return None
    sums, chances = [np.zeros(1) for _ in tables], np.ones(1)
    for i, allowed in enumerate(possible):
        sums = [np.add.outer(found, table[i, allowed]).ravel() for found, table in zip(sums, tables, strict=True)]
        chances = np.multiply.outer(chances, p[i, allowed]).ravel()
    return sums, chances


def drawn_sums(tables: list[FloatArray], p: FloatArray) -> list[FloatArray]:
    """The same sums for labels drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    sure = p.max(axis=1) == 1
    draws = max(1000, min(_DRAWS, _MOST_DRAWN // max(int(np.count_nonzero(~sure)), 1)))
    out = [np.full(draws, float(np.sum((p * table)[sure]))) for table in tables]
    for i in np.flatnonzero(~sure):
        picked = np.searchsorted(np.cumsum(p[i])[:-1], rng.random(draws), side="right")
        for found, table in zip(out, tables, strict=True):
            found += table[i, picked]
    return out


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
        tables = [self._shares[:, None] * self._table]
        listed = listed_sums(tables, self._p)
        if listed is not None:
            return DiscreteLaw(listed[0][0], listed[1])
        if len(self._p) * _DRAWS > _MOST_DRAWN * 10:  # too many labels to draw; their mean is normal
            return NormalLaw(self._mean, math.sqrt(self._var), method="delta")
        return SampleLaw(drawn_sums(tables, self._p)[0], mean=self._mean, var=self._var)

    def _two_valued(self, low: FloatArray, high: FloatArray, p: FloatArray) -> Law:
        if self._counted:  # costs 0 and 1, equal weights
            return ScaledLaw(PoissonBinomial(np.where(high == low, high, p)), 1.0 / len(p))
        return BernoulliSum(self._shares * (high - low), p, float(np.add.reduce(self._shares * low)))


class LabelLossAnswers(ClassAnswers):
    """The weighted mean of a cost table (n, K); `perfect_table` is that of a perfect model, if not the shown class."""

    _truth_method = "unbiased"

    def __init__(
        self, declaration: Declaration, data: Labelled, table: FloatArray, perfect_table: FloatArray | None = None
    ) -> None:
        self._table, self._perfect_table = table, perfect_table
        self._counts_items = bool(np.all((table == 0) | (table == 1)))
        self._counted = data.weight is None and self._counts_items
        cost = np.take_along_axis(table, data.shown[:, None], axis=1)[:, 0]
        super().__init__(declaration, data, data.total(data.weights * cost) / data.total(data.weights))
        if perfect_table is not None:
            self._perfect_note = ENTROPY

    def _spread(self, p: FloatArray) -> Spread:
        return LossSpread(self._table, p, self.data.shares, self._counted)

    def _perfect_spread(self, p: FloatArray) -> Spread:
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
