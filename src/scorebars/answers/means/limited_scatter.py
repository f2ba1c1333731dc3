"""The model's own scatter where some labels are limits: the Tobit likelihood.

Residuals are normal with variance v + s_i^2 about mu. A number d has the density of that law, a limit between l and u its
probability:

    log L = sum_numbers w [-1/2 log(v + s^2) - (d - mu)^2 / 2(v + s^2)] + sum_limits w log[Phi((u - mu)/r) - Phi((l - mu)/r)]

with r = sqrt(v + s^2). mu is 0, or with an offset the value that fits best at each v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from scorebars.answers.intervals import half_width_in_std, std_of
from scorebars.answers.score import Estimate, Interval, UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.errors import Censored
from scorebars.numerics.roots import crossing
from scorebars.numerics.special import log_between

_LOWEST = -40.0
"""The logarithm of the smallest v that is tried, in units of the largest squared residual."""
_HIGHEST = 8.0
_NONE = "the residuals are no larger than the errors alone would make them"


@dataclass(frozen=True, eq=False)
class _Tobit:
    """Ends of the residuals, error variances and weights, in units of the largest residual or error."""

    low: FloatArray
    high: FloatArray
    s2: FloatArray
    w: FloatArray
    offset: bool

    def log_likelihood(self, x: float) -> float:
        """At v = exp(x), with the offset that fits best."""
        if not self.offset:
            return self._at(math.exp(x), 0.0)
        found = minimize_scalar(lambda mu: -self._at(math.exp(x), mu), bounds=(-2.0, 2.0), method="bounded")
        return -float(found.fun)

    def _at(self, v: float, mu: float) -> float:
        variance = self.s2 + v
        r = np.sqrt(variance)
        number = self.low == self.high
        d = self.low[number] - mu
        total = -0.5 * float(np.sum(self.w[number] * (np.log(variance[number]) + d * d / variance[number])))
        limit = ~number
        above, below = ((end[limit] - mu) / r[limit] for end in (self.high, self.low))
        return total + float(np.sum(self.w[limit] * log_between(below, above)))


def limited_scatter(
    labels: Censored, p: FloatArray, s: FloatArray, weight: FloatArray | None, offset: bool
) -> Estimate:
    """Maximum likelihood with its profile interval; `s` holds the errors of labels and predictions."""
    w = np.ones(len(p)) if weight is None else weight
    keep = w > 0
    low, high, s, w = (x[keep] for x in (labels.lower - p, labels.upper - p, s, w))
    w = w * (float(np.sum(w)) / float(np.sum(np.square(w))))
    if int(np.sum(low == high)) < 2:
        raise UndefinedEstimate(
            "fewer than two labels are numbers: limits alone do not show how much residuals scatter."
        )
    ends = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)], s])
    unit = float(np.max(np.abs(ends))) or 1.0
    tobit = _Tobit(low / unit, high / unit, np.square(s / unit), w, offset)
    grid = np.linspace(_LOWEST, _HIGHEST, 97)
    values = np.array([tobit.log_likelihood(float(x)) for x in grid])
    best = int(np.argmax(values))
    if best == 0 or not values[best] > values[0] + 1e-9:
        x, top = _LOWEST, float(values[0])
    else:
        between = (float(grid[best - 1]), float(grid[min(best + 1, len(grid) - 1)]))
        found = minimize_scalar(
            lambda x: -tobit.log_likelihood(x), bounds=between, method="bounded", options={"xatol": 1e-9}
        )
        x, top = float(found.x), -float(found.fun)
    interval = partial(_profile, tobit, x, top, unit)
    counts = labels.said()
    note = f"{counts}; {_NONE}" if x == _LOWEST else counts
    value = 0.0 if x == _LOWEST else unit * math.exp(x / 2)
    return Estimate(
        value,
        partial(std_of, interval, value),
        method="ml",
        note=note,
        interval=interval,
        total_interval=interval,
        sampled=True,
    )


def _profile(tobit: _Tobit, x: float, top: float, unit: float, level: float) -> Interval:
    """All tau whose log likelihood is within chi^2_1 / 2 of the highest."""
    drop = 0.5 * half_width_in_std(level) ** 2

    def too_unlikely(x: float) -> float:
        return top - tobit.log_likelihood(x) - drop

    last = x + 1.0
    while too_unlikely(last) < 0 and last < 60.0:
        last += 2.0
    high = math.exp(crossing(too_unlikely, x, last) / 2)
    low = 0.0
    if x > _LOWEST and too_unlikely(_LOWEST) > 0:
        low = math.exp(-crossing(lambda t: too_unlikely(-t), -x, -_LOWEST) / 2)
    return Interval(unit * low, unit * high)
