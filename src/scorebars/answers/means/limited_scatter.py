"""The model's own scatter where some labels are limits: the Tobit likelihood.

Residuals are normal with variance v + s_i^2 about mu. A number d has the density of that law, a limit between l and u its
probability:

    log L = sum_numbers w [-1/2 log(v + s^2) - (d - mu)^2 / 2(v + s^2)] + sum_limits w log[Phi((u - mu)/r) - Phi((l - mu)/r)]

with r = sqrt(v + s^2). mu is 0, or with an offset the value that fits best at each v.

Residuals with heavy tails scatter the slope of log L by more than its curvature says. The profile is taken so much deeper as
the squared slopes of the labels exceed it.
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
_STEP = 1e-3
"""Of log v, to see slopes and curvature."""
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
        return self._at(x, self._best_offset(x))

    def excess(self, x: float) -> float:
        """How much more the slope scatters than it would for normal residuals (sandwich over information); at least 1."""
        mu = self._best_offset(x)
        before, here, after = (self._of_each(math.exp(x + step), mu) for step in (-_STEP, 0.0, _STEP))
        curvature = -float(self.w @ (after - 2.0 * here + before)) / _STEP**2
        slopes = self.w * (after - before) / (2.0 * _STEP)
        return max(float(slopes @ slopes) / curvature, 1.0) if curvature > 0 else 1.0

    def _best_offset(self, x: float) -> float:
        if not self.offset:
            return 0.0
        return float(minimize_scalar(lambda mu: -self._at(x, mu), bounds=(-2.0, 2.0), method="bounded").x)

    def _at(self, x: float, mu: float) -> float:
        return float(self.w @ self._of_each(math.exp(x), mu))

    def _of_each(self, v: float, mu: float) -> FloatArray:
        """The log likelihood of each label."""
        variance, number = self.s2 + v, self.low == self.high
        r, found = np.sqrt(variance), np.empty(len(self.w))
        d = self.low[number] - mu
        found[number] = -0.5 * (np.log(variance[number]) + d * d / variance[number])
        limit = ~number
        above, below = ((end[limit] - mu) / r[limit] for end in (self.high, self.low))
        found[limit] = log_between(below, above)
        return found


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
    excess = 1.0 if x == _LOWEST else tobit.excess(x)
    interval = partial(_profile, tobit, x, top, excess, unit)
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


def _profile(tobit: _Tobit, x: float, top: float, excess: float, unit: float, level: float) -> Interval:
    """All tau whose log likelihood is within chi^2_1 / 2 of the highest, more for residuals with heavy tails."""
    drop = 0.5 * excess * half_width_in_std(level) ** 2

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
