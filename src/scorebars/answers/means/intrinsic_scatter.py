"""How large is the model's own error, beyond the errors of labels and predictions?

Two estimates of the scatter tau, where residuals are normal with variance tau^2 + s_i^2: maximum likelihood with the
likelihood-profile interval, and the tau that makes chi^2 equal to the number of labels, with the chi^2 law's interval.

Both estimates stand for any law of residuals, their error bars do not: heavy tails scatter tau by more. So the drop in log
likelihood, and the variance of chi^2, are multiplied by how much more the labels' scores scatter than normal ones would, and
the upper end lies farther out by their skewness, since few labels seldom show the largest residuals (`Tails`).
Where the residuals are seen to follow the label errors, one tau does not describe them: the note says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.special import chdtri, ndtr

from scorebars.answers.intervals import IntervalAt, Symmetric, half_width_in_std, std_of
from scorebars.answers.score import Estimate, Interval, UndefinedEstimate
from scorebars.answers.size_errors import SizeError, from_single_sizes, widened
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.moments.deconvolution import fitted_trend
from scorebars.moments.extra_variance import Scatter, Tails
from scorebars.numerics.roots import crossing

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
_LOWEST = -690.0
"""The logarithm of the smallest scatter that is looked at."""


def most_likely(scatter: Scatter, unit: float) -> Estimate:
    """Maximum likelihood, with its likelihood-profile interval."""
    exact = scatter.d[scatter.s2 == 0]
    if len(exact) and not np.any(exact != (exact[0] if scatter.offset else 0.0)):
        if scatter.offset and len(exact) == 1:
            raise UndefinedEstimate(
                "with an offset and one label without error the likelihood grows without bound where the offset meets "
                "that label: give it an error, or use method='chi2'."
            )
        nothing = Symmetric(0.0, 0.0)
        return Estimate(0.0, 0.0, method="ml", note=_EXACT, interval=nothing, total_interval=nothing)
    v = _highest(scatter)
    tails, curvature = scatter.tails(v), scatter.curvature(v)
    std = unit * math.sqrt(tails.excess / curvature) if v > 0 and curvature > 0 else None
    return _estimate(scatter, unit, v, "ml", std, tails, partial(_profile, scatter, v, unit))


def of_uncertain_sizes(at: Callable[[FloatArray | float], Estimate], errors: MeasurementError) -> Estimate:
    """The estimate at the given sizes of the label errors, wider where these are estimates; `at` gives it at others."""
    found = at(1.0)
    if errors.common_scale is None and not errors.estimated:
        return found

    def moved(step: FloatArray | float) -> float:
        return float(at(np.maximum(1.0 + step, 0.0))) - float(at(np.maximum(1.0 - step, 0.0)))

    scale, apart = errors.common_scale, 0.0
    if errors.normal is not None and errors.normal.scatter is not None:
        apart = from_single_sizes(errors.normal.scatter, lambda step: moved(step) / 2)
    return widened(found, SizeError(0.0 if scale is None else moved(scale.error) / 2, scale, apart), (0.0, math.inf))


def unit_chi_squared(scatter: Scatter, unit: float) -> Estimate:
    """The scatter that makes chi^2 as large as the number of labels, with the interval of the chi^2 law."""
    v = _with_chi_squared(scatter, scatter.labels)
    tails, std = scatter.tails(v, of_chi_squared=True), None
    if v > 0:
        std = unit * math.sqrt(2.0 * scatter.labels * tails.excess) / scatter.steepness(v) / (2.0 * math.sqrt(v))
    return _estimate(scatter, unit, v, "chi2", std, tails, partial(_unit_interval, scatter, v, unit))


def _estimate(
    scatter: Scatter, unit: float, v: float, method: str, std: float | None, tails: Tails, interval: IntervalAt
) -> Estimate:
    """tau = sqrt(v). Without a std it is half the interval at one standard deviation."""
    note = _NONE if v == 0 else _growing(scatter) or (_HEAVY if tails.seen > _MUCH else "")
    known: float | Callable[[], float] = partial(std_of, interval, v) if std is None else std
    value = unit * math.sqrt(v)
    return Estimate(value, known, method=method, note=note, interval=interval, total_interval=interval, sampled=True)


def _growing(scatter: Scatter) -> str:
    """A warning where the scatter follows the label errors, else nothing."""
    erring = scatter.s2 > _SMALLEST
    if int(erring.sum()) < _FEWEST:
        return ""
    trend = fitted_trend(scatter.d[erring], np.sqrt(scatter.s2[erring]), scatter.w[erring])
    if trend is None or not trend.seen or abs(trend.log_variance[1]) < 2.0 * trend.log_variance_errors[0]:
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
    best = int(np.argmax([coarse.log_likelihood(float(v)) for v in grid]))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    while scatter.slope(high) > 0:
        high *= 1.5
    while scatter.slope(low) < 0 and low >= grid[0]:
        low /= 1.5
    if scatter.slope(low) <= 0:
        return 0.0
    v = math.exp(crossing(lambda x: -scatter.slope(math.exp(x)), math.log(low), math.log(high)))
    return v if scatter.log_likelihood(v) > scatter.log_likelihood(0.0) else 0.0


def _profile(scatter: Scatter, v: float, unit: float, level: float) -> Interval:
    """All tau whose log likelihood is within chi^2_1 / 2 of the highest, more for residuals with heavy tails and above."""
    tails, top, z = scatter.tails(v), scatter.log_likelihood(v), half_width_in_std(level)
    below, above = (0.5 * tails.excess * reach * reach for reach in (z, tails.upper(z)))

    def fallen(x: float) -> float:
        return top - scatter.log_likelihood(math.exp(x))

    # the log likelihood is below -1/2 labels log v, which falls by enough at the latest here
    start, last = math.log(v) if v > 0 else _LOWEST, min(2.0 * (above - top) / scatter.labels, -_LOWEST)
    high = math.exp(crossing(lambda x: fallen(x) - above, start, max(start, last), rtol=1e-12))
    low = 0.0
    if v > 0 and top - scatter.log_likelihood(0.0) > below:
        low = math.exp(-crossing(lambda x: fallen(-x) - below, -start, -_LOWEST, rtol=1e-12))
    return Interval(unit * math.sqrt(low), unit * math.sqrt(high))


def _with_chi_squared(scatter: Scatter, target: float) -> float:
    """The v >= 0 at which chi^2 falls to the target; 0 if it is there already."""
    if scatter.chi_squared(0.0) <= target:
        return 0.0
    last = math.log(scatter.widest) + math.log(max(scatter.labels / target, 1.0))  # chi^2 <= labels * widest / v
    x = crossing(lambda x: math.log(target / scatter.chi_squared(math.exp(x))), _LOWEST, last)
    return math.exp(x) if x > _LOWEST else 0.0


def _unit_interval(scatter: Scatter, v: float, unit: float, level: float) -> Interval:
    """All tau at which chi^2 is neither too large nor too small for its law."""
    tail, tails = (1.0 - level) / 2, scatter.tails(v, of_chi_squared=True)
    # a chi^2 that scatters more is like one of fewer labels
    df = (scatter.labels - (1.0 if scatter.offset else 0.0)) / tails.excess
    farther = float(ndtr(tails.upper(half_width_in_std(level))))
    low, high = (_with_chi_squared(scatter, tails.excess * float(chdtri(df, q))) for q in (tail, farther))
    return Interval(unit * math.sqrt(min(low, v)), unit * math.sqrt(max(high, v)))
