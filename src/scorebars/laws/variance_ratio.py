"""Squares over variances that were estimated apart: Fisher's F, and means of several of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import betaln, fdtr, fdtrc, fdtri

from scorebars.arrays import FloatArray
from scorebars.laws.law import RNG, Law
from scorebars.laws.samples import SampleLaw, drawn_in_blocks
from scorebars.numerics import FIXED_SEED

_DRAWS, _FEWEST_DRAWS = 20_000, 2_000
_BUDGET = 10_000_000
"""Ratios drawn in all, where many have to be."""


class VarianceRatio(Law):
    """(chi-squared with n degrees of freedom / n) / (chi-squared with nu / nu)."""

    support = (0.0, math.inf)

    def __init__(self, n: float, nu: float) -> None:
        self.n, self.nu = float(n), float(nu)

    def _mean(self) -> float:
        return self.nu / (self.nu - 2.0) if self.nu > 2 else math.inf

    def _var(self) -> float:
        n, nu = self.n, self.nu
        return 2.0 * (nu / (nu - 2.0)) ** 2 * (n + nu - 2.0) / (n * (nu - 4.0)) if nu > 4 else math.inf

    def _cdf(self, x: float) -> float:
        return float(fdtr(self.n, self.nu, x))

    def _sf(self, x: float) -> float:
        return float(fdtrc(self.n, self.nu, x))

    def _ppf(self, q: float) -> float:
        return float(fdtri(self.n, self.nu, q))

    def _pdf(self, x: float) -> float:
        if x == 0:
            return 0.0 if self.n > 2 else 1.0 if self.n == 2 else math.inf
        half, rest = self.n / 2.0, self.nu / 2.0
        r = self.n / self.nu * x
        return math.exp(half * math.log(r) - (half + rest) * math.log1p(r) - betaln(half, rest)) / x


def mean_of_ratios(weight: FloatArray, nu: FloatArray) -> Law:
    """Distribution of sum weight_i F_i, independent F_i of 1 and nu_i degrees of freedom; drawn with a fixed seed."""
    if np.ptp(nu) == 0 and np.ptp(weight) == 0:
        return _mean_of_equal_ratios(len(nu), float(nu[0]), float(weight[0]) * len(weight))
    return _drawn_ratios(weight, nu)


@lru_cache(maxsize=32)
def _mean_of_equal_ratios(n: int, nu: float, unit: float) -> Law:
    return _drawn_ratios(np.full(n, unit / n), np.full(n, nu))


def _drawn_ratios(weight: FloatArray, nu: FloatArray) -> Law:
    draws = _sums_of_squares(weight, lambda rng, shape: rng.standard_t(nu, shape), np.random.default_rng(FIXED_SEED))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(nu > 2, nu / (nu - 2.0), np.inf)
        variance = np.where(nu > 4, 2.0 * np.square(mean) * (nu - 1.0) / (nu - 4.0), np.inf)
        total = float(np.sum(np.square(weight) * variance, where=weight > 0))
    return SampleLaw(draws, mean=float(np.sum(weight * mean, where=weight > 0)), var=total)


def weighted_ratio(weight: FloatArray, nu: float) -> Law:
    """Distribution of sum weight_i chi-squared_1 over one chi-squared_nu / nu; drawn with a fixed seed."""
    rng = np.random.default_rng(FIXED_SEED)
    top = _sums_of_squares(weight, lambda rng, shape: rng.standard_normal(shape), rng)
    return SampleLaw(top * nu / rng.chisquare(nu, top.size))


def _sums_of_squares(weight: FloatArray, draw: Callable[[RNG, tuple[int, int]], FloatArray], rng: RNG) -> FloatArray:
    """Draws of sum weight_i X_i^2, as many as the budget allows."""
    n = len(weight)
    count = int(np.clip(_BUDGET // n, _FEWEST_DRAWS, _DRAWS))
    return drawn_in_blocks(lambda rng, rows: np.square(draw(rng, (rows, n))) @ weight, count, n, rng)
