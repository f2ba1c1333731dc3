"""Class labels made by cutting a measured number."""

from __future__ import annotations

import math
import numbers
from typing import Any, Self

import numpy as np

from scorebars import checks
from scorebars.errors.base import ErrorModel, FloatArray, MeasurementError, check_kind
from scorebars.errors.class_error import ClassError, Classes, positions
from scorebars.errors.normal import Normal
from scorebars.errors.split_normal import SplitNormal

_CLASSES = np.array([0, 1])


class Thresholded(ClassError):
    r"""Label 1 where a measured value lies above a cut, else 0; wrong where the error carries the value across.

    Parameters
    ----------
    values : (n,) or None
        Measured values; None where the error model holds them.
    yerr : number, (n,), (2, n) or model of measured numbers
        The errors of the values. They must be independent of each other.
    cut : number
        The label is 1 for values above it. A value at the cut is labelled 0, and wrong with probability 1/2 under
        symmetric errors.
    kind : {"classical", "berkson"}, optional
        That of `yerr` unless given. Under ``"berkson"`` the true value scatters about the measured one, and the expected
        score is the score against the truth. Under ``"classical"`` there is no unbiased estimate of the truth: a step is
        not the smoothing of anything.

    Attributes
    ----------
    q : (n,)
        Probability that a fresh value falls on the other side of the cut, for a normal error
        :math:`\Phi(-|y_i - c| / \sigma_i)`. As a probability that the label is wrong it assumes all true values equally
        likely beforehand; near the edge of a population it is too small.

    Examples
    --------
    >>> import scorebars as sb
    >>> model = sb.errors.Thresholded([0.2, 1.4], 0.4, cut=1.0)
    >>> model.labels(), model.q.round(3)
    (array([0, 1]), array([0.023, 0.159]))
    """

    values: FloatArray
    errors: MeasurementError
    cut: float
    _above: FloatArray
    _below: FloatArray

    def __init__(self, values: Any, yerr: Any, cut: Any, *, kind: str | None = None) -> None:
        held = yerr.labels() if values is None and isinstance(yerr, MeasurementError) else values
        if held is None:
            raise ValueError(
                "values is None, which is allowed only with a yerr that holds the values, such as Empirical."
            )
        if not isinstance(cut, numbers.Real) or not math.isfinite(cut):
            raise ValueError(f"cut must be a finite number, got {cut!r}.")
        self.values = np.array(checks.column(held, "values"), dtype=np.float64)
        checks.require_finite(self.values, "values")
        errors = _measurement_error(yerr, len(self.values))
        errors.check_labels(self.values, "values")
        if not errors.independent:
            raise ValueError(
                "Thresholded needs errors that are independent of each other: flips of correlated errors would be "
                "correlated in a way that depends on every pair of labels."
            )
        self.cut, self.errors = float(cut), errors
        self.kind = errors.kind if kind is None else check_kind(kind)
        # each side from its own tail, so that a rare flip keeps its digits
        self._above = np.asarray(errors.sf(self.values, np.full_like(self.values, self.cut)), dtype=np.float64)
        self._below = np.asarray(errors.cdf(self.values, np.full_like(self.values, self.cut)), dtype=np.float64)

    @property
    def q(self) -> FloatArray:
        """Probability that a fresh value falls on the other side of the cut."""
        return np.asarray(np.where(self.values > self.cut, self._below, self._above))

    @property
    def size(self) -> int | None:
        return len(self.values)

    def _part(self, index: Any) -> Self:
        part = type(self).__new__(type(self))
        part.kind, part.cut, part.values, part.errors = self.kind, self.cut, self.values[index], self.errors[index]
        part._above, part._below = self._above[index], self._below[index]
        return part

    def labels(self) -> Classes:
        return (self.values > self.cut).astype(np.int64)

    def classes(self) -> Classes:
        return _CLASSES

    def check_labels(self, labels: Classes, argument: str = "y_true") -> None:
        super().check_labels(labels, argument)
        other = labels != self.labels()
        if other.any():
            raise checks.complain(
                argument, "differs from the labels that the cut makes", other, labels, f"Pass {argument}=None."
            )

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        out = np.zeros((len(self.values), len(classes)))
        place = positions(_CLASSES, classes)
        out[:, place[0]], out[:, place[1]] = self._below, self._above
        return out

    def transition(self, classes: Classes) -> FloatArray | None:
        return None

    def why_no_transition(self) -> str:
        return (
            "labels were made by cutting a measured number. The step at the cut is not the smoothing of anything, so no "
            "unbiased estimate exists without knowing how true values are distributed. If the true value scatters about "
            "the measured one, use kind='berkson'."
        )

    def __repr__(self) -> str:
        kind = "" if self.kind == "classical" else f", kind={self.kind!r}"
        return f"Thresholded({len(self.values)} values, cut={self.cut:g}, {self.errors!r}{kind})"


def _measurement_error(yerr: Any, n: int) -> MeasurementError:
    """The errors that a number, one for each value, (2, n) lower and upper errors, or a model mean."""
    if isinstance(yerr, MeasurementError):
        yerr.require_size(n)
        return yerr[np.arange(n)]
    if isinstance(yerr, ErrorModel):
        raise ValueError(
            f"yerr is {type(yerr).__name__}, which describes class labels. Thresholded needs the errors of the values."
        )
    array = np.asarray(checks.real_array(yerr, "yerr"), dtype=np.float64)
    if array.shape == (2, n):
        return SplitNormal(*array)
    model = Normal(array.copy() if array.ndim else float(array))
    model.require_size(n)
    return model
