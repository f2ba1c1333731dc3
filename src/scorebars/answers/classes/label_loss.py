"""Answers of metrics that are linear in the labels: accuracy, log loss, Brier score, top-k accuracy.

The metric is the weighted mean of L[i, label_i], a table of what each label would cost. Mean and variance are exact, and so
is the estimate against the truth: sum_k a_ik L_ik with the unbiased indicators a_i of the true class. Where only some items
count, which depends on their labels, the metric is a ratio of two such sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scorebars.answers.classes.class_answers import ENTROPY, INVERTED, ClassAnswers, Spread
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.score import Declaration
from scorebars.arrays import FloatArray, IntArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.counts.weighted_bernoulli import BernoulliSum
from scorebars.laws.discrete import MetricMoments
from scorebars.laws.law import Law, NormalLaw
from scorebars.laws.uncertain_labels import UncertainLabels, few_outcomes

_DRAWS = 10_000
_MOST_DRAWN = 20_000_000
UNBIASED = "unbiased: the costs of labels carried back through the label errors"


@dataclass(frozen=True)
class _MeanCost:
    """The mean cost of several sets of labels (d, n): of all items, or of those that count."""

    tables: list[FloatArray]
    """Costs (n, K) times the share of each item and, where only some count, these shares themselves."""
    base: list[float]
    """Sums over the items whose label is certain."""

    def __call__(self, labels: IntArray) -> FloatArray:
        rows = np.arange(labels.shape[1])
        sums = [b + np.add.reduce(t[rows, labels], axis=1) for t, b in zip(self.tables, self.base, strict=True)]
        return sums[0] if len(sums) == 1 else mean_of_counted(sums[0], sums[1])


def mean_of_counted(costs: FloatArray, counted: FloatArray) -> FloatArray:
    """costs / counted, nan where no item counts; sums of shares that cancel leave a rounding error."""
    defined = counted > 1e-12
    return np.where(defined, costs / np.where(defined, counted, 1.0), math.nan)


class LossSpread:
    """The mean of table[i, label_i] under independent labels with probabilities p, over items that count where given."""

    def __init__(
        self, table: FloatArray, p: FloatArray, shares: FloatArray, equal: bool, counted: FloatArray | None = None
    ) -> None:
        self._table, self._p, self._shares, self._equal, self._counted = table, p, shares, equal, counted
        mean = np.add.reduce(p * table, axis=1)
        var = np.add.reduce(p * np.square(table - mean[:, None]), axis=1)
        self._mean = float(np.add.reduce(shares * mean))
        self._var = float(np.add.reduce(np.square(shares) * var))

    def _labels(self) -> UncertainLabels:
        """The labels listed or drawn; those that are certain are added up beforehand."""
        tables = [self._table] if self._counted is None else [self._table, self._counted]
        tables = [self._shares[:, None] * table for table in tables]
        free = np.max(self._p, axis=1) < 1
        values = _MeanCost([t[free] for t in tables], [float(np.sum((self._p * t)[~free])) for t in tables])
        draws = max(1000, min(_DRAWS, _MOST_DRAWN // max(int(np.count_nonzero(free)), 1)))
        known = self._mean if self._counted is None else None
        return UncertainLabels(values, self._p[free], mean=known, draws=draws)

    def moments(self) -> MetricMoments:
        if self._counted is not None:
            return self._labels().moments()
        return MetricMoments(self._mean, self._var, 1.0, "exact")

    def law(self) -> Law:
        """Exact where each label has two possible costs, or few labels can change; else drawn, or normal for many."""
        if self._counted is not None:
            return self._labels().law()
        possible = self._p > 0
        low = np.min(np.where(possible, self._table, np.inf), axis=1)
        high = np.max(np.where(possible, self._table, -np.inf), axis=1)
        at_high = possible & (self._table == high[:, None])
        if np.all(~possible | at_high | (self._table == low[:, None])):
            p = np.minimum(np.add.reduce(self._p * at_high, axis=1), 1.0)
            if self._equal:  # costs 0 and 1, equal weights
                return ScaledLaw(PoissonBinomial(np.where(high == low, high, p)), 1.0 / len(p))
            return BernoulliSum(self._shares * (high - low), p, float(np.add.reduce(self._shares * low)))
        if len(self._p) * _DRAWS > _MOST_DRAWN * 10 and not few_outcomes(self._p):  # their mean is normal
            return NormalLaw(self._mean, math.sqrt(self._var), method="delta")
        return self._labels().law()


class LabelLossAnswers(ClassAnswers):
    """The weighted mean of a cost table (n, K), over the items where `counted` (n, K) is 1 if it is given.

    `perfect_table` is that of a perfect model, if not the shown class.
    """

    def __init__(
        self,
        declaration: Declaration,
        data: Labelled,
        table: FloatArray,
        perfect_table: FloatArray | None = None,
        *,
        counted: FloatArray | None = None,
    ) -> None:
        self._table, self._perfect_table, self._counted, self.data = table, perfect_table, counted, data
        self._counts_items = counted is None and bool(np.all((table == 0) | (table == 1)))
        self._truth_method = "unbiased" if counted is None else "delta"
        rows = np.arange(len(data.shown))
        counts = data.weights if counted is None else data.weights * counted[rows, data.shown]
        costs, total = np.add.reduce(data.weights * table[rows, data.shown]), np.add.reduce(counts)
        super().__init__(declaration, data, float(mean_of_counted(costs, total)))
        if perfect_table is not None:
            self._perfect_note = ENTROPY

    @property
    def costs(self) -> FloatArray | None:
        """What each class would cost each item (n, K); None where its label also says whether an item counts."""
        return self._table if self._counted is None else None

    def _possible_values(self, p: FloatArray) -> bool:
        return self._sums(p)[1] > 1e-12

    def _sums(self, indicators: FloatArray) -> tuple[float, float]:
        """The mean cost, and the share of the items that count."""
        weighted = self.data.shares[:, None] * indicators
        counted = 1.0 if self._counted is None else float(np.add.reduce(weighted * self._counted, axis=None))
        return float(np.add.reduce(np.add.reduce(weighted * self._table, axis=1))), counted

    def _spread_of(self, table: FloatArray, p: FloatArray, counted: FloatArray | None = None) -> Spread:
        equal = self.data.weight is None and self._counts_items
        return LossSpread(table, p, self.data.shares, equal, counted)

    def _spread(self, p: FloatArray) -> Spread:
        return self._spread_of(self._table, p, self._counted)

    def _perfect_model(self) -> ClassAnswers:
        table = self.data.one_hot if self._perfect_table is None else self._perfect_table
        return LabelLossAnswers(self.declaration, self.data, table)

    def _at(self, indicators: FloatArray) -> float:
        costs, counted = self._sums(indicators)
        return costs if self._counted is None else float(mean_of_counted(np.asarray(costs), np.asarray(counted)))

    _values_at_once = True

    def _values_by(self, rows: FloatArray) -> FloatArray:
        shares = self.data.shares[:, None]
        costs = self.data.sums_by(rows, shares * self._table)
        if self._counted is None:
            return costs
        return mean_of_counted(costs, self.data.sums_by(rows, shares * self._counted))

    def _true_value(self) -> tuple[float, str]:
        return super()._true_value()[0], UNBIASED if self._counted is None else INVERTED

    def _influences(self, indicators: FloatArray) -> FloatArray:
        costs, counted = self._sums(indicators)
        if counted <= 1e-12:
            return np.zeros(indicators.shape)
        parts = costs / counted * (1.0 if self._counted is None else self._counted)
        return np.asarray(self.data.shares[:, None] * (self._table - parts) / counted)
