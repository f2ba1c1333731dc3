"""Answers of a metric that is no mean over labels: correlations, R2, medians, maxima.

Three ways lead to the truth behind the labels. Metrics of two sums (R2, explained variance, Pearson, concordance) are
corrected sum by sum (`ratio_of_sums`). Medians and ranks are taken of values that scatter as the true ones do
(`stand_in`). The largest error can only be bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scorebars.answers import berkson
from scorebars.answers.drawn import DrawnTruth, LargestTruth
from scorebars.answers.exchangeable import NextOrderStatistic
from scorebars.answers.intervals import OfLaw, Symmetric
from scorebars.answers.mean_loss import CHANGED, PERFECT
from scorebars.answers.population import next_test_set
from scorebars.answers.ratio_of_sums import (
    LostToNoise,
    OnItsScale,
    RatioOfSums,
    degrees_of_squares,
    measured_afresh,
    of_two_sums,
    quantile,
)
from scorebars.answers.stand_in import possible_truths
from scorebars.engines.sums import NormalSums
from scorebars.engines.totals import sums_of
from scorebars.errors import MeasurementError, Normal
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.measured import Measured, near_one
from scorebars.moments.sum_pairs import Kind, SumPair
from scorebars.score import Answers, Declaration, Estimate, Interval, UndefinedEstimate

_SEED = 20240517
_DRAWS = 20_000
_PERFECT_DRAWS = 1_000
_CELLS = 20_000_000
MANY = 10_000
"""With fewer labels the sums never suffice."""

Values = Callable[[FloatArray, FloatArray, FloatArray | None], FloatArray]
"""The classical metric of each row of labels (m, n) against predictions (n,) with weights (n,) or None."""


@dataclass(frozen=True)
class JointMetric:
    """What the answers need to know about a metric of all labels together."""

    declaration: Declaration
    values: Values
    law: Callable[[Measured, Normal], Law] | None
    """Its law under independent normal errors; None where it has to be drawn."""
    pair: SumPair | None = None
    """The two sums that it is a function of, if it is."""
    from_sums: Callable[[NormalSums], tuple[float, float, float] | None] | None = None
    """Observed value, mean and std from the engine's sums, or None where the law has to tell them."""
    scale: Kind | None = None
    """Where it is closest to normal: "ratio" for correlations, "lost" for shares explained, None for errors."""
    rank: float | None = None
    """Of a metric of ordered absolute errors the share of them that lie below: 1/2 for the median, 1 for the largest."""
    needs_variation: bool = False
    """Whether it is undefined, and taken as 0, where the predictions do not vary."""


class JointAnswers(Answers):
    """One metric of all labels together."""

    def __init__(self, metric: JointMetric, data: Measured, observed: float | None = None) -> None:
        self.declaration, self.n, self._metric = metric.declaration, data.items, metric
        self._given = data
        summed = _from_sums(metric, data)
        self._summed = summed is not None
        if summed is not None:
            self._data, self._seen = data, _labels_in_sums(sums_of(data, labels=True))
            self.observed, self.expected, self._std = summed
            return
        self._seen = data.fingerprint() if data.borrowed else ()
        self._data = _without_extremes(metric, data)
        self.observed = self._value(self._y) if observed is None else observed
        self.expected = self.observed if self._exact else float(self._own_law.mean)
        self._std = float(self._own_law.std)

    @cached_property
    def _y(self) -> FloatArray:
        return np.asarray(self._data.y, dtype=np.float64)

    @cached_property
    def _p(self) -> FloatArray:
        return np.asarray(self._data.p, dtype=np.float64)

    @cached_property
    def _own_law(self) -> Law:
        return self._law_of(self._data.errors, self._y, self._p)

    def _value(self, labels: FloatArray) -> float:
        return float(self._metric.values(labels[None], self._p, self._data.weight)[0])

    @cached_property
    def _exact(self) -> bool:
        """Whether the labels have no error at all."""
        return _is_exact(self._data.errors, self._y)

    # the score when labels move ----------------------------------------------------------------

    def _law_of(self, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Law:
        """The law of the metric of predictions p when labels err like this about y."""
        weight = self._data.weight
        if _is_exact(errors, y) or (self._metric.needs_variation and np.ptp(p) == 0):
            return NormalLaw(float(self._metric.values(y[None], p, weight)[0]), 0.0)
        if isinstance(errors, Normal) and errors.independent and self._metric.law is not None:
            return self._metric.law(Measured(y, p, errors, weight), errors)
        return self._drawn(errors, y, p)

    def _drawn(self, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Law:
        rng = np.random.default_rng(_SEED)
        count = int(min(_DRAWS, max(_CELLS * 5 // self._y.size, 500)))
        step = max(1, _CELLS // 10 // self._y.size)
        draws = np.empty(count)
        for start in range(0, count, step):
            labels = errors.sample(y, min(step, count - start), rng)
            draws[start : start + step] = self._metric.values(labels, p, self._data.weight)
        return SampleLaw(draws) if np.ptp(draws) > 0 else NormalLaw(float(draws[0]), 0.0)

    @property
    def std(self) -> float:
        return self._std

    def law(self) -> Law:
        if "_own_law" not in self.__dict__:
            self._require_unchanged()
        return self._own_law

    def _require_unchanged(self) -> None:
        """Refuse arrays that were changed after the score was computed."""
        data = self._given
        if not data.borrowed:
            return
        afresh = Measured(data.y, data.p, data.errors, data.weight)
        if self._seen != (_labels_in_sums(sums_of(afresh, labels=True)) if self._summed else data.fingerprint()):
            raise RuntimeError(CHANGED)

    # against the truth -------------------------------------------------------------------------

    @property
    def _range(self) -> tuple[float, float]:
        return self.declaration.low, self.declaration.high

    @property
    def _undefined(self) -> bool:
        """Whether the metric is undefined, and taken as 0, whatever the labels are."""
        return self._metric.needs_variation and float(np.ptp(self._p)) == 0

    @cached_property
    def _sums(self) -> RatioOfSums | None:
        pair = self._metric.pair
        return None if pair is None or self._undefined else RatioOfSums(pair, self._data, *self._range)

    @cached_property
    def _stand_ins(self) -> DrawnTruth:
        """Stand-ins for the true values, and the metric of them."""
        return DrawnTruth(self._data, self._metric.values, self._metric.scale, *self._range, self._metric.rank is None)

    def truth(self) -> Estimate:
        self._require_unchanged()
        if self._data.errors.kind == "berkson":
            return berkson.truth(self, self.total_interval)
        if self._exact or self._undefined:
            spread = Symmetric(self.observed, 0.0 if self._undefined else self._item_std, *self._range, self._df)
            nothing = Symmetric(self.observed, 0.0, *self._range)
            return Estimate(self.observed, 0.0, method="exact", interval=nothing, total_interval=spread)
        if self._sums is None:
            found = self._stand_ins
            if self._metric.rank == 1.0:
                return LargestTruth(self._data, found.value).estimate()
            return found.estimate()
        return of_two_sums(*self._sums.truth())

    @property
    def _df(self) -> int:
        return max(self.n - 1, 1)

    @cached_property
    def _label_std(self) -> float:
        """Standard deviation of the classical metric if the labels at hand were measured once more."""
        if self._exact or self._undefined:
            return 0.0
        try:
            return self._stand_ins.label_std if self._sums is None else self._sums.labels().std
        except UndefinedEstimate:
            return math.inf

    def remeasured(self, repeats: float) -> Estimate:
        self._require_unchanged()
        if self._data.errors.kind == "berkson":
            raise UndefinedEstimate(berkson.REMEASURED)
        if self._exact or self._undefined:
            same = Symmetric(self.observed, 0.0, *self._range)
            return Estimate(self.observed, 0.0, method="exact", interval=same)
        if self._sums is None:
            return self._stand_ins.remeasured(self.observed, repeats)
        return measured_afresh(self._sums.remeasured(repeats))

    def perfect(self) -> Estimate:
        self._require_unchanged()
        perfect = self.declaration.perfect
        if self._exact:
            return Estimate(perfect, 0.0, method="exact", note=PERFECT, interval=OfLaw(NormalLaw(perfect, 0.0)))
        if self._sums is not None and self._sums.pair.kind == "lost":
            lost = LostToNoise(*self._sums.perfect())
            return Estimate(lost.value, lost.std, method="corrected sums", note=PERFECT, interval=lost)
        law = self._perfect_law()
        return Estimate(float(law.mean), float(law.std), method=law.method, note=PERFECT, interval=OfLaw(law))

    def _perfect_law(self) -> Law:
        errors, y = self._data.errors, self._y
        own = errors.label_level() if isinstance(errors, Normal) else errors
        if self._metric.rank is not None:
            return self._law_of(own, y, y)  # only the errors themselves count
        rng, weight = np.random.default_rng(_SEED), self._data.weight
        count = int(min(_PERFECT_DRAWS, max(_CELLS // y.size, 100)))
        spread = bool(np.all(np.isfinite(errors.variance(y))))
        if (
            self._metric.scale == "lost" or not spread
        ):  # the errors alone count; the labels show what they are divided by
            truths = iter(2.0 * y - own.sample(y, count, rng))
        else:
            truths = possible_truths(y, errors, weight, count, rng)
        draws = np.concatenate([self._metric.values(y[None], t, weight) for t in truths])
        return SampleLaw(draws) if np.ptp(draws) > 0 else NormalLaw(float(draws[0]), 0.0)

    def noise_share(self) -> float:
        """How far the perfect model falls short, over how far the observed score does."""
        lost, observed = (abs(self.declaration.perfect - v) for v in (float(self.perfect()), self.observed))
        if observed == 0:
            return 0.0 if lost == 0 else math.inf
        return lost / observed

    # the test set as a sample ------------------------------------------------------------------

    @cached_property
    def _item_std(self) -> float:
        """Standard error over test sets, label errors included."""
        if self.n < 3:
            return math.inf
        if self._undefined:
            return 0.0
        if self._sums is not None:
            return self._sums.items().std
        return self._stand_ins.item_std

    def sampling_std(self) -> float:
        self._require_unchanged()
        own = 0.0 if self._data.errors.kind == "berkson" else self._label_std
        return math.sqrt(max(self._item_std**2 - own**2, 0.0)) if math.isfinite(own) else self._item_std

    def total_interval(self, level: float) -> Interval:
        self._require_unchanged()
        low, high = self._range
        berkson_error = self._data.errors.kind == "berkson"
        centre = self.expected if berkson_error and math.isfinite(self.expected) else self.observed
        shared = self.std / math.sqrt(2.0) if berkson_error else 0.0
        if self._metric.rank is not None and self._data.weight is None:
            return self._next_order_statistic(level, centre - self.observed, shared)
        spread = next_test_set(centre, self._item_std, self.declaration, self.n, shared)
        if self._metric.scale is None:
            return spread(level)
        df = self._df if self._sums is None else degrees_of_squares(self.n)
        return OnItsScale(self._metric.scale, centre, spread.std, low, high, df)(level)

    def why_undefined(self) -> str:
        return (
            "with so few labels the scatter of the labels, which the score is divided by, can vanish. Use the median "
            "score.distribution.ppf(0.5), the interval, or score.observed."
        )

    def _next_order_statistic(self, level: float, shift: float, more: float) -> Interval:
        """The median or the largest of the next test set, among the errors of this one."""
        assert self._metric.rank is not None
        low, high = self._range
        ordered = np.sort(np.abs(self._data.residual))
        k = 0.5 + self._metric.rank * self.n if self._metric.rank < 1 else self.n
        ends = NextOrderStatistic(ordered, k, low, high)(level)
        more = math.sqrt(2.0) * quantile(level, self._df) * math.hypot(more, self._stand_ins.shared_std)
        down, up = (math.hypot(end - self.observed, more) for end in ends)
        return Interval(max(self.observed + shift - down, low), min(self.observed + shift + up, high))


_SEEN = ("d", "sq", "var", "y1", "y2")


def _labels_in_sums(sums: NormalSums) -> tuple[float, ...]:
    """Some of the sums, which differ once an array was changed."""
    return tuple(getattr(sums, name) for name in _SEEN)


def _from_sums(metric: JointMetric, data: Measured) -> tuple[float, float, float] | None:
    """Observed value, mean and std from one pass over very many labels with independent normal errors."""
    if metric.from_sums is None or data.n < MANY or not data.plain_normal:
        return None
    sums = sums_of(data, labels=True)
    return metric.from_sums(sums) if sums.var > 0 else None


def _is_exact(errors: MeasurementError, y: FloatArray) -> bool:
    """Whether no label can move; of normal errors without a temporary array."""
    return errors.largest(y) == 0 if isinstance(errors, Normal) else not np.any(errors.variance(y) > 0)


def _without_extremes(metric: JointMetric, data: Measured) -> Measured:
    """In units in which squares of extreme magnitudes need not be formed, where the metric has no unit."""
    if metric.declaration.degree != 0:
        return data
    largest = (float(np.max(np.abs(data.y))), float(np.max(np.abs(data.p))))
    return data.scaled(near_one(max(*largest, data.errors.largest(np.asarray(data.y, float)))))
