"""From what a user passes to what is drawn. Scoring comes first, so the metrics' own checks speak about bad input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb

FloatArray = NDArray[np.float64]
_ONE_SIGMA = 0.15865525393145707
"""Probability of falling more than one standard deviation below the mean, for a normal error."""


def one_score(y_true: Any, y_pred: Any, yerr: Any, metric: Any, sample_weight: Any = None) -> sb.Score:
    """The score of one model."""
    function = metric if callable(metric) else getattr(sb, str(metric), None)
    if not callable(function):
        raise ValueError(f"there is no metric {metric!r}. sb.capabilities() lists the metrics.")
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}  # correlations take none
    score = function(y_true, y_pred, yerr=yerr, **weights)
    if not isinstance(score, sb.Score):
        raise ValueError(f"metric {metric!r} gives no Score to draw. Choose one that does, such as 'accuracy_score'.")
    return score


def scores_of(given: Any, metric: str | None) -> dict[str, sb.Score]:
    """One score for each model, from an Evaluation, a mapping of names to Scores, or a single Score."""
    if isinstance(given, sb.Score):
        return {given.declaration.title: given}
    if isinstance(given, sb.Evaluation):
        chosen = given.metrics[0] if metric is None else metric
        return {model: given[model, chosen] for model in given.models}
    if isinstance(given, Mapping) and given and all(isinstance(score, sb.Score) for score in given.values()):
        return {str(name): score for name, score in given.items()}
    raise TypeError(
        f"scores must be an Evaluation, a mapping of model names to Scores, or a Score, got {type(given).__name__}. Pass "
        "what sb.evaluate(...) returns."
    )


@dataclass(frozen=True)
class Points:
    """Labels with their error bars, and predictions."""

    y: FloatArray
    p: FloatArray
    bars: FloatArray
    """Lower and upper errors, (2, n)."""
    unit: Any


def points(y_true: Any, y_pred: Any, yerr: Any) -> Points:
    """Plain labels, predictions and error bars of input that a metric has accepted."""
    if y_true is None:
        y_true = yerr.labels()
    unit = getattr(y_true, "unit", None)
    if hasattr(y_true, "uncertainty"):  # astropy NDData
        if y_true.uncertainty is not None:
            from astropy.nddata import StdDevUncertainty

            yerr = y_true.uncertainty.represent_as(StdDevUncertainty).quantity
        y_true = y_true.data if unit is None else y_true.data * unit
    y = np.asarray(_plain(y_true, unit))
    if y.dtype.kind == "O":  # numbers of the uncertainties package
        yerr = np.array([float(getattr(value, "std_dev", 0.0)) for value in y])
        y = np.array([float(getattr(value, "nominal_value", value)) for value in y])
    y, p = np.asarray(y, dtype=np.float64), np.asarray(_plain(y_pred, unit), dtype=np.float64)
    if y.size != len(y):
        raise ValueError(
            f"y_true has shape {y.shape}, but one output is drawn at a time. Pass y_true[:, k], y_pred[:, k]."
        )
    y, p = y.ravel(), p.ravel()
    return Points(y, p, _bars(y, _plain(yerr, unit)), unit)


def _plain(values: Any, unit: Any) -> Any:
    """Without unit, and off the device for a tensor of torch."""
    if hasattr(values, "detach"):
        return values.detach().cpu()
    return values.to_value(unit) if hasattr(values, "to_value") else values


def _bars(y: FloatArray, yerr: Any) -> FloatArray:
    """Lower and upper errors: what was quoted, else the middle 68 % of a fresh label, as one sigma of a normal error."""
    if yerr is None:
        return np.zeros((2, len(y)))
    if isinstance(yerr, sb.SplitNormal):
        return np.stack([np.broadcast_to(yerr.lower, y.shape), np.broadcast_to(yerr.upper, y.shape)])
    if not isinstance(yerr, sb.errors.MeasurementError):
        quoted = np.asarray(yerr, dtype=np.float64)
        return np.broadcast_to(quoted.ravel() if quoted.size == len(y) else quoted, (2, len(y)))
    if np.any(np.not_equal(yerr.repeats, 1)):
        return np.broadcast_to(np.sqrt(yerr.label_variance(y)), (2, len(y)))
    ends = [yerr.ppf(y, np.full_like(y, q)) for q in (_ONE_SIGMA, 1 - _ONE_SIGMA)]
    return np.maximum(np.stack([y - ends[0], ends[1] - y]), 0.0)


def scaled_errors(yerr: Any) -> Callable[[float], Any]:
    """How to multiply all label errors by a factor; families that are tied to the labels' values refuse."""
    if isinstance(yerr, sb.Flip):
        return lambda factor: sb.Flip(np.asarray(yerr.q) * factor, yerr.correlation, kind=yerr.kind)
    widths = (sb.Normal, sb.SplitNormal, sb.Uniform, sb.Rounding, sb.Triangular, sb.Laplace, sb.StudentT, sb.Repeats)
    if isinstance(yerr, widths):
        return yerr.scaled
    if isinstance(yerr, sb.errors.ErrorModel):
        raise ValueError(
            f"yerr is {type(yerr).__name__}, whose errors cannot be scaled as a whole. Give standard deviations, a "
            "probability of wrong labels, or an error model with a width, such as Normal(sigma)."
        )
    if yerr is None:
        raise ValueError("yerr is missing: without label errors there is nothing to scale.")
    values = yerr if hasattr(yerr, "to_value") else np.asarray(yerr, dtype=np.float64)
    return lambda factor: values * factor
