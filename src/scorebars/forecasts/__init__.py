"""What a model says of each label, where that is a distribution and not one number."""

from scorebars.forecasts.ensemble_forecast import EnsembleForecast
from scorebars.forecasts.forecast import Forecast
from scorebars.forecasts.given_forecast import forecast_of
from scorebars.forecasts.interval_forecast import IntervalForecast
from scorebars.forecasts.law_forecast import LawForecast
from scorebars.forecasts.normal_forecast import NormalForecast
from scorebars.forecasts.quantile_forecast import QuantileForecast

__all__ = [
    "EnsembleForecast",
    "Forecast",
    "IntervalForecast",
    "LawForecast",
    "NormalForecast",
    "QuantileForecast",
    "forecast_of",
]
