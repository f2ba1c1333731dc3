"""Laws of K-class metrics (and of weighted binary ones) when labels are uncertain.

Few uncertain labels: every outcome is listed (exact). Nearly linear metrics, which means many labels: the delta method,
second order for the mean and first order for the variance. In between: simulation, with the linear part of the metric
taken out and put back exactly, so that only what the delta method misses carries simulation noise.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars.laws.base import RNG, FloatArray
from scorebars.laws.label_draws import MOST_EVENTS, draws_of_counts, draws_of_items, draws_of_moments
from scorebars.laws.normal import NormalLaw
from scorebars.laws.outcomes import MetricLaw, MetricMoments, Outcomes
from scorebars.moments.confusion import (
    ConfusionMetric,
    ConfusionMoments,
    DeltaMoments,
    confusion_of_counts,
    confusion_of_probabilities,
    delta_moments,
)

MOST_OUTCOMES = 1 << 13
DRAWS = 4000
NEARLY_LINEAR = 0.02  # curvature / std below which the delta method serves


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

    @property
    def _whole(self) -> NDArray[np.int64]:
        """The counts as whole numbers of the same sum; two nodes of one narrow bin share its labels."""
        return np.diff(np.rint(np.cumsum(self._counts)), prepend=0.0).astype(np.int64)

    @cached_property
    def outcomes(self) -> tuple[FloatArray, FloatArray] | None:
        """All possible matrices (m, K, K) with their probabilities (m,), or None where there are too many."""
        possible = np.sum(self._p > 0, axis=1)
        if float(np.add.reduce(self._counts * np.log(possible))) > math.log(MOST_OUTCOMES) + 1e-9:
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

    def samples(self, draws: int = DRAWS, rng: RNG | int | None = 0) -> FloatArray:
        """Draws (draws, K, K) of the matrix; with very many uncertain labels from the normal law of its cells."""
        generator = np.random.default_rng(rng)
        changes = float(np.add.reduce(self._counts * (1 - np.max(self._p, axis=1))))
        if changes * draws > MOST_EVENTS:
            return draws_of_moments(self.moments, draws, generator)
        if np.all(self._counts == 1):
            return draws_of_items(self._p, self._pred, self._weights, draws, generator)
        return draws_of_items(self._p, self._pred, self._weights, draws, generator, self._whole)

    def moments_of(
        self, f: ConfusionMetric, undefined: float | None = None, draws: int = DRAWS, rng: RNG | int | None = 0
    ) -> MetricMoments:
        """Mean and variance of f(C), f vectorised over (..., K, K).

        Where f is nan it takes the value `undefined`, or with None the moments are conditional on f being defined.
        """
        exact = self._listed(f, undefined)
        if exact is not None:
            return exact.moments()
        delta = self._nearly_linear(f)
        if isinstance(delta, DeltaMoments):
            return MetricMoments(delta.mean, delta.var, 1.0, "delta")
        matrices = self.samples(draws, rng)
        simulated = Outcomes.of_draws(np.asarray(f(matrices), dtype=float), undefined)
        plain = simulated.moments()
        if delta is None or plain.p_defined < 1:
            return plain
        gradient, linear_var = delta
        linear = np.tensordot(matrices - self.moments.mean, gradient, axes=2)
        rest = simulated.values - linear
        var = linear_var + plain.var - float(np.var(linear))
        error = float(np.std(rest)) / math.sqrt(draws)
        return MetricMoments(float(np.mean(rest)), var if var > 0 else plain.var, 1.0, "simulation", error)

    def _listed(self, f: ConfusionMetric, undefined: float | None) -> Outcomes | None:
        if self.outcomes is None:
            return None
        matrices, chances = self.outcomes
        return Outcomes(np.asarray(f(matrices), dtype=float), chances, undefined, "exact")

    def _nearly_linear(self, f: ConfusionMetric) -> DeltaMoments | tuple[FloatArray, float] | None:
        """The delta method where it serves; else gradient and linear variance, where f has them."""
        delta = delta_moments(f, self.moments)
        if not all(map(math.isfinite, (delta.value, delta.mean, delta.var, delta.curvature))):
            return None
        if delta.curvature <= NEARLY_LINEAR * math.sqrt(delta.var):
            return delta
        return delta.gradient, delta.var

    def law_of(
        self, f: ConfusionMetric, undefined: float | None = None, draws: int = DRAWS, rng: RNG | int | None = 0
    ) -> MetricLaw:
        """The law of f(C), with `undefined` as in `moments_of`."""
        exact = self._listed(f, undefined)
        if exact is not None:
            return exact.law()
        delta = self._nearly_linear(f)
        if isinstance(delta, DeltaMoments):
            return MetricLaw(NormalLaw(delta.mean, math.sqrt(delta.var), method="delta"), 1.0)
        return Outcomes.of_draws(np.asarray(f(self.samples(draws, rng)), dtype=float), undefined).law()


class ClasswiseConfusion(UncertainConfusion):
    """The same where a label's probabilities depend on the shown label only.

    `shown[k, l]` counts items of shown class k and prediction l; row k of `transition` holds P(label | shown k).
    """

    def __init__(self, shown: ArrayLike, transition: ArrayLike) -> None:
        self._shown = np.asarray(shown, dtype=np.int64)
        self._transition = np.asarray(transition, dtype=float)
        self.moments = confusion_of_counts(self._shown, self._transition)

    @cached_property
    def outcomes(self) -> tuple[FloatArray, FloatArray] | None:
        """All possible matrices with their probabilities, or None where there are too many."""
        possible = np.sum(self._transition > 0, axis=1)
        if float(np.sum(np.log(possible) @ self._shown)) > math.log(MOST_OUTCOMES) + 1e-9:
            return None
        label, column = np.nonzero(self._shown * (possible > 1)[:, None])
        number = self._shown[label, column]
        open_items = UncertainConfusion(
            np.repeat(self._transition[label], number, axis=0), np.repeat(column, number)
        ).outcomes
        if open_items is None:
            return None
        certain = self._transition.T @ (self._shown * (possible == 1)[:, None])
        return open_items[0] + certain, open_items[1]

    def samples(self, draws: int = DRAWS, rng: RNG | int | None = 0) -> FloatArray:
        """Draws (draws, K, K) of the matrix, at a cost that does not depend on the number of labels."""
        return draws_of_counts(self._shown, self._transition, draws, np.random.default_rng(rng))
