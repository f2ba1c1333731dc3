"""Models on the same labels, of which some were checked: differences against the truth, from the gold labels.

A difference of two means of losses is the mean of the difference of the losses, so the prediction-powered estimate applies to
it as it does to one mean, tuned for the difference. Metrics of the confusion matrix and of rankings are corrected for both
models by the same combination of labels and gold labels; what items add to the difference is the difference of what they add
to each.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from scorebars.answers.score import Estimate
from scorebars.answers.verified_answers import GoldLosses, GoldSubset, VerifiedAnswers, VerifiedSpread, mean_of, tuned
from scorebars.arrays import FloatArray
from scorebars.errors import Verified
from scorebars.evaluation.study_data import StudyData
from scorebars.laws.law import Law, StudentLaw
from scorebars.metrics.call import require_no_prederr
from scorebars.numerics.covariances import covariance_root
from scorebars.studies.comparison.compared_data import ComparedMetric
from scorebars.studies.comparison.models_on_same_labels import ModelsOnSameLabels, once


class VerifiedLabels:
    """Labels of which some have gold labels, in the order of the items."""

    kind, repeats, exact = "classical", 1.0, False

    def __init__(self, shown: Any, model: Verified) -> None:
        self.shown, self.model, self.n = shown, model, len(model.gold)


class VerifiedModels(ModelsOnSameLabels):
    """All models on the same labels, of which some were checked."""

    def __init__(self, metric: ComparedMetric, given: StudyData) -> None:
        require_no_prederr(given.prederr or None)
        super().__init__(metric, VerifiedLabels(given.y_true, given.yerr), given.models, given.sample_weight)  # type: ignore[arg-type]

    def checked(self) -> VerifiedModels:
        """Let the metric refuse what it cannot take, in its own words."""
        for name in self.predictions:
            self._corrected(name).corrected(1.0)
        return self

    @once
    def _corrected(self, name: str) -> VerifiedAnswers:
        found = self.score(name)._answers
        found = getattr(found, "inner", found) if self.groups is not None else found
        assert isinstance(found, VerifiedAnswers)
        return found

    @property
    def _subset(self) -> GoldSubset:
        return self._corrected(next(iter(self.predictions))).subset

    @once
    def observed(self, name: str) -> float:
        return self._corrected(name).observed

    @once
    def spread(self, a: str, b: str) -> VerifiedSpread:
        """The difference of two models, for which labels count as is best for it."""
        found, beta = tuned(partial(self._difference, a, b), self._subset)
        return VerifiedSpread(found, self._subset, beta, self.groups)

    def _difference(self, a: str, b: str, beta: float) -> GoldLosses:
        return self._corrected(a).corrected(beta).less(self._corrected(b).corrected(beta))

    def truth(self, a: str, b: str) -> Estimate:
        return self.spread(a, b).estimate((-math.inf, math.inf))

    def label_std(self, a: str, b: str) -> float:
        """Standard error of the difference on these items."""
        return self.spread(a, b).reach

    def item_std(self, a: str, b: str) -> float:
        return self.spread(a, b).population_reach

    def common_std(self, a: str, b: str) -> float:
        return 0.0

    def law(self, a: str, b: str) -> Law:
        """Student's distribution about the difference against the gold labels."""
        found = self.spread(a, b)
        return StudentLaw(found.found.value, found.reach, found.df)

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        """Joint draws of Student's distribution of all models; labels count as is best for what models differ by."""
        answers, subset = [self._corrected(name) for name in self.predictions], self._subset

        def apart(beta: float) -> list[GoldLosses]:
            found = [one.corrected(beta) for one in answers]
            return [one.less(mean_of(found)) for one in found]

        beta = 1.0
        for _ in range(2):
            f, h = (np.stack([getattr(one, part) for one in apart(beta)]) for part in ("f", "h"))
            beta = subset.slope(f, h)
        if sampling and self._sample_size < 2:  # one group shows no scatter of groups: any order is as likely
            return rng.standard_normal((count, len(answers)))
        spreads = [VerifiedSpread(one, subset, beta, self.groups) for one in apart(beta)]
        moved = np.stack([one.population_moves if sampling else one.moves for one in spreads])
        df = min(one.population_df if sampling else one.df for one in spreads)
        drawn = rng.standard_normal((count, len(spreads))) @ covariance_root(moved @ moved.T).T
        centres = np.array([one.found.value for one in spreads])
        return np.asarray(centres + drawn / np.sqrt(rng.chisquare(df, count) / df)[:, None])
