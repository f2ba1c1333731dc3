"""Answers of the mean of any loss under any error family."""

from __future__ import annotations

import math

import numpy as np

from scorebars.answers.bounds import WhateverTheResiduals, raised_by_noise
from scorebars.answers.extrapolation import level_variance, loss_at_level
from scorebars.answers.family_truth import family_mean
from scorebars.answers.intervals import OfLaw, Symmetric
from scorebars.answers.mean_loss import PERFECT, MeanLoss, sampling_variance
from scorebars.answers.npmle import MeanOfLoss, true_residuals
from scorebars.answers.npmle_bootstrap import Bootstrap
from scorebars.errors import Normal
from scorebars.errors.base import FloatArray
from scorebars.laws.additive import mean_law
from scorebars.laws.base import Law
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.correlated import correlated_variance
from scorebars.score import Estimate, UndefinedEstimate

_SUBSAMPLE = 1500
"""Above this many labels the variance of an extrapolated estimate is found from every k-th label."""
EXTRAPOLATED = "an estimate, since no unbiased one exists: extrapolated from more label error to none"
JUMPS = (
    "an estimate, since labels with errors do not tell how many true values lie just inside or outside; the intervals hold "
    "for any true residuals, more often than their level"
)
FEW_LABELS = (
    f"{EXTRAPOLATED}; the labels show no law of the true residuals, so its intervals hold whatever that law is: they are "
    "wide and hold more often than their level"
)
MOST_LIKELY = "an estimate, since no unbiased one exists: from the most likely law of the true residuals"
MANY_LAWS = (
    "an estimate from a smooth law of the true residuals, since labels with errors do not determine a loss that jumps; "
    "its intervals hold what all laws that fit the labels give, so they are wide and hold more often than their level"
)


class GenericAnswers(MeanLoss):
    """Mean of any loss: the law is drawn where it has no formula, the truth is found by deconvolution."""

    _perfect: Estimate | None = None

    def _law(self, data: Measured) -> Law:
        y, p = np.asarray(data.y, float), np.asarray(data.p, float)
        return mean_law(self.loss, data.errors, y, p, data.shares, self._totals.std**2)

    # against the truth -------------------------------------------------------------------------

    def _truth(self, data: Measured) -> Estimate:
        """By the most likely law of the true residuals where the loss is one of residuals, else extrapolated."""
        if not isinstance(data.errors, Normal) and self.loss.continuous and (found := self._family_truth(data)):
            return found
        residuals = true_residuals(data) if self.loss.of_residual else None
        if residuals is None:
            return self._extrapolated(data)
        low, high = self.declaration.low, self.declaration.high
        mean = MeanOfLoss(residuals, self.loss, self._unit, low, high)
        return Estimate(
            min(max(mean.value, low), high),
            mean.std,
            method=residuals.method,
            note=f"{MOST_LIKELY if self.loss.continuous else MANY_LAWS}; {residuals.note}",
            interval=mean.interval,
            total_interval=mean.total_interval,
            bootstrap=Bootstrap(mean, data),
        )

    def _family_truth(self, data: Measured) -> Estimate | None:
        """With the density of a family that is not normal; None where labels are few."""
        low, high = self.declaration.low, self.declaration.high
        mean = family_mean(self.loss, data, self._unit, low, high)
        if mean is None or not math.isfinite(mean.value):
            return None
        return Estimate(
            min(max(mean.value, low), high),
            mean.std,
            method="npmle",
            note=MOST_LIKELY,
            interval=mean.interval,
            total_interval=mean.total_interval,
        )

    def _extrapolated(self, data: Measured) -> Estimate:
        value, std = self._at_level(data, -1.0)
        if not math.isfinite(value):
            raise UndefinedEstimate(
                f"the loss has no finite mean under {data.errors!r} errors, so it cannot be extrapolated to labels without "
                "error. observed is the score on the labels as they are."
            )
        terms = ((loss_at_level(self.loss, e, y, p, -1.0), w) for y, p, e, w in data.blocks())
        total = math.hypot(
            math.sqrt(sampling_variance(terms, value, data)), std if not data.errors.independent else 0.0
        )
        low, high = (self._out_of_units(end) for end in (self.declaration.low, self.declaration.high))
        interval = Symmetric(value, std, low, high)
        population = Symmetric(value, total, low, high, max(data.n - 1, 1))
        kept = min(max(value, low), high)
        if self.loss.of_residual and isinstance(data.errors, Normal):
            return self._estimate(kept, std, "simex", *self._whatever_the_residuals(data, kept), FEW_LABELS)
        spread = bool(np.all(np.isfinite(data.errors.variance(np.asarray(data.y, float)))))
        if self.loss.of_residual and not self.loss.continuous and spread:
            return self._estimate(kept, std, "simex", *self._whatever_the_residuals(data, kept), JUMPS)
        return self._estimate(kept, std, "simex", interval, population, EXTRAPOLATED)

    def _whatever_the_residuals(
        self, data: Measured, value: float
    ) -> tuple[WhateverTheResiduals, WhateverTheResiduals]:
        """Intervals, of the items and of the population, that hold for any law of the true residuals."""
        sd = np.sqrt(data.errors.label_variance(np.asarray(data.y, float)))
        raised = raised_by_noise(self.loss, data.residual, sd, data.shares)
        low, high = (self._out_of_units(end) for end in (self.declaration.low, self.declaration.high))
        terms = ((self.loss(y, p), w) for y, p, _, w in data.blocks())
        sampled = sampling_variance(terms, self._totals.observed, data)
        label_std = self._label_std(data)
        total = math.sqrt(sampled + self._shared_variance(data))
        ends = (self._totals.observed, value, raised)
        return (
            WhateverTheResiduals(*ends, label_std, low, high),
            WhateverTheResiduals(*ends, total, low, high, max(data.items - 1, 1)),
        )

    def _label_std(self, data: Measured) -> float:
        """Of the score when the labels, means of repeats if they are, move within their errors."""
        own = data.errors.label_level() if isinstance(data.errors, Normal) else data.errors
        spread = label_moments(self.loss, own, np.asarray(data.y, float), np.asarray(data.p, float)).variance
        alone = float(np.sum(np.square(data.shares) * spread, where=data.shares > 0))
        return math.sqrt(alone * self._inflation(data))

    def _remeasured(self, data: Measured, repeats: float) -> Estimate:
        """Smoothed by the difference of fresh and present error variance; extrapolated where that is negative."""
        y, p = np.asarray(data.y, float), np.asarray(data.p, float)
        old, fresh = data.errors.label_variance(y), data.errors.variance_of_mean(y, repeats)
        with np.errstate(divide="ignore", invalid="ignore"):
            level = np.where(old > 0, np.where(np.isfinite(old), fresh / old, data.errors.repeats / repeats) - 1.0, 0.0)
        if math.isinf(repeats):
            return self._truth(data)
        value, carried = self._at_level(data, level)
        if not math.isfinite(value):
            raise UndefinedEstimate(f"the loss has no finite mean at this noise level under {data.errors!r} errors.")
        new = self._fresh_variance(data, level + 1.0, y, p)
        std = math.sqrt(new + carried * carried)
        method = "unbiased" if np.all(level == 0) else "simex" if np.any(level < 0) else "smoothed"
        low, high = (self._out_of_units(end) for end in (self.declaration.low, self.declaration.high))
        return self._estimate(min(max(value, low), high), std, method, Symmetric(value, std, low, high))

    def _fresh_variance(self, data: Measured, share: FloatArray, y: FloatArray, p: FloatArray) -> float:
        """Variance of the score over fresh labels, each with this share of the error variance of the label at hand."""
        if np.all(share == 1):
            model, centre = data.errors.label_level() if isinstance(data.errors, Normal) else data.errors, y
        else:
            model, centre = data.errors.noisier(y, share)
        variance = label_moments(self.loss, model, centre, p).variance
        return float(np.sum(np.square(data.shares) * variance, where=data.shares > 0)) * self._inflation(data)

    def perfect(self) -> Estimate:
        if self._perfect is None:
            law = self.scaled_perfect_law()
            self._perfect = self._estimate(float(law.mean), float(law.std), law.method, OfLaw(law), note=PERFECT)
        return self._perfect

    def __getstate__(self) -> dict[str, object]:
        """What was found already can be found again, and does not travel."""
        return {**self.__dict__, "_perfect": None}

    def scaled_perfect_law(self) -> Law:
        """The law of a perfect model's score, in the units of the scaled data."""
        data = self._scaled_data()
        errors = data.errors.label_level() if isinstance(data.errors, Normal) else data.errors
        y, variance = np.asarray(data.y, float), None
        if not errors.independent:
            variance = correlated_variance(self.loss, Measured(y, y, errors, data.weight, data.outputs))
        return mean_law(self.loss, errors, y, y, data.shares, variance)

    # noise levels ------------------------------------------------------------------------------

    def _at_level(self, data: Measured, level: FloatArray | float) -> tuple[float, float]:
        """The mean loss at another noise level, and its std when the labels at hand move within their errors."""
        level = np.broadcast_to(level, (data.n,))
        parts, start = [], 0
        for y, p, errors, weight in data.blocks():
            terms = loss_at_level(self.loss, errors, y, p, level[start : start + len(y)])
            start += len(y)
            parts.append(float(np.add.reduce(terms if weight is None else np.where(weight > 0, weight * terms, 0.0))))
        value = math.fsum(parts) / data.total_weight
        pick = slice(None, None, max(1, data.n // _SUBSAMPLE))
        y, p, a = np.asarray(data.y[pick], float), np.asarray(data.p[pick], float), data.shares[pick]
        spread = level_variance(self.loss, data.errors[pick], y, p, level[pick])
        with np.errstate(invalid="ignore"):
            variance = float(np.sum(np.where(a > 0, np.square(a) * spread, 0.0))) * data.n / len(y)
        return value, math.sqrt(variance * self._inflation(data))

    def _inflation(self, data: Measured) -> float:
        """How much correlation raises the variance of the score over that of independent errors."""
        if data.errors.independent:
            return 1.0
        own = label_moments(self.loss, data.errors, np.asarray(data.y, float), np.asarray(data.p, float)).variance
        alone = float(np.sum(np.square(data.shares) * own, where=data.shares > 0))
        return self._totals.std**2 / alone if 0 < alone < math.inf else 1.0

    def _out_of_units(self, value: float) -> float:
        return value / self._unit if math.isfinite(value) else value

    # direction ---------------------------------------------------------------------------------

    def noise_share(self) -> float:
        """How far label error alone keeps a perfect model from the ideal score, over how far the observed one is."""
        data = self._scaled_data()
        errors = data.errors.label_level() if isinstance(data.errors, Normal) else data.errors
        y, a = np.asarray(data.y, float), data.shares
        ideal = self.loss(y, y)
        floor = abs(float(np.sum(a * (label_moments(self.loss, errors, y, y).mean - ideal), where=a > 0)))
        observed = abs(self._totals.observed - float(np.sum(a * ideal)))
        if observed == 0:
            return 0.0 if floor == 0 else math.inf
        return floor / observed

    def warnings(self) -> list[str]:
        low, high = self.perfect().interval(0.99)
        better = self.observed > high if self.declaration.greater_is_better else self.observed < low
        if better:
            where = "above the noise ceiling" if self.declaration.greater_is_better else "below the noise floor"
            return [
                f"the observed score is {where}: the label errors are overstated, or the model has seen these labels."
            ]
        if self.noise_share() > 0.5:
            return ["more than half of the observed error is label error: better labels would tell more."]
        return []


class SquaredLogAnswers(GenericAnswers):
    """Mean of a squared difference of logarithms, whose root is a metric too."""

    def root_moments(self) -> tuple[float, float] | None:
        """Mean and std of the root, where sums tell them; here the law has to."""
        return None

    def scaled_law(self) -> Law:
        """The law in the units of the scaled data."""
        return self._law(self._scaled_data())

    @property
    def length_unit(self) -> float:
        """Logarithms have no unit."""
        return 1.0

    @property
    def scaled_observed(self) -> float:
        return self._totals.observed
