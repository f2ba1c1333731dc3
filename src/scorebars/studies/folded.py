"""Labels that an accumulator no longer keeps, summed up for each model, in a unit in which their powers fit doubles.

The unit is a power of two, so that going from one to another is exact: labels of 1e-19 or 1e30 are as good as others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorebars.engines.extended import ExtendedSummary
from scorebars.engines.hits import Hits
from scorebars.engines.names import LARGEST, SUMS
from scorebars.engines.summary import Summary
from scorebars.engines.sums import NormalSums

REACH = 58
"""The largest difference or error stays within 2^58 of the unit, and the labels below that: then fourth powers fit."""
LOST = -180
"""Below 2^-180 of the unit fourth powers lose digits."""
TOO_DIFFERENT = (
    "labels, residuals and errors differ too much in size to be summed up together (by more than 1e35): check their "
    "units, or use scorebars.evaluate on arrays."
)
_COLUMNS = np.array([0, 0, 2, 2, 1, 1, 2, 2])
"""Powers of the unit in the columns of `engines.binning.RATIO_COLUMNS`, of which SQUARE_COLUMNS are the first."""
_PRODUCTS = np.array([0, 1, 1, 2, 2])
"""The same in the products of `Summary.gram`."""


@dataclass(frozen=True)
class Folded:
    """The labels of all models."""

    models: dict[str, Any]
    """InUnit or ClassCounts."""
    n: int

    def merged(self, other: Folded) -> Folded:
        """Of both sets of labels."""
        models = {name: part.merged(other.models[name]) for name, part in self.models.items()}
        return Folded(models, self.n + other.n)


@dataclass(frozen=True)
class InUnit:
    """One model's labels, divided by 2^unit and summed up."""

    summary: Summary
    unit: int = 0

    @property
    def n(self) -> int:
        """Number of labels."""
        return self.summary.sums.n

    @property
    def errors(self) -> int | None:
        """2^power is just above the largest difference and error; None if all are 0."""
        return power_above(max(self.summary.sums.max_abs_d, self.summary.sums.max_sigma), self.unit)

    @property
    def scatter(self) -> int | None:
        """The same of the labels themselves, counted from the shift; None where that was not asked for."""
        return power_above(self.summary.sums.max_abs_y, self.unit)

    @property
    def ordinary(self) -> bool:
        """Whether the unit is of the size of the labels."""
        return unit_for(self.errors, self.scatter, self.unit) == self.unit

    def merged(self, other: InUnit) -> InUnit:
        """Of both sets of labels."""
        unit = unit_for(
            _largest(self.errors, other.errors), _largest(self.scatter, other.scatter, self._way(other)), self.unit
        )
        one, two = (part.moved(unit).summary for part in (self, other))
        for name in ("max_abs_d", "max_sigma", "max_abs_y"):
            if 0 < max(getattr(one.sums, name), getattr(two.sums, name)) < math.ldexp(1.0, LOST):
                raise OverflowError(TOO_DIFFERENT)
        return InUnit(one.merged(two), unit)

    def _way(self, other: InUnit) -> int | None:
        """2^power is just above the distance between the two shifts."""
        one, two = (math.ldexp(part.summary.shift, part.unit - 2) for part in (self, other))
        return power_above(abs(one - two), 2)

    def moved(self, unit: int) -> InUnit:
        """The same labels in another unit."""
        return self if unit == self.unit else InUnit(_divided(self.summary, unit - self.unit), unit)


def power_above(size: float, unit: int) -> int | None:
    """2^power is just above size * 2^unit; None for zero, and for NaN, which was not asked for."""
    return math.frexp(size)[1] + unit if size > 0 else None


def unit_for(errors: int | None, scatter: int | None, wish: int) -> int:
    """The unit for numbers of these sizes: the one that is wished for where that serves."""
    if errors is None:
        return wish if scatter is None or abs(scatter - wish) <= REACH else scatter
    if abs(errors - wish) <= REACH and (scatter is None or scatter - wish <= REACH):
        return wish
    unit = errors if scatter is None else max(errors, scatter - REACH)
    if unit - errors > REACH:
        raise OverflowError(TOO_DIFFERENT)
    return unit


def _largest(*powers: int | None) -> int | None:
    return max((power for power in powers if power is not None), default=None)


def _divided(part: Summary, power: int) -> Summary:
    """The summary of the same labels divided by 2^power."""
    squares, certain = part.squares, part.certain
    if squares is not None and certain is not None:
        columns = np.ldexp(1.0, -power * _COLUMNS[: len(certain)])
        squares, vanished = squares.divided(2 * power, columns)
        certain = columns * certain + vanished
    absolute = part.absolute
    if absolute is not None:  # labels whose errors vanish beside the largest no longer widen the law
        absolute, _ = absolute.divided(power, np.ones(absolute.columns))
    low, high = part.predictions
    found = Summary(
        _divided_sums(part.sums, power),
        squares,
        certain,
        absolute,
        math.ldexp(part.certain_abs, -power),
        math.ldexp(part.abs_w2, -power),
        None if part.gram is None else part.gram * np.ldexp(1.0, -power * np.add.outer(_PRODUCTS, _PRODUCTS)),
        (math.ldexp(low, -power), math.ldexp(high, -power)),
    )
    if not isinstance(part, ExtendedSummary):
        return found
    hits = part.hits
    if hits is not None:
        hits = Hits(_divided_sums(hits.sums, power), hits.chances, hits.ideal)
    return ExtendedSummary.of(found, hits, part.pulls)  # pulls have no unit


def _divided_sums(sums: NormalSums, power: int) -> NormalSums:
    units = {name: unit.label for name, unit in (SUMS | LARGEST).items()} | {"tolerance": 1, "y_shift": 1}
    moved: dict[str, Any] = {name: math.ldexp(getattr(sums, name), -power * unit) for name, unit in units.items()}
    return sums._replace(**moved)
