"""What is known about the labels: the base of all error models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Kind = Literal["classical", "berkson"]
_KINDS = ("classical", "berkson")


def check_kind(kind: str) -> Kind:
    """`kind` as one of the two ways in which label and truth belong together."""
    if kind not in _KINDS:
        raise ValueError(
            f"kind must be 'classical' (label = truth + error: a measurement) or 'berkson' "
            f"(truth = label + error: a set point, a calibrated posterior), got {kind!r}."
        )
    return kind  # type: ignore[return-value]


class ErrorModel(ABC):
    """How labels scatter.

    `kind` is ``"classical"`` (label = truth + error: a measurement) or ``"berkson"`` (truth = label + error: a
    nominal set point, a calibrated posterior). It decides what the score against the truth is.
    """

    kind: Kind

    @property
    @abstractmethod
    def size(self) -> int | None:
        """How many labels the model describes; None if one value serves all."""

    @property
    def shape(self) -> tuple[int]:
        """``(size,)``, by which scikit-learn knows what to split along with the labels; a model for any labels has none."""
        if self.size is None:
            raise AttributeError(f"this {type(self).__name__} serves any number of labels, so it has no shape")
        return (self.size,)

    def __getitem__(self, index: Any) -> Self:
        """The model of a subset of the labels, as a fold of a cross-validation needs it."""
        return self._part(index[0] if isinstance(index, tuple) else index)  # scikit-learn asks for model[rows, ...]

    @abstractmethod
    def _part(self, index: Any) -> Self:
        """The model of the labels at `index`: whole numbers, booleans or a slice."""

    def require_size(self, n: int, argument: str = "yerr") -> None:
        """Refuse a model that describes another number of labels."""
        if self.size is not None and self.size != n:
            raise ValueError(
                f"{argument} describes {self.size} labels but y_true has {n}. Give one error for each label, or a number."
            )


class MeasurementError(ErrorModel):
    """Errors of measured numbers: the law of a fresh label around the label's value `y`."""

    discrete: bool = False
    """Whether fresh labels take single values, each with its own probability."""

    repeats: FloatArray | float = 1.0
    """How many repeats each label is the mean of; `sd` is the error of a single one."""

    @property
    def independent(self) -> bool:
        """Whether the errors of different labels are independent."""
        return True

    @abstractmethod
    def mean(self, y: FloatArray) -> FloatArray:
        """Mean of a fresh label."""

    @abstractmethod
    def variance(self, y: FloatArray) -> FloatArray:
        """Variance of a fresh label."""

    @abstractmethod
    def third(self, y: FloatArray) -> FloatArray:
        """Third central moment of a fresh label."""

    @abstractmethod
    def fourth(self, y: FloatArray) -> FloatArray:
        """Fourth central moment of a fresh label."""

    def variance_of_mean(self, y: FloatArray, repeats: FloatArray | float) -> FloatArray:
        """Variance of the mean of `repeats` fresh labels."""
        return self.variance(y) / repeats

    def label_variance(self, y: FloatArray) -> FloatArray:
        """Error variance of the label at hand, the mean of its repeats."""
        return self.variance_of_mean(y, self.repeats)

    def largest(self, y: FloatArray) -> float:
        """Largest standard deviation of a label."""
        return float(np.sqrt(np.max(self.variance(y))))

    def scaled(self, factor: float) -> Self:
        """The errors of the labels multiplied by `factor`; families that are tied to a unit stay as they are."""
        return self

    @abstractmethod
    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Fresh labels, shape (size, n)."""

    # what labels may be ------------------------------------------------------------------------

    def check_labels(self, y: FloatArray, argument: str = "y_true") -> None:
        """Refuse labels that cannot come from this family; the message says which and how many."""

    def labels(self) -> FloatArray | None:
        """The labels themselves where the model holds them, so that y_true may be None."""
        return None

    # probabilities, for x of shape (..., n) ----------------------------------------------------

    @abstractmethod
    def cdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """P(fresh label <= x)."""

    @abstractmethod
    def sf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """P(fresh label > x), with its own digits in the upper tail."""

    @abstractmethod
    def below(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """P(fresh label < x): differs from `cdf` where a single value has probability."""

    @abstractmethod
    def at_least(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """P(fresh label >= x)."""

    @abstractmethod
    def pdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """Density of a fresh label at x; of a discrete family the probability of x."""

    @abstractmethod
    def ppf(self, y: FloatArray, q: FloatArray) -> FloatArray:
        """The value below which a fresh label falls with probability q."""

    def between(self, y: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """P(low <= fresh label <= high), the difference taken in the tail that keeps its digits."""
        upper = self.at_least(y, low) - self.sf(y, high)
        lower = self.cdf(y, high) - self.below(y, low)
        return np.clip(np.where(low > y, upper, lower), 0.0, 1.0)

    # against the truth -------------------------------------------------------------------------

    @abstractmethod
    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[MeasurementError, FloatArray]:
        """More error on top of that of the labels at hand, by `level` times its variance: a model, and where it centres.

        Losses under growing extra error, extrapolated back to none, tell of the loss against the truth.
        """

    def unbiased_label(self, y: FloatArray) -> FloatArray:
        """Unbiased estimate of the true value behind the label y."""
        return 2.0 * y - self.mean(y)

    def unbiased_square(self, y: FloatArray, p: FloatArray) -> FloatArray:
        """Unbiased estimate of (truth - p)^2 from the label y."""
        return np.square(self.unbiased_label(y) - p) - self.label_variance(y)

    def unbiased_square_variance(self, y: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Estimated variance of `unbiased_square`, and its value for a perfect prediction, which it does not go below.

        Var (D + e)^2 = m4 - s^4 + 4 D^2 s^2 + 4 D m3, with D and D^2 replaced by their unbiased estimates.
        """
        s2, m3, m4 = self.variance(y), self.third(y), self.fourth(y)
        d = self.unbiased_label(y) - p
        with np.errstate(invalid="ignore"):
            floor = np.where(np.isinf(m4), np.inf, m4 - s2 * s2)
            return np.where(np.isinf(m4), np.inf, floor + 4.0 * (s2 * (d * d - s2) + d * m3)), floor


def picked(values: FloatArray | float, index: Any) -> FloatArray | float:
    """Per-label values of a subset; a value that serves all labels stays as it is."""
    return values[index] if isinstance(values, np.ndarray) and values.ndim else values
