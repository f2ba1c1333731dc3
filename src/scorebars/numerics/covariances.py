"""Square roots of covariance matrices, which may be singular."""

from __future__ import annotations

import numpy as np

from scorebars.arrays import FloatArray


def covariance_root(cov: FloatArray) -> FloatArray:
    """R with R R' = cov, for one matrix or a stack of them: R times standard normal numbers has this covariance."""
    values, vectors = np.linalg.eigh(cov)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])
