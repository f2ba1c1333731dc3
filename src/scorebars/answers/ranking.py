"""Answers of metrics of a ranking by score against two classes: ROC AUC and average precision."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.class_answers import ClassAnswers, Spread
from scorebars.answers.label_loss import ENTROPY
from scorebars.answers.labelled import Labelled
from scorebars.errors.base import FloatArray
from scorebars.laws.auc import UncertainAuc, centred_ranks
from scorebars.laws.average_precision import UncertainAveragePrecision
from scorebars.laws.base import Law
from scorebars.laws.outcomes import MetricMoments
from scorebars.score import Declaration, UndefinedEstimate


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


class AucSpread:
    """ROC AUC under independent labels, given that both classes are present."""

    def __init__(self, scores: FloatArray, p: FloatArray, weight: FloatArray | None) -> None:
        self._auc = UncertainAuc(scores, p, weight)

    def moments(self) -> MetricMoments:
        return self._auc.moments

    def law(self) -> Law:
        return self._auc.law().law


class PrecisionSpread:
    """Average precision under independent labels; 0 without positives."""

    def __init__(self, scores: FloatArray, p: FloatArray, weight: FloatArray | None) -> None:
        self._precision = UncertainAveragePrecision(scores, p, weight)

    def moments(self) -> MetricMoments:
        return self._precision.moments(0.0)

    def law(self) -> Law:
        return self._precision.law(0.0).law


class RankingAnswers(ClassAnswers):
    """A metric of scores against two classes, the second being positive."""

    _perfect_note = ENTROPY
    _make: Callable[[FloatArray, FloatArray, FloatArray | None], Spread]

    def __init__(self, declaration: Declaration, data: Labelled, scores: FloatArray) -> None:
        self._scores = scores
        self._prepare(data)
        super().__init__(declaration, data, self._of_labels(data.one_hot[:, 1], data.weights))

    def _prepare(self, data: Labelled) -> None:
        """What of the ranking does not depend on the labels."""

    @abstractmethod
    def _of_labels(self, y: FloatArray, w: FloatArray) -> float:
        """The metric of label indicators or their expectations; nan where it is not defined."""

    @abstractmethod
    def _slope(self, y: FloatArray) -> FloatArray:
        """Its derivative with respect to each of them."""

    def _spread(self, p: FloatArray) -> Spread:
        return type(self)._make(self._scores, p[:, 1], self.data.weight)

    def _perfect_spread(self, p: FloatArray) -> Spread:
        return type(self)._make(self.data.own_probabilities[:, 1], p[:, 1], self.data.weight)

    def _at(self, indicators: FloatArray) -> float:
        return self._of_labels(indicators[:, 1], self.data.weights)

    def _true_value(self) -> tuple[float, str]:
        require_both_classes(self.data, self._negatives_count)
        return super()._true_value()

    _negatives_count = False
    """Whether the number of negatives is in a denominator, as that of positives is."""

    def _slopes(self, indicators: FloatArray) -> FloatArray:
        slope = self._slope(indicators[:, 1])
        return np.stack([np.zeros(self.data.n), slope], axis=1)


class AucAnswers(RankingAnswers):
    """ROC AUC = 1/2 + V / (P (T - P)), V = sum y b, P = sum y w, with b the weighted ranks counted from the middle."""

    _make = AucSpread
    _conditional = _negatives_count = True

    def _prepare(self, data: Labelled) -> None:
        self._b = data.weights * centred_ranks(self._scores, data.weights)

    def _sums(self, y: FloatArray, w: FloatArray) -> tuple[float, float, float]:
        return float(np.add.reduce(y * self._b)), float(np.add.reduce(y * w)), float(np.add.reduce(w))

    def _of_labels(self, y: FloatArray, w: FloatArray) -> float:
        v, positives, total = self._sums(y, w)
        return 0.5 + v / (positives * (total - positives)) if 0 < positives < total else math.nan

    def _slope(self, y: FloatArray) -> FloatArray:
        w = self.data.weights
        v, positives, total = self._sums(y, w)
        spread = positives * (total - positives)
        return np.asarray(self._b / spread - v * (total - 2 * positives) / spread**2 * w)

    def _influences(self, indicators: FloatArray) -> FloatArray:
        """A positive by the share of negatives below it, a negative by the share of positives above it."""
        w, y = self.data.weights, indicators[:, 1]
        positives, negatives = float(np.add.reduce(w * y)), float(np.add.reduce(w * (1 - y)))
        if positives <= 0 or negatives <= 0:
            return np.zeros(indicators.shape)
        # centred ranks count weight below minus half of all
        below = (centred_ranks(self._scores, w * (1 - y)) + negatives / 2) / negatives
        above = 1 - (centred_ranks(self._scores, w * y) + positives / 2) / positives
        value = self._of_labels(y, w)
        return np.stack([w * (above - value) / negatives, w * (below - value) / positives], axis=1)


class AveragePrecisionAnswers(RankingAnswers):
    """Average precision S / P with S = sum over groups of equal score of B (N + B) / n in order of falling score.

    B are the positives of the group, N those before it, n all items so far. A label counts itself once: where indicators
    are replaced by expectations, the square of an indicator is the indicator.
    """

    _make = PrecisionSpread

    def _prepare(self, data: Labelled) -> None:
        self._order = np.argsort(-self._scores, kind="stable")
        ranked = self._scores[self._order]
        self._starts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        sizes = np.diff(np.append(self._starts, data.n))
        self._group = np.repeat(np.arange(len(sizes)), sizes)

    def _sums(self, y: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Positives of each group, positives so far, all weight so far."""
        gained = np.add.reduceat((w * y)[self._order], self._starts)
        return gained, np.cumsum(gained), np.cumsum(np.add.reduceat(w[self._order], self._starts))

    def _of_labels(self, y: FloatArray, w: FloatArray) -> float:
        gained, so_far, items = self._sums(y, w)
        if not so_far[-1] > 0:
            return 0.0
        own = np.add.reduceat((w * w * (y - y * y))[self._order], self._starts)
        safe = np.where(items > 0, items, 1.0)
        return float(np.add.reduce((gained * so_far + own) / safe) / so_far[-1])

    def _slope(self, y: FloatArray) -> FloatArray:
        w = self.data.weights
        gained, so_far, items = self._sums(y, w)
        safe = np.where(items > 0, items, 1.0)
        later = np.cumsum((gained / safe)[::-1])[::-1]
        value, total = self._of_labels(y, w), so_far[-1]
        ranked = (w * (so_far / safe + later)[self._group_of_item]) + w * w * (1 - 2 * y) / safe[self._group_of_item]
        return np.asarray((ranked - value * w) / total)

    @property
    def _group_of_item(self) -> NDArray[np.intp]:
        out = np.empty(len(self._order), dtype=np.intp)
        out[self._order] = self._group
        return out

    def _influences(self, indicators: FloatArray) -> FloatArray:
        """The derivative with respect to each item's weight, times the weight."""
        w, y = self.data.weights, indicators[:, 1]
        gained, so_far, items = self._sums(y, w)
        if not so_far[-1] > 0:
            return np.zeros(indicators.shape)
        safe = np.where(items > 0, items, 1.0)
        hit = np.cumsum((gained / safe)[::-1])[::-1]
        thinned = np.cumsum((gained * so_far / safe**2)[::-1])[::-1]
        group = self._group_of_item
        value = float(np.add.reduce(gained * so_far / safe) / so_far[-1])
        negative = -w * thinned[group] / so_far[-1]
        return np.stack([negative, negative + w * ((so_far / safe)[group] + hit[group] - value) / so_far[-1]], axis=1)
