"""From what a user passes to `Measured` data: the border of the regression metrics."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from scorebars import checks, tables
from scorebars.engines import BadValues
from scorebars.engines.on_device import OnDevice, on_device
from scorebars.engines.totals import Totals, by_engine, by_one_pass, in_blocks, sums_of
from scorebars.errors import ErrorModel, MeasurementError, Normal, SplitNormal
from scorebars.errors.base import FloatArray
from scorebars.errors.normal import standard_deviations
from scorebars.intake import take
from scorebars.losses import Loss
from scorebars.measured import Measured

_PLAIN = frozenset({np.ndarray, float, type(None)})
"""What has no row labels, no unit and no device: nothing of another library to look at."""
_HINT = "yerr is a standard deviation (not a variance): it cannot be below 0."


def error_model(yerr: Any, shape: tuple[int, ...]) -> MeasurementError:
    """The error model that `yerr` means: None, a number, (n,), (2, n) for lower and upper errors, or a model."""
    if yerr is None:
        return Normal.trusted(0.0)
    if type(yerr) is not np.ndarray and isinstance(yerr, ErrorModel):
        if not isinstance(yerr, MeasurementError):
            raise ValueError(
                f"yerr is {type(yerr).__name__}, which describes class labels. Measured numbers need an error model "
                "such as Normal(sigma), or a standard deviation for each label."
            )
        yerr.require_size(shape[0])
        # a score of few labels must not change when the user's arrays do
        return yerr[np.arange(shape[0])] if shape[0] <= Measured.COPIED else yerr
    values = checks.real_array(yerr, "yerr")
    if values.ndim == 0:
        return Normal.trusted(standard_deviations(values, "yerr"))
    if shape[0] <= Measured.COPIED:
        values = values.copy()
    if values.shape == shape:
        return Normal.trusted(values)
    if values.shape == (2, *shape):
        for half, name in zip(values, ("yerr[0] (lower errors)", "yerr[1] (upper errors)"), strict=True):
            checks.require_finite(half, name)
            checks.require_non_negative(half, name, _HINT)
        return SplitNormal(*(np.asarray(half, dtype=np.float64).reshape(-1) for half in values))
    if len(shape) == 1 and values.shape == (shape[0], 1):
        return Normal.trusted(values[:, 0])
    raise ValueError(
        f"yerr has shape {values.shape} but y_true has shape {shape}: inconsistent numbers of samples. Give a number, "
        f"one standard deviation for each label, or shape (2, {shape[0]}) for lower and upper errors."
    )


def measured_totals(loss: Loss, data: Measured) -> Totals:
    """The one pass; where a value is not finite or an error negative, say which and where."""
    if not by_engine(loss, data):
        diagnose(data)
        return in_blocks(loss, data)
    try:
        return by_one_pass(loss, data)
    except BadValues:
        diagnose(data)
        raise OverflowError(
            "the values are finite but their squares leave the range of doubles: choose another unit for y_true, "
            "y_pred and yerr."
        ) from None


def sum_once(data: Measured, labels: bool, tolerance: float | None) -> None:
    """One pass for several metrics: with the sums of the labels' scatter, and of those within a tolerance."""
    if type(data) is Measured and data.plain_normal:
        with suppress(BadValues):  # the metrics say which value is bad
            sums_of(data, labels=labels, tolerance=tolerance)


def diagnose(data: Measured) -> None:
    """Raise for the first argument that holds a value no score can be made of."""
    if isinstance(data, OnDevice):  # its sums are finite, so all values are
        return
    checks.require_finite(np.asarray(data.y), "y_true")
    checks.require_finite(np.asarray(data.p), "y_pred")
    if isinstance(data.errors, Normal) and isinstance(data.errors.sigma, np.ndarray):
        checks.require_finite(data.errors.sigma, "yerr")
        checks.require_non_negative(data.errors.sigma, "yerr", _HINT)


def measured(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> list[Measured]:
    """One `Measured` for each output."""
    unit = None
    numbers = type(y_true) is np.ndarray and y_true.dtype.char != "O"
    if not (numbers and type(y_pred) in _PLAIN and type(yerr) in _PLAIN and type(sample_weight) in _PLAIN):
        tables.require_rows(y_true=y_true, y_pred=y_pred, yerr=yerr, sample_weight=sample_weight)
        y_true, y_pred, yerr, unit = take(y_true, y_pred, yerr)
        summed = on_device(y_true, y_pred, yerr, sample_weight)
        if summed is not None:
            return [summed]
    if y_true is None:
        y_true = _labels_of(yerr)
    y, p = checks.pair(y_true, y_pred)
    weight = None if sample_weight is None else _of_ordinary_size(checks.weights(sample_weight, len(y)))
    if y.ndim == 1:
        data = Measured(y, p, error_model(yerr, y.shape), weight, unit=unit)
        return [_checked(data)]
    checks.require_finite(y, "y_true")  # here, where the index of row and column is known
    checks.require_finite(p, "y_pred")
    models = _models_of_outputs(yerr, y.shape)
    return [_checked(Measured(y[:, k], p[:, k], model, weight, unit=unit)) for k, model in enumerate(models)]


def _labels_of(yerr: Any) -> FloatArray:
    """The labels that an error model holds, where y_true is None."""
    labels = yerr.labels() if isinstance(yerr, MeasurementError) else None
    if labels is None:
        raise ValueError(
            "y_true is None, which is allowed only with an error model that holds the labels, such as Empirical(samples)."
        )
    return np.asarray(labels)


def _of_ordinary_size(weight: FloatArray | None) -> FloatArray | None:
    """Weights divided by a power of two where their squares would leave the doubles: only ratios count."""
    if weight is None or 1e-70 < float(weight.max()) < 1e70:
        return weight
    return np.asarray(np.ldexp(weight, -math.frexp(float(weight.max()))[1]))


def _checked(data: Measured) -> Measured:
    """The engine sees bad values in its sums; other paths are checked here."""
    if not (isinstance(data.errors, Normal) and data.errors.independent):
        diagnose(data)
        data.errors.check_labels(np.asarray(data.y, dtype=np.float64), "y_true")
    return data.kept()


def _models_of_outputs(yerr: Any, shape: tuple[int, ...]) -> list[MeasurementError]:
    outputs = shape[1]
    if isinstance(yerr, list | tuple) and len(yerr) == outputs and all(isinstance(m, ErrorModel) for m in yerr):
        return [error_model(model, shape[:1]) for model in yerr]
    if yerr is None or np.ndim(yerr) == 0:
        return [error_model(yerr, shape[:1])] * outputs
    values = checks.real_array(yerr, "yerr")
    if values.shape in ((shape[0],), (shape[0], 1)):
        return [error_model(values.reshape(-1), shape[:1])] * outputs
    if values.shape in (shape, (2, *shape)):
        return [error_model(values[..., k], shape[:1]) for k in range(outputs)]
    raise ValueError(
        f"yerr has shape {values.shape} but y_true has shape {shape}. Give a number, shape {shape[:1]} or {shape}, "
        f"{(2, *shape)} for lower and upper errors, or a list of {outputs} error models."
    )


def output_weights(multioutput: Any, outputs: int) -> FloatArray | None:
    """Weights of the outputs that sum to 1; None for raw values."""
    if isinstance(multioutput, str):
        if multioutput == "raw_values":
            return None
        if multioutput == "uniform_average":
            return np.full(outputs, 1.0 / outputs)
        raise ValueError(
            f"Allowed 'multioutput' string values are 'raw_values' and 'uniform_average'. You provided {multioutput!r}."
        )
    if multioutput is None or np.ndim(multioutput) == 0:
        raise ValueError(
            f"multioutput must be 'raw_values', 'uniform_average' or one weight for each output, got {multioutput!r}."
        )
    values = np.asarray(checks.column(multioutput, "multioutput"), dtype=np.float64)
    if outputs == 1:
        raise ValueError("Custom weights are useful only in multi-output cases: y_true has one output.")
    if len(values) != outputs:
        raise ValueError(f"There must be equally many custom weights ({len(values)}) as outputs ({outputs}).")
    checks.require_finite(values, "multioutput")
    checks.require_non_negative(values, "multioutput", "An output's weight cannot be below 0.")
    if not values.sum() > 0:
        raise ValueError("multioutput weights are all zero: at least one output must count.")
    return np.asarray(values / values.sum())
