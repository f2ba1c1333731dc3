"""Answers made from others: a function of a metric, an average over outputs, predictions that err too."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import Answers, ChangedAnswers, SkewGroups, asked_of
from scorebars.answers.intervals import IntervalAt, Symmetric, affine, times
from scorebars.answers.score import Declaration, Estimate, Interval, UndefinedEstimate
from scorebars.answers.size_errors import NumberOf
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.errors.label_and_prediction import LabelAndPrediction
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.law import Law, NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.measured import Measured, near_one
from scorebars.numerics import FIXED_SEED

_TOO_LARGE = "it is above the largest double. Choose another unit for y_true, y_pred and yerr."
_DRAWS = 20_000


# a function of a metric ----------------------------------------------------------------------------


class TransformedAnswers(Answers):
    """A monotone function of another metric, the `inner` one."""

    def __init__(self, declaration: Declaration, inner: Answers) -> None:
        self.declaration, self.inner = declaration, inner
        self.n, self.kind, self.repeats, self.rates_counted = inner.n, inner.kind, inner.repeats, inner.rates_counted

    @abstractmethod
    def _value_of(self, value: float) -> float:
        """The function itself."""

    @abstractmethod
    def _std_of(self, value: float, std: float) -> float:
        """The standard error of the function of a value with this one."""

    @abstractmethod
    def _interval_of(self, interval: IntervalAt) -> IntervalAt:
        """An interval of the inner metric carried over."""

    def _carried(self, found: Estimate) -> Estimate:
        return Estimate(
            self._value_of(float(found)),
            self._std_of(float(found), found.std),
            method=found.method,
            note=found.note,
            interval=self._interval_of(found.interval),
            total_interval=None if found._total is None else self._interval_of(found._total),
        )

    def _truth(self) -> Estimate:
        return self._carried(self.inner._truth() if self._sizes_in_doubt else self.inner.against_truth)

    def _remeasured(self, repeats: float) -> Estimate:
        return self._carried(self.inner._remeasured(repeats))

    def perfect(self) -> Estimate:
        return self._carried(self.inner.perfect())

    _in_memory = asked_of("inner._in_memory")
    noise_share = asked_of("inner.noise_share")
    warnings = asked_of("inner.warnings")
    why_undefined = asked_of("inner.why_undefined")

    def truth(self) -> Estimate:
        """Intervals are those of the inner metric, carried over: also where sizes or rates of label errors are estimates."""
        if self.rates_counted:
            return self._carried(self.inner.truth())
        found = super().truth()
        if self._berkson or not self._sizes_in_doubt:
            return found
        inside = self._carried(self.inner.truth())
        return found._changed(interval=inside._interval, total_interval=inside._total)

    _items_hold_sizes = asked_of("inner._items_hold_sizes")

    def _size_std_apart(self, errors: MeasurementError, ask: NumberOf) -> float:
        return self._std_of(float(ask(self.inner)), self.inner._size_std_apart(errors, ask))

    def _berkson_population(self) -> IntervalAt:
        return self._interval_of(self.inner._berkson_population())

    def bounds(self) -> Interval:
        return Interval(*map(self._value_of, self.inner.bounds()))

    def sampling_std(self) -> float:
        return self._std_of(self.inner._centre, self.inner.sampling_std())

    def total_interval(self, level: float) -> Interval:
        return self._interval_of(self.inner.total_interval)(level)


class LinearAnswers(TransformedAnswers):
    """shift + scale * (another metric); a scale of several factors is multiplied one factor after the other."""

    def __init__(
        self,
        declaration: Declaration,
        inner: Answers,
        scale: float | tuple[float, ...],
        shift: float = 0.0,
        observed: float | None = None,
    ) -> None:
        super().__init__(declaration, inner)
        self._shift, self._factors = shift, scale if isinstance(scale, tuple) else (scale,)
        self.observed = self._value_of(inner.observed) if observed is None else observed
        self.expected = self._value_of(inner.expected) if inner.expected != inner.observed else self.observed

    def _resized(self, factor: FloatArray | float) -> Answers:
        return LinearAnswers(self.declaration, self.inner._resized(factor), self._factors, self._shift)

    def _value_of(self, value: float) -> float:
        return self._shift + times(value, self._factors)

    def _std_of(self, value: float, std: float) -> float:
        return abs(times(std, self._factors))

    def _interval_of(self, interval: IntervalAt) -> IntervalAt:
        return partial(affine, interval, self._factors, self._shift)

    @property
    def std(self) -> float:
        return self._std_of(0.0, self.inner.std)

    def of_rows(self, rows: NDArray[Any], predictions: NDArray[Any]) -> FloatArray | None:
        """Only for a metric without unit: one with a unit was computed in another unit than that of the rows."""
        found = None if self.declaration.degree else self.inner.of_rows(rows, predictions)
        return None if found is None else np.asarray(self._shift + math.prod(self._factors) * found)

    def law(self) -> Law:
        scale = times(1.0, self._factors)
        # all of it is 0 where the unit is below the smallest double
        return ScaledLaw(self.inner.law(), scale, self._shift) if scale else NormalLaw(self._shift, 0.0)

    def influences(self) -> FloatArray:
        found = self.inner.influences()
        for factor in self._factors:
            found = found * factor
        return found

    def _group_values(self, codes: NDArray[np.intp] | None) -> float:
        return times(times(self.inner._group_values(codes), self._factors), self._factors)

    def _skew_groups(self, codes: NDArray[np.intp]) -> SkewGroups | None:
        found = self.inner._skew_groups(codes)
        if found is None or self._shift:
            return None
        return replace(found, variance=times(times(found.variance, self._factors), self._factors))

    def why_undefined(self) -> str:
        return _TOO_LARGE if math.isfinite(self.inner.expected + self.inner.std) else self.inner.why_undefined()


def in_units(inner: Answers, *factors: float) -> Answers:
    """The answers in the unit of the user, of data that were divided by a power of two."""
    return inner if all(factor == 1.0 for factor in factors) else LinearAnswers(inner.declaration, inner, factors)


def in_ordinary_units(make: Callable[[Measured], Answers], data: Measured, unit: float, degree: int | None) -> Answers:
    """The answers found in another unit, a power of two in which no power of the data leaves the doubles.

    They grow with the degree-th power of the unit; a metric without unit (None or 0) does not grow.
    """
    return make(data) if unit == 1.0 else in_units(make(data.scaled(unit)), *(unit,) * (degree or 0))


# an average over outputs ---------------------------------------------------------------------------


class AverageAnswers(Answers):
    """Weighted average over outputs whose labels err independently; mean and std are exact, the distribution is drawn."""

    def __init__(self, parts: Sequence[Answers], weights: FloatArray) -> None:
        self.declaration, self.n = parts[0].declaration, parts[0].n
        self._parts, self._weights = list(parts), weights
        self.observed = self._mean([part.observed for part in parts])
        self.expected = self._mean([part.expected for part in parts])

    def _mean(self, values: Sequence[float]) -> float:
        return float(np.dot(self._weights, values))

    def _hypot(self, values: Sequence[float]) -> float:
        return math.hypot(*(w * v for w, v in zip(self._weights, values, strict=True)))

    @property
    def std(self) -> float:
        return self._hypot([part.std for part in self._parts])

    def law(self) -> Law:
        rng = np.random.default_rng(FIXED_SEED)
        draws = np.dot(self._weights, [np.asarray(part.law().rvs(_DRAWS, rng)) for part in self._parts])
        unit = near_one(max(abs(self.expected), self.std))  # keeps the variance in range
        law = SampleLaw(draws / unit, mean=self.expected / unit, var=(self.std / unit) ** 2)
        return law if unit == 1.0 else ScaledLaw(law, unit)

    def _combined(self, estimates: Sequence[Estimate]) -> Estimate:
        value, std = self._mean(estimates), self._hypot([e.std for e in estimates])
        totals = [e._total for e in estimates if e._total is not None]
        return Estimate(
            value,
            std,
            method=estimates[0].method,
            note=estimates[0].note,
            interval=Symmetric(value, std, *self._range),
            total_interval=self._stacked(totals, estimates) if len(totals) == len(estimates) else None,
        )

    def _stacked(self, intervals: Sequence[IntervalAt], centres: Sequence[float]) -> IntervalAt:
        low, high = self._range
        centre = self._mean([min(max(float(centre), low), high) for centre in centres])
        return partial(_stacked, tuple(intervals), tuple(self._weights), centre, self._togetherness)

    @cached_property
    def _togetherness(self) -> float:
        """Scatter of the average over that of outputs which all move together, as the items show it; between 0 and 1.

        All outputs belong to the same items. If items hard in one output are hard in all, the factor is 1.
        """
        try:
            rows = np.array([w * part.influences() for w, part in zip(self._weights, self._parts, strict=True)])
        except UndefinedEstimate:
            return 1.0
        rows = rows / (float(np.max(np.abs(rows))) or 1.0)  # squares of extreme units would leave the doubles
        apart = float(np.sum(np.linalg.norm(rows, axis=1)))
        return min(float(np.linalg.norm(rows.sum(axis=0))) / apart, 1.0) if 0 < apart < math.inf else 1.0

    def _truth(self) -> Estimate:
        return self._combined([part._with_known_sizes() for part in self._parts])

    def _remeasured(self, repeats: float) -> Estimate:
        return self._combined([part._remeasured(repeats) for part in self._parts])

    def _in_memory(self) -> Measured | None:
        """The labels of the output whose errors are known worst: all outputs are taken to share their common factor."""
        found = [data for part in self._parts if (data := part._in_memory()) is not None]
        return max(found, key=_doubt, default=None)

    @property
    def _items_hold_sizes(self) -> bool:  # type: ignore[override]
        return all(part._items_hold_sizes for part in self._parts)

    def _resized(self, factor: FloatArray | float) -> Answers:
        return AverageAnswers([part._resized(factor) for part in self._parts], self._weights)

    def _size_std_apart(self, errors: MeasurementError, ask: NumberOf) -> float:
        return self._hypot([part._size_std_apart(errors, ask) for part in self._parts])

    def warnings(self) -> list[str]:
        return self._about_noise()

    def perfect(self) -> Estimate:
        return self._combined([part.perfect() for part in self._parts])

    def noise_share(self) -> float | None:
        shares = [share for part in self._parts if (share := part.noise_share()) is not None]
        return self._mean(shares) if len(shares) == len(self._parts) else None

    def influences(self) -> FloatArray:
        return np.asarray(sum(w * part.influences() for w, part in zip(self._weights, self._parts, strict=True)))

    def sampling_std(self) -> float:
        return self._togetherness * self._mean([part.sampling_std() for part in self._parts])

    def total_interval(self, level: float) -> Interval:
        return self._stacked([part.total_interval for part in self._parts], [part._centre for part in self._parts])(
            level
        )

    def why_undefined(self) -> str:
        wild = [part for part in self._parts if not (math.isfinite(part.expected) and math.isfinite(part.std))]
        return wild[0].why_undefined() if wild else super().why_undefined()


def _doubt(data: Measured) -> float:
    """How well the common factor of the label errors is known."""
    scale = None if data.on_device else data.errors.common_scale
    return 0.0 if scale is None else scale.error


def _stacked(
    parts: Sequence[IntervalAt], weights: Sequence[float], centre: float, factor: float, level: float
) -> Interval:
    """Average of intervals, end by end; nearer to the centre where the averaged scores do not move together."""
    low, high = np.dot(weights, np.array([part(level) for part in parts]))
    return Interval(float(centre + factor * (low - centre)), float(centre + factor * (high - centre)))


# predictions that err too --------------------------------------------------------------------------

_LEVELS = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
_TO_NONE = np.array([1.0, -1.0, 1.0]) @ np.linalg.pinv(np.vander(_LEVELS, 3))
"""Weights of the score at these multiples of the prediction variance: a parabola through them, read at -1."""
_BERKSON_BACK = (
    "Berkson error of the labels: the truth scatters about the label, which is counted in; what the errors of the predictions "
    "add is taken off by extrapolation from more prediction error to none"
)
_NO_WAY_BACK = (
    "the score has no finite mean under these errors, or its labels were summed up as they came: what the errors of the "
    "predictions add cannot be taken off."
)
_COUNTED = (
    "predictions have errors of their own: expected, truth and the (labels) error bar count them; remeasured (the same "
    "predictions on fresh labels) and perfect do not."
)
_MOSTLY_NOISE = (
    "more than half of the observed error is the error of labels and predictions: more precise ones would tell more."
)


class PredictionErrorAnswers(ChangedAnswers):
    """One metric of predictions with standard errors of their own.

    `expected`, its distribution and `truth` come from the errors of both: if labels were redrawn, so would be the
    predictions, and `truth` is that of the converged model. `remeasured`, `perfect` and the next test set come from the
    errors of the labels alone: fresh labels meet the same predictions, a perfect model has no errors, and the scatter of
    the items already includes those of the predictions.
    """

    counted_errors = "errors of labels and predictions"

    _make: Callable[[Measured], Answers]
    _data: Measured

    def __init__(self, both: Answers, repeats: FloatArray | float = 1.0) -> None:
        super().__init__(both)
        self.repeats = repeats

    @classmethod
    def of_data(cls, make: Callable[[Measured], Answers], data: Measured) -> PredictionErrorAnswers:
        """From labels and predictions with their errors, and how answers are made."""
        found = cls(make(data), data.errors.repeats)
        found._make, found._data = make, data
        return found

    @classmethod
    def of_sums(cls, both: Answers, alone: Answers) -> PredictionErrorAnswers:
        """From sums that count the errors of both, and of the labels alone."""
        found = cls(both)
        found._labels_alone = alone
        if found._berkson:
            found._at_levels = np.full(_LEVELS.size, math.inf)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Make now what is otherwise made on demand: the functions that make it cannot be pickled."""
        _ = self._labels_alone
        if self._berkson:
            _ = self._at_levels
        return {name: value for name, value in self.__dict__.items() if name != "_make"}

    @cached_property
    def _labels_alone(self) -> Answers:
        """The answers with the errors of the labels alone."""
        return self._make(self._data.of_labels())

    def _with_known_sizes(self) -> Estimate:
        """Berkson error of the labels goes forward, the errors of the predictions go back."""
        if not self._berkson:
            return self._truth()
        value = float(_TO_NONE @ self._at_levels) if np.all(np.isfinite(self._at_levels)) else math.inf
        if not math.isfinite(value):
            raise UndefinedEstimate(_NO_WAY_BACK)
        spread = math.sqrt(self._labels_alone._item_variance() + self._labels_alone._shared_variance())
        return self._symmetric(value, self.std, "simex", spread, _BERKSON_BACK)

    @cached_property
    def _at_levels(self) -> FloatArray:
        """The expected score at multiples of the prediction variance."""
        label, predicted = self._data.errors.of_labels(), self._data.errors.of_predictions()
        assert predicted is not None
        more = (LabelAndPrediction(label, np.sqrt(level) * np.asarray(predicted.sigma)) for level in _LEVELS[1:])
        return np.array(
            [self._labels_alone.expected, *(self._make(self._data.with_errors(one)).expected for one in more)]
        )

    _remeasured = asked_of("_labels_alone._remeasured")
    perfect = asked_of("_labels_alone.perfect")
    _in_memory = asked_of("_labels_alone._in_memory")
    _items_hold_sizes = asked_of("_labels_alone._items_hold_sizes")
    _size_std_apart = asked_of("_labels_alone._size_std_apart")
    influences = asked_of("_labels_alone.influences")
    _group_values = asked_of("_labels_alone._group_values")
    _skew_groups = asked_of("_labels_alone._skew_groups")
    _item_variance = asked_of("_labels_alone._item_variance")
    _shared_variance = asked_of("_labels_alone._shared_variance")
    total_interval = asked_of("_labels_alone.total_interval")

    def sampling_std(self) -> float:
        return (self._labels_alone if self._berkson else self.inner).sampling_std()

    def warnings(self) -> list[str]:
        found = self._labels_alone.warnings()
        noisy = not found and (self.noise_share() or 0.0) > 0.5
        return [_COUNTED, *found, *([_MOSTLY_NOISE] if noisy else [])]


def with_prediction_errors(make: Callable[[Measured], Answers], data: Measured) -> Answers:
    """The answers of a metric, whether its predictions have errors of their own or not."""
    if data.plain_normal or data.errors.of_predictions() is None:
        return make(data)
    if data.errors.of_labels().common_scale is not None:
        raise ValueError(
            "prederr is not taken together with label errors of uncertain size (scale_error, or one dof for all): leave one "
            "out."
        )
    return PredictionErrorAnswers.of_data(make, data)
