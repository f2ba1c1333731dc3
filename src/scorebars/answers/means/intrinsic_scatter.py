"""How large is the model's own error, beyond the errors of labels and predictions?

Two estimates of the scatter tau, where residuals are normal with variance tau^2 + s_i^2: maximum likelihood with the
likelihood-profile interval, and the tau that makes chi^2 equal to the number of labels, with the chi^2 law's interval.

Both estimates stand for any law of residuals, their error bars do not: heavy tails scatter tau by more. So the drop in log
likelihood, and the variance of chi^2, are multiplied by how much more the labels' scores scatter than normal ones would.
Where the residuals are seen to follow the label errors, one tau does not describe them: the note says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, ndtri

from scorebars.moments.deconvolution import fitted_trend
from scorebars.moments.extra_variance import Scatter
from scorebars.score import Estimate, Interval, UndefinedEstimate

_NONE = "the residuals are no larger than the errors alone would make them"
_EXACT = "labels without error are met exactly, and the likelihood grows without bound towards no scatter"
_HEAVY = (
    "the residuals have heavy tails: the interval is widened by how much their squares scatter, and still holds less often "
    "than its level where that has no finite variance"
)
_MUCH = 2.0
"""Squares of residuals that scatter by this many times more than normal ones have heavy tails."""
_FEWEST = 20
"""Fewer labels do not show whether their scatter follows their errors."""
_SMALLEST = 1e-30
"""Of error variances, relative to the largest residual or error."""
_ONE_SIGMA = math.erf(math.sqrt(0.5))


# maximum likelihood ----------------------------------------------------------------------------


def most_likely(scatter: Scatter, unit: float) -> Estimate:
    """Maximum likelihood, with its likelihood-profile interval."""
    exact = scatter.d[scatter.s2 == 0]
    if len(exact) and not np.any(exact != (exact[0] if scatter.offset else 0.0)):
        if scatter.offset and len(exact) == 1:
            raise UndefinedEstimate(
                "with an offset and one label without error the likelihood grows without bound where the offset meets "
                "that label: give it an error, or use method='chi2'."
            )
        nothing = _Nothing()
        return Estimate(0.0, 0.0, method="ml", note=_EXACT, interval=nothing, total_interval=nothing)
    v = _highest(scatter)
    profile = Profile(scatter, v, unit)
    curvature = scatter.curvature(v)
    std: float | Callable[[], float] = profile.one_sigma
    if v > 0 and curvature > 0:
        std = unit * math.sqrt(scatter.excess(v) / curvature)
    note = _NONE if v == 0 else _growing(scatter) or (_HEAVY if scatter.excess(v) > _MUCH else "")
    return Estimate(unit * math.sqrt(v), std, method="ml", note=note, interval=profile, total_interval=profile)


def _growing(scatter: Scatter) -> str:
    """A warning where the scatter follows the label errors, else nothing."""
    erring = scatter.s2 > _SMALLEST
    if int(erring.sum()) < _FEWEST:
        return ""
    trend = fitted_trend(scatter.d[erring], np.sqrt(scatter.s2[erring]), scatter.w[erring])
    if trend is None or not trend.seen or abs(trend.log_variance[1]) < 2.0 * trend.errors[1]:
        return ""
    return (
        f"the scatter is seen to follow the label errors (as their power {trend.log_variance[1] / 2:.2g}), so one number "
        "does not describe it and the interval holds only that of the labels that weigh most: look at precise and imprecise "
        "labels apart"
    )


def _highest(scatter: Scatter) -> float:
    """The v >= 0 of the highest log likelihood: a coarse search over all scales, then the zero of the slope."""
    if scatter.widest == 0:
        return 0.0
    coarse = scatter.coarse()
    grid = scatter.widest * np.exp(np.linspace(-48.0, 0.0, 97))
    heights = [coarse.log_likelihood(float(v)) for v in grid]
    best = int(np.argmax(heights))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    while scatter.slope(high) > 0:
        high *= 1.5
    while scatter.slope(low) < 0 and low >= grid[0]:
        low /= 1.5
    if scatter.slope(low) <= 0:
        return 0.0
    v = math.exp(brentq(lambda x: scatter.slope(math.exp(x)), math.log(low), math.log(high), xtol=1e-14, rtol=1e-15))
    return v if scatter.log_likelihood(v) > scatter.log_likelihood(0.0) else 0.0


@dataclass(frozen=True, eq=False)
class Profile:
    """All tau whose log likelihood is within chi^2_1 / 2 of the highest, more for residuals with heavy tails."""

    scatter: Scatter
    v: float
    unit: float

    def _cost(self, v: float) -> float:
        return self.scatter.log_likelihood(self.v) - self.scatter.log_likelihood(v)

    def __call__(self, level: float) -> Interval:
        drop = 0.5 * float(ndtri((1.0 + level) / 2)) ** 2 * self.scatter.excess(self.v)

        def excess(v: float) -> float:
            return min(self._cost(v) - drop, 1e300)

        return Interval(self.unit * math.sqrt(self._low(excess)), self.unit * math.sqrt(self._high(excess)))

    def _low(self, excess: Callable[[float], float]) -> float:
        if self.v == 0 or excess(0.0) <= 0:
            return 0.0
        inside, outside = self.v, self.v / 1.2
        while excess(outside) <= 0:
            inside, outside = outside, outside / 1.2
        return _between(excess, outside, inside)

    def _high(self, excess: Callable[[float], float]) -> float:
        inside = self.v
        outside = 1.2 * self.v if self.v > 0 else 1e-12 * max(self.scatter.widest, float(self.scatter.s2.max()))
        while excess(outside) <= 0:
            inside, outside = outside, (1.2 if self.v > 0 else 2.0) * outside
        return _between(excess, inside, outside)

    def one_sigma(self) -> float:
        """The half length of the interval at one standard deviation; its upper end where the lower one is 0."""
        low, high = self(_ONE_SIGMA)
        return high if self.v == 0 else (high - low) / 2


def _between(excess: Callable[[float], float], a: float, b: float) -> float:
    return float(brentq(excess, a, b, xtol=1e-13 * max(a, b), rtol=1e-12))


@dataclass(frozen=True)
class _Nothing:
    """The interval that is the point 0."""

    def __call__(self, level: float) -> Interval:
        return Interval(0.0, 0.0)


# chi squared -----------------------------------------------------------------------------------


def unit_chi_squared(scatter: Scatter, unit: float) -> Estimate:
    """The scatter that makes chi^2 as large as the number of labels, with the interval of the chi^2 law."""
    v = _with_chi_squared(scatter, scatter.labels)
    solved = ChiSquaredInterval(scatter, v, unit)
    std: float | Callable[[], float] = solved.one_sigma
    if v > 0:
        spread = math.sqrt(2.0 * scatter.labels * scatter.excess_chi_squared(v))
        std = unit * spread / scatter.steepness(v) / (2.0 * math.sqrt(v))
    note = _NONE if v == 0 else _growing(scatter) or (_HEAVY if scatter.excess_chi_squared(v) > _MUCH else "")
    return Estimate(unit * math.sqrt(v), std, method="chi2", note=note, interval=solved, total_interval=solved)


def _with_chi_squared(scatter: Scatter, target: float) -> float:
    """The v >= 0 at which chi^2 falls to the target; 0 if it is there already."""
    if scatter.chi_squared(0.0) <= target:
        return 0.0
    high = scatter.widest
    while scatter.chi_squared(high) > target:
        high *= 4.0
    low = high
    while scatter.chi_squared(low) <= target:
        low /= 4.0
        if low < 1e-300:
            return 0.0
    return math.exp(
        brentq(
            lambda x: scatter.chi_squared(math.exp(x)) - target, math.log(low), math.log(high), xtol=1e-14, rtol=1e-15
        )
    )


@dataclass(frozen=True, eq=False)
class ChiSquaredInterval:
    """All tau at which chi^2 is neither too large nor too small for its law."""

    scatter: Scatter
    v: float
    unit: float

    def __call__(self, level: float) -> Interval:
        tail = (1.0 - level) / 2
        # a chi^2 that scatters more is like one of fewer labels
        excess = self.scatter.excess_chi_squared(self.v)
        df = (self.scatter.labels - (1.0 if self.scatter.offset else 0.0)) / excess
        low = _with_chi_squared(self.scatter, excess * float(chdtri(df, tail)))
        high = _with_chi_squared(self.scatter, excess * float(chdtri(df, 1.0 - tail)))
        return Interval(self.unit * math.sqrt(min(low, self.v)), self.unit * math.sqrt(max(high, self.v)))

    def one_sigma(self) -> float:
        """The upper end of the interval at one standard deviation."""
        return self(_ONE_SIGMA).high
