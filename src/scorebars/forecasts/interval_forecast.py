"""Prediction intervals: two bounds for each label, and nothing else of the distribution."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from scorebars import checks
from scorebars.arrays import FloatArray, in_one_unit
from scorebars.forecasts.forecast import Forecast, check_claims


class IntervalForecast(Forecast):
    """An interval for each label; both ends belong to it."""

    per_label = ("lower", "upper")
    lower: FloatArray
    upper: FloatArray

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, claims: str = "truth") -> None:
        self.claims = check_claims(claims)
        (lower, upper), self.unit = in_one_unit(lower=lower, upper=upper)
        self.lower, self.upper = checks.finite_column(lower, "lower"), checks.finite_column(upper, "upper")
        checks.same_length(self.lower, self.upper, "lower", "upper")
        hint = "Each interval goes from lower to upper: swap them."
        checks.refuse("lower", "is above upper", self.lower > self.upper, self.lower, hint)

    @classmethod
    def trusted(cls, lower: FloatArray, upper: FloatArray, claims: str = "truth") -> Self:
        """Bounds that were checked elsewhere."""
        new = cls.__new__(cls)
        new.lower, new.upper, new.claims, new.unit = lower, upper, claims, None  # type: ignore[assignment]
        return new

    @property
    def mean(self) -> FloatArray:
        """The middle of each interval."""
        return self.lower + (self.upper - self.lower) / 2

    @property
    def std(self) -> FloatArray:
        """Half the width of each interval: what stands for its spread."""
        return (self.upper - self.lower) / 2

    def scaled(self, factor: float) -> Self:
        return self._changed(lower=self.lower * factor, upper=self.upper * factor)

    def cdf(self, x: FloatArray) -> FloatArray:
        raise ValueError(self.no_density())

    def ppf(self, q: FloatArray | float) -> FloatArray:
        raise ValueError(self.no_density())

    def knots(self) -> FloatArray:
        return np.stack([self.lower, self.upper])

    def no_density(self) -> str:
        return "an interval does not determine a distribution. Score it with interval_score or interval_coverage."
