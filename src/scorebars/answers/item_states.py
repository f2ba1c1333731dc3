"""Several labels of one item seen as one label with more classes: the states that they can be in together.

The labels of an item are all right or not, have so many positives found and missed, or are one of 2^L configurations.
With label l positive with probability p_l, independently of the others, each state has a probability that is linear in
each p_l. Put unbiased estimates of the true labels in place of the p_l and the same expression estimates without bias
whether the true labels are in that state. So a mean over items of what their states are worth has all the answers of a
metric that is linear in the label.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.cells import Cells
from scorebars.answers.labelled import Labelled
from scorebars.errors.base import FloatArray
from scorebars.score import UndefinedEstimate

_MOST_AMPLIFIED = 1e9
"""Rounding errors of the estimates against the truth grow by this factor: 1e-16 becomes 1e-7."""


class ItemStates(Labelled):
    """The states of items, numbered from 0, with the probability of each.

    `given` (n, m) marks the states on which everything is conditioned; None for all.
    """

    given: NDArray[np.bool_] | None = None

    def __init__(self, cells: Cells, number: int, shown: NDArray[np.intp]) -> None:
        self.cells = cells
        super().__init__(np.arange(number), shown, None, cells.model, cells.item_weight)

    @abstractmethod
    def of(self, p: FloatArray) -> FloatArray:
        """Probabilities (n, m) of the states from those of positive labels (n, L)."""

    def _states(self, rows: FloatArray) -> FloatArray:
        found = self.of(self.cells.matrix(rows[:, 1]))
        if self.given is None:
            return found
        kept = np.where(self.given, found, 0.0)
        total = np.add.reduce(kept, axis=1)[:, None]
        return np.where(total > 0, kept / np.where(total > 0, total, 1.0), self.one_hot)

    @cached_property
    def rows(self) -> FloatArray | None:
        return None

    @cached_property
    def probabilities(self) -> FloatArray:
        return self._states(self.cells.probabilities)

    @cached_property
    def exact(self) -> bool:
        return self.cells.exact

    def mixture(self) -> list[tuple[float, FloatArray]]:
        return [(1.0, self.probabilities)]

    @cached_property
    def own_probabilities(self) -> FloatArray:
        return self._states(self.cells.own_probabilities)

    @cached_property
    def indicators(self) -> FloatArray:
        self._require_stable(self.cells.indicators)
        return self.of(self.cells.matrix(self.cells.indicators[:, 1]))

    @cached_property
    def posterior(self) -> FloatArray:
        """Chances of the true states, from those of the true labels."""
        return self._states(self.cells.posterior)

    def label_variance(self, slopes: FloatArray) -> float:
        """The estimated covariance of one item's indicators a is a a' - diag(a): unbiased whatever the errors."""
        a = self.indicators
        own = np.square(np.add.reduce(slopes * a, axis=1)) - np.add.reduce(a * np.square(slopes), axis=1)
        return max(float(np.add.reduce(own)), 0.0)

    def own_mixture(self) -> list[tuple[float, FloatArray]]:
        return [(1.0, self.own_probabilities)]

    def fresh(self, repeats: float) -> FloatArray:
        rows = self.cells.fresh(repeats)
        self._require_stable(rows)
        return self.of(self.cells.matrix(rows[:, 1]))

    def _require_stable(self, rows: FloatArray) -> None:
        grown = np.prod(self.cells.matrix(np.add.reduce(np.abs(rows), axis=1)), axis=1)
        if float(np.max(grown)) > _MOST_AMPLIFIED:
            raise UndefinedEstimate(
                f"{self.cells.outputs} labels an item are too many to be carried back together through errors as large "
                "as these. Use average='micro', 'macro' or 'weighted', which look at one label at a time."
            )


class AsShown(ItemStates):
    """Labels without error: they are as they are shown."""

    def __init__(self, cells: Cells) -> None:
        super().__init__(cells, 1, np.zeros(cells.items, dtype=np.intp))

    def of(self, p: FloatArray) -> FloatArray:
        return np.ones((len(p), 1))


class AllRight(ItemStates):
    """1 where the predictions of all labels of an item are right, else 0."""

    def __init__(self, cells: Cells) -> None:
        assert cells.predicted is not None
        right = cells.matrix(cells.shown == cells.predicted)
        super().__init__(cells, 2, np.logical_and.reduce(right, axis=1).astype(np.intp))

    def of(self, p: FloatArray) -> FloatArray:
        assert self.cells.predicted is not None
        chosen = self.cells.matrix(self.cells.predicted) == 1
        right = np.prod(np.where(chosen, p, 1.0 - p), axis=1)
        return np.stack([1.0 - right, right], axis=1)


class PositiveCounts(ItemStates):
    """How many positives of an item are predicted (`found`) and how many are not (`missed`), (m,) each."""

    def __init__(self, cells: Cells) -> None:
        assert cells.predicted is not None
        self._chosen = cells.matrix(cells.predicted) == 1
        positive = cells.matrix(cells.shown) == 1
        self._most = (_most(self._chosen), _most(~self._chosen))
        found, missed = np.divmod(np.arange((self._most[0] + 1) * (self._most[1] + 1)), self._most[1] + 1)
        self.found, self.missed = found, missed
        hits = np.add.reduce(positive & self._chosen, axis=1)
        others = np.add.reduce(positive & ~self._chosen, axis=1)
        super().__init__(cells, len(found), (hits * (self._most[1] + 1) + others).astype(np.intp))

    def of(self, p: FloatArray) -> FloatArray:
        found = _count_probabilities(np.where(self._chosen, p, 0.0), self._most[0])
        missed = _count_probabilities(np.where(self._chosen, 0.0, p), self._most[1])
        return np.asarray((found[:, :, None] * missed[:, None, :]).reshape(len(p), -1))


def _most(marked: NDArray[np.bool_]) -> int:
    return int(np.max(np.add.reduce(marked, axis=1)))


def _count_probabilities(p: FloatArray, most: int) -> FloatArray:
    """P(k of the labels of an item are positive), (n, most + 1); p may leave [0, 1]."""
    out = np.zeros((len(p), most + 1))
    out[:, 0] = 1.0
    for column in p.T:
        if np.any(column):
            moved = column[:, None] * out
            out -= moved
            out[:, 1:] += moved[:, :-1]
    return out


class Configurations(ItemStates):
    """All 2^L ways in which the L labels of an item can be positive or not: `labels` (m, L)."""

    MOST = 12

    def __init__(self, cells: Cells) -> None:
        self.labels = np.array(list(product((0.0, 1.0), repeat=cells.outputs)))
        places = 1 << np.arange(cells.outputs)[::-1]
        super().__init__(cells, len(self.labels), (cells.matrix(cells.shown) @ places).astype(np.intp))

    def of(self, p: FloatArray) -> FloatArray:
        out = np.ones((len(p), 1))
        for column in p.T:
            out = (out[:, :, None] * np.stack([1.0 - column, column], axis=1)[:, None, :]).reshape(len(p), -1)
        return out
