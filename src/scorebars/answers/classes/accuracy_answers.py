"""Answers of the accuracy under independent flips: the mean of 0/1 outcomes. A wrong label turns its outcome over."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import Answers, of_law
from scorebars.answers.classes.class_answers import of_share, require_some_knowledge
from scorebars.answers.classes.labelled import contrast, flips_of, require_away_from_chance, says_nothing
from scorebars.answers.intervals import IntervalAt, ScoreInterval, next_share
from scorebars.answers.score import Declaration, Estimate, Interval, UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.engines.class_counts import ClassCounts, rows_of
from scorebars.errors import Flip
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.counts.weighted_bernoulli import WeightedBernoulliSum
from scorebars.laws.law import Law
from scorebars.moments.majority_error import majority_error

_BLOCK = 1 << 14


class AccuracyAnswers(Answers):
    """Share of predictions that agree with the label.

    A label is wrong with probability q, and then any of the other K - 1 classes: a right prediction stays right with
    probability 1 - q, and a wrong one becomes right with probability r = q / (K - 1). Right or wrong and q are all there
    is to know of a label: with `count` each row stands for that many labels, `binned` says that q is known to its bin.
    Without arrays (n, K) a million labels take less than a tenth of the time of `LabelLossAnswers` (8 against 165 ms).
    """

    def __init__(
        self,
        declaration: Declaration,
        right: NDArray[np.bool_],
        flip: Flip,
        classes: int,
        weight: FloatArray | None = None,
        count: FloatArray | None = None,
        binned: bool = False,
    ) -> None:
        self.declaration, self.kind = declaration, flip.kind
        self._each: tuple[NDArray[np.uint8], int] | None = None
        """Whether each single label is right, one bit for each, where rows stand for many of them."""
        if weight is None and count is None and np.ndim(flip.q) == 0:
            hits = int(np.count_nonzero(right))  # one q serves all: two kinds of labels
            self._each = np.packbits(right), len(right)
            right, count = np.array([True, False]), np.array([hits, len(right) - hits], dtype=np.float64)
        self.n = len(right) if count is None else round(float(np.add.reduce(count)))
        self._right, self._classes, self._binned = right, classes, binned
        self._weight, self._count, self._q = weight, count, np.asarray(flip.q, dtype=np.float64)
        self.observed = self._mean(right)
        self._fresh = self._agreement(right)
        self.expected = self._mean(self._fresh)

    @classmethod
    def counted(cls, declaration: Declaration, counts: ClassCounts, kind: str) -> AccuracyAnswers:
        """Answers for labels that were counted by right or wrong and by q, and not kept."""
        cell, q, count = rows_of(counts)
        flips, classes = flips_of(q, kind), max(len(counts.classes), 2)
        return cls(declaration, counts.right(cell), flips, classes, None, count, counts.gathered)

    @cached_property
    def _squares(self) -> FloatArray | float:
        """The sum of the squared shares of the labels of a row."""
        if self._weight is not None:
            return np.square(self._weight / np.add.reduce(self._weight))
        return (1.0 if self._count is None else self._count) / self.n**2

    def _mean(self, values: NDArray[np.bool_] | FloatArray) -> float:
        mass = self._weight if self._count is None else self._count
        if mass is None:
            return float(np.add.reduce(values, dtype=np.float64)) / self.n
        return float(np.add.reduce(mass * values)) / float(np.add.reduce(mass))

    def _variance(self, variances: FloatArray) -> float:
        """The variance of the mean, from that of each label."""
        return float(np.add.reduce(np.broadcast_to(self._squares * variances, self._right.shape)))

    def _agreement(self, right: NDArray[np.bool_]) -> FloatArray:
        """Probability that each prediction agrees with a fresh label, in blocks: large temporaries cost more."""
        q, out = self._q if self._q.ndim else np.broadcast_to(self._q, right.shape), np.empty(right.shape)
        for start in range(0, right.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            chance = np.abs(right[part] - q[part])  # 1 - q or q, in a third of the time of a choice between them
            out[part] = chance if self._classes == 2 else np.where(right[part], chance, chance / (self._classes - 1))
        return out

    # labels redrawn from their errors ------------------------------------------------------------

    @property
    def std(self) -> float:
        return math.sqrt(self._label_variance())

    def _label_variance(self) -> float:
        return self._variance(self._fresh * (1.0 - self._fresh))

    def law(self) -> Law:
        return self._law(self._fresh)

    def _law(self, p: FloatArray) -> Law:
        """The distribution of the accuracy of predictions that agree with a fresh label with probabilities p."""
        if self._weight is not None:
            return WeightedBernoulliSum(self._weight, p)
        return ScaledLaw(PoissonBinomial(p, self._count), 1.0 / self.n)

    # against the truth -------------------------------------------------------------------------

    @cached_property
    def _unbiased(self) -> FloatArray:
        """(c - r) / (1 - q - r) for each label: unbiased for whether the prediction is right against the truth."""
        if self._binned:
            require_away_from_chance(self._q, self._classes, "the accuracy")
        bad = np.broadcast_to(np.abs(contrast(self._q, self._classes)) < 1e-12, self._right.shape)
        if bad.any():
            number = round(float(np.sum(bad if self._count is None else self._count[bad])))
            raise UndefinedEstimate(says_nothing(self._classes, number, self.n))
        return np.asarray((self._right - self._q / (self._classes - 1)) / contrast(self._q, self._classes))

    def _truth_variance(self) -> float:
        """Variance of the estimate given the true classes, plug-in and unbiased."""
        q, r, hit = self._q, self._q / (self._classes - 1), self._unbiased
        wrong, right, scale = r * (1 - r), q * (1 - q), np.square(contrast(self._q, self._classes))
        own = self._variance((wrong + hit * (right - wrong)) / scale)
        return max(own, self._variance(np.minimum(right, wrong) / scale))

    def _truth(self) -> Estimate:
        value, variance = self._mean(self._unbiased), self._truth_variance()
        require_some_knowledge(math.sqrt(variance), self.declaration, self.observed)
        found = of_share(value, variance, "unbiased", (0.0, 1.0))._changed(
            note="" if 0 <= value <= 1 else "outside [0, 1]: q is larger than these labels can support",
            total_interval=ScoreInterval(value, variance, self._curve, 0.0, 1.0),
        )
        if self._weight is not None or self._q.ndim:
            return found
        q, hits = float(self._q), round(self.observed * self.n)
        return found._changed(
            interval=InvertedCount(hits, self.n, 1.0 - q, q / (self._classes - 1), otherwise=found._interval)
        )

    def _remeasured(self, repeats: float) -> Estimate:
        """Labels by majority of `repeats` fresh votes."""
        q = self._q
        if repeats == 1:
            terms, agreement, old = self._right.astype(np.float64), self._fresh, self._variance(q * (1.0 - q))
        else:
            fresh = np.zeros_like(q) if math.isinf(repeats) else majority_error(q, int(repeats), self._classes)
            carried = contrast(fresh, self._classes)
            terms = fresh / (self._classes - 1) + carried * self._unbiased
            agreement = np.clip(terms, 0.0, 1.0)
            old = self._truth_variance() * float(np.max(np.square(carried)))
        return of_share(self._mean(terms), self._variance(agreement * (1.0 - agreement)) + old, "unbiased", (0.0, 1.0))

    def perfect(self) -> Estimate:
        best = np.broadcast_to(1.0 - self._q, self._right.shape)
        return of_law(self._law(best), "expected score of a model that always knows the true class", self._mean(best))

    # the test set as a sample ------------------------------------------------------------------

    @property
    def _curve(self) -> float:
        """1 / n; with weights, 1 / the number of equally weighted items that would say as much."""
        return self._variance(np.ones(1))

    def _item_variance(self) -> float:
        if self.n < 2:
            return math.inf
        terms = self._fresh if self._berkson else self._right.astype(np.float64)
        return self._variance(np.square(terms - self._centre)) * self.n / (self.n - 1)

    def _berkson_population(self) -> IntervalAt:
        """The mean over the population of 1 - q where predictions agree with the label, of q / (K - 1) where not.

        The share of agreements scatters like any share. Unequal q scatter on top of it.
        """
        same = (np.full_like(self._right, here) for here in (False, True))
        ends = sorted(self._mean(self._agreement(right)) for right in same)
        binomial = self._curve * (self.expected - ends[0]) * (ends[1] - self.expected)
        return ScoreInterval(self.expected, max(self._item_variance() - binomial, 0.0), self._curve, *ends)

    def influences(self) -> FloatArray:
        if self._each is None and self._count is not None:
            return super().influences()
        right = self._right
        if self._each is not None:
            right = np.unpackbits(self._each[0], count=self._each[1]).astype(np.bool_)
        terms = self._agreement(right) if self._berkson else right.astype(np.float64)
        shares = 1.0 / self.n if self._weight is None else self._weight / np.add.reduce(self._weight)
        return np.asarray(shares * (terms - self._centre))

    def _next_test_set(self, more: float) -> IntervalAt:
        return next_share(self._centre, self._curve, self.declaration)

    def warnings(self) -> list[str]:
        found = []
        if self._better_than_perfect():
            found.append(
                "the accuracy is above what a perfect model would reach on labels as wrong as this: q is overstated, or "
                "predictions and labels share their errors."
            )
        if np.any(self._q > 0.5):
            found.append("some q are above 1/2: such labels are more often wrong than right.")
        return found


@dataclass(frozen=True)
class InvertedCount:
    """Interval of the true accuracy from the count of agreements, by inverting its distribution: for one q for all.

    The observed count itself counts half to either tail ("mid-p"). Counted fully it never holds less than the level, but
    99 % and more where a handful of labels is wrong, at which the count has few values.
    """

    hits: int
    n: int
    stay: float
    turn: float
    otherwise: IntervalAt
    """The interval where at most one true count fits the observed one: more labels agree than such errors allow."""

    def _tails(self, true_hits: int) -> tuple[float, float]:
        """P(count <= hits) and P(count >= hits), half of P(count = hits) in each, with `true_hits` truly right ones."""
        law = PoissonBinomial(np.array([self.stay, self.turn]), np.array([true_hits, self.n - true_hits]))
        half = 0.5 * float(law.pmf(self.hits))
        return float(law.cdf(self.hits)) - half, float(law.sf(self.hits)) + half

    def __call__(self, level: float) -> Interval:
        tail = (1.0 - level) / 2
        few, many = (1, 0) if self.stay >= self.turn else (0, 1)  # labels may mirror the truth
        candidates = range(self.n + 1)  # the tails are monotone in the true count
        low = bisect_left(candidates, True, key=lambda true_hits: self._tails(true_hits)[few] >= tail)
        high = bisect_left(candidates, True, key=lambda true_hits: self._tails(true_hits)[many] < tail) - 1
        if low >= high and 0 < self.stay < 1:
            return self.otherwise(level)
        return Interval(min(low, self.n) / self.n, max(high, 0) / self.n)
