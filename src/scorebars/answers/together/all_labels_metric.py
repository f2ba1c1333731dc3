"""Answers of a metric of all labels together, which is no mean over labels: correlations, R2, medians, maxima.

Three ways lead to the truth behind the labels. Metrics of two sums (R2, explained variance, Pearson, concordance) are
corrected sum by sum (`ratio_of_sums`). Medians and ranks are taken of values that scatter as the true ones do
(`stand_in`). The largest error can only be bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from scorebars.answers.base import PERFECT_NOTE, Answers, of_law
from scorebars.answers.evidence import Evidence, sums_of
from scorebars.answers.intervals import Symmetric
from scorebars.answers.linear import in_units
from scorebars.answers.together.next_order_statistic import NextOrderStatistic
from scorebars.answers.together.ratio_of_sums import (
    LostToNoise,
    OnItsScale,
    RatioOfSummary,
    RatioOfSums,
    degrees_of_squares,
    half_width_in_std,
    measured_afresh,
    of_two_sums,
)
from scorebars.answers.truth.drawn import DrawnTruth, LargestTruth
from scorebars.answers.truth.stand_in import possible_truths
from scorebars.arrays import FloatArray
from scorebars.engines import BadValues
from scorebars.engines.sums import NormalSums
from scorebars.errors import MeasurementError, Normal
from scorebars.laws.from_summary import ratio_law
from scorebars.laws.law import Law
from scorebars.laws.normal_law import NormalLaw
from scorebars.laws.quadratic.ratio import RatioLaw
from scorebars.laws.samples import SampleLaw
from scorebars.measured import Measured, between, near_one
from scorebars.moments.label_noise import RatioKind, SumPair
from scorebars.score import Declaration, Estimate, Interval, UndefinedEstimate

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
    """The two sums that it is a function of, if it is."""
    from_sums: Callable[[NormalSums], tuple[float, float, float] | None] | None = None
    """Observed value, mean and std from the engine's sums, or None where the distribution has to tell them."""
    ratio_law: type[RatioLaw] | None = None
    """Its distribution from bins of labels."""
    scale: RatioKind | None = None
    """Where it is closest to normal: "ratio" for correlations, "lost" for shares explained, None for errors."""
    rank: float | None = None
    """Of a metric of ordered absolute errors the share of them that lie below: 1/2 for the median, 1 for the largest."""
    needs_variation: bool = False
    """Whether it is undefined, and taken as 0, where the predictions do not vary."""
    least: int = 1
    """The number of labels that it needs."""
    centred: bool = False
    """Of a share explained: whether residuals are taken about their mean."""


class AllLabelsAnswers(Answers):
    """One metric of all labels together."""

    def __init__(self, metric: AllLabelsMetric, store: Evidence, observed: float | None = None) -> None:
        self.declaration, self.n, self.kind = metric.declaration, store.n, store.kind
        self.metric, self._store = metric, store
        sums = self._by_sums()
        if sums is not None:
            self.observed, self.expected, self._std = sums
            return
        self.observed = self._classical() if observed is None else observed
        self.expected = self.observed if self._exact else float(self._own_law.mean)
        self._std = float(self._own_law.std)

    @classmethod
    def of(cls, metric: AllLabelsMetric, data: Measured) -> Answers:
        """The answers for checked data, found in a unit in which the squares of values and errors are in range."""
        if metric.declaration.degree == 0 and _sums_suffice(metric, data):  # labels stay on their device
            try:
                sums_of(data, labels=True)
                return cls(metric, Evidence(data))
            except BadValues:
                data.require_valid()
                raise
        if metric.from_sums is not None:  # no pass has looked at the values yet
            data.require_valid()
        y, p = data.labels, data.predictions
        if metric.declaration.degree == 0:  # a ratio has no unit
            largest = max(float(np.max(np.abs(y))), float(np.max(np.abs(p))), data.errors.largest(y))
            return cls(metric, Evidence(data.scaled(near_one(largest))))
        with np.errstate(over="ignore"):  # residuals may be larger than the largest double
            observed = float(metric.values(y[None], p, data.weight)[0])
        unit = between(observed, data.errors.largest(y))
        if unit == 1.0:
            return cls(metric, Evidence(data), observed)
        return in_units(cls(metric, Evidence(data.scaled(unit))), unit)

    def _by_sums(self) -> tuple[float, float, float] | None:
        """Observed value, mean and std from one pass over very many labels, or from labels that were summed up."""
        metric, store = self.metric, self._store
        assert store.data is None or metric is not None
        if metric.from_sums is None:
            return None
        if store.data is not None:
            if not _sums_suffice(metric, store.data):
                return None
            sums = sums_of(store.data, labels=True)
            return metric.from_sums(sums) if sums.var > 0 else None
        assert self._sums is not None
        seen, moments = self._sums.items().value, metric.from_sums(store.sums)
        if self._exact:
            return seen, seen, 0.0
        mean, std = moments[1:] if moments else (float(self._own_law.mean), float(self._own_law.std))
        return seen, mean, std

    @property
    def std(self) -> float:
        return self._std

    @property
    def repeats(self) -> FloatArray | float:
        return self._store.repeats

    @property
    def _data(self) -> Measured:
        """The labels; refuses those that were changed after the score was computed."""
        return self._store.labels(f"the {self.declaration.title} of single labels")

    @cached_property
    def _y(self) -> FloatArray:
        return self._data.labels

    @cached_property
    def _p(self) -> FloatArray:
        return self._data.predictions

    def _classical(self) -> float:
        return float(self.metric.values(self._y[None], self._p, self._data.weight)[0])

    @cached_property
    def _exact(self) -> bool:
        """Whether the labels have no error at all."""
        return self._data.errors.error_free(self._y) if self._store.kept else self._store.sums.var == 0

    # if labels were redrawn from their error bars ----------------------------------------------

    def law(self) -> Law:
        if "_own_law" not in self.__dict__ and self._store.kept:
            _ = self._data
        return self._own_law

    @cached_property
    def _own_law(self) -> Law:
        if self._exact and not self._store.kept:
            return NormalLaw(self.observed, 0.0)
        summary = None if self.metric.ratio_law is None else self._store.summary("ratio")
        if summary is not None and self.metric.ratio_law is not None:
            return ratio_law(self.metric.ratio_law, summary)
        return self._law_of(self._data.errors, self._y, self._p)

    def _law_of(self, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Law:
        """The distribution of the metric of predictions p when labels err like this about y."""
        weight = self._data.weight
        if errors.error_free(y) or (self.metric.needs_variation and np.ptp(p) == 0):
            return NormalLaw(float(self.metric.values(y[None], p, weight)[0]), 0.0)
        if errors.plain_normal and errors.normal is not None and self.metric.law is not None:
            return self.metric.law(Measured(y, p, errors, weight), errors.normal)
        rng = np.random.default_rng(_SEED)
        count = int(min(_DRAWS, max(_CELLS * 5 // y.size, 500)))
        step = max(1, _CELLS // 10 // y.size)
        return _of_draws(
            [
                self.metric.values(errors.sample(y, min(step, count - start), rng), p, weight)
                for start in range(0, count, step)
            ]
        )

    # against the truth -------------------------------------------------------------------------

    @cached_property
    def _undefined(self) -> bool:
        """Whether the metric is undefined, and taken as 0, whatever the labels are."""
        return self.metric.needs_variation and float(np.ptp(self._p)) == 0

    @cached_property
    def _sums(self) -> RatioOfSums | RatioOfSummary | None:
        if not self._store.kept:
            summary = self._store.summary("ratio")
            assert summary is not None
            return RatioOfSummary(self.metric.centred, summary, *self._range)
        pair = self.metric.pair
        return None if pair is None or self._undefined else RatioOfSums(pair, self._data, *self._range)

    @cached_property
    def _stand_ins(self) -> DrawnTruth:
        """Stand-ins for the true values, and the metric of them."""
        return DrawnTruth(self._data, self.metric.values, self.metric.scale, *self._range, self.metric.rank is None)

    def _check(self) -> None:
        if self._store.kept:
            _ = self._data

    def _truth(self) -> Estimate:
        self._check()
        if self._exact or self._undefined:
            spread = Symmetric(self.observed, 0.0 if self._undefined else self._item_std, *self._range, self._df)
            nothing = Symmetric(self.observed, 0.0, *self._range)
            return Estimate(self.observed, 0.0, method="exact", interval=nothing, total_interval=spread)
        if self._sums is not None:
            return of_two_sums(*self._sums.truth())
        if self.metric.rank == 1.0:
            return LargestTruth(self._data, self._stand_ins.value).estimate()
        return self._stand_ins.estimate()

    def _remeasured(self, repeats: float) -> Estimate:
        self._check()
        if self._exact or self._undefined:
            same = Symmetric(self.observed, 0.0, *self._range)
            return Estimate(self.observed, 0.0, method="exact", interval=same)
        if self._sums is None:
            return self._stand_ins.remeasured(self.observed, repeats)
        return measured_afresh(self._sums.remeasured(repeats))

    def perfect(self) -> Estimate:
        self._check()
        if self._exact:
            return of_law(NormalLaw(self.declaration.perfect, 0.0))
        if self._sums is not None and self.metric.scale == "lost":
            lost = LostToNoise(*self._sums.perfect())
            return Estimate(lost.value, lost.std, method="corrected sums", note=PERFECT_NOTE, interval=lost)
        return of_law(self._perfect_law())

    def _perfect_law(self) -> Law:
        errors, y, weight = self._data.errors, self._y, self._data.weight
        own = errors.label_level()
        if self.metric.rank is not None:
            return self._law_of(own, y, y)  # only the errors themselves count
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
        if self._undefined:
            return 0.0
        return self._stand_ins.item_std if self._sums is None else self._sums.items().std

    def _item_variance(self) -> float:
        self._check()
        return self._item_std**2

    def _label_variance(self) -> float:
        """That of the classical metric if the labels at hand were measured once more; 0 where that is not known."""
        if self._exact or self._undefined:
            return 0.0
        try:
            std = self._stand_ins.label_std if self._sums is None else self._sums.labels().std
        except UndefinedEstimate:
            return 0.0
        return std**2 if math.isfinite(std) else 0.0

    @property
    def _centre(self) -> float:
        return self.expected if self._berkson and math.isfinite(self.expected) else self.observed

    def _berkson_population(self) -> Callable[[float], Interval]:
        return self.total_interval

    def _next_test_set(self, more: float) -> Callable[[float], Interval]:
        if self.metric.rank is not None and self._store.unweighted:
            return lambda level: self._next_order_statistic(level, more)
        spread = math.sqrt(2.0 * (self._item_variance() + more))
        if self.metric.scale is None:
            return Symmetric(self._centre, spread, *self._range, self._df)
        df = self._df if self._sums is None else degrees_of_squares(self.n)
        return OnItsScale(self.metric.scale, self._centre, spread, *self._range, df)

    def _next_order_statistic(self, level: float, more: float) -> Interval:
        """The median or the largest of the next test set, among the errors of this one."""
        assert self.metric.rank is not None
        low, high = self._range
        k = 0.5 + self.metric.rank * self.n if self.metric.rank < 1 else self.n
        ends = NextOrderStatistic(np.sort(np.abs(self._data.residual)), k, low, high)(level)
        wider = math.sqrt(2.0 * more) if math.isfinite(more) else math.inf
        wider = half_width_in_std(level, self._df) * math.hypot(wider, math.sqrt(2.0) * self._stand_ins.shared_std)
        down, up = (math.hypot(end - self.observed, wider) for end in ends)
        return Interval(max(self._centre - down, low), min(self._centre + up, high))

    def why_undefined(self) -> str:
        return (
            "with so few labels the scatter of the labels, which the score is divided by, can vanish. Use the median "
            "score.distribution.ppf(0.5), the interval, or score.observed."
        )


def _sums_suffice(metric: AllLabelsMetric, data: Measured) -> bool:
    return metric.from_sums is not None and data.n >= _ENOUGH_FOR_SUMS and data.plain_normal


def _of_draws(parts: list[Any]) -> Law:
    draws = np.concatenate(parts)
    return SampleLaw(draws) if np.ptp(draws) > 0 else NormalLaw(float(draws[0]), 0.0)
