"""Sums over labels with independent normal errors: one pass, from which the regression metrics follow.

Label i has the value y, the error sigma, the weight w and the prediction p; d = p - y. Drawn afresh within its
error the difference is d + sigma Z with Z standard normal, so for the mean absolute error, for instance,

    observed = abs / w,    expected = (abs + fold) / w,    variance = foldvar_w2 / w^2.

Sums of different data merge. They are exact to a few units in the last digit and do not depend on the
number of threads, nor on how the arrays lie in memory.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars.engines import config, extremes
from scorebars.engines.chunks import CHUNK, combine, over_chunks
from scorebars.engines.columns import Columns
from scorebars.engines.extremes import ORDINARY, Powers
from scorebars.engines.names import LABEL_SUMS, SMALLEST, TOLERANCE_SUMS


class NormalSums(NamedTuple):
    """Sums over n labels; a name ending in _w2 has the squared weight in each term. (A named tuple, because a
    frozen dataclass of this size takes longer to make than the sums over 1000 labels.)

    Labels, predictions and errors were divided by `scale`, weights by `weight_scale`, before summing; both
    are powers of two, and 1 unless the data are so large or small that fourth powers would not fit a double.
    So the true sum w d^2 is sq * scale**2 * weight_scale. Sums that were not asked for are NaN.

    With z = |d|/sigma, g(z) = E|Z + z| - z, P = P(|d + sigma Z| <= tolerance) and c = y - y_shift:
    """

    n: int
    w: float  # sum w
    w2: float  # sum w^2
    d: float  # sum w d
    abs: float  # sum w |d|
    sq: float  # sum w d^2
    var: float  # sum w sigma^2
    fold: float  # sum w sigma g(z), what the errors add to the absolute error
    d_w2: float  # sum w^2 d
    sq_w2: float  # sum w^2 d^2
    fourth_w2: float  # sum w^2 d^4
    expabs_w2: float  # sum w^2 (|d| + sigma g(z))
    var_w2: float  # sum w^2 sigma^2
    var2_w2: float  # sum w^2 sigma^4
    sqvar_w2: float  # sum w^2 d^2 sigma^2
    foldvar_w2: float  # sum w^2 Var|d + sigma Z|
    within: float  # sum w 1[|d| <= tolerance]
    within_p: float  # sum w P
    within_var_w2: float  # sum w^2 P (1 - P)
    y1: float  # sum w c
    y2: float  # sum w c^2
    d_var_w2: float  # sum w^2 d sigma^2
    y_var_w2: float  # sum w^2 c sigma^2
    y2_var_w2: float  # sum w^2 c^2 sigma^2
    y_d_var_w2: float  # sum w^2 c d sigma^2
    max_abs_d: float  # the largest, over labels of positive weight
    max_sigma: float
    max_weight: float
    max_abs_y: float  # of |c|; at least that, after a merge
    tolerance: float  # in the units of the labels, not divided; NaN: not asked for
    y_shift: float  # in the units of the labels, not divided; NaN: not asked for
    scale: float = 1.0
    weight_scale: float = 1.0

    # The expected losses of the labels, squared and plain, under w^2: how they scatter from label to label.

    @property
    def loss2_sq(self) -> float:
        """sum w^2 (d^2 + sigma^2)^2"""
        return self.fourth_w2 + 2.0 * self.sqvar_w2 + self.var2_w2

    @property
    def lossw_sq(self) -> float:
        """sum w^2 (d^2 + sigma^2)"""
        return self.sq_w2 + self.var_w2

    @property
    def loss2_abs(self) -> float:
        """sum w^2 (|d| + sigma g)^2, as E^2 = (second moment) - variance; at least 0.63 of the first part"""
        return self.sq_w2 + self.var_w2 - self.foldvar_w2

    @property
    def lossw_abs(self) -> float:
        """sum w^2 (|d| + sigma g)"""
        return self.expabs_w2

    @property
    def loss2_d(self) -> float:
        """sum w^2 d^2"""
        return self.sq_w2

    @property
    def lossw_d(self) -> float:
        """sum w^2 d"""
        return self.d_w2


def normal_sums(
    y: NDArray[Any],
    p: NDArray[Any],
    sigma: NDArray[Any] | float,
    weight: NDArray[Any] | None = None,
    tolerance: float | None = None,
    *,
    labels: bool = False,
    about: float | None = None,
    threads: int | None = None,
) -> NormalSums:
    """All sums over the labels `y` with predictions `p` and errors `sigma` (one for all, or one each).

    A `tolerance` adds the sums within*, `labels=True` those of the labels' own scatter (y1 ... y_d_var_w2), counted from
    `about` (None: from a typical label).
    The result does not depend on `threads` (None: as configured). Raises BadValues if a value is not finite,
    or an error or a weight negative.
    """
    columns = Columns(y, p, sigma if isinstance(sigma, np.ndarray) and sigma.ndim else float(sigma), weight)
    reference = (typical(y) if about is None else about) if labels else None
    threads = threads or (config.threads() if len(y) > CHUNK else 1)
    powers = ORDINARY
    numbers = _one_pass(columns, tolerance, reference, threads)
    if not extremes.is_ordinary(numbers):
        powers = extremes.search(columns, reference)
        numbers = _one_pass(columns, tolerance, reference, threads, powers)
    return collect(len(y), numbers, tolerance, reference, powers)


def _one_pass(
    columns: Columns, tolerance: float | None, reference: float | None, threads: int, powers: Powers | None = None
) -> tuple[float, ...]:
    """The numbers of `names.NAMES`, with the data divided by the given powers of two first."""
    chunk_sums = config.chunk_sums()
    n = len(columns.y)
    if powers is None and n <= CHUNK:
        return chunk_sums(*columns.cut(0, n), tolerance, reference)
    if powers is None:

        def work(start: int, stop: int) -> tuple[float, ...]:
            return chunk_sums(*columns.cut(start, stop), tolerance, reference)

    else:
        small_tolerance = extremes.divide_number(tolerance, powers)
        small_reference = extremes.divide_number(reference, powers)

        def work(start: int, stop: int) -> tuple[float, ...]:
            divided = extremes.divide(columns.as_doubles(start, stop), reference, powers)
            return chunk_sums(*divided, small_tolerance, small_reference)

    return work(0, n) if n <= CHUNK else combine(over_chunks(work, n, threads))


def collect(
    n: int, numbers: tuple[float, ...], tolerance: float | None, reference: float | None, powers: Powers = ORDINARY
) -> NormalSums:
    """The numbers of `names.NAMES` under their names; those that were not asked for as NaN."""
    fields = [n, *numbers[: -len(SMALLEST)], math.nan, math.nan, 1.0, 1.0]
    if tolerance is None:
        fields[_TOLERANCE_SUMS] = _NO_TOLERANCE
    else:
        fields[_TOLERANCE] = tolerance
    if reference is None:
        fields[_LABEL_SUMS] = _NO_LABELS
        fields[_MAX_ABS_Y] = math.nan
    else:
        fields[_Y_SHIFT] = reference
    if powers is not ORDINARY:
        fields[-2:] = [math.ldexp(1.0, power) for power in powers]
    return NormalSums._make(fields)


def _places(names: tuple[str, ...]) -> slice:
    first = NormalSums._fields.index(names[0])
    return slice(first, first + len(names))


_TOLERANCE_SUMS, _LABEL_SUMS = _places(TOLERANCE_SUMS), _places(LABEL_SUMS)
_NO_TOLERANCE, _NO_LABELS = [math.nan] * len(TOLERANCE_SUMS), [math.nan] * len(LABEL_SUMS)
_MAX_ABS_Y, _TOLERANCE, _Y_SHIFT = (NormalSums._fields.index(name) for name in ("max_abs_y", "tolerance", "y_shift"))


def typical(y: NDArray[Any]) -> float:
    """The middle one of a few labels: near enough to their mean that sums about it do not cancel."""
    few = sorted(y[:: max(1, len(y) // 9)].tolist()[:9])
    return float(few[len(few) // 2])
