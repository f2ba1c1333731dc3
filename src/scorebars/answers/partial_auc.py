"""Answers of the ROC AUC up to a false positive rate."""

from __future__ import annotations

import numpy as np

from scorebars.answers.class_answers import Spread
from scorebars.answers.labelled import Labelled
from scorebars.answers.ranking import RankingAnswers
from scorebars.errors.base import FloatArray
from scorebars.laws.binary_labels import BinaryLabels
from scorebars.laws.ranked_values import Ranking, partial_auc
from scorebars.score import Declaration


class PartialAucAnswers(RankingAnswers):
    """The standardised area A under the ROC curve up to the false positive rate m, given that both classes are present."""

    def __init__(self, declaration: Declaration, data: Labelled, scores: FloatArray, max_fpr: float) -> None:
        self._max_fpr, self._ranking = max_fpr, Ranking(scores)
        super().__init__(declaration, data, scores)

    def _of_labels(self, y: FloatArray, w: FloatArray) -> float:
        return float(partial_auc(self._ranking, y, w, self._max_fpr))

    def _values(self, y: FloatArray) -> FloatArray:
        return partial_auc(self._ranking, y, self.data.weights, self._max_fpr)

    def _spread(self, p: FloatArray) -> Spread:
        return BinaryLabels(self._values, p[:, 1], self._slope(p[:, 1]))

    def _perfect_spread(self, p: FloatArray) -> Spread:
        own = self.data.own_probabilities[:, 1]
        return PartialAucAnswers(self.declaration, self.data, own, self._max_fpr)._spread(p)

    def _moved(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What more weight of each item does to the score if it is positive, and if it is negative.

        With x and t the false and true positive rates at an item and t(m) the curve's height at m, weight d on a
        positive adds d/P ((m - x)+ - A), on a negative d/N ((t - t(m)) 1[x < m] - A + m t(m)) to the area A.
        """
        w, m = self.data.weights, self._max_fpr
        positive, negative = float(np.add.reduce(w * y)), float(np.add.reduce(w * (1 - y)))
        if positive <= 0 or negative <= 0:
            return np.zeros(len(y)), np.zeros(len(y))
        rises, steps = self._ranking.sums(w * y) / positive, self._ranking.sums(w * (1 - y)) / negative
        end = np.maximum(np.maximum.accumulate(np.cumsum(steps)), 0.0)
        start = np.append(0.0, end[:-1])
        below = np.cumsum(rises) - rises
        inside = np.where(
            end > start, np.clip((m - start) / np.where(end > start, end - start, 1.0), 0.0, 1.0), start < m
        )
        last = int(np.argmax(end > m)) if np.any(end > m) else len(end) - 1
        height = float(below[last] + rises[last] * inside[last])
        width = (end - start) * inside
        area = float(np.add.reduce(width * (below + rises * inside / 2)))
        beyond = inside * (m - start - width / 2)  # the mean of (m - x)+ over the group
        lifted = inside * (below + rises * inside / 2 - height)
        stretch = 0.5 / (m - m * m / 2)
        group = self._ranking.group
        as_positive = stretch / positive * (beyond[group] - area)
        as_negative = stretch / negative * (lifted[group] - area + m * height)
        return w * as_positive, w * as_negative

    def _slope(self, y: FloatArray) -> FloatArray:
        as_positive, as_negative = self._moved(y)
        return as_positive - as_negative

    def _influences(self, indicators: FloatArray) -> FloatArray:
        as_positive, as_negative = self._moved(indicators[:, 1])
        return np.stack([as_negative, as_positive], axis=1)
