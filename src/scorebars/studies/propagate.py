"""From what was measured to the label: propagation of errors through a formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.errors.measurement_error import check_kind

_METHODS = ("first", "second", "unscented", "simulation")


@dataclass(frozen=True)
class Propagated:
    """Labels and their errors, ready to be passed as ``y_true`` and ``yerr``."""

    y: FloatArray
    yerr: FloatArray
    shift: FloatArray
    """How far the label was moved from the formula at the given values, because of the curvature."""
    method: str
    kind: str
    """As in the error models: whether the values were measured, or the truth scatters about them."""

    def __repr__(self) -> str:
        return f"Propagated({self.y.size} labels, method={self.method!r})"


def propagate(
    f: Callable[..., Any],
    values: Sequence[Any],
    errors: Sequence[Any] | None = None,
    *,
    cov: Any = None,
    kind: str = "classical",
    method: str = "second",
    draws: int = 20_000,
    rng: np.random.Generator | int | None = None,
) -> Propagated:
    r"""What is the error of a label that was computed from measured quantities?

    Measured quantities (``kind="classical"``, the default) scatter about true ones. Where `f` is curved, `f` of the
    measured values is off on average by half the curvature; the label is corrected towards `f` of the true values, and
    its squared error is that of the corrected label. Quantities that are set points or means of a posterior
    (``kind="berkson"``) have the truth scatter about them: the label is the mean of `f` over that scatter. With gradient g
    and Hessian H of `f`, covariance C of its arguments and :math:`L = tr(HC)`:

    .. math::
        \text{first:}\quad y = f(x),\ \sigma^2 = g'Cg \qquad
        \text{second:}\quad y = f(x) \mp \tfrac12 L,\
        \sigma^2 = g'Cg \mp (\tfrac12 tr(HCHC) + g'C\nabla L)

    with the upper sign for measured quantities. (A falling variance is continued as an exponential, so that it stays
    positive, and never goes below :math:`\tfrac12 tr(HCHC)`.)

    Parameters
    ----------
    f : callable
        ``f(x1, x2, ...)``, vectorised over labels.
    values : sequence of numbers or (n,) arrays
        The measured quantities x1, x2, ...
    errors : sequence of numbers or (n,) arrays
        Their standard deviations, in the same order (independent errors).
    cov : (k, k) or (n, k, k), optional
        Their covariance, instead of `errors`.
    kind : {"classical", "berkson"}
        Whether the values are the true ones plus errors (measurements), or the true ones scatter about the values (set
        points, posteriors). Pass the result on as ``yerr=sb.Normal(p.yerr, kind=p.kind)``.
    method : {"second", "first", "unscented", "simulation"}
        Second-order propagation (the default); the textbook first order, which corrects nothing and serves both kinds;
        the unscented transform, or draws. The last two average `f` over the errors; for measured quantities they do so
        with once and twice the covariance and continue the averages back to the true values.
    draws, rng
        Number of draws and their seed, for ``method="simulation"``.

    Examples
    --------
    >>> import scorebars as sb
    >>> p = sb.propagate(lambda volts, ohms: volts / ohms, [[10.0, 12.0], 5.0], [0.1, 0.05])
    >>> p.y.round(5), p.yerr.round(5)
    (array([1.9998 , 2.39976]), array([0.02828, 0.03123]))
    """
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}.")
    check_kind(kind)
    x = _table(values, "values")
    spread = _covariances(x, errors, cov)
    centre = _call(f, x)
    if method == "simulation":
        normals = np.random.default_rng(rng)
        seed = int(normals.integers(2**63))
        return _averaged(centre, lambda times: _simulated(f, x, times * spread, centre, draws, seed), kind, method)
    if method == "unscented":
        return _averaged(centre, lambda times: _unscented(f, x, times * spread, centre), kind, method)
    slopes = _derivatives(f, x, _roots(spread), centre)
    linear = np.sum(np.square(slopes.first), axis=0)
    if method == "first":
        return _checked(centre, np.sqrt(linear), np.zeros_like(centre), method, kind)
    sign = 1.0 if kind == "berkson" else -1.0
    bent = 0.5 * np.einsum("ijn,ijn->n", slopes.second, slopes.second)
    shift = 0.5 * sign * np.einsum("iin->n", slopes.second)
    variance = np.maximum(_continued(linear, sign * (bent + np.sum(slopes.first * slopes.third, axis=0))), bent)
    return _checked(centre + shift, np.sqrt(variance), shift, method, kind)


def _continued(start: FloatArray, step: FloatArray) -> FloatArray:
    """start + step; where that falls, as an exponential, which stays positive."""
    safe = np.where(start > 0, start, 1.0)
    return np.where(step >= 0, start + step, start * np.exp(np.minimum(step, 0.0) / safe))


def _averaged(
    centre: FloatArray, average: Callable[[float], tuple[FloatArray, FloatArray]], kind: str, method: str
) -> Propagated:
    """From the mean change and the variance of f under a multiple of the covariance.

    Berkson: those at 1. Measured values: continued to -1, where averaging over the error is undone; the mean change by the
    parabola through 0, 1 and 2, the variance over the multiple by an exponential, which stays positive.
    """
    shift, variance = average(1.0)
    if kind == "classical":
        far, wide = average(2.0)
        shift = far - 3.0 * shift
        growth = np.where(variance > 0, 0.5 * wide / np.where(variance > 0, variance, 1.0), 1.0)
        variance = variance / np.square(np.where(growth > 0, growth, 1.0))
    return _checked(centre + shift, np.sqrt(variance), shift, method, kind)


def _table(values: Sequence[Any], argument: str) -> FloatArray:
    """The arguments as rows of equal length, shape (k, n)."""
    if not isinstance(values, Sequence | np.ndarray) or not len(values):
        raise ValueError(f"{argument} must be a sequence with one entry for each argument of f.")
    rows = [np.asarray(checks.real_array(v, f"{argument}[{k}]"), dtype=np.float64) for k, v in enumerate(values)]
    for k, row in enumerate(rows):
        checks.require_finite(row, f"{argument}[{k}]")
    try:
        table = np.stack(np.broadcast_arrays(*[np.atleast_1d(r) for r in rows]))
    except ValueError:
        shapes = ", ".join(str(r.shape) for r in rows)
        raise ValueError(f"{argument} have shapes {shapes}, which do not belong to the same labels.") from None
    if table.ndim != 2:
        raise ValueError(f"{argument} must be numbers or flat arrays, one number for each label.")
    return table


def _covariances(x: FloatArray, errors: Sequence[Any] | None, cov: Any) -> FloatArray:
    """Covariance of the arguments for each label, shape (n, k, k)."""
    k, n = x.shape
    if (errors is None) == (cov is None):
        raise ValueError("propagate needs either errors (one for each argument of f) or cov.")
    if errors is not None:
        if len(errors) != k:
            raise ValueError(f"errors has {len(errors)} entries but f has {k} arguments. Give one error for each.")
        sigma = np.broadcast_to(_table(errors, "errors"), (k, n))
        for i, row in enumerate(sigma):
            checks.require_non_negative(row, f"errors[{i}]", "A standard deviation cannot be below 0.")
        return np.einsum("in,ij->nij", np.square(sigma), np.eye(k))
    matrix = np.asarray(checks.real_array(cov, "cov"), dtype=np.float64)
    if matrix.shape not in ((k, k), (n, k, k)):
        raise ValueError(f"cov has shape {matrix.shape}; {(k, k)} or {(n, k, k)} is needed for {k} arguments.")
    checks.require_finite(matrix, "cov")
    if not np.allclose(matrix, np.swapaxes(matrix, -1, -2), rtol=1e-8, atol=0):
        raise ValueError("cov is not symmetric. Pass a covariance matrix of the arguments of f.")
    if np.linalg.eigvalsh(matrix).min() < -1e-10 * np.abs(matrix).max():
        raise ValueError("cov is not positive semidefinite: no errors have this covariance.")
    return np.broadcast_to(matrix, (n, k, k))


def _call(f: Callable[..., Any], x: FloatArray) -> FloatArray:
    out = np.asarray(f(*x), dtype=np.float64)
    try:
        return np.array(np.broadcast_to(out, x.shape[1:]))
    except ValueError:
        raise ValueError(
            f"f gave shape {out.shape} for labels of shape {x.shape[1:]}; it must be vectorised."
        ) from None


class _Slopes(NamedTuple):
    """Derivatives along the independent directions of the errors, each in units of its own error."""

    first: FloatArray
    """(k, n)"""
    second: FloatArray
    """(k, k, n)"""
    third: FloatArray
    """(k, n): derivative of the sum of all curvatures along each direction."""


def _derivatives(f: Callable[..., Any], x: FloatArray, root: FloatArray, centre: FloatArray) -> _Slopes:
    """Central differences over a small part of the error, but never over less than rounding allows."""
    k, n = x.shape
    size = np.max(np.abs(root) / np.maximum(np.abs(x), 1e-30).T[:, :, None], axis=1).T
    h = np.where(size > 0, np.maximum(0.02, 6e-5 / np.where(size > 0, size, 1.0)), 1.0)

    def at(*moves: tuple[int, float]) -> FloatArray:
        moved = x.copy()
        for i, times in moves:
            moved += times * h[i] * root[:, :, i].T
        return _call(f, moved)

    up, down = [at((i, 1.0)) for i in range(k)], [at((i, -1.0)) for i in range(k)]
    far_up, far_down = [at((i, 2.0)) for i in range(k)], [at((i, -2.0)) for i in range(k)]
    first = np.stack([(8 * (up[i] - down[i]) - (far_up[i] - far_down[i])) / (12 * h[i]) for i in range(k)])
    second, third = np.zeros((k, k, n)), np.zeros((k, n))
    for i in range(k):
        near, far = up[i] + down[i] - 2 * centre, far_up[i] + far_down[i] - 2 * centre
        second[i, i] = (16 * near - far) / (12 * h[i] ** 2)
        third[i] += (far_up[i] - far_down[i] - 2 * (up[i] - down[i])) / (2 * h[i] ** 3)
        for j in range(i):
            pp, pm = at((i, 1.0), (j, 1.0)), at((i, 1.0), (j, -1.0))
            mp, mm = at((i, -1.0), (j, 1.0)), at((i, -1.0), (j, -1.0))
            second[i, j] = second[j, i] = (pp + mm - pm - mp) / (4 * h[i] * h[j])
            third[i] += (pp + pm - mp - mm - 2 * (up[i] - down[i])) / (2 * h[i] * h[j] ** 2)
            third[j] += (pp + mp - pm - mm - 2 * (up[j] - down[j])) / (2 * h[j] * h[i] ** 2)
    return _Slopes(first, second, third)


def _roots(spread: FloatArray) -> FloatArray:
    """A square root of each covariance, shape (n, k, k); also where it is singular."""
    values, vectors = np.linalg.eigh(spread)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])


def _unscented(
    f: Callable[..., Any], x: FloatArray, spread: FloatArray, centre: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Symmetric sigma points at sqrt(3), which match the normal law to fourth order along each axis."""
    k = len(x)
    reach = math.sqrt(3.0)
    root = _roots(spread)
    changes = [_call(f, x + sign * reach * root[:, :, i].T) - centre for i in range(k) for sign in (1.0, -1.0)]
    weight, rest = 1.0 / 6.0, 1.0 - k / 3.0
    shift = weight * np.sum(changes, axis=0)
    variance = rest * np.square(shift) + weight * np.sum([np.square(c - shift) for c in changes], axis=0)
    return shift, np.maximum(variance, 0.0)


def _simulated(
    f: Callable[..., Any], x: FloatArray, spread: FloatArray, centre: FloatArray, draws: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Mean change and variance of f; the same seed at every covariance, so that differences have little noise."""
    rng, root = np.random.default_rng(seed), _roots(spread)
    first, second = np.zeros_like(centre), np.zeros_like(centre)
    for _ in range(draws):
        change = _call(f, x + np.einsum("nij,jn->in", root, rng.standard_normal(x.shape))) - centre
        first += change
        second += np.square(change)
    shift = first / draws
    return shift, np.maximum(second / draws - np.square(shift), 0.0) * draws / max(draws - 1, 1)


def _checked(y: FloatArray, yerr: FloatArray, shift: FloatArray, method: str, kind: str) -> Propagated:
    bad = ~(np.isfinite(y) & np.isfinite(yerr))
    if bad.any():
        raise checks.complain(
            "f", "is not finite within the errors of its arguments", bad, y, "Check the formula near these values."
        )
    return Propagated(y, yerr, shift, method, kind)
