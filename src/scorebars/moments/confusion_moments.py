"""Mean and covariance of the confusion matrix when labels are uncertain, and the most likely one of true classes.

Rows are labels, columns predictions. The predictions are fixed, so columns are independent, and within column l the
labels of its items add up:

    E C[k, l] = sum_{i: pred_i = l} w_i P_i(k)
    Cov(C[k, l], C[k', l]) = sum_{i: pred_i = l} w_i^2 (1[k = k'] P_i(k) - P_i(k) P_i(k'))

with P_i(k) the probability that label i is class k, and w_i the sample weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.moments.deconvolution import Mixture

ConfusionMetric = Callable[[FloatArray], Any]  # (..., K, K) -> (...)
_STEP = 2e-3


@dataclass(frozen=True)
class ConfusionMoments:
    """Expected confusion matrix (K, K) and the covariance (K, K, K) of each column: [l, k, k']."""

    mean: FloatArray
    columns: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """Covariance of all cells in row-major order, (K^2, K^2); different columns are independent."""
        k = self.mean.shape[0]
        require_room(k, 4)
        full = np.zeros((k, k, k, k))
        full[:, np.arange(k), :, np.arange(k)] = self.columns
        return full.reshape(k * k, k * k)

    def factor(self) -> FloatArray:
        """Directions (m, K, K) whose outer products sum to the covariance: independent unit steps of the cells."""
        k = self.mean.shape[0]
        require_room(k, 4)
        values, vectors = np.linalg.eigh(self.columns)
        steps = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        spread = np.zeros((k, k, k, k))
        for column in range(k):
            spread[column, :, :, column] = steps[column].T
        directions = spread.reshape(k * k, k, k)
        # a column's labels add up to its fixed total, so one direction of each column is null up to rounding
        size = np.sum(directions**2, axis=(1, 2))
        return np.asarray(directions[size > 1e-14 * np.max(size, initial=0.0)])


def require_room(k: int, power: int) -> None:
    """Refuse arrays of k^power numbers for k classes, of which two are needed at a time, where they do not fit."""
    checks.require_memory(
        16 * k**power,
        f"the covariance of a confusion matrix of {k:,} classes",
        "Merge rare classes, or use accuracy_score, whose memory does not grow with the number of classes.",
    )


def confusion_of_probabilities(
    p: FloatArray, pred: Any, weights: ArrayLike | None = None, counts: ArrayLike | None = None
) -> ConfusionMoments:
    """Moments from label probabilities p (n, K), predicted class indices (n,), sample weights (n,) and multiplicities (n,)."""
    n, k = p.shape
    require_room(k, 3)
    w, number = (np.ones(n) if given is None else np.asarray(given, dtype=float) for given in (weights, counts))
    mean, columns = np.zeros((k, k)), np.zeros((k, k, k))
    order = np.argsort(pred, kind="stable")
    edges = np.searchsorted(np.asarray(pred)[order], np.arange(k + 1))
    for column in range(k):
        items = order[edges[column] : edges[column + 1]]
        probabilities, mass, scale = p[items], (number * w)[items], (np.sqrt(number) * w)[items]
        mean[:, column] = mass @ probabilities
        weighted = probabilities * scale[:, None]
        columns[column] = np.diag(scale @ weighted) - weighted.T @ weighted
    return ConfusionMoments(mean, columns)


class DeltaMoments(NamedTuple):
    """Second-order mean and first-order variance of a function of the confusion matrix, and what they rest on."""

    mean: float
    var: float
    value: float
    curvature: float
    gradient: FloatArray


def delta_moments(f: ConfusionMetric, moments: ConfusionMoments) -> DeltaMoments:
    """The delta method for f(C), by central differences of fourth order along the directions of the covariance.

    `value` is f at the expected matrix, `curvature` the sum of |second-order terms|, and `gradient` (K, K) the part of
    the gradient that label errors can reach.
    """
    directions = moments.factor()
    value = float(f(moments.mean[None])[0])
    first, second = np.zeros(len(directions)), np.zeros(len(directions))
    block = max(1, 1_000_000 // moments.mean.size)
    for start in range(0, len(directions), block):
        part = slice(start, start + block)
        step = _steps(moments.mean, directions[part])
        moved = step[:, None, None] * directions[part]
        up, down, far_up, far_down = (f(np.maximum(moments.mean + k * moved, 0.0)) for k in (1, -1, 2, -2))
        first[part] = (8 * (up - down) - (far_up - far_down)) / (12 * step)
        second[part] = (16 * (up - 2 * value + down) - (far_up - 2 * value + far_down)) / (24 * step * step)
    norms = np.sum(directions**2, axis=(1, 2))
    gradient = np.tensordot(first / np.where(norms > 0, norms, 1.0), directions, axes=1)
    return DeltaMoments(
        value + float(np.add.reduce(second)),
        float(np.add.reduce(first**2)),
        value,
        float(np.add.reduce(np.abs(second))),
        gradient,
    )


def _steps(mean: FloatArray, directions: FloatArray) -> FloatArray:
    """Steps along each direction, in standard deviations: a small part of every cell, on whose scale metrics bend.

    Large matrices are far from bending within a standard deviation, and take steps that stand out from rounding.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(directions != 0, mean / np.abs(directions), np.inf)
    return np.asarray(np.clip(_STEP * np.min(room, axis=(1, 2)), 1e-3, 0.5))


# true classes -----------------------------------------------------------------------------------


def most_likely_confusion(likelihoods: FloatArray, predicted: NDArray[np.intp], weights: FloatArray) -> FloatArray:
    """The matrix (K, K) of true classes and predictions that makes the labels most likely.

    `likelihoods` (n, K) hold P(label of item i | true class k); items of equal prediction and likelihoods may be given
    once, with the sum of their weights. In each column of predicted class l the shares of true classes pi_k maximise
    sum_i w_i log sum_k pi_k L_ik.
    """
    k = likelihoods.shape[1]
    out = np.zeros((k, k))
    for column in np.unique(predicted):
        items = np.flatnonzero((predicted == column) & (weights > 0) & np.any(likelihoods > 0, axis=1))
        total = float(np.add.reduce(weights[predicted == column]))
        if items.size:
            mixture = Mixture(likelihoods[items], weights[items] / float(np.add.reduce(weights[items])))
            out[:, column] = total * mixture.most_likely(mixture.first_weights())
    return out
