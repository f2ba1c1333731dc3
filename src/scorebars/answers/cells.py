"""Several yes-or-no labels for each item (multilabel): every cell of the indicator matrix is a label of two classes.

Cells err independently of each other. Items are what a test set draws, so the cells of an item are added up before their
scatter is taken.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.class_answers import ClassAnswers
from scorebars.answers.confusion import ConfusionAnswers
from scorebars.answers.label_loss import LabelLossAnswers
from scorebars.answers.labelled import Labelled
from scorebars.answers.partial_auc import PartialAucAnswers
from scorebars.answers.ranking import AucAnswers, AveragePrecisionAnswers
from scorebars.errors import ClassError
from scorebars.errors.base import FloatArray

TWO = np.array([0, 1])


class Cells(Labelled):
    """The cells of an indicator matrix (items, outputs), row after row, as labels of two classes."""

    def __init__(
        self, y: NDArray[Any], predicted: NDArray[Any] | None, model: ClassError, weight: FloatArray | None
    ) -> None:
        self.items, self.outputs = y.shape
        self.item_weight = weight
        super().__init__(
            TWO,
            y.astype(np.intp).ravel(),
            None if predicted is None else predicted.astype(np.intp).ravel(),
            model,
            None if weight is None else np.repeat(weight, self.outputs),
        )

    def matrix(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value for each cell as (items, outputs)."""
        return values.reshape(self.items, self.outputs)

    @property
    def item_weights(self) -> FloatArray:
        return np.ones(self.items) if self.item_weight is None else self.item_weight

    @property
    def effective_size(self) -> float:
        """Items, not cells, are what a test set draws."""
        return float(np.add.reduce(self.item_weights)) ** 2 / float(np.add.reduce(np.square(self.item_weights)))

    def output(self, k: int) -> Labelled:
        """One column: a yes or no for each item."""
        part = slice(k, None, self.outputs)
        predicted = None if self.predicted is None else self.predicted[part]
        return Labelled(TWO, self.shown[part], predicted, self.model[part], self.item_weight)

    def by_output(self, rows: FloatArray) -> list[FloatArray]:
        """The rows (cells, 2) of each output, (items, 2)."""
        return list(rows.reshape(self.items, self.outputs, 2).transpose(1, 0, 2))

    def columns(self, keep: NDArray[np.intp]) -> Cells:
        """Some outputs only."""
        places = (np.arange(self.items)[:, None] * self.outputs + keep).ravel()
        predicted = None if self.predicted is None else self.matrix(self.predicted)[:, keep]
        return Cells(self.matrix(self.shown)[:, keep], predicted, self.model[places], self.item_weight)

    def perfect(self) -> Cells:
        """The same labels with predictions that are right in every cell, the shown labels taken as the true ones."""
        shown = self.matrix(self.shown)
        return Cells(shown, shown, self.model, self.item_weight)


def cell_rows(positive: NDArray[Any]) -> FloatArray:
    """Probabilities or indicators of both classes, (cells, 2), from those of the positive one."""
    flat = positive.ravel()
    return np.stack([1.0 - flat, flat], axis=1)


class OfCells(ClassAnswers):
    """A metric of all cells; the items are what scatters."""

    data: Cells

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.n = self.data.items

    def _sampled(self, classes: FloatArray) -> float:
        """The cells of an item are drawn together; their labels, where they are chances, fall independently."""
        if self.n < 2:
            return math.inf
        moved = self._influences(classes)
        mean = np.add.reduce(classes * moved, axis=1)
        own = np.add.reduce(classes * np.square(moved), axis=1) - np.square(mean)
        return self._between_items(mean) + float(np.add.reduce(own)) * self.n / (self.n - 1)

    def _between_items(self, moved: FloatArray) -> float:
        of_item = np.add.reduce(self.data.matrix(moved), axis=1)
        return float(np.add.reduce(np.square(of_item - np.mean(of_item)))) * self.n / (self.n - 1)

    def _scatter_of_terms(self) -> float:
        if self.n < 2:
            return math.inf
        p = self.data.probabilities
        least = (self.declaration.high - self.declaration.low) / self.n
        found = math.sqrt(self._between_items(np.add.reduce(p * self._influences(p), axis=1)))
        return max(found, least if math.isfinite(least) else 0.0)


class PooledShare(OfCells, ConfusionAnswers):
    """Precision, recall, ... of all cells together."""


class PooledAuc(OfCells, AucAnswers):
    """ROC AUC of all cells in one ranking."""


class PooledPartialAuc(OfCells, PartialAucAnswers):
    """The first part of the ROC AUC of all cells in one ranking."""


class PooledAveragePrecision(OfCells, AveragePrecisionAnswers):
    """Average precision of all cells in one ranking."""


class PooledLoss(OfCells, LabelLossAnswers):
    """The mean over cells of what each costs."""
