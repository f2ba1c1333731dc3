"""Items that come in groups: molecules of a series, pixels of a scene, patients of a hospital.

Items of one group are alike, so they tell less about the population than as many independent ones. With r_i the influence of
item i on the metric (for a mean loss its share times its loss less the mean), the variance over test sets is

    V = G/(G - 1) sum over groups of (sum of r_i in the group)^2,

and intervals are Student's with G - 1 degrees of freedom. Where groups are unequal, intervals leave out each group in turn and
count the degrees of freedom that such groups have. Few groups show too little scatter of squares, which are skew: where their
mean is small by chance their scatter is small too. So intervals of squares lean upwards by the skewness besides
(docs/theory/new-test-sets.md).

Label errors of different items stay independent: what grouping adds, V less the variance of independent items, is the same for
the observed score and for that against the truth, and comes on top of whatever scatter of the items an interval holds already.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars import checks, tables
from scorebars.answers.base import Answers, ChangedAnswers, asked_of
from scorebars.answers.combined import TransformedAnswers
from scorebars.answers.intervals import (
    LEAST_SKEWNESS,
    IntervalAt,
    NextShare,
    ScoreInterval,
    Skewed,
    Symmetric,
    half_width_in_std,
    kept_between,
    leaning_quantiles,
)
from scorebars.answers.score import Estimate, Interval, Score, Scores, UndefinedEstimate
from scorebars.arrays import FloatArray, to_host
from scorebars.numerics import FIXED_SEED

_FEW = 5
"""With fewer groups their scatter is hardly known."""
_LEAST_OF_LOST = 2.0
"""Least skewness of the share that R2 or D2 lose, in units of its relative standard error: that of squares of normal residuals
and of sizes of Laplace ones. Few groups show less of it."""


def group_codes(groups: Any, n: int, argument: str = "groups") -> NDArray[np.intp]:
    """The number of the group of each of n items; refuses missing ones."""
    values = checks.any_array(groups, argument)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n,):
        raise ValueError(
            f"{argument} and y_true have inconsistent numbers of samples: shape {values.shape} and {n} items. Give the group "
            "of each item: a number or a name."
        )
    missing = tables.missing_rows(values)
    if missing.any():
        raise tables.missing_values(argument, values, missing)
    if values.dtype.kind == "O":
        values = values.astype(str)
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def grouped(found: Any, groups: Any, sample_weight: Any = None) -> Any:
    """A Score, or several, whose items come in groups."""
    if isinstance(found, Scores):
        return Scores(grouped(one, groups, sample_weight) for one in found)
    if not isinstance(found, Score):
        raise ValueError(
            f"groups say how items scatter a single score, but this metric gives a {type(found).__name__}."
        )
    codes = group_codes(groups, found.n)
    counted = codes if sample_weight is None else codes[np.asarray(to_host(sample_weight)) > 0]
    answers = ClusteredAnswers(found._answers, codes, len(np.unique(counted)), sample_weight)
    answers.unit = found._answers.unit
    return type(found)(answers)


@dataclass(frozen=True)
class Clusters:
    """How items that come in groups change intervals over test sets."""

    more: float
    """What grouping adds to the variance over test sets; negative where items of a group balance each other."""
    ratio: float
    """Variance over test sets with groups over that of independent items."""
    ratio_of_truth: float
    """That ratio for the score against the truth: without the part of the label errors, which stay independent."""
    df: float
    """Number of groups less one; fewer for squares where groups are unequal."""
    was: float
    """Degrees of freedom of the scatter of independent items."""
    skewness: float | None = None
    """Skewness of a mean of squares over test sets."""
    lean: float = 0.0
    """Skewness of any other metric over test sets."""

    def spread(self, interval: IntervalAt, value: float, limits: tuple[float, float], sets: float = 1.0) -> IntervalAt:
        """An interval over test sets; `sets` of them scatter in it (two for the next one seen from this one)."""
        if isinstance(interval, Symmetric):
            std = math.sqrt(max(interval.std**2 + sets * self.more, 0.0)) if math.isfinite(self.more) else math.inf
            found = replace(interval, std=std, df=self.df, lean=self.lean if sets == 1 else 0.0)
            if isinstance(found, Skewed):
                return replace(found, skewness=self.skewness, sets=sets, least=LEAST_SKEWNESS)
            return found
        if isinstance(interval, ScoreInterval):
            return self._spread_share(interval, sets)
        if isinstance(interval, NextShare):
            return NextShare(self._spread_share(interval.mean, sets))
        return partial(_farther, interval, self, value, limits, sets)

    def _spread_share(self, interval: ScoreInterval, sets: float) -> ScoreInterval:
        ratio, lean = (self.ratio, 0.0) if sets > 1 else (self.ratio_of_truth, self.lean)
        return replace(interval, curve=interval.curve * ratio, df=self.df, lean=lean)


def _farther(
    interval: IntervalAt, by: Clusters, value: float, limits: tuple[float, float], sets: float, level: float
) -> Interval:
    """Both ends moved away from the value, each as if it belonged to a normal distribution."""
    if not math.isfinite(by.more):
        return Interval(*limits)
    was, now = half_width_in_std(level, by.was), half_width_in_std(level, by.df)
    down, up = leaning_quantiles(now, by.lean if sets == 1 else 0.0)
    inside = min(max(value, limits[0]), limits[1])

    def reach(distance: float, quantile: float) -> float:
        return quantile * math.sqrt(max((distance / was) ** 2 + sets * by.more, 0.0))

    low, high = interval(level)
    return kept_between(inside - reach(inside - low, down), inside + reach(high - inside, up), *limits)


class ClusteredAnswers(ChangedAnswers):
    """The answers of a metric whose items come in groups; only what test sets scatter by differs."""

    def __init__(self, inner: Answers, codes: NDArray[np.intp], count: int, weight: Any = None) -> None:
        super().__init__(inner)
        self._codes, self.groups, self._weight = codes, count, None if weight is None else np.asarray(to_host(weight))

    # what groups do not change -----------------------------------------------------------------

    present_repeats = asked_of("inner.present_repeats")
    _in_memory = asked_of("inner._in_memory")
    _resized = asked_of("inner._resized")
    _items_hold_sizes = asked_of("inner._items_hold_sizes")
    _size_std_apart = asked_of("inner._size_std_apart")

    def warnings(self) -> list[str]:
        few = f"the items come in {self.groups} groups only, whose scatter is hardly known: intervals for other items are wide."
        return [*self.inner.warnings(), *([few] if self.groups < _FEW else [])]

    # the test set as a sample of groups ----------------------------------------------------------

    @property
    def _df(self) -> float:
        return max(self.groups - 1, 1)

    @cached_property
    def _variances(self) -> tuple[float, float]:
        """Over test sets of groups, and of independent items."""
        single, count = self.inner._group_values(None), self.groups
        if count < 2:
            return math.inf, single
        return self.inner._group_values(self._codes) * count / (count - 1), single

    def _item_variance(self) -> float:
        return self._variances[0]

    @cached_property
    def _moved(self) -> tuple[FloatArray, FloatArray] | None:
        """What items move the metric by, and their shares; None where the metric does not know, or nothing moves it."""
        grouped, single = self._variances
        try:
            each = self.inner.influences()
        except UndefinedEstimate:
            return None
        if len(each) != self.n or not (math.isfinite(grouped) and single > 0):
            return None
        weight = np.ones(self.n) if self._weight is None else self._weight
        return each, weight / np.add.reduce(weight)

    @cached_property
    def _unequal(self) -> tuple[float, float]:
        """Variance over test sets of groups and its degrees of freedom, where some groups are larger than others."""
        return (self._variances[0], self._df) if self._moved is None else unequal_groups(*self._moved, self._codes)

    @cached_property
    def _lean(self) -> float:
        """The skewness of the metric over test sets of groups, towards large errors; a bias has no such side."""
        better, low = self.declaration.greater_is_better, self._range[0]
        if self._moved is None or self._berkson or not (better or math.isfinite(low)):
            return 0.0
        skewness = skewness_of_groups(moves_of_groups(*self._moved, self._codes))
        if not better:
            return max(skewness, 0.0)
        lost = 0.0 if math.isfinite(low) else self.declaration.perfect - self.inner._centre
        least = _LEAST_OF_LOST * math.sqrt(self._unequal[0]) / lost if lost > 0 else 0.0
        return min(skewness, -least)

    @cached_property
    def _clusters(self) -> Clusters:
        single, (grouped, df) = self._variances[1], self._unequal
        # where no item differs from another each group counts as one
        ratio = of_truth = grouped / single if single > 0 else self.n / max(self.groups, 1)
        if single > 0 and (sampling := self.inner.sampling_std() ** 2) > 0:
            sizes = np.bincount(self._codes)  # items that are all alike in a group count as one
            of_truth = min(max(1.0 + (grouped - single) / sampling, 0.0), float(sizes @ sizes) / self.n)
        squares = self.inner._skew_groups(self._codes) if self.groups > 1 else None
        if squares is not None:
            return Clusters(squares.variance - single, ratio, of_truth, squares.df, self.inner._df, squares.skewness)
        return Clusters(grouped - single, ratio, of_truth, df, self.inner._df, lean=self._lean)

    @cached_property
    def _inside(self) -> ClusteredAnswers | None:
        """The metric that this one is a function of, its items in the same groups; None where it is none."""
        if not isinstance(self.inner, TransformedAnswers):
            return None
        return ClusteredAnswers(self.inner.inner, self._codes, self.groups, self._weight)

    def _with_known_sizes(self) -> Estimate:
        found = self.inner._truth_in_groups(self._codes)
        if found is not None:
            return found
        found = self.inner._with_known_sizes()
        if found._total is None:
            return found
        if self._inside is not None and isinstance(self.inner, TransformedAnswers) and not self._berkson:
            inside = self._inside._with_known_sizes()._total
            assert inside is not None
            total = self.inner._interval_of(inside)
        else:
            total = self._clusters.spread(found._total, float(found), self._range)
        return found._changed(total_interval=total)

    def sampling_std(self) -> float:
        """What the label errors add is the same as for independent items."""
        if self._inside is not None and isinstance(self.inner, TransformedAnswers):
            return self.inner._std_of(self.inner.inner._centre, self._inside.sampling_std())
        grouped, single = self._variances
        if not math.isfinite(grouped):
            return math.inf
        return math.sqrt(max(grouped - single + self.inner.sampling_std() ** 2, 0.0))

    def total_interval(self, level: float) -> Interval:
        """Where the metric falls on a new test set, which is another sample of groups."""
        answers = self.inner
        if self._inside is not None and isinstance(answers, TransformedAnswers):
            return answers._interval_of(self._inside.total_interval)(level)
        found: IntervalAt
        if type(answers).total_interval is not Answers.total_interval:
            found = answers.total_interval
        else:
            found = answers._next_test_set(answers.std**2 / 2 if self._berkson else answers._shared_variance())
        return self._clusters.spread(found, answers._centre, self._range, sets=2.0)(level)


def unequal_groups(each: FloatArray, shares: FloatArray, codes: NDArray[np.intp]) -> tuple[float, float]:
    """Variance of a mean over test sets of groups, and its degrees of freedom, from the influences of items.

    A large group pulls the mean towards itself, so that its own deviation looks too small: without it the mean moves by
    r/(1 - A), with A the share of the group. The sum of these squares has the degrees of freedom (sum v)^2/sum v^2 - 1, with v
    the variance that each group would have if items differed in their shares only, and were as alike in groups as these are.
    Groups of one size have G - 1.
    """
    counted = np.bincount(codes, shares) > 0
    sums, part, squares = (np.bincount(codes, x)[counted] for x in (each, shares, np.square(shares)))
    count = len(sums)
    left = np.square(_without(sums, part))
    pairs, own = float(np.add.reduce(np.square(part) - squares)), float(each @ each)
    alike = 0.0
    if pairs > 0 and own > 0:
        alike = (float(sums @ sums) - own) / pairs * float(np.add.reduce(squares)) / own
    v = squares + min(max(alike, 0.0), 1.0) * (np.square(part) - squares)
    df = float(np.add.reduce(v)) ** 2 / float(v @ v) - 1.0
    return float(np.add.reduce(left)) * (count - 1) / count, max(df, 1.0)


def moves_of_groups(each: FloatArray, shares: FloatArray, codes: NDArray[np.intp]) -> FloatArray:
    """What leaving out each group moves a mean by; the squares sum to the variance of `unequal_groups`."""
    counted = np.bincount(codes, shares) > 0
    sums, part = (np.bincount(codes, x)[counted] for x in (each, shares))
    return _without(sums, part) * math.sqrt(max(len(sums) - 1, 1) / len(sums))


def skewness_of_groups(moves: FloatArray) -> float:
    """The skewness of a mean, from what each of G groups moves it by; as usual times G^2/((G - 1)(G - 2)) for few groups."""
    count, size = len(moves), float(moves @ moves)
    if count < 3 or not size > 0:
        return 0.0
    return float(np.add.reduce(moves**3)) / size**1.5 * count**2 / ((count - 1) * (count - 2))


def _without(sums: NDArray[Any], part: NDArray[Any]) -> FloatArray:
    """How far the mean moves without each of the groups, which have these sums of influences and shares of the weight."""
    return np.asarray(sums / np.maximum(1.0 - part, 0.5 / len(sums)))


Values = Callable[[NDArray[np.intp]], float]
_MOST_LEFT_OUT = 200
"""More groups than these are left out several at a time."""
_DRAWN_AGAIN = 200


def groups_drawn_again(value_of: Values, codes: NDArray[np.intp]) -> float:
    """Variance of a metric over test sets, from groups drawn with replacement: where leaving groups out does not show it."""
    rng, count = np.random.default_rng(FIXED_SEED), int(codes.max()) + 1
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    drawn = (rng.integers(0, count, count) for _ in range(_DRAWN_AGAIN))
    return float(np.var([value_of(np.concatenate([members[g] for g in groups])) for groups in drawn]))


def left_out_groups(value_of: Values, codes: NDArray[np.intp]) -> float:
    """Sum of the squared influences of groups, by leaving out each in turn: for metrics without influences of items.

    With theta_g the metric without group g of G, (G - 1)/G (theta_g - mean) takes the place of the summed influences.
    """
    count = int(codes.max()) + 1
    if count > _MOST_LEFT_OUT:
        codes = (np.random.default_rng(FIXED_SEED).permutation(count) % _MOST_LEFT_OUT)[codes]
        count = _MOST_LEFT_OUT
    values = np.array([value_of(np.flatnonzero(codes != g)) for g in range(count)])
    if not np.all(np.isfinite(values)):
        raise UndefinedEstimate(
            "the metric is not defined without some group of the items, so groups cannot show how it scatters."
        )
    return float(np.sum(np.square((values - values.mean()) * (count - 1) / count)))
