"""Estimates against the truth whose error rates were counted from checked labels.

The estimate is a function of the rates. To first order its variance grows by g' V g, with g its slopes by the rates and V
their multinomial covariance: that is in `std`. Few checked labels, or none found wrong, make V useless, so intervals do
not rest on it: rates are drawn from what the counts allow, the estimate is found with each of them, and to each belongs
the interval that it would have if these rates were known. The quantiles of all of them are the ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from scorebars.answers.intervals import kept_between
from scorebars.answers.score import Interval
from scorebars.arrays import FloatArray
from scorebars.errors.checked_rates import CheckedRates, DrawnRates, evenly_spread
from scorebars.numerics import FIXED_SEED


@dataclass(frozen=True, eq=False)
class OverRates:
    """The interval of an estimate over drawn error rates.

    The variance of the estimate with known rates is V(x) = fixed + curve (x - low)(high - x), as in `ScoreInterval`; its
    fixed part is that of each draw.
    """

    value: float
    """The estimate at the counted rates; always inside."""
    values: FloatArray
    """The estimate with each of the drawn rates; nan where there is none."""
    fixed: FloatArray
    slopes: FloatArray
    """Derivatives of the estimate with respect to the rates, (c, j)."""
    checked: CheckedRates | DrawnRates
    curve: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    df: float = math.inf
    third: float = 0.0
    """Third central moment of the estimate at the counted rates: few labels are wrong, and each counts whole."""

    def __call__(self, level: float) -> Interval:
        inside = min(max(self.value, self.low), self.high)
        drawn = self._drawn()
        if not drawn.size:
            return Interval(self.low, self.high)
        low, high = np.quantile(drawn, [(1.0 - level) / 2, (1.0 + level) / 2])
        return kept_between(min(float(low), inside), max(float(high), inside), self.low, self.high)

    def variances(self) -> FloatArray:
        """The variance of the estimate with each of the drawn rates."""
        if not self.curve:
            return self.fixed
        inside = np.clip(self.values, self.low, self.high) - self.low
        bent = 1.0 - inside / (self.high - self.low) if math.isfinite(self.high) else 1.0
        return np.asarray(
            self.fixed + self.curve * (self.high - self.low if math.isfinite(self.high) else 1.0) * inside * bent
        )

    def _drawn(self) -> FloatArray:
        """For each of the drawn rates a value that its own interval ends at, at levels spread evenly over all."""
        u = evenly_spread(len(self.values), 1, np.random.default_rng(FIXED_SEED + 1))[:, 0]
        z = self._leaning(ndtri(u) if math.isinf(self.df) else stdtrit(self.df, u))
        known = np.isfinite(self.values) & np.isfinite(self.fixed)
        values, fixed, z = self.values[known] - self.checked.too_far(self.slopes), self.fixed[known], z[known]
        if math.isinf(self.low):
            return np.asarray(values + z * np.sqrt(fixed))
        width, bent = (self.high - self.low, 1.0) if math.isfinite(self.high) else (1.0, 0.0)
        x = np.clip((values - self.low) / width, 0.0, 1.0 if bent else math.inf)
        fixed, curve = z * z * fixed / width**2, z * z * self.curve
        reach = np.sqrt(curve * (x * (1.0 - bent * x) + curve / 4) + fixed * (1.0 + bent * curve))
        return np.asarray(self.low + width * (x + curve / 2 + np.sign(z) * reach) / (1.0 + bent * curve))

    def _leaning(self, z: FloatArray) -> FloatArray:
        """Quantiles of the truth about the estimate, farther out on the side where few wrong labels may put it.

        By Cornish and Fisher to first order in the skewness; the other side would come closer, and stays.
        """
        variance = float(np.nanmean(self.variances()))
        skewness = self.third / variance**1.5 if variance > 0 else 0.0
        farther = np.maximum(np.square(z) - 1.0, 0.0) / 6.0
        return np.asarray(z + np.where(z * skewness < 0, -skewness * farther, 0.0))


def said_of_rates(checked: CheckedRates | DrawnRates, rates: float, variance: float) -> str:
    """What to know about an estimate whose error rates were counted: they add the part `rates` to its variance."""
    share = f", which make {rates / variance:.0%} of its variance" if variance > 0 else ""
    alike = "; some of them were all shown alike, so trust the interval more than the std" if checked.all_alike else ""
    return f"the error rates come from {checked.source}{share}{alike}"
