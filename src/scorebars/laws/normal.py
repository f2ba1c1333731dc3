"""The normal law: what a mean of errors follows."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from scorebars.laws.base import RNG, Law


class NormalLaw(Law):
    """Normal with given mean and standard deviation (0 gives the constant)."""

    def __init__(self, mean: float, std: float, method: str = "exact") -> None:
        self._centre, self._spread, self.method = float(mean), float(std), method
        if std == 0:
            self.support = (self._centre, self._centre)

    def _mean(self) -> float:
        return self._centre

    def _var(self) -> float:
        return self._spread * self._spread

    def _std(self) -> float:
        return self._spread

    def _z(self, x: float) -> float:
        return (x - self._centre) / self._spread

    def _cdf(self, x: float) -> float:
        return 1.0 if self._spread == 0 else float(ndtr(self._z(x)))

    def _sf(self, x: float) -> float:
        return 0.0 if self._spread == 0 else float(ndtr(-self._z(x)))

    def _pdf(self, x: float) -> float:
        if self._spread == 0:
            return math.inf
        return math.exp(-0.5 * self._z(x) ** 2) / (math.sqrt(2 * math.pi) * self._spread)

    def _ppf(self, q: float) -> float:
        return self._centre + self._spread * float(ndtri(q))

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> object:
        return self._centre + self._spread * np.random.default_rng(rng).standard_normal(size)
