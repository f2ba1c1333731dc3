"""The median size of the true residuals, from the most likely law of the true residuals.

It is where the share of true residuals within m reaches one half. Laws that no data can tell apart differ in that share, so
the interval holds every m for which one half is a possible share.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from scorebars.answers.score import Estimate, Interval
from scorebars.answers.truth.true_residuals import MeanOfLoss, TrueResiduals
from scorebars.arrays import FloatArray
from scorebars.losses import Loss, Within

_SMOOTH = 0.5
"""Over this part of the typical label error the share within m changes: noisy labels cannot show a step."""
_MOST = 200
"""Values of m that are tried."""
_GUESSES = 3
"""How often a value may guess where to look next; after that, poor guesses are replaced by halving."""


@dataclass(frozen=True, eq=False)
class MedianOfResiduals:
    """The median size of these true residuals, and how well it is known."""

    residuals: TrueResiduals
    typical_error: float
    """A typical error of the labels."""

    @cached_property
    def _sizes(self) -> tuple[FloatArray, FloatArray]:
        """All sizes of true residuals, ascending, and how much each counts."""
        parts, points = self.residuals, self.residuals.points()
        weights = parts.fit.smooth_weights
        if points.ndim == 2:
            weights = parts.fit.cells.share[:, None] * weights
        size = np.abs(np.concatenate([points.ravel(), parts.known]))
        share = np.concatenate([parts.fitted_share * weights.ravel(), parts.known_share])
        order = np.argsort(size, kind="stable")
        return size[order], share[order]

    @property
    def value(self) -> float:
        """The median."""
        size, share = self._sizes
        reached = np.cumsum(share)
        return float(size[min(int(np.searchsorted(reached, 0.5 * reached[-1])), len(size) - 1)])

    @cached_property
    def _candidates(self) -> FloatArray:
        found = np.unique(self._sizes[0])
        return found if len(found) <= _MOST else np.quantile(found, np.linspace(0.0, 1.0, _MOST))

    def _share(self, m: float) -> MeanOfLoss:
        soft = _SMOOTH * self.typical_error
        return MeanOfLoss(self.residuals, Within(m) if soft == 0 else _SoftlyWithin(m, soft), 0.0, 1.0)

    @cached_property
    def _reached(self) -> FloatArray:
        """The share of true residuals within each candidate."""
        size, share = self._sizes
        below = np.concatenate([[0.0], np.cumsum(share)])
        return np.asarray(below[np.searchsorted(size, self._candidates, side="right")] / below[-1])

    def _between(self, value: float, population: bool, level: float) -> Interval:
        """All m for which one half is a possible share of true residuals within m."""
        m, reached = self._candidates, self._reached
        middle = min(int(np.searchsorted(m, value)), len(m) - 1)
        tried = {middle: self._share(float(m[middle]))}

        def end(k: int, up: bool) -> float:
            if k not in tried:
                tried[k] = self._share(float(m[k]))
            return tried[k].end(level, up, population)

        first = _first_at_least(lambda k: end(k, True), reached, 0.5, middle)
        last = _first_at_least(lambda k: end(k, False), reached, math.nextafter(0.5, 1.0), middle)
        return Interval(min(float(m[min(first, len(m) - 1)]), value), max(float(m[min(last, len(m) - 1)]), value))

    def estimate(self, value: float, note: str) -> Estimate:
        """`value` with the intervals that these residuals allow."""
        interval, total = (partial(self._between, value, population) for population in (False, True))
        return Estimate(value, method=self.residuals.method, note=note, interval=interval, total_interval=total)


class _SoftlyWithin(Loss):
    """1 where |y - p| is below m, 0 where it is above, straight in between."""

    of_residual = True

    def __init__(self, m: float, soft: float) -> None:
        self.m, self.soft = m, soft

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.clip(0.5 + (self.m - np.abs(y - p)) / (2.0 * self.soft), 0.0, 1.0)


def _first_at_least(value: Callable[[int], float], like: FloatArray, least: float, k: int) -> int:
    """The first step at which a rising `value` is at least `least`, their number if nowhere; it grows about as `like` does.

    A value takes a fit, so each one that was found tells where to look next.
    """
    low, high = -1, len(like)
    before: list[tuple[int, float]] = []
    while high - low > 1:
        found, width = value(k), high - low
        low, high = (low, k) if found >= least else (k, high)
        if len(before) >= _GUESSES and high - low > width // 2:
            guess = (low + high) // 2
        elif before and found != before[-1][1]:  # on the line through the last two
            guess = k + round((least - found) * (k - before[-1][0]) / (found - before[-1][1]))
        else:
            guess = int(np.searchsorted(like, like[k] + least - found))
        before.append((k, found))
        k = min(max(guess, low + 1), high - 1)
    return high
