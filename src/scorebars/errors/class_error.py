"""Wrong class labels: the base of all models that say how a class can be shown as another, and the families."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks
from scorebars.arrays import FloatArray, to_host
from scorebars.errors.measurement_error import ErrorModel, LabelErrors, MeasurementError, check_kind, shown_parameter
from scorebars.errors.normal import NEGATIVE_YERR, error_model

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


class Flip(ClassError):
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
        """Of probabilities that were checked; they are copied, so that nobody else can change them."""
        flip = cls.__new__(cls)
        flip.kind, flip.correlation = "classical", 0.0
        flip.q = float(q) if q.ndim == 0 else q.copy()
        return flip

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
        rho = [f"correlation={self.correlation:g}"] if self.correlation else []
        return self._text(shown_parameter("q", self.q), *rho)


class ClassFlip(NamedClasses):
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
        return self._text(str(self.q))


class Transition(NamedClasses):
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

    def transition(self, classes: Classes) -> FloatArray:
        out = np.eye(len(classes))  # a class that the matrix does not name is never mixed up
        place = positions(self._classes, classes)
        out[np.ix_(place, place)] = self.matrix
        return out

    def __repr__(self) -> str:
        return self._text(f"{len(self._classes)} classes")


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


class Votes(NamedClasses):
    r"""Votes on each item; the label is the class with most votes (of several, the first).

    Parameters
    ----------
    counts : (n, K)
        How many voted for each class.
    labels : (K,)
        The classes of the columns.
    kind : {"classical", "berkson"}
        ``"classical"``: votes scatter about a true class. ``"berkson"``: the shares of votes are calibrated
        probabilities of the true class, so that the expected score is the score against the truth.

    Attributes
    ----------
    repeats : (n,)
        Number of votes on each item.
    agreement : float
        Probability that two votes on the same item agree.
    kappa : float
        Fleiss' kappa: agreement beyond chance; nan where it is not defined.
    vote_error : float
        Probability that a single vote is wrong, from the agreement, for raters who err independently, on all items alike,
        and equally often towards every other class: agreement = (1 - q)^2 + q^2 / (K - 1).

    Notes
    -----
    `expected` asks for a single fresh vote, distributed as the votes on the item. `truth` and `perfect` use the label's
    own error, that of the majority of the votes, with `vote_error` for a single one.

    Examples
    --------
    >>> import scorebars as sb
    >>> votes = sb.errors.Votes([[5, 0], [1, 4], [3, 2]], labels=["no", "yes"])
    >>> votes.labels(), round(votes.agreement, 3), round(votes.vote_error, 3)
    (array(['no', 'yes', 'no'], dtype='<U3'), 0.667, 0.211)
    """

    per_label = ("counts", "repeats")

    def __init__(self, counts: ArrayLike, labels: ArrayLike, *, kind: str = "classical") -> None:
        self.kind = check_kind(kind)
        array = np.asarray(checks.real_array(counts, "counts"), dtype=np.float64)
        if array.ndim != 2 or array.size == 0:
            raise ValueError(f"counts must have shape (items, classes), but has shape {array.shape}.")
        checks.require_finite(array, "counts")
        checks.require_non_negative(array, "counts", "A number of votes cannot be below 0.")
        broken = array != np.floor(array)
        if broken.any():
            raise checks.complain("counts", "has values that are not whole", broken, array, "Votes are counted.")
        total = np.add.reduce(array, axis=1)
        if np.any(total == 0):
            raise checks.complain("counts", "has items without votes", total == 0, total, "Leave these items out.")
        self._classes = named_classes(labels, array.shape[1])
        if array.shape[1] < 2:
            raise ValueError("counts has one class only: votes need at least two classes to choose from.")
        self.counts: NDArray[np.int64] = array.astype(np.int64)
        self.repeats = total.astype(np.int64)
        self.agreement, self.kappa = _agreement(self.counts)
        self.vote_error = _error_of_one_vote(self.agreement, array.shape[1])

    def labels(self) -> Classes:
        return np.asarray(self._classes[np.argmax(self.counts, axis=1)])

    def check_labels(self, labels: Classes, argument: str = "y_true") -> None:
        super().check_labels(labels, argument)
        own = self.counts[np.arange(len(labels)), columns_of(labels, self._classes)]
        other = own < self.counts.max(axis=1)
        if other.any():
            hint = f"Pass {argument}=None; for labels that are not the majority use LabelProbabilities with the shares."
            raise checks.complain(argument, "differs from the majority of the votes", other, labels, hint)

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        return spread_columns(self.counts / np.asarray(self.repeats)[:, None], self._classes, classes)

    def transition(self, classes: Classes) -> FloatArray | None:
        """How single votes show true classes: right with probability 1 - vote_error, else any other voted class."""
        if math.isnan(self.vote_error):
            return None
        k = len(self._classes)
        voted = np.isin(classes, self._classes)
        wrong = np.where(voted[:, None] & voted[None, :], self.vote_error / (k - 1), 0.0)
        np.fill_diagonal(wrong, np.where(voted, 1.0 - self.vote_error, 1.0))
        return wrong

    why_no_transition = (
        "no item has two votes, or votes agree less than by chance: how often a vote is wrong cannot be told from them."
    )

    def __repr__(self) -> str:
        n, k = self.counts.shape
        return self._text(f"{n} labels", f"{k} classes", f"agreement {self.agreement:.3g}")


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
        self.values = np.array(checks.column(held, "values"), dtype=np.float64)
        checks.require_finite(self.values, "values")
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
        other = labels != self.labels()
        if other.any():
            what = "differs from the labels that the cut makes"
            raise checks.complain(argument, what, other, labels, f"Pass {argument}=None.")

    def label_probabilities(self, labels: Classes, classes: Classes) -> FloatArray:
        return spread_columns(np.stack([self._below, self._above], axis=1), self._classes, classes)

    why_no_transition = (
        "labels were made by cutting a measured number. The step at the cut is not the smoothing of anything, so no "
        "unbiased estimate exists without knowing how true values are distributed. If the true value scatters about "
        "the measured one, use kind='berkson'."
    )

    def __repr__(self) -> str:
        return self._text(f"{len(self.values)} values", f"cut={self.cut:g}", repr(self.errors))


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


def _agreement(counts: NDArray[np.int64]) -> tuple[float, float]:
    """P(two votes on one item agree) and Fleiss' kappa, over the items with two votes or more."""
    several = counts[np.add.reduce(counts, axis=1) > 1].astype(np.float64)
    if not len(several):
        return math.nan, math.nan
    n = np.add.reduce(several, axis=1)
    agree = float(np.mean(np.add.reduce(several * (several - 1), axis=1) / (n * (n - 1))))
    share = np.mean(several / n[:, None], axis=0)
    chance = float(np.add.reduce(share * share))
    return agree, (agree - chance) / (1 - chance) if chance < 1 else math.nan


def _error_of_one_vote(agreement: float, classes: int) -> float:
    """q with agreement = (1 - q)^2 + q^2 / (K - 1), the root below (K - 1)/K; nan where votes agree by chance at most."""
    surplus = (classes * agreement - 1) / (classes - 1)  # the squared contrast (1 - q K / (K - 1))^2
    if not surplus > 0:
        return math.nan
    return (classes - 1) / classes * (1 - math.sqrt(surplus))
