"""Answers of the accuracy: the mean of 0/1 outcomes, each of which a wrong label can turn over."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import Answers, of_law
from scorebars.answers.classes.class_answers import require_some_knowledge
from scorebars.answers.classes.labelled import flips_of, require_away_from_chance, says_nothing
from scorebars.answers.intervals import ScoreInterval, Symmetric, next_share
from scorebars.arrays import FloatArray
from scorebars.engines.class_counts import ClassCounts, rows_of
from scorebars.errors import Flip
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.correlated_flips import conditional_flip_probabilities, correlated_correct_count
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.counts.weighted_bernoulli import WeightedBernoulliSum
from scorebars.laws.law import Law
from scorebars.laws.mixture import MixtureLaw
from scorebars.moments.majority_error import majority_error
from scorebars.score import Declaration, Estimate, Interval, UndefinedEstimate

_BLOCK = 1 << 14
_KEPT = 1 << 16
"""Up to so many probabilities are kept rather than computed again."""


class AccuracyAnswers(Answers):
    """Share of predictions that agree with the label.

    A label is wrong with probability q, and then any of the other K - 1 classes: a right prediction stays right with
    probability 1 - q, and a wrong one becomes right with probability r = q / (K - 1). Right or wrong and q are all there
    is to know of a label: with `count` each row stands for that many labels, `binned` says that q is known to its bin.
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
        if weight is None and count is None and not flip.correlation and np.ndim(flip.q) == 0:
            hits = int(np.count_nonzero(right))  # one q serves all: two kinds of labels
            right, count = np.array([True, False]), np.array([hits, len(right) - hits], dtype=np.float64)
        self.n = len(right) if count is None else round(float(np.add.reduce(count)))
        self._right, self._flip, self._classes, self._binned = right, flip, classes, binned
        self._weight, self._count, self._q = weight, count, np.asarray(flip.q, dtype=np.float64)
        self.observed = self._mean(right)
        fresh = self._agreement(right, self._q)
        self.expected = self._mean(fresh)
        self._kept = fresh if len(right) <= _KEPT else None

    @classmethod
    def counted(cls, declaration: Declaration, counts: ClassCounts, kind: str) -> AccuracyAnswers:
        """Of labels of which the numbers by right or wrong and q were kept."""
        cell, q, count = rows_of(counts)
        flips, classes = flips_of(q, kind), max(len(counts.classes), 2)
        return cls(declaration, counts.right(cell), flips, classes, None, count, counts.gathered)

    # shorthand ---------------------------------------------------------------------------------

    @cached_property
    def _shares(self) -> FloatArray:
        """How much a row counts in variances: the root of the sum of its labels' squared shares."""
        if self._weight is not None:
            return self._weight / np.add.reduce(self._weight)
        return (
            np.broadcast_to(1.0, self._right.shape) / self.n if self._count is None else np.sqrt(self._count) / self.n
        )

    def _mean(self, values: NDArray[np.bool_] | FloatArray) -> float:
        mass = self._weight if self._count is None else self._count
        if mass is None:
            return float(np.add.reduce(values, dtype=np.float64)) / self.n
        return float(np.add.reduce(mass * values)) / float(np.add.reduce(mass))

    def _agreement(self, right: NDArray[np.bool_], q: FloatArray) -> FloatArray:
        """1 - q where a prediction is right, q shared by the other classes where not; large temporaries cost more."""
        q, out = np.broadcast_to(q, right.shape), np.empty(right.shape)
        for start in range(0, right.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            out[part] = np.where(right[part], 1.0 - q[part], q[part] / (self._classes - 1))
        return out

    @property
    def _fresh(self) -> FloatArray:
        """Probability that each prediction agrees with a fresh label."""
        return self._agreement(self._right, self._q) if self._kept is None else self._kept

    @cached_property
    def _contrast(self) -> FloatArray:
        """1 - q - r: how much of the difference between right and wrong survives the flips."""
        return 1.0 - np.broadcast_to(self._q, self._right.shape) * self._classes / (self._classes - 1)

    def _common(self, divisor: FloatArray | float = 1.0) -> float:
        """Variance that correlated flips add to the score, over `divisor`; negative where they cancel, near chance."""
        if not self._flip.correlation:
            return 0.0
        lever = self._shares * np.where(self._right, -1.0, 1.0 / (self._classes - 1)) / divisor
        moved = lever * np.sqrt(self._q * (1.0 - self._q))
        return self._flip.correlation * (float(np.sum(moved)) ** 2 - float(np.sum(np.square(moved))))

    # labels redrawn from their errors ------------------------------------------------------------

    @property
    def std(self) -> float:
        return math.sqrt(max(self._label_variance() + self._common(), 0.0))

    def _label_variance(self) -> float:
        p = self._fresh
        return float(np.sum(np.square(self._shares) * p * (1.0 - p)))

    def law(self) -> Law:
        return self._law(self._right)

    def _law(self, right: NDArray[np.bool_]) -> Law:
        """The distribution of the accuracy of predictions that are right or wrong like this."""
        rho = self._flip.correlation
        if rho and self._weight is None:
            return ScaledLaw(correlated_correct_count(right, self._q, rho, self._classes), 1.0 / self.n)
        if rho:
            weights, conditional = conditional_flip_probabilities(np.broadcast_to(self._q, right.shape), rho)
            return MixtureLaw([self._independent_law(right, q) for q in conditional], weights)
        return self._independent_law(right, self._q)

    def _independent_law(self, right: NDArray[np.bool_], q: FloatArray) -> Law:
        p = self._agreement(right, q)
        if self._weight is not None:
            return WeightedBernoulliSum(self._weight, p)
        return ScaledLaw(PoissonBinomial(p, self._count), 1.0 / self.n)

    # against the truth -------------------------------------------------------------------------

    @cached_property
    def _unbiased(self) -> FloatArray:
        """(c - r) / (1 - q - r) for each label: unbiased for whether the prediction is right against the truth."""
        if self._binned:
            require_away_from_chance(self._q, self._classes, "the accuracy")
        bad = np.abs(self._contrast) < 1e-12
        if bad.any():
            number = round(float(np.sum(bad if self._count is None else self._count[bad])))
            raise UndefinedEstimate(says_nothing(self._classes, number, self.n))
        return np.asarray((self._right - self._q / (self._classes - 1)) / self._contrast)

    def _truth_variance(self) -> float:
        """Variance of the estimate given the true classes, plug-in and unbiased; without what flips share."""
        q, r, hit = self._q, self._q / (self._classes - 1), self._unbiased
        scale = np.square(self._shares / self._contrast)
        own = np.sum(scale * (hit * q * (1 - q) + (1 - hit) * r * (1 - r)))
        return max(float(own), float(np.sum(scale * np.minimum(q * (1 - q), r * (1 - r)))))

    def _truth(self) -> Estimate:
        value = self._mean(self._unbiased)
        own, common = self._truth_variance(), self._common(self._contrast)
        variance = max(own + common, 0.0)
        require_some_knowledge(math.sqrt(variance), self.declaration, self.observed)
        return Estimate(
            value,
            math.sqrt(variance),
            method="unbiased",
            note="" if 0 <= value <= 1 else "outside [0, 1]: q is larger than these labels can support",
            interval=self._truth_interval(ScoreInterval(value, variance, 0.0, 0.0, 1.0)),
            total_interval=ScoreInterval(value, own + max(common, 0.0), self._curve, 0.0, 1.0),
        )

    def _truth_interval(self, from_variance: ScoreInterval) -> Callable[[float], Interval]:
        """From the distribution of the count where one q serves all."""
        if self._weight is not None or self._flip.correlation or self._q.ndim:
            return from_variance
        q, hits = float(self._q), round(self.observed * self.n)
        return InvertedCount(hits, self.n, 1.0 - q, q / (self._classes - 1), from_variance)

    def _remeasured(self, repeats: float) -> Estimate:
        """Labels by majority of `repeats` fresh votes."""
        q = self._q
        if repeats == 1:
            terms, agreement = self._right.astype(np.float64), self._fresh
            old = float(np.sum(np.square(self._shares) * q * (1.0 - q)))
        else:
            fresh = np.zeros_like(q) if math.isinf(repeats) else majority_error(q, int(repeats), self._classes)
            carried = 1.0 - fresh * self._classes / (self._classes - 1)
            terms = fresh / (self._classes - 1) + carried * self._unbiased
            agreement = np.clip(terms, 0.0, 1.0)
            old = self._truth_variance() * float(np.max(np.square(carried)))
        new = float(np.sum(np.square(self._shares) * agreement * (1.0 - agreement)))
        variance, value = max(new + old + 2 * self._common(), 0.0), self._mean(terms)
        interval = ScoreInterval(value, variance, 0.0, 0.0, 1.0)
        return Estimate(value, math.sqrt(variance), method="unbiased", note="", interval=interval)

    def perfect(self) -> Estimate:
        value = self._mean(np.broadcast_to(1.0 - self._q, self._right.shape))
        note = "expected score of a model that always knows the true class"
        return of_law(self._law(np.ones_like(self._right)), note, value)

    # the test set as a sample ------------------------------------------------------------------

    @property
    def _curve(self) -> float:
        """One over the number of items, or of equally weighted ones that would say as much."""
        return float(np.sum(np.square(self._shares)))

    def _item_variance(self) -> float:
        if self.n < 2:
            return math.inf
        terms = self._fresh if self._berkson else self._right.astype(np.float64)
        return float(np.sum(np.square(self._shares * (terms - self._centre)))) * self.n / (self.n - 1)

    def _shared_variance(self) -> float:
        # what a flip does is known of shown labels, some of which are flipped already: 1 - 2a shrinks by the contrast
        return max(self._common(1.0 if self._berkson else np.maximum(np.abs(self._contrast), 0.1)), 0.0)

    def _berkson_population(self) -> Callable[[float], Interval]:
        """The mean over the population of 1 - q where predictions agree with the label, of q / (K - 1) where not.

        The share of agreements scatters like any share. Unequal q scatter on top of it. With correlated flips the
        population's score moves with what all labels share.
        """
        if self._flip.correlation:
            spread = math.hypot(self.sampling_std(), self.std)
            return Symmetric(self.expected, spread, 0.0, 1.0, max(self.n - 1, 1))
        same = (np.full_like(self._right, here) for here in (False, True))
        ends = sorted(self._mean(self._agreement(right, self._q)) for right in same)
        binomial = self._curve * (self.expected - ends[0]) * (ends[1] - self.expected)
        return ScoreInterval(self.expected, max(self._item_variance() - binomial, 0.0), self._curve, *ends)

    def total_interval(self, level: float) -> Interval:
        return next_share(self._centre, self._curve, self.declaration, self._shared_variance())(level)

    def warnings(self) -> list[str]:
        found = []
        if self.observed > float(self.perfect().interval(0.99).high):
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
    otherwise: ScoreInterval
    """Where no true count, or a single one, goes with the observed count: more agree than such labels allow."""

    def _tails(self, true_hits: int) -> tuple[float, float]:
        """P(count <= hits) and P(count >= hits), half of P(count = hits) in each, with `true_hits` truly right ones."""
        law = PoissonBinomial(np.array([self.stay, self.turn]), np.array([true_hits, self.n - true_hits]))
        half = 0.5 * float(law.pmf(self.hits))
        return float(law.cdf(self.hits)) - half, float(law.sf(self.hits)) + half

    def __call__(self, level: float) -> Interval:
        tail = (1.0 - level) / 2
        few, many = (1, 0) if self.stay >= self.turn else (0, 1)  # labels may mirror the truth
        low = _first(lambda true_hits: self._tails(true_hits)[few] >= tail, self.n)
        high = _first(lambda true_hits: self._tails(true_hits)[many] < tail, self.n) - 1
        if low >= high and 0 < self.stay < 1:
            return self.otherwise(level)
        return Interval(min(low, self.n) / self.n, max(high, 0) / self.n)


def _first(holds: Callable[[int], bool], n: int) -> int:
    """Smallest k in 0..n for which the monotone condition holds; n + 1 if it never does."""
    return bisect_left(range(n + 1), True, key=holds)
