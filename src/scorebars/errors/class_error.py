"""Wrong class labels: the base of all models that say how a class can be shown as another, and flips at random."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.errors.checked_rates import CheckedRates, counted_pair
from scorebars.errors.measurement_error import ErrorModel, check_kind
from scorebars.errors.parameters import shown_parameter

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
        return rows_of_shown(rows, positions(labels, classes))

    def _counted_text(self, counts: str) -> str:
        """The model as text, with the counts that it was made from."""
        return self._text(counts).replace("(", ".from_counts(", 1)

    def true_indicators(self, labels: Classes, classes: Classes) -> FloatArray | None:
        """Unbiased estimates of "the true class is k", (n, K), from the labels shown: rows of the inverse transition.

        The expectation of T^-1[shown, k] over the shown labels of an item of true class t is 1 for k = t and 0
        otherwise. None where no transition is known; a singular one raises LinAlgError.
        """
        rows = self.transition(classes)
        return None if rows is None else rows_of_shown(regular_inverse(rows), positions(labels, classes))


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
        """From probabilities that were checked elsewhere; they are copied, so that the caller cannot change them."""
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
        return flip_matrix(rates[..., 0, 1, None, None], len(classes))

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
        """A table (n, K): for each label one value at the class that is shown, and another at all others."""
        out = np.repeat(others[:, None], len(classes), axis=1)
        out[np.arange(len(labels)), positions(labels, classes)] = shown
        return out

    def transition(self, classes: Classes) -> FloatArray:
        return flip_matrix(np.asarray(self.q)[..., None, None], len(classes))

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


def positions(labels: Classes, classes: Classes) -> NDArray[np.intp]:
    """Where each label stands among the sorted classes."""
    return np.searchsorted(classes, labels)


def flip_matrix(q: FloatArray, classes: int) -> FloatArray:
    """P(shown as column | true class row): right with probability 1 - q, else each of the others."""
    return np.where(np.eye(classes, dtype=bool), 1.0 - q, q / (classes - 1))


def rows_of_shown(matrices: FloatArray, shown: NDArray[np.intp]) -> FloatArray:
    """For each label the row of its shown class, from one matrix for all or from its own."""
    return np.asarray(matrices[shown] if matrices.ndim == 2 else matrices[np.arange(len(shown)), shown])


def regular_inverse(rows: FloatArray) -> FloatArray:
    """The inverse of (stacked) transition matrices; LinAlgError where one is singular to working precision."""
    if not np.all(np.linalg.cond(rows) < 1e12):
        raise np.linalg.LinAlgError("Singular matrix")
    return np.asarray(np.linalg.inv(rows))
