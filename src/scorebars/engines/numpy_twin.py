"""The NumPy twin of _kernel.c: the same numbers from the same chunk, where no compiled kernel is at hand.

Blocks stay in the cache and each thread keeps its work space, because fresh temporaries cost page faults. No
BLAS is called, because its threads would wake and spin.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from scorebars import special
from scorebars.engines.chunks import exact_sum
from scorebars.engines.coefficients import FOLD_END, TAIL_END
from scorebars.engines.names import LARGEST, SMALLEST, SUMS

FloatArray = NDArray[np.float64]

_BLOCK = 8192
_SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)  # stands in for sigma = 0 in a division


def chunk_sums(
    y: Any, p: Any, sigma: Any, weight: Any, tolerance: float | None, reference: float | None
) -> tuple[float, ...]:
    """The numbers in the order of `names.NAMES`; those that need a missing tolerance or reference are 0."""
    with np.errstate(all="ignore"):
        blocks = [
            _block(_part(y, i), _part(p, i), _part(sigma, i), _part(weight, i), tolerance, reference)
            for i in range(0, len(y), _BLOCK)
        ]
    sums = tuple(exact_sum(block.get(name, 0.0) for block in blocks) for name in SUMS)
    largest = tuple(max(block.get(name, 0.0) for block in blocks) for name in LARGEST)
    return sums + largest + tuple(min(block[name] for block in blocks) for name in SMALLEST)


def _part(column: Any, start: int) -> FloatArray | None:
    if column is None:
        return None
    return np.asarray(column[start : start + _BLOCK] if np.ndim(column) else column, dtype=np.float64)


def _block(
    y: Any, p: Any, s: Any, weight: FloatArray | None, tolerance: float | None, reference: float | None
) -> dict[str, float]:
    d = p - y
    s = np.broadcast_to(s, d.shape)
    found = _plain_errors(d, s) if weight is None else _weighted_errors(d, s, weight)
    w = np.ones(()) if weight is None else weight
    if tolerance is not None:
        found |= _within(np.abs(d), s, w, tolerance)
    if reference is not None:
        found |= _labels(y - reference, d, s, w)
    return found


class _Space(threading.local):
    """Room for the arrays of one block, for each thread its own."""

    def __init__(self) -> None:
        self.rows = np.empty((8, _BLOCK))

    def of(self, length: int) -> FloatArray:
        return self.rows[:, :length]


_space = _Space()


def _sum(values: FloatArray) -> float:
    return float(np.add.reduce(values))


def _product_sum(a: FloatArray, b: FloatArray, room: FloatArray) -> float:
    return float(np.add.reduce(np.multiply(a, b, out=room)))


def _squares(d: FloatArray, s: FloatArray, room: FloatArray) -> tuple[FloatArray, ...]:
    """|d|, d^2, s^2, s g(z) and what folding takes from the variance, s g (2 |d| + s g)."""
    a, sq, var, fold, lost, z = room[:6]
    np.abs(d, out=a)
    np.multiply(d, d, out=sq)
    np.multiply(s, s, out=var)
    np.divide(a, np.add(s, _SMALLEST_NORMAL, out=z), out=z)
    np.multiply(s, special.g(np.minimum(z, FOLD_END, out=fold)), out=fold)
    fold[z >= FOLD_END] = 0.0
    np.add(a, a, out=lost)
    np.add(lost, fold, out=lost)
    np.multiply(lost, fold, out=lost)
    return a, sq, var, fold, lost


def _plain_errors(d: FloatArray, s: FloatArray) -> dict[str, float]:
    """All labels count alike: the sums with w^2 equal those with w."""
    room = _space.of(len(d))
    a, sq, var, fold, lost = _squares(d, s, room)
    product = room[5]
    sum_d, sum_abs, sum_sq, sum_var, sum_fold = _sum(d), _sum(a), _sum(sq), _sum(var), _sum(fold)
    return {
        "w": float(len(d)),
        "w2": float(len(d)),
        "d": sum_d,
        "abs": sum_abs,
        "sq": sum_sq,
        "var": sum_var,
        "fold": sum_fold,
        "d_w2": sum_d,
        "sq_w2": sum_sq,
        "fourth_w2": _product_sum(sq, sq, product),
        "expabs_w2": sum_abs + sum_fold,
        "var_w2": sum_var,
        "var2_w2": _product_sum(var, var, product),
        "sqvar_w2": _product_sum(sq, var, product),
        "foldvar_w2": sum_var - _sum(lost),
        "max_abs_d": float(a.max()),
        "max_sigma": float(s.max()),
        "max_weight": 1.0,
        "min_sigma": float(s.min()),
        "min_weight": 1.0,
    }


def _weighted_errors(d: FloatArray, s: FloatArray, w: FloatArray) -> dict[str, float]:
    room = _space.of(len(d))
    a, sq, var, fold, lost = _squares(d, s, room)
    product, w2, w2_part = room[5:]
    np.multiply(w, w, out=w2)
    found = {
        "w": _sum(w),
        "w2": _sum(w2),
        "d": _product_sum(w, d, product),
        "abs": _product_sum(w, a, product),
        "sq": _product_sum(w, sq, product),
        "var": _product_sum(w, var, product),
        "fold": _product_sum(w, fold, product),
        "d_w2": _product_sum(w2, d, product),
        "expabs_w2": _product_sum(w2, np.add(a, fold, out=w2_part), product),
        "max_abs_d": float(np.multiply(a, w > 0, out=product).max()),
        "max_sigma": float(np.multiply(s, w > 0, out=product).max()),
        "max_weight": float(w.max()),
        "min_sigma": float(s.min()),
        "min_weight": float(w.min()),
    }
    w2_sq = np.multiply(w2, sq, out=w2_part)
    found |= {
        "sq_w2": _sum(w2_sq),
        "fourth_w2": _product_sum(w2_sq, sq, product),
        "sqvar_w2": _product_sum(w2_sq, var, product),
    }
    w2_var = np.multiply(w2, var, out=w2_part)
    return found | {
        "var_w2": _sum(w2_var),
        "var2_w2": _product_sum(w2_var, var, product),
        "foldvar_w2": _sum(w2_var) - _product_sum(w2, lost, product),
    }


def _within(a: FloatArray, s: FloatArray, w: FloatArray, tolerance: float) -> dict[str, float]:
    inside = a <= tolerance
    divisor = s + _SMALLEST_NORMAL
    z_near = np.abs(tolerance - a) / divisor
    near, far = ndtr(-z_near), ndtr(-(tolerance + a) / divisor)
    # P(the label ends up on the other side of the edge); an exact one stays, even on the edge
    moves = np.where((s > 0) & (z_near < TAIL_END), np.where(inside, near + far, near - far), 0.0)
    return {
        "within": _sum(np.where(inside, w, 0.0)),
        "within_p": _sum(w * np.where(inside, 1.0 - moves, moves)),
        "within_var_w2": _sum(w * w * moves * (1.0 - moves)),
    }


def _labels(c: FloatArray, d: FloatArray, s: FloatArray, w: FloatArray) -> dict[str, float]:
    w2_var = w * w * s * s
    return {
        "y1": _sum(w * c),
        "y2": _sum(w * c * c),
        "d_var_w2": _sum(w2_var * d),
        "y_var_w2": _sum(w2_var * c),
        "y2_var_w2": _sum(w2_var * c * c),
        "y_d_var_w2": _sum(w2_var * c * d),
        "max_abs_y": float(np.where(w > 0, np.abs(c), 0.0).max()),
    }
