"""Law of the mean absolute error under normal errors with a full covariance matrix.

No closed law exists. Mean and variance are exact (moments.folded_covariance); the shape comes from draws with a fixed
seed, which are moved and stretched to the exact mean and variance.
"""

from __future__ import annotations

import numpy as np

from scorebars.laws.base import Law
from scorebars.laws.folded import FoldedNormalMean
from scorebars.laws.folded_shared import calibrated
from scorebars.moments.folded_covariance import variance_correlated
from scorebars.special import FloatArray, folded_mean

_DRAWS = 50_000
_FEWEST_DRAWS = 2_000
_WORK = 10_000_000_000  # multiplications
_SEED = 20240519
_CHUNK = 1 << 20


def correlated_law(delta: FloatArray, cov: FloatArray, weight: FloatArray | None = None) -> Law:
    """Law of sum w_i |delta_i + e_i| / sum w_i for e ~ N(0, cov); exact where cov is diagonal."""
    n = delta.size
    sd = np.sqrt(np.diagonal(cov))
    if np.count_nonzero(cov) == np.count_nonzero(sd):
        return FoldedNormalMean(delta, sd, weight)
    share = np.full(n, 1.0 / n) if weight is None else weight / np.sum(weight)
    random = np.flatnonzero((sd > 0) & (share > 0))
    if random.size <= 1:
        return FoldedNormalMean(delta, sd, weight)
    constant = float(np.sum(share * np.abs(delta))) - float(np.sum(share[random] * np.abs(delta[random])))
    root = _root(cov[np.ix_(random, random)])
    rng = np.random.default_rng(_SEED)
    count = int(np.clip(_WORK // random.size**2, _FEWEST_DRAWS, _DRAWS))
    draws = np.empty(count)
    rows = max(1, _CHUNK // random.size)
    for start in range(0, count, rows):
        block = min(rows, count - start)
        error = rng.standard_normal((block, root.shape[1])) @ root.T
        draws[start : start + block] = np.add.reduce(share[random] * np.abs(delta[random] + error), axis=1)
    mean = float(np.sum(share * folded_mean(delta, sd)))
    return calibrated(constant + draws, mean, variance_correlated(delta, cov, weight))


def _root(cov: FloatArray) -> FloatArray:
    """R with R R' = cov: Cholesky, or by eigenvalues where the matrix is singular."""
    try:
        return np.asarray(np.linalg.cholesky(cov), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(cov)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
