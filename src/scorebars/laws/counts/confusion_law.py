"""Distributions of metrics of the confusion matrix when labels are uncertain.

Two classes without weights: with fixed predictions a metric is a function of two independent Poisson-binomial counts, the
positives among the items predicted positive (TP) and negative (FN). It is evaluated on the grid of their values, from
which less than 1e-16 of the mass is cut ("exact"). Millions of labels make that grid too large. There both probability
functions are smooth, and evenly spaced counts integrate them with an error that falls as exp(-2 pi^2 (std/spacing)^2); the
count that moves the metric more keeps the finer spacing ("quadrature").

More classes, or weights: few uncertain labels have every outcome listed ("exact"). Nearly linear metrics, which means many
labels, take the delta method, second order for the mean and first order for the variance. In between: simulation, with
the linear part of the metric taken out and put back exactly, so that only what the delta method misses is noisy.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars.arrays import FloatArray
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.discrete import MetricMoments, Outcomes
from scorebars.laws.law import RNG, Law, NormalLaw
from scorebars.laws.uncertain_labels import few_outcomes, label_changes, list_labels
from scorebars.moments.confusion_moments import (
    ConfusionMetric,
    ConfusionMoments,
    confusion_of_probabilities,
    delta_moments,
)

_CUT = 1e-17  # mass left out at each end of each count
_MOST_CELLS = 400_000  # of the grid of two counts
_COARSE_POINTS = 128  # 7 points per standard deviation: more than a smooth probability function needs
_MOST_OUTCOMES = 1 << 13
_DRAWS = 4000
_MOST_CHANGES = 3_000_000  # of labels in all draws; beyond, the cells of the matrix are normal
_MOST_ITEMS = 2_000_000  # that are drawn one by one
_FEW_ROWS = 1000  # rows times classes for which each row is drawn by itself
_BLOCK = 1_000_000  # changes drawn at a time
_NEARLY_LINEAR = 0.02  # curvature / std below which the delta method serves


class UncertainConfusion:
    """A metric of the confusion matrix of independent labels against fixed predictions.

    Label probabilities `p` (n, K), predicted class indices `pred` (n,), sample weights (n,) or None, and how many alike
    each row stands for, (n,) or None; these numbers need not be whole, but add up to whole ones from row to row. The
    metric takes matrices (..., K, K) and is nan where it is 0/0: there it takes the value `undefined`, or with None those
    labels are conditioned away.
    """

    def __init__(
        self,
        metric: ConfusionMetric,
        p: ArrayLike,
        pred: ArrayLike,
        weights: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        undefined: float | None = None,
    ) -> None:
        self._metric, self._undefined = metric, undefined
        self._p = np.asarray(p, dtype=float)
        self._pred = np.asarray(pred, dtype=np.intp)
        self._weights = None if weights is None else np.asarray(weights, dtype=float)
        self._item_weights = np.broadcast_to(1.0 if self._weights is None else self._weights, self._pred.shape)
        self._counts = None if counts is None else np.asarray(counts, dtype=float)

    def moments(self) -> MetricMoments:
        """Mean and variance."""
        return self._found[1]

    def law(self) -> Law:
        """The distribution."""
        outcomes, (mean, var, *_) = self._found
        return NormalLaw(mean, math.sqrt(var), method="delta") if outcomes is None else outcomes.law()

    @cached_property
    def _found(self) -> tuple[Outcomes | None, MetricMoments]:
        """The values of the metric, None where it is normal, and their moments."""
        listed = self._grid() if self._p.shape[1] == 2 and self._weights is None else self._listed()
        if listed is not None:
            return listed, listed.moments()
        delta = delta_moments(self._metric, self.cells)
        differentiable = all(map(math.isfinite, (delta.value, delta.mean, delta.var, delta.curvature)))
        if differentiable and delta.curvature <= _NEARLY_LINEAR * math.sqrt(delta.var):
            return None, MetricMoments(delta.mean, delta.var, 1.0, "delta")
        matrices = self.samples()
        simulated = Outcomes.of_draws(np.asarray(self._metric(matrices), dtype=float), self._undefined)
        if not differentiable:
            return simulated, simulated.moments()
        linear = np.tensordot(matrices - self.cells.mean, delta.gradient, axes=2)
        return simulated, simulated.moments_beside(linear, delta.var)

    @cached_property
    def cells(self) -> ConfusionMoments:
        """Mean and covariance of the matrix."""
        return confusion_of_probabilities(self._p, self._pred, self._weights, self._counts)

    # outcomes ----------------------------------------------------------------------------------

    def _listed(self) -> Outcomes | None:
        """All possible values with their probabilities; None where there are too many."""
        number, weights, k = self._whole, self._item_weights, self._p.shape[1]
        certain = np.sum(self._p > 0, axis=1) == 1
        items = np.repeat(np.flatnonzero(~certain), number[~certain])
        if not few_outcomes(self._p[items], _MOST_OUTCOMES):
            return None
        labels, chances = list_labels(self._p[items])
        base = np.zeros((k, k))
        np.add.at(base, (np.argmax(self._p[certain], axis=1), self._pred[certain]), (weights * number)[certain])
        matrices = np.repeat(base[None], len(labels), axis=0)
        np.add.at(matrices, (np.arange(len(labels))[:, None], labels, self._pred[items]), weights[items])
        return Outcomes(np.asarray(self._metric(matrices), dtype=float), chances, self._undefined, "exact")

    def _grid(self) -> Outcomes:
        """The values on the grid of the two counts."""
        chosen = self._pred == 1
        laws = [
            PoissonBinomial(self._p[rows, 1], None if self._counts is None else self._counts[rows])
            for rows in (chosen, ~chosen)
        ]
        sizes = float(laws[0].trials), float(laws[1].trials)

        def values(tp: Any, fn: Any) -> FloatArray:
            c = np.empty((*np.broadcast_shapes(np.shape(tp), np.shape(fn)), 2, 2))
            c[..., 0, 0], c[..., 0, 1], c[..., 1, 0], c[..., 1, 1] = sizes[1] - fn, sizes[0] - tp, fn, tp
            return np.asarray(self._metric(c), dtype=float)

        kept = [(law.table.cdf > _CUT) & (law.table.sf + law.table.pmf > _CUT) for law in laws]
        tp, fn = ((law.table.values[here], law.table.pmf[here]) for law, here in zip(laws, kept, strict=True))
        method = "exact"
        if tp[0].size * fn[0].size > _MOST_CELLS:
            method, side = "quadrature", np.array([-1.0, 1.0])
            (mean_tp, std_tp), (mean_fn, std_fn) = ((float(law.mean), float(law.std)) for law in laws)
            ends = values(mean_tp + std_tp * side, mean_fn), values(mean_tp, mean_fn + std_fn * side)
            by_tp, by_fn = (float(np.nan_to_num(abs(found[1] - found[0]))) for found in ends)
            if by_tp >= by_fn:
                fn = coarser(fn, _COARSE_POINTS)
                tp = coarser(tp, _MOST_CELLS // fn[0].size)
            else:
                tp = coarser(tp, _COARSE_POINTS)
                fn = coarser(fn, _MOST_CELLS // tp[0].size)
        found, chances = values(tp[0][:, None], fn[0][None, :]), tp[1][:, None] * fn[1][None, :]
        return Outcomes(found.ravel(), chances.ravel(), self._undefined, method)

    # simulation --------------------------------------------------------------------------------

    @property
    def _whole(self) -> NDArray[np.int64]:
        """The counts as whole numbers of the same sum; two nodes of one narrow bin share its labels."""
        counts = np.ones(self._pred.size) if self._counts is None else self._counts
        return np.diff(np.rint(np.cumsum(counts)), prepend=0.0).astype(np.int64)

    def samples(self, draws: int = _DRAWS, rng: RNG | int | None = 0) -> FloatArray:
        """Draws (draws, K, K) of the matrix."""
        generator, whole = np.random.default_rng(rng), self._whole
        weights = self._item_weights
        if self._counts is not None and self._p.size <= _FEW_ROWS:
            out = np.zeros((draws, *self.cells.mean.shape))
            for p, column, weight, number in zip(self._p, self._pred, weights, whole, strict=True):
                out[:, :, column] += weight * generator.multinomial(number, p, size=draws)
            return out
        changes = float(np.add.reduce(whole * (1 - np.max(self._p, axis=1))))
        if changes * draws > _MOST_CHANGES or np.add.reduce(whole) > _MOST_ITEMS:
            directions = self.cells.factor()
            steps = generator.standard_normal((draws, len(directions)))
            return np.maximum(self.cells.mean + np.tensordot(steps, directions, axes=1), 0.0)
        if self._counts is None:
            return draw_confusions(self._p, self._pred, weights, draws, generator)
        items = np.repeat(np.arange(whole.size), whole)
        return draw_confusions(self._p[items], self._pred[items], weights[items], draws, generator)


def draw_confusions(p: FloatArray, pred: NDArray[np.intp], weights: FloatArray, draws: int, rng: RNG) -> FloatArray:
    """Matrices (draws, K, K) for items with label probabilities p (n, K), predictions and weights of their own.

    Counted from the likeliest labels: only labels that change cost time.
    """
    n, k = p.shape
    likely = np.argmax(p, axis=1)
    others = p.copy()
    others[np.arange(n), likely] = 0.0
    leave = np.sum(others, axis=1)
    base = np.bincount(likely * k + pred, weights, minlength=k * k)
    out = np.broadcast_to(base, (draws, k * k)).copy()
    free = np.flatnonzero(leave > 0)
    leave = leave[free]
    target = np.cumsum(others[free] / leave[:, None], axis=1)
    block = max(1, int(_BLOCK / max(float(np.add.reduce(leave)), 1e-3)))
    for start in range(0, draws if free.size else 0, block):
        item, draw = label_changes(leave, min(block, draws - start), rng)
        new = np.minimum(np.sum(rng.random(item.size)[:, None] >= target[item], axis=1), k - 1)
        changed = free[item]
        column = (start + draw) * (k * k) + pred[changed]
        cells = np.concatenate([column + new * k, column + likely[changed] * k])
        moved = np.concatenate([weights[changed], -weights[changed]])
        out += np.bincount(cells, moved, minlength=out.size).reshape(out.shape)
    return np.maximum(out, 0.0).reshape(draws, k, k)


def coarser(table: tuple[FloatArray, FloatArray], points: int) -> tuple[FloatArray, FloatArray]:
    """At most that many multiples of one number, wherever the ends are cut, their probabilities scaled to a sum of 1."""
    counts, pmf = table
    spacing = -(-counts.size // points)
    kept = slice(int(-counts[0] % spacing), None, spacing)
    return counts[kept], pmf[kept] / np.add.reduce(pmf[kept])
