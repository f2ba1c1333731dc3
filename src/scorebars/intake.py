"""Labels that bring their errors or their unit along: uncertainties and astropy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scorebars import checks, tables
from scorebars.arrays import FloatArray
from scorebars.errors import ErrorModel, Normal

_MOST_CORRELATED = 5_000
"""Correlations of `uncertainties` variables become a covariance matrix up to this many labels."""


class Taken(NamedTuple):
    """Plain labels, predictions and errors, and the unit they are in (None: none was given)."""

    y_true: Any
    y_pred: Any
    yerr: Any
    unit: Any


def take(y_true: Any, y_pred: Any, yerr: Any) -> Taken:
    """Plain arrays from what the user has; what is plain already passes through untouched."""
    if type(y_true) is np.ndarray and y_true.dtype.kind != "O" and type(y_pred) is np.ndarray and not _has_unit(yerr):
        return Taken(y_true, y_pred, yerr, None)
    if hasattr(y_true, "uncertainty") and hasattr(y_true, "data") and hasattr(y_true, "unit"):
        y_true, yerr = _from_nddata(y_true, yerr)
    if _is_uncertain(y_true):
        y_true, yerr = _from_uncertainties(y_true, yerr)
    if any(_has_unit(value) for value in (y_true, y_pred, yerr)):
        return _from_quantities(y_true, y_pred, yerr)
    return Taken(y_true, y_pred, yerr, None)


def _has_unit(value: Any) -> bool:
    return hasattr(value, "unit") and hasattr(value, "to_value")


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
    seen: set[Any] = set()
    shared = False
    for value in values:
        sources = [source for source, slope in value.derivatives.items() if slope and source.std_dev]
        shared = shared or any(source in seen for source in sources)
        seen.update(sources)
    if not shared:
        return nominal, Normal(sigma)
    if len(values) > _MOST_CORRELATED:
        raise ValueError(
            f"y_true has {len(values)} correlated uncertainties, too many for a covariance matrix. Pass nominal values with "
            "yerr=Normal(sigma, shared=...), which never forms one."
        )
    from uncertainties import covariance_matrix

    return nominal, Normal(cov=np.array(covariance_matrix(values.tolist())))


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


def _from_quantities(y_true: Any, y_pred: Any, yerr: Any) -> Taken:
    """Everything in the unit of the labels; a missing or different kind of unit is refused."""
    unit = y_true.unit if _has_unit(y_true) else None

    def plain(value: Any, argument: str) -> Any:
        if value is None or isinstance(value, ErrorModel):
            return value
        if not _has_unit(value):
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

    return Taken(plain(y_true, "y_true"), plain(y_pred, "y_pred"), plain(yerr, "yerr"), unit)
