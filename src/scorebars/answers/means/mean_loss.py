"""Answers of the mean of a loss over labels with errors: any loss, then the absolute and signed error, and shares within.

At `expected` and `perfect` (forward) the distribution is exact or drawn. At `truth` and `remeasured` (back) an estimate
comes from the most likely law of the true residuals, or is extrapolated. Losses with better formulas override one or the
other; those of the squared error have a file of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from scorebars.answers.base import EXPECTED, PERFECT, TRUTH, Answers, Level, of_law
from scorebars.answers.combined import in_ordinary_units
from scorebars.answers.evidence import (
    Evidence,
    losses_of,
    sampling_variance,
    totals_of,
    unit_and_sums,
    variance_of_mean,
    weighted_mean,
    weighted_terms,
)
from scorebars.answers.intervals import IntervalAt, Symmetric, next_share
from scorebars.answers.limited import LimitedLoss
from scorebars.answers.score import Declaration, Estimate, UndefinedEstimate
from scorebars.answers.size_errors import NumberOf, halved_change
from scorebars.answers.truth.extrapolation import for_any_residuals, level_variance, loss_at_level, raised_by_noise
from scorebars.answers.truth.true_residuals import MeanOfLoss, mean_of_family, true_residuals, with_shrunk_sizes
from scorebars.arrays import FloatArray
from scorebars.engines.class_counts import rows_of
from scorebars.errors import MeasurementError
from scorebars.laws import from_cumulants, from_summary
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.law import Law, NormalLaw
from scorebars.laws.mean_absolute.correlated_labels import correlated_law, shared_law
from scorebars.laws.mean_absolute.independent_labels import FoldedNormalMean
from scorebars.laws.mean_loss_law import mean_law
from scorebars.losses import Loss, Pinball, RootLoss, Within
from scorebars.measured import Measured
from scorebars.moments import label_moments
from scorebars.moments.closed_forms import folded_part, label_part, why_infinite
from scorebars.numerics.special import standardised

_OWN_SUBSAMPLE = 20_000
"""Above this many labels the part of the label errors is found from every k-th label."""
_LEVEL_SUBSAMPLE = 500
"""Above this many labels the variance of an extrapolated estimate is found from every k-th label."""
_EXTRAPOLATED = "an estimate, since no unbiased one exists: extrapolated from more label error to none"
_JUMPS = (
    "an estimate, since labels with errors do not tell how many true values lie just inside or outside; the intervals hold "
    "for any true residuals, more often than their level"
)
_FEW_LABELS = (
    f"{_EXTRAPOLATED}; the labels are too few to show how the true residuals are distributed, so its intervals hold for any "
    "distribution: they are wide and hold more often than their level"
)
_MOST_LIKELY = "an estimate, since no unbiased one exists: from the most likely distribution of the true residuals"
_MANY_LAWS = (
    "an estimate from a smooth distribution of the true residuals, since labels with errors do not determine a loss that "
    "jumps; its intervals hold what all distributions that fit the labels give, so they are wide and hold more often than "
    "their level"
)
_NO_BEST_QUANTILE = "a quantile of level {alpha:g} has no best prediction: any that is {side} all labels has no loss."
_NOT_TOLD_APART = "a bias common to all labels cannot be distinguished from a bias of the model"


def in_their_unit(make: Callable[[Evidence], Answers], loss: Loss, data: Measured, degree: int | None) -> Answers:
    """The answers in the user's unit, made in one in which powers stay in range; they grow with its degree-th power."""
    data = data if data.plain_normal or not loss.of_residual else data.of_difference()
    data, unit, sums = unit_and_sums(loss, data)
    if unit == 1.0 or not loss.degree:
        return make(Evidence(data, totals=sums))
    return in_ordinary_units(lambda data: make(Evidence(data)), data, unit, degree)


class MeanLoss(Answers):
    """Weighted mean of any loss of labels and predictions."""

    std: float = 0.0

    def __init__(self, declaration: Declaration, loss: Loss, evidence: Evidence) -> None:
        self.declaration, self.loss, self.n, self.kind = declaration, loss, evidence.n, evidence.kind
        self._evidence, self.repeats = evidence, evidence.repeats
        self.observed, self.expected, self.std = evidence.totals(loss)

    @classmethod
    def of(cls, declaration: Declaration, loss: Loss, data: Measured) -> Answers:
        """The answers for checked data."""
        if data.limited:
            return LimitedLoss.of(partial(cls.of, declaration, loss), loss, data)
        return in_their_unit(partial(cls, declaration, loss), loss, data, loss.degree)

    def _in_memory(self) -> Measured | None:
        return self._evidence.data

    def _labels(self, what: str = "with this answer") -> Measured:
        return self._evidence.labels(f"the {self.declaration.title.lower()} {what}")

    # sizes of errors that are estimates themselves ----------------------------------------------

    _items_hold_sizes = False

    def _resized(self, factor: FloatArray | float) -> Answers:
        data = self._labels("with errors of another size")
        return type(self)(self.declaration, self.loss, Evidence(data.resized(factor)))

    def _size_std_apart(self, errors: MeasurementError, ask: NumberOf) -> float:
        """What the uncertain error size of each label adds: half the change of its mean loss across the error bar of that size.

        The mean loss is that if the label were redrawn once; its slope is near that of the loss against the truth.
        """
        square = variance_of_mean(self._labels(), partial(_squared_move, self.loss))
        assert errors.normal is not None and errors.normal.scatter is not None
        common = errors.normal.scatter.common_steps
        pooled = 0.0 if common is None else halved_change(self, common, ask)
        return math.hypot(0.0 if math.isnan(square) else math.sqrt(square), pooled)

    # forward -----------------------------------------------------------------------------------

    def law(self) -> Law:
        return self._forward(EXPECTED)

    def perfect(self) -> Estimate:
        return of_law(self._forward(PERFECT))

    def _forward(self, level: Level) -> Law:
        """The distribution at the noise level `expected` or `perfect`."""
        data = self._labels("and its distribution")
        y, errors = data.labels, level.errors(data.errors)
        mean, std = self.expected, self.std
        if level is not EXPECTED:
            data = data.changed(y=y, p=self._perfect_predictions(y, errors), errors=errors)
            _, mean, std = totals_of(self.loss, data)
        return mean_law(self.loss, errors, y, data.predictions, data.shares, mean, std * std)

    def _perfect_predictions(self, y: FloatArray, errors: MeasurementError) -> Any:
        """What a perfect model says of labels whose true values are y."""
        return y

    # back --------------------------------------------------------------------------------------

    def _truth(self) -> Estimate:
        return self._back(TRUTH)

    def _remeasured(self, repeats: float) -> Estimate:
        return self._back(Level("remeasured", repeats))

    def truth_terms(self, y: FloatArray, p: Any, errors: MeasurementError) -> tuple[FloatArray, FloatArray]:
        """The unbiased estimate of the true loss from each label, and its variance; NaN where there is none."""
        return np.full(len(y), math.nan), np.full(len(y), math.nan)

    def _same_process(self, level: Level) -> bool:
        """Whether fresh labels are single measurements, as those at hand are."""
        return level.repeats == 1 and bool(np.all(np.equal(self.repeats, 1)))

    def _back(self, level: Level) -> Estimate:
        """The estimate at the noise level `truth` or `remeasured`."""
        if self._same_process(level) and math.isfinite(self.observed):  # the best forecast is what was seen
            return self._symmetric(self.observed, math.sqrt(2.0) * self.std, "unbiased")
        if level is TRUTH or (level.repeats == math.inf and self._evidence.independent):
            data = self._labels("against the truth")
            mean = self._mean_of_true_residuals(data)
            return self._extrapolated(data) if mean is None else self._most_likely(data, mean)
        data = self._labels("of labels with less error")
        value, carried, method = self._at(data, level)
        if not math.isfinite(value):
            raise UndefinedEstimate(f"the loss has no finite mean at this noise level under {data.errors!r} errors.")
        std = math.hypot(math.sqrt(self._fresh_variance(data, level.relative(data.errors, data.labels) + 1.0)), carried)
        return Estimate(self._in_range(value), std, method=method, interval=Symmetric(value, std, *self._range))

    def _in_range(self, value: float) -> float:
        low, high = self._range
        return min(max(value, low), high)

    def _mean_of_true_residuals(self, data: Measured) -> MeanOfLoss | None:
        """By the most likely law of the true residuals; None where labels are few or their errors do not allow it."""
        data = with_shrunk_sizes(data, self.loss.continuous)
        if data.errors.normal is None and self.loss.continuous:
            found = mean_of_family(self.loss, data, *self._range)
            if found is not None and math.isfinite(found.value):
                return found
        residuals = true_residuals(data) if self.loss.of_residual else None
        return None if residuals is None else MeanOfLoss(residuals, self.loss, *self._range)

    def _most_likely(self, data: Measured, mean: MeanOfLoss) -> Estimate:
        notes = (self._notes(data)[0], mean.residuals.note)
        return Estimate(
            self._in_range(mean.value),
            mean.std,
            method=mean.residuals.method,
            note="; ".join(note for note in notes if note),
            interval=mean.interval,
            total_interval=mean.total_interval,
            bootstrap=mean.bootstrap_of(data),
        )

    def _notes(self, data: Measured) -> tuple[str, str]:
        """What to know of an estimate by the most likely law of true residuals, and of one from few labels."""
        return _MOST_LIKELY if self.loss.continuous else _MANY_LAWS, _FEW_LABELS

    def _extrapolated(self, data: Measured) -> Estimate:
        value, std, _ = self._at(data, TRUTH)
        if not math.isfinite(value):
            raise UndefinedEstimate(
                f"the loss has no finite mean under {data.errors!r} errors, so it cannot be extrapolated to labels without "
                "error. observed is the score on the labels as they are."
            )
        note, normal = _EXTRAPOLATED, data.errors.normal is not None
        spread = normal or bool(np.all(np.isfinite(data.errors.variance(data.labels))))
        intervals: tuple[IntervalAt, IntervalAt]
        bounded = self.loss.of_residual or self.loss.of_forecast
        if bounded and (normal or (spread and not self.loss.continuous)):
            note, intervals = self._notes(data)[1] if normal else _JUMPS, self._for_any_residuals(data, value)
        else:
            scatter = sampling_variance(data, lambda y, p, errors: loss_at_level(self.loss, errors, y, p, -1.0), value)
            total = math.hypot(math.sqrt(scatter), 0.0 if data.errors.independent else std)
            intervals = Symmetric(value, std, *self._range), Symmetric(value, total, *self._range, self._df)
        return Estimate(
            self._in_range(value), std, method="simex", note=note, interval=intervals[0], total_interval=intervals[1]
        )

    def _for_any_residuals(self, data: Measured, value: float) -> tuple[IntervalAt, IntervalAt]:
        """Intervals, of the items and of the population, that hold for any distribution of the true residuals."""
        sd, own = np.sqrt(data.label_variance), data.errors.label_level()
        least, most = raised_by_noise(self.loss, data, sd)
        label_std = math.sqrt(self._spread(data, own, data.labels) * self._inflation(data))
        total = math.sqrt(self._item_variance() + self._shared_variance())
        bounds = self.observed - most, self.observed - least
        both = partial(for_any_residuals, bounds, self._in_range(value), self._range)
        return partial(both, label_std, math.inf), partial(both, total, self._df)

    def _at(self, data: Measured, level: Level) -> tuple[float, float, str]:
        """The mean loss at another noise level, its std from the errors of the labels at hand, and the method."""
        value = weighted_mean(data, lambda y, p, e: loss_at_level(self.loss, e, y, p, level.relative(e, y)))
        few = data.thinned(_LEVEL_SUBSAMPLE)
        relative = level.relative(few.errors, few.labels)
        spread = level_variance(self.loss, few.errors, few.labels, few.predictions, relative)
        variance = _by_few(data, few, spread)
        method = "unbiased" if np.all(relative == 0) else "simex" if np.any(relative < 0) else "smoothed"
        return value, math.sqrt(variance * self._inflation(data)), method

    def _fresh_variance(self, data: Measured, share: FloatArray) -> float:
        """Variance of the score over fresh labels, each with this share of the error variance of the label at hand."""
        y = data.labels
        model, centre = (data.errors.label_level(), y) if np.all(share == 1) else data.errors.noisier(y, share)
        return self._spread(data, model, centre) * self._inflation(data)

    def _spread(self, data: Measured, errors: MeasurementError, y: FloatArray) -> float:
        """Variance of the mean loss if labels err like this about y, each on its own."""
        return _squared_shares(data, label_moments(self.loss, errors, y, data.predictions).variance)

    def _inflation(self, data: Measured) -> float:
        """How much correlation raises the variance of the score over that of independent errors."""
        if data.errors.independent:
            return 1.0
        alone = self._spread(data, data.errors, data.labels)
        return self.std**2 / alone if 0 < alone < math.inf else 1.0

    # the test set as a sample ------------------------------------------------------------------

    def influences(self) -> FloatArray:
        """The share of each label times its loss less the mean loss."""
        data = self._labels("of single items")
        losses = [x for x, _ in weighted_terms(data, losses_of(self.loss, self._berkson))]
        return data.shares * (np.concatenate(losses) - self._centre)

    def _item_variance(self) -> float:
        if not math.isfinite(self._centre):
            return math.inf
        return self._evidence.scatter(self.loss, self._berkson, self._centre)

    def _label_variance(self) -> float:
        """As if the errors of the labels were independent; every k-th label stands for very many."""
        data = self._labels("of single labels")
        few = data.thinned(_OWN_SUBSAMPLE)
        total = _by_few(data, few, label_part(self.loss, few.errors, few.labels, few.predictions))
        return math.inf if math.isnan(total) else max(total, 0.0)

    def _shared_variance(self) -> float:
        if self._evidence.independent:
            return 0.0
        return self.std**2 if self._berkson else self._systematic_variance(self._labels())

    def _systematic_variance(self, data: Measured) -> float:
        """What correlated errors add to the variance of the observed score."""
        return max(self.std**2 * (1.0 - 1.0 / self._inflation(data)), 0.0)

    def root_moments(self) -> tuple[float, float] | None:
        """Mean and std of the root where sums over the labels tell them; None where the distribution has to."""
        return None

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


class CustomAnswers(MeanLoss):
    """Mean of a loss of the user's own."""

    def _ideal(self) -> float:
        """It need not vanish where label and prediction agree."""
        return weighted_mean(self._labels(), lambda y, p, _: self.loss(y, y))


class AbsoluteAnswers(MeanLoss):
    """Mean of |y - p|. No unbiased estimate of it against the truth exists, since |.| has a kink."""

    def _forward(self, level: Level) -> Law:
        perfect = level is PERFECT
        by_cumulants = partial(from_cumulants.absolute_law_of_cumulants, perfect=perfect)
        law = self._evidence.law_of_many("absolute", by_cumulants, partial(from_summary.absolute_law, perfect=perfect))
        if law is not None:
            return law
        data = self._labels()
        residual = data.residual if level is EXPECTED else np.zeros(data.n)
        errors = (data.errors if level is EXPECTED else data.errors.absolute_level()).normal
        if errors is None or errors.batches is not None:
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
            residuals = true_residuals(with_shrunk_sizes(data))
            if residuals is not None:
                mean = MeanOfLoss(residuals, self.loss, fresh=float(present.flat[0] / np.max(level.repeats)))
                return mean.value, mean.std(), "npmle"
        return super()._at(data, level)

    def _label_variance(self) -> float:
        if not self._evidence.kept and (summary := self._evidence.summary("absolute")) is not None:
            return from_summary.absolute_label_part(summary)
        data = self._labels()
        if data.errors.normal is None:
            return super()._label_variance()
        sd = np.sqrt(data.label_variance)
        return float(np.sum(np.square(data.shares * sd) * folded_part(standardised(data.residual, sd))))

    def _notes(self, data: Measured) -> tuple[str, str]:
        """For any true residuals: E observed - sqrt(2/pi) mean s <= truth <= E observed, and truth <= sqrt(MSE)."""
        if data.errors.normal is None:
            return super()._notes(data)
        reach = math.sqrt(2 / math.pi) * float(np.sum(data.shares * np.sqrt(data.label_variance)))
        bounds = (
            f"an estimate, since no unbiased one exists; whatever the true residuals, up to the scatter of the "
            f"observed score {max(self.observed - reach, 0.0):.4g} <= truth <= {self.observed:.4g}"
        )
        return bounds, f"{bounds}; the intervals hold for any true residuals, more often than their level"


class SignedAnswers(MeanLoss):
    """Mean of p - y; positive means that the model predicts too high."""

    _items_hold_sizes = True

    def _size_std_apart(self, errors: MeasurementError, ask: NumberOf) -> float:
        """Nothing: the estimate does not depend on the sizes."""
        return 0.0

    def _forward(self, level: Level) -> Law:
        if self._evidence.plain or self._labels().errors.normal is not None:
            if level is PERFECT:
                return NormalLaw(0.0, math.sqrt(self._mean_error_variance))
            return NormalLaw(self.expected, self.std)
        if level is PERFECT and math.isfinite(variance := self._mean_error_variance):
            shift = weighted_mean(self._labels(), lambda y, p, errors: y - errors.mean(y))
            return NormalLaw(shift, math.sqrt(variance), "delta")
        return super()._forward(level)

    @cached_property
    def _mean_error_variance(self) -> float:
        """Variance of the mean of the label errors."""
        return self._variance_at(self._labels().errors.repeats if self._evidence.kept else 1.0)

    def _variance_at(self, repeats: FloatArray | float) -> float:
        """Variance of the mean error of fresh labels, each the mean of `repeats` measurements."""
        if not self._evidence.kept:
            return self.std**2 / float(repeats)
        data = self._labels()
        return data.errors.variance_of_sum(data.labels, data.shares, repeats)

    def _back(self, level: Level) -> Estimate:
        old = self._mean_error_variance
        if level is not TRUTH:
            assert level.repeats is not None
            return self._symmetric(self.observed, math.sqrt(old + self._variance_at(level.repeats)), "unbiased")
        if not self._evidence.kept:
            value, scatter = self.observed, self._item_variance()
        else:
            data = self._labels()
            if not np.all(np.isfinite(data.errors.unbiased_label(data.labels))):
                raise UndefinedEstimate(f"{data.errors!r} errors have no mean, so what they add cannot be taken off.")
            value = weighted_mean(data, lambda y, p, errors: p - errors.unbiased_label(y))
            scatter = sampling_variance(data, lambda y, p, errors: p - errors.unbiased_label(y), value)
        total = math.sqrt(scatter + self._shared_variance())
        return self._symmetric(value, math.sqrt(old), "unbiased", total, _NOT_TOLD_APART)

    def _label_variance(self) -> float:
        if not self._evidence.kept:
            return self.std**2
        data = self._labels()
        return _squared_shares(data, data.label_variance)

    def _systematic_variance(self, data: Measured) -> float:
        return max(self._mean_error_variance - self._label_variance(), 0.0)

    def _about_noise(self) -> list[str]:
        low, high = self.floor.interval(0.95)
        if self.floor.std > 0 and low <= self.observed <= high:
            return ["the label errors alone would give a perfect model a bias as large as this one."]
        return []


class PinballAnswers(MeanLoss):
    """Mean pinball loss of predictions of one quantile."""

    loss: Pinball

    def _perfect_predictions(self, y: FloatArray, errors: MeasurementError) -> Any:
        alpha = self.loss.alpha
        if alpha in (0.0, 1.0):
            raise UndefinedEstimate(_NO_BEST_QUANTILE.format(alpha=alpha, side="above" if alpha else "below"))
        return errors.ppf(y, np.full(len(y), alpha))


class WithinAnswers(MeanLoss):
    """Share of labels that are predicted to within a tolerance."""

    loss: Within

    def _forward(self, level: Level) -> Law:
        counts = self._evidence.chances(self.loss.tolerance, perfect=level is PERFECT)
        if counts is None:
            return super()._forward(level)
        _, chance, count = rows_of(counts)
        if not np.any((chance > 0) & (chance < 1)):
            return NormalLaw(float(np.sum(count * chance)) / counts.n, 0.0)
        return ScaledLaw(PoissonBinomial(chance, count), 1.0 / counts.n)

    def _label_variance(self) -> float:
        """With the labels taken as true: a chance is not smoothed much by smoothing it once more."""
        if self._evidence.plain and np.all(np.equal(self._evidence.repeats, 1.0)):
            return self.std**2
        data = self._labels()
        return self._spread(data, data.errors.label_level(), data.labels)

    def _next_test_set(self, more: float) -> IntervalAt:
        if self._berkson:
            return super()._next_test_set(more)
        return next_share(self.observed, 1.0 / self._effective_number(), self.declaration, more)

    def _effective_number(self) -> float:
        """The number of single labels of equal weight that would scatter as much: outputs of one item are alike."""
        if not self._evidence.kept:
            return self.n
        data = self._labels()
        labels = 1.0 / float(np.sum(np.square(data.shares)))
        if data.outputs == 1:
            return labels
        share, variance = self.observed, self._item_variance()
        return min(labels, share * (1.0 - share) / variance) if 0 < variance < math.inf else labels / data.outputs


def _squared_move(loss: Loss, y: FloatArray, p: FloatArray, errors: MeasurementError) -> FloatArray:
    """The square of half the change of each label's mean loss across the error bar of its error size."""
    assert errors.normal is not None and errors.normal.scatter is not None
    label, step = errors.label_level(), errors.normal.scatter.own_steps
    more, less = (label_moments(loss, label.resized(np.maximum(1.0 + c * step, 0.0)), y, p).mean for c in (1.0, -1.0))
    with np.errstate(invalid="ignore"):
        change = (more - less) / 2
    return np.where(np.isfinite(change), np.square(change), 0.0)


def _squared_shares(data: Measured, values: FloatArray) -> float:
    """sum a^2 x over the labels that count."""
    with np.errstate(invalid="ignore"):
        return float(np.sum(np.square(data.shares) * values, where=data.shares > 0))


def _by_few(data: Measured, few: Measured, values: FloatArray) -> float:
    """sum a^2 x over all labels, from the values x of a few that stand for them."""
    return _squared_shares(few, values) * few.n / int(np.count_nonzero(data.shares))
