"""Answers of the accuracy when labels were counted instead of kept."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.accuracy import AccuracyAnswers
from scorebars.answers.all_labels import ALL_LABELS
from scorebars.answers.counted import flips_of, rows_of, too_close
from scorebars.engines.class_counts import ClassCounts
from scorebars.errors.base import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import Law
from scorebars.laws.poisson_binomial import counted_trials
from scorebars.score import Declaration, UndefinedEstimate


class SummedAccuracy(AccuracyAnswers):
    """Share of right predictions, each row standing for `count` labels of one q."""

    def __init__(self, declaration: Declaration, counted: ClassCounts, kind: str) -> None:
        cell, q, count = rows_of(counted)
        self._count, self._labels, self._gathered = count, counted.n, counted.gathered
        super().__init__(declaration, counted.right(cell), flips_of(q, kind), max(len(counted.classes), 2), None)
        self.n = counted.n

    @cached_property
    def _shares(self) -> FloatArray:
        """Roots of the sums of squared shares, which is all that variances ask for."""
        return np.sqrt(self._count) / self._labels

    def _mean(self, values: NDArray[np.bool_] | FloatArray) -> float:
        return float(np.sum(self._count * values)) / self._labels

    def _number(self, which: NDArray[np.bool_]) -> int:
        return round(float(np.sum(self._count[which])))

    def _independent_law(self, right: NDArray[np.bool_], q: FloatArray) -> Law:
        p = np.where(right, 1.0 - q, q / (self._classes - 1))
        return ScaledLaw(counted_trials(p, self._count), 1.0 / self._labels)

    @cached_property
    def _unbiased(self) -> FloatArray:
        if self._gathered and too_close(np.asarray(self._flip.q), self._classes):
            raise UndefinedEstimate(
                ALL_LABELS.format(
                    what=f"the accuracy against the truth, with some q close to {1 - 1 / self._classes:g},"
                )
            )
        return AccuracyAnswers._unbiased.func(self)  # type: ignore[attr-defined]
