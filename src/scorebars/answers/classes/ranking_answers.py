"""Answers of metrics of a ranking by score: ROC AUC, whole or up to a false positive rate, and average precision."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property

import numpy as np

from scorebars.answers.classes.class_answers import ENTROPY, ClassAnswers, Spread
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.score import Declaration, UndefinedEstimate
from scorebars.arrays import FloatArray, IntArray
from scorebars.laws.ranking.auc import UncertainAuc, centred_ranks
from scorebars.laws.ranking.average_precision import UncertainAveragePrecision
from scorebars.laws.ranking.ranked_values import ScoreGroups, average_precision, partial_auc
from scorebars.laws.uncertain_labels import UncertainLabels


def ranking_answers(
    declaration: Declaration, data: Labelled, scores: FloatArray, max_fpr: float | None
) -> RankingAnswers:
    """The answers of one ranking: ROC AUC, whole (1) or up to `max_fpr`, or average precision (None)."""
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if max_fpr is None:
        return AveragePrecisionAnswers(declaration, data, scores)
    if max_fpr == 1:
        return AucAnswers(declaration, data, scores)
    return PartialAucAnswers(declaration, data, scores, max_fpr)


def require_both_classes(data: Labelled, negatives_too: bool = True) -> None:
    """Refuse where the true positives, or negatives, that the metric divides by cannot be told from none.

    Counted from the indicators they have a standard error. Within that of 0 the ratio may be anything.
    """
    error = math.sqrt(max(data.label_variance(data.weights[:, None] * np.array([0.0, 1.0])), 0.0))
    counts = data.masses @ data.indicators
    for name, count in zip(("negative", "positive"), counts, strict=True):
        if (name == "positive" or negatives_too) and not count > error:
            raise UndefinedEstimate(
                f"carried back through the label errors {count:.3g} +- {error:.2g} of the labels are {name}, which "
                "cannot be told from 0: the label errors are larger than these labels can support."
            )


class RankingAnswers(ClassAnswers):
    """A metric of scores against two classes, the second being positive."""

    _perfect_note = ENTROPY
    _negatives_count = False
    """Whether the number of negatives is in a denominator, as that of positives is."""

    def __init__(self, declaration: Declaration, data: Labelled, scores: FloatArray, max_fpr: float = 1.0) -> None:
        self._scores, self._max_fpr, self.data = scores, max_fpr, data
        super().__init__(declaration, data, self._at(data.one_hot))

    @cached_property
    def _groups(self) -> ScoreGroups:
        return ScoreGroups(self._scores)

    @abstractmethod
    def values(self, y: FloatArray) -> FloatArray:
        """The metric of several sets of labels (d, n); nan where it is not defined."""

    def _of_labels(self, labels: IntArray) -> FloatArray:
        return self.values((labels == 1).astype(np.float64))

    @abstractmethod
    def _moved(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What more weight of each item does to the metric if it is negative, and if it is positive, times its weight."""

    def _perfect_model(self) -> ClassAnswers:
        return type(self)(self.declaration, self.data, self.data.own_probabilities[:, 1], self._max_fpr)

    def _at(self, indicators: FloatArray) -> float:
        return float(self.values(indicators[None, :, 1])[0])

    def _true_value(self) -> tuple[float, str]:
        require_both_classes(self.data, self._negatives_count)
        return super()._true_value()

    def _influences(self, indicators: FloatArray) -> FloatArray:
        return np.stack(self._moved(indicators[:, 1]), axis=1)


class AucAnswers(RankingAnswers):
    """ROC AUC = 1/2 + V / (P (T - P)), V = sum y b, P = sum y w, with b the weighted ranks counted from the middle."""

    _conditional = _negatives_count = True

    def __init__(self, declaration: Declaration, data: Labelled, scores: FloatArray, max_fpr: float = 1.0) -> None:
        self._b = data.weights * centred_ranks(scores, data.weights)
        super().__init__(declaration, data, scores)

    def _spread(self, p: FloatArray) -> Spread:
        return UncertainAuc(self._scores, p[:, 1], self.data.weight)

    def values(self, y: FloatArray) -> FloatArray:
        positives, total = y @ self.data.weights, float(np.add.reduce(self.data.weights))
        defined = (positives > 0) & (positives < total)
        pairs = np.where(defined, positives * (total - positives), 1.0)
        return np.where(defined, 0.5 + y @ self._b / pairs, math.nan)

    def _moved(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A positive by the share of negatives below it, a negative by the share of positives above it."""
        w = self.data.weights
        positives, negatives = float(np.add.reduce(w * y)), float(np.add.reduce(w * (1 - y)))
        if positives <= 0 or negatives <= 0:
            return np.zeros(len(y)), np.zeros(len(y))
        of_groups = self._groups.sums(w * y) / positives, self._groups.sums(w * (1 - y)) / negatives
        above, not_below = ((np.cumsum(share) - share / 2)[self._groups.group] for share in of_groups)
        below, value = 1.0 - not_below, float(self.values(y[None])[0])
        return w * (above - value) / negatives, w * (below - value) / positives


class PartialAucAnswers(RankingAnswers):
    """The standardised area A under the ROC curve up to the false positive rate m, given that both classes are present."""

    _conditional = _negatives_count = True

    def values(self, y: FloatArray) -> FloatArray:
        return partial_auc(self._groups, y, self.data.weights, self._max_fpr)

    def _spread(self, p: FloatArray) -> Spread:
        return UncertainLabels(self.values, p, self._influences(p))

    def _moved(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """With x and t the false and true positive rates at an item and t(m) the curve's height at m, weight d on a
        positive adds d/P ((m - x)+ - A), on a negative d/N ((t - t(m)) 1[x < m] - A + m t(m)) to the area A.
        """
        w, m, group = self.data.weights, self._max_fpr, self._groups.group
        positive, negative = float(np.add.reduce(w * y)), float(np.add.reduce(w * (1 - y)))
        if positive <= 0 or negative <= 0:
            return np.zeros(len(y)), np.zeros(len(y))
        rises, steps = self._groups.sums(w * y) / positive, self._groups.sums(w * (1 - y)) / negative
        end = np.maximum(np.maximum.accumulate(np.cumsum(steps)), 0.0)
        start = np.append(0.0, end[:-1])
        below = np.cumsum(rises) - rises
        part = np.clip((m - start) / np.where(end > start, end - start, 1.0), 0.0, 1.0)
        inside = np.where(end > start, part, start < m)
        last = int(np.argmax(end > m)) if np.any(end > m) else len(end) - 1
        height = float(below[last] + rises[last] * inside[last])
        width = (end - start) * inside
        area = float(np.add.reduce(width * (below + rises * inside / 2)))
        beyond = inside * (m - start - width / 2)  # the mean of (m - x)+ over the group
        lifted = inside * (below + rises * inside / 2 - height)
        scale = w * 0.5 / (m - m * m / 2)
        return scale / negative * (lifted[group] - area + m * height), scale / positive * (beyond[group] - area)


class AveragePrecisionAnswers(RankingAnswers):
    """Average precision S / P with S = sum over groups of equal score of B (N + B) / n in order of falling score.

    B are the positives of the group, N those before it, n all items so far. A label counts itself once: where indicators
    are replaced by expectations, the square of an indicator is the indicator.
    """

    def values(self, y: FloatArray) -> FloatArray:
        return average_precision(self._groups, y, self.data.weights)

    def _spread(self, p: FloatArray) -> Spread:
        return UncertainAveragePrecision(self._scores, p[:, 1], self.data.weight)

    def _sums(self, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Positives of each group, positives so far, all weight so far."""
        gained = self._groups.sums(self.data.weights * y)
        items = np.cumsum(self._groups.sums(self.data.weights))
        return gained, np.cumsum(gained), np.where(items > 0, items, 1.0)

    def _at(self, indicators: FloatArray) -> float:
        y, w = indicators[:, 1], self.data.weights
        gained, so_far, items = self._sums(y)
        if not so_far[-1] > 0:
            return 0.0
        own = self._groups.sums(w * w * (y - y * y))
        return float(np.add.reduce((gained * so_far + own) / items) / so_far[-1])

    def _slopes(self, indicators: FloatArray) -> FloatArray:
        y, w, group = indicators[:, 1], self.data.weights, self._groups.group
        gained, so_far, items = self._sums(y)
        later = np.cumsum((gained / items)[::-1])[::-1]
        ranked = w * (so_far / items + later)[group] + w * w * (1 - 2 * y) / items[group]
        slope = (ranked - self._at(indicators) * w) / so_far[-1]
        return np.stack([np.zeros(len(y)), slope], axis=1)

    def _moved(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        w, group = self.data.weights, self._groups.group
        gained, so_far, items = self._sums(y)
        if not so_far[-1] > 0:
            return np.zeros(len(y)), np.zeros(len(y))
        hit = np.cumsum((gained / items)[::-1])[::-1]
        thinned = np.cumsum((gained * so_far / items**2)[::-1])[::-1]
        value = float(np.add.reduce(gained * so_far / items) / so_far[-1])
        negative = -w * thinned[group] / so_far[-1]
        return negative, negative + w * ((so_far / items)[group] + hit[group] - value) / so_far[-1]
