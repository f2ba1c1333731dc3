"""Class labels that were counted instead of kept: rows that each stand for all labels of one cell and one q."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.all_labels import ALL_LABELS
from scorebars.answers.labelled import Labelled
from scorebars.engines.class_counts import BINS, BINS_PER_HALF, ClassCounts
from scorebars.errors import Flip
from scorebars.errors.base import FloatArray
from scorebars.laws.poisson_binomial import gauss_pairs
from scorebars.score import UndefinedEstimate


def rows_of(counted: ClassCounts) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """Cell, q and number of labels: of each distinct q, and of two nodes for each bin of q."""
    cell, q, count = counted.cell, counted.q, counted.count.astype(np.float64)
    if counted.bins is not None and counted.moments is not None:
        nodes, weights = gauss_pairs(counted.moments.T)
        at, index = np.divmod(counted.bins, BINS)
        nodes = (nodes + index % BINS_PER_HALF) / BINS
        nodes = np.where(index < BINS_PER_HALF, nodes, 1.0 - nodes)
        cell = np.concatenate([cell, np.repeat(at, 2)])
        q = np.concatenate([q, np.clip(nodes.T.ravel(), 0.0, 1.0)])
        count = np.concatenate([count, weights.T.ravel()])
    used = count > 0
    return cell[used], q[used], count[used]


def flips_of(q: FloatArray, kind: str) -> Flip:
    """The label errors of such rows; one number where it serves all."""
    return Flip(float(q[0]) if np.all(q == q[0]) else q, kind=kind)


def too_close(q: FloatArray, classes: int) -> bool:
    """Whether a bin may hold labels that say nothing about the true class, where q is known to its bin only."""
    ratio = classes / (classes - 1)
    return bool(np.any(np.abs(1.0 - q * ratio) < ratio / BINS_PER_HALF))


class CountedLabels(Labelled):
    """Labels of which the counts by shown class, predicted class and q are known, among these classes."""

    def __init__(self, counted: ClassCounts, kind: str, classes: NDArray[np.generic]) -> None:
        cell, q, count = rows_of(counted)
        place = np.searchsorted(classes, counted.classes)
        shown, predicted = (place[index] for index in np.divmod(cell, len(counted.classes)))
        super().__init__(classes, shown, predicted, flips_of(q, kind), None, count)
        self._gathered = counted.gathered

    @cached_property
    def indicators(self) -> FloatArray:
        if self._gathered and too_close(np.asarray(self.model.q), self.k):  # type: ignore[attr-defined]
            what = f"the score against the truth, with some q close to {1 - 1 / self.k:g},"
            raise UndefinedEstimate(ALL_LABELS.format(what=what))
        return Labelled.indicators.func(self)  # type: ignore[attr-defined]
