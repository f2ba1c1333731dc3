"""Class labels with their errors: what every classification metric asks about its labels.

A class label carries its error as a matrix T[true, shown], as a measured number carries a variance. An answer asks what
labels with other errors T' would be. The matrix T^-1 T' takes the labels at hand there. `Labelled` has one array (n, K) for
each noise level, whose rows sum to 1:

=====================  =====================================================================================
``one_hot``            observed: the labels as they are shown
``probabilities``      expected: fresh labels, the shown class taken as the true one
``own_probabilities``  perfect: the label at hand (perhaps the majority of votes), the shown class taken as true
``indicators``         truth: unbiased estimates of "the true class is k", rows of T^-1
``fresh(repeats)``     remeasured: unbiased estimates of the majority of so many fresh votes, rows of T^-1 T'
=====================  =====================================================================================

Estimates may leave [0, 1].
"""

from __future__ import annotations

import math
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scorebars import checks
from scorebars.answers.base import asked_of
from scorebars.answers.classes.majority_labels import majority_model
from scorebars.answers.evidence import NOT_KEPT
from scorebars.answers.score import UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.engines.class_counts import BINS_BELOW_HALF, ClassCounts, rows_of
from scorebars.errors import ClassError, Flip, Votes
from scorebars.errors.checked_rates import CheckedRates, DrawnRates
from scorebars.errors.class_error import CountableRates, regular_inverse
from scorebars.laws.counts.correlated_flips import conditional_flip_probabilities
from scorebars.moments.confusion_moments import most_likely_confusion
from scorebars.moments.majority_error import majority_of_some

Indices = NDArray[np.intp]
Cases = list[tuple[float, FloatArray]]
"""Label probabilities (n, K) of independent labels, with the chance of each case."""
_SHOWN_ALIKE = (
    "the transition matrix is singular: some classes are shown alike, so the score against the truth cannot be found from "
    "these labels."
)


class Labelled:
    """Shown labels and, where there are some, predicted classes, as indices into the sorted `classes`.

    With `count` each row stands for that many labels which are alike. `binned`: each q is known to its bin only.
    """

    def __init__(
        self,
        classes: NDArray[Any],
        shown: Indices,
        predicted: Indices | None,
        model: ClassError,
        weight: FloatArray | None,
        count: FloatArray | None = None,
        binned: bool = False,
    ) -> None:
        self.classes, self.shown, self.predicted, self.model, self.weight = classes, shown, predicted, model, weight
        self.count, self.binned, self.k, self.kind = count, binned, len(classes), model.kind

    @classmethod
    def counted(cls, counts: ClassCounts, kind: str, classes: NDArray[Any]) -> Labelled:
        """From counts of labels by shown class, predicted class and q, among these classes."""
        cell, q, count = rows_of(counts)
        place = np.searchsorted(classes, counts.classes)
        shown, predicted = (place[index] for index in np.divmod(cell, len(counts.classes)))
        return cls(classes, shown, predicted, flips_of(q, kind), None, count, counts.gathered)

    @cached_property
    def n(self) -> int:
        """Number of labels."""
        return len(self.shown) if self.count is None else round(float(np.add.reduce(self.count)))

    @property
    def items(self) -> int:
        """How many items a test set draws; each has one label here."""
        return self.n

    def total(self, values: FloatArray | NDArray[np.bool_]) -> float:
        """The sum over all labels of a number that each row has."""
        return float(np.add.reduce(values if self.count is None else self.count * values))

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of a label in each row."""
        return np.ones(len(self.shown)) if self.weight is None else self.weight

    @property
    def masses(self) -> FloatArray:
        """The weights of all labels of each row."""
        return self.weights if self.count is None else self.weights * self.count

    @property
    def effective_size(self) -> float:
        """The number of items, or of equally weighted ones that would say as much."""
        return self.total(self.weights) ** 2 / self.total(np.square(self.weights))

    @cached_property
    def shares(self) -> FloatArray:
        return self.weights / np.add.reduce(self.weights)

    @cached_property
    def one_hot(self) -> FloatArray:
        return np.eye(self.k)[self.shown]

    @property
    def names(self) -> NDArray[Any]:
        """The shown labels as classes."""
        return np.asarray(self.classes[self.shown])

    def scatter(self, classes: FloatArray, moved: FloatArray) -> float:
        """Sum over items of the squared deviation of what they add: `moved` for each class, with the chances `classes`."""
        mean = self.total(np.add.reduce(classes * moved, axis=1)) / self.n
        return self.total(np.add.reduce(classes * np.square(moved - mean), axis=1))

    def scatter_of_means(self, moved: FloatArray) -> float:
        """Sum over items of the squared deviation of one number for each row."""
        return self.total(np.square(moved - self.total(moved) / self.n))

    # how fresh labels fall ---------------------------------------------------------------------

    @cached_property
    def rows(self) -> FloatArray | None:
        """P(fresh label | shown class), (K, K), where it depends on the class only."""
        return self.model.transition(self.classes) if self.model.classwise else None

    @cached_property
    def probabilities(self) -> FloatArray:
        checks.require_memory(
            16 * len(self.shown) * self.k,
            f"the probabilities of {self.k:,} classes for each of {len(self.shown):,} labels",
            "Merge rare classes, score a part of the labels, or use accuracy_score, which needs no more for more classes.",
        )
        if self.rows is not None:
            return np.asarray(self.rows[self.shown])
        return self.model.label_probabilities(self.names, self.classes)

    def chance_kept(self) -> FloatArray:
        """P(a fresh label is the shown class), of each row."""
        if self.rows is not None:
            return np.asarray(np.diagonal(self.rows)[self.shown])
        return np.asarray(self.probabilities[np.arange(len(self.shown)), self.shown])

    @cached_property
    def exact(self) -> bool:
        """Whether no label can be another class."""
        return bool(np.all(self.chance_kept() == 1.0))

    @property
    def without_error(self) -> bool:
        """Whether labels are known to be exact and the label at hand is a single one; a single vote is not known to be."""
        single = self.same_process(1) and not isinstance(self.model, Votes)
        return self.exact and single and self.checked is None

    def mixture(self) -> Cases:
        """Fresh labels as cases of independent ones: two for correlated flips."""
        if not self._correlation:
            return [(1.0, self.probabilities)]
        chances, conditional = conditional_flip_probabilities(self._q, self._correlation)
        parts = [Flip(np.clip(q, 0.0, 1.0)).label_probabilities(self.names, self.classes) for q in conditional]
        return [(float(c), part) for c, part in zip(chances, parts, strict=True) if c > 0]

    @property
    def _correlation(self) -> float:
        return self.model.correlation if isinstance(self.model, Flip) else 0.0

    @property
    def _q(self) -> FloatArray:
        """The probability of each row's flip, of a model of flips."""
        return np.broadcast_to(np.asarray(self.model.q, dtype=np.float64), self.shown.shape)  # type: ignore[attr-defined]

    # the label at hand -------------------------------------------------------------------------

    @cached_property
    def own(self) -> ClassError | None:
        """The error model of the label at hand: that of a single vote, or of the majority of several."""
        if isinstance(self.model.repeats, int):
            return self.model
        return majority_model(self.model, self.model.repeats, self.classes)

    @cached_property
    def own_probabilities(self) -> FloatArray:
        if self.own is self.model:
            return self.probabilities
        return self._known(self.own).label_probabilities(self.names, self.classes)

    def own_mixture(self) -> Cases:
        """As `mixture`, for the label at hand."""
        return self.mixture() if self._correlation else [(1.0, self.own_probabilities)]

    @cached_property
    def _transition(self) -> FloatArray:
        """P(shown | true class) of the label at hand, (K, K) or (n, K, K)."""
        if self.own is self.model and self.rows is not None:
            return self.rows
        return self._known(None if self.own is None else self.own.transition(self.classes))

    def _known(self, found: Any) -> Any:
        if found is None:
            raise UndefinedEstimate(self.model.why_no_transition)
        return found

    @cached_property
    def indicators(self) -> FloatArray:
        if self.binned:
            require_away_from_chance(self._q, self.k, "the score")
        own = self._known(self.own)
        try:
            if own is self.model and self.rows is not None:
                return np.asarray(self._inverse[self.shown])
            return np.asarray(self._known(own.true_indicators(self.names, self.classes)))
        except np.linalg.LinAlgError:
            if not isinstance(own, Flip):
                raise UndefinedEstimate(_SHOWN_ALIKE) from None
            q = np.broadcast_to(np.asarray(own.q), self.shown.shape)
            number = self.total(np.abs(contrast(q, self.k)) < 1e-12)
            raise UndefinedEstimate(says_nothing(self.k, round(number), self.n)) from None

    @cached_property
    def _inverse(self) -> FloatArray:
        """The inverse of `_transition`."""
        return regular_inverse(self._transition)

    @cached_property
    def posterior(self) -> FloatArray:
        """Chance that the true class is k given label and prediction, (n, K).

        Beforehand each class is as likely as among all items of this prediction, counted from the indicators; a negative
        count is none.
        """
        column = np.zeros(len(self.shown), dtype=np.intp) if self.predicted is None else self.predicted
        counts = np.stack([np.bincount(column, self.masses * a, minlength=self.k) for a in self.indicators.T], axis=1)
        likely = np.maximum(counts, 0.0)[column] * self._likelihoods
        impossible = np.add.reduce(likely, axis=1, keepdims=True) <= 0
        likely = np.where(impossible, self._likelihoods, likely)
        return np.asarray(likely / np.add.reduce(likely, axis=1, keepdims=True))

    # what stands behind the labels at hand, whatever a model says ------------------------------

    def cases_of_truth(self) -> list[tuple[float, Labelled]]:
        """The labels with independent errors, in the cases of `own_mixture` with their chances."""
        if not self._correlation:
            return [(1.0, self)]
        chances, conditional = conditional_flip_probabilities(self._q, self._correlation)
        flips = [Flip(np.clip(q, 0.0, 1.0)) for q in conditional]
        return [(float(c), self._under(model)) for c, model in zip(chances, flips, strict=True) if c > 0]

    def _under(self, model: ClassError) -> Labelled:
        return Labelled(self.classes, self.shown, self.predicted, model, self.weight, self.count, self.binned)

    @property
    def alike_by_class(self) -> bool:
        """Whether all labels of one shown class say the same."""
        return self.rows is not None and self.own is self.model and self.weight is None

    @cached_property
    def class_shares(self) -> FloatArray:
        """The share of each true class among the items, (K,), estimated from the labels.

        Classes of which next to nothing is left share half an item: none is impossible.
        """
        least = 0.5 / self.k * np.add.reduce(self.masses) / self.n
        counts = np.maximum(self.masses @ self.indicators, least)
        return np.asarray(counts / np.add.reduce(counts))

    @cached_property
    def truth_given_label(self) -> FloatArray:
        """Chance that the true class is k given the label, (n, K)."""
        if self.kind == "berkson":
            return self.own_probabilities
        return np.asarray(self.class_shares * self._likelihoods / self._chance_shown)

    @cached_property
    def _chance_shown(self) -> FloatArray:
        """P(label at hand), whatever the true class, (n, 1); 1 for labels that cannot be."""
        chance = np.add.reduce(self.class_shares * self._likelihoods, axis=1, keepdims=True)
        return np.where(chance > 0, chance, 1.0)

    def variance_behind(self, moved: FloatArray) -> float:
        """Variance of the sum of moved (n, K) * truth_given_label, as the shares of the classes are estimates.

        A change of the share pi_k changes the chance of class j by L_k / P(label) (1[j = k] - chance_j), one of T[k, shown]
        does so pi_k / L_k times, and pi moves with T. Rates that were counted are estimates, too.
        """
        if self.kind == "berkson":
            return self.variance_of_errors(moved)
        above = (moved - np.add.reduce(moved * self.truth_given_label, axis=1, keepdims=True)) / self._chance_shown
        slopes = np.array([self.total(column) for column in (above * self._likelihoods).T])
        each = (self.indicators - self.class_shares) @ slopes
        found = self.total(np.square(self.weights / np.add.reduce(self.masses) * each))
        if self.checked is None:
            return found
        return found + self._rates_variance(
            self.class_shares[:, None] * (self._by_shown(above).T - self._inverse @ slopes)
        )

    def variance_of_errors(self, slopes: FloatArray) -> float:
        """Variance of the sum of slopes (n, K) * own_probabilities where their rates were counted."""
        return 0.0 if self.checked is None else self._rates_variance(self._by_shown(slopes))

    def _rates_variance(self, slopes: FloatArray) -> float:
        """Variance of what moves by slopes (K, K) with the entries of T, from rates that were counted."""
        assert self.checked is not None
        return self.checked.variance(self._known(self.own).rate_slopes(slopes, self.classes))

    @cached_property
    def _likelihoods(self) -> FloatArray:
        """P(label at hand | true class k), (n, K)."""
        if isinstance(self.own, Flip):  # without matrices for each item: theirs are symmetric
            return self.own.label_probabilities(self.names, self.classes)
        if self._transition.ndim == 2:
            return np.asarray(self._transition.T[self.shown])
        return np.asarray(self._transition[np.arange(len(self.shown)), :, self.shown])

    def label_variance(self, slopes: FloatArray) -> float:
        """Variance of sum slopes * indicators from independent label errors, given the true classes."""
        return self.total(np.add.reduce(self.posterior * self._indicator_variances(slopes), axis=1))

    def label_third(self, slopes: FloatArray) -> float:
        """Third central moment of sum slopes * indicators: unbiased, from what it is for each true class."""
        true, second, third = self._given_truth(slopes, 2, 3)
        return self.total(np.add.reduce(self.indicators * (third - 3.0 * true * second + 2.0 * true**3), axis=1))

    def _indicator_variances(self, slopes: FloatArray) -> FloatArray:
        """Variance of each item's slopes * indicators if its true class is k, (n, K)."""
        true, second = self._given_truth(slopes, 2)
        return np.asarray(np.maximum(second - np.square(true), 0.0))

    def _given_truth(self, slopes: FloatArray, *powers: int) -> list[FloatArray]:
        """Mean of each item's slopes * indicators if its true class is k, (n, K), and means of its powers.

        Slopes matter up to a number for each item, since its indicators sum to 1.
        """
        if isinstance(self.own, Flip):  # without matrices for each item
            q = np.broadcast_to(np.asarray(self.own.q, dtype=np.float64), self.shown.shape)[:, None]
            kept, true = contrast(q, self.k), slopes - np.add.reduce(slopes, axis=1, keepdims=True) / self.k
            shown = [(true / kept) ** power for power in powers]
            return [true, *(q / (self.k - 1) * np.add.reduce(x, axis=1, keepdims=True) + kept * x for x in shown)]
        rows, inverse = self._transition, self._inverse
        if rows.ndim == 2:
            carried = slopes @ inverse.T
            return [slopes, *(carried**power @ rows.T for power in powers)]
        carried = np.einsum("nk,njk->nj", slopes, inverse)
        return [slopes, *(np.einsum("nj,nkj->nk", carried**power, rows) for power in powers)]

    def most_likely_confusion(self) -> FloatArray:
        """The most likely matrix (K, K) of true classes and predictions, no cell below 0."""
        assert self.predicted is not None
        k = self.k
        if self._transition.ndim == 3:
            return most_likely_confusion(self._likelihoods, self.predicted, self.masses)
        # items of one label and one prediction are alike: K^2 of them, however many labels there are
        mass = np.bincount(self.shown * k + self.predicted, self.masses, minlength=k * k).astype(np.float64)
        shown, predicted = np.divmod(np.arange(k * k), k)
        return most_likely_confusion(self._transition.T[shown], predicted, mass)

    # error rates that were counted ---------------------------------------------------------------

    @property
    def checked(self) -> CheckedRates | DrawnRates | None:
        """Where the error rates of the labels at hand come from; None where these are known."""
        return self.model.checked if self.own is None else self.own.checked

    def rate_slopes(self, slopes: FloatArray) -> FloatArray:
        """The derivatives (c, j) of sum slopes * indicators with respect to the error rates.

        A change dT changes the inverse T^-1 by -T^-1 dT T^-1, and labels of class j have row j of it. Berkson: row j of T.
        """
        moved = self._by_shown(slopes)
        if self.kind == "classical":
            moved = -self._inverse.T @ moved @ self._inverse.T
        return self._known(self.own).rate_slopes(moved, self.classes)

    def _by_shown(self, slopes: FloatArray) -> FloatArray:
        """Sums (K, K) of slopes (n, K) over the labels of each shown class."""
        mass = slopes if self.count is None else slopes * self.count[:, None]
        return np.stack([np.bincount(self.shown, column, minlength=self.k) for column in mass.T], axis=1)

    def drawn_rows(self, count: int) -> FloatArray:
        """Rows of indicators for each shown class, (count, K, K), with error rates that the checked labels allow.

        Rates beyond the point where labels say nothing of the true classes are left out (nan): the counted ones are on
        its other side.
        """
        assert self.checked is not None and isinstance(self.own, CountableRates)
        rows = self.own.transitions(self.checked.draws(count), self.classes)
        if self.kind == "berkson":
            return rows
        size = np.linalg.det(rows)
        regular = (np.abs(size) > 1e-12) & (np.sign(size) == np.sign(np.linalg.det(self._transition)))
        out = np.full(rows.shape, math.nan)
        out[regular] = np.linalg.inv(rows[regular])
        return out

    @property
    def counted_rows(self) -> FloatArray:
        """Rows of indicators for each shown class by the counted rates themselves, (K, K)."""
        return self._transition if self.kind == "berkson" else self._inverse

    def carried_by(self, rows: FloatArray) -> FloatArray:
        """The indicators (n, K) that labels of each class have by the rows (K, K)."""
        return np.asarray(rows[self.shown])

    def sums_by(self, rows: FloatArray, table: FloatArray) -> FloatArray:
        """Sum of table * indicators for each of several sets of rows (d, K, K)."""
        return np.asarray(np.einsum("djk,jk->d", rows, self._by_shown(table)))

    def confusions_by(self, rows: FloatArray, predicted: Indices, number: int) -> FloatArray:
        """Confusion matrices (d, K, number) for several sets of rows of indicators; predictions have `number` classes."""
        cells = np.bincount(self.shown * number + predicted, self.masses, minlength=self.k * number)
        return np.asarray(np.einsum("djk,jl->dkl", rows, cells.reshape(self.k, number)))

    def variances_by(self, rows: FloatArray, slopes: FloatArray) -> FloatArray:
        """Unbiased variance (d,) of sum slopes * indicators from label errors, by several sets of rows.

        The covariance of the indicators a of one item is estimated by a a' - diag(a).
        """
        scale = slopes if self.count is None else slopes * np.sqrt(self.count)[:, None]
        parts = [scale[self.shown == j] for j in range(self.k)]
        square = np.stack([part.T @ part for part in parts])
        own = np.einsum("dja,jab,djb->d", rows, square, rows, optimize=True)
        return np.asarray(own - np.einsum("dja,jaa->d", rows, square))

    # flips that all labels share ----------------------------------------------------------------

    def shared_step(self, of_truth: bool) -> FloatArray | None:
        """How a flip common to all labels, of one standard deviation, moves the shown labels (n, K); None without correlation.

        With `of_truth`: how it moves the indicators.
        """
        if not self._correlation:
            return None
        try:
            true = self.indicators
        except UndefinedEstimate:
            if of_truth:
                raise
            true = self.one_hot
        scale = np.sqrt(self._q * (1 - self._q))
        if of_truth:
            scale = scale / contrast(self._q, self.k)
        return np.asarray(((1.0 - true) / (self.k - 1) - true) * scale[:, None])

    @property
    def shared_correlation(self) -> float:
        """Correlation to multiply products of `shared_step` by: that of flips, less what correlated indicators add.

        Indicators of two items are themselves correlated, which raises the expected product of their steps by the
        factor 1 + rho (K / (K - 1))^2 q (1 - q) / contrast^2, exactly so where one q serves all.
        """
        rho, left = self._correlation, contrast(self._q, self.k)
        if np.any(np.abs(left) < 1e-12):
            return rho
        raised = float(np.mean(self._q * (1 - self._q) * np.square(self.k / (self.k - 1) / left)))
        return rho / (1.0 + rho * raised)

    # labels measured afresh --------------------------------------------------------------------

    def same_process(self, repeats: float) -> bool:
        """Whether fresh labels by majority of `repeats` votes err just as the labels at hand do."""
        return bool(np.all(np.asarray(self.model.repeats) == repeats))

    def fresh(self, repeats: float) -> FloatArray:
        if math.isinf(repeats):
            return self.indicators
        if isinstance(self.model, Votes):
            return self._fresh_votes(self.model, int(repeats))
        model = majority_model(self.model, int(repeats), self.classes)
        if model is None:
            raise UndefinedEstimate(f"remeasured({repeats:g}) cannot be found: {self.model.why_no_transition}")
        rows = np.asarray(model.transition(self.classes))
        return np.asarray((self.indicators[:, None, :] @ rows)[:, 0] if rows.ndim == 3 else self.indicators @ rows)

    def _fresh_votes(self, model: Votes, repeats: int) -> FloatArray:
        fewest = int(np.min(model.repeats))
        if repeats > fewest:
            raise UndefinedEstimate(
                f"remeasured({repeats}) is found from {repeats} of the votes on each item, but some items have {fewest} only."
            )
        out = np.zeros((self.n, self.k))
        out[:, np.searchsorted(self.classes, model.classes())] = majority_of_some(model.counts, repeats)
        return out

    # one class at a time -----------------------------------------------------------------------

    @property
    def given_classes(self) -> NDArray[Any]:
        """The classes of the labels as they were given."""
        return self.classes

    def places(self, names: NDArray[Any]) -> Indices:
        """Where labels of these names stand among the classes."""
        return np.searchsorted(self.classes, names)

    def column(self, index: int) -> Labelled:
        """The same labels as two classes: 0 for the rest, 1 for the class at `index`."""
        return self if self.k == 2 and index == 1 else OneAgainstRest(self, index)

    def positives(self, rows: FloatArray) -> FloatArray:
        """Chances of a positive label in each column, (n, columns), from those of the classes."""
        return rows

    def by_class(self, moved: FloatArray) -> FloatArray:
        """How much an item of each class moves the metric, from its no and its yes in each column (n, columns, 2)."""
        no, yes = moved[..., 0], moved[..., 1]
        return np.asarray(np.add.reduce(no, axis=1)[:, None] + yes - no)

    def predicting_shown(self) -> Self:
        """The same labels with the shown classes as predictions."""
        other = copy(self)
        other.__dict__.pop("posterior", None)
        other.predicted = self.shown
        return other


def _paired(name: str) -> Any:
    """An array of all classes, as one class against the rest."""
    return cached_property(lambda self: self._pair(getattr(self._parent, name)))


class OneAgainstRest(Labelled):
    """Labels of many classes seen as one class against all others."""

    rows = None  # the rest is of several classes, each with its own probabilities
    probabilities = _paired("probabilities")
    own_probabilities = _paired("own_probabilities")
    indicators = _paired("indicators")
    posterior = _paired("posterior")
    truth_given_label = _paired("truth_given_label")

    def __init__(self, parent: Labelled, index: int) -> None:
        self._parent, self._index = parent, index
        predicted = None if parent.predicted is None else (parent.predicted == index).astype(np.intp)
        shown = (parent.shown == index).astype(np.intp)
        super().__init__(np.array([0, 1]), shown, predicted, parent.model, parent.weight, parent.count)

    own = asked_of("_parent.own")
    given_classes = asked_of("_parent.given_classes")
    drawn_rows = asked_of("_parent.drawn_rows")
    counted_rows = asked_of("_parent.counted_rows")
    shared_correlation = asked_of("_parent.shared_correlation")

    def places(self, names: NDArray[Any]) -> Indices:
        return (self._parent.places(names) == self._index).astype(np.intp)

    def _pair(self, values: FloatArray) -> FloatArray:
        rest = np.add.reduce(np.delete(values, self._index, axis=1), axis=1)
        return np.stack([rest, values[:, self._index]], axis=1)

    def mixture(self) -> Cases:
        if not self._correlation:
            return [(1.0, self.probabilities)]
        return [(chance, self._pair(p)) for chance, p in self._parent.mixture()]

    def cases_of_truth(self) -> list[tuple[float, Labelled]]:
        return [(chance, OneAgainstRest(case, self._index)) for chance, case in self._parent.cases_of_truth()]

    def variance_behind(self, moved: FloatArray) -> float:
        return self._parent.variance_behind(self._of_parent(moved))

    def variance_of_errors(self, slopes: FloatArray) -> float:
        return self._parent.variance_of_errors(self._of_parent(slopes))

    def most_likely_confusion(self) -> FloatArray:
        return self._pair(self._pair(self._parent.most_likely_confusion().T).T)

    def label_variance(self, slopes: FloatArray) -> float:
        return self._parent.label_variance(self._of_parent(slopes))

    def label_third(self, slopes: FloatArray) -> float:
        return self._parent.label_third(self._of_parent(slopes))

    def _of_parent(self, slopes: FloatArray) -> FloatArray:
        """Slopes by the indicators of all classes, from those of the one and the rest."""
        one = np.arange(self._parent.k) == self._index
        return np.where(one, slopes[:, 1:], slopes[:, :1])

    def rate_slopes(self, slopes: FloatArray) -> FloatArray:
        return self._parent.rate_slopes(self._of_parent(slopes))

    def carried_by(self, rows: FloatArray) -> FloatArray:
        return self._pair(self._parent.carried_by(rows))

    def sums_by(self, rows: FloatArray, table: FloatArray) -> FloatArray:
        return self._parent.sums_by(rows, self._of_parent(table))

    def confusions_by(self, rows: FloatArray, predicted: Indices, number: int) -> FloatArray:
        return self._pair(self._parent.confusions_by(rows, predicted, number))

    def variances_by(self, rows: FloatArray, slopes: FloatArray) -> FloatArray:
        return self._parent.variances_by(rows, self._of_parent(slopes))

    def shared_step(self, of_truth: bool) -> FloatArray | None:
        step = self._parent.shared_step(of_truth)
        return None if step is None else self._pair(step)

    def fresh(self, repeats: float) -> FloatArray:
        return self._pair(self._parent.fresh(repeats))


_TWO = np.array([0, 1])


class LabelMatrix(Labelled):
    """Several yes-or-no labels an item (multilabel): the cells of a matrix (items, outputs), row after row, as labels.

    They err independently. Items are what a test set draws, so the cells of an item are added up before their scatter is
    taken.
    """

    def __init__(
        self, y: NDArray[Any], predicted: NDArray[Any] | None, model: ClassError, weight: FloatArray | None
    ) -> None:
        self.outputs, self.item_weight = y.shape[1], weight
        self.item_weights = np.ones(len(y)) if weight is None else weight
        super().__init__(
            _TWO,
            y.astype(np.intp).ravel(),
            None if predicted is None else predicted.astype(np.intp).ravel(),
            model,
            None if weight is None else np.repeat(weight, self.outputs),
        )

    @property
    def items(self) -> int:
        return len(self.item_weights)

    def matrix(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value for each cell as (items, outputs)."""
        return values.reshape(self.items, self.outputs)

    @property
    def effective_size(self) -> float:
        return float(np.add.reduce(self.item_weights)) ** 2 / float(np.add.reduce(np.square(self.item_weights)))

    def scatter(self, classes: FloatArray, moved: FloatArray) -> float:
        """The cells of an item are drawn together; their labels, where they are chances, fall independently."""
        mean = np.add.reduce(classes * moved, axis=1)
        own = np.add.reduce(classes * np.square(moved), axis=1) - np.square(mean)
        return self.scatter_of_means(mean) + float(np.add.reduce(own))

    def scatter_of_means(self, moved: FloatArray) -> float:
        of_item = np.add.reduce(self.matrix(moved), axis=1)
        return float(np.add.reduce(np.square(of_item - np.mean(of_item))))

    # columns -----------------------------------------------------------------------------------

    def positives(self, rows: FloatArray) -> FloatArray:
        return self.matrix(rows[:, 1])

    def by_class(self, moved: FloatArray) -> FloatArray:
        return moved.reshape(-1, 2)

    def column(self, index: int) -> Labelled:
        part = slice(index, None, self.outputs)
        predicted = None if self.predicted is None else self.predicted[part]
        return Labelled(_TWO, self.shown[part], predicted, self.model[part], self.item_weight)

    def columns(self, keep: NDArray[np.intp]) -> LabelMatrix:
        """Some outputs only."""
        places = (np.arange(self.items)[:, None] * self.outputs + keep).ravel()
        predicted = None if self.predicted is None else self.matrix(self.predicted)[:, keep]
        return LabelMatrix(self.matrix(self.shown)[:, keep], predicted, self.model[places], self.item_weight)


def flips_of(q: FloatArray, kind: str) -> Flip:
    """Flips with these probabilities; one number where it serves all."""
    return Flip(float(q[0]) if np.all(q == q[0]) else q, kind=kind)


def contrast(q: FloatArray, classes: int) -> FloatArray:
    """1 - q - q / (K - 1): how much of the difference between right and wrong labels flips leave; 0 for a guess."""
    return np.asarray(1.0 - q * classes / (classes - 1))


def says_nothing(classes: int, number: int, n: int) -> str:
    """Why labels that are wrong as often as a guess cannot be carried back."""
    return (
        f"at q = {1 - 1 / classes:g} a label says nothing about the true class ({number} of {n} labels), so the score "
        "against the truth cannot be found from them."
    )


def require_away_from_chance(q: FloatArray, classes: int, score: str) -> None:
    """Refuse where a bin of q may hold labels that say nothing about the true class."""
    if np.any(np.abs(contrast(q, classes)) < classes / (classes - 1) / BINS_BELOW_HALF):
        what = f"{score} against the truth, with some q close to {1 - 1 / classes:g},"
        raise UndefinedEstimate(NOT_KEPT.format(what=what))
