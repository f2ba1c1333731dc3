"""Average precision when labels are uncertain and scores are not.

In order of falling score, with N the (weighted) positives so far, n the items so far and B the positives of one group
of equal scores, AP = S / P with S = sum over groups of B (N + B) / n and P all positives. E[S / P] and E[S^2 / P^2] are
integrals over tilted label probabilities (see `uncertain_ranking`). The moments of S are running sums down the ranking, so
each of the some 60 points costs one pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from scorebars.arrays import FloatArray
from scorebars.laws.law import RNG
from scorebars.laws.ranking.ranked_values import ScoreGroups, average_precision
from scorebars.laws.ranking.uncertain_ranking import UncertainRanking, tilted_labels
from scorebars.laws.samples import drawn_in_blocks
from scorebars.laws.uncertain_labels import label_changes

_MOST_DRAWN = 10_000_000  # labels in all draws; beyond, average precision is normal
_BLOCK = 1_000_000  # labels drawn at a time


class UncertainAveragePrecision(UncertainRanking):
    """Average precision of fixed scores when label i is positive with probability p_i; sample weights or None.

    It is 0 where no label is positive.
    """

    def __init__(self, scores: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> None:
        score, prob = np.asarray(scores).ravel(), np.asarray(p, dtype=float).ravel()
        w = np.ones(prob.size) if weights is None else np.asarray(weights, dtype=float).ravel()
        counted = np.flatnonzero(w > 0)
        counted = counted[np.argsort(-score[counted], kind="stable")]  # drawn labels need no sorting then
        super().__init__(prob[counted], w[counted] / np.max(w))
        self._groups = ScoreGroups(score[counted])
        self._so_far: FloatArray = np.cumsum(self._groups.sums(self._w))

    def _of_labels(self, labels: FloatArray) -> FloatArray:
        return average_precision(self._groups, labels, self._w)

    def _exact(self) -> tuple[float, float]:
        mean = square = 0.0
        for at, weight, tilted, _ in tilted_labels(self._w, self._p):
            s, s_s, _ = self._sum_moments(tilted)
            mean += weight * s
            square += weight * at * s_s
        return mean, max(square - mean * mean, 0.0)

    def _sum_moments(self, p: FloatArray) -> tuple[float, float, float]:
        """E[S], E[S^2] and E[S P] for independent labels with probabilities p: running sums down the ranking."""
        w, x = self._w, p * (1 - p)
        k1, k2, k3, k4 = (
            self._groups.sums(w**r * shape) for r, shape in enumerate((p, x, x * (1 - 2 * p), x * (1 - 6 * x)), start=1)
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
        return float(s[-1] + gain[-1]), float(np.add.reduce(gain_s)), float(s_n[-1] + gain_p[-1])

    def _delta(self) -> tuple[float, float]:
        s, s_s, s_p = self._sum_moments(self._p)
        p, var_p = float(self._w @ self._p), float(np.square(self._w) @ (self._p * (1 - self._p)))
        value, cov = s / p, s_p - s * p
        mean = value - cov / p**2 + value * var_p / p**2
        return mean, max((s_s - s**2 - 2 * value * cov + value**2 * var_p) / p**2, 0.0)

    def _drawn(self, draws: int, rng: RNG) -> FloatArray | None:
        if self._p.size * draws > _MOST_DRAWN:
            return None
        likely = self._p > 0.5
        rare = np.where(likely, 1 - self._p, self._p)

        def draw(rng: RNG, rows: int) -> FloatArray:
            item, row = label_changes(rare, rows, rng)
            labels = np.broadcast_to(likely.astype(float), (rows, likely.size)).copy()
            labels[row, item] = 1 - labels[row, item]
            return self._of_labels(labels)

        return drawn_in_blocks(draw, draws, self._p.size, rng, _BLOCK)
