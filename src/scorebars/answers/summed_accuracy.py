"""Answers of the accuracy when labels were counted instead of kept."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.accuracy import AccuracyAnswers, InvertedCount
from scorebars.answers.summed import ALL_LABELS
from scorebars.engines.class_counts import BINS_PER_HALF, ClassCounts
from scorebars.errors import Flip
from scorebars.errors.base import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import Law
from scorebars.laws.poisson_binomial import GatheredBinomial, PoissonBinomial, gauss_pairs
from scorebars.score import Declaration, UndefinedEstimate


class SummedAccuracy(AccuracyAnswers):
    """Share of right predictions, each row standing for `count` labels of one q."""

    def __init__(self, declaration: Declaration, counted: ClassCounts, kind: str) -> None:
        right, q, count = _rows(counted)
        self._count, self._labels, self._gathered = count, counted.n, counted.gathered
        flip = Flip(q if q.size > 1 or counted.gathered else float(q[0]))
        flip.kind = kind  # type: ignore[assignment]
        if np.all(q == q[0]):
            flip.q = float(q[0])
        super().__init__(declaration, right, flip, max(len(counted.classes), 2), None)
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
        if not self._gathered:
            return ScaledLaw(PoissonBinomial(p, self._count.astype(np.int64)), 1.0 / self._labels)
        never, always = self._number(p == 0), self._number(p == 1)
        free = (p > 0) & (p < 1)
        return ScaledLaw(GatheredBinomial(p[free], self._count[free], never, always), 1.0 / self._labels)

    @cached_property
    def _unbiased(self) -> FloatArray:
        width = self._classes / (self._classes - 1) / BINS_PER_HALF
        if self._gathered and np.any(np.abs(self._contrast) < width):
            raise UndefinedEstimate(
                ALL_LABELS.format(
                    what=f"the accuracy against the truth, with some q close to {1 - 1 / self._classes:g},"
                )
            )
        return AccuracyAnswers._unbiased.func(self)  # type: ignore[attr-defined]

    def _exact_truth_interval(self) -> InvertedCount | None:
        if np.ndim(self._flip.q):
            return None
        q = float(self._flip.q)
        return InvertedCount(self._number(self._right), self._labels, 1.0 - q, q / (self._classes - 1))


def _rows(counted: ClassCounts) -> tuple[NDArray[np.bool_], FloatArray, FloatArray]:
    """Right or wrong, q and count: of the distinct q, and of two nodes for each bin."""
    right = np.repeat([True, False], counted.q.size)
    q, count = np.tile(counted.q, 2), counted.counts.reshape(-1).astype(np.float64)
    if counted.moments is not None:
        bins = np.arange(2 * BINS_PER_HALF)
        for row, moments in enumerate(counted.moments):
            nodes, weights = gauss_pairs(moments)
            nodes = (nodes + bins % BINS_PER_HALF) / bins.size
            nodes[:, BINS_PER_HALF:] = 1.0 - nodes[:, BINS_PER_HALF:]
            q = np.concatenate([q, np.clip(nodes, 0.0, 1.0).ravel()])
            count = np.concatenate([count, weights.ravel()])
            right = np.concatenate([right, np.full(weights.size, row == 0)])
    used = count > 0
    return right[used], q[used], count[used]
