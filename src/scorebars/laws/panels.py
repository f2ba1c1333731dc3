"""Adaptive integration of functions that are costly point by point but cheap in batches.

Panels are halved until 16-point Gauss-Legendre on the halves agrees with the whole. All panels of one generation are
evaluated in one call, so that a vectorised integrand pays NumPy's overhead once a generation, not once a panel.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scorebars.laws.base import FloatArray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_GENERATIONS = 40
_MOST_PANELS = 4000


def integrate(f: Callable[[FloatArray], FloatArray], edges: FloatArray, tolerance: FloatArray) -> FloatArray:
    """Integrals from the first to the last edge of the rows of f(x), each to about its absolute tolerance.

    f takes m points and returns (k, m) values. The edges are places where f may bend or jump.
    """
    edges = np.unique(edges)
    low, high = edges[:-1], edges[1:]
    tolerance = np.asarray(tolerance, dtype=float)
    whole = _panels(f, low, high)
    total = np.zeros(tolerance.shape)
    for _ in range(_GENERATIONS):
        if low.size == 0:
            return total
        middle = 0.5 * (low + high)
        left, right = _panels(f, low, middle), _panels(f, middle, high)
        miss = np.abs(left + right - whole)
        # The halves are far better than the whole: what they differ by is a generous bound.
        done = np.all(miss <= tolerance[:, None], axis=0) | (middle <= low) | (middle >= high)
        if low.size > _MOST_PANELS:
            done[:] = True
        total += np.sum((left + right)[:, done], axis=1)
        rest = ~done
        low, high = np.concatenate([low[rest], middle[rest]]), np.concatenate([middle[rest], high[rest]])
        whole = np.concatenate([left[:, rest], right[:, rest]], axis=1)
    return total + np.sum(whole, axis=1)


def _panels(f: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Gauss-Legendre on each panel: (k, panels)."""
    if low.size == 0:
        return np.zeros((1, 0))
    half = 0.5 * (high - low)
    x = (0.5 * (low + high))[:, None] + half[:, None] * _NODES
    values = f(x.ravel())
    return np.asarray(np.add.reduce(values.reshape(values.shape[0], low.size, _NODES.size) * _WEIGHTS, axis=2) * half)


def interpolation_points(low: float, high: float, count: int) -> FloatArray:
    """Chebyshev points of the first kind between low and high."""
    angle = np.pi * (np.arange(count) + 0.5) / count
    return np.asarray(0.5 * (low + high) - 0.5 * (high - low) * np.cos(angle))


def interpolant(low: float, high: float, values: FloatArray) -> np.polynomial.Chebyshev:
    """The polynomial through `values` at the interpolation points."""
    x = np.cos(np.pi * (np.arange(values.size) + 0.5) / values.size)[::-1]
    basis = np.polynomial.chebyshev.chebvander(x, values.size - 1)
    scale = np.full(values.size, 2.0 / values.size)
    scale[0] = 1.0 / values.size
    return np.polynomial.Chebyshev(scale * (basis.T @ values), domain=[low, high])
