"""Answers of a metric of all labels together, which is not a mean over labels: correlations, R2, medians, maxima.

Three ways lead to the truth behind the labels. Metrics of two sums (R2, explained variance, Pearson, concordance) are
corrected sum by sum (`ratio_of_sums`). Medians and ranks are taken of values that scatter as the true ones do
(`stand_ins`). The largest error can only be bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import Answers, of_law
from scorebars.answers.clustered import groups_drawn_again, left_out_groups
from scorebars.answers.combined import in_ordinary_units
from scorebars.answers.evidence import Evidence, sums_of
from scorebars.answers.intervals import IntervalAt, Symmetric, half_width_in_std, next_order_statistic
from scorebars.answers.score import Declaration, Estimate, Interval, UndefinedEstimate
from scorebars.answers.size_errors import NumberOf
from scorebars.answers.together.ratio_of_sums import (
    RatioOfBoth,
    RatioOfLabels,
    RatioOfSummary,
    RatioOfSums,
    degrees_of_squares,
    on_its_scale,
)
from scorebars.answers.truth.stand_ins import StandIns, largest_truth, possible_truths
from scorebars.answers.truth.true_median import MedianOfResiduals
from scorebars.answers.truth.true_residuals import true_residuals, with_shrunk_sizes
from scorebars.arrays import FloatArray
from scorebars.engines import BadValues
from scorebars.engines.sums import NormalSums
from scorebars.errors import MeasurementError, Normal
from scorebars.laws.from_cumulants import explained_law
from scorebars.laws.from_summary import ratio_law
from scorebars.laws.law import Law, NormalLaw
from scorebars.laws.order.largest import mean_of_largest
from scorebars.laws.quadratic.ratio import RatioLaw
from scorebars.laws.samples import SampleLaw
from scorebars.measured import Measured, between, near_one
from scorebars.moments.label_noise import RatioKind, SumPair
from scorebars.numerics import FIXED_SEED

_DRAWS = 20_000
_PERFECT_DRAWS = 1_000
_CELLS = 20_000_000
_CACHED = 50_000
"""Numbers that are worked on together where one after the other would be slow for few labels."""
_ENOUGH_FOR_SUMS = 10_000
"""With fewer labels the sums never suffice."""

_Values = Callable[[FloatArray, FloatArray, FloatArray | None], FloatArray]
"""The classical metric of each row of labels (m, n) against predictions (n,) with weights (n,) or None."""


@dataclass(frozen=True)
class AllLabelsMetric:
    """What the answers need to know about a metric of all labels together."""

    declaration: Declaration
    values: _Values
    law: Callable[[Measured, Normal], Law] | None
    """Its distribution under independent normal errors; None where it has to be drawn."""
    pair: SumPair | None = None
    """The two sums that the metric is a function of; None for other metrics."""
    from_sums: Callable[[NormalSums], tuple[float, float, float] | None] | None = None
    """Observed value, mean and std from the engine's sums, or None where the distribution has to tell them."""
    ratio_law: type[RatioLaw] | None = None
    """Its distribution from bins of labels."""
    scale: RatioKind | None = None
    """Where it is closest to normal: "ratio" for correlations, "lost" for shares explained, None for errors."""
    rank: float | None = None
    """For the median or the largest absolute error: the share of the errors that lie below it, 1/2 or 1."""
    of_pairs: Callable[[FloatArray], float] | None = None
    """For a metric of the order: the metric from counts of pairs, where limits leave the order of some pairs unknown."""
    needs_variation: bool = False
    """Whether it is undefined, and taken as 0, where the predictions do not vary."""
    least: int = 1
    """The number of labels that it needs."""
    centred: bool = False
    """For an explained share: whether residuals are taken about their mean."""


class AllLabelsAnswers(Answers):
    """One metric of all labels together: rank correlations, and the share of the absolute error explained.

    Values that stand in for the true ones lead to the truth. Other metrics have families of their own, below.
    """

    std: float = 0.0

    def __init__(self, metric: AllLabelsMetric, evidence: Evidence, divided_by: float = 1.0) -> None:
        self._divided_by = divided_by
        """What the labels and predictions of the user were divided by."""
        self.declaration, self.n, self.kind = metric.declaration, evidence.n, evidence.kind
        self.metric, self._evidence, self.repeats = metric, evidence, evidence.repeats
        self.observed, self.expected, self.std = self._totals()

    def _totals(self) -> tuple[float, float, float]:
        """Observed value, mean and std."""
        data, law = self._data, self._own_law
        seen = float(self.metric.values(data.labels[None], data.predictions, data.weight)[0])
        return seen, seen if self._exact else float(law.mean), float(law.std)

    @staticmethod
    def of(metric: AllLabelsMetric, data: Measured) -> Answers:
        """The answers for checked data."""
        family = RatioAnswers if metric.pair is not None else AllLabelsAnswers
        if metric.rank is not None:
            family, data = OrderAnswers, data if data.plain_normal else data.of_difference()
        (data, unit), degree = _in_ordinary_unit(metric, data), metric.declaration.degree
        return in_ordinary_units(lambda data: family(metric, Evidence(data), unit), data, unit, degree)

    def _in_memory(self) -> Measured | None:
        return self._evidence.data

    @property
    def _data(self) -> Measured:
        """The labels; refuses those that were changed after the score was computed."""
        return self._evidence.labels(f"the {self.declaration.title} of single labels")

    @cached_property
    def _exact(self) -> bool:
        """Whether the labels have no error at all."""
        data = self._data
        return data.errors.error_free(data.labels)

    def of_rows(self, rows: NDArray[Any], predictions: NDArray[Any]) -> FloatArray:
        if self._divided_by != 1.0:
            rows, predictions = rows / self._divided_by, predictions / self._divided_by
        return np.asarray(self.metric.values(rows, predictions, self._data.weight), dtype=np.float64)

    # sizes of errors that are estimates themselves ----------------------------------------------

    def _resized(self, factor: FloatArray | float) -> Answers:
        evidence = Evidence(self._data.resized(factor))
        if self._berkson:  # the expected score is that against the truth
            return type(self)(self.metric, evidence)
        other = object.__new__(type(self))
        other.declaration, other.n, other.kind, other.repeats = self.declaration, self.n, self.kind, evidence.repeats
        other.metric, other._evidence = self.metric, evidence
        other.observed, other.expected = self.observed, self.expected
        return other

    # if labels were redrawn from their error bars ----------------------------------------------

    def law(self) -> Law:
        return self._own_law

    @cached_property
    def _own_law(self) -> Law:
        data = self._data
        return self._law_of(data.errors, data.labels, data.predictions, data.weight)

    def _law_of(self, errors: MeasurementError, y: FloatArray, p: FloatArray, weight: FloatArray | None) -> Law:
        """The distribution of the metric of predictions p when labels err like this about y."""
        if errors.error_free(y) or (self.metric.needs_variation and np.ptp(p) == 0):
            return NormalLaw(float(self.metric.values(y[None], p, weight)[0]), 0.0)
        if errors.plain_normal and errors.normal is not None and self.metric.law is not None:
            return self.metric.law(Measured(y, p, errors, weight), errors.normal)
        rng = np.random.default_rng(FIXED_SEED)
        count = int(min(_DRAWS, max(_CELLS // y.size, 1000)))
        step = max(1, _CELLS // 10 // y.size)
        sizes = (min(step, count - start) for start in range(0, count, step))
        return _of_draws([self.metric.values(*errors.sample_both(y, p, size, rng), weight) for size in sizes])

    # against the truth -------------------------------------------------------------------------

    @cached_property
    def _undefined(self) -> bool:
        """Whether the metric is undefined, and taken as 0, whatever the labels are."""
        return self.metric.needs_variation and float(np.ptp(self._data.predictions)) == 0

    @cached_property
    def _way(self) -> RatioOfSums | StandIns:
        """The way to the truth."""
        return self._stand_ins(self._data, follows=True)

    def _stand_ins(self, data: Measured, follows: bool) -> StandIns:
        return StandIns(data, self.metric.values, self.metric.scale, *self._range, follows=follows)

    def _check(self) -> None:
        """Refuse labels that were changed after the score was computed."""
        _ = self._data

    def _truth(self) -> Estimate:
        self._check()
        if self._exact or self._undefined:
            spread = 0.0 if self._undefined else self._item_std
            return self._without_error(Symmetric(self.observed, spread, *self._range, self._df))
        return self._corrected()

    def _corrected(self) -> Estimate:
        """The metric against the truth, where labels err and it is defined."""
        if self.metric.scale == "ratio":
            data = self._data
            labels, errors = data.errors.without_ties(data.labels)
            if errors is not data.errors:
                return self._stand_ins(data.changed(y=labels, errors=errors), follows=True).truth()
        return self._way.truth()

    def _remeasured(self, repeats: float) -> Estimate:
        self._check()
        if self._exact or self._undefined:
            return self._without_error(None)
        return self._way.remeasured(self.observed, repeats)

    def _without_error(self, total: IntervalAt | None) -> Estimate:
        nothing = Symmetric(self.observed, 0.0, *self._range)
        return Estimate(self.observed, 0.0, method="exact", interval=nothing, total_interval=total)

    def perfect(self) -> Estimate:
        self._check()
        if self._exact:
            return of_law(NormalLaw(self.declaration.perfect, 0.0))
        return of_law(self._perfect_law())

    def _perfect_law(self) -> Law:
        data = self._data
        errors, y, weight = data.errors, data.labels, data.weight
        rng, lost = np.random.default_rng(FIXED_SEED), self.metric.scale == "lost"
        count = int(min(_PERFECT_DRAWS, max(_CELLS // y.size, 100)))
        if lost or not np.all(np.isfinite(errors.variance(y))):
            own = errors.absolute_level() if lost else errors.label_level()
            truths = iter(2.0 * y - own.sample(y, count, rng))  # the labels show what the errors are divided by
        else:
            truths = possible_truths(y, errors, weight, count, rng)
        step, parts = max(1, _CACHED // y.size), []
        while block := list(islice(truths, step)):
            rows = np.stack(block)
            parts.append(self.metric.values(np.broadcast_to(y, rows.shape), rows, weight))
        return _of_draws(parts)

    # the test set as a sample ------------------------------------------------------------------

    @cached_property
    def _item_std(self) -> float:
        """Standard error over test sets, label errors included."""
        if self.n < 3:
            return math.inf
        return 0.0 if self._undefined else self._way.item_std

    def _item_variance(self) -> float:
        self._check()
        return self._item_std**2

    def influences(self) -> FloatArray:
        return np.zeros(self.n) if self._undefined else super().influences()

    def _group_values(self, codes: NDArray[np.intp] | None) -> float:
        """By leaving out each group in turn."""
        if self._undefined:
            return super()._group_values(codes)
        return self._item_variance() if codes is None else left_out_groups(self._of_items, codes)

    def _of_items(self, keep: NDArray[np.intp]) -> float:
        """The classical metric of some of the items."""
        data = self._data
        weight = None if data.weight is None else data.weight[keep]
        return float(self.metric.values(data.labels[None, keep], data.predictions[keep], weight)[0])

    def _label_variance(self) -> float:
        """That of the classical metric if the labels at hand were measured once more; 0 where that is not known."""
        if self._exact or self._undefined:
            return 0.0
        try:
            std = self._way.label_std
        except UndefinedEstimate:
            return 0.0
        return std**2 if math.isfinite(std) else 0.0

    @property
    def _centre(self) -> float:
        return self.expected if self._berkson and math.isfinite(self.expected) else self.observed

    def _berkson_population(self) -> IntervalAt:
        return self.total_interval

    def _next_test_set(self, more: float) -> IntervalAt:
        assert self.metric.scale is not None
        spread = math.sqrt(2.0 * (self._item_variance() + more))
        squares = self.metric.pair is not None and not self._undefined
        df = degrees_of_squares(self.n) if squares else self._df
        return partial(on_its_scale, self.metric.scale, self._centre, spread, self._range, df)

    def why_undefined(self) -> str:
        return (
            "with so few labels the scatter of the labels, which the score is divided by, can vanish. Use the median "
            "score.distribution.ppf(0.5), the interval, or score.observed."
        )


class RatioAnswers(AllLabelsAnswers):
    """A function of two sums: R2, explained variance, Pearson's and Lin's correlation. Both sums are corrected."""

    def _totals(self) -> tuple[float, float, float]:
        """From one pass over very many labels, or from labels that were summed up, where sums tell them."""
        metric, data = self.metric, self._evidence.data
        if data is not None:
            sums = sums_of(data, labels=True) if _sums_suffice(metric, data) else None
            found = metric.from_sums(sums) if metric.from_sums and sums and sums.var > 0 else None
            return found or super()._totals()
        assert metric.from_sums is not None
        seen = self._way.observed
        if self._exact:
            return seen, seen, 0.0
        moments = metric.from_sums(self._evidence.sums)
        return (seen, *(moments[1:] if moments else (float(self._own_law.mean), float(self._own_law.std))))

    @cached_property
    def _exact(self) -> bool:
        return super()._exact if self._evidence.kept else self._evidence.sums.var == 0

    @cached_property
    def _own_law(self) -> Law:
        if not self._evidence.kept and self._exact:
            return NormalLaw(self.observed, 0.0)
        if self.metric.ratio_law is not None:
            by_sums = partial(explained_law, centred=self.metric.centred)
            law = self._evidence.law_of_many("ratio", by_sums, partial(ratio_law, self.metric.ratio_law))
            if law is not None:
                return law
        return super()._own_law

    @cached_property
    def _way(self) -> RatioOfSums:
        if not self._evidence.kept:
            summary = self._evidence.summary("ratio")
            assert summary is not None
            return RatioOfSummary(self.metric.centred, summary, *self._range)
        assert self.metric.pair is not None
        data = self._data
        ratio = RatioOfLabels if data.errors.of_predictions() is None else RatioOfBoth
        return ratio(self.metric.pair, data, *self._range)

    def _check(self) -> None:
        if self._evidence.kept:
            super()._check()

    def _size_std_apart(self, errors: MeasurementError, ask: NumberOf) -> float:
        """Nothing more: the covariance of the sums holds it."""
        return 0.0

    def _corrected(self) -> Estimate:
        return self._way.truth()

    def perfect(self) -> Estimate:
        self._check()
        return super().perfect() if self._exact or self.metric.scale != "lost" else self._way.perfect()

    def influences(self) -> FloatArray:
        if self._undefined or not isinstance(self._way, RatioOfLabels):
            return super().influences()
        return self._way.influences()

    def _group_values(self, codes: NDArray[np.intp] | None) -> float:
        return Answers._group_values(self, codes)


class OrderAnswers(AllLabelsAnswers):
    """The median or the largest absolute error."""

    @cached_property
    def _way(self) -> StandIns:
        return self._stand_ins(self._data, follows=False)

    def _law_of(self, errors: MeasurementError, y: FloatArray, p: FloatArray, weight: FloatArray | None) -> Law:
        """A mean or variance that does not exist is infinite, though draws have one.

        The value is beyond x only if so many labels err by as much together: x^-df to the power of their number. The mean of
        draws without a variance is poor, so that of the largest error is an integral.
        """
        law, together = super()._law_of(errors, y, p, weight), 1
        if self.metric.rank == 0.5:
            heaviest = np.sort(np.ones(y.size) if weight is None else weight)[::-1]
            together = int(np.searchsorted(np.cumsum(heaviest), 0.5 * float(heaviest.sum()))) + 1
        if not isinstance(law, SampleLaw) or errors.has_moment(2.0 / together):
            return law
        mean = None if errors.has_moment(1.0 / together) else math.inf
        if mean is None and together == 1 and errors.independent and errors.of_predictions() is None:
            mean = mean_of_largest(errors, y, p, float(law.ppf(0.5)))
        return SampleLaw(law.draws, mean=mean, var=math.inf)

    def _corrected(self) -> Estimate:
        """The largest error is bounded, the median found from the law of the true residuals if labels show one."""
        data = self._data
        if self.metric.rank == 1.0:
            return largest_truth(data, self._way.value)
        residuals = true_residuals(with_shrunk_sizes(data))
        if residuals is None:
            return self._way.truth()
        found = MedianOfResiduals(residuals, float(np.median(np.sqrt(data.label_variance))))
        return found.estimate(found.value, residuals.note)

    def _perfect_law(self) -> Law:
        """Only the errors themselves count."""
        data, median = self._data, self.metric.rank == 0.5
        own = data.errors.absolute_level() if median else data.errors.label_level()
        return self._law_of(own, data.labels, data.labels, data.weight)

    def _group_values(self, codes: NDArray[np.intp] | None) -> float:
        """Leaving out single items does not show how far a median scatters; drawing them again does."""
        if self.metric.rank == 1.0:
            raise UndefinedEstimate(
                f"groups cannot show how {self.declaration.name} scatters over test sets: one item decides it."
            )
        return self._item_variance() if codes is None else groups_drawn_again(self._of_items, codes)

    def _next_test_set(self, more: float) -> IntervalAt:
        return partial(self._next_value, more) if self._evidence.unweighted else Answers._next_test_set(self, more)

    def _next_value(self, more: float, level: float) -> Interval:
        """The median or the largest of the next test set, among the errors of this one."""
        low, high = self._range
        k = 0.5 + 0.5 * self.n if self.metric.rank == 0.5 else self.n
        ends = next_order_statistic(np.sort(np.abs(self._data.residual)), k, level)
        wider = half_width_in_std(level, self._df) * math.sqrt(2.0) * math.hypot(math.sqrt(more), self._way.shared_std)
        down, up = (math.hypot(end - self.observed, wider) for end in (max(ends[0], low), min(ends[1], high)))
        return Interval(max(self._centre - down, low), min(self._centre + up, high))

    def why_undefined(self) -> str:
        return self._data.errors.why_infinite()


class WithoutValue(Answers):
    """A metric that labels without error leave undefined: the value that scikit-learn gives, often nan, and nothing else."""

    std: float = 0.0

    def __init__(self, declaration: Declaration, n: int, value: float, why: str) -> None:
        self.declaration, self.n, self.observed, self.expected, self._why = declaration, n, value, value, why

    def law(self) -> Law:
        return NormalLaw(self.observed, 0.0)

    def _truth(self) -> Estimate:
        raise UndefinedEstimate(self._why)

    def _remeasured(self, repeats: float) -> Estimate:
        raise UndefinedEstimate(self._why)

    def perfect(self) -> Estimate:
        raise UndefinedEstimate(self._why)

    def influences(self) -> FloatArray:
        raise UndefinedEstimate(self._why)

    def _item_variance(self) -> float:
        raise UndefinedEstimate(self._why)

    def why_undefined(self) -> str:
        return self._why

    @classmethod
    def average(cls, parts: Sequence[Answers], weights: FloatArray) -> WithoutValue | None:
        """The average over outputs where one of them has no value; None where all have."""
        lost = [part for part in parts if isinstance(part, cls)]
        if not lost:
            return None
        with np.errstate(invalid="ignore"):  # minus infinity times a weight of 0 is nan
            value = float(np.dot(weights, [part.observed for part in parts]))
        return cls(lost[0].declaration, lost[0].n, value, lost[0]._why)


def _sums_suffice(metric: AllLabelsMetric, data: Measured) -> bool:
    return metric.from_sums is not None and data.n >= _ENOUGH_FOR_SUMS and data.plain_normal


def _in_ordinary_unit(metric: AllLabelsMetric, data: Measured) -> tuple[Measured, float]:
    """The data, and the power of two to divide them by, so that the squares of values and errors are in range.

    Says which value is bad. Labels without weight that are too large are replaced.
    """
    if metric.declaration.degree == 0 and _sums_suffice(metric, data):  # labels stay on their device
        with suppress(BadValues):  # or numbers whose squares leave the doubles
            if sums_of(data, labels=True).ordinary(ratio=True):
                return data, 1.0
    if metric.from_sums is not None:  # no pass has looked at the values yet
        data.require_valid()
    data = data.with_weightless_labels_replaced()
    y, p = data.labels, data.predictions
    if metric.declaration.degree == 0:
        return data, near_one(max(float(np.max(np.abs(y))), float(np.max(np.abs(p))), data.errors.largest(y)))
    with np.errstate(over="ignore"):  # residuals may be larger than the largest double
        return data, between(float(metric.values(y[None], p, data.weight)[0]), data.errors.largest(y))


def _of_draws(parts: list[Any]) -> Law:
    draws = np.concatenate(parts)
    return SampleLaw(draws) if np.ptp(draws) > 0 else NormalLaw(float(draws[0]), 0.0)
