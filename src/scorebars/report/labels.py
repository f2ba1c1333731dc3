"""The labels and their errors as the page draws them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb

FloatArray = NDArray[np.float64]
_LONGEST_ID = 80


@dataclass(frozen=True)
class Labels:
    """Plain labels, the lower and upper ends of their error bars (None: exact, or classes), a name for each, their unit."""

    values: NDArray[Any]
    lower: FloatArray | None
    upper: FloatArray | None
    ids: list[str]
    unit: str

    @property
    def n(self) -> int:
        """How many."""
        return len(self.values)


def read_labels(y_true: Any, yerr: Any, ids: Any, name_of_unit: str | None = None) -> Labels:
    """Labels from whatever the metrics take: arrays, series, quantities, uncertain numbers, or a model that holds them."""
    source = yerr.labels() if y_true is None and hasattr(yerr, "labels") else y_true
    unit = getattr(source, "unit", None)
    values = plain(source, unit)
    if values.ndim != 1:
        raise ValueError(
            f"the report shows one output at a time, but y_true has shape {values.shape}. Pass a single column."
        )
    if yerr is None and _uncertain(np.asarray(source)):
        yerr = np.array([label.std_dev for label in np.asarray(source)], dtype=np.float64)
    bars = None if values.dtype.kind not in "iuf" else error_bars(values, yerr, unit)
    lower, upper = bars or (None, None)
    return Labels(values, lower, upper, _names(ids, source, len(values)), name_of_unit or str(unit or ""))


def error_bars(y: NDArray[Any], yerr: Any, unit: Any = None) -> tuple[FloatArray, FloatArray] | None:
    """Lower and upper error of each label; None where the labels are exact or classes."""
    if yerr is None or isinstance(yerr, sb.errors.ClassError):
        return None
    if isinstance(yerr, sb.SplitNormal):
        lower, upper = yerr.lower, yerr.upper
    elif isinstance(yerr, sb.errors.MeasurementError):
        lower = upper = np.sqrt(yerr.label_variance(np.asarray(y, dtype=np.float64)))
    else:
        given = plain(yerr, unit)
        both = given.shape == (2, len(y))
        lower, upper = (given[0], given[1]) if both else (given.reshape(-1), given.reshape(-1))
    return _each(lower, len(y)), _each(upper, len(y))


def plain(values: Any, unit: Any = None) -> NDArray[Any]:
    """A NumPy array in the unit of the labels, without errors of its own; a single column lies flat."""
    array = np.asarray(values.to_value(unit) if hasattr(values, "to_value") else values)
    if _uncertain(array):
        array = np.array([value.nominal_value for value in array.flat], dtype=np.float64).reshape(array.shape)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def by_model(predictions: Any) -> dict[str, Any]:
    """Predictions by model name, from a mapping, the columns of a table or of an array, or a single array."""
    if isinstance(predictions, Mapping):
        return {str(name): values for name, values in predictions.items()}
    if hasattr(predictions, "columns"):
        return {str(name): predictions[name] for name in predictions.columns}
    array = predictions if hasattr(predictions, "unit") else np.asarray(predictions)
    if array.ndim == 2 and array.shape[1] > 1:
        return {f"model {k + 1}": array[:, k] for k in range(array.shape[1])}
    return {"model": predictions}


def _uncertain(array: NDArray[Any]) -> bool:
    return array.dtype.kind == "O" and array.size > 0 and hasattr(array.flat[0], "nominal_value")


def _each(value: Any, n: int) -> FloatArray:
    return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)))


def _names(ids: Any, source: Any, n: int) -> list[str]:
    """A name for each label: those given, the index of a series, or the row number."""
    if ids is None:
        index = getattr(source, "index", None)
        ids = [f"label {k}" for k in range(n)] if index is None or callable(index) else index
    names = [shortened(str(name), _LONGEST_ID) for name in ids]
    if len(names) != n:
        raise ValueError(f"ids has {len(names)} entries but y_true has {n} labels. Give one id for each label.")
    return names


def shortened(text: str, longest: int) -> str:
    """The text, cut where it is too long to show.

    >>> shortened("uranium-238", 8)
    'uranium…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"
