"""The truth of medians and ranks: the metric of stand-ins for the true values, and how well it is known.

The stand-ins hang on one number above all, the sum of squares that is left of the labels' residuals once their errors
are taken off. It is known to within a standard error, and each value of it has its stand-ins: that gives one part of an
interval, lopsided where it has to be. The other part is what remains when the stand-ins are measured again on the
computer (or items drawn again, for the population), estimated anew, and compared with stand-ins of the same sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scorebars.answers.together.ratio_of_sums import NOTHING_LEFT, RatioOfSums, half_width_in_std
from scorebars.answers.truth.stand_in import Shrunk, shrunk
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError, Normal
from scorebars.measured import Measured
from scorebars.moments.label_noise import LabelNoise, PearsonSums, RatioKind
from scorebars.score import Estimate, Interval, UndefinedEstimate

_SEED = 20240517
_CELLS = 20_000_000
_MOST, _FEWEST = 200, 30
NO_POPULATION = "the largest error of a population is not shown by its sample, however large: it has no interval."
BOUNDS = "an extreme has no error law of its own: the interval bounds it, and holds at least as often as it says"

Draws = Callable[[int, np.random.Generator], FloatArray]
_Values = Callable[[FloatArray, FloatArray, FloatArray | None], FloatArray]


class DrawnTruth:
    """The metric of stand-ins for the true values behind one set of labels."""

    def __init__(
        self, data: Measured, values: _Values, scale: RatioKind | None, low: float, high: float, follows: bool
    ) -> None:
        self._data, self._values, self._scale, self._follows = data, values, scale, follows
        self._low, self._high = low, high
        self._y, self._p = data.labels, data.predictions
        self._errors, self._w = data.errors, data.weight
        if follows and not RatioOfSums(PearsonSums(), data, -1.0, 1.0).scatter_shown():
            raise UndefinedEstimate(NOTHING_LEFT)

    @cached_property
    def _count(self) -> int:
        return int(min(_MOST, max(_CELLS // self._y.size, _FEWEST)))

    def _metric(self, labels: FloatArray) -> float:
        return float(self._values(labels[None], self._p, self._w)[0])

    @cached_property
    def shrunk(self) -> Shrunk:
        return shrunk(self._y, self._p, self._errors, self._w, self._follows)

    @cached_property
    def value(self) -> float:
        """The metric against the truth."""
        return self._metric(self.shrunk.values)

    def _with(self, left: float) -> float:
        """The metric if this sum of squares were left."""
        return self._metric(self.shrunk.at(left))

    @cached_property
    def _about(self) -> FloatArray:
        """Stand-ins to measure again: where nothing seems left, with what could be."""
        return self.shrunk.at(max(self.shrunk.left, self.shrunk.left_std))

    # how well it is known ----------------------------------------------------------------------

    @cached_property
    def _remaining(self) -> float:
        """Standard deviation of the estimate on labels measured again, the sum that is left apart."""
        rng = np.random.default_rng(_SEED)
        off = []
        for labels in self._errors.measured_again(self._y, self._about, self._count, rng):
            again = shrunk(labels, self._p, self._errors, self._w, self._follows)
            off.append(self._metric(again.values) - self._with(again.left))
        return float(np.std(off))

    @cached_property
    def _over_items(self) -> tuple[float, float, float]:
        """Standard deviations over items drawn again: the sum left, the estimate but for it, the classical metric."""
        rng = np.random.default_rng(_SEED)
        n, rows = self._y.size, []
        for _ in range(self._count):
            pick = rng.integers(0, n, n)
            y, p, w = self._y[pick], self._p[pick], None if self._w is None else self._w[pick]
            if w is not None and not np.any(w > 0):
                continue
            again = shrunk(y, p, self._errors[pick], w, self._follows)
            found, seen = (float(self._values(v[None], p, w)[0]) for v in (again.values, y))
            rows.append((again.left, found - self._with(again.left), _onto(self._scale, seen)))
        left, rest, seen = np.std(np.array(rows), axis=0, ddof=1)
        return float(left), float(rest), float(seen)

    def _estimate_interval(self, total: bool) -> DrawnInterval:
        left, rest = self._over_items[:2] if total else (self.shrunk.left_std, self._remaining)
        df = max(self._y.size - 1, 1) if total else math.inf
        return DrawnInterval(self.value, self.shrunk.left, left, rest, self._with, self._low, self._high, df)

    def estimate(self) -> Estimate:
        """The metric against the truth with its intervals."""
        return Estimate(
            self.value,
            self._std,
            method="stand-ins",
            interval=self._for_labels,
            total_interval=self._for_items,
        )

    def _for_labels(self, level: float) -> Interval:
        return self._estimate_interval(False)(level)

    def _for_items(self, level: float) -> Interval:
        return self._estimate_interval(True)(level)

    def _std(self) -> float:
        low, high = self._estimate_interval(False)(math.erf(math.sqrt(0.5)))
        return (high - low) / 2

    # the classical metric ----------------------------------------------------------------------

    def _fresh(self, repeats: float | None, errors: MeasurementError, seed: int) -> FloatArray:
        """The classical metric on stand-ins measured afresh."""
        rng = np.random.default_rng((_SEED, seed))
        count = min(10 * self._count, 1000)
        labels = errors.measured_again(self._y, self._about, count, rng, repeats)
        return np.asarray(self._values(labels, self._p, self._w))

    @cached_property
    def label_std(self) -> float:
        """Standard deviation of the classical metric if the labels at hand were measured once more."""
        return float(np.std(self._fresh(None, self._errors, 0)))

    @cached_property
    def shared_std(self) -> float:
        """What the errors' being shared adds to the scatter of the classical metric; items do not show it."""
        if self._errors.independent:
            return 0.0
        alone = Normal.trusted(np.sqrt(LabelNoise.of(self._errors, self._y).alone().variance))
        return math.sqrt(max(self.label_std**2 - float(np.var(self._fresh(None, alone, 0))), 0.0))

    @cached_property
    def item_std(self) -> float:
        """Standard error of the classical metric over test sets."""
        seen = self._metric(self._y)
        return math.hypot(self._over_items[2] * _pace(self._scale, seen), self.shared_std)

    def remeasured(self, observed: float, repeats: float) -> Estimate:
        """The classical metric on fresh means of `repeats`: as far from the observed one as two measurements are."""
        same = bool(np.all(np.equal(repeats, self._errors.repeats)))
        old, new = self._fresh(None, self._errors, 0), self._fresh(None if same else repeats, self._errors, 1)
        value = observed if same else observed + float(np.mean(new) - np.mean(old))
        value = min(max(value, self._low), self._high)
        apart = np.subtract.outer(new - np.mean(new), old - np.mean(old)).ravel()
        interval = Apart(value, np.quantile(apart, np.linspace(0, 1, 2001)), self._low, self._high)
        return Estimate(value, float(np.hypot(np.std(new), np.std(old))), method="stand-ins", interval=interval)


def _onto(scale: RatioKind | None, value: float) -> float:
    """Where the metric is closest to normal: Fisher's z, or the logarithm of what is lost."""
    if scale == "ratio":
        return math.atanh(min(max(value, -1.0 + 1e-6), 1.0 - 1e-6))
    return math.log(max(1.0 - value, 1e-12)) if scale == "lost" else value


def _pace(scale: RatioKind | None, value: float) -> float:
    """How far the metric moves for a unit on that scale."""
    return 1.0 - value * value if scale == "ratio" else abs(1.0 - value) if scale == "lost" else 1.0


@dataclass(frozen=True, eq=False)
class DrawnInterval:
    """The interval of an estimate that hangs on one poorly known number, and scatters besides."""

    value: float
    left: float
    left_std: float
    rest: float
    at: Callable[[float], float]
    low: float
    high: float
    df: float

    def __call__(self, level: float) -> Interval:
        z = half_width_in_std(level, self.df)
        ends = [self.at(self.left + c * z * self.left_std) - self.value for c in (-1.0, 1.0)]
        down, up = min(*ends, 0.0), max(*ends, 0.0)
        low, high = self.value - math.hypot(down, z * self.rest), self.value + math.hypot(up, z * self.rest)
        return Interval(min(max(low, self.low), self.high), max(min(high, self.high), self.low))


@dataclass(frozen=True, eq=False)
class Apart:
    """A value plus the central part of a table of quantiles of how far off it may be."""

    value: float
    table: FloatArray
    low: float
    high: float

    def __call__(self, level: float) -> Interval:
        tail = (1.0 - level) / 2
        off = np.interp([tail, 1.0 - tail], np.linspace(0, 1, self.table.size), self.table)
        low, high = self.value + min(off[0], 0.0), self.value + max(off[1], 0.0)
        return Interval(max(low, self.low), min(high, self.high))


@dataclass(frozen=True, eq=False)
class LargestTruth:
    """Bounds of the largest true error.

    The item with the largest true error is some item: its label is off by more than its own quantile with the probability
    of the tail, so the largest of |d| plus that quantile bounds it from above. From below it is at least |d| minus an
    error that none of the labels exceeds.
    """

    data: Measured
    guess: float

    def __call__(self, level: float) -> Interval:
        y, p = self.data.labels, self.data.predictions
        tail = (1.0 - level) / 2
        low, high = self.data.errors.truth_between(y, tail / 2)
        most = float(np.max(np.maximum(np.abs(low - p), np.abs(high - p))))
        low, high = self.data.errors.truth_between(y, -math.expm1(math.log1p(-tail) / y.size) / 2)
        least = np.where((low <= p) & (p <= high), 0.0, np.minimum(np.abs(low - p), np.abs(high - p)))
        return Interval(float(np.max(least)), most)

    def estimate(self) -> Estimate:
        low, high = self(math.erf(math.sqrt(0.5)))
        value = min(max(self.guess, low), high)
        return Estimate(value, (high - low) / 2, method="stand-ins", note=BOUNDS, interval=self)
