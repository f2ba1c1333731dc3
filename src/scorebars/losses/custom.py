"""A loss that a user wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.losses.base import Loss

Function = Callable[[FloatArray, FloatArray], Any]
Kinks = Callable[[FloatArray], Any] | Sequence[float] | None


class CustomLoss(Loss):
    """Any vectorised function of labels and predictions, both one-dimensional arrays.

    `kinks` are distances from the prediction at which the loss bends or jumps, or a function of the predictions that
    gives the labels at which it does.
    """

    def __init__(self, function: Function, kinks: Kinks = None, degree: int | None = None) -> None:
        self.function, self._kinks, self.degree = function, kinks, degree

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        shape = np.broadcast_shapes(np.shape(y), np.shape(p))
        y, p = (np.broadcast_to(np.asarray(a, float), shape).reshape(-1) for a in (y, p))
        with np.errstate(all="ignore"):
            found = np.asarray(self.function(y, p))
        if found.shape != y.shape or found.dtype.kind not in "biuf":
            raise ValueError(
                f"the loss must return one number for each label, shape {y.shape}, but returned shape {found.shape} of "
                f"type {found.dtype}. It is called with arrays of labels and predictions."
            )
        values = found.astype(np.float64, copy=False)
        missing = np.isnan(values)
        if missing.any():
            first = int(np.flatnonzero(missing)[0])
            raise ValueError(
                f"the loss is NaN at label {y[first]:g} and prediction {p[first]:g} ({int(missing.sum())} of {y.size} "
                "values). Labels may be anything the error model allows: define the loss there, or choose a model whose "
                "labels stay where it is defined."
            )
        return values.reshape(shape)

    def kinks(self, p: FloatArray) -> FloatArray:
        """What was declared; without that the prediction itself and 0, where most losses that bend do so."""
        if self._kinks is None:
            return np.stack([p, np.zeros_like(p)])
        if callable(self._kinks):
            found = self._kinks(p)
            rows = found if isinstance(found, list | tuple) or np.ndim(found) == 2 else [found]
            return np.array([np.broadcast_to(np.asarray(row, float), p.shape) for row in rows]).reshape(-1, len(p))
        return np.add.outer(np.asarray(self._kinks, float), p)
