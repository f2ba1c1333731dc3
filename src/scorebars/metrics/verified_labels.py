"""Metrics on labels of which some were checked (`Verified`): from what a user passes to losses by labels and by gold labels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scorebars import checks
from scorebars.answers.base import Answers
from scorebars.answers.classes.class_answers import ClassAnswers
from scorebars.answers.classes.column_average import PairwiseAuc, RankingAverage
from scorebars.answers.classes.label_loss import LabelLossAnswers
from scorebars.answers.classes.ranking_answers import RankingAnswers
from scorebars.answers.combined import LinearAnswers, TransformedAnswers
from scorebars.answers.means.mean_loss import MeanLoss
from scorebars.answers.means.squared import RootAnswers
from scorebars.answers.score import Score, Scores, UndefinedEstimate
from scorebars.answers.verified_answers import GoldLosses, GoldSubset, Rectified, VerifiedAnswers
from scorebars.arrays import FloatArray, classes_in, to_host
from scorebars.errors import Transition, Verified

NO_MEAN = (
    "{name} is not a mean over items, so checked items and others cannot be put together. Ask for a mean of losses (such as "
    "mean_squared_error or mean_absolute_error), or score the checked items alone, with their gold labels."
)

NO_WEIGHTS = "the one-vs-one AUC takes no weights, and gold labels count by weights: ask for multi_class='ovr'."
_ROUNDING = 1e-9
_NEXT_TO_NOTHING = 1e-13
"""The weight of items that do not count: too small to change an estimate, large enough to show what they would do."""


def _subset(model: Verified, n: int, shares: FloatArray) -> GoldSubset:
    model.require_size(n)
    counted = shares > 0
    checked, by_design = model.known & counted, model.probability is not None
    chances = model.chances() if by_design else np.full(n, np.count_nonzero(checked) / np.count_nonzero(counted))
    return GoldSubset(checked, chances, shares, by_design)


# means of losses -----------------------------------------------------------------------------------


def verified_numbers(score: Callable[[Any, Any], Any], y_true: Any, model: Verified, sample_weight: Any) -> Score:
    """The score of measured numbers; `score` finds it from labels and their errors."""
    y = np.asarray(checks.column(y_true, "y_true"), dtype=np.float64)
    model.require_size(len(y))
    plain, gold = score(y, None), score(model.gold_numbers(y), None)
    weight = checks.weights(sample_weight, len(y))
    shares = np.full(len(y), 1.0 / len(y)) if weight is None else weight / weight.sum()
    if not (isinstance(plain, Score) and isinstance(gold, Score)):
        raise ValueError("yerr is Verified, which takes one output at a time: y_true has several columns.")
    subset = _subset(model, len(y), shares)
    if why := subset.too_few:
        return Score(VerifiedAnswers(plain._answers, subset, why))
    return Score(VerifiedAnswers(plain._answers, subset, *_of_means(plain._answers, gold._answers, subset)))


def _of_means(plain: Answers, gold: Answers, subset: GoldSubset) -> tuple[Rectified | str, list[TransformedAnswers]]:
    """A mean of losses corrected by gold labels, and the root that the metric may be of it."""
    roots = [_root(answers) for answers in (plain, gold)]
    inner = [answers if root is None else root[0].inner for answers, root in zip((plain, gold), roots, strict=True)]
    below = inner[0].inner if isinstance(inner[0], LinearAnswers) else inner[0]
    if not isinstance(below, MeanLoss):
        return NO_MEAN.format(name=plain.declaration.name), []
    f, h = (
        _losses(answers, subset.shares) * (1.0 if root is None else root[1] ** 2)
        for answers, root in zip(inner, roots, strict=True)
    )
    return _mean_of(f, h[subset.checked], subset), [] if roots[0] is None else [roots[0][0]]


def _mean_of(f: FloatArray, h: FloatArray, subset: GoldSubset) -> MeanOfLosses:
    """Losses that are all 0 or 1 are exactly that, and an item can have either. Gold ones alike but for rounding are alike."""
    close = _ROUNDING * float(np.max(np.abs(f)))
    if float(np.max(h)) < float(np.min(h)) + close:
        h = np.full(len(h), h[0] if abs(h[0]) > close else 0.0)
    if any(np.any(np.minimum(np.abs(x), np.abs(x - 1.0)) > _ROUNDING) for x in (f, h)):
        return MeanOfLosses(subset, f, h)
    return MeanOfLosses(subset, np.round(f), np.round(h), np.array([0.0, 1.0]))


def _root(answers: Answers) -> tuple[RootAnswers, float] | None:
    """The root of a mean that a metric is, and its unit; None where it is none."""
    if isinstance(answers, LinearAnswers) and isinstance(answers.inner, RootAnswers):
        return answers.inner, answers._value_of(1.0)
    return (answers, 1.0) if isinstance(answers, RootAnswers) else None


@dataclass(frozen=True, eq=False)
class MeanOfLosses:
    """A mean of losses corrected by gold labels."""

    subset: GoldSubset
    f: FloatArray
    h: FloatArray
    either: FloatArray | None = None
    """The two losses that an item can have, for a share of items; None where losses are numbers."""

    def __call__(self, beta: float) -> GoldLosses:
        return GoldLosses(self.subset.estimate(self.f, self.h, beta), self.f, self.h, either=self.either)


def _losses(answers: Answers, shares: FloatArray) -> FloatArray:
    """The loss of each item; of one that does not count 0."""
    moved = answers.influences()
    return np.asarray(np.where(shares > 0, moved / np.where(shares > 0, shares, 1.0) + answers.observed, 0.0))


# classes ---------------------------------------------------------------------------------------------


def exact_classes(y_true: Any, model: Verified, sample_weight: Any) -> tuple[Transition, Any, GoldSubset]:
    """An error model that takes labels as exact and knows the classes of gold labels, those labels, and which they are."""
    y = np.asarray(to_host(y_true))
    if y.ndim != 1:
        raise ValueError(f"yerr is Verified, which takes one label an item: y_true has shape {y.shape}.")
    model.require_size(len(y))
    gold = model.gold_classes()
    labels = np.asarray(y.tolist())
    if not len(gold):  # a group of items of which none was checked
        gold = labels[:0]
    if (gold.dtype.kind == "U") != (labels.dtype.kind == "U"):
        raise ValueError("gold and y_true mix texts and numbers: use one type for all classes.")
    classes = classes_in(labels, gold) if len(gold) else classes_in(labels)
    weight = checks.weights(sample_weight, len(y))
    own = np.ones(len(y)) if weight is None else weight
    subset = _subset(model, len(y), own / own.sum())
    return Transition(np.eye(len(classes)), classes), gold[subset.checked[model.known]], subset


def verified_classes(
    score: Callable[[Any, Any], Any], y_true: Any, model: Verified, sample_weight: Any
) -> Score | Scores:
    """The score of classes; `score` finds it from an error model and weights."""
    exact, gold, subset = exact_classes(y_true, model, sample_weight)

    def one(found: Score, pick: Callable[[Any], Score]) -> Score:
        if why := subset.too_few:
            return Score(VerifiedAnswers(found._answers, subset, why))
        corrected, steps = _of_classes(found._answers, gold, subset, lambda w: pick(score(exact, w))._answers)
        return Score(VerifiedAnswers(found._answers, subset, corrected, steps))

    found = score(exact, sample_weight)
    if isinstance(found, Scores):
        return Scores(one(part, lambda all_of_them, k=k: all_of_them[k]) for k, part in enumerate(found))  # type: ignore[misc]
    return one(found, lambda same: same)


def _of_classes(
    plain: Answers, gold: Any, subset: GoldSubset, weighted: Callable[[FloatArray], Answers]
) -> tuple[Rectified | str, list[TransformedAnswers]]:
    """A metric of label indicators corrected by gold labels, and the functions that lead from it to this one."""
    if isinstance(plain, TransformedAnswers):
        found, steps = _of_classes(plain.inner, gold, subset, lambda w: weighted(w).inner)  # type: ignore[attr-defined]
        return found, [*steps, plain]
    if not isinstance(plain, ClassAnswers) or len(plain.data.one_hot) != len(subset.checked):
        return NO_MEAN.format(name=plain.declaration.name), []
    if isinstance(plain, PairwiseAuc):
        return NO_WEIGHTS, []
    kind: type[CorrectedIndicators] = CurvedInIndicators
    if isinstance(plain, LabelLossAnswers):
        kind = CorrectedIndicators
    elif isinstance(plain, RankingAnswers | RankingAverage):
        kind = CorrectedRanking
    return kind(plain, subset, _indicators(gold, plain), weighted), []


@dataclass(frozen=True, eq=False)
class CorrectedIndicators:
    """A metric of label indicators, in which gold labels take part in the place of some labels.

    Its losses are what each item moves it by as one of its class, to first order: exactly the losses for a mean of them.
    """

    plain: ClassAnswers
    subset: GoldSubset
    gold: FloatArray
    """Indicators of the gold labels (n_g, K)."""
    weighted: Callable[[FloatArray], Answers]

    def value(self, beta: float) -> tuple[float, ClassAnswers, FloatArray]:
        """The metric, its answers, and the rows of indicators that it is taken at."""
        shown = self.plain.data.one_hot
        weight, rows = self.subset.rectified(shown, self.gold, beta)
        answers = self.weighted(np.where(self.subset.shares > 0, np.maximum(weight, _NEXT_TO_NOTHING), 0.0))
        assert isinstance(answers, ClassAnswers)
        value = answers._at(rows)
        if not np.isfinite(value):
            name = self.plain.declaration.name
            raise UndefinedEstimate(f"{name} is not defined at the labels as the gold ones correct them.")
        return value, answers, rows

    def __call__(self, beta: float) -> GoldLosses:
        value, answers, rows = self.value(beta)
        shown, moved = self.plain.data.one_hot, _per_item(answers, rows)
        f, h = np.add.reduce(shown * moved, axis=1), np.add.reduce(self.gold * moved[self.subset.checked], axis=1)
        return GoldLosses(value, f, h, moved)


class CurvedInIndicators(CorrectedIndicators):
    """The same for a metric that is no mean of losses: where few items were checked, each of them may bend it."""

    def left_out(self, beta: float) -> FloatArray:
        """The metric without each of the checked items; nan where it is not defined then."""
        found = np.full(len(self.gold), np.nan)
        for k in range(len(self.gold)):
            rest = CorrectedIndicators(
                self.plain, self.subset.without(k), np.delete(self.gold, k, axis=0), self.weighted
            )
            with suppress(UndefinedEstimate):
                found[k] = rest.value(beta)[0]
        return found


class CorrectedRanking(CurvedInIndicators):
    """A ranking: what a wrong label moves it by depends on where its item stands."""

    def __call__(self, beta: float) -> GoldLosses:
        shown = self.plain.data.one_hot[self.subset.checked]
        return replace(super().__call__(beta), mistaken=np.any(self.gold != shown, axis=1))


def _per_item(answers: ClassAnswers, rows: FloatArray) -> FloatArray:
    """What an item moves the metric by as one of each class, (n, K), in the unit of a loss: over its share."""
    shares = answers.data.shares[:, None]
    return np.asarray(np.where(shares > 0, answers._influences(rows) / np.where(shares > 0, shares, 1.0), 0.0))


def _indicators(gold: Any, plain: ClassAnswers) -> FloatArray:
    """The gold labels as indicators (n_g, K) of the classes of the data, which may be one against the rest."""
    return np.asarray(np.eye(plain.data.k)[plain.data.places(gold)])
