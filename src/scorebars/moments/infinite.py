"""Why a loss has no mean, or no variance, under these errors, in words that say what to do."""

from __future__ import annotations

import numpy as np

from scorebars.errors import StudentT
from scorebars.errors.base import FloatArray, MeasurementError
from scorebars.losses import Loss, PercentageError, SquaredLogError
from scorebars.moments.ratios import reaches_zero


def why_infinite(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> str:
    """The reason, and what to use instead."""
    if isinstance(loss, PercentageError):
        count = int(np.sum(reaches_zero(errors, y) & (p != 0)))
        return (
            f"under {errors!r} errors {count} of {len(y)} labels can come arbitrarily close to 0, where a percentage error "
            "grows without bound. Use observed, the median distribution.ppf(0.5), LogNormal errors, or the symmetric "
            "percentage error."
        )
    if isinstance(loss, SquaredLogError):
        below = errors.cdf(y, np.full_like(y, -1.0))
        return (
            f"under {errors!r} errors labels fall to -1 or below with probability up to {float(np.max(below)):.3g} "
            f"({int(np.sum(below > 0))} of {len(y)} labels), where the logarithm is undefined. Use observed, LogNormal "
            "errors, or the distribution: that of labels whose errors are cut at -1."
        )
    if isinstance(errors, StudentT):
        return (
            f"Student errors have no moments of the order of their df or above (the smallest df is "
            f"{float(np.min(errors.df)):g}). Use observed, or the median distribution.ppf(0.5)."
        )
    return f"the loss has no finite moments under {errors!r} errors. Use observed, or the median distribution.ppf(0.5)."
