"""Which metrics an accumulator can sum up, what it has to keep for each, and how their scores follow from that."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np

from scorebars import checks
from scorebars.answers.classes.accuracy_answers import AccuracyAnswers
from scorebars.answers.evidence import Evidence
from scorebars.answers.linear import LinearAnswers
from scorebars.answers.means.chi_squared_answers import ChiSquaredAnswers, ChiSquaredScore
from scorebars.answers.means.mean_loss import AbsoluteAnswers, MeanLoss
from scorebars.answers.means.signed import SignedAnswers
from scorebars.answers.means.squared import RootAnswers, SquaredAnswers
from scorebars.answers.means.within_answers import WithinAnswers
from scorebars.answers.together.all_labels_metric import AllLabelsAnswers, AllLabelsMetric
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.store import Store
from scorebars.evaluation.scoring import DEFAULT
from scorebars.losses import AbsoluteError, Loss, SignedError, SquaredError, Within
from scorebars.metrics.call import scored
from scorebars.metrics.class_inputs import Counted
from scorebars.metrics.explained import EXPLAINED_VARIANCE, R2
from scorebars.metrics.registry import entry_of
from scorebars.score import Score

Options = Mapping[str, Any]
ScoreMaker = Callable[[Any, str, Options], Score]
"""The score from one model's store, the kind of the label errors, and the options of the metric."""


class Summable(NamedTuple):
    """What a metric needs of a store, how its score is made from it, and which options it may have."""

    task: str
    need: str | None
    score: ScoreMaker
    options: tuple[str, ...] = ()


class MetricWithOptions(partial):  # type: ignore[type-arg]
    """A metric with options, equal to another of the same function and options."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MetricWithOptions) and (self.func, self.keywords) == (other.func, other.keywords)

    def __hash__(self) -> int:
        return hash(self.func)

    def __str__(self) -> str:
        return f"{name_of(self)}({', '.join(f'{name}={value!r}' for name, value in self.keywords.items())})"


def _in_label_units(answers: Any, store: Store) -> Score:
    """The score in the unit of the labels, where the store holds labels divided by 2^unit."""
    degree = answers.declaration.degree
    if not store.unit or not degree:
        return scored(answers)
    try:
        return scored(LinearAnswers(answers.declaration, answers, math.ldexp(1.0, store.unit * degree)))
    except OverflowError:
        raise OverflowError(
            f"{answers.declaration.name} of these labels is above the largest double: choose another unit for them."
        ) from None


def _root(store: Store, kind: str, options: Options) -> Score:
    squared = SquaredAnswers(entry_of("mean_squared_error").declaration, SquaredError(), Evidence(store, kind))
    root = RootAnswers(entry_of("root_mean_squared_error").declaration, squared)
    return _in_label_units(root, store)


def _accuracy(counts: ClassCounts, kind: str, options: Options) -> Score:
    return scored(AccuracyAnswers.counted(entry_of("accuracy_score").declaration, counts, kind))


def _zero_one(counts: ClassCounts, kind: str, options: Options) -> Score:
    accuracy = AccuracyAnswers.counted(entry_of("accuracy_score").declaration, counts, kind)
    return scored(LinearAnswers(entry_of("zero_one_loss").declaration, accuracy, -1.0, 1.0))


def _chi_squared(store: Store, kind: str, options: Options) -> Score:
    assert store.pulls is not None
    kept = Evidence(store.pulls, kind)
    return ChiSquaredScore(ChiSquaredAnswers(entry_of("reduced_chi_squared").declaration, SquaredError(), kept))


def _within(store: Store, kind: str, options: Options) -> Score:
    assert store.hits is not None
    loss = Within(store.hits.sums.tolerance)
    return scored(WithinAnswers(entry_of("fraction_within").declaration, loss, Evidence(store, kind)))


def _of_all_labels(metric: AllLabelsMetric) -> Summable:
    def score(store: Store, kind: str, options: Options) -> Score:
        return scored(AllLabelsAnswers(metric, Evidence(store, kind)))

    return Summable("regression", "ratio", score)


def _mean(name: str, need: str | None, family: type[MeanLoss], loss: Loss) -> Summable:
    """The mean of a loss, whose answers follow from a store."""

    def score(store: Store, kind: str, options: Options) -> Score:
        return _in_label_units(family(entry_of(name).declaration, loss, Evidence(store, kind)), store)

    return Summable("regression", need, score)


def _of_pairs(name: str, *options: str) -> Summable:
    """A metric of the confusion matrix: its own function takes labels that were counted."""

    def score(counts: ClassCounts, kind: str, options: Options) -> Score:
        found: Score = entry_of(name).function(Counted(counts, kind), None, **options)
        return found

    return Summable("classification", "pairs", score, options)


_SHARE = ("labels", "pos_label", "average", "zero_division")
_SHARES = ("precision_score", "recall_score", "specificity_score", "f1_score", "jaccard_score")
_SUMMABLE: dict[str, Summable] = {
    "mean_squared_error": _mean("mean_squared_error", "squares", SquaredAnswers, SquaredError()),
    "root_mean_squared_error": Summable("regression", "squares", _root),
    "mean_absolute_error": _mean("mean_absolute_error", "absolute", AbsoluteAnswers, AbsoluteError()),
    "mean_error": _mean("mean_error", None, SignedAnswers, SignedError()),
    "r2_score": _of_all_labels(R2),
    "explained_variance_score": _of_all_labels(EXPLAINED_VARIANCE),
    "reduced_chi_squared": Summable("regression", "pulls", _chi_squared),
    "fraction_within": Summable("regression", "within", _within, ("tolerance",)),
    "accuracy_score": Summable("classification", None, _accuracy),
    "zero_one_loss": Summable("classification", None, _zero_one),
    "balanced_accuracy_score": _of_pairs("balanced_accuracy_score", "adjusted"),
    "matthews_corrcoef": _of_pairs("matthews_corrcoef"),
    "cohen_kappa_score": _of_pairs("cohen_kappa_score", "labels", "weights", "replace_undefined_by"),
    **{name: _of_pairs(name, *_SHARE) for name in _SHARES},
    "fbeta_score": _of_pairs("fbeta_score", "beta", *_SHARE),
}


def names_by_task() -> dict[str, tuple[str, ...]]:
    """The metrics that an accumulator can sum up."""
    return {task: tuple(name for name, metric in _SUMMABLE.items() if metric.task == task) for task in DEFAULT}


def name_of(metric: str | MetricWithOptions) -> str:
    """The name of a metric."""
    return metric if isinstance(metric, str) else str(metric.func.__name__)


def options_of(metric: str | MetricWithOptions) -> Options:
    """The options of a metric."""
    return metric.keywords if isinstance(metric, MetricWithOptions) else {}


def summable(metric: str | MetricWithOptions) -> Summable:
    """What an accumulator has to know about a metric that it takes."""
    return _SUMMABLE[name_of(metric)]


def chosen(metrics: Any, task: str | None) -> tuple[str, tuple[str | MetricWithOptions, ...]]:
    """The task and the metrics that a user asks for."""
    if task is not None and task not in DEFAULT:
        raise ValueError(f"task must be 'regression' or 'classification', got {task!r}.")
    if metrics is None:
        return task or "regression", DEFAULT[task or "regression"]
    named = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    if not named:
        raise ValueError("metrics is empty: name at least one, or leave it out for the common ones.")
    found = tuple(dict.fromkeys(_known(metric) for metric in named))
    names = [name_of(metric) for metric in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"{twice[0]} is asked for with several options, but a result has one score of each name: use one accumulator for "
            "each."
        )
    tasks = {_SUMMABLE[name].task for name in names}
    if len(tasks) > 1 or (task is not None and task not in tasks):
        raise ValueError(f"one accumulator serves regression or classification, not both: {', '.join(names)}.")
    return tasks.pop(), found


def _known(metric: Any) -> str | MetricWithOptions:
    """A metric by its name, and its options where it has some; refused where an accumulator does not take them."""
    function, given = (metric.func, metric.keywords) if isinstance(metric, partial) else (metric, {})
    name = function if isinstance(function, str) else getattr(function, "__name__", "")
    try:
        entry = entry_of(name)
    except ValueError:
        if isinstance(function, str):
            raise
        entry = None
    if entry is None or not (isinstance(function, str) or entry.function is function):
        raise ValueError(
            f"{metric!r} is no metric of scorebars: an accumulator sums up known ones only. Use scorebars.evaluate on "
            "arrays for your own."
        )
    if name not in _SUMMABLE:
        raise ValueError(
            f"{name} needs all labels at once, so an accumulator cannot sum it up: use scorebars.evaluate on arrays. An "
            f"accumulator takes: {', '.join(names_by_task()[entry.declaration.task])}."
        )
    if isinstance(metric, partial) and metric.args:
        raise ValueError(f"{name}: pass options by name, functools.partial(scorebars.{name}, option=value).")
    options = {option: _plain(name, option, value) for option, value in given.items()}
    _require_options(name, options, signature(entry.function).parameters)
    return MetricWithOptions(entry.function, **options) if options else name


def _require_options(name: str, options: Options, parameters: Mapping[str, Parameter]) -> None:
    allowed = _SUMMABLE[name].options
    for option in options:
        if option not in allowed:
            raise ValueError(
                f"an accumulator cannot take {name} with {option}. The options are: {', '.join(allowed) or 'none'}."
            )
    for option in allowed:
        if parameters[option].default is Parameter.empty and option not in options:
            raise ValueError(f"{name} needs {option}: pass functools.partial(scorebars.{name}, {option}=...).")
    if "tolerance" in options:
        checks.at_least_zero(options["tolerance"], "tolerance")
    if "average" in options and options["average"] is None:
        raise ValueError(f"{name} with average=None is a score for each class, but a result has one of each name.")


def _plain(name: str, option: str, value: Any) -> Any:
    """An option as it can be kept in JSON: numbers, texts and lists of them."""
    found = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    found = list(found) if isinstance(found, tuple) else found
    try:
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: an accumulator takes options that are finite numbers, texts or lists of them, and {option} is "
            f"{value!r}. Use scorebars.evaluate on arrays."
        ) from None
    return found
