"""A few labels that stand for very many, in sums over all labels of what depends smoothly on each.

Mean, variance and all cumulants of a label's loss are smooth functions of two numbers of the label: the size s of its error
and its distance d from where the loss bends, in units of s near by. Labels go into cells of these numbers. In a cell the
functions are polynomials to some 1e-12, so that a sum over the labels is one over a grid of Chebyshev points t_k, each of
which stands for c_k labels:

    sum_i f(u_i) = sum_k c_k f(t_k),     c_k = sum_i L_k(u_i),     L_k the Lagrange polynomials of these points.

Cells are halved until the coefficients that follow the last of mean and variance are negligible. This serves losses that bend
in one place and have no quick closed form: log-cosh losses under normal errors, and those of the ratio y / p under log-normal
ones. It serves the share of residuals within a tolerance, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from scorebars.arrays import FloatArray, IntArray
from scorebars.errors import LogNormal, MeasurementError, Normal
from scorebars.errors.asymmetric import log_ratio
from scorebars.losses import Loss, Within
from scorebars.moments.closed_forms import label_moments
from scorebars.moments.numerical import Moments

MANY = 16_384
"""Up to so many labels nothing is gained."""
_SHARE = 0.25
_MOST = 50_000
"""Representatives are at most this part of the labels, and so many."""
_TRIED = 1 << 14
"""Labels that tell how narrow cells must be."""
_BLOCK = 1 << 16
_NEAR, _FAR = 16.0, 0.25
"""Distance in units of the error to which cells have one width in these; beyond, the logarithm of the distance counts."""
_BEYOND = 1 << 14
"""Cells far out have larger numbers than this."""
_POINTS = (10, 8)
"""In a cell, by distance and by size."""
_WIDTHS = (0.64, 0.4)
"""Widths of cells at first: of distances, and of logarithms of sizes."""
_NEGLIGIBLE = 1e-10
"""Part of the mean loss, and of its variance, that further coefficients may add up to if all had one sign."""
_HALVINGS = 3
_ROWS = 1 << 12
"""Sizes lie in fewer rows of cells on each side of 1."""

_GRIDS = tuple(np.cos(np.pi * (np.arange(k) + 0.5) / k) for k in _POINTS)
_TO_COEFFICIENTS = tuple(np.linalg.inv(chebyshev.chebvander(grid, grid.size - 1)) for grid in _GRIDS)

_Labels = tuple[MeasurementError, FloatArray, FloatArray]


class Representatives(NamedTuple):
    """Labels, predictions and errors that stand for many: each for a `number` of labels, which may be negative."""

    errors: MeasurementError
    y: FloatArray
    p: FloatArray
    number: FloatArray
    moments: Moments

    def totals(self) -> tuple[float, float]:
        """Sums over all labels of the mean loss and of its variance."""
        return float(self.number @ self.moments.mean), float(self.number @ self.moments.variance)


def representatives(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> Representatives | None:
    """Those of labels with independent errors; None for few labels, and where cells would be too many."""
    plan = _plan_for(loss, errors, y, p) if len(y) > MANY and isinstance(p, np.ndarray) else None
    if plan is None:
        return None
    widths = _WIDTHS
    for part in (slice(None, None, len(y) // _TRIED), slice(None)):  # some labels, then all
        for _ in range(_HALVINGS):
            found = _represented(loss, _Cells(plan, widths), errors[part], y[part], p[part], len(y))
            rough = (False, False) if found is None else _rough(found)
            if found is None or not any(rough):
                break
            widths = widths[0] / (1 + rough[0]), widths[1] / (1 + rough[1])
        if found is None or any(rough):
            return None
    return found


# which numbers of a label count -----------------------------------------------------------------


class _Plan(NamedTuple):
    """Distance and size of the error of labels, and labels with such numbers. The loss bends over `bend` or more."""

    numbers: Callable[[MeasurementError, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    labels: Callable[[FloatArray, FloatArray], _Labels]
    bend: float = 0.0


def _plan_for(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> _Plan | None:
    if loss.of_forecast or not errors.independent or np.any(errors.error_bar(y) <= 0):
        return None
    if type(errors) is Normal and type(loss) is Within:
        return _shares(loss.tolerance)
    if not loss.continuous:
        return None
    if (
        type(errors) is Normal and loss.bend
    ):  # closed forms of other losses take no longer than putting labels into cells
        return _Plan(_residuals, _of_residuals, loss.bend)  # type: ignore[arg-type]
    if type(errors) is LogNormal and loss.degree == 0 and loss.kinks_from_prediction == (0.0,) and np.all(p > 0):
        return _Plan(_ratios, _of_ratios)  # type: ignore[arg-type]
    return None


def _residuals(errors: Normal, y: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    return y - p, np.broadcast_to(errors.total, y.shape)


def _of_residuals(distance: FloatArray, sigma: FloatArray) -> _Labels:
    return Normal.trusted(sigma), distance, np.zeros(sigma.size)


def _shares(tolerance: float) -> _Plan:
    """Chances to be within a tolerance, which are even in the residual: its distance from there."""

    def numbers(errors: Normal, y: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.abs(y - p) - tolerance, np.broadcast_to(errors.total, y.shape)

    def labels(distance: FloatArray, sigma: FloatArray) -> _Labels:
        return Normal.trusted(sigma), tolerance + distance, np.zeros(sigma.size)

    return _Plan(numbers, labels)  # type: ignore[arg-type]


def _ratios(errors: LogNormal, y: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    return log_ratio(y, p), np.broadcast_to(errors.sigma_log, y.shape)


def _of_ratios(distance: FloatArray, s: FloatArray) -> _Labels:
    return LogNormal(s), np.exp(distance), np.ones(s.size)


# cells ------------------------------------------------------------------------------------------


class _Cells:
    """Cells of these widths."""

    def __init__(self, plan: _Plan, widths: tuple[float, float]) -> None:
        self.plan, self.widths = plan, widths

    def blocks(
        self, errors: MeasurementError, y: FloatArray, p: FloatArray
    ) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Block by block: the number of the cell of each label, and its two places there, from -1 to 1."""
        wide, tall = self.widths
        for start in range(0, len(y), _BLOCK):
            part = slice(start, start + _BLOCK)
            distance, size = self.plan.numbers(errors[part], y[part], p[part])
            place = distance / (wide * np.maximum(size, self.plan.bend))
            column = np.floor(place)
            place -= column
            far = np.flatnonzero((column >= _NEAR / wide) | (column < -_NEAR / wide))
            if far.size:
                beyond = np.log(np.abs(distance[far])) * (1.0 / _FAR)
                whole = np.floor(beyond)
                column[far], place[far] = np.copysign(2 * _BEYOND + whole, distance[far]), beyond - whole
            row = np.floor(np.log(size) / tall)
            low = np.exp(row * tall)
            height = 2.0 * ((size / low - 1.0) / np.expm1(tall)) - 1.0
            cell: IntArray = (column * (2 * _ROWS) + (row + _ROWS)).astype(np.int64)
            yield cell, 2.0 * place - 1.0, height

    def nodes(self, cells: IntArray) -> _Labels:
        """The representatives of some cells, all of one cell together."""
        (wide, tall), (column, row) = self.widths, np.divmod(cells, 2 * _ROWS)
        low = np.exp((row - _ROWS) * tall)
        size = np.multiply.outer(low, 1.0 + np.expm1(tall) * (0.5 + 0.5 * _GRIDS[1]))
        unit = np.maximum(size, self.plan.bend)[:, None, :]
        part = 0.5 + 0.5 * _GRIDS[0]
        distance = wide * np.add.outer(column, part)[:, :, None] * unit
        far = np.abs(column) > _BEYOND
        beyond = np.exp(_FAR * np.add.outer(np.abs(column[far]) - 2 * _BEYOND, part))
        distance[far] = (np.sign(column[far])[:, None] * beyond)[:, :, None]
        return self.plan.labels(distance.ravel(), np.broadcast_to(size[:, None, :], distance.shape).ravel())


def _represented(
    loss: Loss, cells: _Cells, errors: MeasurementError, y: FloatArray, p: FloatArray, n: int
) -> Representatives | None:
    """The representatives of labels in cells; None where they are too many for n labels, or lack moments."""
    sums: dict[int, FloatArray] = {}
    size = _POINTS[0] * _POINTS[1]
    for cell, across, along in cells.blocks(errors, y, p):
        kinds, kind = np.unique(cell, return_inverse=True)
        if max(len(sums), len(kinds)) * size > min(_SHARE * n, _MOST):
            return None
        order = np.argsort(kind.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(kind)).tolist()
        left, right = (_polynomials(place[order], k) for place, k in zip((across, along), _POINTS, strict=True))
        for of, (first, last) in zip(kinds.tolist(), pairwise([0, *ends]), strict=True):
            here = left[:, first:last] @ right[:, first:last].T
            sums[of] = sums[of] + here if of in sums else here
    keys = np.array(sorted(sums))
    count = np.stack([_TO_COEFFICIENTS[0].T @ sums[of] @ _TO_COEFFICIENTS[1] for of in keys.tolist()])
    labels = cells.nodes(keys)
    moments = label_moments(loss, *labels)
    if not np.all(np.isfinite(moments)):
        return None
    return Representatives(*labels, count.ravel(), moments)


def _polynomials(place: FloatArray, count: int) -> FloatArray:
    """Chebyshev polynomials of each place, by rows."""
    out = np.empty((count, place.size))
    out[0], out[1] = 1.0, place
    double = 2.0 * place
    for k in range(2, count):
        np.multiply(double, out[k - 1], out=out[k])
        out[k] -= out[k - 2]
    return out


def _rough(found: Representatives) -> tuple[bool, bool]:
    """Along which number the coefficients after the last of mean or variance still count, if they fall as the last do."""
    labels = np.sum(found.number.reshape(-1, _POINTS[0] * _POINTS[1]), axis=1)
    rough = [False, False]
    for values, total in zip(found.moments, found.totals(), strict=True):
        cells = values.reshape(-1, *_POINTS)
        size = np.abs(_TO_COEFFICIENTS[0] @ cells @ _TO_COEFFICIENTS[1].T)
        for axis in (0, 1):
            before, last = (labels @ np.max(size, axis=2 - axis)[:, -2:]).tolist()
            rough[axis] |= last * min(last, before) > _NEGLIGIBLE * abs(total) * before
    return rough[0], rough[1]
