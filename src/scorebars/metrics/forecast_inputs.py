"""The way of every score of forecasts: what the user passes, checked and aligned."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from scorebars import checks, tables
from scorebars._shared.given_data import take
from scorebars.errors.measurement_error import held_labels
from scorebars.errors.normal import error_model
from scorebars.forecasts import Forecast, IntervalForecast, QuantileForecast, forecast_of
from scorebars.forecasts.given_forecast import member_dimension
from scorebars.forecasts.quantile_forecast import quantile_levels
from scorebars.measured import Measured
from scorebars.metrics.call import of_ordinary_size, regression_declaration

forecast_declaration = partial(regression_declaration, task="forecast", takes="forecast", keeps="scores")
"""The declaration of a score of forecasts."""


def forecast_data(y_true: Any, forecast: Any, yerr: Any, sample_weight: Any, claims: str = "truth") -> Measured:
    """Labels with their errors, and forecasts of them, in one unit."""
    y_true, forecast = _of_same_dimensions(y_true, forecast)
    return _aligned(y_true, yerr, sample_weight, forecast, lambda n: forecast_of(forecast, n, claims=claims))


def interval_data(
    y_true: Any, lower: Any, upper: Any, level: float | None, yerr: Any, sample_weight: Any, claims: str | None
) -> Measured:
    """Labels with their errors, and an interval for each: given by its ends, or the central one of a forecast."""
    if isinstance(lower, IntervalForecast) and upper is None:
        return _aligned(y_true, yerr, sample_weight, None, lambda n: lower)
    if upper is not None:
        tables.require_rows(y_true=y_true, lower=lower, upper=upper)
        ends = IntervalForecast(lower, upper, claims=claims or "truth")
        return _aligned(y_true, yerr, sample_weight, None, lambda n: ends)
    if level is None:
        raise ValueError("upper is missing: give lower and upper ends, or a forecast with the level of its interval.")
    if claims is not None:
        raise ValueError("a forecast says itself what it claims: leave claims out.")
    data = forecast_data(y_true, lower, yerr, sample_weight)
    forecast: Forecast = data.p
    ends = IntervalForecast.trusted(*forecast.interval(level), claims=forecast.claims)
    return data.changed(p=ends).kept()


def quantile_data(y_true: Any, forecast: Any, levels: Any, yerr: Any, sample_weight: Any) -> Measured:
    """Labels with their errors, and the quantiles of a forecast at these levels."""
    data = forecast_data(y_true, forecast, yerr, sample_weight)
    levels = quantile_levels(np.sort(np.atleast_1d(checks.real_array(levels, "alpha"))), "alpha")
    values = np.stack([data.p.ppf(level) for level in levels], axis=1)
    quantiles = QuantileForecast(levels, np.maximum.accumulate(values, axis=1), claims=data.p.claims)
    return data.changed(p=quantiles).kept()


def _aligned(y_true: Any, yerr: Any, sample_weight: Any, given: Any, make: Callable[[int], Forecast]) -> Measured:
    columns = {"forecast": given} if tables.has_index(given) else {}
    if isinstance(given, tuple):
        columns = {f"forecast[{k}]": part for k, part in enumerate(given)}
    tables.require_rows(y_true=y_true, yerr=yerr, sample_weight=sample_weight, **columns)
    y_true, _, yerr, unit, _ = take(y_true, None, yerr)
    y = checks.outputs(held_labels(yerr) if y_true is None else y_true, "y_true")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(
            f"y_true has shape {y.shape}: forecasts are scored for one output at a time. Pass y_true[:, k] and its forecast."
        )
    checks.require_finite(y, "y_true")
    forecast = _in_unit(make(len(y)), unit)
    forecast.require_size(len(y))
    weight = None if sample_weight is None else of_ordinary_size(checks.weights(sample_weight, len(y)))
    errors = error_model(yerr, y.shape, copy=len(y) <= Measured.COPIED).for_labels(y)
    data = Measured(y, forecast, errors, weight, unit=unit).kept()
    if data.plain_normal:
        data.require_valid()
    return data


def _in_unit(forecast: Forecast, unit: Any) -> Forecast:
    """The forecast as plain numbers in the unit of the labels."""
    if forecast.unit is None and unit is None:
        return forecast
    if unit is None:
        raise ValueError(f"the forecast is in {forecast.unit} but y_true has no unit. Give y_true its unit.")
    if forecast.unit is None:
        raise ValueError(f"the forecast has no unit but y_true is in {unit}. Give the forecast a unit too.")
    try:
        return forecast.to_value(unit)
    except Exception:
        raise ValueError(
            f"the forecast is in {forecast.unit}, which cannot be converted to {unit}, the unit of y_true."
        ) from None


def _of_same_dimensions(y_true: Any, forecast: Any) -> tuple[Any, Any]:
    """Labels and members of xarray, with the dimensions of the labels in one row."""
    if not (hasattr(y_true, "dims") and hasattr(forecast, "dims") and hasattr(forecast, "coords")):
        return y_true, forecast
    member = member_dimension(forecast, "forecast")
    rest = [dim for dim in forecast.dims if dim != member]
    if set(rest) != set(y_true.dims):
        raise ValueError(
            f"forecast has the dimensions {', '.join(map(repr, rest))} besides {member!r}, but y_true has "
            f"{', '.join(map(repr, y_true.dims))}. Give both the same."
        )
    for dim in rest:
        both = [array.indexes.get(dim) for array in (y_true, forecast)]
        if all(index is not None for index in both) and not both[0].equals(both[1]):
            raise ValueError(f"y_true and forecast have different coordinates along {dim!r}. Align them: xarray.align.")
    return np.asarray(y_true.data).reshape(-1), forecast.transpose(*y_true.dims, member)
