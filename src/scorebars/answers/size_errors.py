"""What an answer gains in uncertainty where the sizes of the label errors are estimates themselves.

All sizes may share a factor that is known to a fraction r. An estimate is found with sizes times 1 + r and times 1 - r: half
of the difference is its standard deviation from that cause, whatever the metric. Sizes that were estimated label by label
move it independently, and add up in squares. Both come on top of what the label errors themselves do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scorebars.answers.intervals import IntervalAt, half_width_in_std, kept_between
from scorebars.answers.score import Estimate, Interval, UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.errors.estimated_sizes import CommonScale, EstimatedSizes
from scorebars.numerics import FIXED_SEED

if TYPE_CHECKING:
    from scorebars.answers.base import Answers

_DIRECTIONS = 12
"""How often the sizes of all errors are changed at once, each up or down at random."""

NumberOf = Callable[["Answers"], float]
"""Reads one number off the answers, such as the truth; it can be pickled."""


@dataclass(frozen=True)
class SizeError:
    """How far uncertain sizes of label errors move an estimate."""

    step: float
    """With one standard deviation more of the common factor; it has a sign."""
    scale: CommonScale | None
    apart: float
    """Standard deviation from sizes that were estimated label by label, as far as the estimate does not hold it."""
    at: Callable[[float], float] | None = None
    """The estimate with errors of other sizes, by the factor of all of them."""

    @property
    def std(self) -> float:
        return math.hypot(self.step, self.apart)

    def __sub__(self, other: SizeError) -> SizeError:
        """How far the sizes move the difference of two estimates on the same labels."""
        return SizeError(self.step - other.step, self.scale, abs(self.apart - other.apart))

    def reach(self, level: float) -> tuple[float, float]:
        """How far down and up the estimate may have to move."""
        z = half_width_in_std(level)
        down = up = 0.0
        if self.scale is not None and self.step:
            more, less = (abs(self.step) / (2.0 * self.scale.error) * part for part in self.scale.reach(level))
            down, up = (more, less) if self.step < 0 else (less, more)
            if self.at is not None:
                down, up = self._bent(level, down, up)
        return math.hypot(down, z * self.apart), math.hypot(up, z * self.apart)

    def _bent(self, level: float, down: float, up: float) -> tuple[float, float]:
        """The reach of an estimate that does not move in proportion to the error variance; never less than in proportion."""
        assert self.scale is not None and self.at is not None
        more, less = self.scale.reach(level)
        here = self.at(1.0)
        moved = [self.at(math.sqrt(max(1.0 + change, 0.0))) - here for change in (more, -less)]
        moved = [change for change in moved if math.isfinite(change)]
        return max(down, -min(moved, default=0.0)), max(up, max(moved, default=0.0))


def size_error(answers: Answers, errors: MeasurementError, ask: NumberOf, each: bool) -> SizeError:
    """What these uncertain sizes add to the error of an answer; `each`: also those that were estimated label by label."""
    scale = errors.common_scale
    step = 0.0 if scale is None else halved_change(answers, scale.error, ask)
    apart = answers._size_std_apart(errors, ask) if each and errors.estimated else 0.0
    return SizeError(step, scale, apart, None if scale is None else partial(_value_at, answers, ask))


def _value_at(answers: Answers, ask: NumberOf, factor: float) -> float:
    """The answer with errors `factor` times as large; nan where it has no value."""
    try:
        return float(ask(answers if factor == 1.0 else answers._resized(factor)))
    except UndefinedEstimate:
        return math.nan


def halved_change(answers: Answers, step: FloatArray | float, ask: NumberOf) -> float:
    """Half of how far the answer moves between sizes times 1 - step and times 1 + step; where one has none, from here."""
    found = []
    for sign in (1.0, -1.0):
        try:
            found.append(float(ask(answers._resized(np.maximum(1.0 + sign * step, 0.0)))))
        except UndefinedEstimate:
            found.append(math.nan)
    if all(map(math.isfinite, found)):
        return (found[0] - found[1]) / 2
    here = float(ask(answers))
    up, down = (found[0] - here, here - found[1])
    return up if math.isfinite(up) else down if math.isfinite(down) else 0.0


def of_single_sizes(answers: Answers, errors: MeasurementError, ask: NumberOf) -> float:
    """Standard deviation from sizes that were estimated label by label, or pooled from all labels."""
    assert errors.normal is not None and errors.normal.scatter is not None
    return from_single_sizes(errors.normal.scatter, lambda step: halved_change(answers, step, ask))


def from_single_sizes(sizes: EstimatedSizes, halved: Callable[[FloatArray], float]) -> float:
    """Standard deviation of an estimate from such sizes; `halved` says how far it moves with given relative steps of them.

    Single sizes err independently. Move all at once, each up or down at random: the mean square of the change is the sum of
    the squares that each size would give alone.
    """
    rng = np.random.default_rng(FIXED_SEED)
    signs = rng.choice([-1.0, 1.0], (_DIRECTIONS, len(sizes.sigma)))
    square = float(np.mean([halved(row * sizes.own_steps) ** 2 for row in signs])) if np.any(sizes.weight) else 0.0
    if (common := sizes.common_steps) is not None:
        square += halved(common) ** 2
    return math.sqrt(square)


def widened(found: Estimate, by: SizeError, limits: tuple[float, float], apart_of_items: bool = True) -> Estimate:
    """The estimate with what the sizes add; with `apart_of_items` the scatter of the items holds those label by label."""
    if by.std == 0:
        return found
    note = found.note
    if by.scale is not None:
        note = "; ".join([*([note] if note else []), f"{by.scale.text}, which adds ± {abs(by.step):.2g}"])
    population = replace(by, apart=0.0) if apart_of_items else by
    total = None if found._total is None else partial(_wider, found._total, float(found), population, limits)
    interval = partial(_wider, found._interval, float(found), by, limits)
    return found._changed(std=partial(_std_with, found, by.std), note=note, interval=interval, total_interval=total)


def _std_with(found: Estimate, more: float) -> float:
    return math.hypot(found.std, more)


def _wider(interval: IntervalAt, value: float, by: SizeError, limits: tuple[float, float], level: float) -> Interval:
    """Both ends moved away from the estimate, in squares."""
    (low, high), (down, up) = interval(level), by.reach(level)
    inside = min(max(value, limits[0]), limits[1])
    below, above = math.hypot(max(inside - low, 0.0), down), math.hypot(max(high - inside, 0.0), up)
    return kept_between(inside - below, inside + above, *limits)
