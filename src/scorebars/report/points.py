"""The labels as points: how much of the score each one makes, and which are drawn when there are too many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars._shared.given_data import plain_labels
from scorebars._shared.text import shortened

_Floats = NDArray[np.float64]
MOST_POINTS = 5_000
_LISTED = 20
_LONGEST_ID = 80


class PageLabels(NamedTuple):
    """Plain labels, their lower and upper errors (2, n) (None: exact, or classes), a name for each, their unit."""

    values: NDArray[Any]
    bars: _Floats | None
    ids: list[str]
    unit: str


def page_labels(y_true: Any, yerr: Any, ids: Any = None, unit: str | None = None) -> PageLabels:
    """The labels as the page draws them."""
    values, bars, own = plain_labels(y_true, yerr)
    if ids is None:  # the index of a series, or the row number
        index = getattr(y_true, "index", None)
        ids = [f"label {k}" for k in range(len(values))] if index is None or callable(index) else index
    names = [shortened(str(name), _LONGEST_ID) for name in ids]
    if len(names) != len(values):
        raise ValueError(
            f"ids has {len(names)} entries but y_true has {len(values)} labels. Give one id for each label."
        )
    return PageLabels(values, bars, names, unit or str(own or ""))


def _relative(y: _Floats, r: _Floats, sd: Any) -> _Floats:
    return np.abs(r) / np.maximum(np.abs(y), np.finfo(float).eps)


def _logarithmic(y: _Floats, r: _Floats, sd: Any) -> _Floats:
    return np.square(np.log1p(y + r) - np.log1p(y))


Part = tuple[str, Callable[[_Floats, _Floats, Any], _Floats]]
_SQUARED: Part = ("squared error", lambda y, r, sd: np.square(r))
_ABSOLUTE: Part = ("absolute error", lambda y, r, sd: np.abs(r))
# what a label adds to the sum behind the observed score; metrics that are no sums over labels are not here
PARTS: dict[str, Part] = {
    "mean_squared_error": _SQUARED,
    "root_mean_squared_error": _SQUARED,
    "r2_score": _SQUARED,
    "mean_absolute_error": _ABSOLUTE,
    "d2_absolute_error_score": _ABSOLUTE,
    "mean_error": ("signed error", lambda y, r, sd: r),
    "mean_absolute_percentage_error": ("relative error", _relative),
    "mean_squared_log_error": ("squared log error", _logarithmic),
    "root_mean_squared_log_error": ("squared log error", _logarithmic),
    "reduced_chi_squared": ("squared pull", lambda y, r, sd: np.square(r / sd)),  # it refuses labels without errors
}


def shares(name: str, labels: PageLabels, residual: _Floats, weight: _Floats | None) -> _Floats:
    """Share of each label in the observed sum behind the metric `name`; of a sum with signs, in the sum without."""
    sd = None if labels.bars is None else labels.bars.mean(axis=0)
    part = PARTS[name][1](np.asarray(labels.values, dtype=np.float64), residual, sd)
    part = part if weight is None else part * weight
    total = float(np.sum(np.abs(part)))
    return part / total if total > 0 else np.zeros_like(part)


def drawn_labels(values: Any, parts: Sequence[_Floats], most: int) -> tuple[NDArray[np.intp], int]:
    """Which labels are drawn, and how many of the largest parts are surely among them.

    All where there is room; else the largest contributors to each score, and of the others every k-th by label value.
    """
    n = len(values)
    if n <= most:
        return np.arange(n), n
    listed = min(_LISTED, max(1, most // (2 * max(len(parts), 1))))
    keep = np.zeros(n, dtype=bool)
    for part in parts:
        keep[np.argsort(-np.abs(part), kind="stable")[:listed]] = True
    order = np.argsort(values, kind="stable")
    rest = order[~keep[order]]
    room = max(most - int(keep.sum()), 0)
    keep[rest[np.linspace(0, len(rest) - 1, room).round().astype(int)] if room else rest[:0]] = True
    return np.flatnonzero(keep), listed


def point_data(
    labels: PageLabels, predictions: Mapping[str, _Floats], metrics: Sequence[str], weight: Any, most: int
) -> dict[str, Any]:
    """Everything the point plot needs, for at most `most` labels."""
    kinds = {PARTS[name][0]: name for name in metrics if name in PARTS}
    y = np.asarray(labels.values, dtype=np.float64)
    residuals = {model: p - y for model, p in predictions.items()}
    parts = {
        model: {kind: shares(name, labels, r, weight) for kind, name in kinds.items()} for model, r in residuals.items()
    }
    index, listed = drawn_labels(labels.values, [part for of in parts.values() for part in of.values()], most)
    lower, upper = (None, None) if labels.bars is None else (_short(side[index], 4) for side in labels.bars)
    return {
        "ids": [labels.ids[i] for i in index],
        "y": _short(y[index], 9),
        "lower": lower,
        "upper": upper,
        "models": [
            {
                "residual": _short(residuals[model][index], 6),
                "shares": {kind: _short(part[index], 3) for kind, part in parts[model].items()},
            }
            for model in predictions
        ],
        "listed": listed,
    }


def _short(values: _Floats, digits: int) -> list[float]:
    """Numbers to so many significant digits: a page is smaller than the data."""
    return [float(f"{value:.{digits}g}") for value in values.tolist()]
