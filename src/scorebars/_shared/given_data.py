"""Labels, errors and predictions as users give them, made plain: one name for each model, one error bar for each label."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars import tables
from scorebars.arrays import FloatArray, to_host
from scorebars.errors import ClassError, MeasurementError, SplitNormal

_ONE_SIGMA = 0.15865525393145707
"""Probability of falling more than one standard deviation below the mean, for a normal error."""


def named_predictions(y_pred: Any) -> dict[str, Any]:
    """Predictions by model name, from a mapping, a DataFrame, columns of an array, or a single array."""
    if y_pred is None:
        raise ValueError(
            "y_pred is missing: give predictions, or name the columns of a table: evaluate(table, y=, pred=)."
        )
    names = None if hasattr(y_pred, "dtype") else tables.column_names(y_pred)
    if names is not None:
        models = {str(name): y_pred[name] for name in names}
    else:
        shape = np.shape(y_pred)
        if len(shape) == 2 and shape[1] > 1:
            array = y_pred if hasattr(y_pred, "unit") else np.asarray(to_host(y_pred))
            models = {f"model {k + 1}": array[:, k] for k in range(shape[1])}
        else:
            models = {"model": y_pred}
    if not models:
        raise ValueError("y_pred holds no predictions. Give one array, or a mapping from model name to predictions.")
    return models


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
    unit = getattr(y_true, "unit", None)
    if hasattr(y_true, "uncertainty"):  # NDData of astropy
        if y_true.uncertainty is not None:
            from astropy.nddata import StdDevUncertainty

            yerr = y_true.uncertainty.represent_as(StdDevUncertainty).quantity
        y_true = y_true.data if unit is None else y_true.data * unit
    if yerr is None and _uncertain(np.asarray(to_host(y_true))):
        yerr = np.array([label.std_dev for label in np.asarray(y_true).ravel()], dtype=np.float64)
    values = plain_array(y_true, unit)
    if values.ndim != 1:
        raise ValueError(
            f"y_true has shape {values.shape}, but one output is drawn at a time. Pass y_true[:, k], y_pred[:, k]."
        )
    bars = None if values.dtype.kind not in "iuf" else _error_bars(values.astype(np.float64), yerr, unit)
    return PlainLabels(values, bars, unit)


def plain_array(values: Any, unit: Any = None) -> NDArray[Any]:
    """A NumPy array in the unit of the labels, without errors of its own; a single column lies flat."""
    array = np.asarray(values.to_value(unit) if hasattr(values, "to_value") else to_host(values))
    if _uncertain(array):
        array = np.array([value.nominal_value for value in array.flat], dtype=np.float64).reshape(array.shape)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _uncertain(array: NDArray[Any]) -> bool:
    """Whether these are numbers of the uncertainties package."""
    return array.dtype.kind == "O" and array.size > 0 and hasattr(array.flat[0], "nominal_value")


def _error_bars(y: FloatArray, yerr: Any, unit: Any) -> FloatArray | None:
    """What was quoted, else the middle 68 % of a fresh label, which is one sigma of a normal error."""
    if yerr is None or isinstance(yerr, ClassError):
        return None
    if isinstance(yerr, SplitNormal):
        return np.stack([np.broadcast_to(yerr.lower, y.shape), np.broadcast_to(yerr.upper, y.shape)])
    if not isinstance(yerr, MeasurementError):
        quoted = np.asarray(plain_array(yerr, unit), dtype=np.float64)
        return np.broadcast_to(quoted.ravel() if quoted.size == len(y) else quoted, (2, len(y)))
    if np.any(np.not_equal(yerr.repeats, 1)):
        return np.broadcast_to(np.sqrt(yerr.label_variance(y)), (2, len(y)))
    low, high = (yerr.ppf(y, np.full_like(y, q)) for q in (_ONE_SIGMA, 1 - _ONE_SIGMA))
    return np.maximum(np.stack([y - low, high - y]), 0.0)
