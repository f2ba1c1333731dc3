"""Answers of the mean error (bias): linear in the labels, so its law is that of the mean of the errors."""

from __future__ import annotations

import math

import numpy as np

from scorebars.answers.evidence import sampling_variance, weighted_mean
from scorebars.answers.intervals import Symmetric
from scorebars.answers.level import PERFECT, TRUTH, Level
from scorebars.answers.means.mean_loss import MeanLoss
from scorebars.arrays import FloatArray
from scorebars.laws.law import Law
from scorebars.laws.normal_law import NormalLaw
from scorebars.measured import Measured
from scorebars.score import Estimate, UndefinedEstimate

_NOTE = "a bias common to all labels cannot be told from a bias of the model"


class SignedAnswers(MeanLoss):
    """Mean of p - y; positive means that the model predicts too high."""

    def _forward(self, level: Level) -> Law:
        if self._store.plain or self._labels().errors.normal is not None:
            if level is PERFECT:
                return NormalLaw(0.0, math.sqrt(self._mean_error_variance(None)))
            return NormalLaw(self.expected, self.std)
        if level is PERFECT and math.isfinite(variance := self._mean_error_variance(None)):
            shift = weighted_mean(self._labels(), lambda y, p, errors: y - errors.mean(y))
            return NormalLaw(shift, math.sqrt(variance), "delta")
        return super()._forward(level)

    def _mean_error_variance(self, repeats: FloatArray | float | None) -> float:
        """Variance of the mean of the label errors, each label the mean of `repeats` (None: as those at hand are)."""
        if not self._store.kept:
            return self.std**2 / (1.0 if repeats is None else float(repeats))
        data = self._labels()
        own = data.errors.repeats if repeats is None else repeats
        return data.errors.variance_of_sum(data.labels, data.shares, own)

    def _back(self, level: Level) -> Estimate:
        old = self._mean_error_variance(None)
        if level is not TRUTH:
            std = math.sqrt(old + self._mean_error_variance(level.repeats))
            return Estimate(self.observed, std, method="unbiased", interval=Symmetric(self.observed, std))
        value, scatter = self._unbiased()
        std, total = math.sqrt(old), math.sqrt(scatter + self._shared_variance())
        return Estimate(
            value,
            std,
            method="unbiased",
            note=_NOTE,
            interval=Symmetric(value, std),
            total_interval=Symmetric(value, total, df=self._df),
        )

    def _unbiased(self) -> tuple[float, float]:
        """The bias against the truth, and its variance over test sets."""
        if not self._store.kept:
            return self.observed, self._item_variance()
        data = self._labels()
        if not np.all(np.isfinite(data.errors.unbiased_label(data.labels))):
            raise UndefinedEstimate(f"{data.errors!r} errors have no mean, so what they add cannot be taken off.")
        value = weighted_mean(data, lambda y, p, errors: p - errors.unbiased_label(y))
        return value, sampling_variance(data, lambda y, p, errors: p - errors.unbiased_label(y), value)

    def _remeasured(self, repeats: float) -> Estimate:
        return self._back(Level("remeasured", repeats))

    def _label_variance(self) -> float:
        if not self._store.kept:
            return self.std**2
        data = self._labels()
        return float(np.sum(np.square(data.shares) * data.errors.label_variance(data.labels), where=data.shares > 0))

    def _systematic_variance(self, data: Measured) -> float:
        return max(self._mean_error_variance(None) - self._label_variance(), 0.0)

    def warnings(self) -> list[str]:
        floor = self.perfect()
        low, high = floor.interval(0.95)
        if floor.std > 0 and low <= self.observed <= high:
            return ["the label errors alone would give a perfect model a bias as large as this one."]
        return []

    def noise_share(self) -> float:
        """The label errors' part in the size of the bias: std of a perfect model's bias over the observed bias."""
        std = self.perfect().std
        if self.observed == 0:
            return 0.0 if std == 0 else math.inf
        return min(std / abs(self.observed), math.inf)
