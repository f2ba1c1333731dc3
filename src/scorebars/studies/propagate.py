"""From what was measured to the label: propagation of errors through a formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.errors.measurement_error import check_kind
from scorebars.numerics.covariances import covariance_root

_METHODS = ("first", "second", "unscented", "simulation")


@dataclass(frozen=True)
class Propagated:
    """Labels and their errors, ready to be passed as ``y_true`` and ``yerr``.

    Examples
    --------
    >>> import scorebars as sb
    >>> found = sb.propagate(lambda volts, ohms: volts / ohms, [[10.0, 12.0], 5.0], [0.1, 0.05])
    >>> found.y.round(3).tolist(), found.yerr.round(3).tolist()
    ([2.0, 2.4], [0.028, 0.031])
    """

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
    (``kind="berkson"``) have the truth scatter about them: the label is the mean of `f` over that scatter.

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
    draws, rng : number, seed or Generator
        How many draws, and where their random numbers come from, for ``method="simulation"``.

    Returns
    -------
    Propagated
        `y` and `yerr`, the labels and their standard deviations, and `shift`, the correction for the curvature.

    Notes
    -----
    With gradient g and Hessian H of `f`, covariance C of its arguments and :math:`L = tr(HC)`:

    .. math::
        \text{first:}\quad y = f(x),\ \sigma^2 = g'Cg \qquad
        \text{second:}\quad y = f(x) \mp \tfrac12 L,\
        \sigma^2 = g'Cg \mp (\tfrac12 tr(HCHC) + g'C\nabla L)

    with the upper sign for measured quantities. (A falling variance is continued as an exponential, so that it stays
    positive, and never goes below :math:`\tfrac12 tr(HCHC)`.)

    References
    ----------
    JCGM 100:2008, *Guide to the Expression of Uncertainty in Measurement*, section 5. S. J. Julier and J. K. Uhlmann,
    Unscented filtering and nonlinear estimation, Proceedings of the IEEE 92, 401 (2004).

    Examples
    --------
    Masses of black holes as logarithms:

    >>> import numpy as np
    >>> import scorebars as sb
    >>> columns = sb.datasets.load_blackholes().columns
    >>> error = (columns["mass_hi"] - columns["mass_lo"]) / 2
    >>> p = sb.propagate(np.log10, [columns["mass"]], [error])
    >>> p.y[:3].round(3), p.yerr[:3].round(3)
    (array([6.617, 9.595, 9.153]), array([0.062, 0.055, 0.075]))
    """
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}.")
    if not callable(f):
        raise TypeError(f"f must be a function of the measured quantities, got {f!r}.")
    check_kind(kind)
    x = _table(values, "values")
    spread = _covariances(x, errors, cov)
    centre = _call(f, x)
    if method in ("simulation", "unscented"):
        seed = int(np.random.default_rng(rng).integers(2**63))
        points = _unscented_points if method == "unscented" else partial(_drawn_points, draws, seed)
        return _averaged(centre, lambda times: _moments(f, x, times * spread, centre, points(*x.shape)), kind, method)
    first, second, third = _derivatives(f, x, covariance_root(spread), centre)
    linear = np.sum(np.square(first), axis=0)
    if method == "first":
        return _checked(centre, np.sqrt(linear), np.zeros_like(centre), method, kind)
    sign = 1.0 if kind == "berkson" else -1.0
    bent, shift = 0.5 * np.einsum("ijn,ijn->n", second, second), 0.5 * sign * np.einsum("iin->n", second)
    variance = np.maximum(_continued(linear, sign * (bent + np.sum(first * third, axis=0))), bent)
    return _checked(centre + shift, np.sqrt(variance), shift, method, kind)


def _continued(start: FloatArray, step: FloatArray) -> FloatArray:
    """start + step; a fall is continued as an exponential, which stays positive."""
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
        raise ValueError(
            f"{argument} must be a sequence with one entry for each argument of f, got {values!r}. Of one argument alone, pass "
            "[x] and [error]."
        )
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
        table = _table(errors, "errors")
        if len(table) != k:
            raise ValueError(
                f"errors has {len(table)} entries but values has {k}, one for each argument of f. Give one error for each "
                "argument; one quantity measured on many labels is passed as [x] and [error]."
            )
        sigma = np.broadcast_to(table, (k, n))
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


def _derivatives(f: Callable[..., Any], x: FloatArray, root: FloatArray, centre: FloatArray) -> tuple[FloatArray, ...]:
    """Derivatives along the independent directions of the errors, each in units of its own error.

    The first (k, n), the second (k, k, n), and the derivative of the sum of all curvatures along each direction (k, n):
    central differences over a small part of the error, but never over less than rounding allows.
    """
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
    return first, second, third


_Points = Iterator[tuple[float, FloatArray]]
"""Weights, and points (k, n) of the standard normal distribution."""


def _unscented_points(k: int, n: int) -> _Points:
    """At sqrt(3) along each axis, which matches the normal distribution to fourth order; the rest lies at 0."""
    for i in range(k):
        for reach in (math.sqrt(3.0), -math.sqrt(3.0)):
            yield 1.0 / 6.0, np.where(np.arange(k)[:, None] == i, reach, np.zeros((k, n)))


def _drawn_points(draws: int, seed: int, k: int, n: int) -> _Points:
    """The same seed at every covariance, so that differences have little noise."""
    rng = np.random.default_rng(seed)
    return ((1.0 / draws, rng.standard_normal((k, n))) for _ in range(draws))


def _moments(
    f: Callable[..., Any], x: FloatArray, spread: FloatArray, centre: FloatArray, points: _Points
) -> tuple[FloatArray, FloatArray]:
    """Mean change and variance of f."""
    root, shift, square = covariance_root(spread), np.zeros_like(centre), np.zeros_like(centre)
    for weight, point in points:
        change = _call(f, x + np.einsum("nij,jn->in", root, point)) - centre
        shift += weight * change
        square += weight * np.square(change)
    return shift, np.maximum(square - np.square(shift), 0.0)


def _checked(y: FloatArray, yerr: FloatArray, shift: FloatArray, method: str, kind: str) -> Propagated:
    bad = ~(np.isfinite(y) & np.isfinite(yerr))
    hint = "Check the formula near these values."
    checks.refuse("f", "is not finite within the errors of its arguments", bad, y, hint)
    return Propagated(y, yerr, shift, method, kind)
