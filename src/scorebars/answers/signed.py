"""Answers of the mean error (bias): linear in the labels, so its law is that of the mean of the errors."""

from __future__ import annotations

import math

import numpy as np

from scorebars.answers.intervals import OfLaw, Symmetric
from scorebars.answers.mean_loss import PERFECT, MeanLoss, sampling_variance
from scorebars.errors import Normal
from scorebars.errors.base import FloatArray
from scorebars.laws.additive import simulated_mean
from scorebars.laws.base import Law
from scorebars.laws.normal import NormalLaw
from scorebars.measured import Measured
from scorebars.moments.correlated import mean_variance
from scorebars.score import Estimate, UndefinedEstimate


class SignedAnswers(MeanLoss):
    """Mean of p - y; positive means that the model predicts too high."""

    def law(self) -> Law:
        if isinstance(self._data.errors, Normal):  # known from the sums: the labels need not be read again
            return self._law_in_units(NormalLaw(self._totals.expected, self._totals.std))
        return super().law()

    def _law(self, data: Measured) -> Law:
        return simulated_mean(self.loss, data, data.residual)

    def _shift(self, data: Measured) -> float:
        """Mean of the label errors: not zero where errors are asymmetric."""
        y = np.asarray(data.y, float)
        return float(np.sum(data.shares * (data.errors.mean(y) - y)))

    def _measurement_variance(self, data: Measured, repeats: FloatArray | float) -> float:
        """Variance of the mean of the label errors, each label the mean of `repeats` repeats."""
        if isinstance(data.errors, Normal):
            return mean_variance(data.errors.averaged(repeats), data)
        return float(np.sum(np.square(data.shares) * data.errors.variance_of_mean(np.asarray(data.y, float), repeats)))

    def _truth(self, data: Measured) -> Estimate:
        true = data.errors.unbiased_label(np.asarray(data.y, float))
        if not np.all(np.isfinite(true)):
            raise UndefinedEstimate(f"{data.errors!r} errors have no mean, so what they add cannot be taken off.")
        value = float(np.sum(data.shares * (data.p - true)))
        std = math.sqrt(self._measurement_variance(data, data.errors.repeats))
        terms = ((p - errors.unbiased_label(y), w) for y, p, errors, w in data.blocks())
        total = math.sqrt(sampling_variance(terms, value, data) + self._shared_variance(data))
        note = "a bias common to all labels cannot be told from a bias of the model"
        df = max(data.n - 1, 1)
        return self._estimate(value, std, "unbiased", Symmetric(value, std), Symmetric(value, total, df=df), note)

    def _own_variance(self, data: Measured) -> float:
        y = np.asarray(data.y, float)
        return float(np.sum(np.square(data.shares) * data.errors.label_variance(y), where=data.shares > 0))

    def _shared_variance(self, data: Measured) -> float:
        if not isinstance(data.errors, Normal) or data.errors.independent:
            return 0.0
        errors = data.errors.label_level()
        own = float(np.sum(np.square(data.shares * errors.total)))
        return max(mean_variance(errors, data) - own, 0.0)

    def _remeasured(self, data: Measured, repeats: float) -> Estimate:
        old = self._measurement_variance(data, data.errors.repeats)
        std = math.sqrt(old + self._measurement_variance(data, repeats))
        value = self._totals.observed
        return self._estimate(value, std, "unbiased", Symmetric(value, std))

    def perfect(self) -> Estimate:
        data = self._scaled_data()
        std = math.sqrt(self._measurement_variance(data, data.errors.repeats))
        if not math.isfinite(std):  # no normal law is near
            law: Law = simulated_mean(self.loss, data, np.zeros(data.n))
        else:
            law = NormalLaw(0.0 - self._shift(data), std, "exact" if isinstance(data.errors, Normal) else "delta")
        return self._estimate(float(law.mean), std, law.method, OfLaw(law), note=PERFECT)

    def warnings(self) -> list[str]:
        floor = self.perfect()
        low, high = floor.interval(0.95)
        if floor.std > 0 and low <= self.observed <= high:
            return ["the label errors alone would give a perfect model a bias as large as this one."]
        return []

    def noise_share(self) -> float:
        """The label errors' part in the size of the bias: std of a perfect model's bias over the observed bias."""
        if self.observed == 0:
            return 0.0 if self.perfect().std == 0 else math.inf
        return min(self.perfect().std / abs(self.observed), math.inf)
