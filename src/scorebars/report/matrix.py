"""The confusion matrix of each model, with the errors of its cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import scorebars as sb
from scorebars.report.labels import Labels, shortened

_MOST_CLASSES = 24
_LONGEST_CLASS = 40


def matrix_data(
    labels: Labels, y_true: Any, predictions: Mapping[str, Any], yerr: Any, weight: Any
) -> dict[str, Any] | None:
    """Cells of each model; None where the predictions are no classes (probabilities, decision values)."""
    if not all(_are_classes(p, labels.values) for p in predictions.values()):
        return None
    classes, counts = np.unique(np.concatenate([labels.values, *predictions.values()]), return_counts=True)
    shown = np.sort(classes[np.argsort(-counts, kind="stable")[:_MOST_CLASSES]])
    whole = [sb.confusion_matrix(y_true, p, yerr=yerr, sample_weight=weight) for p in predictions.values()]
    return {
        "classes": [shortened(str(name), _LONGEST_CLASS) for name in shown.tolist()],
        "all": len(classes),
        "models": [_cells(matrix, shown) for matrix in whole],
    }


def _are_classes(prediction: Any, classes: Any) -> bool:
    values = np.asarray(prediction)
    return values.ndim == 1 and (values.dtype.kind not in "f" or bool(np.isin(values, classes).all()))


def _cells(matrix: Any, shown: Any) -> dict[str, Any]:
    # a class that this model never meets has an empty row and column
    at = np.searchsorted(matrix.classes, shown).clip(max=len(matrix.classes) - 1)
    met = matrix.classes[at] == shown
    there = np.outer(met, met)
    pick = np.ix_(at, at)

    def short(cells: Any) -> list[list[float]]:
        picked = np.where(there, np.asarray(cells, dtype=float)[pick], 0.0)
        return [[float(f"{value:.5g}") for value in row] for row in picked.tolist()]

    cells = {
        "observed": {"value": short(matrix.observed), "std": None},
        "expected": {"value": short(matrix.expected), "std": short(matrix.std)},
    }
    try:
        truth = matrix.truth
    except ValueError:  # the transition is not known: there is no matrix of true classes
        return cells
    return {**cells, "truth": {"value": short(truth.value), "std": short(truth.std)}}
