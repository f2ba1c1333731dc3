"""Wrong class labels: the base of all models that say how a class can be shown as another, and the families."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks, tables
from scorebars.arrays import FloatArray, to_host
from scorebars.errors.checked_rates import CheckedRates, counted_pair
from scorebars.errors.dawid_skene import dawid_skene, shown_as
from scorebars.errors.measurement_error import ErrorModel, LabelErrors, MeasurementError, check_kind, shown_parameter
from scorebars.errors.normal import NEGATIVE_YERR, error_model

Classes = NDArray[Any]
_LOT = 20240519
_RATER_DRAWS = 100


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
    """How many votes each label is the majority of; the probabilities are those of a single one."""

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

    def transitions(self, rates: FloatArray, classes: Classes) -> FloatArray:
        """The matrices (..., K, K) that `transition` would give with other rates (..., c, j) than those of `checked`."""
        raise NotImplementedError(f"{type(self).__name__} has no rates that were counted")

    def rate_slopes(self, slopes: FloatArray, classes: Classes) -> FloatArray:
        """Slopes by the rates of `checked`, (..., c, j), from those by the entries of the matrix, (..., K, K)."""
        raise NotImplementedError(f"{type(self).__name__} has no rates that were counted")

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
        """Of probabilities that were checked; they are copied, so that nobody else can change them."""
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
        counts allow, a beta law with 1/2 added to either count, and the estimate is found for each q.

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


class Votes(NamedClasses):
    r"""Votes on each item; the label is the class with most votes, of several that have as many by lot.

    Parameters
    ----------
    counts : (n, K)
        How many voted for each class.
    labels : (K,)
        The classes of the columns.
    ratings : (n, R) or mapping of rater to (n,), optional
        Instead of `counts`: what each rater voted, NaN or None where a rater did not vote. From three raters on their skills
        may differ: the label is then the likeliest class given who voted what. `labels` may name classes besides.
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
    raters : dict of rater to (K, K), or None
        With `ratings` of three raters or more, how each shows the true classes (rows), by the model of Dawid and Skene.

    Notes
    -----
    `expected` asks for a single fresh vote, distributed as the votes on the item. `truth` and `perfect` use the label's
    own error, that of the majority of the votes, with `vote_error` for a single one. Items may differ in difficulty: the
    chance of a wrong vote follows a beta law over them. Where four votes an item or more show it, `truth` is corrected for
    it and says so; fewer cannot show it, and intervals leave room for it. How well the votes tell all this is in the `std`
    and intervals of `truth`.

    References
    ----------
    A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied
    Statistics 28, 20 (1979).

    Examples
    --------
    >>> import scorebars as sb
    >>> votes = sb.errors.Votes([[5, 0], [1, 4], [3, 2]], labels=["no", "yes"])
    >>> votes.labels(), round(votes.agreement, 3), round(votes.vote_error, 3)
    (array(['no', 'yes', 'no'], dtype='<U3'), 0.667, 0.211)
    """

    per_label = ("counts", "repeats", "_lot", "votes", "_likeliest")

    votes: NDArray[np.int64] | None = None
    """With `ratings` what each rater voted, as numbers of classes, (n, R); -1 for nothing."""
    raters: dict[Any, FloatArray] | None = None
    shown_as: FloatArray | None = None
    """How labels by raters of unequal skill show true classes: first the estimate, then what the votes allow, (1 + d, K, K)."""
    _likeliest: NDArray[np.int64] | None = None

    def __init__(
        self,
        counts: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        *,
        ratings: Any = None,
        kind: str = "classical",
    ) -> None:
        self.kind = check_kind(kind)
        if (counts is None) == (ratings is None):
            raise ValueError(
                "Votes takes either counts (how many voted for each class) or ratings (what each rater voted)."
            )
        names: list[Any] = []
        if ratings is not None:
            counts, labels, names = self._of_raters(ratings, labels)
        elif labels is None:
            raise ValueError("labels is missing: name the classes of the columns of counts.")
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
        self._lot = np.random.default_rng(_LOT).random(len(array))
        """By which ties are broken: the same however the columns are ordered, and for every part of the items."""
        if self.votes is not None and len(names) > 2:
            self._find_raters(names)

    def _of_raters(self, ratings: Any, labels: Any) -> tuple[NDArray[np.int64], Classes, list[Any]]:
        """Counts, classes and the names of the raters."""
        if isinstance(ratings, Mapping):
            names = list(ratings)
            columns = [np.asarray(to_host(column), dtype=object) for column in ratings.values()]
            if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
                raise ValueError("ratings must hold one vote for each item from every rater, None where there is none.")
            table = np.stack(columns, axis=1)
        else:
            table = np.array(to_host(ratings), dtype=object)
            names = list(range(table.shape[1])) if table.ndim == 2 else []
        if table.ndim != 2 or not table.size or table.shape[1] < 2:
            raise ValueError(
                f"ratings must have shape (items, raters) with two raters or more, but has shape {table.shape}."
            )
        missing = np.asarray(np.frompyfunc(tables.is_missing, 1, 1)(table), dtype=bool)
        cast = np.array(table[~missing].tolist())
        if cast.dtype.kind == "f" and np.all(cast == np.floor(cast)):
            cast = cast.astype(np.int64)
        if cast.dtype.kind not in "biuU":
            raise ValueError("ratings must hold classes (whole numbers, booleans or texts), None or NaN for no vote.")
        classes = np.unique(cast) if labels is None else np.asarray(to_host(labels))
        unknown = ~np.isin(cast, classes)
        if unknown.any():
            raise checks.complain(
                "ratings", "has votes for classes that labels does not name", unknown, cast, "Name all."
            )
        self.votes = np.full(table.shape, -1, dtype=np.int64)
        self.votes[~missing] = columns_of(cast, classes)
        return np.add.reduce(self.votes[:, :, None] == np.arange(len(classes)), axis=1), classes, names

    def _find_raters(self, names: list[Any]) -> None:
        """How each rater errs, the likeliest class of each item, and how labels made of them show true classes."""
        assert self.votes is not None
        k, n = len(self._classes), len(self.votes)
        patterns, which, number = np.unique(self.votes, axis=0, return_inverse=True, return_counts=True)
        which = which.ravel()
        found = dawid_skene(patterns, k, np.asarray(number, dtype=np.float64))
        likely = found.items > np.max(found.items, axis=1, keepdims=True) * (1 - 1e-9)
        self._likeliest = self._by_lot(likely[which])
        self.raters = dict(zip(names, found.matrices, strict=True))
        rng, draws = np.random.default_rng(_LOT), _RATER_DRAWS if len(patterns) < 5000 else _RATER_DRAWS // 4
        rows = [shown_as(found.items[which], self._likeliest, np.ones(n))]
        for _ in range(draws):  # items drawn anew, smoothly: exponential weights
            weight = rng.exponential(size=n)
            mass = np.asarray(np.bincount(which, weight, minlength=len(patterns)), dtype=np.float64)
            again = dawid_skene(patterns, k, mass, found, 100, 1e-4)
            rows.append(shown_as(again.items[which], self._likeliest, weight))
        self.shown_as = np.stack(rows)

    def _by_lot(self, among: NDArray[np.bool_]) -> NDArray[np.int64]:
        """One of the marked columns of each row, in the order of the classes."""
        order = np.argsort(self._classes, kind="stable")
        marked = among[:, order]
        pick = np.floor(self._lot * np.add.reduce(marked, axis=1)).astype(np.int64)
        return np.asarray(order[np.argmax(np.cumsum(marked, axis=1) > pick[:, None], axis=1)])

    def labels(self) -> Classes:
        most = self.counts == self.counts.max(axis=1, keepdims=True)
        return np.asarray(self._classes[self._by_lot(most) if self._likeliest is None else self._likeliest])

    def check_labels(self, labels: Classes, argument: str = "y_true") -> None:
        super().check_labels(labels, argument)
        if self._likeliest is not None:
            other = labels != self._classes[self._likeliest]
            what = "differs from the likeliest classes by the votes of these raters"
            if other.any():
                raise checks.complain(argument, what, other, labels, f"Pass {argument}=None.")
            return
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
        who = [] if self.raters is None else [f"{len(self.raters)} raters"]
        return self._text(f"{n} labels", f"{k} classes", *who, f"agreement {self.agreement:.3g}")


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
