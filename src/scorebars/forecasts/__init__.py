"""What a model says of each label, where that is a distribution and not one number."""

from scorebars.forecasts.bounds import IntervalForecast
from scorebars.forecasts.ensemble import EnsembleForecast
from scorebars.forecasts.forecast import Forecast
from scorebars.forecasts.given_forecast import forecast_of
from scorebars.forecasts.law_forecast import LawForecast
from scorebars.forecasts.normal_forecast import NormalForecast
from scorebars.forecasts.quantiles import QuantileForecast

__all__ = [
    "EnsembleForecast",
    "Forecast",
    "IntervalForecast",
    "LawForecast",
    "NormalForecast",
    "QuantileForecast",
    "forecast_of",
]
