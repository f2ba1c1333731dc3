"""Answers of averages over columns: the outputs of multilabel data, or the classes, each against the rest.

Each column is a yes-or-no label for every item, with a metric of its own; the metrics are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.class_answers import ENTROPY, ClassAnswers, Spread
from scorebars.answers.classes.confusion_answers import (
    KNOWS_TRUTH,
    ConfusionAnswers,
    OfPositives,
    Share,
    average_of,
    shares_of_classes,
)
from scorebars.answers.classes.labelled import Labelled, LabelMatrix
from scorebars.answers.classes.ranking_answers import RankingAnswers, ranking_answers, require_both_classes
from scorebars.answers.score import Declaration, UndefinedEstimate
from scorebars.arrays import FloatArray, IntArray
from scorebars.errors import Flip
from scorebars.laws.discrete import MetricMoments
from scorebars.laws.law import Law
from scorebars.laws.samples import SampleLaw
from scorebars.laws.uncertain_labels import UncertainLabels, few_outcomes
from scorebars.numerics import FIXED_SEED

Average = Literal["macro", "weighted", "micro"]
_COLUMN_DRAWS = 20_000
_MOST_DRAWS, _LEAST_DRAWS, _WORK = 2000, 200, 30_000_000
_SURELY_DEFINED = 1e-9
_TOGETHER = 4_000_000
"""Numbers that are held at a time."""


class MeanSpread:
    """The mean of independent metrics, each with its share: mean and variance from theirs, the distribution drawn."""

    def __init__(self, parts: Sequence[Spread], shares: FloatArray) -> None:
        self._parts, self._shares = parts, shares

    def moments(self) -> MetricMoments:
        found = [part.moments() for part in self._parts]
        return MetricMoments(
            math.fsum(share * m.mean for share, m in zip(self._shares, found, strict=True)),
            math.fsum(share**2 * m.var for share, m in zip(self._shares, found, strict=True)),
            math.prod(m.p_defined for m in found),
            next((m.method for m in found if m.method != "exact"), "exact"),
        )

    def law(self) -> Law:
        rng = np.random.default_rng(FIXED_SEED)
        drawn = self._shares @ np.array([part.law().rvs(_COLUMN_DRAWS, rng) for part in self._parts])
        moments = self.moments()
        return SampleLaw(drawn, mean=moments.mean, var=moments.var)


class ColumnAverage(ClassAnswers):
    """The mean of a metric over columns, or its mean weighted by the positive labels of each.

    `left_out`: columns where the metric is 0/0 are left out (scikit-learn's zero_division=nan); else they make the
    average undefined.
    """

    _of_none = math.nan
    """The weighted average where no label is positive; nan: columns then count alike."""

    def __init__(
        self,
        declaration: Declaration,
        data: Labelled,
        parts: Sequence[ConfusionAnswers | RankingAnswers],
        average: Average,
        left_out: bool,
    ) -> None:
        self._columns, self._average, self._left_out = parts, average, left_out
        self._weights = data.item_weights if isinstance(data, LabelMatrix) else data.weights
        self.data = data
        super().__init__(declaration, data, self._at(data.one_hot))

    # values ------------------------------------------------------------------------------------

    def _shares(self, values: FloatArray, support: FloatArray) -> FloatArray:
        """How much each column counts."""
        return shares_of_classes(values, support, self._average == "weighted", self._left_out)

    def _combined(self, values: FloatArray, support: FloatArray) -> FloatArray:
        """The average of values (..., columns), with the positive labels of each."""
        found = average_of(values, self._shares(values, support))
        if self._average == "macro" or math.isnan(self._of_none):
            return found
        return np.where(np.add.reduce(support, axis=-1) == 0, self._of_none, found)

    def _each(self, y: FloatArray) -> FloatArray:
        """The metric of each column of positive labels (n, columns)."""
        return np.array([part._at(_pair(column)) for part, column in zip(self._columns, y.T, strict=True)])

    def _at(self, indicators: FloatArray) -> float:
        y = self.data.positives(indicators)
        return float(self._combined(self._each(y), self._weights @ y))

    def _true_value(self) -> tuple[float, str]:
        found = [part._true_value() for part in self._columns]
        support = np.maximum(self._weights @ self.data.positives(self.data.indicators), 0.0)
        return float(self._combined(np.array([value for value, _ in found]), support)), found[0][1]

    # what moves them ---------------------------------------------------------------------------

    def _slopes(self, indicators: FloatArray) -> FloatArray:
        return self._moved(indicators, "_slopes")

    def _influences(self, indicators: FloatArray) -> FloatArray:
        return self._moved(indicators, "_influences")

    def _moved(self, indicators: FloatArray, how: Literal["_slopes", "_influences"]) -> FloatArray:
        """What a change of each label does: to the metric of its column, and to how much the column counts."""
        y = self.data.positives(indicators)
        values, support = self._each(y), self._weights @ y
        shares, value, total = self._shares(values, support), self._combined(values, support), np.add.reduce(support)
        out = np.zeros((*y.shape, 2))
        for k in np.flatnonzero(shares).tolist():
            out[:, k] = shares[k] * getattr(self._columns[k], how)(_pair(y[:, k]))
            if self._average == "weighted" and total != 0:
                out[:, k, 1] += self._weights * (values[k] - value) / total
        return self.data.by_class(out)

    # distributions -----------------------------------------------------------------------------

    def values(self, y: FloatArray) -> FloatArray:
        """The metric of each of several sets of labels (d, cells) of multilabel data."""
        labels = y.reshape(len(y), -1, len(self._columns))
        found = [part.values(labels[:, :, k]) for k, part in enumerate(self._columns)]
        return self._combined(np.stack(found, axis=1), np.einsum("n,dnl->dl", self._weights, labels))

    def _spread(self, p: FloatArray) -> Spread:
        separate = self._average == "macro" and not self._left_out
        if separate and not few_outcomes(p):
            columns = self.data.positives(p).T
            parts = [part._spread(_pair(y)) for part, y in zip(self._columns, columns, strict=True)]
            return MeanSpread(parts, np.full(len(parts), 1.0 / len(parts)))
        return UncertainLabels(self.values, p, self._slopes(p))


class ShareAverage(ColumnAverage):
    """Precision, recall, ... averaged over outputs; 0/0 counts as `undefined`, or is left out if that is nan."""

    def __init__(
        self, declaration: Declaration, data: LabelMatrix, share: Share, average: Average, undefined: float
    ) -> None:
        self._share, self._undefined = share, undefined
        columns = [data.column(k) for k in range(data.outputs)]
        parts = [ConfusionAnswers(declaration, column, OfPositives(share), undefined) for column in columns]
        super().__init__(declaration, data, parts, average, math.isnan(undefined))

    def _perfect_model(self) -> ClassAnswers:
        best = self.data.predicting_shown()
        assert isinstance(best, LabelMatrix)
        return ShareAverage(self.declaration, best, self._share, self._average, self._undefined)

    def _perfect_cases(self) -> tuple[list[tuple[float, Spread, float]], str]:
        """The labels at hand say how much each column counts, unless columns are left out."""
        columns = [part for part in self._columns if isinstance(part, ConfusionAnswers)]
        if self._left_out:
            return super()._perfect_cases()
        try:
            parts, more = zip(*(part._behind(part.data) for part in columns), strict=True)
        except UndefinedEstimate:
            return super()._perfect_cases()
        shares = self._shares(np.zeros(len(parts)), self._weights @ self.data.positives(self.data.one_hot))
        return [(1.0, MeanSpread(parts, shares), float(np.square(shares) @ more))], KNOWS_TRUTH


class RankingAverage(ColumnAverage):
    """ROC AUC (up to `max_fpr`) or average precision (None), averaged over outputs or classes, or of all pooled."""

    _perfect_note = ENTROPY
    _of_none = 0.0  # as in scikit-learn

    def __init__(
        self, declaration: Declaration, data: Labelled, scores: FloatArray, average: Average, max_fpr: float | None
    ) -> None:
        self._max_fpr = max_fpr
        if average == "micro":  # one ranking of all classes, as if each class of an item were a label of its own
            cells = LabelMatrix(data.one_hot, None, Flip(0.0), data.weight)
            parts = [ranking_answers(declaration, cells, scores.ravel(), max_fpr)]
        else:
            columns = [data.column(k) for k in range(scores.shape[1])]
            parts = [ranking_answers(declaration, one, scores[:, k], max_fpr) for k, one in enumerate(columns)]
        self._conditional, self._negatives_count = parts[0]._conditional, parts[0]._negatives_count
        super().__init__(declaration, data, parts, average, left_out=False)

    def _perfect_model(self) -> ClassAnswers:
        own = self.data.positives(self.data.own_probabilities)
        return RankingAverage(self.declaration, self.data, own, self._average, self._max_fpr)

    def _at(self, indicators: FloatArray) -> float:
        return self._columns[0]._at(_pair(indicators.ravel())) if self._average == "micro" else super()._at(indicators)

    def _of_labels(self, labels: IntArray) -> FloatArray:
        """Some sets of labels at a time: each takes as many numbers as there are items and classes."""
        k = self.data.k
        step = max(1, _TOGETHER // (labels.shape[1] * k))
        parts = (np.eye(k)[labels[start : start + step]] for start in range(0, len(labels), step))
        score = self._columns[0].values if self._average == "micro" else self.values
        return np.concatenate([score(y.reshape(len(y), -1)) for y in parts])

    def _moved(self, indicators: FloatArray, how: Literal["_slopes", "_influences"]) -> FloatArray:
        if self._average != "micro":
            return super()._moved(indicators, how)
        moved = getattr(self._columns[0], how)(_pair(indicators.ravel()))
        return self.data.by_class(moved.reshape(*indicators.shape, 2))

    def _true_value(self) -> tuple[float, str]:
        if isinstance(self.data, LabelMatrix):
            return super()._true_value()
        for k in range(self.data.k):
            require_both_classes(self.data.column(k), self._negatives_count)
        return ClassAnswers._true_value(self)

    def _spread(self, p: FloatArray) -> Spread:
        if isinstance(self.data, LabelMatrix):
            return super()._spread(p)
        mean = None
        if self._average == "macro":  # the mean of a sum needs no joint distribution, unless a class may be missing
            parts = [part._spread(_pair(y)).moments() for part, y in zip(self._columns, p.T, strict=True)]
            if not self._conditional or math.fsum(1 - part.p_defined for part in parts) < _SURELY_DEFINED:
                mean = float(np.mean([part.mean for part in parts]))
        return UncertainLabels(self._of_labels, p, mean=mean, draws=_draws(p))


def _draws(p: FloatArray) -> int:
    """How many sets of labels are drawn for metrics that take one set at a time."""
    return int(np.clip(_WORK // p.size, _LEAST_DRAWS, _MOST_DRAWS))


def _pair(y: FloatArray) -> FloatArray:
    """Chances of both values, (n, 2), from those of the positive one."""
    return np.stack([1 - y, y], axis=1)


class PairwiseAuc(ClassAnswers):
    """ROC AUC averaged over pairs of classes (Hand and Till 2001), each judged by the score of either class."""

    _perfect_note = ENTROPY
    _conditional = True

    def __init__(self, declaration: Declaration, data: Labelled, scores: FloatArray, weighted: bool) -> None:
        self._weighted = weighted
        self._groups: list[NDArray[np.intp]] = [
            np.unique(column, return_inverse=True)[1].ravel() for column in scores.T
        ]
        super().__init__(declaration, data, self._at(data.one_hot))

    def _below(self, j: int, y: FloatArray) -> FloatArray:
        """The sum of y over items of a lower score of class j, and half of that over items of the same score."""
        at = np.bincount(self._groups[j], y)
        return np.asarray((np.cumsum(at) - at / 2)[self._groups[j]])

    def _solve(self, y: FloatArray, slopes: bool) -> tuple[float, FloatArray]:
        """The value and its derivative with respect to each indicator."""
        n, k = y.shape
        out = np.zeros((n, k))
        counts = np.add.reduce(y, axis=0)
        present = [j for j in range(k) if counts[j] > 0]  # as in scikit-learn, also in each draw
        if len(present) < 2:
            return math.nan, out
        counts = np.where(counts > 0, counts, 1.0)
        below = np.empty((k, n, k))  # [j, i, m]: share of class m below item i in the score of class j
        for j, other in product(range(k), repeat=2):
            below[j, :, other] = self._below(j, y[:, other]) / counts[other]
        auc = np.einsum("ij,jil->jl", y, below) / counts[:, None]  # P(score j of a j is above that of an m)
        auc -= 0.5 * (y.T @ y) / np.outer(counts, counts)  # an item does not tie with itself
        pairs = [(j, m) for j in present for m in present if j != m]
        total = float(np.add.reduce(counts[present]))
        weight = {(j, m): counts[j] + counts[m] if self._weighted else 1.0 for j, m in pairs}
        norm = math.fsum(weight.values())
        value = math.fsum(weight[pair] * auc[pair] for pair in pairs) / norm
        for j, m in pairs if slopes else []:
            share = weight[j, m] / norm
            above, both = 1 - below[j, :, j], 0.5 / (counts[j] * counts[m])
            out[:, j] += share * ((below[j, :, m] - auc[j, m]) / counts[j] - both * y[:, m])
            out[:, m] += share * ((above - auc[j, m]) / counts[m] - both * y[:, j])
            if self._weighted:
                out[:, [j, m]] += (auc[j, m] - value) / (2 * (len(present) - 1) * total)
        return value, out

    def _at(self, indicators: FloatArray) -> float:
        return self._solve(indicators, slopes=False)[0]

    def _true_value(self) -> tuple[float, str]:
        for k in range(self.data.k):
            require_both_classes(self.data.column(k), negatives_too=False)
        return super()._true_value()

    def _influences(self, indicators: FloatArray) -> FloatArray:
        return self._solve(indicators, slopes=True)[1]

    def _spread(self, p: FloatArray) -> Spread:
        return UncertainLabels(self._of_labels, p, draws=_draws(p))

    def _perfect_model(self) -> ClassAnswers:
        return PairwiseAuc(self.declaration, self.data, self.data.own_probabilities, self._weighted)
