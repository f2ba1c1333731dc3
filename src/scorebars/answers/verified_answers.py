"""Answers of a metric on labels of which some were checked: nothing is assumed about how the others err.

With losses f by the labels and h by the gold labels, the estimate against the truth is the mean of h over the checked items,
plus beta times what the mean of f over all items is above that over the checked ones. Seen from the N items that were not
checked this is PPI++ with lambda = beta N / n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import Answers, asked_of
from scorebars.answers.clustered import moves_of_groups, unequal_groups
from scorebars.answers.combined import TransformedAnswers
from scorebars.answers.intervals import IntervalAt, ScoreInterval, Symmetric
from scorebars.answers.score import Declaration, Estimate, UndefinedEstimate
from scorebars.arrays import BoolArray, FloatArray

_NOTHING_ASSUMED = (
    "from {checked} checked items of {n}, nothing assumed about how labels err; the labels of the others count by "
    "{tuning:.2f}"
)
_TOO_FEW = "{count} of these {n} items {have} a gold label: truth needs at least 2."
_FEW_CHECKED = 100
"""Of more checked items than these the first order is enough."""
_ENOUGH_ITEMS = 20_000
"""Of more items than these some tell what one more would do."""
_ROOM_DF = 5.0
"""Degrees of freedom of the room for a wrong label yet unseen: with none of n seen, 95 % intervals reach to rates of 2.6/n, at
which 7.6 % of all samples show none."""
_FLAT = 1e-6
"""A metric of labels that items move by no more than this stays as it is, whatever they are."""
_STEP = 1e-5
"""Relative step by which slopes of functions of a metric are found."""
NO_FRESH = (
    "the gold labels say how far the labels at hand are off, not how fresh ones would fall. Give an error model, such as "
    "Flip.from_counts(wrong, checked), to ask for remeasured or perfect."
)


@dataclass(frozen=True, eq=False)
class GoldSubset:
    """Which items were checked, with which probability, and how much each item counts."""

    checked: BoolArray
    chances: FloatArray
    shares: FloatArray
    """Weights of all items, which sum to 1."""
    by_design: bool
    """Whether the items were checked with known probabilities; else they are a random sample."""

    def without(self, which: int) -> GoldSubset:
        """The same as if one of the checked items had not been checked."""
        checked = self.checked.copy()
        checked[np.flatnonzero(checked)[which]] = False
        share = np.count_nonzero(checked) / self.size
        return replace(self, checked=checked, chances=self.chances if self.by_design else np.full(len(checked), share))

    @cached_property
    def gold(self) -> FloatArray:
        """Weights of the checked items, which sum to 1: the share of an item over its probability of being checked."""
        found = self.shares[self.checked] / self.chances[self.checked]
        return np.asarray(found / np.add.reduce(found))

    @property
    def number(self) -> int:
        return int(np.count_nonzero(self.checked))

    @cached_property
    def size(self) -> int:
        """How many items count: those of weight 0 do not."""
        return int(np.count_nonzero(self.shares))

    @property
    def too_few(self) -> str:
        """Why so few checked items say nothing, such as those of one group of many; empty where they are enough."""
        have = "has" if self.number == 1 else "have"
        return "" if self.number > 1 else _TOO_FEW.format(count=self.number, n=self.size, have=have)

    @cached_property
    def rest(self) -> BoolArray:
        """Which items count and were not checked."""
        return np.asarray(~self.checked & (self.shares > 0))

    @property
    def others(self) -> int:
        return self.size - self.number

    def slope(self, f: FloatArray, h: FloatArray) -> float:
        """beta: how much the losses f of all items (n,) count, given those of the checked ones by gold labels h.

        The best one for several metrics together has a row for each in both.
        """
        if not self.others:
            return 0.0
        shown, v, n = f[..., self.checked], self.gold, self.size
        together = float(np.sum(v * (h - (h @ v)[..., None]) * (shown - (shown @ v)[..., None])))
        scatter = float(np.sum(self.shares * np.square(f - (f @ self.shares)[..., None]))) * n / (n - 1)
        return min(max(together / scatter, 0.0), n / self.others) if scatter > 0 else 0.0

    def tuning(self, beta: float) -> float:
        """lambda: how much the labels of the items that were not checked count."""
        return beta * self.others / self.size

    def estimate(self, f: FloatArray, h: FloatArray, beta: float) -> float:
        """The mean of h over all items, estimated."""
        shown = f[self.checked]
        if not self.by_design and self.others:
            rest = self.shares[self.rest]
            apart = float(rest @ f[self.rest]) / float(np.add.reduce(rest)) - float(self.gold @ shown)
            return float(self.gold @ h) + self.tuning(beta) * apart
        return float(self.gold @ h) + beta * (float(self.shares @ f) - float(self.gold @ shown))

    def moves(self, f: FloatArray, h: FloatArray, beta: float) -> FloatArray:
        """What each checked item moves the estimate for these very items by; squares sum to its variance.

        It comes from the differences h - beta f, by the lot that chose whom to check.
        """
        left = 1.0 - self.chances[self.checked]
        return self._scatter(h - beta * f[self.checked], self.gold * np.sqrt(left))

    def population_moves(
        self, f: FloatArray, h: FloatArray, beta: float, groups: NDArray[np.intp] | None = None
    ) -> FloatArray:
        """The same of the estimate for the population that the items, or `groups` of them, were drawn from."""
        if groups is not None:
            return moves_of_groups(self.item_moves(f, h, beta), self.shares, groups)
        if not self.others:
            return self._scatter(h, self.gold)
        if self.by_design:
            items = np.sqrt(self.gold) * (h - self.gold @ h) * math.sqrt(self.number / (self.number - 1))
            return np.concatenate([self.moves(f, h, beta), items * math.sqrt(float(self.shares @ self.shares))])
        tuning, rest = self.tuning(beta), self.shares[self.rest]
        rest = rest / np.add.reduce(rest)
        others = self._scatter(f[self.rest], rest) if self.others > 1 else np.zeros(1)
        return np.concatenate([self._scatter(h - tuning * f[self.checked], self.gold), tuning * others])

    def item_moves(self, f: FloatArray, h: FloatArray, beta: float) -> FloatArray:
        """What each item moves the estimate by: its label, and its gold label if it was checked."""
        each = beta * self.shares * (f - float(self.shares @ f))
        apart = h - beta * f[self.checked]
        each[self.checked] += self.gold * (apart - float(self.gold @ apart))
        return np.asarray(each)

    def _scatter(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """What independent values move their weighted mean by."""
        mean = float(weights @ values) / max(float(np.add.reduce(weights)), 1e-300)
        return np.asarray(weights * (values - mean) * math.sqrt(len(values) / (len(values) - 1)))

    def unseen_moves(self, found: GoldLosses, beta: float) -> FloatArray:
        """The same for one more checked item, any of all: with a right label, and with a wrong one of any other class.

        None of its kind may have been seen, such as one on which two models differ. Losses by numbers show how they scatter,
        unless those by gold labels are all the same: one more may then be as any by labels.
        """
        possible = found.by_class
        if found.either is not None:
            possible = np.broadcast_to(found.either, (len(found.f), len(found.either)))
        if possible is None and np.ptp(found.h) > 0:
            return np.zeros(0)
        some = np.arange(0, len(found.f), len(found.f) // _ENOUGH_ITEMS + 1)
        chances = np.square(self.shares) * (1.0 / self.chances - 1.0) / (self.number + 2)
        scale = np.sqrt(chances[some] * (len(found.f) / len(some)))
        f, centre = found.f[some], float(self.shares @ found.f)
        right = scale * (1.0 - beta) * (f - centre)
        if possible is None:
            return np.asarray(right)
        table, others = possible[some], possible.shape[1] - 1
        typical = float(self.gold @ found.h) - beta * centre
        wrong = np.where(table == f[:, None], 0.0, table - beta * f[:, None] - typical)
        wrong = (scale[:, None] * wrong).ravel() / math.sqrt(others)
        if found.mistaken is not None:
            seen = np.where(found.mistaken, found.h - beta * found.f[self.checked] - typical, 0.0)
            wrong = self._as_those_seen(wrong, seen, found.mistaken, chances)
        return np.concatenate([right, wrong])

    def _as_those_seen(
        self, any_item: FloatArray, seen: FloatArray, mistaken: BoolArray, chances: FloatArray
    ) -> FloatArray:
        """What one more wrong label moves, where k were seen: each of them is as likely again as one of `any_item`.

        So says a Dirichlet process of concentration 1.
        """
        likely = np.where(mistaken, chances[self.checked] / self.chances[self.checked], 0.0)
        total, k = float(np.add.reduce(likely)), float(np.count_nonzero(mistaken))
        if not total > 0:
            return np.concatenate([any_item, np.zeros(len(seen))])
        again = seen * np.sqrt(likely / total * np.add.reduce(chances))
        return np.concatenate([any_item / math.sqrt(k + 1.0), again * math.sqrt(k / (k + 1.0))])

    @cached_property
    def unseen_weight(self) -> float:
        """How much one more checked item, which differs by 1, adds to the variance of a mean."""
        return float(np.square(self.gold) @ (1.0 - self.chances[self.checked])) / (self.number + 2)

    def rectified(self, shown: FloatArray, gold: FloatArray, beta: float) -> tuple[FloatArray, FloatArray]:
        """Weights (n,) and label indicators (n, K) whose sums are the estimated ones, from those of labels and gold labels.

        Of a checked item its gold label counts by its weight among the checked ones, its own label by minus beta times
        that; labels of all items count by beta.
        """
        n = len(shown)
        rows = beta * self.shares[:, None] * shown
        rows[self.checked] += self.gold[:, None] * (gold - beta * shown[self.checked])
        weight = np.maximum(np.add.reduce(rows, axis=1) * n, 0.0)
        rows = rows * n / np.where(weight > 0, weight, 1.0)[:, None]
        return weight, np.where(weight[:, None] > 1e-12, rows, shown)


@dataclass(frozen=True, eq=False)
class GoldLosses:
    """A metric where labels count by beta: its value, and what items add to it, to first order."""

    value: float
    f: FloatArray
    """By their labels, (n,)."""
    h: FloatArray
    """By their gold labels, of the checked items (n_g,)."""
    by_class: FloatArray | None = None
    """By each class that an item might be of, (n, K); None for numbers."""
    either: FloatArray | None = None
    """What any item might add to a share of measured numbers, such as 0 or 1; None where losses are numbers of any size."""
    mistaken: BoolArray | None = None
    """Which of the checked items have another gold label (n_g,), for a ranking, where a wrong label far from the others moves
    most; None where wrong labels move alike."""

    @property
    def largest(self) -> float:
        """The most that an item adds, whatever its class."""
        return float(np.max(np.abs(self.f if self.by_class is None else self.by_class)))

    def less(self, other: GoldLosses) -> GoldLosses:
        """Those of the difference of two metrics of the same items."""
        by_class = None if self.by_class is None or other.by_class is None else self.by_class - other.by_class
        f, h, either = self.f - other.f, self.h - other.h, None
        if self.either is not None and other.either is not None and (np.any(f) or np.any(h)):  # else they are one model
            either = np.unique(np.subtract.outer(self.either, other.either))
        return GoldLosses(self.value - other.value, f, h, by_class, either, self.mistaken)

    def times(self, value: float, slope: float) -> GoldLosses:
        """Those of a function of the metric, which has this value and slope."""
        by_class, either = (None if part is None else slope * part for part in (self.by_class, self.either))
        return GoldLosses(value, slope * self.f, slope * self.h, by_class, either, self.mistaken)


def mean_of(losses: Sequence[GoldLosses]) -> GoldLosses:
    """Those of the mean of several metrics of the same items."""
    tables = [one.by_class for one in losses if one.by_class is not None]
    by_class = np.mean(tables, axis=0) if len(tables) == len(losses) else None
    value, f, h = (np.mean([getattr(one, part) for one in losses], axis=0) for part in ("value", "f", "h"))
    return GoldLosses(float(value), f, h, by_class, losses[0].either, losses[0].mistaken)


Rectified = Callable[[float], GoldLosses]
"""A metric corrected by gold labels, for each beta by which labels may count."""


@runtime_checkable
class LeavesOut(Protocol):
    """A metric corrected by gold labels that may be curved in them: its values without each of the checked items."""

    def __call__(self, beta: float) -> GoldLosses: ...

    def left_out(self, beta: float) -> FloatArray: ...


def tuned(metric: Rectified, subset: GoldSubset) -> tuple[GoldLosses, float]:
    """The metric where labels count as is best for it, and by how much they do.

    That depends on what they do, and this on where the metric is looked at. Where labels count for nothing and the checked
    items are none of those that the metric is about, such as predicted positives, there is nothing to find it from.
    """
    first = found = metric(1.0)
    beta = 1.0
    for _ in range(2):
        beta = subset.slope(found.f, found.h)
        found = metric(beta)
    if subset.others and found.largest < _FLAT < first.largest:
        raise UndefinedEstimate(
            f"the {subset.number} checked items do not tell: none of them is of the kind that the metric is about. Check more."
        )
    return found, beta


@dataclass(frozen=True, eq=False)
class VerifiedSpread:
    """How well a metric is known from gold labels: on these items, and in the population, of items or `groups` of them."""

    found: GoldLosses
    subset: GoldSubset
    beta: float
    groups: NDArray[np.intp] | None = None
    enlarged: float = 1.0
    """How much more the checked items scatter the metric than they do to first order."""

    @cached_property
    def _own(self) -> FloatArray:
        return self.subset.moves(self.found.f, self.found.h, self.beta)

    @cached_property
    def _unseen(self) -> FloatArray:
        return self.subset.unseen_moves(self.found, self.beta)

    @property
    def moves(self) -> FloatArray:
        """What moves the estimate for these very items, with room for a wrong label yet unseen."""
        return np.concatenate([self.enlarged * self._own, self._unseen])

    @cached_property
    def _population(self) -> FloatArray:
        return self.subset.population_moves(self.found.f, self.found.h, self.beta, self.groups)

    @property
    def population_moves(self) -> FloatArray:
        """What moves the estimate for the population."""
        return np.concatenate([self.enlarged * self._population, self._unseen])

    @property
    def std(self) -> float:
        own, unseen = _size(self._own), _size(self._unseen)
        return own if own > _FLAT * unseen else unseen  # less is rounding

    @property
    def reach(self) -> float:
        """The standard error that intervals are made of."""
        return _size(self.moves)

    @property
    def population_reach(self) -> float:
        """Infinite for items of a single group, which does not show how groups scatter."""
        if self.groups is not None and not np.ptp(self.groups[self.subset.shares > 0]):
            return math.inf
        return _size(self.population_moves)

    @property
    def df(self) -> float:
        return _degrees_of_freedom(self._own, _size(self._unseen), self.subset.number)

    @property
    def population_df(self) -> float:
        count = min(self.subset.number, len(self._population))
        found = _degrees_of_freedom(self._population, _size(self._unseen), count)
        if self.groups is None or count < 2:
            return found
        each = self.subset.item_moves(self.found.f, self.found.h, self.beta)
        return min(found, unequal_groups(each, self.subset.shares, self.groups)[1])

    @property
    def note(self) -> str:
        n, tuning = self.subset.size, self.subset.tuning(self.beta)
        return _NOTHING_ASSUMED.format(checked=self.subset.number, n=n, tuning=tuning)

    def estimate(self, bounds: tuple[float, float]) -> Estimate:
        """The estimate with its intervals, between these bounds."""
        value = self.found.value
        ends = ((self.reach, self.df), (self.population_reach, self.population_df))
        interval, total = (self._interval(std, df, *bounds) for std, df in ends)
        return Estimate(value, self.std, method="ppi++", note=self.note, interval=interval, total_interval=total)

    def _interval(self, std: float, df: float, low: float, high: float) -> IntervalAt:
        """About the value. A ranking scatters less the closer it comes to its end, as a share does."""
        value, size = self.found.value, self.subset.number
        if not math.isfinite(low):
            return Symmetric(value, std, low, high, df)
        if self.found.mistaken is None or not math.isfinite(high):
            return ScoreInterval(value, std**2, 0.0, low, high, df)
        share = (size * min(max((value - low) / (high - low), 0.0), 1.0) + 1.0) / (size + 2.0)
        unseen = float(self._unseen @ self._unseen)
        curve = (std**2 - unseen) / ((high - low) ** 2 * share * (1.0 - share))
        return ScoreInterval(value, unseen, curve, low, high, df)


def _degrees_of_freedom(moves: FloatArray, unseen: float, count: int) -> float:
    """Of a variance that was found as the sum of the squared moves of `count` items: fewer where few of them make most of it.

    With Q = sum u^2 the sum scatters by the root of S = sum u^4 - Q^2/n, as chi-squared with 2 Q^2/S degrees of freedom does:
    n for normal losses, twice their number for few wrong labels. The room for an `unseen` one adds to the variance, and
    Welch and Satterthwaite say how many the sum of both has.
    """
    squares = np.square(moves)
    total, room, most = float(np.add.reduce(squares)), unseen**2, float(max(count - 1, 1))
    scatter = max(float(squares @ squares) / 2.0 - total**2 / (2.0 * len(squares)), total**2 / most)
    scatter += room**2 / _ROOM_DF
    return min((total + room) ** 2 / scatter, most) if scatter > 0 else most


def _size(moves: FloatArray) -> float:
    return math.sqrt(float(moves @ moves))


class VerifiedAnswers(Answers):
    """A metric on the labels that are shown, with an estimate against the truth from the gold labels, or why there is none.

    `steps` lead from the metric that gold labels correct, a mean of losses or one of label indicators, to this one.
    """

    expected_is = "the same, since gold labels do not tell how fresh labels would fall"

    def __init__(
        self, plain: Answers, subset: GoldSubset, corrected: Rectified | str, steps: Sequence[TransformedAnswers] = ()
    ) -> None:
        self.plain, self.subset, self._corrected, self._steps = plain, subset, corrected, tuple(steps)
        self.declaration: Declaration = plain.declaration
        self.observed, self.expected, self.n, self.unit = plain.observed, plain.observed, plain.n, plain.unit

    def __getstate__(self) -> dict[str, Any]:
        """How labels were made to count is kept, not the way to make them count otherwise."""
        why = self._why_not
        if not why:
            _ = self._enlarged
        return {**super().__getstate__(), "_corrected": why}

    @property
    def std(self) -> float:
        return 0.0

    law = asked_of("plain.law")
    influences = asked_of("plain.influences")
    _item_variance = asked_of("plain._item_variance")
    sampling_std = asked_of("plain.sampling_std")
    total_interval = asked_of("plain.total_interval")

    @property
    def _why_not(self) -> str:
        """Why there is no estimate against the truth; empty where there is one."""
        if isinstance(self._corrected, str):
            return self._corrected
        try:
            found, _ = self._tuned
        except UndefinedEstimate as why:
            return str(why)
        return "" if math.isfinite(found.value) else f"{self.declaration.name} against the gold labels is not a number."

    @cached_property
    def _tuned(self) -> tuple[GoldLosses, float]:
        assert callable(self._corrected)
        return tuned(self._corrected, self.subset)

    @cached_property
    def _enlarged(self) -> float:
        """How much more few checked items scatter the metric than they do to first order: by leaving out each of them."""
        found, beta = self._tuned
        if not isinstance(self._corrected, LeavesOut) or self.subset.number > _FEW_CHECKED:
            return 1.0
        first_order = _size(self.subset.moves(found.f, found.h, beta))
        values, count = self._corrected.left_out(beta), self.subset.number
        values = values[np.isfinite(values)]
        if len(values) < count - 1 or not first_order > 0:
            return 1.0
        lot = 1.0 - float(np.mean(self.subset.chances[self.subset.checked]))
        scatter = lot * (count - 1) / count * float(np.sum(np.square(values - values.mean())))
        return max(math.sqrt(scatter) / first_order, 1.0)

    def corrected(self, beta: float) -> GoldLosses:
        """This metric corrected by gold labels, where labels count by beta."""
        if not callable(self._corrected):
            raise UndefinedEstimate(self._corrected)
        found = self._corrected(beta)
        for step in self._steps:
            away = _STEP * abs(found.value) or _STEP
            slope = (step._value_of(found.value + away) - step._value_of(found.value - away)) / (2 * away)
            found = found.times(step._value_of(found.value), slope)
        return found

    def _truth(self) -> Estimate:
        return self._truth_in_groups(None)

    def _truth_in_groups(self, codes: NDArray[np.intp] | None) -> Estimate:
        if "_tuned" not in vars(self) and (why := self._why_not):
            raise UndefinedEstimate(why)
        found, beta = self._tuned
        bounds = (self._steps[0].inner if self._steps else self.plain)._range
        estimate = VerifiedSpread(found, self.subset, beta, codes, self._enlarged).estimate(bounds)
        for step in self._steps:
            estimate = step._carried(estimate)
        return estimate

    def perfect(self) -> Estimate:
        raise UndefinedEstimate(NO_FRESH)

    def _remeasured(self, repeats: float) -> Estimate:
        raise UndefinedEstimate(NO_FRESH)

    def warnings(self) -> list[str]:
        try:
            low, high = self.against_truth.interval(0.99)
        except UndefinedEstimate:
            return []
        if low <= self.observed <= high:
            return []
        return ["the observed score is not the one against the gold labels: the labels err in a way that changes it."]
