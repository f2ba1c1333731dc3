"""Answers of a metric on labels of which some were checked: nothing is assumed about how the others err.

With losses f by the labels and h by the gold labels, the estimate against the truth is the mean of h over the checked items,
plus beta times what the mean of f over all items is above that over the checked ones. Seen from the N items that were not
checked this is PPI++ with lambda = beta N / n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scorebars.answers.base import Answers
from scorebars.answers.intervals import ScoreInterval, Symmetric
from scorebars.answers.score import Declaration, Estimate, Interval, UndefinedEstimate
from scorebars.arrays import BoolArray, FloatArray
from scorebars.laws.law import Law

_NOTHING_ASSUMED = (
    "from {checked} checked items of {n}, nothing assumed about how labels err; the labels of the others count by "
    "{tuning:.2f}"
)
_NO_FRESH = (
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

    @cached_property
    def gold(self) -> FloatArray:
        """Weights of the checked items, which sum to 1: the share of an item over its probability of being checked."""
        found = self.shares[self.checked] / self.chances[self.checked]
        return np.asarray(found / np.add.reduce(found))

    @property
    def number(self) -> int:
        return int(np.count_nonzero(self.checked))

    @property
    def others(self) -> int:
        return len(self.checked) - self.number

    def slope(self, f: FloatArray, h: FloatArray) -> float:
        """beta: how much the losses f of all items (n,) count, given those of the checked ones by gold labels h."""
        if not self.others:
            return 0.0
        shown, v = f[self.checked], self.gold
        together = float(np.add.reduce(v * (h - v @ h) * (shown - v @ shown)))
        mean, n = float(self.shares @ f), len(f)
        scatter = float(np.add.reduce(self.shares * np.square(f - mean))) * n / (n - 1)
        return min(max(together / scatter, 0.0), n / self.others) if scatter > 0 else 0.0

    def tuning(self, beta: float) -> float:
        """lambda: how much the labels of the items that were not checked count."""
        return beta * self.others / len(self.checked)

    def estimate(self, f: FloatArray, h: FloatArray, beta: float) -> float:
        """The mean of h over all items, estimated."""
        shown = f[self.checked]
        if not self.by_design and self.others:
            rest = self.shares[~self.checked]
            apart = float(rest @ f[~self.checked]) / float(np.add.reduce(rest)) - float(self.gold @ shown)
            return float(self.gold @ h) + self.tuning(beta) * apart
        return float(self.gold @ h) + beta * (float(self.shares @ f) - float(self.gold @ shown))

    def variance(self, f: FloatArray, h: FloatArray, beta: float) -> float:
        """Variance of the estimate for these very items: of h - beta f, over random choices of the items to check."""
        left = 1.0 - self.chances[self.checked]
        return self._scatter(h - beta * f[self.checked], self.gold * np.sqrt(left))

    def population_variance(self, f: FloatArray, h: FloatArray, beta: float) -> float:
        """Variance of the estimate for the population that the items were drawn from."""
        if not self.others:
            return self._scatter(h, self.gold)
        if self.by_design:
            items = float(np.add.reduce(self.gold * np.square(h - self.gold @ h))) * self.number / (self.number - 1)
            return self.variance(f, h, beta) + items * float(np.add.reduce(np.square(self.shares)))
        tuning, rest = self.tuning(beta), self.shares[~self.checked]
        rest = rest / np.add.reduce(rest)
        others = self._scatter(f[~self.checked], rest) if self.others > 1 else 0.0
        return self._scatter(h - tuning * f[self.checked], self.gold) + tuning**2 * others

    def _scatter(self, values: FloatArray, weights: FloatArray) -> float:
        """Variance of a weighted mean of independent values."""
        mean = float(weights @ values) / max(float(np.add.reduce(weights)), 1e-300)
        return float(np.add.reduce(np.square(weights * (values - mean)))) * len(values) / (len(values) - 1)

    def one_more(self, square: float) -> float:
        """The variance from one more checked item whose loss differs by so much, squared: none may have been seen yet."""
        weight = np.square(self.gold) * (1.0 - self.chances[self.checked])
        return square / (self.number + 2) * float(np.add.reduce(weight))

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


def verified_estimate(
    value: float,
    subset: GoldSubset,
    f: FloatArray,
    h: FloatArray,
    beta: float,
    bounds: tuple[float, float],
    method: str,
    unseen: float = 0.0,
) -> Estimate:
    """The estimate with its variance; intervals leave room for a wrong label yet unseen, of squared difference `unseen`."""
    own, total = subset.variance(f, h, beta), subset.population_variance(f, h, beta)
    more, df = subset.one_more(unseen), max(subset.number - 1, 1)
    note = _NOTHING_ASSUMED.format(checked=subset.number, n=len(f), tuning=subset.tuning(beta))
    low, high = bounds
    intervals = []
    for variance in (own + more, total + more):
        bounded = math.isfinite(low)
        intervals.append(
            ScoreInterval(value, variance, 0.0, low, high, df)
            if bounded
            else Symmetric(value, math.sqrt(variance), low, high, df)
        )
    std = math.sqrt(own or more)
    return Estimate(value, std, method=method, note=note, interval=intervals[0], total_interval=intervals[1])


class VerifiedAnswers(Answers):
    """A metric on the labels that are shown, with an estimate against the truth from the gold labels, or why there is none."""

    def __init__(self, plain: Answers, truth: Estimate | str) -> None:
        self.plain, self._found = plain, truth
        self.declaration: Declaration = plain.declaration
        self.observed, self.expected, self.n, self.unit = plain.observed, plain.observed, plain.n, plain.unit

    @property
    def std(self) -> float:
        return 0.0

    def law(self) -> Law:
        return self.plain.law()

    def _truth(self) -> Estimate:
        if isinstance(self._found, str):
            raise UndefinedEstimate(self._found)
        return self._found

    def perfect(self) -> Estimate:
        raise UndefinedEstimate(_NO_FRESH)

    def _remeasured(self, repeats: float) -> Estimate:
        raise UndefinedEstimate(_NO_FRESH)

    def influences(self) -> FloatArray:
        return self.plain.influences()

    def _item_variance(self) -> float:
        return self.plain._item_variance()

    def sampling_std(self) -> float:
        return self.plain.sampling_std()

    def total_interval(self, level: float) -> Interval:
        return self.plain.total_interval(level)

    def warnings(self) -> list[str]:
        if isinstance(self._found, str):
            return []
        low, high = self._found.interval(0.99)
        if low <= self.observed <= high:
            return []
        return ["the observed score is not the one against the gold labels: the labels err in a way that changes it."]
