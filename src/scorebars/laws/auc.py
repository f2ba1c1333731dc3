"""ROC AUC when labels are uncertain and scores are not.

With weighted mid-ranks R_i = sum_j w_j (1[s_j < s_i] + 1[s_j = s_i] / 2) and T = sum w, the AUC of labels y is

    AUC = 1/2 + V / (P (T - P)),     V = sum_i y_i w_i (R_i - T/2),  P = sum_i y_i w_i:

a function of two sums that are linear in the labels. Without weights P is a count, and the joint moments of V with
each value of P follow exactly: by adding label after label (few labels), or from

    E[V z^P] = phi(z) A(z),     E[V^2 z^P] = phi(z) [A(z)^2 + sum_i b_i^2 a_i (1 - a_i)]

on the unit circle, a_i = p_i z / (1 - p_i + p_i z), A = sum_i b_i a_i, b_i = R_i - T/2. Everything is counted from the
likeliest labels, so that small label errors lose no digits. With weights the moments are integrals over tilted label
probabilities (see `tilting`); beyond 5,000 labels of both classes the delta method on (V, P) serves. Mean and variance
are conditional on both classes being present.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from scorebars.laws.auc_joint import joint_by_adding, joint_by_inversion
from scorebars.laws.base import RNG, FloatArray
from scorebars.laws.label_draws import label_changes
from scorebars.laws.normal import NormalLaw
from scorebars.laws.outcomes import MetricLaw, MetricMoments, Outcomes
from scorebars.laws.tilting import log_of_none, tilted_labels

LISTED = 12  # uncertain labels whose outcomes are all listed
ADDED = 800
INTEGRATED = 5_000
NEARLY_LINEAR = 0.02  # std / mean of the smaller class below which the delta method serves
DRAWS = 4000
MOST_EVENTS = 1_000_000  # beyond, hundreds of labels change in each draw, and the law is normal


class UncertainAuc:
    """ROC AUC of fixed scores when label i is positive with probability p_i; sample weights or None."""

    def __init__(self, scores: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> None:
        score, prob = np.asarray(scores).ravel(), np.asarray(p, dtype=float).ravel()
        self._weighted = weights is not None
        w = np.ones(prob.size) if weights is None else np.asarray(weights, dtype=float).ravel()
        counted = w > 0
        self._p: FloatArray = prob[counted]
        self._w: FloatArray = w[counted] / np.max(w) if self._weighted else w
        self._total = float(np.add.reduce(self._w))
        self._b: FloatArray = self._w * centred_ranks(score[counted], self._w)
        self._uncertain = int(np.count_nonzero((self._p > 0) & (self._p < 1)))

    @cached_property
    def p_defined(self) -> float:
        """Probability that both classes are present."""
        if self._p.size == 1:
            return 0.0
        none, every = log_of_none(self._p), log_of_none(1 - self._p)
        # the likelier of the two is close to 1 when errors are small: take its complement first
        return max(-math.expm1(max(none, every)) - math.exp(min(none, every)), 0.0)

    def _values(self, v: FloatArray, positives: FloatArray, number: FloatArray) -> FloatArray:
        """AUC from V, P and the number of positive labels; nan where a class is missing."""
        spread = positives * (self._total - positives)
        value = 0.5 + v / np.where(spread > 0, spread, 1.0)
        return np.where((number > 0) & (number < self._p.size), np.clip(value, 0.0, 1.0), math.nan)

    @cached_property
    def moments(self) -> MetricMoments:
        """Mean and variance, given that both classes are present."""
        if self.p_defined == 0:
            raise ValueError("ROC AUC is undefined: these label probabilities allow one class only")
        if self._uncertain <= LISTED:
            return self._listed().moments()._replace(p_defined=self.p_defined)
        if self._uncertain > INTEGRATED and self._steady():
            return self._delta()
        return self._integrated() if self._weighted or self._uncertain > INTEGRATED else self._counted()

    def _steady(self) -> bool:
        """Whether the classes vary by so little that the AUC is nearly linear in V and P."""
        mean = float(np.add.reduce(self._w * self._p))
        smaller = min(mean, self._total - mean)
        return float(np.add.reduce(self._w**2 * self._p * (1 - self._p))) < (NEARLY_LINEAR * smaller) ** 2

    def _integrated(self) -> MetricMoments:
        """From 1/(P(T-P)) = (1/P + 1/(T-P)) / T, each part an integral over tilted labels; V = 0 at P = 0 and P = T."""
        mean = square = 0.0
        b = self._b / self._total
        # V = sum b y = -sum b (1 - y), as the b sum to 0. Each integral takes the class that it divides by; where one
        # class is hardly ever present, both take that one, whose absence must leave nothing
        rare = None if self.p_defined > 0.5 else int(float(np.add.reduce(self._p)) > self._p.size / 2)
        for divisor, p in enumerate((self._p, 1 - self._p)):
            for s, weight, tilted, rest in tilted_labels(self._w, p):
                positive, negative = (rest, tilted) if divisor else (tilted, rest)
                by_negatives = divisor if rare is None else rare
                linear = -float(np.add.reduce(b * negative)) if by_negatives else float(np.add.reduce(b * positive))
                second = linear**2 + float(np.add.reduce(b * b * positive * negative))
                mean += weight * linear
                square += weight * (s + 2 / self._total) * second
        mean, square = mean / self.p_defined, square / self.p_defined
        mean = min(max(mean, -0.5), 0.5)
        return MetricMoments(0.5 + mean, max(square - mean * mean, 0.0), self.p_defined, "exact")

    def _counted(self) -> MetricMoments:
        """From the joint moments of V with each value of P."""
        join = joint_by_adding if self._uncertain <= ADDED else joint_by_inversion
        likely = self._p > 0.5
        base = float(np.add.reduce(self._b[likely]))
        positives, f, first, second = join(self._b, self._p)
        inside = (positives > 0) & (positives < self._total)
        spread = (positives * (self._total - positives))[inside]
        f, first, second = f[inside], first[inside] / spread, second[inside] / spread**2
        total = float(np.add.reduce(f))
        # the deviation from the AUC of the likeliest labels, or from 1/2 where those are of one class
        count = float(np.count_nonzero(likely))
        centre = base / (count * (self._total - count)) if 0 < count < self._total else 0.0
        offset = base / spread - centre
        mean = float(np.add.reduce(first + offset * f)) / total
        offset = offset - mean
        var = float(np.add.reduce(second + 2 * offset * first + offset**2 * f)) / total
        return MetricMoments(0.5 + centre + mean, max(var, 0.0), self.p_defined, "exact")

    def _listed(self) -> Outcomes:
        """All labels that are possible."""
        labels, chances = (self._p == 1).astype(float)[None], np.ones(1)
        for i in np.flatnonzero((self._p > 0) & (self._p < 1)):
            labels = np.repeat(labels, 2, axis=0)
            labels[::2, i] = 1.0
            chances = np.stack([chances * self._p[i], chances * (1 - self._p[i])], axis=1).ravel()
        values = self._values(labels @ self._b, labels @ self._w, np.sum(labels, axis=1))
        return Outcomes(values, chances, None, "exact")

    def _delta(self) -> MetricMoments:
        """Second-order mean and first-order variance from the joint moments of V and P."""
        p, b, w, total = self._p, self._b, self._w, self._total
        pq = p * (1 - p)
        v, positives = float(np.add.reduce(b * p)), float(np.add.reduce(w * p))
        vv, vp, pp = (float(np.add.reduce(x * pq)) for x in (b * b, b * w, w * w))
        spread, slope = positives * (total - positives), total - 2 * positives
        by_v, by_p = 1 / spread, -v * slope / spread**2
        by_vp, by_pp = -slope / spread**2, 2 * v * (spread + slope * slope) / spread**3
        mean = 0.5 + v / spread + by_vp * vp + by_pp * pp / 2
        var = by_v * by_v * vv + 2 * by_v * by_p * vp + by_p * by_p * pp
        return MetricMoments(min(max(mean, 0.0), 1.0), max(var, 0.0), self.p_defined, "delta")

    def law(self, draws: int = DRAWS, rng: RNG | int | None = 0) -> MetricLaw:
        """The law given that both classes are present: listed, simulated, or normal for very many labels."""
        moments = self.moments
        if self._uncertain <= LISTED:
            return self._listed().law()._replace(p_defined=self.p_defined)
        likely = self._p > 0.5
        rare = np.where(likely, 1 - self._p, self._p)
        if draws * float(np.add.reduce(rare)) > MOST_EVENTS:
            return MetricLaw(NormalLaw(moments.mean, math.sqrt(moments.var), method="delta"), self.p_defined)
        # where the likeliest labels are of one class, being defined means that some label changes
        one_class = bool(np.all(likely) or not np.any(likely))
        item, draw = label_changes(rare, draws, np.random.default_rng(rng), at_least_one=one_class)
        step = np.where(likely, -1.0, 1.0)[item]
        v = np.add.reduce(self._b[likely]) + np.bincount(draw, step * self._b[item], minlength=draws)
        positives = np.add.reduce(self._w[likely]) + np.bincount(draw, step * self._w[item], minlength=draws)
        number = np.add.reduce(likely, dtype=float) + np.bincount(draw, step, minlength=draws)
        return Outcomes.of_draws(self._values(v, positives, number), None).law()._replace(p_defined=self.p_defined)


def centred_ranks(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Weight below each score plus half the weight at it, minus half of all the weight."""
    _, group = np.unique(scores, return_inverse=True)
    at = np.bincount(group.ravel(), weights)
    below = np.cumsum(at) - at
    return np.asarray((below + at / 2 - np.add.reduce(weights) / 2)[group.ravel()])
