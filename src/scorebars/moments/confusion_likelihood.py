"""The most likely confusion matrix of true classes, with no cell below zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scorebars.arrays import FloatArray

_WORK = 300_000_000


def most_likely_confusion(
    likelihoods: FloatArray, predicted: NDArray[np.intp], weights: FloatArray, sweeps: int = 2000
) -> FloatArray:
    """The matrix (K, K) of true classes and predictions that makes the labels most likely, by expectation maximisation.

    `likelihoods` (n, K) hold P(label of item i | true class k); items of equal prediction and likelihoods may be given
    once, with the sum of their weights. In each column of predicted class l the shares of true classes pi_k maximise
    sum_i w_i log sum_k pi_k L_ik: pi_k <- mean_i w_i pi_k L_ik / sum_j pi_j L_ij.
    """
    k = likelihoods.shape[1]
    sweeps = min(sweeps, max(50, _WORK // max(likelihoods.size, 1)))
    out = np.zeros((k, k))
    for column in np.unique(predicted):
        items = np.flatnonzero((predicted == column) & (weights > 0))
        total = float(np.add.reduce(weights[items]))
        if total > 0:
            out[:, column] = total * _shares(likelihoods[items], weights[items] / total, sweeps)
    return out


def _shares(rows: FloatArray, weight: FloatArray, sweeps: int) -> FloatArray:
    pi = np.full(rows.shape[1], 1.0 / rows.shape[1])
    for _ in range(sweeps):
        evidence = rows @ pi
        new = pi * ((weight / np.where(evidence > 0, evidence, 1.0)) @ rows)
        new = new / np.add.reduce(new)
        if np.max(np.abs(new - pi)) < 1e-13:
            return np.asarray(new)
        pi = new
    return np.asarray(pi)
