"""The confusion matrix of labels of which some were checked."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.confusion_matrix import ConfusionMatrix, EstimatedMatrix
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.score import UndefinedEstimate
from scorebars.answers.verified_answers import NO_FRESH, GoldLosses, GoldSubset, VerifiedSpread
from scorebars.arrays import FloatArray
from scorebars.moments.confusion_moments import require_room


class VerifiedMatrix(ConfusionMatrix):
    """The classical matrix of the labels that are shown, with `truth` from the gold labels.

    All cells take the same combination of labels and gold labels, tuned for all of them together, so that they sum to the
    number of items and metrics of the cells are those that gold labels give.
    """

    def __init__(
        self, data: Labelled, keep: NDArray[np.intp], normalize: str | None, subset: GoldSubset, gold: NDArray[np.intp]
    ) -> None:
        super().__init__(data, keep, normalize)
        self._subset, self._gold = subset, gold

    @cached_property
    def truth(self) -> EstimatedMatrix:
        """The matrix of true classes, from the gold labels; cells may be negative where few items were checked."""
        subset, data, size = self._subset, self._data, len(self._keep)
        if why := subset.too_few:
            raise UndefinedEstimate(why)
        require_room(size, 4)
        place = np.full(data.k, -1)
        place[self._keep] = np.arange(size)
        row, column, total = place[data.shown], place[self._predicted], float(np.add.reduce(data.weights))
        f, h = _cells(row, column, size), _cells(place[self._gold], column[subset.checked], size)
        beta = subset.slope(f, h)
        value = np.array([subset.estimate(one, gold, beta) for one, gold in zip(f, h, strict=True)])
        moved = np.stack([subset.moves(one, gold, beta) for one, gold in zip(f, h, strict=True)])
        covariance = moved @ moved.T
        # one more checked label of a column may be found wrong, even where none was
        met = f[:, subset.checked] @ subset.gold
        in_column = np.tile(met.reshape(size, size).sum(axis=0), size)
        unseen = subset.unseen_weight * (met + (in_column - met) / max(data.k - 1, 1))
        covariance += np.diag(np.maximum(unseen - np.diag(covariance), 0.0))
        found = self._carried(total * value.reshape(size, size), total**2 * covariance, "ppi++")
        note = VerifiedSpread(GoldLosses(0.0, f[0], h[0]), subset, beta).note
        return EstimatedMatrix(found.value, found.covariance, "ppi++", note)

    @cached_property
    def truth_constrained(self) -> FloatArray:
        """The same with no cell below 0, and the same sum."""
        value = self.truth.value
        above = np.maximum(value, 0.0)
        return np.asarray(above * (value.sum() / above.sum()) if above.any() else above)

    def remeasured(self, repeats: int = 1) -> FloatArray:
        raise UndefinedEstimate(NO_FRESH)

    @property
    def perfect(self) -> FloatArray:
        raise UndefinedEstimate(NO_FRESH)


def _cells(row: NDArray[Any], column: NDArray[Any], size: int) -> FloatArray:
    """Which items are in each cell (size * size, n); a row or column of -1 is in none."""
    inside = (row >= 0) & (column >= 0)
    found = np.zeros((size * size, len(row)))
    found[(row * size + column)[inside], np.flatnonzero(inside)] = 1.0
    return found
