"""Student's law with a location and a scale: a mean whose standard error was estimated from few items."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaln, stdtr, stdtrit

from scorebars.laws.base import RNG, Law


class StudentLaw(Law):
    """centre + scale * t with `df` degrees of freedom. A scale of 0 gives the constant; an infinite one knows nothing."""

    def __init__(self, centre: float, scale: float, df: float, method: str = "delta") -> None:
        self._centre, self._scale, self._df, self.method = float(centre), float(scale), float(df), method
        if scale == 0:
            self.support = (self._centre, self._centre)

    def _mean(self) -> float:
        return self._centre

    def _var(self) -> float:
        if self._scale == 0:
            return 0.0
        return self._scale**2 * self._df / (self._df - 2) if self._df > 2 else math.inf

    def _t(self, x: float) -> float:
        return (x - self._centre) / self._scale

    def _cdf(self, x: float) -> float:
        return 1.0 if self._scale == 0 else float(stdtr(self._df, self._t(x)))

    def _sf(self, x: float) -> float:
        return 0.0 if self._scale == 0 else float(stdtr(self._df, -self._t(x)))

    def _pdf(self, x: float) -> float:
        if self._scale == 0:
            return math.inf
        log_norm = -0.5 * math.log(self._df) - float(betaln(0.5, self._df / 2)) - math.log(self._scale)
        return math.exp(log_norm - 0.5 * (self._df + 1) * math.log1p(self._t(x) ** 2 / self._df))

    def _ppf(self, q: float) -> float:
        step = float(stdtrit(self._df, q))
        return self._centre + (self._scale * step if step else 0.0)

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> object:
        return self._centre + self._scale * np.random.default_rng(rng).standard_t(self._df, size)
