"""The law of the loss of a single label: exact, since the labels with a loss of at most t form intervals."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from scorebars.errors.base import FloatArray, MeasurementError
from scorebars.laws.base import Law
from scorebars.losses import Loss, RootLoss
from scorebars.moments import label_moments

_LARGEST = 1e300
_LOOK = np.array([1e-9, 1e-4, 0.02, 0.25, 0.5, 0.75, 0.98, 1 - 1e-4, 1 - 1e-9])


class OneLabelLaw(Law):
    """P(loss <= t) = P(label in the intervals where the loss is at most t), for a loss that names them.

    `mean` and `var` may be infinite: quantiles exist all the same. Where labels have no finite loss at all, the law is that
    of the others.
    """

    def __init__(self, loss: Loss, errors: MeasurementError, y: float, p: float, mean: float, var: float) -> None:
        self.loss, self.errors, self.y, self.p = loss, errors, np.array([y]), p
        self._known = (mean, var)
        looks = loss(errors.ppf(self.y, _LOOK[:, None])[:, 0], np.full(_LOOK.size, p))
        looks = looks[np.isfinite(looks)]
        self._undefined = self._outside(_LARGEST)
        if self._undefined == 1 or not looks.size:
            raise ValueError("the metric is not defined for any of the labels that these errors allow: it has no law.")
        self._bracket = (float(np.min(looks)), float(np.max(looks)))
        self.support = (0.0 if float(np.min(looks)) >= 0 else -math.inf, math.inf)

    def _mean(self) -> float:
        return self._known[0]

    def _var(self) -> float:
        return self._known[1]

    def _cdf(self, x: float) -> float:
        return min(self._within(x) / (1.0 - self._undefined), 1.0)

    def _sf(self, x: float) -> float:
        return min(max(self._outside(x) - self._undefined, 0.0) / (1.0 - self._undefined), 1.0)

    def _within(self, x: float) -> float:
        pieces = self.loss.sublevel(self.p, x)
        assert pieces is not None
        return sum(float(self.errors.between(self.y, *self._ends(piece))[0]) for piece in pieces)

    def _outside(self, x: float) -> float:
        """What lies outside the intervals: below the first, between them, above the last."""
        pieces = sorted(self.loss.sublevel(self.p, x) or [])
        lows, highs = [-math.inf] + [high for _, high in pieces], [low for low, _ in pieces] + [math.inf]
        outside = 0.0
        for low, high in zip(lows, highs, strict=True):
            if low == -math.inf:
                outside += float(self.errors.below(self.y, np.array([high]))[0])
            elif high == math.inf:
                outside += float(self.errors.sf(self.y, np.array([low]))[0])
            else:
                outside += float(self.errors.between(self.y, np.array([low]), np.array([high]))[0])
        return min(outside, 1.0)

    def root(self) -> OneLabelLaw:
        """The law of the square root of the loss."""
        root, p = RootLoss(self.loss), np.array([self.p])
        mean, var = label_moments(root, self.errors, self.y, p)
        return OneLabelLaw(root, self.errors, float(self.y[0]), self.p, float(mean[0]), float(var[0]))

    @staticmethod
    def _ends(piece: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
        return np.array([piece[0]]), np.array([piece[1]])

    def _ppf(self, q: float) -> float:
        low, high = self._bracket
        step = max(high - low, abs(high), 1e-300)

        def excess(x: float) -> float:
            return self._cdf(x) - q if q <= 0.5 else (1.0 - q) - self._sf(x)

        while low > self.support[0] and excess(low) > 0:
            low, step = max(low - step, self.support[0]), 2.0 * step
        while excess(high) < 0:
            high, step = high + step, 2.0 * step
        if excess(low) >= 0:
            return low
        return float(brentq(excess, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=500))

    def _pdf(self, x: float) -> float:
        """By a difference on the scale of the law's own quartiles."""
        step = 1e-4 * (self._ppf(0.75) - self._ppf(0.25))
        if step == 0:
            return math.inf
        low = max(x - step, self.support[0])
        return (self._cdf(x + step) - self._cdf(low)) / (x + step - low)
