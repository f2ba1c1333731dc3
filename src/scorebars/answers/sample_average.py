"""Answers of metrics that are a mean over items with several labels each (``average="samples"``), and subset accuracy."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from scorebars.answers.cells import Cells
from scorebars.answers.class_answers import ClassAnswers, Spread
from scorebars.answers.confusion_functions import Share
from scorebars.answers.item_states import AllRight, AsShown, Configurations, ItemStates, PositiveCounts
from scorebars.answers.label_loss import ENTROPY, LabelLossAnswers, LossSpread
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.laws.outcomes import MetricMoments, Outcomes
from scorebars.laws.ranked_values import Ranking, average_precision, partial_auc
from scorebars.laws.samples import SampleLaw
from scorebars.score import Declaration, Estimate, UndefinedEstimate

_LISTED = 1 << 13
_DRAWS = 10_000


class ItemMean(LabelLossAnswers):
    """The weighted mean over items of what the state of their labels is worth."""

    data: ItemStates

    @abstractmethod
    def _best(self) -> tuple[FloatArray, FloatArray]:
        """What each state is worth to a perfect model, and the probabilities of the states then."""

    def _perfect_spread(self, p: FloatArray) -> Spread:
        """The states of a perfect model's hits are others than those of the model at hand, so p does not serve."""
        return LossSpread(*self._best(), self.data.shares, self._counted)

    def truth(self) -> Estimate:
        found = super().truth()
        return _of_use(found, self.declaration)


def _of_use(found: Estimate, declaration: Declaration) -> Estimate:
    """The estimate, unless its error is larger than the whole range of the metric."""
    if found.std > declaration.high - declaration.low:
        raise UndefinedEstimate(
            f"the labels do not determine {declaration.name} against the truth: carried back through their errors it would "
            f"be known to ±{found.std:.2g} only, which is more than its range."
        )
    return found


class SubsetAccuracy(ItemMean):
    """The share of items whose labels are all predicted right."""

    def __init__(self, declaration: Declaration, cells: Cells) -> None:
        super().__init__(declaration, AllRight(cells), np.tile([0.0, 1.0], (cells.items, 1)))

    def _best(self) -> tuple[FloatArray, FloatArray]:
        cells = self.data.cells.perfect()
        return self._table, AllRight(cells).of(cells.matrix(cells.own_probabilities[:, 1]))


def share_of_items(
    declaration: Declaration, cells: Cells, share: Share, undefined: float
) -> SampleShare | SampleShareOfSome:
    """The mean of a share over items; items where it is 0/0 are left out if `undefined` is nan."""
    states = AsShown(cells) if cells.exact else PositiveCounts(cells)
    if math.isnan(undefined):
        return SampleShareOfSome(declaration, states, share)
    return SampleShare(declaration, states, share, undefined)


def _share_table(states: ItemStates, share: Share) -> FloatArray:
    """The share of each item in each state, (n, m); nan where it is 0/0."""
    cells = states.cells
    assert cells.predicted is not None
    chosen = cells.matrix(cells.predicted) == 1
    if isinstance(states, PositiveCounts):
        found, missed = states.found[None, :], states.missed[None, :]
    else:
        positive = cells.matrix(cells.shown) == 1
        found = np.add.reduce(positive & chosen, axis=1)[:, None]
        missed = np.add.reduce(positive & ~chosen, axis=1)[:, None]
    predicted = np.add.reduce(chosen, axis=1)[:, None]
    values = share(found.astype(float), predicted.astype(float), (found + missed).astype(float), float(cells.outputs))
    # states that an item cannot be in
    impossible = (found > predicted) | (missed > cells.outputs - predicted)
    return np.where(impossible, 0.0, np.broadcast_to(values, impossible.shape))


class SampleShare(ItemMean):
    """The mean over items of precision, recall, F-score or Jaccard; 0/0 counts as `undefined`."""

    def __init__(self, declaration: Declaration, states: ItemStates, share: Share, undefined: float) -> None:
        self._share, self._undefined = share, undefined
        super().__init__(declaration, states, self._filled(states))

    def _filled(self, states: ItemStates) -> FloatArray:
        values = _share_table(states, self._share)
        return np.where(np.isnan(values), self._undefined, values)

    def _best(self) -> tuple[FloatArray, FloatArray]:
        cells = self.data.cells.perfect()
        states = PositiveCounts(cells)
        return self._filled(states), states.of(cells.matrix(cells.own_probabilities[:, 1]))


class RatioSpread:
    """sum of worth over sum of counted, of items in independent states, given that some item is counted."""

    def __init__(self, worth: FloatArray, counted: FloatArray, p: FloatArray, shares: FloatArray) -> None:
        self._outcomes = self._listed(worth, counted, p, shares) or self._drawn(worth, counted, p, shares)

    def _listed(self, worth: FloatArray, counted: FloatArray, p: FloatArray, shares: FloatArray) -> Outcomes | None:
        possible = p > 0
        if float(np.add.reduce(np.log(np.add.reduce(possible, axis=1)))) > math.log(_LISTED) + 1e-9:
            return None
        above, below, chances = np.zeros(1), np.zeros(1), np.ones(1)
        for value, count, chance, share, allowed in zip(worth, counted, p, shares, possible, strict=True):
            above = np.add.outer(above, share * value[allowed]).ravel()
            below = np.add.outer(below, share * count[allowed]).ravel()
            chances = np.multiply.outer(chances, chance[allowed]).ravel()
        return Outcomes(_ratio(above, below), chances, None, "exact")

    def _drawn(self, worth: FloatArray, counted: FloatArray, p: FloatArray, shares: FloatArray) -> Outcomes:
        rng = np.random.default_rng(0)
        above, below = np.zeros(_DRAWS), np.zeros(_DRAWS)
        for value, count, chance, share in zip(worth, counted, p, shares, strict=True):
            picked = np.searchsorted(np.cumsum(chance)[:-1], rng.random(_DRAWS), side="right")
            above += share * value[picked]
            below += share * count[picked]
        return Outcomes.of_draws(_ratio(above, below), None)

    def moments(self) -> MetricMoments:
        return self._outcomes.moments()

    def law(self) -> Law:
        if self._outcomes.method == "exact":
            return self._outcomes.law().law
        return SampleLaw(self._outcomes.values)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    # sums of shares that cancel leave a rounding error
    defined = below > 1e-12
    return np.where(defined, above / np.where(defined, below, 1.0), math.nan)


class SampleShareOfSome(ClassAnswers):
    """The mean of a share over the items where it is not 0/0: a ratio of two sums over items."""

    data: ItemStates

    def __init__(self, declaration: Declaration, states: ItemStates, share: Share) -> None:
        self._share = share
        self._worth, self._counted = self._tables(states)
        self.data = states
        super().__init__(declaration, states, self._at(states.one_hot))

    def _tables(self, states: ItemStates) -> tuple[FloatArray, FloatArray]:
        values = _share_table(states, self._share)
        return np.nan_to_num(values), (~np.isnan(values)).astype(float)

    def _sums(self, indicators: FloatArray) -> tuple[float, float]:
        shares = self.data.shares[:, None]
        return float(np.sum(shares * indicators * self._worth)), float(np.sum(shares * indicators * self._counted))

    def _possible_values(self, p: FloatArray) -> bool:
        return self._sums(p)[1] > 1e-12

    def _at(self, indicators: FloatArray) -> float:
        return float(_ratio(*map(np.asarray, self._sums(indicators))))

    def _spread(self, p: FloatArray) -> Spread:
        return RatioSpread(self._worth, self._counted, p, self.data.shares)

    def _perfect_spread(self, p: FloatArray) -> Spread:
        cells = self.data.cells.perfect()
        states = PositiveCounts(cells)
        own = states.of(cells.matrix(cells.own_probabilities[:, 1]))
        return RatioSpread(*self._tables(states), own, self.data.shares)

    def _slopes(self, indicators: FloatArray) -> FloatArray:
        worth, counted = self._sums(indicators)
        if counted <= 1e-12:
            return np.zeros(indicators.shape)
        return np.asarray(self.data.shares[:, None] * (self._worth - worth / counted * self._counted) / counted)

    def _influences(self, indicators: FloatArray) -> FloatArray:
        return self._slopes(indicators)

    def truth(self) -> Estimate:
        return _of_use(super().truth(), self.declaration)


class SampleRanking(ItemMean):
    """The mean over items of how well the scores of an item's labels rank the positive ones.

    ROC AUC (up to `max_fpr`) given that every item has positive and negative labels; average precision for None.
    """

    def __init__(self, declaration: Declaration, cells: Cells, scores: FloatArray, max_fpr: float | None) -> None:
        self._scores, self._max_fpr = scores, max_fpr
        if cells.exact:
            states: ItemStates = AsShown(cells)
            worth = self._worth(scores, cells.matrix(cells.shown)[:, None, :].astype(float))
        else:
            states = _configurations(cells)
            worth = self._worth(scores, states.labels)
            if max_fpr is not None:
                states.given = ~np.isnan(worth)
        shown = worth[np.arange(cells.items), states.shown]
        # an item that cannot be scored is worth a coin: the estimate stays unbiased for those that can
        super().__init__(declaration, states, np.where(np.isnan(worth), 0.5, worth))
        if np.any(np.isnan(shown[cells.item_weights > 0])):
            self.observed = math.nan
            if cells.exact:
                self.expected = math.nan

    def _worth(self, scores: FloatArray, labels: FloatArray) -> FloatArray:
        """The metric of each item's scores with labels (m, L), or (n, m, L) of its own, in an array (n, m)."""
        own = labels if labels.ndim == 3 else [labels] * len(scores)
        return np.stack([self._of(Ranking(row), each) for row, each in zip(scores, own, strict=True)])

    def _of(self, ranking: Ranking, labels: FloatArray) -> FloatArray:
        ones = np.ones(labels.shape[-1])
        if self._max_fpr is None:
            return average_precision(ranking, labels, ones)
        return partial_auc(ranking, labels, ones, self._max_fpr)

    def _best(self) -> tuple[FloatArray, FloatArray]:
        cells = self.data.cells
        own = cells.matrix(cells.own_probabilities[:, 1])
        states = self.data if isinstance(self.data, Configurations) else _configurations(cells)
        return np.nan_to_num(self._worth(own, states.labels), nan=0.5), self.data.own_probabilities

    _perfect_note = ENTROPY


def _configurations(cells: Cells) -> Configurations:
    if cells.outputs > Configurations.MOST:
        raise ValueError(
            f"average='samples' of a ranking lists all ways in which the labels of an item can err, which works for up to "
            f"{Configurations.MOST} labels; there are {cells.outputs}. Use average='macro', 'weighted' or 'micro', or "
            "yerr=None."
        )
    return Configurations(cells)
