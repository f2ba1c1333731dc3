"""Errors of labels and predictions together: what is known where a prediction has a standard error of its own.

A prediction that is an average of few runs, a free energy from finite sampling, the mean of a few dropout passes: it scatters
about what the model would predict if it were converged, independently of the label's error. A loss of the difference sees
only the error of the difference. With normal label errors that is a normal error again, of variance sigma^2 + q^2
(`of_difference`). Other losses see both: `LabelAndPrediction` draws both, and the moments are integrals over both.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from scipy.special import ndtri

from scorebars.arrays import FloatArray
from scorebars.errors.measurement_error import MeasurementError
from scorebars.errors.normal import Normal
from scorebars.errors.per_label import picked


class LabelAndPrediction(MeasurementError):
    """Errors of labels, and independent normal errors of standard deviation `prediction_sd` of their predictions.

    As an error model of labels it is that of the difference, label less prediction: prediction errors count as if the label
    had them too. What is not one of the difference asks for draws of both (`sample_both`).
    """

    per_label: ClassVar[tuple[str, ...]] = ("label", "prediction_sd")

    sharp = True  # true residuals are found by extrapolation, which needs no density

    def __init__(self, label: MeasurementError, prediction_sd: FloatArray) -> None:
        self.label, self.prediction_sd, self.kind = label, prediction_sd, label.kind
        self.follows_label, self.repeats = label.follows_label, label.repeats

    def _part(self, index: Any) -> Self:
        label = self.label if self.label.size is None and np.ndim(self.label.repeats) == 0 else self.label[index]
        return type(self)(label, picked(self.prediction_sd, index))

    @property
    def size(self) -> int:
        return len(self.prediction_sd)

    @property
    def independent(self) -> bool:
        return self.label.independent

    def of_labels(self) -> MeasurementError:
        return self.label

    def of_predictions(self) -> Normal:
        return Normal.trusted(self.prediction_sd)

    def of_difference(self) -> MeasurementError:
        return _normal_difference(self.label.normal, self.prediction_sd) if self.label.normal is not None else self

    def _with(self, label: MeasurementError) -> Self:
        return type(self)(label, self.prediction_sd)

    def scaled(self, factor: float) -> Self:
        return type(self)(self.label.scaled(factor), self.prediction_sd * factor)

    def in_units_of_labels(self, n: int) -> MeasurementError | None:
        """In units of both errors together."""
        if self.label.in_units_of_labels(n) is None:
            return None
        bar = self.error_bar(np.zeros(n))
        unit: Any = 1.0 / np.where(bar > 0, bar, 1.0)
        return type(self)(self.label.scaled(unit), self.prediction_sd * unit)

    def label_level(self) -> Self:
        return self._with(self.label.label_level())

    def absolute_level(self) -> Self:
        return self._with(self.label.absolute_level())

    # moments of the difference -----------------------------------------------------------------

    def mean(self, y: FloatArray) -> FloatArray:
        return self.label.mean(y)

    def variance(self, y: FloatArray) -> FloatArray:
        return self.label.variance(y) + np.square(self.prediction_sd)

    def third(self, y: FloatArray) -> FloatArray:
        return self.label.third(y)

    def fourth(self, y: FloatArray) -> FloatArray:
        """m4 + 6 q^2 s^2 + 3 q^4."""
        q2 = np.square(self.prediction_sd)
        return self.label.fourth(y) + 3.0 * q2 * (2.0 * self.label.variance(y) + q2)

    def variance_of_mean(self, y: FloatArray, repeats: FloatArray | float) -> FloatArray:
        """The same predictions serve all repeats: their errors do not average out."""
        return self.label.variance_of_mean(y, repeats) + np.square(self.prediction_sd)

    def variance_of_sum(self, y: FloatArray, a: FloatArray, repeats: FloatArray | float = 1.0) -> float:
        return self.label.variance_of_sum(y, a, repeats) + float(np.sum(np.square(a * self.prediction_sd)))

    def common_shifts(self) -> FloatArray | None:
        return self.label.common_shifts()

    def error_bar(self, y: FloatArray) -> FloatArray:
        return np.hypot(self.label.error_bar(y), self.prediction_sd)

    def largest(self, y: FloatArray) -> float:
        return max(self.label.largest(y), float(np.max(self.prediction_sd)))

    def error_free(self, y: FloatArray) -> bool:
        return self.label.error_free(y) and not np.any(self.prediction_sd)

    def require_valid(self, argument: str, hint: str) -> None:
        self.label.require_valid(argument, hint)

    def check_labels(self, y: FloatArray, argument: str = "y_true") -> None:
        self.label.check_labels(y, argument)

    def has_moment(self, order: float) -> bool:
        return self.label.has_moment(order)

    def why_infinite(self) -> str:
        return self.label.why_infinite()

    # draws -------------------------------------------------------------------------------------

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return self.label.sample(y, size, rng) - self.prediction_sd * rng.standard_normal((size, len(y)))

    def sample_both(
        self, y: FloatArray, p: FloatArray, size: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        labels = self.label.sample(y, size, rng)
        return labels, p + self.prediction_sd * rng.standard_normal((size, len(y)))

    def moved(self, y: FloatArray, p: FloatArray, z: float) -> list[tuple[FloatArray, FloatArray]]:
        return [*self.label.moved(y, p, z), (y, p + z * self.prediction_sd)]

    def measured_again(
        self, y: FloatArray, truth: FloatArray, size: int, rng: np.random.Generator, repeats: float | None = None
    ) -> FloatArray:
        again = self.label.measured_again(y, truth, size, rng, repeats)
        return again - self.prediction_sd * rng.standard_normal((size, len(y)))

    # against the truth -------------------------------------------------------------------------

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[Self, FloatArray]:
        label, centre = self.label.noisier(y, level)
        return type(self)(label, self.prediction_sd * np.sqrt(level)), centre

    def truth_between(self, y: FloatArray, tail: float) -> tuple[FloatArray, FloatArray]:
        """Each error is beyond its own limit with half of the probability: together at most `tail`, whatever the family."""
        low, high = self.label.truth_between(y, tail / 2)
        reach = -float(ndtri(tail / 2)) * self.prediction_sd
        return low - reach, high + reach

    def unbiased_label(self, y: FloatArray) -> FloatArray:
        return self.label.unbiased_label(y)

    def unbiased_square(self, y: FloatArray, p: FloatArray) -> FloatArray:
        return self.label.unbiased_square(y, p) - np.square(self.prediction_sd)

    def unbiased_square_variance(self, y: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The prediction adds 4 D^2 q^2 + 2 q^4 to the variance from the label; for a perfect one, 4 s^2 q^2 + 2 q^4."""
        variance, floor = self.label.unbiased_square_variance(y, p)
        q2 = np.square(self.prediction_sd)
        with np.errstate(invalid="ignore"):
            own = q2 * (4.0 * self.unbiased_square(y, p) + 2.0 * q2)
            return variance + own, floor + q2 * (4.0 * self.label.label_variance(y) + 2.0 * q2)

    # no density on one axis --------------------------------------------------------------------

    def cdf(self, y: FloatArray, x: FloatArray) -> NoReturn:
        raise TypeError(
            "errors of label and prediction together have no distribution of the label alone: ask of_labels() for it, or "
            "sample_both() for draws."
        )

    sf = pdf = ppf = cdf  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.label!r} and prediction"


class NormalDifference(Normal):
    """Normal errors of label less prediction, where a label is the mean of repeats and the prediction errs once.

    One repeat less the prediction has variance sigma^2 + q^2, the label less the prediction sigma^2/n + q^2: as if the label
    were the mean of (sigma^2 + q^2) / (sigma^2/n + q^2) repeats.
    """

    per_label = ("sigma", "repeats", "scatter", "label", "prediction_sd")

    label: Normal
    prediction_sd: FloatArray

    @classmethod
    def of(cls, label: Normal, prediction_sd: FloatArray) -> Self:
        model = cls.trusted(np.hypot(label.sigma, prediction_sd), label.kind)
        single, mean = np.square(model.sigma), np.square(label.sigma) / label.repeats + np.square(prediction_sd)
        model.repeats = np.where(mean > 0, single / np.where(mean > 0, mean, 1.0), 1.0)
        model.label, model.prediction_sd, model.scatter = label, prediction_sd, label.scatter
        return model

    def scaled(self, factor: float) -> Self:
        return type(self).of(self.label.scaled(factor), self.prediction_sd * factor)

    @property
    def estimated(self) -> bool:
        return self.label.estimated

    @property
    def absolute_sd(self) -> FloatArray | float:
        return np.hypot(self.label.absolute_sd, self.prediction_sd) if self.scatter is not None else self.sigma

    def absolute_level(self) -> Normal:
        own = self.label.absolute_level()
        return Normal.trusted(np.hypot(own.sigma, self.prediction_sd), self.kind)

    def truth_variance(self, y: FloatArray, p: FloatArray, a: FloatArray) -> float:
        """The variance from the label's own errors (and from their size), plus what the predictions add.

        Var(d^2) = 4 D^2 (s^2 + q^2) + 2 (s^2 + q^2)^2, estimated by 4 d^2 (s^2 + q^2) - 2 (s^2 + q^2)^2: beyond the label's
        part this is 4 d^2 q^2 - 4 s^2 q^2 - 2 q^4, and at D = 0 it is 4 s^2 q^2 + 2 q^4.
        """
        s2, q2, a2 = self.label.label_variance(y), np.square(self.prediction_sd), np.square(a)
        least = q2 * (4.0 * s2 + 2.0 * q2)
        own = 4.0 * np.square(np.subtract(y, p, dtype=np.float64)) * q2 - least
        return self.label.truth_variance(y, p, a) + max(float(a2 @ own), float(a2 @ least))


def _normal_difference(label: Normal, prediction_sd: FloatArray) -> Normal:
    """The errors of label less prediction where both are normal; shared label errors stay shared."""
    if label.scatter is not None or not np.all(np.equal(label.repeats, 1.0)):
        return NormalDifference.of(label, prediction_sd)
    cov = None if label.cov is None else label.cov + np.diag(np.square(prediction_sd))
    return label.with_known_scale()._changed(sigma=np.hypot(label.sigma, prediction_sd), cov=cov)
