"""Answers of the mean of a loss over labels with errors.

At `expected` and `perfect` (forward) the distribution is exact or drawn. At `truth` and `remeasured` (back) an estimate
comes from the most likely law of the true residuals, or is extrapolated. Losses with better formulas override one or the
other: the absolute error here, `signed`, `squared` and `within_answers` in files of their own.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Self

import numpy as np

from scorebars.answers.base import Answers, of_law
from scorebars.answers.evidence import (
    Evidence,
    Terms,
    Totals,
    one_pass,
    sampling_variance,
    weighted_mean,
    weighted_terms,
)
from scorebars.answers.intervals import Symmetric
from scorebars.answers.level import EXPECTED, PERFECT, TRUTH, Level, remeasured
from scorebars.answers.linear import in_units
from scorebars.answers.truth.bounds import WhateverTheResiduals, raised_by_noise
from scorebars.answers.truth.extrapolation import level_variance, loss_at_level
from scorebars.answers.truth.family_truth import family_mean
from scorebars.answers.truth.npmle import MeanOfLoss, true_residuals
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.laws import from_summary
from scorebars.laws.folded.folded_correlated import correlated_law, shared_law
from scorebars.laws.folded.folded_mean import FoldedNormalMean
from scorebars.laws.law import Law
from scorebars.laws.mean_loss_law import mean_law
from scorebars.losses import Loss, RootLoss
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.closed_forms import folded_part, label_part, why_infinite
from scorebars.moments.correlated import correlated_variance
from scorebars.numerics.special import standardised
from scorebars.score import Declaration, Estimate, UndefinedEstimate

_OWN_SUBSAMPLE = 20_000
"""Above this many labels the part of the label errors is found from every k-th label."""
_LEVEL_SUBSAMPLE = 1500
"""Above this many labels the variance of an extrapolated estimate is found from every k-th label."""
EXTRAPOLATED = "an estimate, since no unbiased one exists: extrapolated from more label error to none"
JUMPS = (
    "an estimate, since labels with errors do not tell how many true values lie just inside or outside; the intervals hold "
    "for any true residuals, more often than their level"
)
FEW_LABELS = (
    f"{EXTRAPOLATED}; the labels are too few to show how the true residuals are distributed, so its intervals hold for any "
    "distribution: they are wide and hold more often than their level"
)
MOST_LIKELY = "an estimate, since no unbiased one exists: from the most likely distribution of the true residuals"
MANY_LAWS = (
    "an estimate from a smooth distribution of the true residuals, since labels with errors do not determine a loss that "
    "jumps; its intervals hold what all distributions that fit the labels give, so they are wide and hold more often than "
    "their level"
)


class MeanLoss(Answers):
    """Weighted mean of any loss of labels and predictions."""

    def __init__(self, declaration: Declaration, loss: Loss, store: Evidence, totals: Totals | None = None) -> None:
        self.declaration, self.loss, self.n, self.kind = declaration, loss, store.n, store.kind
        self._store = store
        self.observed, self.expected, self._std, _ = store.totals(loss) if totals is None else totals

    @classmethod
    def of(cls, declaration: Declaration, loss: Loss, data: Measured) -> Answers:
        """The answers for checked data."""
        inner, unit = cls.in_ordinary_units(declaration, loss, data)
        return inner if unit == 1.0 else in_units(inner, *(unit,) * (loss.degree or 0))

    @classmethod
    def in_ordinary_units(cls, declaration: Declaration, loss: Loss, data: Measured) -> tuple[Self, float]:
        """The answers for data divided by a power of two where powers of them would leave the doubles; and that power."""
        found = one_pass(loss, data)
        kept = data if found.scale == 1.0 else data.scaled(found.scale)
        return cls(declaration, loss, Evidence(kept), found), found.scale

    @property
    def std(self) -> float:
        return self._std

    @property
    def repeats(self) -> FloatArray | float:
        return self._store.repeats

    def _labels(self, what: str = "with this answer") -> Measured:
        return self._store.labels(f"the {self.declaration.title.lower()} {what}")

    # forward -----------------------------------------------------------------------------------

    def law(self) -> Law:
        return self._forward(EXPECTED)

    def perfect(self) -> Estimate:
        return of_law(self._perfect_law)

    @cached_property
    def _perfect_law(self) -> Law:
        return self._forward(PERFECT)

    def _forward(self, level: Level) -> Law:
        """The distribution at the noise level `expected` or `perfect`."""
        data = self._labels("and its distribution")
        y, errors = data.labels, level.errors(data.errors)
        p = data.predictions if level is EXPECTED else y
        variance = None
        if not errors.independent:
            there = Measured(y, p, errors, data.weight, data.outputs)
            variance = self.std**2 if level is EXPECTED else correlated_variance(self.loss, there)
        return mean_law(self.loss, errors, y, p, data.shares, variance)

    def _ideal(self) -> float:
        if self.declaration.degree is not None or not self._store.kept:
            return self.declaration.perfect
        data = self._labels()  # the loss of a user need not vanish where label and prediction agree
        return weighted_mean(data, lambda y, p, _: self.loss(y, y))

    # back --------------------------------------------------------------------------------------

    def _truth(self) -> Estimate:
        return self._back(TRUTH)

    def _remeasured(self, repeats: float) -> Estimate:
        level = remeasured(repeats)
        if not self._store.kept and repeats == 1:  # the same process once more: what was seen is the best forecast
            std = math.sqrt(2.0) * self.std
            return Estimate(self.observed, std, method="unbiased", interval=Symmetric(self.observed, std, *self._range))
        return self._back(TRUTH if math.isinf(repeats) and self._store.independent else level)

    def _back(self, level: Level) -> Estimate:
        """The estimate at the noise level `truth` or `remeasured`."""
        if level is TRUTH:
            data = self._labels("against the truth")
            mean = self._mean_of_true_residuals(data)
            return self._extrapolated(data) if mean is None else self._most_likely(data, mean)
        data = self._labels("of labels with less error")
        value, carried, method = self._at(data, level)
        if not math.isfinite(value):
            raise UndefinedEstimate(f"the loss has no finite mean at this noise level under {data.errors!r} errors.")
        std = math.hypot(math.sqrt(self._fresh_variance(data, level.relative(data.errors, data.labels) + 1.0)), carried)
        low, high = self._range
        return Estimate(min(max(value, low), high), std, method=method, interval=Symmetric(value, std, *self._range))

    def _mean_of_true_residuals(self, data: Measured) -> MeanOfLoss | None:
        """By the most likely law of the true residuals; None where labels are few or their errors do not allow it."""
        if data.errors.normal is None and self.loss.continuous:
            found = family_mean(self.loss, data, *self._range)
            if found is not None and math.isfinite(found.value):
                return found
        residuals = true_residuals(data) if self.loss.of_residual else None
        return None if residuals is None else MeanOfLoss(residuals, self.loss, *self._range)

    def _most_likely(self, data: Measured, mean: MeanOfLoss) -> Estimate:
        low, high = self._range
        notes = [self._likely_note(data), mean.note]
        return Estimate(
            min(max(mean.value, low), high),
            mean.std,
            method=mean.residuals.method,
            note="; ".join(note for note in notes if note),
            interval=mean.interval,
            total_interval=mean.total_interval,
            bootstrap=mean.bootstrap_of(data),
        )

    def _likely_note(self, data: Measured) -> str:
        return MOST_LIKELY if self.loss.continuous else MANY_LAWS

    def _few_note(self, data: Measured) -> str:
        return FEW_LABELS

    def _extrapolated(self, data: Measured) -> Estimate:
        value, std, _ = self._at(data, TRUTH)
        if not math.isfinite(value):
            raise UndefinedEstimate(
                f"the loss has no finite mean under {data.errors!r} errors, so it cannot be extrapolated to labels without "
                "error. observed is the score on the labels as they are."
            )
        low, high = self._range
        kept, note, normal = min(max(value, low), high), EXTRAPOLATED, data.errors.normal is not None
        spread = normal or bool(np.all(np.isfinite(data.errors.variance(data.labels))))
        if self.loss.of_residual and (normal or (spread and not self.loss.continuous)):
            intervals = self._whatever_the_residuals(data, kept)
            note = self._few_note(data) if normal else JUMPS
            return Estimate(kept, std, method="simex", note=note, interval=intervals[0], total_interval=intervals[1])

        def terms(y: FloatArray, p: FloatArray, errors: MeasurementError) -> FloatArray:
            return loss_at_level(self.loss, errors, y, p, -1.0)

        total = math.hypot(math.sqrt(sampling_variance(data, terms, value)), 0.0 if data.errors.independent else std)
        return Estimate(
            kept,
            std,
            method="simex",
            note=note,
            interval=Symmetric(value, std, low, high),
            total_interval=Symmetric(value, total, low, high, self._df),
        )

    def _whatever_the_residuals(
        self, data: Measured, value: float
    ) -> tuple[WhateverTheResiduals, WhateverTheResiduals]:
        """Intervals, of the items and of the population, that hold for any law of the true residuals."""
        y = data.labels
        raised = raised_by_noise(self.loss, data.residual, np.sqrt(data.errors.label_variance(y)), data.shares)
        spread = label_moments(self.loss, data.errors.label_level(), y, data.predictions).variance
        label_std = math.sqrt(_squared_shares(data, spread) * self._inflation(data))
        total = math.sqrt(self._item_variance() + self._shared_variance())
        ends = (self.observed, value, raised)
        return (
            WhateverTheResiduals(*ends, label_std, *self._range),
            WhateverTheResiduals(*ends, total, *self._range, self._df),
        )

    def _at(self, data: Measured, level: Level) -> tuple[float, float, str]:
        """The mean loss at another noise level, its std from the errors of the labels at hand, and the method."""

        def terms(y: FloatArray, p: FloatArray, errors: MeasurementError) -> FloatArray:
            return loss_at_level(self.loss, errors, y, p, level.relative(errors, y))

        value = weighted_mean(data, terms)
        pick = slice(None, None, max(1, data.n // _LEVEL_SUBSAMPLE))
        y, p, a, errors = data.labels[pick], data.predictions[pick], data.shares[pick], data.errors[pick]
        relative = level.relative(errors, y)
        spread = level_variance(self.loss, errors, y, p, relative)
        with np.errstate(invalid="ignore"):
            variance = float(np.sum(np.where(a > 0, np.square(a) * spread, 0.0))) * data.n / len(y)
        method = "unbiased" if np.all(relative == 0) else "simex" if np.any(relative < 0) else "smoothed"
        return value, math.sqrt(variance * self._inflation(data)), method

    def _fresh_variance(self, data: Measured, share: FloatArray) -> float:
        """Variance of the score over fresh labels, each with this share of the error variance of the label at hand."""
        y = data.labels
        model, centre = (data.errors.label_level(), y) if np.all(share == 1) else data.errors.noisier(y, share)
        variance = label_moments(self.loss, model, centre, data.predictions).variance
        return _squared_shares(data, variance) * self._inflation(data)

    def _inflation(self, data: Measured) -> float:
        """How much correlation raises the variance of the score over that of independent errors."""
        if data.errors.independent:
            return 1.0
        alone = _squared_shares(data, label_moments(self.loss, data.errors, data.labels, data.predictions).variance)
        return self.std**2 / alone if 0 < alone < math.inf else 1.0

    # the test set as a sample ------------------------------------------------------------------

    def influences(self) -> FloatArray:
        """The share of each label times its loss less the mean loss."""
        data = self._labels("of single items")

        def losses(y: FloatArray, p: FloatArray, errors: MeasurementError) -> FloatArray:
            return label_moments(self.loss, errors, y, p).mean if self._berkson else self.loss(y, p)

        terms: Terms = losses
        return data.shares * (np.concatenate([x for x, _ in weighted_terms(data, terms)]) - self._centre)

    def _item_variance(self) -> float:
        if not math.isfinite(self._centre):
            return math.inf
        return self._store.scatter(self.loss, self._berkson, self._centre)

    def _label_variance(self) -> float:
        """As if the errors of the labels were independent; very many labels are represented by every k-th."""
        data = self._labels("of single labels")
        pick = slice(None, None, max(1, data.n // _OWN_SUBSAMPLE))
        counts = np.flatnonzero(data.shares[pick] > 0)
        y, p, a = (column[pick][counts] for column in (data.labels, data.predictions, data.shares))
        with np.errstate(invalid="ignore"):
            part = np.square(a) * label_part(self.loss, data.errors[pick][counts], y, p)
        total = float(np.sum(part)) * data.n / len(data.shares[pick])
        return math.inf if math.isnan(total) else max(total, 0.0)

    def _shared_variance(self) -> float:
        if self._store.independent:
            return 0.0
        return self.std**2 if self._berkson else self._systematic_variance(self._labels())

    def _systematic_variance(self, data: Measured) -> float:
        """What correlated errors add to the variance of the observed score."""
        return max(self.std**2 * (1.0 - 1.0 / self._inflation(data)), 0.0)

    def root_exists(self) -> bool:
        """Whether the root of the metric has a mean: it has if the root of each label's loss has one."""
        if math.isfinite(self.expected):
            return True
        data = self._labels()
        roots = label_moments(RootLoss(self.loss), data.errors, data.labels, data.predictions)
        return bool(np.all(np.isfinite(roots.mean[data.shares > 0])))

    def why_undefined(self) -> str:
        data = self._labels()
        return why_infinite(self.loss, data.errors, data.labels, data.predictions)


class AbsoluteAnswers(MeanLoss):
    """Mean of |y - p|. No unbiased estimate of it against the truth exists, since |.| has a kink."""

    def _forward(self, level: Level) -> Law:
        summary = self._store.summary("absolute")
        if summary is not None:
            return from_summary.absolute_law(summary, perfect=level is PERFECT)
        data = self._labels()
        residual = data.residual if level is EXPECTED else np.zeros(data.n)
        errors = (data.errors if level is EXPECTED else data.errors.absolute_level()).normal
        if errors is None:
            return super()._forward(level)
        if errors.cov is not None:
            return correlated_law(residual, errors.cov, data.weight)
        if errors.shared is not None:
            return shared_law(residual, np.broadcast_to(errors.sigma, (data.n,)), errors.shared, data.weight)
        return FoldedNormalMean(residual, errors.absolute_sd, data.weight)

    def _at(self, data: Measured, level: Level) -> tuple[float, float, str]:
        """Labels with less error than those at hand: by the law of the true residuals where the labels show it."""
        present = np.asarray(data.errors.repeats, dtype=np.float64)
        if level.repeats is not None and float(np.ptp(present)) == 0 and np.all(level.repeats > present.flat[0]):
            residuals = true_residuals(data)
            if residuals is not None:
                mean = MeanOfLoss(residuals, self.loss, fresh=float(present.flat[0] / np.max(level.repeats)))
                return mean.value, mean.std(), "npmle"
        return super()._at(data, level)

    def _label_variance(self) -> float:
        if not self._store.kept:
            summary = self._store.summary("absolute")
            assert summary is not None
            return from_summary.absolute_label_part(summary)
        data = self._labels()
        if data.errors.normal is None:
            return super()._label_variance()
        sd = np.sqrt(data.errors.label_variance(data.labels))
        return float(np.sum(np.square(data.shares * sd) * folded_part(standardised(data.residual, sd))))

    def _likely_note(self, data: Measured) -> str:
        return self._bounds(data) if data.errors.normal is not None else super()._likely_note(data)

    def _few_note(self, data: Measured) -> str:
        return f"{self._bounds(data)}; the intervals hold for any true residuals, more often than their level"

    def _bounds(self, data: Measured) -> str:
        """For any true residuals: E observed - sqrt(2/pi) mean s <= truth <= E observed, and truth <= sqrt(MSE)."""
        reach = math.sqrt(2 / math.pi) * float(np.sum(data.shares * np.sqrt(data.errors.label_variance(data.labels))))
        return (
            f"an estimate, since no unbiased one exists; whatever the true residuals, up to the scatter of the "
            f"observed score {max(self.observed - reach, 0.0):.4g} <= truth <= {self.observed:.4g}"
        )


def _squared_shares(data: Measured, values: FloatArray) -> float:
    """sum a^2 x over the labels that count."""
    return float(np.sum(np.square(data.shares) * values, where=data.shares > 0))
