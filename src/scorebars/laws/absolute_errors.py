"""Distribution functions of single absolute errors |delta + sigma Z|, many labels at once.

    p(x) = P(|delta + sigma Z| <= x) = Phi((x - |delta|)/sigma) - Phi((-x - |delta|)/sigma)

Order statistics of absolute errors (the largest, the median) are made of these. Exact labels (sigma = 0) step at |delta|.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from scorebars.laws.base import FloatArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_CHUNK = 1 << 16


def above(x: FloatArray, size: FloatArray, sigma: FloatArray) -> FloatArray:
    """P(|delta + sigma Z| > x) with full relative accuracy, for x >= 0, size = |delta| and sigma > 0 (broadcast)."""
    return np.asarray(ndtr((size - x) / sigma) + ndtr((-size - x) / sigma))


def below(x: FloatArray, size: FloatArray, sigma: FloatArray) -> FloatArray:
    """P(|delta + sigma Z| <= x) with full relative accuracy, for x >= 0."""
    z, centre = np.broadcast_arrays(x / sigma, size / sigma)
    difference = ndtr(z - centre) - ndtr(-z - centre)
    with np.errstate(over="ignore"):
        narrow = z * (1.0 + centre) < 0.5
    if not np.any(narrow):
        return np.asarray(difference)
    half, middle = z[narrow], np.minimum(centre[narrow], 1e100)
    # the interval is narrower than the density is steep: integrate the density
    arguments = middle[:, None] + half[:, None] * _NODES
    with np.errstate(under="ignore"):
        density = np.exp(-0.5 * np.minimum(arguments * arguments, 2000.0))
    out = np.array(difference)
    out[narrow] = half * np.add.reduce(density * _WEIGHTS, axis=1) / math.sqrt(2.0 * math.pi)
    return out


def density(x: FloatArray, size: FloatArray, sigma: FloatArray) -> FloatArray:
    """Density of |delta + sigma Z| at x >= 0."""
    with np.errstate(under="ignore"):
        both = np.exp(-0.5 * np.square(np.minimum(np.abs(x - size) / sigma, 60.0))) + np.exp(
            -0.5 * np.square(np.minimum((x + size) / sigma, 60.0))
        )
    return np.asarray(both / (sigma * math.sqrt(2.0 * math.pi)))


def log_below(x: FloatArray, size: FloatArray, sigma: FloatArray) -> FloatArray:
    """Sum over labels of log P(|delta + sigma Z| <= x) for each x > 0, in blocks."""
    out = np.empty(x.size)
    rows = max(1, _CHUNK // size.size)
    for start in range(0, x.size, rows):
        block = x[start : start + rows, None]
        total = np.zeros(block.shape[0])
        for first in range(0, size.size, _CHUNK):
            s, d = sigma[first : first + _CHUNK], size[first : first + _CHUNK]
            tail = above(block, d, s)
            with np.errstate(divide="ignore"):
                log = np.log1p(-np.minimum(tail, 1.0))
                small = tail > 0.5
                if np.any(small):
                    log[small] = np.log(below(*(np.broadcast_to(a, tail.shape)[small] for a in (block, d, s))))
            total += np.add.reduce(log, axis=1)
        out[start : start + rows] = total
    return out
