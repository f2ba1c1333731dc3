"""Answers of the share of labels within a tolerance: hits of very many labels are counted, in flat memory."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from scorebars.answers import many
from scorebars.answers.counted import rows_of
from scorebars.answers.generic import GenericAnswers
from scorebars.answers.population import next_share
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.hits import chances_of
from scorebars.errors import Normal
from scorebars.errors.base import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import Law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.poisson_binomial import counted_trials
from scorebars.losses import Within
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.score import Interval


class WithinAnswers(GenericAnswers):
    """Share of labels that are predicted to within a tolerance."""

    loss: Within

    def _law(self, data: Measured) -> Law:
        chances = self._chances(data, data.y, data.p)
        return super()._law(data) if chances is None else share_of(chances)

    def scaled_perfect_law(self) -> Law:
        data = self._scaled_data()
        nowhere = np.broadcast_to(0.0, data.n)
        chances = self._chances(data, nowhere, nowhere)
        return super().scaled_perfect_law() if chances is None else share_of(chances)

    def _own_variance(self, data: Measured) -> float:
        """With the labels taken as true: a chance is not smoothed much by smoothing it once more."""
        if data.plain_normal and np.all(np.equal(data.errors.repeats, 1.0)):
            return self._totals.std**2  # found already
        own = data.errors.label_level() if isinstance(data.errors, Normal) else data.errors
        variance = label_moments(self.loss, own, np.asarray(data.y, float), np.asarray(data.p, float)).variance
        return float(np.sum(np.square(data.shares) * variance))

    def _next_test_set(self) -> Callable[[float], Interval]:
        labels = effective_number(self.observed, self._observed_variance(), self._data)
        return next_share(self.observed, 1.0 / labels, self.declaration, self._shared_part())

    def _chances(self, data: Measured, y: FloatArray, p: FloatArray) -> ClassCounts | None:
        """Of hits; None where labels are few, have weights or err in other ways."""
        errors = data.errors
        if data.n < many.MANY or data.weight is not None or type(errors) is not Normal or not errors.independent:
            return None
        return chances_of(y, p, errors.sigma, self.loss.tolerance)


def effective_number(share: float, variance: float, data: Measured) -> float:
    """As many single labels of equal weight scatter as much. Outputs of one item are alike: the scatter tells how much."""
    labels = 1.0 / float(np.sum(np.square(data.shares)))
    if data.outputs == 1:
        return labels
    return min(labels, share * (1.0 - share) / variance) if 0 < variance < math.inf else labels / data.outputs


def share_of(counts: ClassCounts) -> Law:
    """The law of the share of hits, given the chance of each."""
    _, chance, count = rows_of(counts)
    if not np.any((chance > 0) & (chance < 1)):
        return NormalLaw(float(np.sum(count * chance)) / counts.n, 0.0)
    return ScaledLaw(counted_trials(chance, count), 1.0 / counts.n)
