"""Warnings where a classical score is 0/0, as scikit-learn gives them."""

from __future__ import annotations

import sys
import warnings

import numpy as np
from numpy.typing import NDArray

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


def warn_if_share_undefined(share: Share, data: Labelled, keep: NDArray[np.intp], pooled: bool, averaged: bool) -> None:
    """Warn where the share of a class, or of all decisions pooled, is 0/0 on the labels as they are."""
    assert data.predicted is not None
    w = data.weights
    predicted = np.bincount(data.predicted, w, data.k)[keep]
    labelled = np.bincount(data.shown, w, data.k)[keep]
    right = data.shown == data.predicted
    hits = np.bincount(data.shown[right], w[right], data.k)[keep]
    total = np.full(len(keep), w.sum())
    if pooled:
        hits, predicted, labelled, total = (np.array([v.sum()]) for v in (hits, predicted, labelled, total))
    if not np.isnan(share(hits, predicted, labelled, total)).any():
        return
    title, missing = _TITLES[share.name]
    where = f"in labels with no {missing} samples" if averaged and not pooled else f"due to no {missing} samples"
    warn_undefined(
        f"{title} is ill-defined and being set to 0.0 {where}. Use `zero_division` parameter to control this behavior.",
        stacklevel=4,
    )
