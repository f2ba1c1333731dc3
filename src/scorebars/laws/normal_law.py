"""The normal distribution and Student's: what a mean follows whose standard error is known, or estimated.

SciPy's special functions serve one number at a time; `scipy.stats` is slow to import.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betaln, ndtr, ndtri, stdtr, stdtrit

from scorebars.laws.law import RNG, Law


class NormalLaw(Law):
    """centre + scale * Z with Z standard normal; a scale of 0 gives the constant."""

    def __init__(self, mean: float, std: float, method: str = "exact") -> None:
        self._centre, self._scale, self.method = float(mean), float(std), method
        if std == 0:
            self.support = (self._centre, self._centre)

    # of Z alone, which subclasses replace

    def _below(self, z: float) -> float:
        return float(ndtr(z))

    def _density(self, z: float) -> float:
        return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)

    def _quantile(self, q: float) -> float:
        return float(ndtri(q))

    def _draw(self, rng: RNG, size: Any) -> Any:
        return rng.standard_normal(size)

    def _mean(self) -> float:
        return self._centre

    def _std(self) -> float:
        return self._scale

    def _var(self) -> float:
        return self._std() * self._std()

    def _z(self, x: float) -> float:
        return (x - self._centre) / self._scale

    def _cdf(self, x: float) -> float:
        return self._below(self._z(x)) if self._scale else 1.0

    def _sf(self, x: float) -> float:
        return self._below(-self._z(x)) if self._scale else 0.0

    def _pdf(self, x: float) -> float:
        return self._density(self._z(x)) / self._scale if self._scale else math.inf

    def _ppf(self, q: float) -> float:
        z = self._quantile(q)
        return self._centre + (self._scale * z if z else 0.0)  # an infinite scale has its median all the same

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        return self._centre + self._scale * self._draw(np.random.default_rng(rng), size)


class StudentLaw(NormalLaw):
    """centre + scale * t with `df` degrees of freedom. An infinite scale knows nothing."""

    def __init__(self, centre: float, scale: float, df: float, method: str = "delta") -> None:
        super().__init__(centre, scale, method)
        self._df = float(df)

    def _std(self) -> float:
        if self._scale == 0 or self._df > 2:
            return self._scale * math.sqrt(self._df / (self._df - 2)) if self._scale else 0.0
        return math.inf

    def _below(self, z: float) -> float:
        return float(stdtr(self._df, z))

    def _density(self, z: float) -> float:
        log_norm = -0.5 * math.log(self._df) - float(betaln(0.5, self._df / 2))
        return math.exp(log_norm - 0.5 * (self._df + 1) * math.log1p(z * z / self._df))

    def _quantile(self, q: float) -> float:
        return float(stdtrit(self._df, q))

    def _draw(self, rng: RNG, size: Any) -> Any:
        return rng.standard_t(self._df, size)
