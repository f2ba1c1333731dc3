"""The probability integral transform of labels, and the four exact tests of a calibrated forecast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from zlib import crc32

import numpy as np
from scipy.special import chdtr, chdtrc, ndtr, ndtri

from scorebars.arrays import FloatArray
from scorebars.studies.calibration.coverage_curve import kolmogorov_pvalue
from scorebars.studies.calibration.judged_forecast import JudgedForecast

_SEED = 20_261_116
"""Of the draws that break ties: with the labels in it the same data give the same digits, and other data other draws."""
DOUBT = 0.015
"""A calibrated forecast shows the smallest of the four p-values below this in 5 % of all cases, whatever n."""


class SpreadTest(NamedTuple):
    """Do labels scatter about their forecasts as these say?"""

    pvalue: float
    narrow: bool
    """Whether labels lie farther from the forecasts than these allow."""


@dataclass(frozen=True, eq=False)
class Pit:
    """Where each label lies in its forecast: uniform if forecast and label errors are right."""

    judged: JudgedForecast

    @cached_property
    def values(self) -> FloatArray:
        """The probability of a label below the one at hand, (n,)."""
        judged = self.judged
        if judged.correlated:
            return np.asarray(ndtr(self.normal_scores))
        rng = np.random.default_rng((_SEED, crc32(np.ascontiguousarray(judged.y).tobytes())))
        if judged.errors is None:
            return judged.forecast.pit(judged.y, rng)
        return judged.forecast.pit_through(judged.errors.around_truth(), judged.y, rng)

    @cached_property
    def normal_scores(self) -> FloatArray:
        """The PIT as a standard normal variable. Correlated label errors: residuals made independent of each other."""
        if self.judged.correlated:
            values, vectors = self.judged.axes
            return -(vectors @ (self.judged.in_units_of_spread.residual / np.sqrt(1.0 + values)))
        return np.asarray(ndtri(np.clip(self.values, 1e-300, 1.0 - 1e-16)))

    @cached_property
    def reached(self) -> FloatArray:
        """The level of the central interval on whose end each label lies, sorted."""
        return np.sort(np.abs(2.0 * self.values - 1.0))

    @cached_property
    def _bias_direction(self) -> FloatArray:
        """How normal scores move with a common bias, as a vector of length 1; all alike where there is no variance."""
        judged = self.judged
        if judged.why_no_scale:
            moved = np.ones(judged.n)
        elif judged.possible_spreads is not None:
            # where members happen to lie close together their label ranks at an end more often: one spread for all, so that
            # ranks do not depend on it
            moved = 1.0 / np.sqrt(float(np.mean(judged.spread2)) + judged.noise2)
        else:
            moved = judged.in_units_of_spread.offset / np.sqrt(1.0 + judged.in_units_of_spread.noise2)
            moved = judged.axes[1] @ moved if judged.correlated else moved
        return np.asarray(moved / math.sqrt(float(moved @ moved)))

    @cached_property
    def bias(self) -> float:
        """Bias of the normal scores, a standard normal variable for a calibrated forecast; positive for high labels."""
        return float(self._bias_direction @ self.normal_scores)

    @property
    def bias_pvalue(self) -> float:
        return 2.0 * float(ndtr(-abs(self.bias)))

    def spread_test(self, offset: bool) -> SpreadTest:
        """Of the sum of squared normal scores, with `offset` less their bias: chi-square for a calibrated forecast."""
        removed, n = (self.bias * self._bias_direction, self.judged.n - 1) if offset else (0.0, self.judged.n)
        square = float(np.sum(np.square(self.normal_scores - removed)))
        p = min(1.0, 2.0 * min(float(chdtr(n, square)), float(chdtrc(n, square)))) if n else 1.0
        return SpreadTest(p, square > n)

    @cached_property
    def spread(self) -> SpreadTest:
        """A bias counts as spread unless it is seen as a bias."""
        return self.spread_test(offset=self.bias_pvalue < DOUBT or self.judged.n < 2)

    @cached_property
    def pvalues(self) -> dict[str, float]:
        """How often a calibrated forecast shows at least this bias, spread, shape of the PIT, and coverage."""
        return {
            "bias": self.bias_pvalue,
            "spread": self.spread.pvalue,
            "shape": kolmogorov_pvalue(np.sort(self.values)),
            "coverage": kolmogorov_pvalue(self.reached),
        }

    @property
    def calibrated(self) -> bool:
        """Whether no test speaks against the forecast: True for a calibrated one in 95 % of all cases."""
        return min(self.pvalues.values()) >= DOUBT
