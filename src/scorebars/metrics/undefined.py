"""Warnings where a classical score is 0/0, as scikit-learn gives them."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.cells import Cells
from scorebars.answers.confusion_functions import Share
from scorebars.answers.labelled import Labelled

_TITLES = {
    "precision": ("Precision", "predicted"),
    "recall": ("Recall", "true"),
    "specificity": ("Specificity", "true negative"),
    "f_beta": ("F-score", "true nor predicted"),
    "jaccard": ("Jaccard", "true or predicted"),
}


def warn_undefined(message: str, stacklevel: int = 3) -> None:
    """Warn by scikit-learn's `UndefinedMetricWarning` where it is loaded, so that its filters work; else by a UserWarning."""
    theirs = sys.modules.get("sklearn.exceptions")
    warnings.warn(message, getattr(theirs, "UndefinedMetricWarning", UserWarning), stacklevel=stacklevel + 1)


def warn_if_share_undefined(share: Share, data: Labelled, keep: NDArray[np.intp], pooled: bool) -> None:
    """Warn where the share of a class, or of all decisions pooled, is 0/0 on the labels as they are."""
    assert data.predicted is not None
    w = data.weights
    right = data.shown == data.predicted
    counts = [
        np.bincount(data.shown[right], w[right], data.k)[keep],
        np.bincount(data.predicted, w, data.k)[keep],
        np.bincount(data.shown, w, data.k)[keep],
        np.full(len(keep), w.sum()),
    ]
    _warn(share, counts, pooled, "sample", "label")


def warn_if_share_of_cells_undefined(share: Share, cells: Cells, average: str | None) -> None:
    """The same for multilabel data: of an output, of all cells pooled, or of an item."""
    assert cells.predicted is not None
    shown, chosen = cells.matrix(cells.shown), cells.matrix(cells.predicted)
    w = cells.item_weights[:, None]
    by_item = average == "samples"
    axis = 1 if by_item else 0
    counts = [np.add.reduce(w * marked, axis=axis) for marked in (shown * chosen, chosen, shown, np.ones(shown.shape))]
    _warn(share, counts, average == "micro", *(("label", "sample") if by_item else ("sample", "label")))


def _warn(share: Share, counts: list[NDArray[Any]], pooled: bool, counted: str, scored: str) -> None:
    """Warn where the share of right, predicted, labelled and all `counted` is 0/0 for one of those `scored`."""
    if pooled:
        counts = [np.array([values.sum()]) for values in counts]
    if not np.isnan(share(*counts)).any():
        return
    title, missing = _TITLES[share.name]
    where = "due to" if len(counts[0]) == 1 else f"in {scored}s with"
    warn_undefined(
        f"{title} is ill-defined and being set to 0.0 {where} no {missing} {counted}s. Use `zero_division` parameter to "
        "control this behavior.",
        stacklevel=5,
    )
