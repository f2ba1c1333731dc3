"""Class labels whose mix-ups are known class by class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from scorebars.errors.base import FloatArray, check_kind
from scorebars.errors.class_error import ClassError, Classes, named_classes, positions, probability_rows

_MEANING = "Row k holds the probabilities that an item of true class k is shown as each of the classes."


class Transition(ClassError):
    r"""An item of true class k is shown as class j with probability `matrix[k, j]`.

    Parameters
    ----------
    matrix : (K, K)
        Row: true class; column: shown class; rows sum to 1. Such a matrix comes from labels that were checked: of the
        items found to be of class k, which share had been shown as j?
    labels : (K,)
        The classes of rows and columns. Classes that occur in predictions only may be missing: they are never shown.
    kind : {"classical", "berkson"}
        ``"classical"`` as above. ``"berkson"``: row: shown class, column: true class, so that `matrix[k, j]` is the
        calibrated probability that an item shown as k is truly j, independent of the prediction.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.Transition([[0.9, 0.1], [0.2, 0.8]], labels=["cat", "dog"])
    Transition(2 classes)
    """

    classwise = True

    def __init__(self, matrix: Any, labels: Any, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        rows = probability_rows(matrix, "matrix", _MEANING)
        if rows.shape[0] != rows.shape[1]:
            raise ValueError(
                f"matrix must be square, one row and one column for each class, but has shape {rows.shape}."
            )
        self._classes = named_classes(labels, len(rows))
        self.matrix: FloatArray = rows

    @property
    def size(self) -> int | None:
        return None

    def _part(self, index: Any) -> Self:
        return self

    def classes(self) -> Classes:
        return self._classes

    def transition(self, classes: Classes) -> FloatArray:
        out = np.eye(len(classes))  # a class that the matrix does not name is never mixed up
        place = positions(self._classes, classes)
        out[np.ix_(place, place)] = self.matrix
        return out

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        return np.asarray(self.transition(classes)[positions(labels, classes)])

    def __repr__(self) -> str:
        return (
            f"Transition({len(self._classes)} classes{'' if self.kind == 'classical' else ', kind=' + repr(self.kind)})"
        )
