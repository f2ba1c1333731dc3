"""Many labels as a few hundred nodes.

The law of a quadratic form needs only sums over labels of smooth functions of one variable, the variance v
of the label: sum_i c_i f(v_i) for a few columns c (how many labels, their squared offsets, ...), with
f(v) = log(1 - 2 t v), 1 / (1 - 2 t v) and their derivatives. Such sums are kept to rounding if

- the largest variances are kept one by one: by the time the variable t is so large that 2 t v reaches 1
  for all of them, the integrand has fallen below rounding, so that f is tame for all the rest;
- the rest is interpolated in v at Chebyshev points, octave by octave below the smallest variance kept, and
  further down, where f is nearly a straight line, eight octaves at a time.

Interpolation makes the sums of v^k exact for k below the number of points, hence all low cumulants too. Bins
that end above zero keep the relative accuracy of sums such as sum b^2 v, small v with large b included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from scorebars.arrays import FloatArray

Block = Callable[[slice], tuple[FloatArray, FloatArray]]
"""Gives the variances (m,) of some labels, and their columns (c, m)."""

BLOCK = 1 << 15  # labels a block: small enough for the cache
EXACT = 256  # so many labels are kept as they are
DEPTH = -140.0
"""Logarithm of the lower tail down to which compressed labels are good."""

_LARGEST = 64  # how many of the largest variances stay apart when there are more
_POINTS = 12
# lower ends of the bins, as powers of two of the smallest variance kept; the last bin reaches down to 0
_EXPONENTS = np.array([1, 2, 3, 4, 5, 6, 7, 15, 23, 31, 39, 47, 55, 63, 1100])
_EDGES = np.append(1.0, np.ldexp(1.0, -_EXPONENTS))
_BIN_OF_EXPONENT = np.searchsorted(_EXPONENTS, np.arange(1101))

_GRID = np.cos(np.pi * (np.arange(_POINTS) + 0.5) / _POINTS)
# row: Chebyshev polynomial, column: point; turns sums of T_k into weights of the points
_TO_WEIGHTS = np.cos(np.outer(np.arange(_POINTS), np.arccos(_GRID))) * (2.0 / _POINTS)
_TO_WEIGHTS[0] *= 0.5


def merge_equal(v: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """One node for each distinct variance, with the columns (c, m) of its labels added up."""
    nodes, index = np.unique(v, return_inverse=True)
    return nodes, np.stack([np.bincount(index, weights=column, minlength=nodes.size) for column in columns])


def compress(n: int, block: Block) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes (k,) and columns (c, k) with sum_i c_i f(v_i) = sum_k c_k f(v_k) for the functions f of these distributions,
    summed over labels of variance v > 0; and the sums (c,) of the columns over labels of variance 0.

    Two passes over the n labels, memory independent of their number.
    """
    largest, least, number, certain = np.empty(0), np.inf, 0, np.zeros(0)
    for v, columns in _blocks(n, block):
        exact = v == 0
        certain = certain + columns[:, exact].sum(axis=1) if certain.size else columns[:, exact].sum(axis=1)
        v = v[~exact] if exact.any() else v
        number += v.size
        least = min(least, float(v.min(initial=np.inf)))
        candidates = np.concatenate([largest, v])
        keep = min(_LARGEST, candidates.size)
        largest = np.partition(candidates, candidates.size - keep)[candidates.size - keep :] if keep else candidates
    parts = ((v[v > 0], columns[:, v > 0]) for v, columns in _blocks(n, block))
    if number <= EXACT or least == largest.max():
        merged = [merge_equal(v, columns) for v, columns in parts]
        return *merge_equal(
            np.concatenate([v for v, _ in merged]), np.concatenate([c for _, c in merged], axis=1)
        ), certain
    return *_interpolate(parts, float(largest.min()), certain.size), certain


def compress_nodes(v: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same for nodes v > 0 (m,) with columns (c, m) that are too many."""
    return compress(v.size, lambda part: (v[part], columns[:, part]))[:2]


def _blocks(n: int, block: Block) -> Iterator[tuple[FloatArray, FloatArray]]:
    return (block(slice(start, min(start + BLOCK, n))) for start in range(0, n, BLOCK))


def _interpolate(
    parts: Iterator[tuple[FloatArray, FloatArray]], top: float, rows: int
) -> tuple[FloatArray, FloatArray]:
    """Variances above `top` as they are, those below it at Chebyshev points in each bin."""
    bins = _EXPONENTS.size
    kept_v: list[FloatArray] = []
    kept_columns: list[FloatArray] = []
    sums = np.zeros((rows, _POINTS, bins))
    for v, columns in parts:
        apart = v > top
        if apart.any():
            kept_v.append(v[apart])
            kept_columns.append(columns[:, apart])
            v, columns = v[~apart], columns[:, ~apart]
        index, u = _locate(v / top)
        before, present = np.ones_like(u), u
        for k in range(_POINTS):
            polynomial = before
            before, present = present, 2.0 * u * present - before
            for j, column in enumerate(columns):
                sums[j, k] += np.bincount(index, weights=polynomial * column, minlength=bins)
    weights = np.einsum("jkb,kp->jbp", sums, _TO_WEIGHTS).reshape(rows, -1)
    nodes = _positions().ravel() * top
    used = np.any(weights != 0, axis=0)
    return merge_equal(
        np.concatenate([*kept_v, nodes[used]]), np.concatenate([*kept_columns, weights[:, used]], axis=1)
    )


def _locate(ratio: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Bin and position in it from -1 to 1 of each variance, given as a share of the smallest one kept."""
    _, exponent = np.frexp(ratio)
    index = _BIN_OF_EXPONENT[np.clip(1 - exponent, 1, 1100)]
    index[ratio == 0] = _EXPONENTS.size - 1
    upper, lower = _EDGES[index], _EDGES[index + 1]
    return index, (2.0 * ratio - upper - lower) / (upper - lower)


def _positions() -> FloatArray:
    """Where the Chebyshev points of each bin lie, in the same shares: (bins, points)."""
    upper, lower = _EDGES[:-1, None], _EDGES[1:, None]
    out: FloatArray = 0.5 * (upper + lower) + 0.5 * (upper - lower) * _GRID
    return out
