"""The labels as points: how much of the score each one makes, and which are drawn when there are too many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.report.labels import FloatArray, Labels

MOST_POINTS = 5_000
_LISTED = 20

Loss = Callable[[FloatArray, FloatArray, FloatArray | None], FloatArray]


def _squared(y: FloatArray, r: FloatArray, sd: FloatArray | None) -> FloatArray:
    return np.square(r)


def _absolute(y: FloatArray, r: FloatArray, sd: FloatArray | None) -> FloatArray:
    return np.abs(r)


def _signed(y: FloatArray, r: FloatArray, sd: FloatArray | None) -> FloatArray:
    return r


def _relative(y: FloatArray, r: FloatArray, sd: FloatArray | None) -> FloatArray:
    return np.abs(r) / np.maximum(np.abs(y), np.finfo(float).eps)


def _logarithmic(y: FloatArray, r: FloatArray, sd: FloatArray | None) -> FloatArray:
    return np.square(np.log1p(y + r) - np.log1p(y))


def _pull(y: FloatArray, r: FloatArray, sd: FloatArray | None) -> FloatArray:
    assert sd is not None  # the metric refuses labels without errors
    return np.square(r / sd)


# what a label adds to the sum behind the observed score; metrics that are no sums over labels are not here
PARTS: dict[str, tuple[str, Loss]] = {
    "mean_squared_error": ("squared error", _squared),
    "root_mean_squared_error": ("squared error", _squared),
    "r2_score": ("squared error", _squared),
    "mean_absolute_error": ("absolute error", _absolute),
    "d2_absolute_error_score": ("absolute error", _absolute),
    "mean_error": ("signed error", _signed),
    "mean_absolute_percentage_error": ("relative error", _relative),
    "mean_squared_log_error": ("squared log error", _logarithmic),
    "root_mean_squared_log_error": ("squared log error", _logarithmic),
    "reduced_chi_squared": ("squared pull", _pull),
}


def shares(name: str, labels: Labels, residual: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Share of each label in the observed sum behind the metric `name`; of a sum with signs, in the sum without."""
    sd = None if labels.lower is None or labels.upper is None else (labels.lower + labels.upper) / 2
    part = PARTS[name][1](np.asarray(labels.values, dtype=np.float64), residual, sd)
    part = part if weight is None else part * weight
    total = float(np.sum(np.abs(part)))
    return part / total if total > 0 else np.zeros_like(part)


def chosen(labels: Labels, parts: Sequence[FloatArray], most: int) -> tuple[NDArray[np.intp], int]:
    """Which labels are drawn, and how many of the largest parts are surely among them.

    All where there is room; else the largest contributors to each score, and of the others every k-th by label value.
    """
    if labels.n <= most:
        return np.arange(labels.n), labels.n
    listed = min(_LISTED, max(1, most // (2 * max(len(parts), 1))))
    keep = np.zeros(labels.n, dtype=bool)
    for part in parts:
        keep[np.argsort(-np.abs(part), kind="stable")[:listed]] = True
    order = np.argsort(labels.values, kind="stable")
    rest = order[~keep[order]]
    room = max(most - int(keep.sum()), 0)
    keep[rest[np.linspace(0, len(rest) - 1, room).round().astype(int)] if room else rest[:0]] = True
    return np.flatnonzero(keep), listed


def point_data(
    labels: Labels, predictions: Mapping[str, FloatArray], metrics: Sequence[str], weight: FloatArray | None, most: int
) -> dict[str, Any]:
    """Everything the point plot needs, for at most `most` labels."""
    kinds = {PARTS[name][0]: name for name in metrics if name in PARTS}
    y = np.asarray(labels.values, dtype=np.float64)
    residuals = {model: p - y for model, p in predictions.items()}
    parts = {
        model: {kind: shares(name, labels, r, weight) for kind, name in kinds.items()} for model, r in residuals.items()
    }
    index, listed = chosen(labels, [part for of in parts.values() for part in of.values()], most)
    return {
        "ids": [labels.ids[i] for i in index],
        "y": _short(y[index], 9),
        "lower": None if labels.lower is None else _short(labels.lower[index], 4),
        "upper": None if labels.upper is None else _short(labels.upper[index], 4),
        "models": [
            {
                "residual": _short(residuals[model][index], 6),
                "shares": {kind: _short(part[index], 3) for kind, part in parts[model].items()},
            }
            for model in predictions
        ],
        "listed": listed,
    }


def _short(values: FloatArray, digits: int) -> list[float]:
    """Numbers to so many significant digits: a page is smaller than the data."""
    return [float(f"{value:.{digits}g}") for value in values.tolist()]
