"""Labels, errors and predictions as users give them, made plain: units and errors that labels bring along, names of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars import checks, tables
from scorebars.arrays import PLAIN, FloatArray, has_unit, to_host
from scorebars.errors import ClassError, ErrorModel, MeasurementError, Normal
from scorebars.forecasts.given_forecast import forecast_of, is_forecast

_MOST_CORRELATED = 5_000
"""Correlations of `uncertainties` variables become a covariance matrix up to this many labels."""


def named_predictions(y_pred: Any) -> dict[str, Any]:
    """Predictions by model name, from a mapping, a DataFrame, columns of an array, or a single array."""
    if y_pred is None:
        raise ValueError(
            "y_pred is missing: give predictions, or name the columns of a table: evaluate(table, y=, pred=)."
        )
    if isinstance(y_pred, Mapping):
        models = {str(name): y_pred[name] for name in y_pred}
    elif type(y_pred) not in PLAIN and is_forecast(y_pred):
        models = {"model": y_pred}
    elif not hasattr(y_pred, "dtype") and (names := tables.column_names(y_pred)) is not None:
        models = {str(name): y_pred[name] for name in names}
    else:
        shape = np.shape(y_pred if hasattr(y_pred, "shape") else checks.any_array(y_pred, "y_pred", "numbers"))
        if len(shape) == 2 and shape[1] > 1:
            array = y_pred if hasattr(y_pred, "unit") else np.asarray(to_host(y_pred))
            models = {f"model {k + 1}": array[:, k] for k in range(shape[1])}
        else:
            models = {"model": y_pred}
    if not models:
        raise ValueError("y_pred holds no predictions. Give one array, or a mapping from model name to predictions.")
    return models


def as_forecast(given: Any) -> Any:
    """A `Forecast` of what can only be meant as one, such as (mean, std); other predictions as they are."""
    return forecast_of(given) if type(given) not in PLAIN and is_forecast(given) else given


# what labels bring along ---------------------------------------------------------------------------


class PlainData(NamedTuple):
    """Plain labels, predictions and errors, and the unit they are in (None: none was given)."""

    y_true: Any
    y_pred: Any
    yerr: Any
    unit: Any
    prederr: Any = None


def take(y_true: Any, y_pred: Any, yerr: Any, prederr: Any = None) -> PlainData:
    """Plain arrays from what the user has; what is plain already passes through untouched."""
    arrays = all(
        values is None or (type(values) is np.ndarray and values.dtype.kind != "O") for values in (y_true, y_pred)
    )
    if arrays and all(type(errors) in PLAIN or not has_unit(errors) for errors in (yerr, prederr)):
        return PlainData(y_true, y_pred, yerr, None, prederr)
    if _is_uncertain(y_pred):
        y_pred, prederr = _uncertain_predictions(y_pred, prederr, y_true)
    if hasattr(y_true, "uncertainty") and hasattr(y_true, "data") and hasattr(y_true, "unit"):
        y_true, yerr = _from_nddata(y_true, yerr)
    if _is_uncertain(y_true):
        y_true, yerr = _from_uncertainties(y_true, yerr)
    if any(has_unit(value) for value in (y_true, y_pred, yerr, prederr)):
        return _from_quantities(y_true, y_pred, yerr, prederr)
    return PlainData(y_true, y_pred, yerr, None, prederr)


def _is_uncertain(values: Any) -> bool:
    """An array, list or pandas column of `uncertainties` numbers."""
    if tables.has_index(values):
        values = values.to_numpy()
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return False
    if not isinstance(values, list | tuple | np.ndarray) or not len(values):
        return False
    first = np.asarray(values, dtype=object).flat[0]
    return hasattr(first, "nominal_value") and hasattr(first, "std_dev")


def _only_one(yerr: Any, what: str) -> None:
    if yerr is not None:
        raise ValueError(f"y_true brings its own errors ({what}), so yerr must be left out.")


def _from_uncertainties(y_true: Any, yerr: Any) -> tuple[FloatArray, ErrorModel]:
    """Nominal values and errors; a covariance where labels share a source of error."""
    _only_one(yerr, "uncertainties")
    values = np.asarray(y_true, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"y_true with uncertainties must have shape (n,), but has shape {values.shape}.")
    nominal = np.array([v.nominal_value for v in values], dtype=np.float64)
    sigma = np.array([v.std_dev for v in values], dtype=np.float64)
    sources = [source for value in values for source in _sources(value)]
    if len(set(sources)) == len(sources):  # each label has its own
        return nominal, Normal(sigma)
    if len(values) > _MOST_CORRELATED:
        raise ValueError(
            f"y_true has {len(values)} correlated uncertainties, too many for a covariance matrix. Pass nominal values with "
            "yerr=Normal(sigma, shared=...), which never forms one."
        )
    from uncertainties import covariance_matrix

    return nominal, Normal(cov=np.array(covariance_matrix(values.tolist())))


def _uncertain_predictions(y_pred: Any, prederr: Any, y_true: Any) -> tuple[FloatArray, FloatArray]:
    """Nominal values and standard errors of predictions, whose errors must be independent of each other and of labels."""
    if prederr is not None:
        raise ValueError("y_pred brings its own errors (uncertainties), so prederr must be left out.")
    values = np.asarray(y_pred, dtype=object)
    labels = np.asarray(y_true, dtype=object).flat if _is_uncertain(y_true) else ()
    seen = {source for value in labels for source in _sources(value)}
    for k, value in enumerate(values.flat):
        sources = _sources(value)
        if any(source in seen for source in sources):
            raise ValueError(
                f"y_pred has correlated uncertainties (the first at index {k}): it shares a source of error with other "
                "predictions or with labels, and scorebars takes prediction errors as independent. Pass nominal values, "
                "and prederr with the part that is independent."
            )
        seen.update(sources)
    nominal, sigma = (
        np.array([getattr(value, name) for value in values.flat], dtype=np.float64).reshape(values.shape)
        for name in ("nominal_value", "std_dev")
    )
    return nominal, sigma


def _sources(value: Any) -> list[Any]:
    """The independent variables that a number with uncertainty depends on; none of an exact number."""
    found = getattr(value, "derivatives", {}).items()
    return [source for source, slope in found if slope and source.std_dev]


def _from_nddata(data: Any, yerr: Any) -> tuple[Any, Any]:
    """Values (with their unit) and standard deviations of an astropy NDData."""
    if data.mask is not None and np.any(data.mask):
        mask = np.broadcast_to(np.asarray(data.mask, dtype=bool), np.shape(data.data))
        raise checks.complain(
            "y_true",
            "has masked entries (NDData.mask)",
            mask,
            np.asarray(data.data),
            "Drop these rows from all arguments.",
        )
    if data.uncertainty is None:
        return (data.data if data.unit is None else data.data * data.unit), yerr
    _only_one(yerr, "NDData.uncertainty")
    from astropy.nddata import StdDevUncertainty, UnknownUncertainty

    if isinstance(data.uncertainty, UnknownUncertainty):
        raise ValueError(
            "y_true.uncertainty does not say what it is: use StdDevUncertainty, VarianceUncertainty or InverseVariance."
        )
    sigma = data.uncertainty.represent_as(StdDevUncertainty).array
    if data.unit is None:
        return data.data, sigma
    return data.data * data.unit, sigma * data.unit


def _from_quantities(y_true: Any, y_pred: Any, yerr: Any, prederr: Any) -> PlainData:
    """Everything in the unit of the labels; a missing or different kind of unit is refused."""
    unit = y_true.unit if has_unit(y_true) else None

    def plain(value: Any, argument: str) -> Any:
        if value is None or isinstance(value, ErrorModel):
            return value
        if not has_unit(value):
            if unit is None:
                return value
            raise ValueError(f"{argument} has no unit but y_true is in {unit}. Give {argument} a unit too.")
        if unit is None:
            raise ValueError(f"{argument} is in {value.unit} but y_true has no unit. Give y_true its unit.")
        try:
            return np.asarray(value.to_value(unit))
        except Exception:
            raise ValueError(
                f"{argument} is in {value.unit}, which cannot be converted to {unit}, the unit of y_true."
            ) from None

    found = plain(y_true, "y_true"), plain(y_pred, "y_pred"), plain(yerr, "yerr")
    return PlainData(*found, unit, plain(prederr, "prederr"))


# labels to draw -------------------------------------------------------------------------------------


class PlainLabels(NamedTuple):
    """Labels as a plain array (n,), and what their errors and unit are."""

    values: NDArray[Any]
    bars: FloatArray | None
    """Lower and upper errors, (2, n); None for exact labels and for classes."""
    unit: Any


def plain_labels(y_true: Any, yerr: Any) -> PlainLabels:
    """Labels and their errors from whatever the metrics take; where they come without labels, the error model has them."""
    if y_true is None and hasattr(yerr, "labels"):
        y_true = yerr.labels()
    y_true, _, yerr, unit, _ = take(y_true, None, yerr)
    values = plain_array(y_true)
    if values.ndim != 1:
        raise ValueError(
            f"y_true has shape {values.shape}, but one output is drawn at a time. Pass y_true[:, k], y_pred[:, k]."
        )
    bars = None if values.dtype.kind not in "iuf" else _error_bars(values.astype(np.float64), yerr)
    return PlainLabels(values, bars, unit)


def plain_array(values: Any, unit: Any = None) -> NDArray[Any]:
    """A NumPy array in the unit of the labels, without errors of its own; a single column lies flat."""
    if type(values) is np.ndarray:
        array = values
    else:
        array = np.asarray(values.to_value(unit) if hasattr(values, "to_value") else to_host(values))
    if array.dtype.kind == "O" and array.size and hasattr(array.flat[0], "nominal_value"):  # package uncertainties
        array = np.array([value.nominal_value for value in array.flat], dtype=np.float64).reshape(array.shape)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _error_bars(y: FloatArray, yerr: Any) -> FloatArray | None:
    """Lower and upper errors, (2, n); None for exact labels and for classes."""
    if yerr is None or isinstance(yerr, ClassError):
        return None
    if isinstance(yerr, MeasurementError):
        return yerr.error_bars(y)
    quoted = np.asarray(plain_array(yerr), dtype=np.float64)
    return np.broadcast_to(quoted.ravel() if quoted.size == len(y) else quoted, (2, len(y)))
