"""Metrics of a confusion matrix with K classes, vectorised over leading axes.

Every function takes C of shape (..., K, K), rows labels and columns predictions, counts or sums of weights, and gives
(...). nan marks 0/0 unless `undefined` says what to put there.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scorebars.moments.binary_metrics import ratio

FloatArray = NDArray[np.float64]
Average = Literal["macro", "micro", "weighted"]


def hits(c: FloatArray) -> FloatArray:
    """The diagonal: correct predictions of each class."""
    return np.diagonal(c, axis1=-2, axis2=-1)


def accuracy(c: FloatArray) -> Any:
    """Share of correct predictions."""
    return ratio(np.sum(hits(c), axis=-1), np.sum(c, axis=(-2, -1)))


def precision_per_class(c: FloatArray) -> Any:
    """Correct / predicted, (..., K)."""
    return ratio(hits(c), np.sum(c, axis=-2))


def recall_per_class(c: FloatArray) -> Any:
    """Correct / labelled, (..., K)."""
    return ratio(hits(c), np.sum(c, axis=-1))


def f_beta_per_class(c: FloatArray, beta: float = 1.0) -> Any:
    """(1 + beta^2) correct / (predicted + beta^2 labelled), (..., K)."""
    if math.isinf(beta):
        return recall_per_class(c)
    b2 = beta * beta
    return ratio((1 + b2) * hits(c), np.sum(c, axis=-2) + b2 * np.sum(c, axis=-1))


def jaccard_per_class(c: FloatArray) -> Any:
    """Correct / (predicted or labelled), (..., K)."""
    return ratio(hits(c), np.sum(c, axis=-2) + np.sum(c, axis=-1) - hits(c))


def specificity_per_class(c: FloatArray) -> Any:
    """Of the items of all other classes, the share not predicted as this one, (..., K)."""
    others = np.sum(c, axis=(-2, -1))[..., None] - np.sum(c, axis=-1)
    return ratio(others - (np.sum(c, axis=-2) - hits(c)), others)


def averaged(per_class: FloatArray, c: FloatArray, average: Average, undefined: float = 0.0) -> Any:
    """Mean over classes ("macro"), or weighted by the labels of each class ("weighted").

    Undefined classes count as `undefined`; with nan they are left out, and the result is nan if none is left.
    """
    values = np.where(np.isnan(per_class), undefined, per_class)
    weight = np.ones(values.shape) if average == "macro" else np.sum(c, axis=-1)
    weight = np.where(np.isnan(values), 0.0, weight)
    return ratio(np.sum(weight * np.nan_to_num(values), axis=-1), np.sum(weight, axis=-1))


def pooled(c: FloatArray) -> FloatArray:
    """The binary matrix of all one-against-rest decisions together ("micro"): [[tn, fp], [fn, tp]]."""
    tp = np.sum(hits(c), axis=-1)
    wrong = np.sum(c, axis=(-2, -1)) - tp
    tn = (c.shape[-1] - 2) * wrong + (c.shape[-1] - 1) * tp
    return np.stack([np.stack([tn, wrong], axis=-1), np.stack([wrong, tp], axis=-1)], axis=-2)


def balanced_accuracy(c: FloatArray, adjusted: bool = False) -> Any:
    """Mean recall of the classes that are present; adjusted: rescaled so that chance is 0."""
    recall = recall_per_class(c)
    present = np.sum(~np.isnan(recall), axis=-1)
    mean = ratio(np.nansum(recall, axis=-1), present)
    if not adjusted:
        return mean
    chance = ratio(1.0, present)
    return ratio(mean - chance, 1 - chance)


def cohen_kappa(c: FloatArray, weights: Literal["linear", "quadratic"] | None = None) -> Any:
    """1 - (disagreement) / (disagreement by chance); not defined when chance leaves no disagreement."""
    k = c.shape[-1]
    distance = np.abs(np.arange(k)[:, None] - np.arange(k)[None, :]).astype(float)
    cost = (distance > 0) * 1.0 if weights is None else distance if weights == "linear" else distance**2
    labelled, predicted = np.sum(c, axis=-1), np.sum(c, axis=-2)
    total = np.sum(c, axis=(-2, -1))
    chance = np.einsum("...k,kl,...l->...", labelled, cost, predicted)
    return 1 - ratio(np.sum(cost * c, axis=(-2, -1)) * total, chance)


def matthews(c: FloatArray) -> Any:
    """Correlation of labels and predictions, 0 when either is constant (as scikit-learn has it)."""
    labelled, predicted = np.sum(c, axis=-1), np.sum(c, axis=-2)
    total = np.sum(c, axis=(-2, -1))
    covariance = np.sum(hits(c), axis=-1) * total - np.sum(labelled * predicted, axis=-1)
    # sums over pairs of different classes: exactly 0 when one class has it all, without a difference of squares
    different = 1.0 - np.eye(c.shape[-1])
    scale = np.sqrt(np.sum(labelled @ different * labelled, axis=-1))
    scale = scale * np.sqrt(np.sum(predicted @ different * predicted, axis=-1))
    return np.clip(np.nan_to_num(ratio(covariance, scale)), -1.0, 1.0)
