"""Warnings where a classical score is 0/0, as scikit-learn gives them."""

from __future__ import annotations

import sys
import warnings


def warn_undefined(message: str, stacklevel: int = 3) -> None:
    """Warn by scikit-learn's `UndefinedMetricWarning` where it is loaded, so that its filters work; else by a UserWarning."""
    theirs = sys.modules.get("sklearn.exceptions")
    warnings.warn(message, getattr(theirs, "UndefinedMetricWarning", UserWarning), stacklevel=stacklevel + 1)
