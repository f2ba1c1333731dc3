"""What a metric sums: the loss of one label."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.forecasts import Forecast, IntervalForecast, NormalForecast

LossFunction = Callable[[FloatArray, FloatArray], Any]
Kinks = Callable[[FloatArray], Any] | Sequence[float] | None

_SMALLEST_LABEL = float(np.finfo(np.float64).eps)
"""Below this size of a label scikit-learn divides by this number instead."""


class Loss(ABC):
    """A per-label loss ``loss(y, p)`` of label y and prediction p, both arrays; scores of forecasts take these as p."""

    degree: int | None = None
    """loss(c y, c p) = c**degree loss(y, p) for c > 0; None if it does not scale."""

    of_residual: bool = False
    """Whether the loss depends on y - p alone."""

    of_forecast: bool = False
    """Whether the prediction is a forecast."""

    continuous: bool = True
    """Whether the loss changes little where the label does."""

    smooth: bool = False
    """Whether it has derivatives of all orders, though it may bend sharply."""

    bend: float = 0.0
    """Residuals over which it bends at its kinks, where it does not do so sharply."""

    bounded: bool = False
    """Whether it is nowhere large, so that rare labels far out do not count."""

    precision: float = 1e-14
    """Relative accuracy to which its integrals are found; lower where its values are integrals themselves."""

    least_label: float = -math.inf
    """At or below this label the loss does not exist."""

    kinks_from_prediction: tuple[float, ...] = ()
    """Distances from the prediction at which the loss bends, jumps or grows without bound."""

    kinks_at: tuple[float, ...] = ()
    """Labels at which it does so whatever the prediction."""

    @property
    def kinks_of_predictions_known(self) -> bool:
        """Whether the loss of a given label is smooth between `kinks_of_predictions`."""
        return True

    @abstractmethod
    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray: ...

    def kinks(self, p: FloatArray) -> FloatArray:
        """Labels at which the loss bends, jumps or grows without bound, shape (k, n): integrals are split there."""
        moving = np.add.outer(np.array(self.kinks_from_prediction), p)
        return np.concatenate([moving, np.multiply.outer(np.array(self.kinks_at), np.ones_like(p))])

    def kinks_of_predictions(self, y: FloatArray) -> FloatArray:
        """Predictions at which the loss of a given label does so, shape (k, n)."""
        moving = np.subtract.outer(-np.array(self.kinks_from_prediction), -y)
        return np.concatenate([moving, np.multiply.outer(np.array(self.kinks_at), np.ones_like(y))])

    def parabola(self, p: Any) -> FloatArray | None:
        """For a loss a y^2 + b y + c of the label: the factor a for each prediction. None where the loss is not a parabola."""
        return None


# losses of the residual y - p ------------------------------------------------------------------


class SquaredError(Loss):
    """(y - p)^2"""

    of_residual = True
    degree = 2

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.square(y - p)

    def parabola(self, p: FloatArray) -> FloatArray:
        return np.ones(len(p))


class AbsoluteError(Loss):
    """|y - p|"""

    of_residual = True
    degree = 1
    kinks_from_prediction = (0.0,)

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.abs(y - p)


class SignedError(Loss):
    """p - y: positive where the prediction is too high"""

    of_residual = True
    degree = 1

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.subtract(p, y)


class Pinball(Loss):
    """alpha (y - p) where the label is above the prediction, (1 - alpha) (p - y) where it is below"""

    of_residual = True
    degree = 1
    kinks_from_prediction = (0.0,)

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        d = y - p
        return np.where(d >= 0, self.alpha * d, (self.alpha - 1.0) * d)


class Huber(Loss):
    """(y - p)^2 / 2 up to delta, then delta (|y - p| - delta/2)"""

    of_residual = True

    def __init__(self, delta: float) -> None:
        self.delta = delta
        self.kinks_from_prediction = (-delta, delta)

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        size = np.abs(y - p)
        inner = np.minimum(size, self.delta)
        return inner * (size - 0.5 * inner)


class LogCosh(Loss):
    """log cosh(y - p)"""

    of_residual = smooth = True
    bend = 1.0
    kinks_from_prediction = (-20.0, -4.0, 0.0, 4.0, 20.0)  # where a wide error meets the narrow bend at the prediction

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        size = np.abs(y - p)
        near = np.minimum(size, 1.0)
        # log cosh x = log1p(2 sinh(x/2)^2) keeps the digits of small residuals, |x| - log 2 + ... the range of large ones
        small = np.log1p(2.0 * np.square(np.sinh(near / 2)))
        return np.where(size <= 1.0, small, size - math.log(2.0) + np.log1p(np.exp(-2.0 * size)))


class Within(Loss):
    """1 where |y - p| <= tolerance, else 0"""

    of_residual = True
    continuous = False

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self.kinks_from_prediction = (-tolerance, tolerance)

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.where(np.abs(y - p) <= self.tolerance, 1.0, 0.0)

    def ends(self, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Between which labels it is 1."""
        return p - self.tolerance, p + self.tolerance


# losses that compare label and prediction by their ratio ---------------------------------------


class PercentageError(Loss):
    """|y - p| / |y|, with at least 2.2e-16 in the denominator"""

    degree = 0
    kinks_from_prediction = kinks_at = (0.0,)

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(np.abs(y - p) / np.maximum(np.abs(y), _SMALLEST_LABEL))


class SymmetricPercentage(Loss):
    """2 |y - p| / (|y| + |p|), and 0 where both are 0"""

    degree = 0
    bounded = True
    kinks_from_prediction = kinks_at = (0.0,)

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        y, p = np.asarray(y, float) / 2, np.asarray(p, float) / 2  # halves: the sum of two large numbers stays finite
        total = np.abs(y) + np.abs(p)
        return np.asarray(2.0 * (np.abs(y - p) / np.where(total > 0, total, 1.0)))


class SquaredLogError(Loss):
    """(log(1 + y) - log(1 + p))^2; labels at or below -1 have no logarithm: infinite"""

    least_label = -1.0
    kinks_at = (-1.0,)

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        defined = np.greater(y, -1.0)
        return np.where(defined, np.square(np.log1p(np.where(defined, y, 0.0)) - np.log1p(p)), math.inf)


# scores of a forecast: p is a `Forecast` --------------------------------------------------------


class ForecastScore(Loss):
    """A score of the forecast p at the label y."""

    of_forecast = True

    def kinks(self, p: Forecast) -> FloatArray:  # type: ignore[override]
        found = p.knots()
        return np.empty((0, len(p))) if found is None else found


class Crps(ForecastScore):
    """The continuous ranked probability score; of members "plain" or "fair" """

    degree = 1

    def __init__(self, estimator: str = "plain") -> None:
        self.estimator = estimator

    def __call__(self, y: FloatArray, p: Forecast) -> FloatArray:  # type: ignore[override]
        return p.crps(y, self.estimator)


class QuantileLoss(ForecastScore):
    """Mean over the levels of the pinball loss: half the CRPS of quantiles"""

    degree = 1

    def __call__(self, y: FloatArray, p: Forecast) -> FloatArray:  # type: ignore[override]
        return 0.5 * p.crps(y)


class LogScore(ForecastScore):
    """Minus the logarithm of the forecast's density at the label"""

    def __call__(self, y: FloatArray, p: Forecast) -> FloatArray:  # type: ignore[override]
        return p.log_score(y)

    def terms(self, p: Forecast) -> tuple[FloatArray, FloatArray] | None:
        """a and c of the score c + a (y - mean)^2, where it has this form: for normal forecasts."""
        if not isinstance(p, NormalForecast):
            return None
        variance = np.square(p.std)
        return 0.5 / variance, 0.5 * np.log(2 * math.pi * variance)

    def parabola(self, p: Forecast) -> FloatArray | None:
        terms = self.terms(p)
        return None if terms is None else terms[0]


class DawidSebastiani(ForecastScore):
    """log v + (y - m)^2 / v with the forecast's mean m and variance v"""

    def __call__(self, y: FloatArray, p: Forecast) -> FloatArray:  # type: ignore[override]
        a, c = self.terms(p)
        return c + a * np.square(y - p.mean)

    def kinks(self, p: Forecast) -> FloatArray:  # type: ignore[override]
        return np.empty((0, len(p)))

    def terms(self, p: Forecast) -> tuple[FloatArray, FloatArray]:
        """a and c of the score c + a (y - mean)^2."""
        variance = np.square(p.std)
        return 1.0 / variance, np.log(variance)

    def parabola(self, p: Forecast) -> FloatArray:
        return self.terms(p)[0]


class IntervalScore(ForecastScore):
    """(u - l) + (2/alpha) [(l - y)_+ + (y - u)_+] of an interval of level 1 - alpha"""

    degree = 1

    def __init__(self, level: float) -> None:
        self.level = level

    def __call__(self, y: FloatArray, p: IntervalForecast) -> FloatArray:  # type: ignore[override]
        missed = np.maximum(p.lower - y, 0.0) + np.maximum(y - p.upper, 0.0)
        return (p.upper - p.lower) + 2.0 / (1.0 - self.level) * missed


class Covered(ForecastScore):
    """1 where the interval holds the label, its ends included, else 0"""

    continuous = False

    def __call__(self, y: FloatArray, p: IntervalForecast) -> FloatArray:  # type: ignore[override]
        return np.where((y >= p.lower) & (y <= p.upper), 1.0, 0.0)

    def ends(self, p: IntervalForecast) -> tuple[FloatArray, FloatArray]:
        """Between which labels it is 1."""
        return p.lower, p.upper


# losses made of other functions ----------------------------------------------------------------


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

    @property
    def kinks_of_predictions_known(self) -> bool:
        return self.loss.kinks_of_predictions_known

    def kinks_of_predictions(self, y: FloatArray) -> FloatArray:
        return np.concatenate([self.loss.kinks_of_predictions(y), y[None]])


class ItsLabel(Loss):
    """y itself: its values are those that a label may take; p has columns where functions of them bend, or says nothing"""

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.asarray(y, dtype=np.float64)

    def kinks(self, p: FloatArray) -> FloatArray:
        return p.T if p.ndim == 2 else np.empty((0, len(p)))


class LossDifference(Loss):
    """loss(y, a) - loss(y, b) of two predictions: p has the columns a and b"""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.degree, self.continuous, self.smooth = loss.degree, loss.continuous, loss.smooth
        self.precision, self.least_label = loss.precision, loss.least_label

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return np.subtract(self.loss(y, p[..., 0]), self.loss(y, p[..., 1]))

    def kinks(self, p: FloatArray) -> FloatArray:
        return np.concatenate([self.loss.kinks(p[:, 0]), self.loss.kinks(p[:, 1])])


class CustomLoss(Loss):
    """Any vectorised function of labels and predictions, both one-dimensional arrays.

    `kinks` are distances from the prediction at which the loss bends or jumps, or a function of the predictions that
    gives the labels at which it does.
    """

    def __init__(self, function: LossFunction, kinks: Kinks = None, degree: int | None = None) -> None:
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

    @property
    def kinks_of_predictions_known(self) -> bool:
        return self._kinks is not None and not callable(self._kinks)

    def kinks_of_predictions(self, y: FloatArray) -> FloatArray:
        """Those declared as distances; else the label itself and 0."""
        if self._kinks is None or callable(self._kinks):
            return np.stack([y, np.zeros_like(y)])
        return np.subtract.outer(-np.asarray(self._kinks, float), -y)


class SwappedLoss(Loss):
    """loss(y, p) as a function of the prediction, for a given label: labels and predictions change places.

    Where the loss does not exist below a label, it does not exist below such a prediction either.
    """

    precision = 1e-12

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    def __call__(self, y: FloatArray, p: FloatArray) -> FloatArray:
        if math.isinf(self.loss.least_label):
            return self.loss(p, y)
        defined = np.greater(y, self.loss.least_label)
        return np.where(defined, self.loss(p, np.where(defined, y, self.loss.least_label + 1.0)), math.inf)

    def kinks(self, p: FloatArray) -> FloatArray:
        return self.loss.kinks_of_predictions(p)
