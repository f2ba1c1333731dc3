"""Noise levels: every answer of a score is the same metric at another noise level of the labels.

A label carries the error variance s^2 already. An answer asks for the metric at another variance v'. The loss is then
smoothed by tau^2 = v' - s^2: forward where that is positive, which is exact, and back where it is negative, which is an
estimate.

================  ======================  ================  ========
answer            v'                      tau^2             residual
================  ======================  ================  ========
observed          s^2                     0                 d
expected          s^2 + sigma^2           +sigma^2          d
remeasured(k)     sigma^2 / k             sigma^2/k - s^2   d
truth             0                       -s^2              d
perfect           s^2                     +s^2              0
================  ======================  ================  ========

sigma^2 is the error variance of a single measurement; s^2 is that of the label, the mean of its repeats.

What holds for every metric is written here, once: Berkson truth, noise share, the test set as a sample, warnings.
A family of metrics provides its distribution (`law`), its estimates against the truth and on fresh labels (`_truth`,
`_remeasured`), the score of a perfect model (`perfect`), and how much the choice of items scatters the metric
(`_item_variance`, from per-label `influences` unless the family knows better).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.intervals import IntervalAt, OfLaw, Symmetric, around_both
from scorebars.answers.score import Declaration, Estimate, Interval, UndefinedEstimate
from scorebars.answers.size_errors import NumberOf, of_single_sizes, size_error, widened
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.laws.law import Law
from scorebars.measured import Measured


@dataclass(frozen=True)
class Level:
    """A noise level of the labels."""

    name: str
    repeats: FloatArray | float | None = None
    """For `remeasured`: each new label is the mean of this many repeats."""

    def tau2(self, errors: MeasurementError, y: FloatArray) -> FloatArray:
        """The variance by which the loss of each label is smoothed; negative where label error has to be taken off."""
        if self is EXPECTED or self is PERFECT:
            return self.errors(errors).variance(y)
        fresh = np.zeros_like(y) if self.repeats is None else errors.variance_of_mean(y, self.repeats)
        return fresh - errors.label_variance(y)

    def relative(self, errors: MeasurementError, y: FloatArray) -> FloatArray:
        """tau^2 / s^2, from -1 (no label error at all) upwards; 0 for labels without error."""
        old = errors.label_variance(y)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.tau2(errors, y) / old
        left = 0.0 if self.repeats is None else errors.repeats / self.repeats
        # errors without a variance average out like others
        return np.where(old > 0, np.where(np.isfinite(old), ratio, left - 1.0), 0.0)

    def errors(self, errors: MeasurementError) -> MeasurementError:
        """How labels scatter at `expected` (as single measurements) and at `perfect` (as the labels at hand)."""
        return errors.label_level() if self is PERFECT else errors

    def residual(self, d: FloatArray) -> FloatArray:
        """The residuals: none for a perfect model."""
        return np.zeros_like(d) if self is PERFECT else d


EXPECTED, TRUTH, PERFECT = (Level(name) for name in ("expected", "truth", "perfect"))


PERFECT_NOTE = "expected score of a perfect model"
PER_CENT = (
    "the label errors are larger than the spread of the labels: are these per cent (then sb.Relative, or "
    "--yerr-percent, takes them), or in another unit?"
)
_NO_EXPECTED = (
    "{name} against the truth has no finite expected value under these errors: true values may come too close to where its "
    "loss grows without bound. interval() and distribution.ppf(0.5) exist: they say where the score lies."
)
_BERKSON_NOTE = "Berkson error: the truth scatters about the label, so this is the expected score"
NO_REMEASURED = (
    "under Berkson error (truth = label + error) the error model says how the truth scatters about the label, "
    "not how a new measurement scatters about the truth: remeasured is not determined."
)


class Answers(ABC):
    """Where a Score finds its answers: one metric on one data set. Values are computed when asked for."""

    declaration: Declaration
    observed: float
    expected: float
    n: int
    """Number of items."""
    kind: str = "classical"
    """Whether label = truth + error ("classical") or truth = label + error ("berkson")."""
    unit: Any = None
    """The unit of the metric, where the labels brought one."""
    counted_errors: str = "label errors"
    """What `std` and the standard errors of estimates count, in words."""
    expected_is: str = (
        "the metric if every label were redrawn from its error bar, the label values taken as the true means"
    )
    """What `expected` is, in words."""
    observed_is: str = "the classical metric, the labels taken as exact"
    """What `observed` is, in words."""
    limits_said: str = ""
    """Which labels are limits, in words after their number: "37 are upper limits"; empty where none is."""
    sampled: bool = False
    """Whether `std` and `law` hold the choice of the items as well as the label errors."""
    repeats: FloatArray | float = 1.0
    """How many repeats each label is the mean of."""
    rates_counted: bool = False
    """Whether the error rates of the labels were counted from checked ones, and are uncertain themselves."""

    # what a family provides --------------------------------------------------------------------

    @property
    @abstractmethod
    def std(self) -> float:
        """Standard deviation of the metric if every label were redrawn from its error bar."""

    @abstractmethod
    def law(self) -> Law:
        """The distribution of the metric if every label were redrawn from its error bar."""

    @abstractmethod
    def perfect(self) -> Estimate:
        """The metric of a perfect model on these labels."""

    @abstractmethod
    def _truth(self) -> Estimate:
        """Classical error: the metric against the true values behind the labels."""

    @abstractmethod
    def _remeasured(self, repeats: float) -> Estimate:
        """Classical error: the metric on labels measured afresh, each the mean of `repeats` repeats."""

    def of_rows(self, rows: NDArray[Any], predictions: NDArray[Any]) -> FloatArray | None:
        """The classical metric of many rows (d, n) of labels, and of these predictions for numbers.

        None where it has to be found row by row; nan where it is not defined.
        """
        return None

    def influences(self) -> FloatArray:
        """How much each item moves the metric, to first order: the observed one, under Berkson error the expected one."""
        raise UndefinedEstimate(f"{self.declaration.name} has no influence values: its labels were not kept.")

    def _item_variance(self) -> float:
        """Variance over test sets from the scatter of the items; one item does not show any.

        Of the observed metric, whose items hold their label errors. Berkson error: of the expected one.
        """
        return self._group_values(None)

    def _group_values(self, codes: NDArray[np.intp] | None) -> float:
        """Sum of the squared influences of groups of items; without groups the variance over test sets of single items."""
        found = self.influences()
        if len(found) != self.n:  # several outputs of an item
            found = found.reshape(self.n, -1).sum(axis=1)
        if codes is None:
            return math.inf if self.n < 2 else float(np.sum(np.square(found))) * self.n / (self.n - 1)
        return float(np.sum(np.square(np.bincount(codes, found))))

    def _skew_groups(self, codes: NDArray[np.intp]) -> SkewGroups | None:
        """How groups of items scatter the metric, where it is a mean of squares, whose scatter few groups hardly show."""
        return None

    def _truth_in_groups(self, codes: NDArray[np.intp]) -> Estimate | None:
        """`truth` where items come in groups, by a family that knows better than the influences of items; else None."""
        return None

    def _label_variance(self) -> float:
        """The part of `_item_variance` that independent label errors make."""
        return 0.0

    def _shared_variance(self) -> float:
        """What errors common to several labels add; the scatter of the items does not show it."""
        return 0.0

    # what holds for all ------------------------------------------------------------------------

    @property
    def _berkson(self) -> bool:
        return self.kind == "berkson"

    @property
    def _centre(self) -> float:
        """The value that test sets scatter about."""
        return self.expected if self._berkson else self.observed

    @property
    def _range(self) -> tuple[float, float]:
        return self.declaration.low, self.declaration.high

    @property
    def _df(self) -> float:
        """Degrees of freedom of the scatter of the items."""
        return max(self.n - 1, 1)

    def truth(self) -> Estimate:
        """The metric against the true values. Under Berkson error these scatter about the labels: the expected score.

        Where labels are limits, the hidden values of the items scatter, and the population's score does not. The population's
        interval holds that of the items all the same: nobody should read that the sample makes a score better known.
        """
        found = self._with_size_errors(self._with_known_sizes(), methodcaller("_with_known_sizes"))
        if not self.limits_said or found._total is None:
            return found
        return found._changed(total_interval=partial(around_both, found._interval, found._total))

    def _with_size_errors(self, found: Estimate, ask: NumberOf, of_truth: bool = True) -> Estimate:
        """The estimate, wider where the sizes of the label errors are estimates themselves.

        Sizes that were estimated label by label count for estimates of the truth only; elsewhere they average out.
        """
        data = self._in_memory()
        if data is None or not self._sizes_in_doubt or (data.errors.common_scale is None and not of_truth):
            return found
        return widened(found, size_error(self, data.errors, ask, of_truth), self._range, self._items_hold_sizes)

    @cached_property
    def _sizes_in_doubt(self) -> bool:
        """Whether the sizes of the label errors are estimates themselves."""
        data = self._in_memory()
        return (
            data is not None and not data.on_device and (data.errors.estimated or data.errors.common_scale is not None)
        )

    def _resized(self, factor: FloatArray | float) -> Answers:
        """The same metric of the same labels with errors `factor` times as large."""
        raise UndefinedEstimate(f"{self.declaration.name} takes the sizes of label errors as known, not as estimates.")

    _items_hold_sizes = True
    """Whether the scatter of the items already includes that of error sizes estimated label by label."""

    def _size_std_apart(self, errors: MeasurementError, ask: NumberOf) -> float:
        """What error sizes estimated label by label add to an estimate that does not include it yet."""
        return of_single_sizes(self, errors, ask)

    def _with_known_sizes(self) -> Estimate:
        """The truth if the sizes of the label errors were known."""
        if not self._berkson:
            return self._truth()
        if not math.isfinite(self.expected):
            raise UndefinedEstimate(_NO_EXPECTED.format(name=self.declaration.name))
        law = self.law()
        return Estimate(
            self.expected,
            self.std,
            method=law.method,
            note=_BERKSON_NOTE,
            interval=OfLaw(law, self.expected),
            total_interval=self._berkson_population(),
        )

    def _berkson_population(self) -> IntervalAt:
        """Berkson error: the interval of the population's expected score."""
        spread = math.sqrt(self._item_variance() + self._shared_variance())
        return Symmetric(self.expected, spread, *self._range, self._df)

    def remeasured(self, repeats: float) -> Estimate:
        """The metric on labels measured afresh, each the mean of `repeats` repeats."""
        if self._berkson:
            raise UndefinedEstimate(NO_REMEASURED)
        found = self._remeasured(repeats)
        return self._with_size_errors(found, methodcaller("_remeasured", repeats), of_truth=False)

    def __getstate__(self) -> dict[str, Any]:
        """All but the estimate against the truth, which is computed again after unpickling."""
        return {name: value for name, value in vars(self).items() if name != "against_truth"}

    @cached_property
    def against_truth(self) -> Estimate:
        """`truth`, computed once."""
        return self.truth()

    @cached_property
    def floor(self) -> Estimate:
        """What a perfect model would score: `perfect`, computed once."""
        return self._with_size_errors(self.perfect(), methodcaller("perfect"), of_truth=False)

    def _symmetric(self, value: float, std: float, method: str, total: float | None = None, note: str = "") -> Estimate:
        """An estimate with intervals symmetric about it; `total` is its standard error over test sets."""
        population = None if total is None else Symmetric(value, total, *self._range, self._df)
        interval = Symmetric(value, std, *self._range)
        return Estimate(value, std, method=method, note=note, interval=interval, total_interval=population)

    def bounds(self) -> Interval:
        """The values of the metric that the labels allow; one value where none of them is a limit."""
        return Interval(self.observed, self.observed)

    def noise_share(self) -> float | None:
        """How much of the observed error is label error, between 0 and 1; None where the question has no meaning."""
        ideal, (low, high) = self._ideal(), self._range
        if self._berkson or low < ideal < high or low == -1.0 or self.observed == ideal:
            return None
        try:
            left = (float(self.against_truth) - ideal) / (self.observed - ideal)
        except UndefinedEstimate:
            return None
        return min(max(1.0 - left, 0.0), 1.0) if math.isfinite(left) else None

    def _ideal(self) -> float:
        """The score of a perfect model on labels without error."""
        return self.declaration.perfect

    def sampling_std(self) -> float:
        """Standard deviation of the expected metric over test sets: the scatter of items less that of label errors."""
        items = self._item_variance()
        if self._berkson or math.isinf(items):
            return math.sqrt(items)
        # errors common to all labels move them together, so less of their variance is seen in the scatter
        own = self._label_variance() - self._shared_variance() / (self.n - 1)
        return math.sqrt(max(items - own, 0.0)) if math.isfinite(own) else math.inf

    def total_interval(self, level: float) -> Interval:
        """Where the metric falls on a new test set with its own label errors.

        This test set and the next one scatter alike, so the variance of their difference is twice that of one. Under
        Berkson error this one was averaged over its label errors, and only the next one has them.
        """
        return self._next_test_set(self.std * self.std / 2 if self._berkson else self._shared_variance())(level)

    def _next_test_set(self, more: float) -> IntervalAt:
        """The interval of the next test set, with variance `more` on top of the scatter of the items."""
        spread = math.sqrt(2.0 * (self._item_variance() + more))
        return Symmetric(self._centre, spread, *self._range, self._df)

    def warnings(self) -> list[str]:
        """Plain sentences about what is unusual here."""
        data = self._in_memory()
        return [*self._about_noise(), *([PER_CENT] if data is not None and data.dwarfed_by_errors else [])]

    def _in_memory(self) -> Measured | None:
        """Labels that are numbers, where they are at hand."""
        return None

    def _better_than_perfect(self) -> bool:
        """Whether the observed score is better than a perfect model would reach, by more than chance."""
        try:
            low, high = self.floor.interval(0.99)
        except UndefinedEstimate:  # the labels do not tell how they err
            return False
        return self.observed > high if self.declaration.greater_is_better else self.observed < low

    def _about_noise(self) -> list[str]:
        if self._better_than_perfect():
            where = "above the noise ceiling" if self.declaration.greater_is_better else "below the noise floor"
            return [
                f"the observed score is {where}: the label errors are overstated, or the model has seen these labels."
            ]
        if (self.noise_share() or 0.0) > 0.5:
            return ["more than half of the observed error is label error: better labels would tell more."]
        return []

    def present_repeats(self) -> int:
        """How many repeats the labels at hand are means of; the nearest to their harmonic mean where these differ."""
        return max(1, round(float(1.0 / np.mean(1.0 / np.asarray(self.repeats, dtype=np.float64)))))

    def why_undefined(self) -> str:
        """Why `expected` or `std` is infinite, where it is, and what to use instead."""
        return "its moments do not exist under these label errors."


def of_law(law: Law, note: str = PERFECT_NOTE, value: float | None = None) -> Estimate:
    """An estimate that is the mean of a known distribution."""
    mean = float(law.mean) if value is None else value
    return Estimate(mean, float(law.std), method=law.method, note=note, interval=OfLaw(law, mean))


@dataclass(frozen=True)
class SkewGroups:
    """How groups of items scatter a mean of squares over test sets."""

    variance: float
    """From leaving out each group in turn."""
    df: float
    """Degrees of freedom of that variance: fewer than there are groups where these are unequal."""
    skewness: float


def asked_of(where: str) -> Any:
    """A method or value of a class that is asked of another object: ``law = asked_of("inner.law")``."""
    return property(attrgetter(where))


class ChangedAnswers(Answers):
    """The answers of another object, `inner`; a subclass changes some of them."""

    def __init__(self, inner: Answers) -> None:
        self.inner = inner
        self.declaration, self.n, self.kind, self.repeats = inner.declaration, inner.n, inner.kind, inner.repeats
        self.sampled, self.observed, self.expected_is = inner.sampled, inner.observed, inner.expected_is
        self.observed_is, self.limits_said = inner.observed_is, inner.limits_said

    expected = asked_of("inner.expected")
    std = asked_of("inner.std")
    law = asked_of("inner.law")
    perfect = asked_of("inner.perfect")
    _truth = asked_of("inner._truth")
    _remeasured = asked_of("inner._remeasured")
    influences = asked_of("inner.influences")
    noise_share = asked_of("inner.noise_share")
    why_undefined = asked_of("inner.why_undefined")
