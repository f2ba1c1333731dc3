"""Class labels made by cutting a measured number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.errors.class_error import Classes
from scorebars.errors.measurement_error import LabelErrors, MeasurementError, check_kind
from scorebars.errors.named_classes import NamedClasses, spread_columns
from scorebars.errors.normal import NEGATIVE_YERR, error_model


class Thresholded(NamedClasses):
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
        Probability that a fresh value falls on the other side of the cut.

    Notes
    -----
    For a normal error :math:`q_i = \Phi(-|y_i - c| / \sigma_i)`. As a probability that the label is wrong it assumes all
    true values equally likely beforehand; near the edge of a population it is too small.

    Examples
    --------
    >>> import scorebars as sb
    >>> model = sb.errors.Thresholded([0.2, 1.4], 0.4, cut=1.0)
    >>> model.labels(), model.q.round(3)
    (array([0, 1]), array([0.023, 0.159]))
    """

    per_label = ("values", "errors", "_above", "_below")
    _classes = np.array([0, 1])

    values: FloatArray
    errors: MeasurementError
    cut: float
    _above: FloatArray
    _below: FloatArray

    def __init__(self, values: ArrayLike | None, yerr: LabelErrors, cut: float, *, kind: str | None = None) -> None:
        held = yerr.labels() if values is None and isinstance(yerr, MeasurementError) else values
        if held is None:
            raise ValueError("values is None, but yerr does not hold the values, as Empirical does.")
        if not isinstance(cut, float | int | np.number) or not math.isfinite(cut):
            raise ValueError(f"cut must be a finite number, got {cut!r}.")
        self.values = checks.finite_column(held, "values").copy()
        errors = error_model(yerr, self.values.shape, copy=True)
        errors.require_valid("yerr", NEGATIVE_YERR)
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

    def labels(self) -> Classes:
        return (self.values > self.cut).astype(np.int64)

    def check_labels(self, labels: Classes, argument: str = "y_true") -> None:
        super().check_labels(labels, argument)
        what = "differs from the labels that the cut makes"
        checks.refuse(argument, what, labels != self.labels(), labels, f"Pass {argument}=None.")

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        return spread_columns(np.stack([self._below, self._above], axis=1), self._classes, classes)

    why_no_transition = (
        "labels were made by cutting a measured number. The step at the cut is not the smoothing of anything, so no "
        "unbiased estimate exists without knowing how true values are distributed. If the true value scatters about "
        "the measured one, use kind='berkson'."
    )

    def __repr__(self) -> str:
        return self._text(f"{len(self.values)} values", f"cut={self.cut:g}", repr(self.errors))
