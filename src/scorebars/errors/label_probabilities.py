"""Class labels given as probabilities of each class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from scorebars.errors.base import FloatArray, check_kind
from scorebars.errors.class_error import ClassError, Classes, named_classes, probability_rows, spread_columns

_MEANING = "Row i holds the probability of each class for item i."


class LabelProbabilities(ClassError):
    r"""For each item the probability of each class; the label is the likeliest class (of several, the first).

    Parameters
    ----------
    p : (n, K)
        Probabilities, rows sum to 1.
    labels : (K,)
        The classes of the columns.
    kind : {"berkson", "classical"}
        ``"berkson"``: p is the calibrated probability of the true class, as from a posterior, and independent of the
        predictions: the expected score is the score against the truth. ``"classical"``: p is how fresh labels would be
        distributed; it does not say how the truth lies behind them, so `truth` cannot be had.

    Examples
    --------
    >>> import scorebars as sb
    >>> model = sb.errors.LabelProbabilities([[0.9, 0.1], [0.4, 0.6]], labels=[0, 1])
    >>> model.labels()
    array([0, 1])
    """

    def __init__(self, p: Any, labels: Any, *, kind: str = "berkson") -> None:
        self.kind = check_kind(kind)
        self.p: FloatArray = probability_rows(p, "p", _MEANING)
        self._classes = named_classes(labels, self.p.shape[1])

    @property
    def size(self) -> int | None:
        return len(self.p)

    def _part(self, index: Any) -> Self:
        part = type(self).__new__(type(self))
        part.kind, part.p, part._classes = self.kind, self.p[index], self._classes
        return part

    def labels(self) -> Classes:
        return np.asarray(self._classes[np.argmax(self.p, axis=1)])

    def classes(self) -> Classes:
        return self._classes

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        return spread_columns(self.p, self._classes, classes)

    def transition(self, classes: Classes) -> FloatArray | None:
        return None

    def why_no_transition(self) -> str:
        return (
            "LabelProbabilities of kind 'classical' say how fresh labels fall, not how true classes are shown. If p are "
            "calibrated probabilities of the true class, use kind='berkson'."
        )

    def __repr__(self) -> str:
        n, k = self.p.shape
        kind = "" if self.kind == "berkson" else f", kind={self.kind!r}"
        return f"LabelProbabilities({n} labels, {k} classes{kind})"
