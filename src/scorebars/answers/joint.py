"""Answers of a metric that is no mean over labels: correlations, R2, medians, maxima."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scorebars.answers import berkson
from scorebars.answers.intervals import OfLaw, Symmetric
from scorebars.answers.mean_loss import CHANGED, PERFECT
from scorebars.answers.simex import COEFFICIENTS, LEVELS
from scorebars.engines.sums import NormalSums
from scorebars.engines.totals import sums_of
from scorebars.errors import MeasurementError, Normal
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.measured import Measured, near_one
from scorebars.score import Answers, Declaration, Estimate, Interval, UndefinedEstimate

_SEED = 20240517
_DRAWS = 20_000
_RESAMPLED = 200
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
    truth: Callable[[FloatArray, Measured], FloatArray] | None = None
    """Each row of labels corrected for its label errors; None where only an extrapolation can do it."""
    ceiling: Callable[[Measured], float] | None = None
    """The expected score of a perfect model; None where it is that of predictions equal to the labels."""
    from_sums: Callable[[NormalSums], tuple[float, float, float] | None] | None = None
    """Observed value, mean and std from the engine's sums, or None where the law has to tell them."""


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
        return self._law_of(self._data, self._data.errors, self._p)

    def _value(self, labels: FloatArray) -> float:
        return float(self._metric.values(labels[None], self._p, self._data.weight)[0])

    @cached_property
    def _exact(self) -> bool:
        """Whether the labels have no error at all."""
        return _is_exact(self._data.errors, self._y)

    # the score when labels move ----------------------------------------------------------------

    def _law_of(self, data: Measured, errors: MeasurementError, p: FloatArray) -> Law:
        """The law of the metric of predictions p when labels err like this."""
        here = Measured(self._y, p, errors, data.weight)
        if _is_exact(errors, self._y):
            return NormalLaw(float(self._metric.values(self._y[None], p, data.weight)[0]), 0.0)
        if isinstance(errors, Normal) and errors.independent and self._metric.law is not None:
            return self._metric.law(here, errors)
        return self._drawn(errors, p)

    def _drawn(self, errors: MeasurementError, p: FloatArray) -> Law:
        rng = np.random.default_rng(_SEED)
        count = int(min(_DRAWS, max(_CELLS * 5 // self._y.size, 500)))
        step = max(1, _CELLS // 10 // self._y.size)
        draws = np.empty(count)
        for start in range(0, count, step):
            labels = errors.sample(self._y, min(step, count - start), rng)
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

    @cached_property
    def _label_sd(self) -> FloatArray:
        return np.sqrt(self._data.errors.label_variance(self._y))

    def _at_more_noise(self, tau2: FloatArray) -> float:
        """Expected metric with extra normal error of variance tau2 on top of the labels at hand."""
        if not np.any(tau2 > 0):
            return self.observed
        return float(self._law_of(self._data, Normal.trusted(np.sqrt(np.maximum(tau2, 0.0))), self._p).mean)

    def _extrapolated(self, removed: FloatArray) -> float:
        """The metric with error of variance `removed` taken off: a parabola in the error added, read at minus one."""
        if not np.all(np.isfinite(removed)):
            raise UndefinedEstimate(
                f"{self._data.errors!r} errors have no finite variance, so what they add to the score cannot be taken off."
            )
        values = [self._at_more_noise(level * removed) for level in LEVELS]
        if not np.all(np.isfinite(values)):
            raise UndefinedEstimate(
                "the expected score does not exist here, so it cannot be extrapolated to no label error."
            )
        return self._inside(float(np.dot(COEFFICIENTS, values)))

    def _inside(self, value: float) -> float:
        return min(max(value, self.declaration.low), self.declaration.high)

    def truth(self) -> Estimate:
        self._require_unchanged()
        low, high, df = self.declaration.low, self.declaration.high, max(self.n - 1, 1)
        if self._data.errors.kind == "berkson":
            return berkson.truth(self, self.total_interval)
        if self._metric.truth is not None:
            value = float(self._metric.truth(self._y[None], self._data)[0])
            std, method = 0.0 if self._exact else self._moved(self._metric.truth), "corrected sums"
        else:
            value, std, method = self._extrapolated(np.square(self._label_sd)), self._label_level_std(), "simex"
        note = "" if low <= value <= high else "outside the metric's range: the label errors are as large as the signal"
        total = Symmetric(value, math.hypot(self._item_std(), 0.0), low, high, df)
        return Estimate(
            value, std, method=method, note=note, interval=Symmetric(value, std, low, high), total_interval=total
        )

    def _label_level_std(self) -> float:
        law = self._law_of(self._data, Normal.trusted(self._label_sd), self._p)
        return float(law.std)

    def _moved(self, estimator: Callable[[FloatArray, Measured], FloatArray]) -> float:
        """Standard error of an estimate when the labels move within their own errors."""
        rng = np.random.default_rng(_SEED)
        count = int(min(1000, max(_CELLS // self._y.size, 60)))
        labels = self._y + self._label_sd * rng.standard_normal((count, self._y.size))
        values = estimator(labels, self._data)
        return float(np.std(values, ddof=1))

    def remeasured(self, repeats: float) -> Estimate:
        self._require_unchanged()
        errors = self._data.errors
        if errors.kind == "berkson":
            raise UndefinedEstimate(berkson.REMEASURED)
        fresh = errors.variance_of_mean(self._y, repeats)
        tau2 = fresh - np.square(self._label_sd)
        if np.any(tau2 < 0):
            value, method = self._extrapolated(np.maximum(-tau2, 0.0)), "simex"
        else:
            value, method = self._at_more_noise(tau2), "unbiased"
        new = float(self._law_of(self._data, Normal.trusted(np.sqrt(fresh)), self._p).std)
        std = math.hypot(new, self._label_level_std())
        low, high = self.declaration.low, self.declaration.high
        return Estimate(value, std, method=method, interval=Symmetric(value, std, low, high))

    def perfect(self) -> Estimate:
        self._require_unchanged()
        law = self._law_of(self._data, Normal.trusted(self._label_sd), self._y)
        value = float(law.mean) if self._metric.ceiling is None else self._metric.ceiling(self._data)
        if self._exact:
            return Estimate(self.declaration.perfect, 0.0, method="exact", note=PERFECT, interval=OfLaw(law))
        spread = float(law.std)
        low, high = self.declaration.low, self.declaration.high
        interval = OfLaw(law) if self._metric.ceiling is None else Symmetric(value, spread, low, high)
        return Estimate(value, spread, method=law.method, note=PERFECT, interval=interval)

    def noise_share(self) -> float:
        """How far the perfect model falls short, over how far the observed score does."""
        lost, observed = (abs(self.declaration.perfect - v) for v in (float(self.perfect()), self.observed))
        if observed == 0:
            return 0.0 if lost == 0 else math.inf
        return lost / observed

    # the test set as a sample ------------------------------------------------------------------

    @cached_property
    def _resampled_std(self) -> float:
        if self.n < 3:
            return math.inf
        rng = np.random.default_rng(_SEED)
        count = int(min(_RESAMPLED, max(_CELLS // self._y.size, 30)))
        values = []
        for _ in range(count):
            pick = rng.integers(0, self.n, self.n)
            weight = None if self._data.weight is None else self._data.weight[pick]
            if weight is not None and not np.any(weight > 0):
                continue
            values.append(float(self._metric.values(self._y[pick][None], self._p[pick], weight)[0]))
        found = np.array(values)
        found = found[np.isfinite(found)]
        return float(np.std(found, ddof=1)) if found.size > 2 else math.inf

    def _item_std(self) -> float:
        """Standard error over test sets, label errors included: by drawing items again."""
        return self._resampled_std

    def sampling_std(self) -> float:
        self._require_unchanged()
        own = self._label_level_std() if not self._exact else 0.0
        if not math.isfinite(own):
            return self._item_std()
        return math.sqrt(max(self._item_std() ** 2 - own**2, 0.0))

    def total_interval(self, level: float) -> Interval:
        low, high = self.declaration.low, self.declaration.high
        total = math.hypot(self.sampling_std(), self.std)
        centre = self.expected if math.isfinite(self.expected) else self.observed
        return Symmetric(centre, total, low, high, max(self.n - 1, 1))(level)

    def why_undefined(self) -> str:
        return (
            "with so few labels the scatter of the labels, which the score is divided by, can vanish. Use the median "
            "score.distribution.ppf(0.5), the interval, or score.observed."
        )


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
