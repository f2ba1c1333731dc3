"""What holds of a score against the truth whatever the true residuals: for labels too few to show a law.

Label error s raises the mean loss of an item with true residual D by g_s(D) = E loss(D + s Z) - loss(D). So the mean loss
against the truth is the expected observed score less the mean of g_s(D_i). D_i is not known, but it lies within a few s_i
of the observed residual: the smallest and the largest g_s there bound the truth on both sides. For |D| these are 0 and
sqrt(2/pi) s, or 0 and 0 for a residual many errors away from the kink.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from scorebars.arrays import FloatArray
from scorebars.errors import Normal
from scorebars.losses import Loss
from scorebars.moments import label_moments
from scorebars.score import Interval

_REACH = 4.0
"""A true residual is taken to lie within this many errors of the observed one."""
_POINTS = 33
_BESIDE = 1e-9
"""A jump is looked at from both sides, this part of the error away."""
_MOST_LABELS = 2000
"""More labels than this are thinned out."""


def raised_by_noise(loss: Loss, residual: FloatArray, sd: FloatArray, share: FloatArray) -> tuple[float, float]:
    """The least and the most by which label errors may have raised the mean of a loss of the residual."""
    step = max(1, len(residual) // _MOST_LABELS)
    d, s, a = residual[::step, None], sd[::step, None], share[::step] / float(np.sum(share[::step]))
    kinks = loss.kinks(np.zeros(1)).reshape(1, -1)
    near = np.concatenate([kinks, kinks, kinks], axis=1) + s * np.repeat([0.0, -_BESIDE, _BESIDE], kinks.size)
    points = np.concatenate([d + s * np.linspace(-_REACH, _REACH, _POINTS), near], axis=1)
    points = np.clip(points, d - _REACH * s, d + _REACH * s)
    flat, zero = points.reshape(-1), np.zeros(points.size)
    noisy = label_moments(loss, Normal.trusted(np.broadcast_to(s, points.shape).reshape(-1)), flat, zero).mean
    raised = (noisy - loss(flat, zero)).reshape(points.shape)
    return float(a @ raised.min(axis=1)), float(a @ raised.max(axis=1))


@dataclass(frozen=True)
class WhateverTheResiduals:
    """observed - most raised - scatter to observed - least raised + scatter; always with the estimate, in the range."""

    observed: float
    value: float
    raised: tuple[float, float]
    std: float
    low: float = -math.inf
    high: float = math.inf
    df: float = math.inf

    def __call__(self, level: float) -> Interval:
        tail = (1.0 + level) / 2
        scatter = float(ndtri(tail) if math.isinf(self.df) else stdtrit(self.df, tail)) * self.std
        ends = (
            min(self.observed - self.raised[1] - scatter, self.value),
            max(self.observed - self.raised[0] + scatter, self.value),
        )
        return Interval(*(min(max(end, self.low), self.high) for end in ends))
