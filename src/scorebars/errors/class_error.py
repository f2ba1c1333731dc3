"""Wrong class labels: the base of all models that say how a class can be shown as another, and the families."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks
from scorebars.arrays import FloatArray, to_host
from scorebars.errors.checked_rates import CheckedRates, counted_pair
from scorebars.errors.measurement_error import ErrorModel, check_kind, shown_parameter

Classes = NDArray[Any]


class ClassError(ErrorModel):
    """How class labels err.

    Two questions, two methods. `label_probabilities` says what a fresh label would be around the label that is shown,
    which is taken as the true class: the question of `expected`. `transition` says how true classes are shown, which is
    what has to be inverted for the score against the truth.

    Examples
    --------
    >>> import scorebars as sb
    >>> isinstance(sb.Flip(0.05), sb.errors.ClassError), sb.Flip(0.05).kind
    (True, 'classical')
    """

    repeats: NDArray[np.int64] | int = 1
    """How many votes each label is the majority of; the probabilities are for a single vote."""

    classwise: bool = False
    """Whether a label's probabilities depend on its class only."""

    checked: Any = None
    """What the error rates were found from, as `CheckedRates` or `DrawnRates`; None where the rates are known."""

    why_no_transition = "how true classes are shown is not known."
    """Why the truth cannot be found from these labels, where `transition` is None."""

    def classes(self) -> Classes | None:
        """The classes that the model names; None if it serves any."""
        return None

    def check_labels(self, labels: Classes, argument: str = "y_true") -> None:
        """Refuse labels of which the model knows nothing."""
        known = self.classes()
        if known is None or not (unknown := ~np.isin(labels, known)).any():
            return
        listed = ", ".join(map(repr, known[:8].tolist())) + (f", ... ({len(known)} in all)" if len(known) > 8 else "")
        what = f"has classes that {type(self).__name__} does not name"
        raise checks.complain(argument, what, unknown, labels, f"It names {listed}.")

    def transition(self, classes: Classes) -> FloatArray | None:
        """P(shown as column | true class row) of a single label, (K, K) or (n, K, K); None where it is not known."""
        return None

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        """P(fresh label i is class k), shape (n, K), for the labels that are shown."""
        rows = self.transition(classes)
        assert rows is not None, "a model without transition says how fresh labels fall"
        return _rows_of(rows, positions(labels, classes))

    def _counted_text(self, counts: str) -> str:
        """The model as text, with the counts that it was made from."""
        return self._text(counts).replace("(", ".from_counts(", 1)

    def true_indicators(self, labels: Classes, classes: Classes) -> FloatArray | None:
        """Unbiased estimates of "the true class is k", (n, K), from the labels shown: rows of the inverse transition.

        The expectation of T^-1[shown, k] over the shown labels of an item of true class t is 1 for k = t and 0
        otherwise. None where no transition is known; a singular one raises LinAlgError.
        """
        rows = self.transition(classes)
        return None if rows is None else _rows_of(regular_inverse(rows), positions(labels, classes))


class NamedClasses(ClassError):
    """Models that name their classes."""

    _classes: Classes

    def classes(self) -> Classes:
        return self._classes


class CountableRates(ClassError):
    """Models whose error rates may be counted on labels that were checked."""

    @abstractmethod
    def transitions(self, rates: FloatArray, classes: Classes) -> FloatArray:
        """The matrices (..., K, K) that `transition` would give with other rates (..., c, j) than those of `checked`."""

    @abstractmethod
    def rate_slopes(self, slopes: FloatArray, classes: Classes) -> FloatArray:
        """Slopes by the rates of `checked`, (..., c, j), from those by the entries of the matrix, (..., K, K)."""


class Flip(CountableRates):
    r"""A label is wrong with probability `q`; a wrong label is equally likely any other class.

    Parameters
    ----------
    q : number, (n,) or (n, L)
        Probability that a label is wrong; (L,) or (n, L) where each item has L yes-or-no labels (multilabel).
    correlation : number in [0, 1]
        Correlation of the flips of any two labels: 0 for independent flips, 1 for one flip that hits all labels.
    kind : {"classical", "berkson"}
        ``"classical"``: q = P(shown label wrong | true class). ``"berkson"``: q = P(true class differs | shown label),
        calibrated and independent of the prediction.

    Notes
    -----
    An item of class k is shown as k with probability :math:`1 - q`, as each of the others with :math:`q/(K-1)`.

    References
    ----------
    D. Angluin, P. Laird, Machine Learning 2 (1988) 343.

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.Flip(0.05)
    Flip(q=0.05)

    Nobody knows q exactly. 3 wrong among 60 checked labels, and the score against the truth is known less well:

    >>> labels, predictions = [1] * 200, [1] * 170 + [0] * 30
    >>> print(sb.accuracy_score(labels, predictions, yerr=sb.Flip(0.05)).truth)
    0.889 ± 0.017 (labels) ± 0.022 (sample)
    >>> print(sb.accuracy_score(labels, predictions, yerr=sb.Flip.from_counts(3, 60)).truth)
    0.889 ± 0.030 (labels) ± 0.025 (sample)
    """

    per_label = ("q",)

    q: FloatArray | float
    correlation: float

    def __init__(self, q: ArrayLike, correlation: Any = 0.0, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        hint = "q is the probability that a label is wrong."
        shape = np.shape(q) if np.ndim(q) == 2 and np.shape(q)[1] > 1 else None
        values = checks.probabilities(q if shape is None else np.reshape(q, -1), "q", hint)
        if shape is not None:
            values = values.reshape(shape)
        self.q = float(values) if values.ndim == 0 else values
        if not isinstance(correlation, numbers.Real) or not 0 <= float(correlation) <= 1:
            raise ValueError(f"correlation must lie between 0 and 1, got {correlation!r}.")
        self.correlation = float(correlation)

    @classmethod
    def trusted(cls, q: FloatArray) -> Flip:
        """From checked probabilities, which are copied so that the caller cannot change them."""
        flip = cls.__new__(cls)
        flip.kind, flip.correlation = "classical", 0.0
        flip.q = float(q) if q.ndim == 0 else q.copy()
        return flip

    @classmethod
    def from_counts(cls, wrong: int, checked: int, *, kind: str = "classical") -> Flip:
        r"""q = wrong / checked, from labels that were checked: how well it is known goes into the score against the truth.

        Parameters
        ----------
        wrong, checked : whole numbers
            Of `checked` labels, drawn at random and compared with the truth, `wrong` were wrong.
        kind : {"classical", "berkson"}
            As in `Flip`.

        Returns
        -------
        Flip
            `truth` then has the variance of q in `std`, `interval` and `total_interval`, in every metric.

        Notes
        -----
        For two classes and a observed agreements in M, k wrong of m checked:

        .. math:: \mathrm{Var} = \frac{q(1-q)}{(1-2q)^2 M} + \frac{(2a-1)^2}{(1-2q)^4}\,\frac{q(1-q)}{m} .

        Intervals are not read off this variance, which is 0 where no checked label was wrong: q is drawn from what the
        counts allow, a beta distribution with 1/2 added to either count, and the estimate is found for each q.

        Examples
        --------
        >>> import scorebars as sb
        >>> sb.Flip.from_counts(3, 60)
        Flip.from_counts(3, 60)
        """
        bad, all_of_them = counted_pair(wrong, checked)
        flip = cls(bad / all_of_them, kind=kind)
        flip.checked = CheckedRates(np.array([[all_of_them - bad, bad]]), np.zeros(1, dtype=np.intp))
        return flip

    def transitions(self, rates: FloatArray, classes: Classes) -> FloatArray:
        return _flips(rates[..., 0, 1, None, None], len(classes))

    def rate_slopes(self, slopes: FloatArray, classes: Classes) -> FloatArray:
        kept = np.trace(slopes, axis1=-2, axis2=-1)
        moved = (np.add.reduce(slopes, axis=(-2, -1)) - kept) / (len(classes) - 1)
        return np.stack([kept, moved], axis=-1)[..., None, :]

    @property
    def classwise(self) -> bool:  # type: ignore[override]
        return not isinstance(self.q, np.ndarray)

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        q = np.broadcast_to(self.q, labels.shape)
        return self._at_labels(labels, classes, 1.0 - q, q / (len(classes) - 1))

    def _at_labels(self, labels: Classes, classes: Classes, shown: FloatArray, others: FloatArray) -> FloatArray:
        """A table (n, K) of one value for the class that is shown, and one for all others."""
        out = np.repeat(others[:, None], len(classes), axis=1)
        out[np.arange(len(labels)), positions(labels, classes)] = shown
        return out

    def transition(self, classes: Classes) -> FloatArray:
        return _flips(np.asarray(self.q)[..., None, None], len(classes))

    def true_indicators(self, labels: Classes, classes: Classes) -> FloatArray:
        """(1[k = shown] - r) / (1 - q - r) with r = q / (K - 1)."""
        k = len(classes)
        q = np.broadcast_to(self.q, labels.shape)
        contrast = 1.0 - q * (k / (k - 1))
        if np.any(np.abs(contrast) < 1e-12):
            raise np.linalg.LinAlgError("Singular matrix")
        wrong = -q / (k - 1) / contrast
        return self._at_labels(labels, classes, wrong + 1.0 / contrast, wrong)

    def __repr__(self) -> str:
        if self.checked is not None:
            return self._counted_text(f"{self.checked.counts[0, 1]:g}, {self.checked.total}")
        rho = [f"correlation={self.correlation:g}"] if self.correlation else []
        return self._text(shown_parameter("q", self.q), *rho)


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
        return _flips(rates[..., columns_of(classes, self._classes), 1, None], len(classes))

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
                f"ClassFlip has no probability for class {unknown[0]!r} ({unknown.size} such classes). Give one for each "
                "class of y_true and y_pred."
            )
        return _flips(self._q[columns_of(classes, self._classes)][:, None], len(classes))

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
        broken = counts != np.floor(counts)
        if broken.any():
            hint = f"{meaning} If these are probabilities that you know, use Transition(matrix, labels)."
            raise checks.complain("matrix", "has values that are not whole", broken, counts, hint)
        total = np.add.reduce(counts, axis=1)
        if np.any(total == 0):
            hint = "Check some items of each class, or leave the class out of rows and columns."
            raise checks.complain("matrix", "has rows without checked labels", total == 0, total, hint)
        found = cls(counts / total[:, None], labels, kind=kind)
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


def positions(labels: Classes, classes: Classes) -> NDArray[np.intp]:
    """Where each label stands among the sorted classes."""
    return np.searchsorted(classes, labels)


def columns_of(labels: Classes, named: Classes) -> NDArray[np.intp]:
    """Where each label stands among classes in a user's order."""
    order = np.argsort(named, kind="stable")
    return np.asarray(order[positions(labels, named[order])])


def _flips(q: FloatArray, classes: int) -> FloatArray:
    """P(shown as column | true class row): right with probability 1 - q, else each of the others."""
    return np.where(np.eye(classes, dtype=bool), 1.0 - q, q / (classes - 1))


def _rows_of(matrices: FloatArray, shown: NDArray[np.intp]) -> FloatArray:
    """For each label the row of its shown class, from one matrix for all or from its own."""
    return np.asarray(matrices[shown] if matrices.ndim == 2 else matrices[np.arange(len(shown)), shown])


def regular_inverse(rows: FloatArray) -> FloatArray:
    """The inverse of (stacked) transition matrices; LinAlgError where one is singular to working precision."""
    if not np.all(np.linalg.cond(rows) < 1e12):
        raise np.linalg.LinAlgError("Singular matrix")
    return np.asarray(np.linalg.inv(rows))


def named_classes(labels: ArrayLike, count: int, argument: str = "labels", of: str = "columns") -> Classes:
    """Classes as given by a user: distinct, as many as there are columns."""
    classes = np.asarray(to_host(labels))
    if classes.ndim != 1 or classes.dtype.kind not in "biufU":
        raise ValueError(f"{argument} must be a flat list of whole numbers, booleans or texts, got {labels!r}.")
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
        hint = f"{meaning} Divide by the row sums."
        raise checks.complain(argument, "has rows that do not sum to 1", off, total, hint)
    return np.asarray(p / total[:, None])


def spread_columns(p: FloatArray, named: Classes, classes: Classes) -> FloatArray:
    """Columns for the named classes moved to their places among `classes`; 0 for the others."""
    out = np.zeros((len(p), len(classes)))
    out[:, positions(named, classes)] = p
    return out
