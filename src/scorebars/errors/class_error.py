"""Errors of class labels: the base of all models that say how a class can be shown as another."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks
from scorebars.arrays import to_host
from scorebars.errors.base import ErrorModel, FloatArray

Classes = NDArray[Any]


class ClassError(ErrorModel):
    """How class labels err.

    Two questions, two methods. `label_probabilities` says what a fresh label would be around the label that is shown,
    which is taken as the true class: the question of `expected`. `transition` says how true classes are shown, which is
    what has to be inverted for the score against the truth.
    """

    repeats: NDArray[np.int64] | int = 1
    """How many votes each label is the majority of; the probabilities are those of a single one."""

    classwise: bool = False
    """Whether a label's probabilities depend on its class only."""

    def labels(self) -> Classes | None:
        """The labels themselves where the model holds them, so that y_true may be None."""
        return None

    def classes(self) -> Classes | None:
        """The classes that the model names; None if it serves any."""
        return None

    def check_labels(self, labels: Classes, argument: str = "y_true") -> None:
        """Refuse labels of which the model knows nothing."""
        known = self.classes()
        if known is None:
            return
        unknown = ~np.isin(labels, known)
        if unknown.any():
            raise checks.complain(
                argument,
                f"has classes that {type(self).__name__} does not name",
                unknown,
                labels,
                f"It names {_listed(known)}.",
            )

    @abstractmethod
    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        """P(fresh label i is class k), shape (n, K), for the labels that are shown."""

    @abstractmethod
    def transition(self, classes: Classes) -> FloatArray | None:
        """P(shown as column | true class row) of a single label, (K, K) or (n, K, K); None where it is not known."""

    def true_indicators(self, labels: Classes, classes: Classes) -> FloatArray | None:
        """Unbiased estimates of "the true class is k", (n, K), from the labels shown: rows of the inverse transition.

        The expectation of T^-1[shown, k] over the shown labels of an item of true class t is 1 for k = t and 0
        otherwise. None where no transition is known; a singular one raises LinAlgError.
        """
        rows = self.transition(classes)
        if rows is None:
            return None
        shown = positions(labels, classes)
        if rows.ndim == 2:
            return np.asarray(regular_inverse(rows)[shown])
        return np.asarray(regular_inverse(rows)[np.arange(len(shown)), shown])

    def why_no_transition(self) -> str:
        """Why the truth cannot be found from these labels, where `transition` is None."""
        return "how true classes are shown is not known."


def positions(labels: Classes, classes: Classes) -> NDArray[np.intp]:
    """Where each label stands among the sorted classes."""
    return np.searchsorted(classes, labels)


def regular_inverse(rows: FloatArray) -> FloatArray:
    """The inverse of (stacked) transition matrices; LinAlgError where one is singular to working precision."""
    condition = np.linalg.cond(rows)
    if not np.all(condition < 1e12):
        raise np.linalg.LinAlgError("Singular matrix")
    return np.asarray(np.linalg.inv(rows))


def named_classes(labels: ArrayLike, count: int, argument: str = "labels", of: str = "columns") -> Classes:
    """Classes as given by a user: distinct, as many as there are columns."""
    classes = np.asarray(to_host(labels))
    if classes.ndim != 1 or classes.dtype.kind not in "biufU":
        raise ValueError(
            f"{argument} must be a flat list of classes (whole numbers, booleans or texts), got {labels!r}."
        )
    if len(classes) != count:
        raise ValueError(f"{argument} names {len(classes)} classes but there are {count} {of}. Name each of them once.")
    distinct, first = np.unique(classes, return_index=True)
    if len(distinct) < len(classes):
        again = np.ones(len(classes), dtype=bool)
        again[first] = False
        raise checks.complain(argument, "names classes twice", again, classes, "Name each class once.")
    return classes


def probability_rows(values: Any, argument: str, meaning: str) -> FloatArray:
    """A matrix whose rows are probabilities that sum to 1 (to 1e-6, then scaled to 1)."""
    p = np.asarray(checks.real_array(values, argument), dtype=np.float64)
    if p.ndim != 2 or p.size == 0:
        raise ValueError(f"{argument} must have shape (rows, classes), but has shape {p.shape}. {meaning}")
    checks.require_finite(p, argument)
    bad = (p < 0) | (p > 1)
    if bad.any():
        raise checks.complain(argument, "has values outside [0, 1]", bad, p, meaning)
    total = np.add.reduce(p, axis=1)
    off = np.abs(total - 1.0) > 1e-6
    if off.any():
        raise checks.complain(
            argument, "has rows that do not sum to 1", off, total, f"{meaning} Divide by the row sums."
        )
    return np.asarray(p / total[:, None])


def spread_columns(p: FloatArray, named: Classes, classes: Classes) -> FloatArray:
    """Columns for the named classes moved to their places among `classes`; 0 for the others."""
    out = np.zeros((len(p), len(classes)))
    out[:, positions(named, classes)] = p
    return out


def _listed(classes: Classes) -> str:
    shown = ", ".join(map(repr, classes[:8].tolist()))
    return shown if len(classes) <= 8 else f"{shown}, ... ({len(classes)} in all)"
