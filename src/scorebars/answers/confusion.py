"""Answers of metrics of the confusion matrix: precision, recall, F1, balanced accuracy, Matthews, kappa."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.class_answers import INVERTED, ClassAnswers, Spread
from scorebars.answers.labelled import Labelled
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.laws.binary import BinaryCounts
from scorebars.laws.confusion import ClasswiseConfusion, UncertainConfusion
from scorebars.laws.outcomes import MetricMoments
from scorebars.moments.confusion import ConfusionMetric
from scorebars.moments.confusion_gradient import cell_gradient
from scorebars.score import Declaration, UndefinedEstimate

CONSTRAINED = "of the most likely true label counts: carried back directly, some of them would be negative"


def confusion(indicators: FloatArray, predicted: NDArray[np.intp], weights: FloatArray) -> FloatArray:
    """The matrix (K, K) of label indicators (n, K) and predictions, weighted."""
    k = indicators.shape[1]
    return np.stack([np.bincount(predicted, column * weights, minlength=k) for column in indicators.T])


@dataclass(frozen=True)
class OnCounts:
    """A metric of the 2 x 2 matrix as a function of the two counts that label errors can change."""

    metric: ConfusionMetric

    def __call__(self, tp: Any, fn: Any, n_pos: float, n_neg: float) -> Any:
        shape = np.broadcast_shapes(np.shape(tp), np.shape(fn))
        c = np.empty((*shape, 2, 2))
        c[..., 0, 0], c[..., 0, 1], c[..., 1, 0], c[..., 1, 1] = n_neg - fn, n_pos - tp, fn, tp
        return self.metric(c)


class ConfusionSpread:
    """A metric of the confusion matrix under independent labels: exact for two classes without weights."""

    def __init__(
        self,
        metric: ConfusionMetric,
        undefined: float | None,
        p: FloatArray,
        predicted: NDArray[np.intp],
        weight: FloatArray | None,
        rows: FloatArray | None = None,
        shown: NDArray[np.intp] | None = None,
        count: FloatArray | None = None,
    ) -> None:
        self._metric, self._undefined = metric, undefined
        number = np.ones(len(predicted)) if count is None else count
        counts = None
        if rows is not None and shown is not None and weight is None:
            counts = confusion(np.eye(len(rows))[shown], predicted, number)
        self._binary: BinaryCounts | None = None
        self._confusion: UncertainConfusion | None = None
        if p.shape[1] == 2 and weight is None:
            if counts is not None and rows is not None:
                self._binary = BinaryCounts(rows[:, 1], rows[:, 1], counts[:, 1], counts[:, 0])
            else:
                positive = predicted == 1
                parts = [p[positive, 1], p[~positive, 1]]
                self._binary = BinaryCounts(*parts, *([] if count is None else [count[positive], count[~positive]]))
        elif counts is not None and rows is not None:
            self._confusion = ClasswiseConfusion(counts, rows)
        else:
            self._confusion = UncertainConfusion(p, predicted, weight, count)

    def moments(self) -> MetricMoments:
        if self._binary is not None:
            return self._binary.moments_of(OnCounts(self._metric), self._undefined)
        assert self._confusion is not None
        return self._confusion.moments_of(self._metric, self._undefined)

    def law(self) -> Law:
        if self._binary is not None:
            return self._binary.law_of(OnCounts(self._metric), self._undefined).law
        assert self._confusion is not None
        return self._confusion.law_of(self._metric, self._undefined).law


class ConfusionAnswers(ClassAnswers):
    """A metric of the confusion matrix. Where it is 0/0 it takes the value `undefined`; None: given that it is not."""

    def __init__(
        self, declaration: Declaration, data: Labelled, metric: ConfusionMetric, undefined: float | None
    ) -> None:
        self._metric, self._undefined = metric, undefined
        assert data.predicted is not None
        self._predicted = data.predicted
        observed = float(np.asarray(metric(confusion(data.one_hot, data.predicted, data.masses))))
        self._observed_undefined, self._conditional = math.isnan(observed), undefined is None
        if self._observed_undefined and undefined is not None:
            observed = undefined
        super().__init__(declaration, data, observed)

    def _possible_values(self, p: FloatArray) -> bool:
        """Whether the metric can be defined: precision is not, for whatever labels, where nothing is predicted."""
        if self._undefined is not None or not self._observed_undefined:
            return True
        c = confusion(p, self._predicted, np.ones(len(p)))
        return not math.isnan(float(np.asarray(self._metric(c))))

    def _spread(self, p: FloatArray) -> Spread:
        data = self.data
        rows = data.rows if p is data.probabilities else None
        return ConfusionSpread(
            self._metric, self._undefined, p, self._predicted, data.weight, rows, data.shown, data.count
        )

    def _perfect_spread(self, p: FloatArray) -> Spread:
        data = self.data
        rows = data.rows if data.own is data.model else None
        return ConfusionSpread(self._metric, self._undefined, p, data.shown, data.weight, rows, data.shown, data.count)

    def _matrix(self, indicators: FloatArray) -> FloatArray:
        return confusion(indicators, self._predicted, self.data.masses)

    def _at(self, indicators: FloatArray) -> float:
        with np.errstate(invalid="ignore"):
            value = float(np.asarray(self._metric(self._matrix(indicators))))
        return self._undefined if math.isnan(value) and self._undefined is not None else value

    @cached_property
    def _most_likely(self) -> FloatArray:
        """Cells that the search has nearly emptied are empty: a ratio of such remains would mean nothing."""
        c = self.data.most_likely_confusion()
        return np.where(c > 1e-6 * np.add.reduce(c, axis=None), c, 0.0)

    def _possible(self, indicators: FloatArray) -> FloatArray:
        """The matrix of these indicators; the most likely one of true classes where some cells are negative."""
        c = self._matrix(indicators)
        return c if c.min() >= -1e-9 * c.sum() else self._most_likely

    def _true_value(self) -> tuple[float, str]:
        c = self._matrix(self.data.indicators)
        with np.errstate(invalid="ignore"):
            value = float(np.asarray(self._metric(c)))
        inside = self.declaration.low - 1e-12 <= value <= self.declaration.high + 1e-12
        if inside and np.all(np.add.reduce(c, axis=1) >= 0):
            return value, INVERTED
        value = float(np.asarray(self._metric(self._most_likely)))
        if math.isnan(value):
            raise UndefinedEstimate(
                f"{self.declaration.name} is not defined (0/0) at the most likely true label counts: its denominator "
                "cannot be told from 0."
            )
        return value, CONSTRAINED

    def _slopes(self, indicators: FloatArray) -> FloatArray:
        gradient = cell_gradient(self._metric, self._possible(indicators))
        return np.asarray(gradient.T[self._predicted] * self.data.weights[:, None])

    def _influences(self, indicators: FloatArray) -> FloatArray:
        """The slopes: a ratio of sums over items does not change when all items count alike more."""
        return self._slopes(indicators)

    def warnings(self) -> list[str]:
        found = super().warnings()
        if self._observed_undefined:
            found.append(f"the observed score is 0/0, for which {self.observed:g} stands.")
        return found
