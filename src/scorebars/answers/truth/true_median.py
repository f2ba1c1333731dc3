"""The median size of the true residuals, from the most likely law of the true residuals.

It is where the share of true residuals within m reaches one half. Laws that no data can tell apart differ in that share, so
the interval holds every m for which one half is a possible share.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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

    @cached_property
    def _shares(self) -> dict[int, MeanOfLoss]:
        """The share of true residuals within each candidate that was tried."""
        return {}

    def _share(self, m: float) -> MeanOfLoss:
        soft = _SMOOTH * self.typical_error
        return MeanOfLoss(self.residuals, Within(m) if soft == 0 else _SoftlyWithin(m, soft), 0.0, 1.0)

    def _between(self, value: float, population: bool, level: float) -> Interval:
        """All m for which one half is a possible share of true residuals within m."""
        m = self._candidates
        steps, middle = range(len(m)), min(int(np.searchsorted(m, value)), len(m) - 1)

        def end(k: int, up: bool) -> float:
            if k not in self._shares:
                self._shares[k] = self._share(float(m[k]))
            return self._shares[k].end(level, up, population)

        first = bisect_left(steps, 0.5, hi=middle, key=lambda k: end(k, True))
        last = bisect_right(steps, 0.5, lo=middle, key=lambda k: end(k, False))
        return Interval(min(float(m[first]), value), max(float(m[min(last, len(m) - 1)]), value))

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
