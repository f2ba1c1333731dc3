"""The sums of one pass by array functions: of NumPy where no kernel was compiled, of torch, JAX and CuPy on a device.

One implementation in terms of the array API standard. All arithmetic is in float64, whatever the arrays hold, and of
arrays on a device only the sums come to the host. (NumPy in blocks that stay in the cache takes 85 ns a label; the kernel
needs 4.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import ndtr

from scorebars.arrays import library_of, to_host
from scorebars.engines.coefficients import FOLD_END, FOLD_ROOT, TAIL_BOTTOM, TAIL_END, TAIL_TOP
from scorebars.engines.sums import NAMES, ORDERS, HigherRows, combine

AnyArray = Any  # of any of the libraries

_CACHED = 1 << 12  # labels of a block for NumPy
_CHUNK = 1 << 22  # labels on a device: 32 MB for each temporary array
_ROWS = 256  # partial sums of a chunk: libraries that sum one number after the other lose digits over long rows
_SMALLEST_NORMAL = 2.2250738585072014e-308  # stands in for sigma = 0 in a division
_PHI = 0.3989422804014327


def numpy_sums(
    y: AnyArray,
    p: AnyArray,
    sigma: AnyArray,
    weight: AnyArray | None,
    tolerance: float | None,
    reference: float | None,
    *higher: float,
) -> tuple[float, ...]:
    """The numbers of NAMES for a chunk of NumPy arrays; those that need a missing tolerance or reference are 0.

    The `higher` sums follow (`HigherRows`: kind, per_unit, per_weight).
    """
    asked = _higher_rows(higher)
    rows = []
    with np.errstate(all="ignore"):
        for start in range(0, len(y), _CACHED):
            part = slice(start, start + _CACHED)
            cut: list[Any] = [c[part] if isinstance(c, np.ndarray) and c.ndim else c for c in (y, p, sigma, weight)]
            block = [None if column is None else np.asarray(column, dtype=np.float64) for column in cut]
            found, more = _numbers(np, tolerance, asked, reference, *block)
            rows.append((*(float(found.get(name, 0.0)) for name in NAMES), *map(float, more)))
    return combine(rows)


def _higher_rows(higher: tuple[float, ...]) -> HigherRows | None:
    return HigherRows(int(higher[0]), *higher[1:]) if higher else None


def array_sums(
    y: AnyArray,
    p: AnyArray,
    sigma: AnyArray,
    weight: AnyArray | None,
    tolerance: float | None = None,
    reference: float | None = None,
    *higher: float,
) -> tuple[float, ...]:
    """The numbers of NAMES for arrays of torch, JAX or CuPy; a `sigma` of no dimension serves all labels."""
    with in_doubles(y):
        xp = namespace(y)
        numbers = _compiled(library_of(y), xp, tolerance, _higher_rows(higher), reference is not None)
        if reference is not None:
            numbers = partial(numbers, xp.asarray(reference, dtype=xp.float64, device=device_of(y)))
        rows = [numbers(*columns) for columns in _chunks(xp, y, p, sigma, weight)]
        return combine([tuple(row) for row in to_host(xp.stack(rows)).tolist()])


def namespace(array: AnyArray) -> Any:
    """The functions of the array's library under the names of the array API standard."""
    try:
        from array_api_compat import array_namespace
    except ImportError as why:
        raise ImportError(
            "scores of torch, JAX and CuPy arrays need array-api-compat: pip install 'scorebars[array-api]'"
        ) from why
    return array_namespace(array)


def device_of(array: AnyArray) -> Any:
    """Where the array lies."""
    if library_of(array) == "torch":
        return array.device
    from array_api_compat import device

    return device(array)


def in_doubles(array: AnyArray) -> AbstractContextManager[Any]:
    """JAX computes in float64 only where that is enabled, as here for one computation. Others need nothing."""
    if library_of(array) != "jax":
        return nullcontext()
    import jax

    return jax.enable_x64(True)


def _chunks(xp: Any, *columns: AnyArray | None) -> Iterator[list[AnyArray | None]]:
    n = columns[0].shape[0]  # type: ignore[union-attr]
    for start in range(0, n, _CHUNK):
        part = slice(start, start + _CHUNK)
        cut = (column if column is None or column.ndim == 0 else column[part] for column in columns)
        yield [None if column is None else xp.astype(column, xp.float64) for column in cut]


@cache
def _compiled(
    library: str | None, xp: Any, tolerance: float | None, higher: HigherRows | None, labels: bool
) -> Callable[..., AnyArray]:
    """JAX forms one program of the whole chunk; the others go operation by operation."""
    numbers = partial(_stacked, xp, tolerance, higher)
    numbers = numbers if labels else partial(numbers, None)
    if library != "jax":
        return numbers
    import jax

    return jax.jit(numbers)


def _stacked(
    xp: Any,
    tolerance: float | None,
    higher: HigherRows | None,
    reference: AnyArray | None,
    *columns: AnyArray | None,
) -> AnyArray:
    """All numbers of one chunk as one array."""
    found, more = _numbers(xp, tolerance, higher, reference, *columns)
    nothing = xp.zeros_like(found["d"])
    return xp.stack([nothing + found.get(name, 0.0) for name in NAMES] + more)


def _numbers(
    xp: Any,
    tolerance: float | None,
    higher: HigherRows | None,
    reference: Any,
    y: AnyArray,
    p: AnyArray,
    s: AnyArray,
    w: AnyArray | None,
) -> tuple[dict[str, Any], list[Any]]:
    """The numbers of one chunk by their names, as far as they are asked for, and the higher sums."""
    d = p - y
    s = xp.broadcast_to(s, d.shape)
    a, sq, var = xp.abs(d), d * d, s * s
    z = a / (s + _SMALLEST_NORMAL)
    near, zero = z < FOLD_END, xp.zeros_like(z)
    fold = xp.where(near, s * _fourth_power(_polynomial(FOLD_ROOT, xp.where(near, z, zero))), zero)
    foldvar = var - fold * (a + a + fold)
    terms = {"d": d, "abs": a, "sq": sq, "var": var, "fold": fold}
    if w is None:  # all labels count alike: the sums with w^2 equal those with w
        found = {name: _sum(xp, term) for name, term in terms.items()}
        found |= {"d_w2": found["d"], "sq_w2": found["sq"], "var_w2": found["var"]}
        found |= {"w": float(d.shape[0]), "w2": float(d.shape[0]), "expabs_w2": found["abs"] + found["fold"]}
        w2, w2_sq, w2_var, counted_d, counted_s = 1.0, sq, var, a, s
        found |= {"foldvar_w2": _sum(xp, foldvar), "max_weight": 1.0, "min_weight": 1.0}
    else:
        w2 = w * w
        w2_sq, w2_var, counted = w2 * sq, w2 * var, w > 0
        found = {"w": _sum(xp, w), **{name: _sum(xp, w * term) for name, term in terms.items()}}
        found |= {"w2": _sum(xp, w2), "d_w2": _sum(xp, w2 * d), "expabs_w2": _sum(xp, w2 * (a + fold))}
        found |= {"sq_w2": _sum(xp, w2_sq), "var_w2": _sum(xp, w2_var), "foldvar_w2": _sum(xp, w2 * foldvar)}
        found |= {"max_weight": xp.max(w), "min_weight": xp.min(w)}
        counted_d, counted_s = xp.where(counted, a, zero), xp.where(counted, s, zero)
    found |= {"fourth_w2": _sum(xp, w2_sq * sq), "var2_w2": _sum(xp, w2_var * var), "sqvar_w2": _sum(xp, w2_sq * var)}
    found |= {"max_abs_d": xp.max(counted_d), "max_sigma": xp.max(counted_s), "min_sigma": xp.min(s)}
    weight = xp.ones_like(d) if w is None else w
    if tolerance is not None:
        inside, moves = _within(xp, a, s, tolerance)
        found |= {
            "within": _sum(xp, xp.where(inside, weight, zero)),
            "within_p": _sum(xp, weight * xp.where(inside, 1.0 - moves, moves)),
            "within_var_w2": _sum(xp, w2 * moves * (1.0 - moves)),
        }
    if reference is not None:
        c = y - reference
        found |= {
            "y1": _sum(xp, weight * c),
            "y2": _sum(xp, weight * c * c),
            "d_var_w2": _sum(xp, w2_var * d),
            "y_var_w2": _sum(xp, w2_var * c),
            "y2_var_w2": _sum(xp, w2_var * c * c),
            "y_d_var_w2": _sum(xp, w2_var * c * d),
            "max_abs_y": xp.max(xp.where(weight > 0, xp.abs(c), zero)),
        }
    if higher is None:
        return found, []
    s, d, a, fold = (x * higher.per_unit for x in (s, d, a, fold))
    if higher.need == "absolute":
        return found, _absolute(xp, weight * higher.per_weight, s, xp.where(near, z, zero), near, fold)
    c = None if higher.need == "squares" else (y - reference) * higher.per_unit
    return found, _quadratic(xp, weight * higher.per_weight, s, d, c)


def _quadratic(xp: Any, w: AnyArray, s: AnyArray, d: AnyArray, c: AnyArray | None) -> list[AnyArray]:
    """The higher sums of squares; with c those of ratios."""
    rows, u = [], w * s * s
    t = u * u * w
    for _ in ORDERS:
        rows += [_sum(xp, t * s * s), _sum(xp, t * d * d)]
        if c is not None:
            td, tc = t * d, t * c
            rows += [_sum(xp, x) for x in (t, td, tc, tc * d, tc * c)]
        t = t * u
    return rows


def _absolute(xp: Any, w: AnyArray, s: AnyArray, z: AnyArray, near: AnyArray, fold: AnyArray) -> list[AnyArray]:
    """The higher sums of absolute errors: f = phi(z), m = z + g the mean of |Z + z|, h = m^2 - z^2."""
    zero, zz = xp.zeros_like(z), z * z
    g = fold / (s + _SMALLEST_NORMAL)
    f = xp.where(near, _PHI * xp.exp(-0.5 * zz), zero)
    m, h = z + g, g * (2.0 * z + g)
    cumulants = (
        2.0 * (m * h - f),
        8.0 * m * f - h * (6.0 * h + 4.0 * zz),
        f * (6.0 - 40.0 * h - 22.0 * zz) + 8.0 * m * h * (3.0 * h + zz),
        m * f * (240.0 * h + 52.0 * zz - 36.0) - h * (120.0 * h * (h + zz) + 16.0 * zz * zz) - 40.0 * f * f,
    )
    size, rows = w * s, []
    power = size * size
    for cumulant in cumulants:
        power = power * size
        rows += [_sum(xp, power), _sum(xp, power * xp.where(near, cumulant, zero))]
    return [*rows, _sum(xp, size)]


def _within(xp: Any, a: AnyArray, s: AnyArray, tolerance: float) -> tuple[AnyArray, AnyArray]:
    """Whether |d| is within the tolerance, and the probability that a fresh label is on the other side of the edge."""
    divisor = s + _SMALLEST_NORMAL
    inside, zero = a <= tolerance, xp.zeros_like(a)

    def tail(z: AnyArray) -> AnyArray:
        if xp is np:
            return ndtr(-z)
        z = xp.where(z < TAIL_END, z, xp.full_like(z, TAIL_END))
        # exp(-z^2/2), with z split so that the large square is exact
        coarse = xp.round(z * 1024.0) / 1024.0
        rest = z - coarse
        gauss = xp.exp(-0.5 * coarse * coarse) * xp.exp(-rest * (coarse + 0.5 * rest))
        return gauss * _polynomial(TAIL_TOP, z) / _polynomial(TAIL_BOTTOM, z)

    z_near = xp.abs(tolerance - a) / divisor
    near, far = tail(z_near), tail((tolerance + a) / divisor)
    moves = xp.where(inside, near + far, near - far)
    return inside, xp.where((s > 0) & (z_near < TAIL_END), moves, zero)  # an exact label stays, even on the edge


def _polynomial(coefficients: tuple[float, ...], z: AnyArray) -> AnyArray:
    out = coefficients[-1] * z + coefficients[-2]
    for c in coefficients[-3::-1]:
        out = out * z + c
    return out


def _fourth_power(x: AnyArray) -> AnyArray:
    square = x * x
    return square * square


def _sum(xp: Any, x: AnyArray) -> AnyArray:
    """The sum of a long array in two steps, rows first."""
    n = x.shape[0]
    even = n // _ROWS * _ROWS
    if even <= 16 * _ROWS:
        return xp.sum(x)
    return xp.sum(xp.sum(xp.reshape(x[:even], (_ROWS, -1)), axis=1)) + xp.sum(x[even:])
