"""How far labels lie from their forecasts, and how far they may: the spread of the forecast and the errors of the labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from scorebars.answers.score import UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.forecasts import Forecast
from scorebars.forecasts.forecast import SeenForecast
from scorebars.moments.uncertain_spreads import PossibleVariances, claimed_variances


class InUnitsOfSpread(NamedTuple):
    """Residuals in units of the spread that are independent of each other."""

    residual: FloatArray
    noise2: FloatArray
    """Label variance of each."""
    offset: FloatArray
    """How far each moves when all forecasts are too high by 1."""


@dataclass(frozen=True, eq=False)
class JudgedForecast:
    """Labels and their forecasts, with what forecasts and label errors say of the distance between them."""

    y: FloatArray
    forecast: Forecast
    errors: MeasurementError | None = None
    """Of the labels; None where they are exact, ignored, or inside the forecast."""

    @property
    def n(self) -> int:
        return len(self.y)

    @cached_property
    def correlated(self) -> bool:
        """Whether label errors are."""
        return self.errors is not None and not self.errors.independent

    @cached_property
    def _seen(self) -> SeenForecast | None:
        """The forecasts seen through the errors of the labels at hand, the means of their repeats."""
        return None if self.errors is None else SeenForecast(self.forecast, self.errors.label_level())

    @cached_property
    def residual(self) -> FloatArray:
        """Forecast - label; asymmetric label errors shift what a right forecast shows."""
        return (self.forecast if self._seen is None else self._seen).mean - self.y

    @cached_property
    def spread2(self) -> FloatArray:
        """Squared error that the forecasts claim."""
        possible = self.possible_spreads
        return self.forecast.error_variance if possible is None else possible.mean

    @cached_property
    def possible_spreads(self) -> PossibleVariances | None:
        """The squared errors that few members may claim; None where the spread of the forecasts is as they say."""
        return claimed_variances(self.forecast)

    @cached_property
    def noise2(self) -> FloatArray:
        """What the label errors add to it."""
        return np.zeros(self.n) if self._seen is None else self._seen.added_variance

    @cached_property
    def why_no_scale(self) -> str:
        """Why residuals cannot be measured in units of the spread; empty where they can."""
        if not np.all(np.isfinite(self.spread2)) or not np.all(np.isfinite(self.noise2)):
            return (
                "the spread factor and the bias need forecasts and label errors with a finite variance. pit and verdict do "
                "without."
            )
        flat = self.spread2 <= 0
        if not flat.any():
            return ""
        return (
            f"{int(flat.sum())} of the {self.n} forecasts have no spread (the first at index {int(np.argmax(flat))}), so no "
            "factor on it explains the residuals. pit and verdict do without."
        )

    @cached_property
    def scale(self) -> FloatArray:
        """Spread of each forecast, where residuals can be measured in it."""
        if self.why_no_scale:
            raise UndefinedEstimate(self.why_no_scale)
        return np.sqrt(self.spread2)

    @cached_property
    def in_units_of_spread(self) -> InUnitsOfSpread:
        """Residuals in units of the spread; correlated ones turned to the axes of the label errors."""
        d, offset = self.residual / self.scale, 1.0 / self.scale
        if not self.correlated:
            return InUnitsOfSpread(d, self.noise2 / self.spread2, offset)
        values, vectors = self.axes
        return InUnitsOfSpread(vectors.T @ d, values, vectors.T @ offset)

    @cached_property
    def axes(self) -> tuple[FloatArray, FloatArray]:
        """Principal axes of correlated label errors in units of the spread: variances, and directions as columns."""
        normal = None if self.errors is None else self.errors.label_level().normal
        assert normal is not None
        values, vectors = eigh(
            normal.covariance / np.outer(self.scale, self.scale), overwrite_a=True, check_finite=False
        )
        return np.maximum(values, 0.0), vectors
