"""Normal probabilities of many numbers: compiled, ten times as fast as SciPy's, or SciPy's."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from scorebars.arrays import FloatArray
from scorebars.engines.engine import score_loops

_FEW = 64


def normal_below(x: FloatArray) -> FloatArray:
    """P(Z <= x) of a standard normal Z for each x, none of which is NaN; below 1e-148 it may be 0.

    >>> normal_below(np.array([-1.0, 0.0, 1.0])).round(4).tolist()
    [0.1587, 0.5, 0.8413]
    """
    loops = score_loops() if x.size > _FEW else None
    if loops is None:
        return np.asarray(ndtr(x))
    x = np.ascontiguousarray(x, dtype=np.float64)
    found = np.empty(x.shape)
    loops.normal_below(x.size, x.reshape(-1), found.reshape(-1))
    return found
