"""From what was measured to the label: propagation of errors through a formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorebars import checks
from scorebars.errors.base import FloatArray

_METHODS = ("first", "second", "unscented", "simulation")


@dataclass(frozen=True)
class Propagated:
    """Labels and their errors, ready to be passed as ``y_true`` and ``yerr``."""

    y: FloatArray
    yerr: FloatArray
    shift: FloatArray
    """How far the mean of the label lies from the formula at the measured values: the curvature's doing."""
    method: str

    def __repr__(self) -> str:
        return f"Propagated({self.y.size} labels, method={self.method!r})"


def propagate(
    f: Callable[..., Any],
    values: Sequence[Any],
    errors: Sequence[Any] | None = None,
    *,
    cov: Any = None,
    method: str = "second",
    draws: int = 20_000,
    rng: np.random.Generator | int | None = None,
) -> Propagated:
    r"""What is the error of a label that was computed from measured quantities?

    With gradient g and Hessian H of `f` (central differences) and covariance C of its arguments:

    .. math::
        \text{first:}\quad y = f(x),\ \sigma^2 = g'Cg \qquad
        \text{second:}\quad y = f(x) + \tfrac12 tr(HC),\ \sigma^2 = g'Cg + \tfrac12 tr(HCHC)

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
    method : {"second", "first", "unscented", "simulation"}
        Second-order propagation (the default), the textbook first order, the unscented transform, or draws.
    draws, rng
        Number of draws and their seed, for ``method="simulation"``.

    Examples
    --------
    >>> import scorebars as sb
    >>> p = sb.propagate(lambda volts, ohms: volts / ohms, [[10.0, 12.0], 5.0], [0.1, 0.05])
    >>> p.y.round(5), p.yerr.round(5)
    (array([2.0002 , 2.40024]), array([0.02829, 0.03124]))
    """
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}.")
    x = _table(values, "values")
    spread = _covariances(x, errors, cov)
    centre = _call(f, x)
    if method == "simulation":
        return _simulated(f, x, spread, centre, draws, np.random.default_rng(rng))
    if method == "unscented":
        return _unscented(f, x, spread, centre)
    gradient, hessian = _derivatives(f, x, spread, centre, second=method == "second")
    variance = np.einsum("in,nij,jn->n", gradient, spread, gradient)
    shift = np.zeros_like(centre)
    if hessian is not None:
        bent = np.einsum("nij,njk->nik", hessian, spread)
        shift = 0.5 * np.einsum("nii->n", bent)
        variance = variance + 0.5 * np.einsum("nij,nji->n", bent, bent)
    return _checked(centre + shift, np.sqrt(np.maximum(variance, 0.0)), shift, method)


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


def _steps(x: FloatArray, spread: FloatArray) -> FloatArray:
    """Differences over a small part of the error, but never below what rounding allows."""
    sigma = np.sqrt(np.einsum("nii->in", spread))
    return np.maximum(0.02 * sigma, 6e-5 * np.maximum(np.abs(x), 1e-30))


def _derivatives(
    f: Callable[..., Any], x: FloatArray, spread: FloatArray, centre: FloatArray, second: bool
) -> tuple[FloatArray, FloatArray | None]:
    """Gradient (k, n) and Hessian (n, k, k) by central differences; the gradient to fourth order."""
    k, n = x.shape
    h = _steps(x, spread)

    def at(*moves: tuple[int, float]) -> FloatArray:
        moved = x.copy()
        for i, times in moves:
            moved[i] += times * h[i]
        return _call(f, moved)

    up, down = [at((i, 1.0)) for i in range(k)], [at((i, -1.0)) for i in range(k)]
    far_up, far_down = [at((i, 2.0)) for i in range(k)], [at((i, -2.0)) for i in range(k)]
    gradient = np.stack([(8 * (up[i] - down[i]) - (far_up[i] - far_down[i])) / (12 * h[i]) for i in range(k)])
    if not second:
        return gradient, None
    hessian = np.zeros((n, k, k))
    for i in range(k):
        near, far = up[i] + down[i] - 2 * centre, far_up[i] + far_down[i] - 2 * centre
        hessian[:, i, i] = (16 * near - far) / (12 * h[i] ** 2)
        for j in range(i):
            mixed = (
                at((i, 1.0), (j, 1.0)) + at((i, -1.0), (j, -1.0)) - at((i, 1.0), (j, -1.0)) - at((i, -1.0), (j, 1.0))
            )
            hessian[:, i, j] = hessian[:, j, i] = mixed / (4 * h[i] * h[j])
    return gradient, hessian


def _roots(spread: FloatArray) -> FloatArray:
    """A square root of each covariance, shape (n, k, k); also where it is singular."""
    values, vectors = np.linalg.eigh(spread)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])


def _unscented(f: Callable[..., Any], x: FloatArray, spread: FloatArray, centre: FloatArray) -> Propagated:
    """Symmetric sigma points at sqrt(3), which match the normal law to fourth order along each axis."""
    k = len(x)
    reach = math.sqrt(3.0)
    root = _roots(spread)
    points = [_call(f, x + sign * reach * root[:, :, i].T) for i in range(k) for sign in (1.0, -1.0)]
    weight, rest = 1.0 / 6.0, 1.0 - k / 3.0
    mean = rest * centre + weight * np.sum(points, axis=0)
    variance = rest * np.square(centre - mean) + weight * np.sum([np.square(p - mean) for p in points], axis=0)
    return _checked(mean, np.sqrt(np.maximum(variance, 0.0)), mean - centre, "unscented")


def _simulated(
    f: Callable[..., Any], x: FloatArray, spread: FloatArray, centre: FloatArray, draws: int, rng: np.random.Generator
) -> Propagated:
    root = _roots(spread)
    first, second = np.zeros_like(centre), np.zeros_like(centre)
    for _ in range(draws):
        change = _call(f, x + np.einsum("nij,jn->in", root, rng.standard_normal(x.shape))) - centre
        first += change
        second += np.square(change)
    shift = first / draws
    variance = np.maximum(second / draws - np.square(shift), 0.0) * draws / max(draws - 1, 1)
    return _checked(centre + shift, np.sqrt(variance), shift, "simulation")


def _checked(y: FloatArray, yerr: FloatArray, shift: FloatArray, method: str) -> Propagated:
    bad = ~(np.isfinite(y) & np.isfinite(yerr))
    if bad.any():
        raise checks.complain(
            "f", "is not finite within the errors of its arguments", bad, y, "Check the formula near these values."
        )
    return Propagated(y, yerr, shift, method)
