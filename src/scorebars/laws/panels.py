"""Adaptive integration of functions that are costly point by point but cheap in batches.

Panels are halved until Gauss-Legendre on the halves agrees with the whole. All panels of one generation are evaluated
in one call, so that a vectorised integrand pays NumPy's overhead once a generation, not once a panel.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scorebars.laws.base import FloatArray

_MANY_PANELS = 12  # from so many edges on each panel gets fewer nodes
_GENERATIONS = 40
_MOST_PANELS = 2000

Integrand = Callable[[FloatArray], FloatArray]
Rule = tuple[FloatArray, FloatArray]


def integrate(f: Integrand, edges: FloatArray, tolerance: FloatArray, narrowest: float = 1e-12) -> FloatArray:
    """Integrals from the first to the last edge of the rows of f(x), each to about its absolute tolerance.

    f takes m points and returns (k, m) values. The edges are places where f may bend or jump. Panels narrower than
    `narrowest` of the whole are not halved any more: they hold a jump that is not among the edges.
    """
    edges = np.unique(edges)
    low, high = edges[:-1], edges[1:]
    limit = narrowest * float(edges[-1] - edges[0])
    rule: Rule = np.polynomial.legendre.leggauss(16 if low.size < _MANY_PANELS else 7)
    tolerance = np.asarray(tolerance, dtype=float)
    total = np.zeros(tolerance.shape)
    if low.size == 0:
        return total
    whole = _panels(f, low, high, rule)
    for _ in range(_GENERATIONS):
        middle = 0.5 * (low + high)
        left, right = _panels(f, low, middle, rule), _panels(f, middle, high, rule)
        # the halves are far better than the whole: what they differ by is a generous bound
        done = np.all(np.abs(left + right - whole) <= tolerance[:, None], axis=0) | (high - low <= limit)
        if low.size > _MOST_PANELS:
            done[:] = True
        total += np.sum((left + right)[:, done], axis=1)
        rest = ~done
        if not np.any(rest):
            return total
        low, high = np.concatenate([low[rest], middle[rest]]), np.concatenate([middle[rest], high[rest]])
        whole = np.concatenate([left[:, rest], right[:, rest]], axis=1)
    return np.asarray(total + np.sum(whole, axis=1))


def _panels(f: Integrand, low: FloatArray, high: FloatArray, rule: Rule) -> FloatArray:
    """Gauss-Legendre on each panel: (k, panels)."""
    nodes, weights = rule
    half = 0.5 * (high - low)
    x = (0.5 * (low + high))[:, None] + half[:, None] * nodes
    values = f(x.ravel())
    return np.asarray(np.add.reduce(values.reshape(values.shape[0], low.size, nodes.size) * weights, axis=2) * half)


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
