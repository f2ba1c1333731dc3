"""The answers of the difference of two models under one metric."""

from __future__ import annotations

import math

import numpy as np

from scorebars.answers.base import Answers
from scorebars.answers.intervals import IntervalAt, Symmetric
from scorebars.answers.score import Declaration, Estimate, Interval, UndefinedEstimate
from scorebars.answers.verified_answers import NO_FRESH
from scorebars.laws.law import Law, StudentLaw
from scorebars.studies.comparison.models_on_same_labels import ModelsOnSameLabels
from scorebars.studies.comparison.verified_models import VerifiedModels

_NO_PERFECT = "a difference of two models has no perfect value: ask each model's own score."
_OTHER_REPEATS = (
    "the difference is known for labels of as many repeats as those at hand; for others ask each model's own score."
)


class DifferenceAnswers(Answers):
    """metric(a) - metric(b), in units in which nothing is too large or too small for doubles.

    With `sampled` the items are a sample too: Student's distribution about the observed difference (Berkson error: the expected
    one), whose scale is the standard error over test sets.
    """

    def __init__(self, models: ModelsOnSameLabels, a: str, b: str, sampled: bool) -> None:
        of = models.declaration
        self.declaration = Declaration(
            f"{of.name}({a}) - {of.name}({b})",
            f"Difference of {of.title.lower()}, {a} minus {b}",
            of.greater_is_better,
            of.task,
            low=-math.inf,
            high=math.inf,
            degree=of.degree,
            perfect=0.0,
        )
        self._models, self._pair, self.sampled = models, (a, b), sampled
        self.n, self.kind = models.n, models.kind
        self.repeats = np.asarray(models.labels.repeats, dtype=np.float64)
        self.observed = models.observed(a) - models.observed(b)
        self._law = StudentLaw(self._centre, self._over_test_sets(), self._df) if sampled else self._fixed_law()
        self.expected = float(self._law.mean)

    @property
    def _centre(self) -> float:
        return float(self._fixed_law().mean) if self._berkson else self.observed

    @property
    def _df(self) -> float:
        return self._models.item_df(*self._pair)

    def _over_test_sets(self) -> float:
        """Standard error of the difference over test sets."""
        return math.hypot(self._models.item_std(*self._pair), self._models.common_std(*self._pair))

    @property
    def std(self) -> float:
        """With `sampled` the standard error, not the std of Student's distribution, which is larger for few items."""
        return self._over_test_sets() if self.sampled else float(self._law.std)

    def law(self) -> Law:
        return self._law

    def _fixed_law(self) -> Law:
        return self._models.law(*self._pair)

    def truth(self) -> Estimate:
        """Under Berkson error the expected difference, unless its error rates were counted and are uncertain too."""
        if self._berkson and getattr(self._models.labels.model, "checked", None) is not None:
            return ModelsOnSameLabels.truth(self._models, *self._pair)
        return super().truth()

    def _truth(self) -> Estimate:
        return self._models.truth(*self._pair)

    def _berkson_population(self) -> IntervalAt:
        return Symmetric(self._centre, self._over_test_sets(), df=self._df)

    def _remeasured(self, repeats: float) -> Estimate:
        """The forecast of the difference on labels measured once more in the same way is the observed one."""
        if not np.all(np.equal(self.repeats, repeats)):
            raise UndefinedEstimate(_OTHER_REPEATS)
        return self._symmetric(self.observed, math.sqrt(2.0) * float(self._fixed_law().std), "unbiased")

    def perfect(self) -> Estimate:
        raise UndefinedEstimate(_NO_PERFECT)

    def _item_variance(self) -> float:
        return self._models.item_std(*self._pair) ** 2

    def _label_variance(self) -> float:
        own = max(float(self._fixed_law().var) - self._models.common_std(*self._pair) ** 2, 0.0)
        return own if math.isfinite(own) else 0.0

    def total_interval(self, level: float) -> Interval:
        # under Berkson error the next test set has errors of its own, this one was averaged over them
        own = float(self._fixed_law().var) / 2 if self._berkson else 0.0
        return self._next_test_set(own + self._models.common_std(*self._pair) ** 2)(level)

    def warnings(self) -> list[str]:
        if not (share := self._models.undefined_share(*self._pair)):
            return []
        return [f"the metric is not defined for {share:.1%} of the redrawn labels; these draws were left out."]


class VerifiedDifference(DifferenceAnswers):
    """metric(a) - metric(b) where some labels were checked: all but `observed` is about the estimate against the truth."""

    _models: VerifiedModels
    expected_is = "the estimate against the gold labels, which probabilities and verdicts are about"

    @property
    def _centre(self) -> float:
        return float(self._fixed_law().mean)

    @property
    def _df(self) -> float:
        return self._models.spread(*self._pair).population_df

    @property
    def std(self) -> float:
        return self._over_test_sets() if self.sampled else self._models.label_std(*self._pair)

    def _label_variance(self) -> float:
        return self._models.label_std(*self._pair) ** 2

    def _remeasured(self, repeats: float) -> Estimate:
        raise UndefinedEstimate(NO_FRESH)
