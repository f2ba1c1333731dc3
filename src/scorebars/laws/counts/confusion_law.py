"""Distributions of K-class metrics (and of weighted binary ones) when labels are uncertain.

Few uncertain labels: every outcome is listed (exact). Nearly linear metrics, which means many labels: the delta method,
second order for the mean and first order for the variance. In between: simulation, with the linear part of the metric
taken out and put back exactly, so that only what the delta method misses carries simulation noise.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars.arrays import FloatArray
from scorebars.laws.counts.label_draws import draw_confusions
from scorebars.laws.discrete import MetricLaw, MetricMoments, Outcomes
from scorebars.laws.law import RNG
from scorebars.laws.normal_law import NormalLaw
from scorebars.moments.confusion_moments import (
    ConfusionMetric,
    ConfusionMoments,
    DeltaMoments,
    confusion_of_probabilities,
    delta_moments,
)

_MOST_OUTCOMES = 1 << 13
_DRAWS = 4000
_MOST_CHANGES = 3_000_000  # of labels in all draws; beyond, the cells of the matrix are normal
_FEW_ROWS = 1000  # rows times classes for which each row is drawn by itself
_NEARLY_LINEAR = 0.02  # curvature / std below which the delta method serves


class UncertainConfusion:
    """The confusion matrix of uncertain labels against fixed predictions, as a random matrix.

    Label probabilities `p` (n, K), predicted class indices `pred` (n,), sample weights (n,) or None, and how many alike
    each row stands for, (n,) or None; these numbers need not be whole, but add up to whole ones from row to row.
    """

    def __init__(
        self, p: ArrayLike, pred: ArrayLike, weights: ArrayLike | None = None, counts: ArrayLike | None = None
    ) -> None:
        self._p = np.asarray(p, dtype=float)
        self._pred = np.asarray(pred, dtype=np.intp)
        self._weights = np.ones(self._pred.size) if weights is None else np.asarray(weights, dtype=float)
        self._counts = np.ones(self._pred.size) if counts is None else np.asarray(counts, dtype=float)
        self.moments: ConfusionMoments = confusion_of_probabilities(self._p, self._pred, self._weights, self._counts)

    @classmethod
    def of_counts(cls, shown: ArrayLike, transition: ArrayLike) -> UncertainConfusion:
        """Labels whose probabilities depend on the shown class only.

        `shown[k, l]` counts items of shown class k and prediction l; row k of `transition` holds P(label | shown k).
        """
        number = np.asarray(shown)
        label, column = np.nonzero(number)
        return cls(np.asarray(transition, dtype=float)[label], column, None, number[label, column])

    @property
    def _whole(self) -> NDArray[np.int64]:
        """The counts as whole numbers of the same sum; two nodes of one narrow bin share its labels."""
        return np.diff(np.rint(np.cumsum(self._counts)), prepend=0.0).astype(np.int64)

    @cached_property
    def outcomes(self) -> tuple[FloatArray, FloatArray] | None:
        """All possible matrices (m, K, K) with their probabilities (m,), or None where there are too many."""
        possible = np.sum(self._p > 0, axis=1)
        if float(np.add.reduce(self._counts * np.log(possible))) > math.log(_MOST_OUTCOMES) + 1e-9:
            return None
        certain = possible == 1
        matrices, chances = np.zeros((1, *self.moments.mean.shape)), np.ones(1)
        mass = self._weights * self._counts
        np.add.at(matrices[0], (np.argmax(self._p[certain], axis=1), self._pred[certain]), mass[certain])
        for i in np.repeat(np.flatnonzero(~certain), self._whole[~certain]):
            labels = np.flatnonzero(self._p[i] > 0)
            matrices = np.repeat(matrices, labels.size, axis=0)
            matrices[np.arange(len(matrices)), np.tile(labels, chances.size), self._pred[i]] += self._weights[i]
            chances = (chances[:, None] * self._p[i, labels]).ravel()
        return matrices, chances

    def samples(self, draws: int = _DRAWS, rng: RNG | int | None = 0) -> FloatArray:
        """Draws (draws, K, K) of the matrix."""
        generator = np.random.default_rng(rng)
        alone = bool(np.all(self._counts == 1))
        if not alone and self._p.size <= _FEW_ROWS:
            out = np.zeros((draws, *self.moments.mean.shape))
            for p, column, weight, number in zip(self._p, self._pred, self._weights, self._whole, strict=True):
                out[:, :, column] += weight * generator.multinomial(number, p, size=draws)
            return out
        changes = float(np.add.reduce(self._counts * (1 - np.max(self._p, axis=1))))
        if changes * draws > _MOST_CHANGES:
            directions = self.moments.factor()
            steps = generator.standard_normal((draws, len(directions)))
            return np.maximum(self.moments.mean + np.tensordot(steps, directions, axes=1), 0.0)
        return draw_confusions(self._p, self._pred, self._weights, draws, generator, None if alone else self._whole)

    def moments_of(self, f: ConfusionMetric, undefined: float | None = None) -> MetricMoments:
        """Mean and variance of f(C), f vectorised over (..., K, K).

        Where f is nan it takes the value `undefined`, or with None the moments are conditional on f being defined.
        """
        if self.outcomes is not None:
            return self._listed(f, undefined).moments()
        delta = self._delta(f)
        if delta is not None and _nearly_linear(delta):
            return MetricMoments(delta.mean, delta.var, 1.0, "delta")
        matrices = self.samples()
        simulated = Outcomes.of_draws(np.asarray(f(matrices), dtype=float), undefined)
        if delta is None:
            return simulated.moments()
        return simulated.moments_beside(np.tensordot(matrices - self.moments.mean, delta.gradient, axes=2), delta.var)

    def law_of(self, f: ConfusionMetric, undefined: float | None = None) -> MetricLaw:
        """The distribution of f(C), with `undefined` as in `moments_of`."""
        if self.outcomes is not None:
            return self._listed(f, undefined).law()
        delta = self._delta(f)
        if delta is not None and _nearly_linear(delta):
            return MetricLaw(NormalLaw(delta.mean, math.sqrt(delta.var), method="delta"), 1.0)
        return Outcomes.of_draws(np.asarray(f(self.samples()), dtype=float), undefined).law()

    def _listed(self, f: ConfusionMetric, undefined: float | None) -> Outcomes:
        assert self.outcomes is not None
        matrices, chances = self.outcomes
        return Outcomes(np.asarray(f(matrices), dtype=float), chances, undefined, "exact")

    def _delta(self, f: ConfusionMetric) -> DeltaMoments | None:
        """The delta method's moments, where f has derivatives."""
        delta = delta_moments(f, self.moments)
        finite = all(map(math.isfinite, (delta.value, delta.mean, delta.var, delta.curvature)))
        return delta if finite else None


def _nearly_linear(delta: DeltaMoments) -> bool:
    return delta.curvature <= _NEARLY_LINEAR * math.sqrt(delta.var)
