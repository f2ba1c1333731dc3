"""Wrong labels of classes that the error model names: flips class by class, a transition matrix, label probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks, tables
from scorebars.arrays import FloatArray, to_host
from scorebars.errors.checked_rates import CheckedRates, counted_pair
from scorebars.errors.class_error import (
    ClassError,
    Classes,
    CountableRates,
    flip_matrix,
    positions,
)
from scorebars.errors.measurement_error import check_kind


class NamedClasses(ClassError):
    """Models that name their classes."""

    _classes: Classes

    def classes(self) -> Classes:
        return self._classes


class ClassFlip(NamedClasses, CountableRates):
    r"""An item of class k is shown wrong with probability q_k; a wrong label is equally likely any other class.

    Parameters
    ----------
    q : mapping of class to number
        For each class the probability that an item of this true class is shown as another one. Every class that occurs
        in labels or predictions needs an entry. `expected` takes the shown label as the true one.
    kind : {"classical", "berkson"}
        ``"classical"``: q_k = P(shown wrong | true class k). ``"berkson"``: q_k = P(true class differs | shown as k),
        calibrated and independent of the prediction.

    Notes
    -----
    An item of class k is shown as k with probability :math:`1 - q_k`, as each of the others with :math:`q_k/(K-1)`.

    References
    ----------
    N. Natarajan et al., Learning with noisy labels, NeurIPS 26 (2013).

    Examples
    --------
    Sick people are overlooked more often than healthy ones are called sick:

    >>> import scorebars as sb
    >>> model = sb.errors.ClassFlip({"sick": 0.2, "well": 0.01})
    >>> model
    ClassFlip({'sick': 0.2, 'well': 0.01})
    """

    classwise = True

    def __init__(self, q: Mapping[Any, float], *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        if not isinstance(q, Mapping) or not q:
            raise ValueError(f"q must map each class to the probability that it is shown wrong, got {q!r}.")
        self._classes = named_classes(list(q), len(q), "the keys of q", "entries")
        hint = "q is the probability that an item of a class is shown wrong."
        self._q = np.atleast_1d(checks.probabilities(list(q.values()), "q", hint))

    @classmethod
    def from_counts(cls, counts: Mapping[Any, tuple[int, int]], *, kind: str = "classical") -> ClassFlip:
        """q_k = wrong / checked of each class, from labels that were checked.

        Parameters
        ----------
        counts : mapping of class to (wrong, checked)
            Of `checked` items of this true class, drawn at random, `wrong` were shown as another one. Under
            ``kind="berkson"`` of items shown as this class.
        kind : {"classical", "berkson"}
            As in `ClassFlip`.

        Returns
        -------
        ClassFlip
            `truth` then has the variance of the rates in `std`, `interval` and `total_interval`, in every metric.

        Notes
        -----
        The rates of different classes are independent binomial shares; see `Flip.from_counts` for intervals.

        References
        ----------
        W. J. Rogan and B. Gladen, Estimating prevalence from the results of a screening test, American Journal of
        Epidemiology 107, 71 (1978).

        Examples
        --------
        >>> import scorebars as sb
        >>> sb.ClassFlip.from_counts({"sick": (3, 42), "well": (14, 92)})
        ClassFlip.from_counts({'sick': (3, 42), 'well': (14, 92)})
        """
        if not isinstance(counts, Mapping) or not counts:
            raise ValueError(f"counts must map each class to (wrong, checked), got {counts!r}.")
        pairs = []
        for label, pair in counts.items():
            if np.ndim(pair) != 1 or len(pair) != 2:
                raise ValueError(f"counts[{label!r}] must be (wrong, checked), got {pair!r}.")
            pairs.append(counted_pair(*pair, f" of class {label!r}"))
        found = cls(
            {label: bad / all_of_them for label, (bad, all_of_them) in zip(counts, pairs, strict=True)}, kind=kind
        )
        table = np.array([[all_of_them - bad, bad] for bad, all_of_them in pairs])
        found.checked = CheckedRates(table, np.zeros(len(table), dtype=np.intp))
        return found

    def transitions(self, rates: FloatArray, classes: Classes) -> FloatArray:
        return flip_matrix(rates[..., columns_of(classes, self._classes), 1, None], len(classes))

    def rate_slopes(self, slopes: FloatArray, classes: Classes) -> FloatArray:
        kept = np.diagonal(slopes, axis1=-2, axis2=-1)
        moved = (np.add.reduce(slopes, axis=-1) - kept) / (len(classes) - 1)
        out = np.zeros((*slopes.shape[:-2], len(self._classes), 2))
        out[..., columns_of(classes, self._classes), :] = np.stack([kept, moved], axis=-1)
        return out

    @property
    def q(self) -> dict[Any, float]:
        """Class to probability."""
        return dict(zip(self._classes.tolist(), self._q.tolist(), strict=True))

    def transition(self, classes: Classes) -> FloatArray:
        unknown = np.setdiff1d(classes, self._classes)
        if unknown.size:
            raise ValueError(
                f"ClassFlip has no probability for class {unknown[0].item()!r} ({unknown.size} such classes). Give one for "
                "each class of y_true and y_pred."
            )
        return flip_matrix(self._q[columns_of(classes, self._classes)][:, None], len(classes))

    def __repr__(self) -> str:
        if self.checked is None:
            return self._text(str(self.q))
        pairs = ((int(bad), int(good + bad)) for good, bad in self.checked.counts)
        return self._counted_text(str(dict(zip(self._classes.tolist(), pairs, strict=True))))


class Transition(NamedClasses, CountableRates):
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

    Notes
    -----
    With T = `matrix`, shares of shown classes are :math:`T^T` times those of true ones: the truth needs :math:`T^{-1}`.

    References
    ----------
    G. Patrini et al., Making deep neural networks robust to label noise, CVPR (2017).

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.errors.Transition([[0.9, 0.1], [0.2, 0.8]], labels=["cat", "dog"])
    Transition(2 classes)
    """

    classwise = True

    def __init__(self, matrix: ArrayLike, labels: ArrayLike, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        meaning = "Row k holds the probabilities that an item of true class k is shown as each of the classes."
        rows = probability_rows(matrix, "matrix", meaning)
        if rows.shape[0] != rows.shape[1]:
            raise ValueError(f"matrix must be square, a row and a column for each class, but has shape {rows.shape}.")
        self._classes = named_classes(labels, len(rows))
        same_order("matrix", matrix, self._classes, rows=True)
        self.matrix: FloatArray = rows

    @classmethod
    def from_counts(cls, matrix: ArrayLike, labels: ArrayLike, *, kind: str = "classical") -> Transition:
        r"""Rates from a table of checked labels: `matrix[k, j]` items of true class k had been shown as j.

        Parameters
        ----------
        matrix : (K, K) whole numbers
            Row: true class, column: shown class. Items of each true class must have been drawn at random. Under
            ``kind="berkson"`` rows are shown classes, columns true ones.
        labels : (K,)
            The classes of rows and columns.
        kind : {"classical", "berkson"}
            As in `Transition`.

        Returns
        -------
        Transition
            `truth` then has the variance of the rates in `std`, `interval` and `total_interval`, in every metric.

        Notes
        -----
        Rows are independent multinomial shares. A change :math:`\delta T` of the matrix changes the counts of true classes
        :math:`T'^{-1} C` by :math:`-T'^{-1}\,\delta T'\,T'^{-1} C`. See `Flip.from_counts` for intervals.

        Examples
        --------
        >>> import scorebars as sb
        >>> sb.Transition.from_counts([[45, 5], [8, 32]], labels=["cat", "dog"])
        Transition.from_counts(2 classes, 90 checked)
        """
        counts = np.asarray(checks.real_array(matrix, "matrix"), dtype=np.float64)
        meaning = "Row k counts how items of true class k were shown."
        if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not counts.size:
            raise ValueError(f"matrix must be square, a row and a column for each class, but has shape {counts.shape}.")
        checks.require_finite(counts, "matrix")
        checks.require_non_negative(counts, "matrix", meaning)
        hint = f"{meaning} If these are probabilities that you know, use Transition(matrix, labels)."
        checks.refuse("matrix", "has values that are not whole", counts != np.floor(counts), counts, hint)
        total = np.add.reduce(counts, axis=1)
        hint = "Check some items of each class, or leave the class out of rows and columns."
        checks.refuse("matrix", "has rows without checked labels", total == 0, total, hint)
        found = cls(counts / total[:, None], labels, kind=kind)
        same_order("matrix", matrix, found._classes, rows=True)
        found.checked = CheckedRates(counts, np.arange(len(counts)))
        return found

    def transition(self, classes: Classes) -> FloatArray:
        return self.transitions(self.matrix, classes)

    def transitions(self, rates: FloatArray, classes: Classes) -> FloatArray:
        k, place = len(classes), positions(self._classes, classes)
        out = np.zeros((*rates.shape[:-2], k, k))
        out[..., np.arange(k), np.arange(k)] = 1.0  # a class that the matrix does not name is never mixed up
        out[..., place[:, None], place] = rates
        return out

    def rate_slopes(self, slopes: FloatArray, classes: Classes) -> FloatArray:
        place = positions(self._classes, classes)
        return np.asarray(slopes[..., place[:, None], place])

    def __repr__(self) -> str:
        if self.checked is None:
            return self._text(f"{len(self._classes)} classes")
        return self._counted_text(f"{len(self._classes)} classes, {self.checked.total} checked")


class LabelProbabilities(NamedClasses):
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
        distributed; it does not say how the truth lies behind them, so `truth` cannot be estimated.

    Notes
    -----
    Fresh labels are drawn item by item: :math:`P(\text{label}_i = k) = p_{ik}`.

    Examples
    --------
    >>> import scorebars as sb
    >>> model = sb.errors.LabelProbabilities([[0.9, 0.1], [0.4, 0.6]], labels=[0, 1])
    >>> model.labels()
    array([0, 1])
    """

    per_label = ("p",)
    usual_kind = "berkson"

    def __init__(self, p: ArrayLike, labels: ArrayLike, *, kind: str = "berkson") -> None:
        self.kind = check_kind(kind)
        self.p: FloatArray = probability_rows(p, "p", "Row i holds the probability of each class for item i.")
        self._classes = named_classes(labels, self.p.shape[1])
        same_order("p", p, self._classes)

    def labels(self) -> Classes:
        return np.asarray(self._classes[np.argmax(self.p, axis=1)])

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        return spread_columns(self.p, self._classes, classes)

    why_no_transition = (
        "LabelProbabilities of kind 'classical' say how fresh labels fall, not how true classes are shown. If p are "
        "calibrated probabilities of the true class, use kind='berkson'."
    )

    def __repr__(self) -> str:
        n, k = self.p.shape
        return self._text(f"{n} labels", f"{k} classes")


def columns_of(labels: Classes, named: Classes) -> NDArray[np.intp]:
    """Where each label stands among classes in a user's order."""
    order = np.argsort(named, kind="stable")
    return np.asarray(order[positions(labels, named[order])])


def same_order(argument: str, table: Any, classes: Classes, rows: bool = False) -> None:
    """Refuse a table whose columns, or rows too, name these classes in another order: nothing is realigned."""
    sides = {"columns": tables.column_names(table) if hasattr(table, "shape") else None}
    if rows and tables.has_index(table):
        sides["rows"] = list(table.index)
    for side, names in sides.items():
        if names is not None and names != classes.tolist() and set(names) == set(classes.tolist()):
            there, here = (", ".join(map(str, some[:5])) for some in (names, classes.tolist()))
            raise ValueError(
                f"{argument} has {side} in the order {there}, but labels names {here}. Nothing is realigned: put them in one "
                f"order, or pass {argument}.to_numpy() if labels has the right one."
            )


def named_classes(labels: ArrayLike, count: int, argument: str = "labels", of: str = "columns") -> Classes:
    """Classes as given by a user: distinct, as many as there are columns."""
    classes = np.asarray(to_host(labels))
    if classes.ndim != 1 or classes.dtype.kind not in "biufU":
        raise ValueError(f"{argument} must be a flat list of whole numbers, booleans or texts, got {labels!r}.")
    if len(classes) != count:
        raise ValueError(f"{argument} names {len(classes)} classes but there are {count} {of}. Name each of them once.")
    again = np.ones(len(classes), dtype=bool)
    again[np.unique(classes, return_index=True)[1]] = False
    checks.refuse(argument, "names classes twice", again, classes, "Name each class once.")
    return classes


def probability_rows(values: Any, argument: str, meaning: str) -> FloatArray:
    """A matrix whose rows are probabilities that sum to 1 (to 1e-6, then scaled to 1)."""
    p = np.asarray(checks.real_array(values, argument), dtype=np.float64)
    if p.ndim != 2 or p.size == 0:
        raise ValueError(f"{argument} must have shape (rows, classes), but has shape {p.shape}. {meaning}")
    checks.require_finite(p, argument)
    checks.refuse(argument, "has values outside [0, 1]", (p < 0) | (p > 1), p, meaning)
    total = np.add.reduce(p, axis=1)
    off, hint = np.abs(total - 1.0) > 1e-6, f"{meaning} Divide by the row sums."
    checks.refuse(argument, "has rows that do not sum to 1", off, total, hint)
    return np.asarray(p / total[:, None])


def spread_columns(p: FloatArray, named: Classes, classes: Classes) -> FloatArray:
    """The columns of the named classes, each at its place among `classes`; 0 for the other classes."""
    out = np.zeros((len(p), len(classes)))
    out[:, positions(named, classes)] = p
    return out
