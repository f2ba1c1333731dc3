"""Answers of means over items with several labels each: ``average="samples"``, and subset accuracy.

Several labels of one item are seen as one label with more classes: the states that they can be in together. They are all
right or not, have so many positives found and missed, or are one of 2^L configurations. With label l positive with
probability p_l, independently of the others, each state has a probability that is linear in each p_l. Put unbiased
estimates of the true labels in place of the p_l and the same expression estimates without bias whether the true labels
are in that state. So a mean over items of what their states are worth is a metric that is linear in the label.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property, partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import asked_of
from scorebars.answers.classes.class_answers import ENTROPY, Spread
from scorebars.answers.classes.confusion_answers import Share
from scorebars.answers.classes.label_loss import LabelLossAnswers
from scorebars.answers.classes.labelled import Labelled, LabelMatrix
from scorebars.answers.score import Declaration, UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.errors.class_error import CountableRates, regular_inverse
from scorebars.laws.ranking.ranked_values import ScoreGroups, average_precision, partial_auc

_MOST_AMPLIFIED = 1e9
"""Rounding errors of the estimates against the truth grow by this factor: 1e-16 becomes 1e-7."""
_STEP, _RATES = 3e-4, 200
"""A small change of an error rate, and how many rates are drawn where they were counted."""
_MOST_CONFIGURED = 12
"""Labels of an item whose configurations are all listed."""

# the states of an item ------------------------------------------------------------------------------


class ItemStates(Labelled):
    """The states of items, numbered from 0, with the probability of each.

    `given` (n, m) marks the states on which everything is conditioned; None for all.
    """

    given: NDArray[np.bool_] | None = None
    rows = None  # the labels of an item have their probabilities together

    def __init__(self, cells: LabelMatrix, number: int, shown: NDArray[np.intp]) -> None:
        self.cells = cells
        super().__init__(np.arange(number), shown, None, cells.model, cells.item_weight)

    @abstractmethod
    def of(self, p: FloatArray) -> FloatArray:
        """Probabilities (n, m) of the states from those of positive labels (n, L)."""

    def _states(self, rows: FloatArray) -> FloatArray:
        found = self.of(self.cells.positives(rows))
        if self.given is None:
            return found
        kept = np.where(self.given, found, 0.0)
        total = np.add.reduce(kept, axis=1)[:, None]
        return np.where(total > 0, kept / np.where(total > 0, total, 1.0), self.one_hot)

    @cached_property
    def probabilities(self) -> FloatArray:
        return self._states(self.cells.probabilities)

    exact = asked_of("cells.exact")
    counted_rows = asked_of("cells.counted_rows")

    @cached_property
    def own_probabilities(self) -> FloatArray:
        return self._states(self.cells.own_probabilities)

    @cached_property
    def indicators(self) -> FloatArray:
        return self._carried(self.cells.indicators)

    @cached_property
    def posterior(self) -> FloatArray:
        """Chances of the true states, from those of the true labels."""
        return self._states(self.cells.posterior)

    def label_variance(self, slopes: FloatArray) -> float:
        """The estimated covariance of one item's indicators a is a a' - diag(a): unbiased whatever the errors."""
        return max(float(np.add.reduce(_own_variances(slopes, self.indicators))), 0.0)

    def label_third(self, slopes: FloatArray) -> float:
        """Labels of an item are carried back together, and what each true state does is not kept: taken as not skew."""
        return 0.0

    def fresh(self, repeats: float) -> FloatArray:
        return self._carried(self.cells.fresh(repeats))

    # error rates that were counted, by which the states of an item move all together

    def rate_slopes(self, slopes: FloatArray) -> FloatArray:
        """By central differences of fourth order in each entry of the matrix of one label."""
        classical, rows = self.kind == "classical", self.cells._transition
        moved = np.zeros((2, 2))
        for entry in product(range(2), repeat=2):
            for times, part in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
                step = np.zeros((2, 2))
                step[entry] = times * _STEP
                changed = self.carried_by(regular_inverse(rows + step) if classical else rows + step)
                moved[entry] += part * float(np.add.reduce(slopes * changed, axis=None)) / (12 * _STEP)
        assert isinstance(self.model, CountableRates)
        return self.model.rate_slopes(moved, self.cells.classes)

    def drawn_rows(self, count: int) -> FloatArray:
        return self.cells.drawn_rows(min(count, _RATES))

    def carried_by(self, rows: FloatArray) -> FloatArray:
        return self._carried(self.cells.carried_by(rows))

    def sums_by(self, rows: FloatArray, table: FloatArray) -> FloatArray:
        return np.array([self._sum(one, lambda a: table * a) for one in rows])

    def variances_by(self, rows: FloatArray, slopes: FloatArray) -> FloatArray:
        return np.array([self._sum(one, partial(_own_variances, slopes)) for one in rows])

    def _sum(self, rows: FloatArray, terms: Callable[[FloatArray], FloatArray]) -> float:
        """The sum of terms of the indicators by these rows; nan where they carry no labels back."""
        try:
            return (
                float(np.add.reduce(terms(self.carried_by(rows)), axis=None)) if np.isfinite(rows).all() else math.nan
            )
        except UndefinedEstimate:
            return math.nan

    def _carried(self, rows: FloatArray) -> FloatArray:
        """The states of estimated labels; refused where rounding errors grow too much."""
        grown = np.prod(self.cells.matrix(np.add.reduce(np.abs(rows), axis=1)), axis=1)
        if float(np.max(grown)) > _MOST_AMPLIFIED:
            raise UndefinedEstimate(
                f"{self.cells.outputs} labels an item are too many to be carried back together through errors as large "
                "as these. Use average='micro', 'macro' or 'weighted', which look at one label at a time."
            )
        return self.of(self.cells.positives(rows))


def _own_variances(slopes: FloatArray, a: FloatArray) -> FloatArray:
    """The estimated variance of slopes * a for each item."""
    return np.asarray(np.square(np.add.reduce(slopes * a, axis=1)) - np.add.reduce(a * np.square(slopes), axis=1))


class AsShown(ItemStates):
    """Labels without error: they are as they are shown."""

    def __init__(self, cells: LabelMatrix) -> None:
        super().__init__(cells, 1, np.zeros(cells.items, dtype=np.intp))

    def of(self, p: FloatArray) -> FloatArray:
        return np.ones((len(p), 1))


def _chosen(cells: LabelMatrix) -> NDArray[np.bool_]:
    assert cells.predicted is not None
    return np.asarray(cells.matrix(cells.predicted) == 1)


class AllRight(ItemStates):
    """1 where the predictions of all labels of an item are right, else 0."""

    def __init__(self, cells: LabelMatrix) -> None:
        right = np.logical_and.reduce(cells.matrix(cells.shown == cells.predicted), axis=1)
        super().__init__(cells, 2, right.astype(np.intp))

    def of(self, p: FloatArray) -> FloatArray:
        right = np.prod(np.where(_chosen(self.cells), p, 1.0 - p), axis=1)
        return np.stack([1.0 - right, right], axis=1)


class PositiveCounts(ItemStates):
    """How many positives of an item are predicted (`found`) and how many are not (`missed`), (m,) each."""

    def __init__(self, cells: LabelMatrix) -> None:
        chosen, positive = _chosen(cells), cells.matrix(cells.shown) == 1
        self._most = [int(np.max(np.add.reduce(marked, axis=1))) for marked in (chosen, ~chosen)]
        self.found, self.missed = np.divmod(np.arange((self._most[0] + 1) * (self._most[1] + 1)), self._most[1] + 1)
        hits, others = (np.add.reduce(positive & marked, axis=1) for marked in (chosen, ~chosen))
        super().__init__(cells, len(self.found), (hits * (self._most[1] + 1) + others).astype(np.intp))

    def of(self, p: FloatArray) -> FloatArray:
        chosen = _chosen(self.cells)
        found = _count_probabilities(np.where(chosen, p, 0.0), self._most[0])
        missed = _count_probabilities(np.where(chosen, 0.0, p), self._most[1])
        return np.asarray((found[:, :, None] * missed[:, None, :]).reshape(len(p), -1))


def _count_probabilities(p: FloatArray, most: int) -> FloatArray:
    """P(k of the labels of an item are positive), (n, most + 1); p may leave [0, 1]."""
    out = np.zeros((len(p), most + 1))
    out[:, 0] = 1.0
    for column in p.T:
        moved = column[:, None] * out
        out -= moved
        out[:, 1:] += moved[:, :-1]
    return out


class Configurations(ItemStates):
    """All 2^L ways in which the L labels of an item can be positive or not: `labels` (m, L)."""

    def __init__(self, cells: LabelMatrix) -> None:
        if cells.outputs > _MOST_CONFIGURED:
            raise ValueError(
                f"average='samples' of a ranking lists all ways in which the labels of an item can err, which works for "
                f"up to {_MOST_CONFIGURED} labels; there are {cells.outputs}. Use average='macro', 'weighted' or 'micro', "
                "or yerr=None."
            )
        self.labels = np.array(list(product((0.0, 1.0), repeat=cells.outputs)))
        places = 1 << np.arange(cells.outputs)[::-1]
        super().__init__(cells, len(self.labels), (cells.matrix(cells.shown) @ places).astype(np.intp))

    def of(self, p: FloatArray) -> FloatArray:
        out = np.ones((len(p), 1))
        for column in p.T:
            out = (out[:, :, None] * np.stack([1.0 - column, column], axis=1)[:, None, :]).reshape(len(p), -1)
        return out


# their answers --------------------------------------------------------------------------------------


class ItemMean(LabelLossAnswers):
    """The weighted mean over items of what the state of their labels is worth.

    Where that is nan (0/0) it is `undefined`, or if that is nan too, the item is left out.
    """

    data: ItemStates
    _useless = 1.0

    def __init__(self, declaration: Declaration, states: ItemStates, worth: FloatArray, undefined: float) -> None:
        self._undefined = undefined
        table, counted = self._tables(worth)
        super().__init__(declaration, states, table, counted=counted)

    def _tables(self, worth: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """What each state costs, and whether it counts."""
        left_out = np.isnan(worth)
        if math.isnan(self._undefined):
            return np.where(left_out, 0.0, worth), (~left_out).astype(np.float64)
        return np.where(left_out, self._undefined, worth), None

    @abstractmethod
    def _best(self) -> tuple[FloatArray, FloatArray]:
        """What each state is worth to a perfect model, and the probabilities of the states then."""

    def _perfect_cases(self) -> tuple[list[tuple[float, Spread, float]], str]:
        """The states of a perfect model's hits are others than those of the model at hand."""
        worth, own = self._best()
        table, counted = self._tables(worth)
        return [(1.0, self._spread_of(table, own, counted), 0.0)], self._perfect_note


class SubsetAccuracy(ItemMean):
    """The share of items whose labels are all predicted right."""

    def __init__(self, declaration: Declaration, cells: LabelMatrix) -> None:
        super().__init__(declaration, AllRight(cells), np.tile([0.0, 1.0], (cells.items, 1)), 0.0)

    def _best(self) -> tuple[FloatArray, FloatArray]:
        return self._table, AllRight(self.data.cells.predicting_shown()).own_probabilities


class ItemShare(ItemMean):
    """The mean over items of precision, recall, F-score or Jaccard."""

    def __init__(self, declaration: Declaration, cells: LabelMatrix, share: Share, undefined: float) -> None:
        self._share = share
        states = AsShown(cells) if cells.exact else PositiveCounts(cells)
        super().__init__(declaration, states, self._worth(states), undefined)

    def _worth(self, states: ItemStates) -> FloatArray:
        """The share of each item in each state, (n, m); nan where it is 0/0."""
        chosen = _chosen(states.cells)
        if isinstance(states, PositiveCounts):
            found, missed = states.found[None, :], states.missed[None, :]
        else:
            positive = states.cells.matrix(states.cells.shown) == 1
            found, missed = (np.add.reduce(positive & marked, axis=1)[:, None] for marked in (chosen, ~chosen))
        predicted, outputs = np.add.reduce(chosen, axis=1)[:, None], states.cells.outputs
        values = self._share(
            found.astype(float), predicted.astype(float), (found + missed).astype(float), float(outputs)
        )
        impossible = (found > predicted) | (missed > outputs - predicted)  # states that an item cannot be in
        return np.where(impossible, 0.0, np.broadcast_to(values, impossible.shape))

    def _best(self) -> tuple[FloatArray, FloatArray]:
        states = PositiveCounts(self.data.cells.predicting_shown())
        return self._worth(states), states.own_probabilities


class ItemRanking(ItemMean):
    """The mean over items of how well the scores of an item's labels rank the positive ones.

    ROC AUC (up to `max_fpr`) given that every item has positive and negative labels; average precision for None.
    """

    _perfect_note = ENTROPY

    def __init__(self, declaration: Declaration, cells: LabelMatrix, scores: FloatArray, max_fpr: float | None) -> None:
        self._max_fpr = max_fpr
        states: ItemStates
        if cells.exact:
            states, labels = AsShown(cells), cells.matrix(cells.shown)[:, None, :].astype(float)
        else:
            states = Configurations(cells)
            labels = np.broadcast_to(states.labels, (cells.items, *states.labels.shape))
        worth = self._worth(scores, labels)
        if max_fpr is not None and not cells.exact:
            states.given = ~np.isnan(worth)
        # an item that cannot be scored counts 1/2: the estimate stays unbiased for those that can
        super().__init__(declaration, states, worth, 0.5)
        if np.any(np.isnan(worth[np.arange(cells.items), states.shown][cells.item_weights > 0])):
            self.observed = math.nan

    def _worth(self, scores: FloatArray, labels: FloatArray) -> FloatArray:
        """The metric of each item's scores with each of its labels (n, m, L), in an array (n, m)."""
        ones = np.ones(labels.shape[-1])
        pairs = list(zip(map(ScoreGroups, scores), labels, strict=True))
        if self._max_fpr is None:
            return np.stack([average_precision(groups, each, ones) for groups, each in pairs])
        return np.stack([partial_auc(groups, each, ones, self._max_fpr) for groups, each in pairs])

    def _best(self) -> tuple[FloatArray, FloatArray]:
        cells = self.data.cells
        own = cells.positives(cells.own_probabilities)
        states = self.data if isinstance(self.data, Configurations) else Configurations(cells)
        labels = np.broadcast_to(states.labels, (cells.items, *states.labels.shape))
        return self._worth(own, labels), self.data.own_probabilities
