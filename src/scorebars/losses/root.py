"""The square root of another loss, for the law of a root mean squared error of one label."""

from __future__ import annotations

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.losses.base import Loss, Pieces


class RootLoss(Loss):
    """sqrt(loss(y, p)) of a loss that is nowhere negative and zero at y = p"""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.least_label = loss.least_label
        self.degree = None if loss.degree is None else loss.degree // 2

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.sqrt(self.loss(y, p))

    def kinks(self, p: FloatArray) -> FloatArray:
        return np.concatenate([self.loss.kinks(p), p[None]])

    def sublevel(self, p: float, t: float) -> Pieces | None:
        return self.loss.sublevel(p, t * t)
