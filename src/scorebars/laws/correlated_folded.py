"""The law of a mean absolute error when the errors of the labels are correlated."""

from __future__ import annotations

import numpy as np

from scorebars.laws.base import FloatArray, Law
from scorebars.laws.folded import FoldedNormalMean
from scorebars.laws.mixture import MixtureLaw
from scorebars.laws.normal import NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.moments.folded_covariance import principal_shifts, variance_correlated, variance_shared
from scorebars.special import folded_mean

_DRAWS = 50_000
_SEED = 20240517
_NODES = 41
_MOST_CONDITIONED = 2_000
"""Given the shift the law is one of independent errors; above this many labels, or with more shifts, it is drawn."""


def shared_law(delta: FloatArray, sigma: FloatArray, shared: FloatArray, weight: FloatArray | None = None) -> Law:
    """Law of sum w_i |delta_i + sigma_i Z_i + shared_i' s| / sum w_i with shifts s common to all labels.

    One shift: a mixture over its value of laws with independent errors. More: drawn, with exact mean and variance.
    """
    shifts = principal_shifts(shared)
    own_errors = bool(np.all(sigma > 0))
    if len(shifts) == 0:
        return FoldedNormalMean(delta, sigma, weight)
    if len(shifts) == 1 and own_errors and delta.size <= _MOST_CONDITIONED:
        nodes, node_weights = np.polynomial.hermite_e.hermegauss(_NODES)
        keep = node_weights > 1e-17 * node_weights.sum()
        laws = [FoldedNormalMean(delta + node * shifts[0], sigma, weight) for node in nodes[keep]]
        return MixtureLaw(laws, node_weights[keep] / node_weights[keep].sum(), method="quadrature")
    moments = variance_shared(delta, sigma, shared, weight)
    return _drawn(delta, sigma, shifts.T, weight, moments.mean, moments.variance)


def correlated_law(delta: FloatArray, cov: FloatArray, weight: FloatArray | None = None) -> Law:
    """Law of sum w_i |delta_i + e_i| / sum w_i, e ~ N(0, cov): drawn, with exact mean and variance."""
    values, vectors = np.linalg.eigh(cov)
    mean = float(np.sum(_shares(delta.size, weight) * folded_mean(delta, np.sqrt(np.maximum(np.diagonal(cov), 0.0)))))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return _drawn(delta, np.zeros(delta.size), root, weight, mean, variance_correlated(delta, cov, weight))


def _shares(n: int, weight: FloatArray | None) -> FloatArray:
    return np.full(n, 1.0 / n) if weight is None else weight / weight.sum()


def _drawn(
    delta: FloatArray, sigma: FloatArray, root: FloatArray, weight: FloatArray | None, mean: float, variance: float
) -> Law:
    if variance <= 0:
        return NormalLaw(mean, 0.0)
    a = _shares(delta.size, weight)
    rng = np.random.default_rng(_SEED)
    size = max(1, 2_000_000 // delta.size)
    count = min(_DRAWS, max(4_000, 400_000_000 // (delta.size * (root.shape[1] + 1))))
    draws = np.empty(count)
    for start in range(0, count, size):
        block = draws[start : start + size]
        moved = rng.standard_normal((block.size, root.shape[1])) @ root.T
        if np.any(sigma > 0):
            moved += sigma * rng.standard_normal((block.size, delta.size))
        block[:] = np.abs(delta + moved) @ a
    return SampleLaw(draws, mean=mean, var=variance)
