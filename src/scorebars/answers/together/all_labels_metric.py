"""Answers of a metric of all labels together, which is not a mean over labels: correlations, R2, medians, maxima.

Three ways lead to the truth behind the labels. Metrics of two sums (R2, explained variance, Pearson, concordance) are
corrected sum by sum (`ratio_of_sums`). Medians and ranks are taken of values that scatter as the true ones do
(`stand_ins`). The largest error can only be bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import Answers, of_law
from scorebars.answers.clustered import groups_drawn_again, left_out_groups
from scorebars.answers.combined import in_ordinary_units
from scorebars.answers.evidence import Evidence, resized, sums_of
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
from scorebars.answers.truth.true_residuals import true_residuals
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

_SEED = 20240517
_DRAWS = 20_000
_PERFECT_DRAWS = 1_000
_CELLS = 20_000_000
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
    """One metric of all labels together."""

    std: float = 0.0

    def __init__(self, metric: AllLabelsMetric, store: Evidence, divided_by: float = 1.0) -> None:
        self._divided_by = divided_by
        """What the labels and predictions of the user were divided by."""
        self.declaration, self.n, self.kind = metric.declaration, store.n, store.kind
        self.metric, self._store, self.repeats = metric, store, store.repeats
        sums = self._by_sums()
        if sums is not None:
            self.observed, self.expected, self.std = sums
            return
        data = self._data
        self.observed = float(metric.values(data.labels[None], data.predictions, data.weight)[0])
        self.expected = self.observed if self._exact else float(self._own_law.mean)
        self.std = float(self._own_law.std)

    @classmethod
    def of(cls, metric: AllLabelsMetric, data: Measured) -> Answers:
        """The answers for checked data."""
        data = data if data.plain_normal or metric.rank is None else data.of_difference()
        unit, degree = _ordinary_unit(metric, data), metric.declaration.degree
        return in_ordinary_units(lambda data: cls(metric, Evidence(data), unit), data, unit, degree)

    def _by_sums(self) -> tuple[float, float, float] | None:
        """Observed value, mean and std from one pass over very many labels, or from labels that were summed up."""
        metric, data = self.metric, self._store.data
        if metric.from_sums is None or (data is not None and not _sums_suffice(metric, data)):
            return None
        if data is not None:
            sums = sums_of(data, labels=True)
            return metric.from_sums(sums) if sums.var > 0 else None
        assert isinstance(self._way, RatioOfSums)
        seen, moments = self._way.observed, metric.from_sums(self._store.sums)
        if self._exact:
            return seen, seen, 0.0
        return (seen, *(moments[1:] if moments else (float(self._own_law.mean), float(self._own_law.std))))

    def _in_memory(self) -> Measured | None:
        return self._store.data

    @property
    def _data(self) -> Measured:
        """The labels; refuses those that were changed after the score was computed."""
        return self._store.labels(f"the {self.declaration.title} of single labels")

    @cached_property
    def _exact(self) -> bool:
        """Whether the labels have no error at all."""
        if not self._store.kept:
            return self._store.sums.var == 0
        data = self._data
        return data.errors.error_free(data.labels)

    def of_rows(self, rows: NDArray[Any], predictions: NDArray[Any]) -> FloatArray:
        if self._divided_by != 1.0:
            rows, predictions = rows / self._divided_by, predictions / self._divided_by
        return np.asarray(self.metric.values(rows, predictions, self._data.weight), dtype=np.float64)

    # sizes of errors that are estimates themselves ----------------------------------------------

    def _resized(self, factor: FloatArray | float) -> Answers:
        store = Evidence(resized(self._data, factor))
        if self._berkson:  # the expected score is that against the truth
            return type(self)(self.metric, store)
        other = object.__new__(type(self))
        other.declaration, other.n, other.kind, other.repeats = self.declaration, self.n, self.kind, store.repeats
        other.metric, other._store = self.metric, store
        other.observed, other.expected = self.observed, self.expected
        return other

    def _size_std_apart(self, errors: MeasurementError, ask: NumberOf) -> float:
        """None for metrics of two sums, whose covariance holds it."""
        return 0.0 if self.metric.pair is not None else super()._size_std_apart(errors, ask)

    # if labels were redrawn from their error bars ----------------------------------------------

    def law(self) -> Law:
        return self._own_law

    @cached_property
    def _own_law(self) -> Law:
        if not self._store.kept and self._exact:
            return NormalLaw(self.observed, 0.0)
        if self.metric.ratio_law is not None:
            law = self._store.by_cumulants("ratio", partial(explained_law, centred=self.metric.centred))
            if law is not None:
                return law
            if (summary := self._store.summary("ratio")) is not None:
                return ratio_law(self.metric.ratio_law, summary)
        data = self._data
        return self._law_of(data.errors, data.labels, data.predictions, data.weight)

    def _law_of(self, errors: MeasurementError, y: FloatArray, p: FloatArray, weight: FloatArray | None) -> Law:
        """The distribution of the metric of predictions p when labels err like this about y."""
        if errors.error_free(y) or (self.metric.needs_variation and np.ptp(p) == 0):
            return NormalLaw(float(self.metric.values(y[None], p, weight)[0]), 0.0)
        if errors.plain_normal and errors.normal is not None and self.metric.law is not None:
            return self.metric.law(Measured(y, p, errors, weight), errors.normal)
        rng = np.random.default_rng(_SEED)
        count = int(min(_DRAWS, max(_CELLS // y.size, 1000)))
        step = max(1, _CELLS // 10 // y.size)
        sizes = (min(step, count - start) for start in range(0, count, step))
        law = _of_draws([self.metric.values(*errors.sample_both(y, p, size, rng), weight) for size in sizes])
        return law if self.metric.rank is None else self._without_missing_moments(law, errors, y, p, weight)

    def _without_missing_moments(
        self, law: Law, errors: MeasurementError, y: FloatArray, p: FloatArray, weight: FloatArray | None
    ) -> Law:
        """The same distribution; a mean or variance that does not exist is infinite, though draws have one.

        The value is beyond x only if so many labels err by as much together: x^-df to the power of their number. The mean of
        draws without a variance is poor, so that of the largest error is an integral.
        """
        n = y.size
        together = 1
        if self.metric.rank == 0.5:
            heaviest = np.sort(np.ones(n) if weight is None else weight)[::-1]
            together = int(np.searchsorted(np.cumsum(heaviest), 0.5 * float(heaviest.sum()))) + 1
        if errors.has_moment(2.0 / together) or not isinstance(law, SampleLaw):
            return law
        mean = None if errors.has_moment(1.0 / together) else math.inf
        if mean is None and together == 1 and errors.independent and errors.of_predictions() is None:
            mean = mean_of_largest(errors, y, p, float(law.ppf(0.5)))
        return SampleLaw(law.draws, mean=mean, var=math.inf)

    # against the truth -------------------------------------------------------------------------

    @cached_property
    def _undefined(self) -> bool:
        """Whether the metric is undefined, and taken as 0, whatever the labels are."""
        return self.metric.needs_variation and float(np.ptp(self._data.predictions)) == 0

    @cached_property
    def _way(self) -> RatioOfSums | StandIns:
        """The way to the truth: by two sums if the metric is a function of them, else by stand-ins for the true values."""
        metric = self.metric
        if not self._store.kept:
            summary = self._store.summary("ratio")
            assert summary is not None
            return RatioOfSummary(metric.centred, summary, *self._range)
        if metric.pair is not None:
            ratio = RatioOfLabels if self._data.errors.of_predictions() is None else RatioOfBoth
            return ratio(metric.pair, self._data, *self._range)
        return StandIns(self._data, metric.values, metric.scale, *self._range, follows=metric.rank is None)

    def _check(self) -> None:
        if self._store.kept:
            _ = self._data

    def _truth(self) -> Estimate:
        self._check()
        if self._exact or self._undefined:
            spread = 0.0 if self._undefined else self._item_std
            return self._without_error(Symmetric(self.observed, spread, *self._range, self._df))
        if self.metric.rank == 1.0 and isinstance(self._way, StandIns):
            return largest_truth(self._data, self._way.value)
        if self.metric.rank == 0.5:
            data = self._data
            residuals = true_residuals(data)
            if residuals is not None:
                found = MedianOfResiduals(residuals, float(np.median(np.sqrt(data.label_variance))))
                return found.estimate(found.value, residuals.note)
        if self.metric.scale == "ratio" and isinstance(self._way, StandIns):
            labels, errors = self._data.errors.without_ties(self._data.labels)
            if errors is not self._data.errors:
                data = Measured(labels, self._data.predictions, errors, self._data.weight)
                return StandIns(data, self.metric.values, self.metric.scale, *self._range, follows=True).truth()
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
        if self.metric.scale == "lost" and self.metric.pair is not None and isinstance(self._way, RatioOfSums):
            return self._way.perfect()
        return of_law(self._perfect_law())

    def _perfect_law(self) -> Law:
        data = self._data
        errors, y, weight = data.errors, data.labels, data.weight
        absolute = self.metric.scale == "lost" or self.metric.rank == 0.5
        own = errors.absolute_level() if absolute else errors.label_level()
        if self.metric.rank is not None:
            return self._law_of(own, y, y, weight)  # only the errors themselves count
        rng = np.random.default_rng(_SEED)
        count = int(min(_PERFECT_DRAWS, max(_CELLS // y.size, 100)))
        if self.metric.scale == "lost" or not np.all(np.isfinite(errors.variance(y))):
            truths = iter(2.0 * y - own.sample(y, count, rng))  # the labels show what the errors are divided by
        else:
            truths = possible_truths(y, errors, weight, count, rng)
        return _of_draws([self.metric.values(y[None], t, weight) for t in truths])

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
        if self._undefined:
            return np.zeros(self.n)
        return self._way.influences() if isinstance(self._way, RatioOfLabels) else super().influences()

    def _group_values(self, codes: NDArray[np.intp] | None) -> float:
        """Medians and ranks: by leaving out each group in turn."""
        if self.metric.pair is not None or self._undefined:
            return super()._group_values(codes)
        if self.metric.rank == 1.0:
            raise UndefinedEstimate(
                f"groups cannot show how {self.declaration.name} scatters over test sets: one item decides it."
            )
        if codes is None:
            return self._item_variance()
        # leaving out single items does not show how far a median scatters; drawing them again does
        return (left_out_groups if self.metric.rank is None else groups_drawn_again)(self._of_items, codes)

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
        if self.metric.rank is not None and self._store.unweighted:
            return partial(self._next_order_statistic, more)
        if self.metric.scale is None:
            return super()._next_test_set(more)
        spread = math.sqrt(2.0 * (self._item_variance() + more))
        df = degrees_of_squares(self.n) if self.metric.pair is not None and not self._undefined else self._df
        return partial(on_its_scale, self.metric.scale, self._centre, spread, self._range, df)

    def _next_order_statistic(self, more: float, level: float) -> Interval:
        """The median or the largest of the next test set, among the errors of this one."""
        low, high = self._range
        k = 0.5 + self.metric.rank * self.n if self.metric.rank == 0.5 else self.n
        ends = next_order_statistic(np.sort(np.abs(self._data.residual)), k, level)
        shared = self._way.shared_std if isinstance(self._way, StandIns) else 0.0
        wider = half_width_in_std(level, self._df) * math.sqrt(2.0) * math.hypot(math.sqrt(more), shared)
        down, up = (math.hypot(end - self.observed, wider) for end in (max(ends[0], low), min(ends[1], high)))
        return Interval(max(self._centre - down, low), min(self._centre + up, high))

    def why_undefined(self) -> str:
        if self.metric.rank is not None:
            return self._data.errors.why_infinite()
        return (
            "with so few labels the scatter of the labels, which the score is divided by, can vanish. Use the median "
            "score.distribution.ppf(0.5), the interval, or score.observed."
        )


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


def _ordinary_unit(metric: AllLabelsMetric, data: Measured) -> float:
    """The power of two to divide by, so that the squares of values and errors are in range; says which value is bad."""
    if metric.declaration.degree == 0 and _sums_suffice(metric, data):  # labels stay on their device
        try:
            sums_of(data, labels=True)
        except BadValues:
            data.require_valid()
            raise
        return 1.0
    if metric.from_sums is not None:  # no pass has looked at the values yet
        data.require_valid()
    y, p = data.labels, data.predictions
    if metric.declaration.degree == 0:
        return near_one(max(float(np.max(np.abs(y))), float(np.max(np.abs(p))), data.errors.largest(y)))
    with np.errstate(over="ignore"):  # residuals may be larger than the largest double
        return between(float(metric.values(y[None], p, data.weight)[0]), data.errors.largest(y))


def _of_draws(parts: list[Any]) -> Law:
    draws = np.concatenate(parts)
    return SampleLaw(draws) if np.ptp(draws) > 0 else NormalLaw(float(draws[0]), 0.0)
