"""Average precision when labels are uncertain and scores are not.

In order of falling score, with N the (weighted) positives so far, n the items so far and B the positives of one group
of equal scores, AP = S / P with S = sum over groups of B (N + B) / n and P all positives. E[S / P] and E[S^2 / P^2] are
integrals over tilted label probabilities (see `tilting`). The moments of S are running sums down the ranking, so each
of the some 110 points costs one pass. Many labels with many positives: the ratio is expanded instead (delta method).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scorebars.laws.base import RNG, FloatArray
from scorebars.laws.label_draws import label_changes
from scorebars.laws.normal import NormalLaw
from scorebars.laws.outcomes import MetricLaw, MetricMoments, Outcomes
from scorebars.laws.tilting import log_of_none, tilted_labels

LISTED = 12
INTEGRATED = 5_000
NEARLY_LINEAR = 0.02
MOST_DRAWN = 10_000_000
DRAWS = 4000


class RankingMoments(NamedTuple):
    """Moments of S and P = N at the end of the ranking."""

    s: float
    s_s: float
    s_p: float
    p: float
    var_p: float


class UncertainAveragePrecision:
    """Average precision of fixed scores when label i is positive with probability p_i; sample weights or None."""

    def __init__(self, scores: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> None:
        score, prob = np.asarray(scores).ravel(), np.asarray(p, dtype=float).ravel()
        w = np.ones(prob.size) if weights is None else np.asarray(weights, dtype=float).ravel()
        counted = np.flatnonzero(w > 0)
        order = counted[np.argsort(-score[counted], kind="stable")]
        self._p: FloatArray = prob[order]
        self._w: FloatArray = w[order] / np.max(w)
        self._starts = np.flatnonzero(np.append(True, np.diff(score[order]) != 0))
        self._ends = np.append(self._starts[1:], order.size) - 1
        self._so_far: FloatArray = np.cumsum(self._w)[self._ends]
        self._uncertain = np.flatnonzero((self._p > 0) & (self._p < 1))

    @cached_property
    def p_defined(self) -> float:
        """Probability that there is a positive label."""
        return -math.expm1(log_of_none(self._p))

    def _values(self, labels: FloatArray) -> FloatArray:
        """Average precision of each row of labels (m, n) in rank order, nan without positives."""
        hits = np.cumsum(labels * self._w, axis=1)[:, self._ends]
        gained = np.diff(hits, axis=1, prepend=0.0)
        total = hits[:, -1]
        present = total > 0
        return np.where(present, np.sum(gained * hits / self._so_far, axis=1) / np.where(present, total, 1.0), math.nan)

    def moments(self, undefined: float | None = None) -> MetricMoments:
        """Mean and variance; without positives the value is `undefined`, or with None that case is conditioned away."""
        if self.p_defined == 0 and undefined is None:
            raise ValueError("average precision is undefined: these label probabilities allow no positive label")
        if self._uncertain.size <= LISTED:
            return self._listed(undefined).moments()._replace(p_defined=self.p_defined)
        if self._uncertain.size > INTEGRATED and self._steady():
            return self._delta()
        first, second = self._integrals()
        defined = self.p_defined
        if undefined is None:
            mean, square = first / defined, second / defined
        else:
            mean, square = first + (1 - defined) * undefined, second + (1 - defined) * undefined**2
        return MetricMoments(mean, max(square - mean * mean, 0.0), defined, "exact")

    def _listed(self, undefined: float | None) -> Outcomes:
        """All labels that are possible."""
        labels, chances = (self._p == 1).astype(float)[None], np.ones(1)
        for i in self._uncertain:
            labels = np.repeat(labels, 2, axis=0)
            labels[::2, i] = 1.0
            chances = np.stack([chances * self._p[i], chances * (1 - self._p[i])], axis=1).ravel()
        return Outcomes(self._values(labels), chances, undefined, "exact")

    def _ranking(self, p: FloatArray) -> RankingMoments:
        """Moments of S and P for independent labels with probabilities p: running sums down the ranking."""
        w, x = self._w, p * (1 - p)
        k1, k2, k3, k4 = (
            np.add.reduceat(w**r * shape, self._starts)
            for r, shape in enumerate((p, x, x * (1 - 2 * p), x * (1 - 6 * x)), start=1)
        )
        # raw moments of the group's positives B from its cumulants
        m2 = k2 + k1**2
        m3 = k3 + 3 * k2 * k1 + k1**3
        m4 = k4 + 4 * k3 * k1 + 3 * k2**2 + 6 * k2 * k1**2 + k1**4
        n = np.cumsum(k1) - k1
        n_n = np.cumsum(k2) - k2 + n**2
        c = 1 / self._so_far
        gain = c * (k1 * n + m2)
        s = np.cumsum(gain) - gain
        gain_p = s * k1 + c * (k1 * n_n + 2 * m2 * n + m3)
        s_n = np.cumsum(gain_p) - gain_p
        gain_s = 2 * c * (k1 * s_n + m2 * s) + c * c * (m2 * n_n + 2 * m3 * n + m4)
        return RankingMoments(
            float(s[-1] + gain[-1]),
            float(np.add.reduce(gain_s)),
            float(s_n[-1] + gain_p[-1]),
            float(n[-1] + k1[-1]),
            float(np.add.reduce(k2)),
        )

    def _integrals(self) -> tuple[float, float]:
        """E[AP; P > 0] and E[AP^2; P > 0]."""
        first = second = 0.0
        for node in tilted_labels(self._w, self._p):
            ranking = self._ranking(node.p)
            first += node.weight * ranking.s
            second += node.weight * node.s * ranking.s_s
        return first, second

    def _steady(self) -> bool:
        """Whether the number of positives varies by so little that 1/P is nearly linear in P."""
        mean = float(np.add.reduce(self._w * self._p))
        return float(np.add.reduce(self._w**2 * self._p * (1 - self._p))) < (NEARLY_LINEAR * mean) ** 2

    def _delta(self) -> MetricMoments:
        """Second-order mean and first-order variance of the ratio S / P."""
        m = self._ranking(self._p)
        value, cov = m.s / m.p, m.s_p - m.s * m.p
        mean = value - cov / m.p**2 + value * m.var_p / m.p**2
        var = (m.s_s - m.s**2 - 2 * value * cov + value**2 * m.var_p) / m.p**2
        return MetricMoments(mean, max(var, 0.0), self.p_defined, "delta")

    def law(self, undefined: float | None = None, draws: int = DRAWS, rng: RNG | int | None = 0) -> MetricLaw:
        """The law: listed, simulated, or normal for very many labels."""
        if self._uncertain.size <= LISTED:
            return self._listed(undefined).law()._replace(p_defined=self.p_defined)
        if self._p.size * draws > MOST_DRAWN:
            moments = self.moments(undefined)
            return MetricLaw(NormalLaw(moments.mean, math.sqrt(moments.var), method="delta"), self.p_defined)
        generator = np.random.default_rng(rng)
        block = max(1, 1_000_000 // self._p.size)
        sizes = [min(block, draws - start) for start in range(0, draws, block)]
        found = np.concatenate([self._values(self._labels(size, generator, undefined)) for size in sizes])
        return Outcomes.of_draws(found, undefined).law()._replace(p_defined=self.p_defined)

    def _labels(self, draws: int, rng: RNG, undefined: float | None) -> FloatArray:
        """Labels (draws, n), given a positive one unless its absence has a value."""
        likely = self._p > 0.5
        rare = np.where(likely, 1 - self._p, self._p)
        item, draw = label_changes(rare, draws, rng, at_least_one=undefined is None and not np.any(likely))
        labels = np.broadcast_to(likely.astype(float), (draws, likely.size)).copy()
        labels[draw, item] = 1 - labels[draw, item]
        return labels
