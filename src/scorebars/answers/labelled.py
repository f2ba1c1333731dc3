"""Class labels with their errors, as the answers of the classification metrics need them."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.majority import majority_model, majority_of_some
from scorebars.errors import ClassError, Flip, Votes
from scorebars.errors.base import FloatArray
from scorebars.errors.class_error import regular_inverse
from scorebars.laws.correlated_flips import conditional_flip_probabilities
from scorebars.moments.confusion_likelihood import most_likely_confusion
from scorebars.score import UndefinedEstimate

Indices = NDArray[np.intp]


class Labelled:
    """Shown labels and, where there are some, predicted classes, as indices into the sorted `classes`.

    Everything the metrics ask about label errors is one of three (n, K) arrays: `probabilities` of a fresh label around
    the shown one, `own_probabilities` of the label at hand (the majority of its votes) if the shown class is the true
    one, and `indicators`, unbiased estimates of the true class.

    With `count` each row stands for so many labels that are alike; n labels then come in fewer rows.
    """

    def __init__(
        self,
        classes: NDArray[Any],
        shown: Indices,
        predicted: Indices | None,
        model: ClassError,
        weight: FloatArray | None,
        count: FloatArray | None = None,
    ) -> None:
        self.classes, self.shown, self.predicted, self.model, self.weight = classes, shown, predicted, model, weight
        self.count = count

    @cached_property
    def n(self) -> int:
        """Number of labels."""
        return len(self.shown) if self.count is None else round(float(np.add.reduce(self.count)))

    def total(self, values: FloatArray | NDArray[np.bool_]) -> float:
        """The sum over all labels of a number that each row has."""
        return float(np.add.reduce(values if self.count is None else self.count * values))

    @property
    def k(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def kind(self) -> str:
        return self.model.kind

    @cached_property
    def weights(self) -> FloatArray:
        """Of a label in each row."""
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
        """The labels taken as exact, (n, K)."""
        return np.eye(self.k)[self.shown]

    @property
    def names(self) -> NDArray[Any]:
        """The shown labels as classes."""
        return np.asarray(self.classes[self.shown])

    # how fresh labels fall ---------------------------------------------------------------------

    @cached_property
    def rows(self) -> FloatArray | None:
        """P(fresh label | shown class), (K, K), where it depends on the class only and flips are independent."""
        if not self.model.classwise or (isinstance(self.model, Flip) and self.model.correlation):
            return None
        return self.model.label_probabilities(self.classes, self.classes)

    @cached_property
    def probabilities(self) -> FloatArray:
        return self.model.label_probabilities(self.names, self.classes)

    @cached_property
    def exact(self) -> bool:
        """Whether no label can be another class."""
        return bool(np.all(self.probabilities[np.arange(len(self.shown)), self.shown] == 1.0))

    def mixture(self) -> list[tuple[float, FloatArray]]:
        """Label probabilities of independent labels, with the chance of each case: two for correlated flips."""
        if isinstance(self.model, Flip) and self.model.correlation:
            q = np.broadcast_to(np.asarray(self.model.q, dtype=np.float64), (self.n,))
            chances, conditional = conditional_flip_probabilities(q, self.model.correlation)
            parts = [Flip(np.clip(r, 0.0, 1.0)).label_probabilities(self.names, self.classes) for r in conditional]
            return [(float(c), part) for c, part in zip(chances, parts, strict=True) if c > 0]
        return [(1.0, self.probabilities)]

    # the label at hand -------------------------------------------------------------------------

    @cached_property
    def own(self) -> ClassError | None:
        """The error model of the label at hand: that of a single vote, or of the majority of several."""
        if isinstance(self.model.repeats, int):
            return self.model
        return majority_model(self.model, self.model.repeats, self.classes)

    @cached_property
    def own_probabilities(self) -> FloatArray:
        if self.own is None:
            raise UndefinedEstimate(self.model.why_no_transition())
        return self.own.label_probabilities(self.names, self.classes)

    def own_mixture(self) -> list[tuple[float, FloatArray]]:
        """As `mixture`, for the label at hand."""
        correlated = isinstance(self.model, Flip) and self.model.correlation
        return self.mixture() if correlated else [(1.0, self.own_probabilities)]

    @cached_property
    def indicators(self) -> FloatArray:
        """Unbiased estimates of "the true class is k", (n, K); rows sum to 1, entries may leave [0, 1]."""
        own = self.own
        if own is None or own.transition(self.classes[:2] if isinstance(own, Flip) else self.classes) is None:
            raise UndefinedEstimate(self.model.why_no_transition())
        try:
            found = own.true_indicators(self.names, self.classes)
        except np.linalg.LinAlgError:
            raise UndefinedEstimate(self._singular()) from None
        assert found is not None
        return found

    def _singular(self) -> str:
        if isinstance(self.own, Flip):
            bad = np.abs(1.0 - np.asarray(self.own.q) * self.k / (self.k - 1)) < 1e-12
            count = self.n if bad.ndim == 0 else round(self.total(bad))
            return (
                f"at q = {1 - 1 / self.k:g} a label says nothing about the true class ({count} of {self.n} labels), so "
                "the score against the truth cannot be found from them."
            )
        return (
            "the transition matrix is singular: some classes are shown alike, so the score against the truth cannot be "
            "found from these labels."
        )

    @cached_property
    def likelihoods(self) -> FloatArray:
        """P(label at hand | true class k), (n, K)."""
        rows = None if self.own is None else self.own.transition(self.classes)
        if rows is None:
            raise UndefinedEstimate(self.model.why_no_transition())
        if rows.ndim == 2:
            return np.asarray(rows[:, self.shown].T)
        return np.asarray(rows[np.arange(len(self.shown)), :, self.shown])

    @cached_property
    def posterior(self) -> FloatArray:
        """Chance that the true class is k given label and prediction, (n, K).

        Beforehand each class is as likely as among all items of this prediction, counted from the indicators; a negative
        count is none.
        """
        column = np.zeros(len(self.shown), dtype=np.intp) if self.predicted is None else self.predicted
        counts = np.stack([np.bincount(column, self.masses * a, minlength=self.k) for a in self.indicators.T], axis=1)
        joint = np.maximum(counts, 0.0)[column] * self.likelihoods
        total = np.add.reduce(joint, axis=1, keepdims=True)
        impossible = total <= 0
        joint = np.where(impossible, self.likelihoods, joint)
        return np.asarray(joint / np.where(impossible, np.add.reduce(joint, axis=1, keepdims=True), total))

    def label_variance(self, slopes: FloatArray) -> float:
        """Variance of sum slopes * indicators from independent label errors, given the true classes."""
        return self.total(np.add.reduce(self.posterior * self._indicator_variances(slopes), axis=1))

    def _indicator_variances(self, slopes: FloatArray) -> FloatArray:
        """Variance of each item's slopes * indicators if its true class is k, (n, K)."""
        own = self.own
        if isinstance(own, Flip):
            q = np.broadcast_to(np.asarray(own.q, dtype=np.float64), (len(self.shown),))[:, None]
            r = q / (self.k - 1)
            centred = slopes - np.add.reduce(slopes, axis=1, keepdims=True) / self.k
            square = np.square(centred)
            mean = (1.0 - q - r) * centred
            second = (1.0 - q - r) * square + r * np.add.reduce(square, axis=1, keepdims=True)
            return np.asarray(np.maximum(second - np.square(mean), 0.0) / np.square(1.0 - q - r))
        rows = None if own is None else own.transition(self.classes)
        if rows is None:
            raise UndefinedEstimate(self.model.why_no_transition())
        try:
            inverse = regular_inverse(rows)
        except np.linalg.LinAlgError:
            raise UndefinedEstimate(self._singular()) from None
        if rows.ndim == 2:
            shown_as = slopes @ inverse.T
            second = np.square(shown_as) @ rows.T
        else:
            shown_as = np.einsum("nk,njk->nj", slopes, inverse)
            second = np.einsum("nj,nkj->nk", np.square(shown_as), rows)
        return np.asarray(np.maximum(second - np.square(slopes), 0.0))

    def most_likely_confusion(self) -> FloatArray:
        """The most likely matrix (K, K) of true classes and predictions, no cell below 0."""
        assert self.predicted is not None
        own, k = self.own, self.k
        if own is None or not own.classwise:
            return most_likely_confusion(self.likelihoods, self.predicted, self.masses)
        rows = own.transition(self.classes)
        assert rows is not None
        # items of one label and one prediction are alike: K^2 of them, however many labels there are
        mass = np.bincount(self.shown * k + self.predicted, self.masses, minlength=k * k).astype(np.float64)
        shown, predicted = np.divmod(np.arange(k * k), k)
        return most_likely_confusion(rows.T[shown], predicted, mass)

    @property
    def common_step(self) -> FloatArray | None:
        """What one flip common to all labels does to the indicators, times its std, (n, K); None without correlation."""
        model = self.model
        if not isinstance(model, Flip) or not model.correlation:
            return None
        q = np.broadcast_to(np.asarray(model.q, dtype=np.float64), (self.n,))
        contrast = 1.0 - q * self.k / (self.k - 1)
        return np.asarray(self._flipped(self.indicators) * (np.sqrt(q * (1 - q)) / contrast)[:, None])

    @property
    def shared_flips(self) -> FloatArray | None:
        """What one flip common to all labels does to the shown labels, times its std; None without correlation."""
        model = self.model
        if not isinstance(model, Flip) or not model.correlation:
            return None
        try:
            true = self.indicators
        except UndefinedEstimate:
            true = self.one_hot
        q = np.broadcast_to(np.asarray(model.q, dtype=np.float64), (self.n,))
        return np.asarray(self._flipped(true) * np.sqrt(q * (1 - q))[:, None])

    def _flipped(self, indicators: FloatArray) -> FloatArray:
        """How a flip moves label indicators: from the true class to all others alike."""
        return np.asarray((1.0 - indicators) / (self.k - 1) - indicators)

    @property
    def common_correlation(self) -> float:
        """Correlation to multiply products of `common_step` by: that of flips, less what correlated indicators add.

        Indicators of two items are themselves correlated, which raises the expected product of their steps by the
        factor 1 + rho (K / (K - 1))^2 q (1 - q) / contrast^2, exactly so where one q serves all.
        """
        model = self.model
        if not isinstance(model, Flip):
            return 0.0
        q = np.asarray(model.q, dtype=np.float64)
        ratio = self.k / (self.k - 1)
        if np.any(np.abs(1.0 - q * ratio) < 1e-12):
            return model.correlation
        raised = float(np.mean(q * (1 - q) * np.square(ratio / (1.0 - q * ratio))))
        return model.correlation / (1.0 + model.correlation * raised)

    # labels measured afresh --------------------------------------------------------------------

    def same_process(self, repeats: float) -> bool:
        """Whether fresh labels by majority of `repeats` votes err just as the labels at hand do."""
        return bool(np.all(np.asarray(self.model.repeats) == repeats))

    def fresh(self, repeats: float) -> FloatArray:
        """Unbiased estimates of P(majority of `repeats` fresh votes is class k), (n, K); entries may leave [0, 1]."""
        if math.isinf(repeats):
            return self.indicators
        if isinstance(self.model, Votes):
            return self._fresh_votes(int(repeats))
        model = majority_model(self.model, int(repeats), self.classes)
        if model is None:
            raise UndefinedEstimate(f"remeasured({repeats:g}) cannot be had: {self.model.why_no_transition()}")
        rows = model.transition(self.classes)
        assert rows is not None
        if rows.ndim == 2:
            return np.asarray(self.indicators @ rows)
        return np.einsum("nk,nkj->nj", self.indicators, rows)

    def _fresh_votes(self, repeats: int) -> FloatArray:
        assert isinstance(self.model, Votes)
        fewest = int(np.min(self.model.repeats))
        if repeats > fewest:
            raise UndefinedEstimate(
                f"remeasured({repeats}) is found from {repeats} of the votes on each item, but some items have {fewest} only."
            )
        found = majority_of_some(self.model.counts, repeats)
        out = np.zeros((self.n, self.k))
        out[:, np.searchsorted(self.classes, self.model.classes())] = found
        return out

    # one class at a time -----------------------------------------------------------------------

    def against_rest(self, index: int) -> Labelled:
        """The same labels as two classes: 0 for the rest, 1 for the class at `index`."""
        return self if self.k == 2 and index == 1 else OneAgainstRest(self, index)


class OneAgainstRest(Labelled):
    """Labels of many classes seen as one class against all others."""

    def __init__(self, parent: Labelled, index: int) -> None:
        self._parent, self._index = parent, index
        predicted = None if parent.predicted is None else (parent.predicted == index).astype(np.intp)
        super().__init__(
            np.array([0, 1]),
            (parent.shown == index).astype(np.intp),
            predicted,
            parent.model,
            parent.weight,
            parent.count,
        )

    def _pair(self, values: FloatArray) -> FloatArray:
        one = values[:, self._index]
        rest = np.add.reduce(np.delete(values, self._index, axis=1), axis=1)
        return np.stack([rest, one], axis=1)

    @cached_property
    def rows(self) -> FloatArray | None:
        return None  # the rest is of several classes, each with its own probabilities

    @cached_property
    def probabilities(self) -> FloatArray:
        return self._pair(self._parent.probabilities)

    def mixture(self) -> list[tuple[float, FloatArray]]:
        return [(chance, self._pair(p)) for chance, p in self._parent.mixture()]

    @cached_property
    def own_probabilities(self) -> FloatArray:
        return self._pair(self._parent.own_probabilities)

    @cached_property
    def indicators(self) -> FloatArray:
        return self._pair(self._parent.indicators)

    def most_likely_confusion(self) -> FloatArray:
        full = self._parent.most_likely_confusion()
        rows = self._pair(full.T)
        return np.stack([np.delete(rows, self._index, axis=0).sum(axis=0), rows[self._index]], axis=1)

    @cached_property
    def posterior(self) -> FloatArray:
        return self._pair(self._parent.posterior)

    def label_variance(self, slopes: FloatArray) -> float:
        one = np.arange(self._parent.k) == self._index
        return self._parent.label_variance(np.where(one, slopes[:, 1:], slopes[:, :1]))

    @property
    def common_step(self) -> FloatArray | None:
        step = self._parent.common_step
        return None if step is None else self._pair(step)

    @property
    def shared_flips(self) -> FloatArray | None:
        step = self._parent.shared_flips
        return None if step is None else self._pair(step)

    @property
    def common_correlation(self) -> float:
        return self._parent.common_correlation

    def fresh(self, repeats: float) -> FloatArray:
        return self._pair(self._parent.fresh(repeats))
