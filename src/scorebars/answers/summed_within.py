"""Answers of the share of labels within a tolerance when labels were summed up instead of kept."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from scorebars.answers.all_labels import ALL_LABELS
from scorebars.answers.counted import rows_of
from scorebars.answers.generic import GenericAnswers
from scorebars.answers.intervals import OfLaw, Symmetric
from scorebars.answers.mean_loss import PERFECT
from scorebars.answers.population import next_share
from scorebars.answers.summed import Summed
from scorebars.answers.within import share_of
from scorebars.engines.extended import ExtendedSummary
from scorebars.engines.totals import from_sums
from scorebars.laws.base import Law
from scorebars.laws.normal import NormalLaw
from scorebars.losses import Within
from scorebars.score import Declaration, Estimate, Interval, UndefinedEstimate


class SummedWithin(Summed, GenericAnswers):
    """Share of labels that are predicted to within a tolerance: hits are counted, so that labels have no weights."""

    def __init__(self, declaration: Declaration, summary: ExtendedSummary, kind: str) -> None:
        assert summary.hits is not None
        self._hits, self._sums = summary.hits, summary.hits.sums
        self.declaration, self.n, self.kind = declaration, self._sums.n, kind
        self.loss = Within(self._sums.tolerance)
        self._totals = from_sums(self.loss, self._sums)
        self.observed, self.expected = self._totals.observed, self._totals.expected

    def law(self) -> Law:
        return share_of(self._hits.chances) if self.std > 0 else NormalLaw(self.expected, 0.0)

    def _expected_sums(self) -> tuple[float, float]:
        """From P^2 = P - P (1 - P)."""
        return self._sums.within_p - self._sums.within_var_w2, self._sums.within_p

    def _observed_sums(self) -> tuple[float, float]:
        return self._sums.within, self._sums.within

    def _own_part(self) -> float:
        return self.std**2

    def _next_test_set(self) -> Callable[[float], Interval]:
        return next_share(self.observed, 1.0 / self.n, self.declaration)

    def truth(self) -> Estimate:
        if self.kind == "berkson":
            return self._berkson_truth()
        raise UndefinedEstimate(ALL_LABELS.format(what="the share within a tolerance against the truth"))

    def remeasured(self, repeats: float) -> Estimate:
        self._require_classical()
        if repeats != 1:
            raise UndefinedEstimate(ALL_LABELS.format(what="the share within a tolerance of labels with less error"))
        std = math.sqrt(2.0) * self.std
        return self._estimate(self.observed, std, "unbiased", Symmetric(self.observed, std, 0.0, 1.0))

    def perfect(self) -> Estimate:
        law = share_of(self._hits.ideal)
        return self._estimate(float(law.mean), float(law.std), law.method, OfLaw(law), note=PERFECT)

    def noise_share(self) -> float:
        _, chance, count = rows_of(self._hits.ideal)
        lost = float(np.sum(count * (1.0 - chance))) / self.n
        if self.observed == 1:
            return 0.0 if lost == 0 else math.inf
        return lost / (1.0 - self.observed)
