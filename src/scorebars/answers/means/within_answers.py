"""Answers of the share of labels within a tolerance: hits of very many labels are counted, in flat memory."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from scorebars.answers.intervals import next_share
from scorebars.answers.level import PERFECT, Level
from scorebars.answers.means.mean_loss import MeanLoss
from scorebars.engines.class_counts import rows_of
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.law import Law
from scorebars.laws.normal_law import NormalLaw
from scorebars.losses import Within
from scorebars.moments import label_moments
from scorebars.score import Interval


class WithinAnswers(MeanLoss):
    """Share of labels that are predicted to within a tolerance."""

    loss: Within

    def _forward(self, level: Level) -> Law:
        counts = self._store.chances(self.loss.tolerance, perfect=level is PERFECT)
        if counts is None:
            return super()._forward(level)
        _, chance, count = rows_of(counts)
        if not np.any((chance > 0) & (chance < 1)):
            return NormalLaw(float(np.sum(count * chance)) / counts.n, 0.0)
        return ScaledLaw(PoissonBinomial(chance, count), 1.0 / counts.n)

    def _ideal(self) -> float:
        return 1.0

    def _label_variance(self) -> float:
        """With the labels taken as true: a chance is not smoothed much by smoothing it once more."""
        if self._store.plain and np.all(np.equal(self._store.repeats, 1.0)):
            return self.std**2
        data = self._labels()
        spread = label_moments(self.loss, data.errors.label_level(), data.labels, data.predictions).variance
        return float(np.sum(np.square(data.shares) * spread))

    def _next_test_set(self, more: float) -> Callable[[float], Interval]:
        return (
            super()._next_test_set(more)
            if self._berkson
            else next_share(self.observed, 1.0 / self._effective_number(), self.declaration, more)
        )

    def _effective_number(self) -> float:
        """As many single labels of equal weight scatter as much. Outputs of one item are alike: the scatter tells."""
        if not self._store.kept:
            return self.n
        data = self._labels()
        labels = 1.0 / float(np.sum(np.square(data.shares)))
        if data.outputs == 1:
            return labels
        share, variance = self.observed, self._item_variance()
        return min(labels, share * (1.0 - share) / variance) if 0 < variance < math.inf else labels / data.outputs
