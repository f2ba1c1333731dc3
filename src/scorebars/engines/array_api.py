"""The sums of `names.NAMES` for arrays of torch, JAX and CuPy, computed where the arrays are.

One implementation in terms of the array API standard. All arithmetic is in float64, whatever the arrays hold; only the
sums come to the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from typing import Any

from scorebars.arrays import library_of, to_host
from scorebars.engines.chunks import combine
from scorebars.engines.coefficients import FOLD_END, FOLD_ROOT, TAIL_BOTTOM, TAIL_END, TAIL_TOP
from scorebars.engines.names import NAMES

Array = Any  # of any of the libraries

_CHUNK = 1 << 22  # labels: 32 MB for each temporary array
_ROWS = 256  # partial sums of a chunk: libraries that sum one number after the other lose digits over long rows
_SMALLEST_NORMAL = 2.2250738585072014e-308  # stands in for sigma = 0 in a division


def namespace(array: Array) -> Any:
    """The functions of the array's library under the names of the array API standard."""
    try:
        from array_api_compat import array_namespace
    except ImportError as why:
        raise ImportError(
            "scores of torch, JAX and CuPy arrays need array-api-compat: pip install 'scorebars[array-api]'"
        ) from why
    return array_namespace(array)


def device_of(array: Array) -> Any:
    """Where the array lies."""
    if library_of(array) == "torch":
        return array.device
    from array_api_compat import device

    return device(array)


def in_doubles(array: Array) -> AbstractContextManager[Any]:
    """JAX has no float64 unless told to; here it is told so for one computation. The others need no telling."""
    if library_of(array) != "jax":
        return nullcontext()
    import jax

    return jax.enable_x64(True)


def array_sums(
    y: Array,
    p: Array,
    sigma: Array,
    weight: Array | None,
    tolerance: float | None = None,
    reference: float | None = None,
) -> tuple[float, ...]:
    """The numbers in the order of `names.NAMES`; those that need a missing tolerance or reference are 0.

    `sigma` is an array like y, or one of no dimension that holds for all labels.
    """
    with in_doubles(y):
        xp = namespace(y)
        numbers = _compiled(library_of(y), xp, tolerance, reference is not None)
        if reference is not None:
            numbers = partial(numbers, xp.asarray(reference, dtype=xp.float64, device=device_of(y)))
        rows = [numbers(*columns) for columns in _chunks(xp, y, p, sigma, weight)]
        return combine([tuple(row) for row in to_host(xp.stack(rows)).tolist()])


def _chunks(xp: Any, *columns: Array | None) -> Iterator[list[Array | None]]:
    n = columns[0].shape[0]  # type: ignore[union-attr]
    for start in range(0, n, _CHUNK):
        part = slice(start, start + _CHUNK)
        cut = (column if column is None or column.ndim == 0 else column[part] for column in columns)
        yield [None if column is None else xp.astype(column, xp.float64) for column in cut]


@cache
def _compiled(library: str | None, xp: Any, tolerance: float | None, labels: bool) -> Callable[..., Array]:
    """JAX forms one program of the whole chunk; the others go operation by operation."""
    numbers = partial(_numbers, xp, tolerance) if labels else partial(_numbers, xp, tolerance, None)
    if library != "jax":
        return numbers
    import jax

    return jax.jit(numbers)


def _numbers(
    xp: Any, tolerance: float | None, reference: Array | None, y: Array, p: Array, s: Array, weight: Array | None
) -> Array:
    """All numbers of one chunk as one array."""
    d = p - y
    s = xp.broadcast_to(s, d.shape)
    w = xp.ones_like(d) if weight is None else weight
    w2 = w * w
    a, sq, var = xp.abs(d), d * d, s * s
    z = a / (s + _SMALLEST_NORMAL)
    near, zero = z < FOLD_END, xp.zeros_like(z)
    fold = xp.where(near, s * _polynomial(FOLD_ROOT, xp.where(near, z, zero)) ** 4, zero)
    of_w = {"w": 1.0, "d": d, "abs": a, "sq": sq, "var": var, "fold": fold}
    of_w2 = {
        "w2": 1.0,
        "d_w2": d,
        "sq_w2": sq,
        "fourth_w2": sq * sq,
        "expabs_w2": a + fold,
        "var_w2": var,
        "var2_w2": var * var,
        "sqvar_w2": sq * var,
        "foldvar_w2": var - fold * (2.0 * a + fold),
    }
    found = {name: _sum(xp, w * term) for name, term in of_w.items()}
    found |= {name: _sum(xp, w2 * term) for name, term in of_w2.items()}
    if tolerance is not None:
        inside, moves = _within(xp, a, s, tolerance)
        found |= {
            "within": _sum(xp, xp.where(inside, w, xp.zeros_like(w))),
            "within_p": _sum(xp, w * xp.where(inside, 1.0 - moves, moves)),
            "within_var_w2": _sum(xp, w2 * moves * (1.0 - moves)),
        }
    if reference is not None:
        c, w2_var = y - reference, w2 * var
        found |= {
            "y1": _sum(xp, w * c),
            "y2": _sum(xp, w * c * c),
            "d_var_w2": _sum(xp, w2_var * d),
            "y_var_w2": _sum(xp, w2_var * c),
            "y2_var_w2": _sum(xp, w2_var * c * c),
            "y_d_var_w2": _sum(xp, w2_var * c * d),
            "max_abs_y": xp.max(xp.where(w > 0, xp.abs(c), zero)),
        }
    found |= {
        "max_abs_d": xp.max(xp.where(w > 0, a, zero)),
        "max_sigma": xp.max(xp.where(w > 0, s, zero)),
        "max_weight": xp.max(w),
        "min_sigma": xp.min(s),
        "min_weight": xp.min(w),
    }
    nothing = xp.zeros_like(found["w"])
    return xp.stack([found.get(name, nothing) for name in NAMES])


def _within(xp: Any, a: Array, s: Array, tolerance: float) -> tuple[Array, Array]:
    """Whether |d| is within the tolerance, and the probability that the label ends up on the other side of the edge."""
    divisor = s + _SMALLEST_NORMAL
    inside, zero = a <= tolerance, xp.zeros_like(a)

    def tail(z: Array) -> Array:
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


def _polynomial(coefficients: tuple[float, ...], z: Array) -> Array:
    out = coefficients[-1] * z + coefficients[-2]
    for c in coefficients[-3::-1]:
        out = out * z + c
    return out


def _sum(xp: Any, x: Array) -> Array:
    """In two steps, rows first."""
    n = x.shape[0]
    whole = n // _ROWS * _ROWS
    if whole < 16 * _ROWS:
        return xp.sum(x)
    return xp.sum(xp.sum(xp.reshape(x[:whole], (_ROWS, -1)), axis=1)) + xp.sum(x[whole:])
