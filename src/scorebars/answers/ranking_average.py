"""Answers of ranking metrics of more than two classes: averages of ROC AUC or average precision over classes or pairs."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.class_answers import ClassAnswers, Spread
from scorebars.answers.label_loss import ENTROPY
from scorebars.answers.labelled import Labelled
from scorebars.answers.ranking import RankingAnswers, require_both_classes
from scorebars.errors import Flip
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.laws.outcomes import MetricMoments, Outcomes
from scorebars.laws.samples import SampleLaw
from scorebars.score import Declaration

Average = Literal["macro", "weighted", "micro"]
_MOST_DRAWS = 2000
_LEAST_DRAWS = 200
_WORK = 30_000_000
_LISTED = 1 << 12
_SURELY_DEFINED = 1e-9


class DrawnSpread:
    """The metric given that it is defined: of all labels that are possible, where they are few, else of drawn ones.

    Draws have a fixed seed; `mean` replaces theirs where it is known exactly.
    """

    def __init__(self, answers: ClassAnswers, p: FloatArray, mean: float | None) -> None:
        possible = p > 0
        if float(np.add.reduce(np.log(np.add.reduce(possible, axis=1)))) <= math.log(_LISTED) + 1e-9:
            self._outcomes, self._mean = _listed(answers, p, possible), None
            return
        rng = np.random.default_rng(0)
        draws = int(np.clip(_WORK // p.size, _LEAST_DRAWS, _MOST_DRAWS))
        ends = np.cumsum(p, axis=1)[:, :-1]
        found = np.empty(draws)
        for d in range(draws):
            label = np.add.reduce(rng.random(len(p))[:, None] >= ends, axis=1)
            found[d] = answers._at(np.eye(p.shape[1])[label])
        self._outcomes = Outcomes.of_draws(found, None)
        self._mean = mean

    def moments(self) -> MetricMoments:
        found = self._outcomes.moments()
        return found if self._mean is None else found._replace(mean=self._mean, mean_error=0.0)

    def law(self) -> Law:
        if self._outcomes.method == "exact":
            return self._outcomes.law().law
        moments = self.moments()
        return SampleLaw(self._outcomes.values, mean=moments.mean, var=moments.var)


def _listed(answers: ClassAnswers, p: FloatArray, possible: NDArray[np.bool_]) -> Outcomes:
    """The metric of all labels that are possible."""
    labels = np.array(list(product(*(np.flatnonzero(row) for row in possible))))
    values = np.array([answers._at(np.eye(p.shape[1])[row]) for row in labels])
    return Outcomes(values, np.prod(np.take_along_axis(p, labels.T, axis=1), axis=0), None, "exact")


class AveragedRanking(ClassAnswers):
    """A ranking metric of each class against the rest, averaged: plainly, by the labels of each class, or pooled."""

    _perfect_note = ENTROPY

    def __init__(
        self,
        declaration: Declaration,
        data: Labelled,
        scores: FloatArray,
        metric: type[RankingAnswers],
        average: Average,
    ) -> None:
        self._metric, self._average, self._scores = metric, average, scores
        self._binary = _binary_parts(declaration, data, scores, metric, average)
        self._w, self._conditional = data.weights, metric._conditional
        super().__init__(declaration, data, self._value(data.one_hot))

    def _value(self, y: FloatArray) -> float:
        if self._average == "micro":
            return self._binary[0]._of_labels(y.ravel(), np.repeat(self._w, y.shape[1]))
        values = np.array([part._of_labels(y[:, k], self._w) for k, part in enumerate(self._binary)])
        if self._average == "macro":
            return float(np.mean(values))
        prevalence = self._w @ y
        return float(np.add.reduce(values * prevalence) / np.add.reduce(prevalence))

    def _at(self, indicators: FloatArray) -> float:
        return self._value(indicators)

    def _spread(self, p: FloatArray) -> Spread:
        mean = None
        if self._average == "macro":  # the mean of a sum needs no joint law, unless a class may be missing
            pairs = [np.stack([1 - p[:, k], p[:, k]], axis=1) for k in range(p.shape[1])]
            parts = [part._spread(pair).moments() for part, pair in zip(self._binary, pairs, strict=True)]
            if not self._conditional or math.fsum(1 - part.p_defined for part in parts) < _SURELY_DEFINED:
                mean = float(np.mean([part.mean for part in parts]))
        return DrawnSpread(self, p, mean)

    def _true_value(self) -> tuple[float, str]:
        for k in range(self.data.k):
            require_both_classes(self.data.against_rest(k), self._conditional)
        return super()._true_value()

    def _perfect_spread(self, p: FloatArray) -> Spread:
        own = self.data.own_probabilities
        exact = Labelled(self.data.classes, self.data.shown, None, Flip(0.0), self.data.weight)
        best = AveragedRanking(self.declaration, exact, own, self._metric, self._average)
        return best._spread(p)

    def _slopes(self, indicators: FloatArray) -> FloatArray:
        if self._average == "micro":
            return self._binary[0]._slope(indicators.ravel()).reshape(indicators.shape)
        slopes = np.stack([part._slope(indicators[:, k]) for k, part in enumerate(self._binary)], axis=1)
        if self._average == "macro":
            return np.asarray(slopes / len(self._binary))
        prevalence, total = self._w @ indicators, float(np.add.reduce(self._w))
        values = np.array([part._of_labels(indicators[:, k], self._w) for k, part in enumerate(self._binary)])
        return np.asarray((slopes * prevalence + self._w[:, None] * values) / total)

    def _influences(self, indicators: FloatArray) -> FloatArray:
        if self._average == "micro":
            pair = np.stack([1 - indicators.ravel(), indicators.ravel()], axis=1)
            absent, present = np.moveaxis(self._binary[0]._influences(pair).reshape(*indicators.shape, 2), -1, 0)
            return _as_one_class(absent, present)
        pairs = [np.stack([1 - y, y], axis=1) for y in indicators.T]
        moved = np.stack([part._influences(pair) for part, pair in zip(self._binary, pairs, strict=True)], axis=1)
        if self._average == "macro":
            return _as_one_class(moved[..., 0], moved[..., 1]) / len(self._binary)
        prevalence, total = self._w @ indicators, float(np.add.reduce(self._w))
        values = np.array([part._of_labels(indicators[:, k], self._w) for k, part in enumerate(self._binary)])
        centred = values - float(np.add.reduce(values * prevalence)) / total
        shares = _as_one_class(moved[..., 0] * prevalence, moved[..., 1] * prevalence)
        return np.asarray((shares + self._w[:, None] * centred) / total)


def _as_one_class(absent: FloatArray, present: FloatArray) -> FloatArray:
    """Sums over classes (n, K) for an item that is of class k and of no other."""
    return np.asarray(np.add.reduce(absent, axis=1)[:, None] + present - absent)


def _binary_parts(
    declaration: Declaration, data: Labelled, scores: FloatArray, metric: Any, average: Average
) -> list[RankingAnswers]:
    """The metric of each class against the rest, or of all of them in one ranking; labels taken as exact."""
    two = np.array([0, 1])
    if average == "micro":
        shown = data.one_hot.astype(np.intp).ravel()
        weight = np.repeat(data.weights, data.k)
        return [metric(declaration, Labelled(two, shown, None, Flip(0.0), weight), scores.ravel())]
    return [
        metric(
            declaration,
            Labelled(two, (data.shown == k).astype(np.intp), None, Flip(0.0), data.weight),
            np.ascontiguousarray(scores[:, k]),
        )
        for k in range(data.k)
    ]


class PairwiseAuc(ClassAnswers):
    """ROC AUC averaged over pairs of classes (Hand and Till 2001), each judged by the score of either class."""

    _perfect_note = ENTROPY
    _conditional = True

    def __init__(self, declaration: Declaration, data: Labelled, scores: FloatArray, weighted: bool) -> None:
        self._weighted = weighted
        self._groups = [np.unique(column, return_inverse=True)[1].ravel() for column in scores.T]
        super().__init__(declaration, data, self._solve(data.one_hot)[0])

    def _below(self, j: int, y: FloatArray) -> FloatArray:
        """The sum of y below each item in the score of class j, half of that at it included."""
        at = np.bincount(self._groups[j], y)
        return np.asarray((np.cumsum(at) - at / 2)[self._groups[j]])

    def _solve(self, y: FloatArray, slopes: bool = False) -> tuple[float, FloatArray | None]:
        """The value and its derivative with respect to each indicator."""
        n, k = y.shape
        counts = np.add.reduce(y, axis=0)
        present = [j for j in range(k) if counts[j] > 0]  # as in scikit-learn, also in each draw
        if len(present) < 2:
            return math.nan, None
        counts = np.where(counts > 0, counts, 1.0)
        below = np.empty((k, n, k))  # [j, i, m]: share of class m below item i in the score of class j
        for j in range(k):
            for other in range(k):
                below[j, :, other] = self._below(j, y[:, other]) / counts[other]
        auc = np.einsum("ij,jil->jl", y, below) / counts[:, None]  # P(score j of a j is above that of an m)
        auc -= 0.5 * (y.T @ y) / np.outer(counts, counts)  # an item does not tie with itself
        pairs = [(j, m) for j in present for m in present if j != m]
        total = float(np.add.reduce(counts[present]))
        weight = {(j, m): counts[j] + counts[m] if self._weighted else 1.0 for j, m in pairs}
        norm = math.fsum(weight.values())
        value = math.fsum(weight[pair] * auc[pair] for pair in pairs) / norm
        if not slopes:
            return value, None
        out = np.zeros((n, k))
        for j, m in pairs:
            share = weight[j, m] / norm
            above, both = 1 - below[j, :, j], 0.5 / (counts[j] * counts[m])
            out[:, j] += share * ((below[j, :, m] - auc[j, m]) / counts[j] - both * y[:, m])
            out[:, m] += share * ((above - auc[j, m]) / counts[m] - both * y[:, j])
            if self._weighted:
                out[:, [j, m]] += (auc[j, m] - value) / (2 * (len(present) - 1) * total)
        return value, out

    def _at(self, indicators: FloatArray) -> float:
        return self._solve(indicators)[0]

    def _true_value(self) -> tuple[float, str]:
        for k in range(self.data.k):
            require_both_classes(self.data.against_rest(k), negatives_too=False)
        return super()._true_value()

    def _slopes(self, indicators: FloatArray) -> FloatArray:
        found = self._solve(indicators, slopes=True)[1]
        return np.zeros(indicators.shape) if found is None else found

    def _influences(self, indicators: FloatArray) -> FloatArray:
        return self._slopes(indicators)

    def _spread(self, p: FloatArray) -> Spread:
        return DrawnSpread(self, p, None)

    def _perfect_spread(self, p: FloatArray) -> Spread:
        own = self.data.own_probabilities
        exact = Labelled(self.data.classes, self.data.shown, None, Flip(0.0), None)
        return PairwiseAuc(self.declaration, exact, own, self._weighted)._spread(p)
