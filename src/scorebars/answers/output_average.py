"""Answers of averages over the outputs of multilabel data: each column of labels scored for itself, then averaged."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from scorebars.answers.cells import (
    Cells,
    OfCells,
    PooledAuc,
    PooledAveragePrecision,
    PooledPartialAuc,
    cell_rows,
)
from scorebars.answers.class_answers import ClassAnswers, Spread
from scorebars.answers.confusion import ConfusionAnswers
from scorebars.answers.confusion_functions import OfPositives, Share
from scorebars.answers.label_loss import ENTROPY
from scorebars.answers.labelled import Labelled
from scorebars.answers.partial_auc import PartialAucAnswers
from scorebars.answers.ranking import AucAnswers, AveragePrecisionAnswers, RankingAnswers
from scorebars.errors import Flip
from scorebars.errors.base import FloatArray
from scorebars.laws.auc import centred_ranks
from scorebars.laws.base import Law
from scorebars.laws.binary_labels import LISTED, BinaryLabels
from scorebars.laws.outcomes import MetricMoments
from scorebars.laws.ranked_values import Ranking, average_precision, partial_auc
from scorebars.laws.samples import SampleLaw
from scorebars.score import Declaration

_DRAWS = 20_000
_SEED = 20240517


class MeanSpread:
    """The mean of independent metrics: mean and variance from theirs, the law drawn."""

    def __init__(self, parts: Sequence[Spread]) -> None:
        self._parts = parts

    def moments(self) -> MetricMoments:
        found, number = [part.moments() for part in self._parts], len(self._parts)
        return MetricMoments(
            math.fsum(m.mean for m in found) / number,
            math.fsum(m.var for m in found) / number**2,
            math.prod(m.p_defined for m in found),
            next((m.method for m in found if m.method != "exact"), "exact"),
        )

    def law(self) -> Law:
        rng = np.random.default_rng(_SEED)
        drawn = np.mean([part.law().rvs(_DRAWS, rng) for part in self._parts], axis=0)
        moments = self.moments()
        return SampleLaw(drawn, mean=moments.mean, var=moments.var)


class OutputAverage(OfCells):
    """The mean of a metric over outputs, or its mean weighted by the positive labels of each.

    `left_out`: outputs where the metric is 0/0 are left out (scikit-learn's zero_division=nan); else they make the
    whole undefined.
    """

    def __init__(
        self,
        declaration: Declaration,
        data: Cells,
        parts: Sequence[ClassAnswers],
        average: Literal["macro", "weighted"],
        left_out: bool,
    ) -> None:
        self._outputs, self._average, self._left_out = parts, average, left_out
        self._item_weights = data.item_weights
        observed = self._combined(np.array([part.observed for part in parts]), self._support(data, data.one_hot))
        super().__init__(declaration, data, float(observed))

    def _support(self, data: Cells, rows: FloatArray) -> FloatArray:
        """The positive labels of each output, (..., outputs)."""
        return np.asarray(self._item_weights @ data.matrix(rows[:, 1]))

    def _shares(self, values: FloatArray, support: FloatArray) -> FloatArray:
        """How much each output counts; those that are left out or without positive labels count nothing."""
        weight = support if self._average == "weighted" else np.ones(values.shape)
        if self._left_out:
            weight = np.where(np.isnan(values), 0.0, weight)
        total = np.add.reduce(weight, axis=-1)[..., None]
        plain = np.where(np.isnan(values), 0.0, 1.0) if self._left_out else np.ones(values.shape)
        # outputs that are all without positive labels count alike, as in scikit-learn
        plain /= np.maximum(np.add.reduce(plain, axis=-1), 1.0)[..., None]
        return np.where(total != 0, weight / np.where(total != 0, total, 1.0), plain)

    def _combined(self, values: FloatArray, support: FloatArray) -> FloatArray:
        shares = self._shares(values, support)
        counted = shares != 0
        found = np.add.reduce(np.where(counted, shares * np.where(counted, values, 0.0), 0.0), axis=-1)
        return np.where(np.any(counted, axis=-1), found, math.nan)

    def _each(self, rows: FloatArray) -> FloatArray:
        columns = self.data.by_output(rows)
        return np.array([part._at(column) for part, column in zip(self._outputs, columns, strict=True)])

    def _at(self, indicators: FloatArray) -> float:
        return float(self._combined(self._each(indicators), self._support(self.data, indicators)))

    def _values(self, y: FloatArray) -> FloatArray:
        """The metric of each of several sets of labels (d, cells)."""
        return np.array([self._at(cell_rows(labels)) for labels in y])

    @property
    def _separate(self) -> bool:
        """Whether the outputs enter as a plain mean, so that nothing but their own laws is needed."""
        return self._average == "macro" and not self._left_out

    def _spread(self, p: FloatArray) -> Spread:
        if self._separate and np.count_nonzero((p[:, 1] > 0) & (p[:, 1] < 1)) > LISTED:
            columns = self.data.by_output(p)
            return MeanSpread([part._spread(column) for part, column in zip(self._outputs, columns, strict=True)])
        slopes = self._slopes(p)
        return BinaryLabels(self._values, p[:, 1], slopes[:, 1] - slopes[:, 0])

    def _perfect_spread(self, p: FloatArray) -> Spread:
        return self._best()._spread(p)

    @abstractmethod
    def _best(self) -> OutputAverage:
        """The same metric of a perfect model."""

    def _true_value(self) -> tuple[float, str]:
        found = [part._true_value() for part in self._outputs]
        values = np.array([value for value, _ in found])
        support = np.maximum(self._support(self.data, self.data.indicators), 0.0)
        return float(self._combined(values, support)), found[0][1]

    def _slopes(self, indicators: FloatArray) -> FloatArray:
        return self._moved(indicators, lambda part, column: part._slopes(column))

    def _influences(self, indicators: FloatArray) -> FloatArray:
        return self._moved(indicators, lambda part, column: part._influences(column))

    def _moved(self, indicators: FloatArray, of_output: Callable[[ClassAnswers, FloatArray], FloatArray]) -> FloatArray:
        """What a change of each cell does: to the metric of its output, and to how much the output counts."""
        values, support = self._each(indicators), self._support(self.data, indicators)
        shares = self._shares(values, support)
        value = float(self._combined(values, support))
        out = np.zeros((self.data.items, self.data.outputs, 2))
        for k, (part, column) in enumerate(zip(self._outputs, self.data.by_output(indicators), strict=True)):
            if shares[k] == 0:
                continue
            out[:, k] = shares[k] * of_output(part, column)
            if self._average == "weighted" and np.add.reduce(support) != 0:
                out[:, k, 1] += self._item_weights * (values[k] - value) / np.add.reduce(support)
        return out.reshape(-1, 2)


class ShareAverage(OutputAverage):
    """Precision, recall, ... averaged over outputs; 0/0 counts as `undefined`, or is left out if that is nan."""

    def __init__(
        self,
        declaration: Declaration,
        data: Cells,
        share: Share,
        average: Literal["macro", "weighted"],
        undefined: float,
    ) -> None:
        self._share, self._undefined = share, undefined
        left_out = math.isnan(undefined)
        parts = [
            ConfusionAnswers(declaration, data.output(k), OfPositives(share), None if left_out else undefined)
            for k in range(data.outputs)
        ]
        super().__init__(declaration, data, parts, average, left_out)

    def _values(self, y: FloatArray) -> FloatArray:
        data, w = self.data, self._item_weights
        assert data.predicted is not None
        chosen = w[:, None] * data.matrix(data.predicted)
        labels = y.reshape(-1, data.items, data.outputs)
        marked, found = np.einsum("n,dnl->dl", w, labels), np.einsum("nl,dnl->dl", chosen, labels)
        values = self._share(found, np.add.reduce(chosen, axis=0), marked, float(np.add.reduce(w)))
        return self._combined(np.where(np.isnan(values), self._undefined, values), marked)

    def _best(self) -> OutputAverage:
        shown = self.data.matrix(self.data.shown)
        exact = Cells(shown, shown, Flip(0.0), self.data.item_weight)
        return ShareAverage(self.declaration, exact, self._share, self._average, self._undefined)


class RankingAverage(OutputAverage):
    """ROC AUC (up to `max_fpr`) averaged over outputs, or average precision (None)."""

    _perfect_note = ENTROPY

    def __init__(
        self,
        declaration: Declaration,
        data: Cells,
        scores: FloatArray,
        average: Literal["macro", "weighted"],
        max_fpr: float | None,
    ) -> None:
        self._max_fpr = max_fpr
        self._rankings = [Ranking(column) for column in scores.T]
        self._ranks = [centred_ranks(column, data.item_weights) for column in scores.T]
        parts = [ranking_answers(declaration, data.output(k), scores[:, k], max_fpr) for k in range(data.outputs)]
        super().__init__(declaration, data, parts, average, left_out=False)

    def _combined(self, values: FloatArray, support: FloatArray) -> FloatArray:
        found = super()._combined(values, support)
        if self._average == "macro":
            return found
        return np.where(
            np.add.reduce(support, axis=-1) == 0, 0.0, found
        )  # no positive label at all, as in scikit-learn

    def _values(self, y: FloatArray) -> FloatArray:
        labels, w = y.reshape(-1, self.data.items, self.data.outputs), self._item_weights
        columns = enumerate(self._rankings)
        if self._max_fpr is None:
            values = [average_precision(ranking, labels[:, :, k], w) for k, ranking in columns]
        elif self._max_fpr == 1:
            values = [_auc(labels[:, :, k], ranks, w) for k, ranks in enumerate(self._ranks)]
        else:
            values = [partial_auc(ranking, labels[:, :, k], w, self._max_fpr) for k, ranking in columns]
        return self._combined(np.stack(values, axis=1), np.einsum("n,dnl->dl", w, labels))

    def _best(self) -> OutputAverage:
        own = self.data.matrix(self.data.own_probabilities[:, 1])
        exact = Cells(self.data.matrix(self.data.shown), None, Flip(0.0), self.data.item_weight)
        return RankingAverage(self.declaration, exact, own, self._average, self._max_fpr)


def _auc(labels: FloatArray, ranks: FloatArray, w: FloatArray) -> FloatArray:
    """The whole ROC AUC of labels (d, n), by ranks counted from the middle; nan where a class is missing."""
    positives, total = labels @ w, float(np.add.reduce(w))
    defined = (positives > 0) & (positives < total)
    pairs = np.where(defined, positives * (total - positives), 1.0)
    return np.where(defined, 0.5 + labels @ (w * ranks) / pairs, math.nan)


def ranking_answers(
    declaration: Declaration, data: Labelled, scores: FloatArray, max_fpr: float | None
) -> RankingAnswers:
    """The answers of one ranking: ROC AUC, whole (1) or up to `max_fpr`, or average precision (None)."""
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    pooled = isinstance(data, Cells)
    if max_fpr is None:
        return (PooledAveragePrecision if pooled else AveragePrecisionAnswers)(declaration, data, scores)
    if max_fpr == 1:
        return (PooledAuc if pooled else AucAnswers)(declaration, data, scores)
    return (PooledPartialAuc if pooled else PartialAucAnswers)(declaration, data, scores, max_fpr)
