"""What is kept of one model's labels instead of the labels: sums and bins from which all answers follow. Stores merge.

Label i has the difference d = prediction - label, the error s, the weight w and c = label - shift. Besides the sums of one
pass a store holds what the metrics need:

"squares"   bins SQUARES: distributions of quadratic forms, for the squared error
"ratio"     bins RATIO, and sums of w^2 times products of two of 1, d, c, d^2, c^2: R2 and its kin
"absolute"  bins FOLDED: distributions of folded normals
"within"    hits: the chances that fresh labels are within a tolerance
"pulls"     a store of the residuals in units of their errors

Labels are divided by a power of two, the unit, in which their fourth powers fit doubles, so that labels of 1e-19 or 1e30 are as
good as others. Labels in memory have their unit from `measured.unit_for`, once. A store cannot: later batches may be of another
size than the first. It therefore keeps the unit beside the sums, and goes to another where stores merge, which is exact.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.engines.bins import FOLDED, PRODUCTS, RATIO, RATIO_COLUMNS, SQUARES, Bins, Labels, binned
from scorebars.engines.class_counts import BINS, BINS_BELOW_HALF, ClassCounts
from scorebars.engines.engine import BadValues, normal_sums, over_chunks, score_loops, threads, typical
from scorebars.engines.sums import TINY, NormalSums
from scorebars.errors import Normal
from scorebars.losses import Within
from scorebars.measured import SAFE
from scorebars.moments import label_moments

_PIECE = 1 << 20
"""Labels that share bins before these are merged: merging costs as much as taking 50,000 labels in."""
_BLOCK = 1 << 16
_REACH = 58
"""The largest difference or error stays within 2^58 of the unit, and the labels below that: then fourth powers fit."""
TOO_DIFFERENT = (
    "labels, residuals and errors differ too much in size to be summed up together (by more than 1e35): check their "
    "units, or use scorebars.evaluate on arrays."
)
_COLUMN_POWERS = np.array([0, 0, 2, 2, 1, 1, 2, 2])
"""Powers of the unit in RATIO_COLUMNS, of which SQUARE_COLUMNS are the first."""
_PRODUCT_POWERS = np.add.outer([0, 1, 1, 2, 2], [0, 1, 1, 2, 2])
"""Powers of the unit in the products of `Store.gram`."""


class Hits(NamedTuple):
    """One model's labels within a tolerance: the number of hits is a sum of independent trials, whatever their order."""

    sums: NormalSums
    chances: ClassCounts
    """Counts of P(fresh label within the tolerance), kept as those of class flips are."""
    ideal: ClassCounts
    """The chances of a model that predicts the labels themselves."""


def chances_of(y: FloatArray, p: FloatArray, sigma: FloatArray | float, tolerance: float) -> ClassCounts:
    """P(fresh label within the tolerance) of each label."""
    loops = score_loops()

    def chunk(start: int, stop: int) -> ClassCounts:
        part = slice(start, stop)
        width = sigma[part] if isinstance(sigma, np.ndarray) else np.full(stop - start, float(sigma))
        if loops is None:
            return ClassCounts.of_trials(label_moments(Within(tolerance), Normal.trusted(width), y[part], p[part]).mean)
        columns = (np.ascontiguousarray(column, dtype=np.float64) for column in (y[part], p[part], width))
        moments, ends = np.zeros((BINS, 4)), np.zeros(2)
        loops.chance_bins(stop - start, tolerance, BINS_BELOW_HALF, *columns, moments, ends)
        return ClassCounts.of_bins(moments, ends.astype(np.int64))

    step = _BLOCK if loops is None else _PIECE
    return reduce(ClassCounts.merged, over_chunks(chunk, len(y), threads(), step))


@dataclass(frozen=True)
class Store:
    """One model's labels, divided by 2^unit, in flat memory."""

    sums: NormalSums
    squares: Bins | None = None
    certain: FloatArray | None = None
    """The columns of `squares` added up over the labels with v = 0."""
    absolute: Bins | None = None
    certain_abs: float = 0.0
    """sum w |d| over the labels with w s = 0."""
    abs_w2: float = 0.0
    """sum w^2 |d| of all labels, where "absolute" was asked for."""
    gram: FloatArray | None = None
    """(5, 5): sum w^2 m m', m = (1, d, c, d^2, c^2)."""
    predictions: tuple[float, float] = (np.inf, -np.inf)
    """Two predictions of positive weight, the lower first, that differ if any two do."""
    hits: Hits | None = None
    pulls: Store | None = None
    """Sums of residuals in units of their errors; these have errors of 1."""
    unit: int = 0

    @property
    def n(self) -> int:
        """Number of labels."""
        return self.sums.n

    @property
    def shift(self) -> float:
        """What labels are counted from."""
        return self.sums.y_shift

    def merged(self, other: Store) -> Store:
        """The store of both sets of labels, about the shift of this one, in a unit that serves both."""
        shifts = (math.ldexp(store.shift, store.unit - 2) for store in (self, other))
        apart = _power_above(abs(next(shifts) - next(shifts)), 2)
        errors, scatter = max(self._errors, other._errors), max(self._scatter, other._scatter, apart)
        unit = _unit_for(errors, scatter, self.unit)
        one, two = self._divided(unit - self.unit), other._divided(unit - other.unit)
        for name in ("max_abs_d", "max_sigma", "max_abs_y"):
            if 0 < max(getattr(one.sums, name), getattr(two.sums, name)) < TINY:
                raise OverflowError(TOO_DIFFERENT)
        return one._joined(two)

    def _joined(self, other: Store) -> Store:
        """The store of both sets of labels, where both have one unit."""
        there = other.about(self.shift) if self.gram is not None else other
        names = ("sums", "squares", "certain", "absolute", "certain_abs", "abs_w2", "gram", "hits", "pulls")
        parts: dict[str, Any] = {name: _added(getattr(self, name), getattr(there, name)) for name in names}
        low, high = zip(self.predictions, other.predictions, strict=True)
        return replace(self, **parts, predictions=(min(low), max(high)))

    def about(self, shift: float) -> Store:
        """The bins and products with labels counted from another shift; the sums stay as they are."""
        move = self.shift - shift
        if move == 0 or self.gram is None or self.squares is None or self.certain is None:
            return self
        columns = np.eye(len(RATIO_COLUMNS))
        columns[5, 1] = columns[6, 4] = move
        columns[7, 5], columns[7, 1] = 2 * move, move * move
        products = np.eye(5)
        products[2, 0] = move
        products[4, 2], products[4, 0] = 2 * move, move * move
        squares, certain = self.squares.recombined(columns), columns @ self.certain
        return replace(self, squares=squares, certain=certain, gram=products @ self.gram @ products.T)

    # units -------------------------------------------------------------------------------------

    @property
    def ordinary(self) -> bool:
        """Whether the unit is of the size of the labels."""
        return _unit_for(self._errors, self._scatter, self.unit) == self.unit

    @property
    def _errors(self) -> float:
        """2^power is just above the largest difference and error."""
        return _power_above(max(self.sums.max_abs_d, self.sums.max_sigma), self.unit)

    @property
    def _scatter(self) -> float:
        """2^power is just above the largest label, counted from the shift; minus infinity where that was not asked for."""
        return _power_above(self.sums.max_abs_y, self.unit)

    def _divided(self, power: int) -> Store:
        """The same labels divided by 2^power once more. Pulls have no unit."""
        if power == 0:
            return self
        squares, certain, absolute, hits = self.squares, self.certain, self.absolute, self.hits
        if squares is not None and certain is not None:
            columns = np.ldexp(1.0, -power * _COLUMN_POWERS[: len(certain)])
            squares, vanished = squares.divided(2 * power, columns)
            certain = columns * certain + vanished
        if absolute is not None:  # labels whose errors vanish beside the largest no longer widen the distribution
            absolute, _ = absolute.divided(power, np.ones(len(absolute.top)))
        low, high = self.predictions
        return replace(
            self,
            sums=self.sums.divided(power),
            squares=squares,
            certain=certain,
            absolute=absolute,
            certain_abs=math.ldexp(self.certain_abs, -power),
            abs_w2=math.ldexp(self.abs_w2, -power),
            gram=None if self.gram is None else self.gram * np.ldexp(1.0, -power * _PRODUCT_POWERS),
            predictions=(math.ldexp(low, -power), math.ldexp(high, -power)),
            hits=None if hits is None else hits._replace(sums=hits.sums.divided(power)),
            unit=self.unit + power,
        )


def _added(one: Any, other: Any) -> Any:
    """Parts of two stores put together; None where one of them lacks it."""
    if one is None or other is None:
        return None
    if isinstance(one, Store):
        return one._joined(other)
    if isinstance(one, Hits):
        return Hits(*map(_added, one, other))
    return one.merged(other) if hasattr(one, "merged") else one + other


def _power_above(size: float, unit: int) -> float:
    """2^power is just above size * 2^unit; minus infinity for zero, and for NaN, which was not asked for."""
    return math.frexp(size)[1] + unit if size > 0 else -math.inf


def _unit_for(errors: float, scatter: float, wish: int) -> int:
    """The unit for numbers of these sizes: the wished one where it fits."""
    if errors == -math.inf:
        return wish if scatter == -math.inf or abs(scatter - wish) <= _REACH else int(scatter)
    if abs(errors - wish) <= _REACH and scatter - wish <= _REACH:
        return wish
    unit = int(max(errors, scatter - _REACH))
    if unit - errors > _REACH:
        raise OverflowError(TOO_DIFFERENT)
    return unit


# from labels to their store ----------------------------------------------------------------------


def store_in_unit(
    labels: Labels, needs: Collection[str], tolerance: float | None = None, known: Store | None = None
) -> Store:
    """The store of labels of any size, to be merged with what is `known` already, in the unit of that where it fits."""
    try:
        found = _divided_store(labels, 0 if known is None else known.unit, needs, tolerance, known)
        if found.ordinary:
            return found
    except (BadValues, OverflowError):
        pass  # the labels are of another size
    try:
        found = _divided_store(labels, _own_unit(labels, "ratio" in needs), needs, tolerance, None)
    except (BadValues, OverflowError):
        raise OverflowError(TOO_DIFFERENT) from None
    if not found.ordinary:
        raise OverflowError(TOO_DIFFERENT)
    return found


def _own_unit(labels: Labels, ratio: bool) -> int:
    """A unit of the size of these labels, in which the labels themselves are doubles too."""
    counted = slice(None) if labels.weight is None else labels.weight > 0
    y, p = 0.25 * labels.y[counted], 0.25 * labels.p[counted]  # differences must not overflow
    errors = max(_largest(p - y), 0.25 * _largest(np.asarray(labels.sigma)))
    scatter = _largest(y - 0.25 * typical(labels.y)) if ratio else 0.0
    unit = _unit_for(_power_above(errors, 2), _power_above(scatter, 2), 0)
    return int(max(unit, *(_power_above(_largest(values), -1000) for values in (labels.y, labels.p))))


def _largest(values: FloatArray) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _divided_store(
    labels: Labels, unit: int, needs: Collection[str], tolerance: float | None, known: Store | None
) -> Store:
    """The store of labels divided by 2^unit."""
    if unit:
        y, p, sigma = (np.ldexp(values, -unit) for values in (labels.y, labels.p, labels.sigma))
        labels = Labels(y, p, sigma if sigma.ndim else float(sigma), labels.weight)
    found = replace(summarise(labels, needs, known), unit=unit)
    y, p, sigma = labels.y, labels.p, labels.sigma
    if tolerance is not None:
        edge, nowhere = float(np.ldexp(tolerance, -unit)), np.broadcast_to(0.0, len(y))
        chances, ideal = chances_of(y, p, sigma, edge), chances_of(nowhere, nowhere, sigma, edge)
        found = replace(found, hits=Hits(normal_sums(y, p, sigma, None, edge), chances, ideal))
    if "pulls" in needs:
        pulls = Labels(np.zeros(len(y)), labels.pulls(), 1.0, labels.weight)
        found = replace(found, pulls=summarise(pulls, ("squares",), None if known is None else known.pulls))
    return found


def summarise(
    labels: Labels, needs: Collection[str], known: Store | None = None, sums: NormalSums | None = None
) -> Store:
    """The store of labels of ordinary size, about the shift of what is `known` already, above its largest labels.

    Their `sums` may be at hand; for "ratio" with those of the labels' own scatter.
    """
    ratio = "ratio" in needs
    if sums is None:
        about = None if known is None or not math.isfinite(known.shift) else known.shift
        sums = normal_sums(labels.y, labels.p, labels.sigma, labels.weight, labels=ratio, about=about)
    if not sums.ordinary(ratio):
        raise OverflowError(
            f"some labels, predictions, errors or weights are too large or too small to be summed up (beyond {SAFE:.0e}): "
            "choose other units, or use scorebars.evaluate on arrays."
        )
    squares, absolute = (None, None) if known is None else (known.squares, known.absolute)
    shifted = replace(labels, shift=sums.y_shift)

    def chunk(start: int, stop: int) -> Store:
        part = shifted.pick(slice(start, stop))
        found = Store(sums)
        if ratio or "squares" in needs:
            in_bins = binned(part, RATIO if ratio else SQUARES, squares)
            found = replace(found, squares=in_bins.bins, certain=in_bins.certain)
            if ratio:
                gram = np.zeros((5, 5))
                gram[PRODUCTS] = gram.T[PRODUCTS] = in_bins.totals
                found = replace(found, gram=gram, predictions=_two_predictions(part))
        if "absolute" in needs:
            in_bins = binned(part, FOLDED, absolute)
            squared = 0.0 if labels.weight is None else _abs_w2(part)
            found = replace(found, absolute=in_bins.bins, certain_abs=float(in_bins.totals[0]), abs_w2=squared)
        return found

    found = replace(reduce(Store._joined, over_chunks(chunk, labels.n, threads(), _PIECE)), sums=sums)
    return replace(found, abs_w2=sums.abs) if "absolute" in needs and labels.weight is None else found


def _abs_w2(labels: Labels) -> float:
    """sum w^2 |d|"""
    parts = (labels.pick(slice(start, start + _BLOCK)) for start in range(0, labels.n, _BLOCK))
    return math.fsum(float(np.add.reduce(part.weighted(part.weighted(np.abs(part.p - part.y))))) for part in parts)


def _two_predictions(labels: Labels) -> tuple[float, float]:
    """The lowest and the highest of positive weight, of a few that differ or of all."""
    p = labels.p if labels.weight is None else labels.p[labels.weight > 0]
    if p.size and p[:8].min() < p[:8].max():
        p = p[:8]
    return float(p.min(initial=np.inf)), float(p.max(initial=-np.inf))
