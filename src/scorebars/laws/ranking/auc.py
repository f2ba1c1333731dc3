"""ROC AUC when labels are uncertain and scores are not.

With weighted mid-ranks R_i = sum_j w_j (1[s_j < s_i] + 1[s_j = s_i] / 2) and T = sum w, the AUC of labels y is

    AUC = 1/2 + V / (P (T - P)),     V = sum_i y_i w_i (R_i - T/2),  P = sum_i y_i w_i:

a function of two sums that are linear in the labels. From 1 / (P (T - P)) = [1/P + 1/(T - P)] / T its moments are integrals
over tilted label probabilities (see `uncertain_ranking`). Mean and variance are conditional on both classes being present.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from scorebars.arrays import FloatArray
from scorebars.laws.law import RNG
from scorebars.laws.ranking.uncertain_ranking import UncertainRanking, log_of_none, tilted_labels
from scorebars.laws.uncertain_labels import label_changes

_MOST_CHANGES = 1_000_000  # beyond, hundreds of labels change in each draw, and the AUC is normal


class UncertainAuc(UncertainRanking):
    """ROC AUC of fixed scores when label i is positive with probability p_i; sample weights or None."""

    def __init__(self, scores: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> None:
        score, prob = np.asarray(scores).ravel(), np.asarray(p, dtype=float).ravel()
        w = np.ones(prob.size) if weights is None else np.asarray(weights, dtype=float).ravel()
        counted = w > 0
        super().__init__(prob[counted], w[counted] / np.max(w))
        self._total = float(np.add.reduce(self._w))
        self._b: FloatArray = self._w * centred_ranks(score[counted], self._w)
        # both classes must be present; the likelier absence is close to 1 when errors are small: its complement first
        none, every = log_of_none(self._p), log_of_none(1 - self._p)
        present = -math.expm1(max(none, every)) - math.exp(min(none, every))
        self.p_defined = max(present, 0.0) if self._p.size > 1 else 0.0
        if self.p_defined == 0:
            raise ValueError("ROC AUC is undefined: these label probabilities allow one class only")

    def _divisors(self) -> tuple[float, ...]:
        mean = float(self._w @ self._p)
        return mean, self._total - mean

    def _values(self, v: FloatArray, positives: FloatArray, number: FloatArray) -> FloatArray:
        """AUC from V, P and the number of positive labels; nan where a class is missing."""
        spread = positives * (self._total - positives)
        value = 0.5 + v / np.where(spread > 0, spread, 1.0)
        return np.where((number > 0) & (number < self._p.size), np.clip(value, 0.0, 1.0), math.nan)

    def _of_labels(self, labels: FloatArray) -> FloatArray:
        return self._values(labels @ self._b, labels @ self._w, np.sum(labels, axis=1))

    def _exact(self) -> tuple[float, float]:
        """AUC - centre = A/P + B/(T-P), with sums A over the positives and B over the negatives that are small on average.

        V = sum b y is also -sum b (1 - y), as the b sum to 0. Where one class is missing, A/P and B/(T-P) are known.
        """
        b, w, total, expected = self._b / self._total, self._w, self._total, float(self._w @ self._p)
        of_positives = of_negatives = 0.0
        rare = None  # where one class is hardly ever present, both sums take that one, whose absence must leave nothing
        if self.p_defined > 0.5:
            of_positives, of_negatives = float(b @ self._p) / expected, float(b @ self._p) / (total - expected)
        else:
            rare = float(np.add.reduce(self._p)) > self._p.size / 2
        over_negatives = (False, True) if rare is None else (rare, rare)
        first, second = (
            (-b if negatives else b) - shift * w
            for negatives, shift in zip(over_negatives, (of_positives, of_negatives), strict=True)
        )
        none, every = math.exp(log_of_none(self._p)), math.exp(log_of_none(1 - self._p))
        mean = none * of_negatives + every * of_positives
        square = -none * of_negatives**2 - every * of_positives**2
        for by_negatives, p in enumerate((self._p, 1 - self._p)):
            for s, weight, tilted, rest in tilted_labels(w, p):
                chances = (rest, tilted) if by_negatives else (tilted, rest)  # of a positive and of a negative label
                a, b_sum = (
                    float(form @ chances[negatives])
                    for form, negatives in zip((first, second), over_negatives, strict=True)
                )
                both = tilted * rest
                sign = 1.0 if over_negatives[0] == over_negatives[1] else -1.0
                own, linear = (second, b_sum) if by_negatives else (first, a)
                mean += weight * linear
                square += weight * s * (linear**2 + float(np.square(own) @ both))
                square += weight * 2 / total * (a * b_sum + sign * float((first * second) @ both))
        mean, square = mean / self.p_defined, square / self.p_defined
        value = 0.5 + of_positives + of_negatives + mean
        return min(max(value, 0.0), 1.0), max(square - mean * mean, 0.0)

    def _delta(self) -> tuple[float, float]:
        p, b, w, total = self._p, self._b, self._w, self._total
        pq = p * (1 - p)
        v, positives = float(np.add.reduce(b * p)), float(np.add.reduce(w * p))
        vv, vp, pp = (float(np.add.reduce(x * pq)) for x in (b * b, b * w, w * w))
        spread, slope = positives * (total - positives), total - 2 * positives
        by_v, by_p = 1 / spread, -v * slope / spread**2
        by_vp, by_pp = -slope / spread**2, 2 * v * (spread + slope * slope) / spread**3
        mean = 0.5 + v / spread + by_vp * vp + by_pp * pp / 2
        var = by_v * by_v * vv + 2 * by_v * by_p * vp + by_p * by_p * pp
        return min(max(mean, 0.0), 1.0), max(var, 0.0)

    def _drawn(self, draws: int, rng: RNG) -> FloatArray | None:
        likely = self._p > 0.5
        rare = np.where(likely, 1 - self._p, self._p)
        if draws * float(np.add.reduce(rare)) > _MOST_CHANGES:
            return None
        # where the likeliest labels are of one class, being defined means that some label changes
        one_class = bool(np.all(likely) or not np.any(likely))
        item, draw = label_changes(rare, draws, rng, at_least_one=one_class)
        step = np.where(likely, -1.0, 1.0)[item]
        v = np.add.reduce(self._b[likely]) + np.bincount(draw, step * self._b[item], minlength=draws)
        positives = np.add.reduce(self._w[likely]) + np.bincount(draw, step * self._w[item], minlength=draws)
        number = np.add.reduce(likely, dtype=float) + np.bincount(draw, step, minlength=draws)
        return self._values(v, positives, number)


def centred_ranks(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Weight below each score plus half the weight at it, minus half of all the weight."""
    _, group = np.unique(scores, return_inverse=True)
    at = np.bincount(group.ravel(), weights)
    below = np.cumsum(at) - at
    return np.asarray((below + at / 2 - np.add.reduce(weights) / 2)[group.ravel()])
