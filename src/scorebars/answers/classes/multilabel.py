"""Several yes-or-no labels for each item (multilabel): every cell of the indicator matrix is a label of two classes.

LabelMatrix err independently of each other. Items are what a test set draws, so the cells of an item are added up before their
scatter is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.labelled import Labelled
from scorebars.arrays import FloatArray
from scorebars.errors import ClassError

_TWO = np.array([0, 1])


class LabelMatrix(Labelled):
    """The cells of an indicator matrix (items, outputs), row after row, as labels of two classes."""

    def __init__(
        self, y: NDArray[Any], predicted: NDArray[Any] | None, model: ClassError, weight: FloatArray | None
    ) -> None:
        self.outputs, self.item_weight = y.shape[1], weight
        self.item_weights = np.ones(len(y)) if weight is None else weight
        super().__init__(
            _TWO,
            y.astype(np.intp).ravel(),
            None if predicted is None else predicted.astype(np.intp).ravel(),
            model,
            None if weight is None else np.repeat(weight, self.outputs),
        )

    @property
    def items(self) -> int:
        return len(self.item_weights)

    def matrix(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value for each cell as (items, outputs)."""
        return values.reshape(self.items, self.outputs)

    @property
    def effective_size(self) -> float:
        return float(np.add.reduce(self.item_weights)) ** 2 / float(np.add.reduce(np.square(self.item_weights)))

    def scatter(self, classes: FloatArray, moved: FloatArray) -> float:
        """The cells of an item are drawn together; their labels, where they are chances, fall independently."""
        mean = np.add.reduce(classes * moved, axis=1)
        own = np.add.reduce(classes * np.square(moved), axis=1) - np.square(mean)
        return self.scatter_of_means(mean) + float(np.add.reduce(own))

    def scatter_of_means(self, moved: FloatArray) -> float:
        of_item = np.add.reduce(self.matrix(moved), axis=1)
        return float(np.add.reduce(np.square(of_item - np.mean(of_item))))

    # columns -----------------------------------------------------------------------------------

    def positives(self, rows: FloatArray) -> FloatArray:
        return self.matrix(rows[:, 1])

    def by_class(self, moved: FloatArray) -> FloatArray:
        return moved.reshape(-1, 2)

    def column(self, index: int) -> Labelled:
        part = slice(index, None, self.outputs)
        predicted = None if self.predicted is None else self.predicted[part]
        return Labelled(_TWO, self.shown[part], predicted, self.model[part], self.item_weight)

    def columns(self, keep: NDArray[np.intp]) -> LabelMatrix:
        """Some outputs only."""
        places = (np.arange(self.items)[:, None] * self.outputs + keep).ravel()
        predicted = None if self.predicted is None else self.matrix(self.predicted)[:, keep]
        return LabelMatrix(self.matrix(self.shown)[:, keep], predicted, self.model[places], self.item_weight)
