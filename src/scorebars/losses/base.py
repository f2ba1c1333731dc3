"""What every per-label loss can say about itself."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from scorebars.errors.base import FloatArray

Pieces = list[tuple[float, float]]
"""Closed intervals of labels."""


class Loss(ABC):
    """A per-label loss ``loss(y, p)`` of label y and prediction p, both arrays."""

    degree: int | None = None
    """loss(c y, c p) = c**degree loss(y, p) for c > 0; None if it does not scale."""

    of_residual: bool = False
    """Whether the loss depends on y - p alone."""

    continuous: bool = True
    """Whether the loss changes little where the label does."""

    least_label: float = -math.inf
    """At or below this label the loss does not exist."""

    @abstractmethod
    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray: ...

    def kinks(self, p: FloatArray) -> FloatArray:
        """Labels at which the loss bends, jumps or grows without bound, shape (k, n): integrals are split there."""
        return np.empty((0, len(p)))

    def sublevel(self, p: float, t: float) -> Pieces | None:
        """The labels whose loss is at most t, as intervals; None where this loss does not say."""
        return None
