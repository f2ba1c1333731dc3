"""Answers of the accuracy: the mean of 0/1 outcomes, each of which a wrong label can turn over."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scorebars.answers import berkson
from scorebars.answers.class_answers import require_some_knowledge
from scorebars.answers.intervals import OfLaw, ScoreInterval, Symmetric
from scorebars.answers.population import next_share
from scorebars.errors import Flip
from scorebars.errors.base import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import Law
from scorebars.laws.correlated_flips import conditional_flip_probabilities, correlated_correct_count
from scorebars.laws.mixture import MixtureLaw
from scorebars.laws.poisson_binomial import PoissonBinomial
from scorebars.laws.weighted_bernoulli import WeightedBernoulliSum
from scorebars.moments.votes import majority_error
from scorebars.score import Answers, Declaration, Estimate, Interval, UndefinedEstimate

_BLOCK = 1 << 14
_KEPT = 1 << 16
"""So many probabilities are kept rather than found again."""


class AccuracyAnswers(Answers):
    """Share of predictions that agree with the label.

    A label is wrong with probability q, and then any of the other K - 1 classes: a right prediction stays right with
    probability 1 - q, and a wrong one becomes right with probability r = q / (K - 1).
    """

    def __init__(
        self, declaration: Declaration, right: NDArray[np.bool_], flip: Flip, classes: int, weight: FloatArray | None
    ) -> None:
        self.declaration, self.n = declaration, len(right)
        self._right, self._flip, self._classes, self._weight = right, flip, classes, weight
        self.observed = self._mean(right)
        fresh = _agreement(right, flip.q, classes - 1)
        self.expected = self._mean(fresh)
        self._fresh = fresh if self.n <= _KEPT else None  # the law asks for it again

    # shorthand ---------------------------------------------------------------------------------

    @cached_property
    def _shares(self) -> FloatArray:
        if self._weight is None:
            return np.broadcast_to(1.0 / self.n, (self.n,))
        return self._weight / np.add.reduce(self._weight)

    def _mean(self, values: NDArray[np.bool_] | FloatArray) -> float:
        if self._weight is None:
            return float(np.add.reduce(values, dtype=np.float64)) / self.n
        return float(np.add.reduce(self._weight * values)) / float(np.add.reduce(self._weight))

    def _number(self, which: NDArray[np.bool_]) -> int:
        return int(np.count_nonzero(which))

    def _agreement(self, q: FloatArray | float) -> FloatArray:
        """Probability that each prediction agrees with a fresh label when labels flip with probability q."""
        if q is self._flip.q and self._fresh is not None:
            return self._fresh
        return _agreement(self._right, q, self._classes - 1)

    @cached_property
    def _contrast(self) -> FloatArray:
        """1 - q - r: how much of the difference between right and wrong survives the flips."""
        return np.broadcast_to(1.0 - np.asarray(self._flip.q) * self._classes / (self._classes - 1), self._right.shape)

    def _common(self, lever: FloatArray) -> float:
        """Variance that correlated flips add to sum of lever_i * flip_i; negative where they cancel, near chance."""
        if not self._flip.correlation:
            return 0.0
        moved = lever * np.sqrt(np.asarray(self._flip.q) * (1.0 - np.asarray(self._flip.q)))
        return self._flip.correlation * (float(np.sum(moved)) ** 2 - float(np.sum(np.square(moved))))

    @cached_property
    def _lever(self) -> FloatArray:
        """What one flip does to the score."""
        return self._shares * np.where(self._right, -1.0, 1.0 / (self._classes - 1))

    # the score when labels move ----------------------------------------------------------------

    @property
    def std(self) -> float:
        return math.sqrt(max(self._own_variance() + self._common(self._lever), 0.0))

    def _own_variance(self) -> float:
        """Variance of the score that labels would give which err independently."""
        p = self._agreement(self._flip.q)
        return float(np.sum(np.square(self._shares) * p * (1.0 - p)))

    def law(self) -> Law:
        return self._law(self._right)

    def _law(self, right: NDArray[np.bool_]) -> Law:
        """The law of the accuracy of predictions that are right or wrong like this."""
        rho = self._flip.correlation
        if not rho:
            return self._independent_law(right, np.asarray(self._flip.q))
        if self._weight is None:
            return ScaledLaw(correlated_correct_count(right, self._flip.q, rho, self._classes), 1.0 / self.n)
        q = np.broadcast_to(np.asarray(self._flip.q, dtype=np.float64), (self.n,))
        weights, conditional = conditional_flip_probabilities(q, rho)
        return MixtureLaw([self._independent_law(right, r) for r in conditional], weights)

    def _independent_law(self, right: NDArray[np.bool_], q: FloatArray) -> Law:
        others = self._classes - 1
        if self._weight is None and q.ndim == 0:
            hits = int(np.count_nonzero(right))
            counts = PoissonBinomial(np.array([1.0 - q, q / others]), np.array([hits, self.n - hits]))
            return ScaledLaw(counts, 1.0 / self.n)
        p = self._agreement(q) if right is self._right else _agreement(right, q, others)
        return (
            ScaledLaw(PoissonBinomial(p), 1.0 / self.n)
            if self._weight is None
            else WeightedBernoulliSum(self._weight, p)
        )

    # against the truth -------------------------------------------------------------------------

    @cached_property
    def _unbiased(self) -> FloatArray:
        """(c - r) / (1 - q - r) for each label: unbiased for whether the prediction is right against the truth."""
        bad = np.abs(self._contrast) < 1e-12
        if bad.any():
            raise UndefinedEstimate(
                f"at q = {1 - 1 / self._classes:g} a label says nothing about the true class "
                f"({self._number(bad)} of {self.n} labels), so the score against the truth cannot be found from them."
            )
        r = np.asarray(self._flip.q) / (self._classes - 1)
        return np.asarray((self._right - r) / self._contrast)

    def _truth_variance(self) -> float:
        """Variance of the estimate given the true classes, plug-in and unbiased; without what flips share."""
        q = np.asarray(self._flip.q)
        r = q / (self._classes - 1)
        hit = self._unbiased
        own = np.sum(np.square(self._shares / self._contrast) * (hit * q * (1 - q) + (1 - hit) * r * (1 - r)))
        least = np.sum(np.square(self._shares / self._contrast) * np.minimum(q * (1 - q), r * (1 - r)))
        return max(float(own), float(least))

    def truth(self) -> Estimate:
        if self._flip.kind == "berkson":
            if self._flip.correlation:  # the population's score moves with what all labels share
                std = math.hypot(self.sampling_std(), self.std)
                return berkson.truth(self, Symmetric(self.expected, std, 0.0, 1.0, max(self.n - 1, 1)))
            return berkson.truth(self, self._population_of_terms())
        value = self._mean(self._unbiased)
        own, common = self._truth_variance(), self._common(self._lever / self._contrast)
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

    @property
    def _curve(self) -> float:
        """One over the number of items, or of equally weighted ones that would say as much."""
        return float(np.sum(np.square(self._shares)))

    def _truth_interval(self, from_variance: ScoreInterval) -> InvertedCount | ScoreInterval:
        """From the law of the count where one q serves all."""
        if self._weight is not None or self._flip.correlation or np.ndim(self._flip.q):
            return from_variance
        q = float(self._flip.q)
        return InvertedCount(self._number(self._right), self.n, 1.0 - q, q / (self._classes - 1), from_variance)

    def remeasured(self, repeats: float) -> Estimate:
        """Labels by majority of `repeats` fresh votes."""
        if self._flip.kind == "berkson":
            raise UndefinedEstimate(berkson.REMEASURED)
        q = np.asarray(self._flip.q)
        if repeats == 1:
            fresh, terms = q, self._right.astype(np.float64)
            carried = self._contrast
        else:
            fresh = np.zeros_like(q) if math.isinf(repeats) else majority_error(q, int(repeats), self._classes)
            carried = np.broadcast_to(1.0 - fresh * self._classes / (self._classes - 1), self._right.shape)
            terms = fresh / (self._classes - 1) + carried * self._unbiased
        value = self._mean(terms)
        agreement = np.clip(terms, 0.0, 1.0) if repeats != 1 else self._agreement(q)
        new = float(np.sum(np.square(self._shares) * agreement * (1.0 - agreement)))
        old = float(np.sum(np.square(self._shares) * q * (1.0 - q)))
        if repeats != 1:
            old = self._truth_variance() * float(np.max(np.square(carried)))
        std = math.sqrt(max(new + old + 2 * self._common(self._lever), 0.0))
        return Estimate(value, std, method="unbiased", note="", interval=ScoreInterval(value, std**2, 0.0, 0.0, 1.0))

    def perfect(self) -> Estimate:
        all_right = np.ones_like(self._right)
        law = self._law(all_right)
        return Estimate(
            self._mean(np.broadcast_to(1.0 - np.asarray(self._flip.q), self._right.shape)),
            float(law.std),
            method=law.method,
            note="expected score of a model that always knows the true class",
            interval=OfLaw(law, self._mean(np.broadcast_to(1.0 - np.asarray(self._flip.q), self._right.shape))),
        )

    def noise_share(self) -> float:
        lost, observed = 1.0 - float(self.perfect()), 1.0 - self.observed
        if observed == 0:
            return 0.0 if lost == 0 else math.inf
        return lost / observed

    # the test set as a sample ------------------------------------------------------------------

    def _scatter(self, terms: FloatArray, centre: float) -> float:
        if self.n < 2:
            return math.inf
        return float(np.sum(np.square(self._shares * (terms - centre)))) * self.n / (self.n - 1)

    def sampling_std(self) -> float:
        """The scatter of items; that of shown labels holds the labels' own variance too, which is taken off."""
        if self._flip.kind == "berkson":
            return math.sqrt(self._scatter(self._agreement(self._flip.q), self.expected))
        scatter = self._scatter(self._right.astype(np.float64), self.observed)
        return math.sqrt(max(scatter - self._own_variance(), 0.0))

    def _population_of_terms(self) -> ScoreInterval:
        """Berkson: the mean over the population of 1 - q where predictions agree with the label, of q / (K - 1) where not.

        The share of agreements scatters like any share. Unequal q scatter on top of it.
        """
        ends = sorted(
            self._mean(_agreement(np.full_like(self._right, here), self._flip.q, self._classes - 1))
            for here in (False, True)
        )
        binomial = self._curve * (self.expected - ends[0]) * (ends[1] - self.expected)
        scatter = self._scatter(self._agreement(self._flip.q), self.expected)
        return ScoreInterval(self.expected, max(scatter - binomial, 0.0), self._curve, *ends)

    def total_interval(self, level: float) -> Interval:
        if self._flip.kind == "berkson":  # against the truth, the next share scatters about the expected one
            return next_share(self.expected, self._curve, self.declaration, max(self._common(self._lever), 0.0))(level)
        # the lever of a flip is known of shown labels, some of which are flipped already: 1 - 2a shrinks by the contrast
        contrast = np.maximum(np.abs(self._contrast), 0.1)
        return next_share(self.observed, self._curve, self.declaration, max(self._common(self._lever / contrast), 0.0))(
            level
        )

    def warnings(self) -> list[str]:
        found = []
        if self.observed > float(self.perfect().interval(0.99).high):
            found.append(
                "the accuracy is above what a perfect model would reach on labels as wrong as this: q is overstated, or "
                "predictions and labels share their errors."
            )
        if np.any(np.asarray(self._flip.q) > 0.5):
            found.append("some q are above 1/2: such labels are more often wrong than right.")
        return found


@dataclass(frozen=True)
class InvertedCount:
    """Interval of the true accuracy from the count of agreements, by inverting its law: for one q for all.

    The observed count itself counts half to either tail ("mid-p"). Counting it whole never holds less than the level, but
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
        rising = self.stay >= self.turn

        def too_few(k: int) -> bool:
            """The observed count is too high for k truly right predictions (too low if labels mirror the truth)."""
            return self._tails(k)[1 if rising else 0] < tail

        def not_too_many(k: int) -> bool:
            return self._tails(k)[0 if rising else 1] >= tail

        low = _first(lambda k: not too_few(k), self.n)
        high = _first(lambda k: not not_too_many(k), self.n) - 1
        if low >= high and 0 < self.stay < 1:
            return self.otherwise(level)
        return Interval(min(low, self.n) / self.n, max(high, 0) / self.n)


def _first(holds: object, n: int) -> int:
    """Smallest k in 0..n for which the monotone condition holds; n + 1 if it never does."""
    low, high = 0, n + 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):  # type: ignore[operator]
            high = middle
        else:
            low = middle + 1
    return low


def _agreement(right: NDArray[np.bool_], q: FloatArray | float, others: int) -> FloatArray:
    """1 - q where a prediction is right, q shared by the other classes where not; large temporaries would cost more."""
    q, out = np.broadcast_to(np.asarray(q, dtype=np.float64), right.shape), np.empty(right.shape)
    for start in range(0, right.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        out[part] = np.where(right[part], 1.0 - q[part], q[part] / others)
    return out
