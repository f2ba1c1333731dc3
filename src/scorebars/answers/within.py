"""Answers of the share of labels within a tolerance: hits of very many labels are counted, in flat memory."""

from __future__ import annotations

import numpy as np

from scorebars.answers import many
from scorebars.answers.counted import rows_of
from scorebars.answers.generic import GenericAnswers
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.hits import Hits
from scorebars.errors import Normal
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
        hits = self._hits(data)
        return super()._law(data) if hits is None else share_of(hits.chances)

    def scaled_perfect_law(self) -> Law:
        hits = self._hits(self._scaled_data())
        return super().scaled_perfect_law() if hits is None else share_of(hits.ideal)

    def _hits(self, data: Measured) -> Hits | None:
        """None where labels are few, have weights or err in other ways."""
        errors = data.errors
        if data.n < many.MANY or data.weight is not None or type(errors) is not Normal or not errors.independent:
            return None
        key = f"hits: {self.loss.tolerance!r}"
        if key not in data.shelf:
            data.shelf[key] = Hits.of(data.y, data.p, errors.sigma, self.loss.tolerance)
        found: Hits = data.shelf[key]
        return found


def share_of(counts: ClassCounts) -> Law:
    """The law of the share of hits, given the chance of each."""
    _, chance, count = rows_of(counts)
    if not np.any((chance > 0) & (chance < 1)):
        return NormalLaw(float(np.sum(count * chance)) / counts.n, 0.0)
    return ScaledLaw(counted_trials(chance, count), 1.0 / counts.n)
