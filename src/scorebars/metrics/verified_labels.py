"""Metrics on labels of which some were checked (`Verified`): from what a user passes to losses by labels and by gold labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scorebars import checks
from scorebars.answers.base import Answers
from scorebars.answers.classes.class_answers import ClassAnswers
from scorebars.answers.combined import LinearAnswers, TransformedAnswers
from scorebars.answers.means.mean_loss import MeanLoss
from scorebars.answers.means.squared import RootAnswers
from scorebars.answers.score import Estimate, Score, Scores, UndefinedEstimate
from scorebars.answers.verified_answers import GoldSubset, VerifiedAnswers, verified_estimate
from scorebars.arrays import FloatArray, classes_in, to_host
from scorebars.errors import Transition, Verified
from scorebars.errors.class_error import positions

_NO_MEAN = (
    "{name} is not a mean over items, so checked items and others cannot be put together. Ask for a mean of losses (such as "
    "mean_squared_error or mean_absolute_error), or score the checked items alone, with their gold labels."
)


_NEXT_TO_NOTHING = 1e-13
"""The weight of items that do not count: too small to change an estimate, large enough to show what they would do."""


def _subset(model: Verified, n: int, shares: FloatArray) -> GoldSubset:
    model.require_size(n)
    return GoldSubset(model.known, model.chances(), shares, model.probability is not None)


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
    found: Estimate | str
    try:
        found = _of_means(plain._answers, gold._answers, subset)
    except UndefinedEstimate as why:
        found = str(why)
    return Score(VerifiedAnswers(plain._answers, found))


def _of_means(plain: Answers, gold: Answers, subset: GoldSubset) -> Estimate:
    """The estimate of a mean of losses, or of its root."""
    if isinstance(plain, RootAnswers) and isinstance(gold, RootAnswers):
        return plain._carried(_of_means(plain.inner, gold.inner, subset))
    inner = plain.inner if isinstance(plain, LinearAnswers) else plain
    if not isinstance(inner, MeanLoss):
        raise UndefinedEstimate(_NO_MEAN.format(name=plain.declaration.name))
    f, h = (_losses(answers, subset.shares) for answers in (plain, gold))
    h = h[subset.checked]
    beta = subset.slope(f, h)
    value = subset.estimate(f, h, beta)
    return verified_estimate(value, subset, f, h, beta, plain._range, "ppi++")


def _losses(answers: Answers, shares: FloatArray) -> FloatArray:
    """The loss of each item; of one that does not count 0."""
    moved = answers.influences()
    return np.asarray(np.where(shares > 0, moved / np.where(shares > 0, shares, 1.0) + answers.observed, 0.0))


# classes ---------------------------------------------------------------------------------------------


def verified_classes(
    score: Callable[[Any, Any], Any], y_true: Any, model: Verified, sample_weight: Any
) -> Score | Scores:
    """The score of classes; `score` finds it from an error model and weights."""
    y = np.asarray(to_host(y_true))
    if y.ndim != 1:
        raise ValueError(f"yerr is Verified, which takes one label an item: y_true has shape {y.shape}.")
    model.require_size(len(y))
    gold = model.gold_classes()
    if (gold.dtype.kind == "U") != (np.asarray(y.tolist()).dtype.kind == "U"):
        raise ValueError("gold and y_true mix texts and numbers: use one type for all classes.")
    classes = classes_in(np.asarray(y.tolist()), gold)
    exact = Transition(np.eye(len(classes)), classes)
    weight = checks.weights(sample_weight, len(y))
    own = np.ones(len(y)) if weight is None else weight
    subset = _subset(model, len(y), own / own.sum())

    def one(found: Score, pick: Callable[[Any], Score]) -> Score:
        estimate: Estimate | str
        try:
            estimate = _of_classes(found._answers, gold, subset, lambda w: pick(score(exact, own * w))._answers)
        except UndefinedEstimate as why:
            estimate = str(why)
        return Score(VerifiedAnswers(found._answers, estimate))

    found = score(exact, sample_weight)
    if isinstance(found, Scores):
        return Scores(one(part, lambda all_of_them, k=k: all_of_them[k]) for k, part in enumerate(found))  # type: ignore[misc]
    return one(found, lambda same: same)


def _of_classes(plain: Answers, gold: Any, subset: GoldSubset, weighted: Callable[[FloatArray], Answers]) -> Estimate:
    """The estimate of a metric of label indicators, in which gold labels take part in the place of some labels.

    Its losses are what each item moves it by as one of its class, to first order: exactly the losses for a mean of them.
    """
    if isinstance(plain, TransformedAnswers):
        return plain._carried(_of_classes(plain.inner, gold, subset, lambda w: weighted(w).inner))  # type: ignore[attr-defined]
    if not isinstance(plain, ClassAnswers):
        raise UndefinedEstimate(_NO_MEAN.format(name=plain.declaration.name))
    data = plain.data
    shown = data.one_hot
    if len(shown) != len(subset.checked):
        raise UndefinedEstimate(_NO_MEAN.format(name=plain.declaration.name))
    at = _indicators(gold, plain)
    answers, beta, rows = plain, 1.0, subset.rectified(shown, at, 1.0)[1]
    for _ in range(2):  # how much labels count depends on what they do, and that on where the metric is looked at
        moved = _per_item(answers, rows)
        f, h = np.add.reduce(shown * moved, axis=1), np.add.reduce(at * moved[subset.checked], axis=1)
        beta = subset.slope(f, h)
        weight, rows = subset.rectified(shown, at, beta)
        again = weighted(np.maximum(weight, _NEXT_TO_NOTHING))
        assert isinstance(again, ClassAnswers)
        answers = again
    value = answers._at(rows)
    if not np.isfinite(value):
        raise UndefinedEstimate(f"{plain.declaration.name} is not defined at the labels as the gold ones correct them.")
    # a wrong label may yet be seen: any class but the shown one
    apart = np.square(moved - f[:, None])[subset.checked]
    unseen = float(subset.gold @ np.add.reduce(apart, axis=1)) / (shown.shape[1] - 1)
    return verified_estimate(value, subset, f, h, beta, plain._range, "ppi++", unseen)


def _per_item(answers: ClassAnswers, rows: FloatArray) -> FloatArray:
    """What an item moves the metric by as one of each class, (n, K), in the unit of a loss: over its share."""
    return np.asarray(answers._influences(rows) / answers.data.shares[:, None])


def _indicators(gold: Any, plain: ClassAnswers) -> FloatArray:
    """The gold labels as indicators (n_g, K) of the classes of the data, which may be one against the rest."""
    data = plain.data
    whole = getattr(data, "_parent", data)
    at = np.eye(whole.k)[positions(gold, whole.classes)]
    return at if whole is data else data._pair(at)  # type: ignore[attr-defined]
