"""Answers of the share of labels within a tolerance: hits of very many labels are counted, in flat memory."""

from __future__ import annotations

import numpy as np

from scorebars.answers import many
from scorebars.answers.counted import rows_of
from scorebars.answers.generic import GenericAnswers
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

    def _chances(self, data: Measured, y: FloatArray, p: FloatArray) -> ClassCounts | None:
        """Of hits; None where labels are few, have weights or err in other ways."""
        errors = data.errors
        if data.n < many.MANY or data.weight is not None or type(errors) is not Normal or not errors.independent:
            return None
        return chances_of(y, p, errors.sigma, self.loss.tolerance)


def share_of(counts: ClassCounts) -> Law:
    """The law of the share of hits, given the chance of each."""
    _, chance, count = rows_of(counts)
    if not np.any((chance > 0) & (chance < 1)):
        return NormalLaw(float(np.sum(count * chance)) / counts.n, 0.0)
    return ScaledLaw(counted_trials(chance, count), 1.0 / counts.n)
