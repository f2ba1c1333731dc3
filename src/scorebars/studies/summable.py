"""Which metrics an accumulator can sum up, what it has to keep for each, and how their scores follow from that."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np

from scorebars.answers.chi_squared import ChiSquaredScore
from scorebars.answers.linear import LinearAnswers
from scorebars.answers.root import RootAnswers
from scorebars.answers.summed import SummedAbsolute, SummedSigned, SummedSquared
from scorebars.answers.summed_accuracy import SummedAccuracy
from scorebars.answers.summed_chi_squared import SummedChiSquared
from scorebars.answers.summed_ratio import SummedExplainedVariance, SummedR2
from scorebars.answers.summed_within import SummedWithin
from scorebars.metrics.additive import scored
from scorebars.metrics.labels import Counted
from scorebars.metrics.parameters import at_least_zero
from scorebars.metrics.registry import entry_of
from scorebars.score import Score
from scorebars.studies.scoring import DEFAULT

Options = Mapping[str, Any]
Maker = Callable[[Any, str, Options, int], Score]
"""The score from one model's summary, the kind of the label errors, the options of the metric, and the power of two by
which labels were divided before they were summed up."""


class Summable(NamedTuple):
    """What a metric needs of a summary, how its score is made from it, and which options it may have."""

    need: str | None
    score: Maker
    options: tuple[str, ...] = ()


class Asked(partial):  # type: ignore[type-arg]
    """A metric with options, equal to another of the same function and options."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Asked) and (self.func, self.keywords) == (other.func, other.keywords)

    def __hash__(self) -> int:
        return hash(self.func)

    def __str__(self) -> str:
        return f"{name_of(self)}({', '.join(f'{name}={value!r}' for name, value in self.keywords.items())})"


def _undivided(answers: Any, unit: int) -> Any:
    """The answers in the unit of the labels, where they are in 2^unit of it."""
    degree = answers.declaration.degree
    if not unit or not degree:
        return answers
    try:
        return LinearAnswers(answers.declaration, answers, math.ldexp(1.0, unit * degree))
    except OverflowError:
        raise OverflowError(
            f"{answers.declaration.name} of these labels is above the largest double: choose another unit for them."
        ) from None


def _root(summary: Any, kind: str, options: Options, unit: int) -> Score:
    squared = SummedSquared(entry_of("mean_squared_error").declaration, summary, kind)
    root = RootAnswers(entry_of("root_mean_squared_error").declaration, squared)  # type: ignore[arg-type]
    return scored(_undivided(root, unit))


def _zero_one(summary: Any, kind: str, options: Options, unit: int) -> Score:
    accuracy = SummedAccuracy(entry_of("accuracy_score").declaration, summary, kind)
    return scored(LinearAnswers(entry_of("zero_one_loss").declaration, accuracy, -1.0, 1.0))


def _chi_squared(summary: Any, kind: str, options: Options, unit: int) -> Score:
    answers = SummedChiSquared(entry_of("reduced_chi_squared").declaration, summary.pulls, kind)
    return ChiSquaredScore(answers)


def _plainly(name: str, answers: Any) -> Maker:
    def score(summary: Any, kind: str, options: Options, unit: int) -> Score:
        return scored(_undivided(answers(entry_of(name).declaration, summary, kind), unit))

    return score


def _of_pairs(name: str, *options: str) -> Summable:
    """A metric of the confusion matrix: its own function takes labels that were counted."""

    def score(counts: Any, kind: str, options: Options, unit: int) -> Score:
        found: Score = entry_of(name).function(Counted(counts, kind), None, **options)
        return found

    return Summable("pairs", score, options)


_SHARE = ("labels", "pos_label", "average", "zero_division")
TAKEN: dict[str, dict[str, Summable]] = {
    "regression": {
        "mean_squared_error": Summable("squares", _plainly("mean_squared_error", SummedSquared)),
        "root_mean_squared_error": Summable("squares", _root),
        "mean_absolute_error": Summable("absolute", _plainly("mean_absolute_error", SummedAbsolute)),
        "mean_error": Summable(None, _plainly("mean_error", SummedSigned)),
        "r2_score": Summable("ratio", _plainly("r2_score", SummedR2)),
        "explained_variance_score": Summable("ratio", _plainly("explained_variance_score", SummedExplainedVariance)),
        "reduced_chi_squared": Summable("pulls", _chi_squared),
        "fraction_within": Summable("within", _plainly("fraction_within", SummedWithin), ("tolerance",)),
    },
    "classification": {
        "accuracy_score": Summable(None, _plainly("accuracy_score", SummedAccuracy)),
        "zero_one_loss": Summable(None, _zero_one),
        "balanced_accuracy_score": _of_pairs("balanced_accuracy_score", "adjusted"),
        "matthews_corrcoef": _of_pairs("matthews_corrcoef"),
        "cohen_kappa_score": _of_pairs("cohen_kappa_score", "labels", "weights", "replace_undefined_by"),
        **{
            name: _of_pairs(name, *_SHARE)
            for name in ("precision_score", "recall_score", "specificity_score", "f1_score", "jaccard_score")
        },
        "fbeta_score": _of_pairs("fbeta_score", "beta", *_SHARE),
    },
}


def name_of(metric: str | Asked) -> str:
    """The name of a metric."""
    return metric if isinstance(metric, str) else str(metric.func.__name__)


def options_of(metric: str | Asked) -> Options:
    """The options of a metric."""
    return metric.keywords if isinstance(metric, Asked) else {}


def summable(metric: str | Asked) -> Summable:
    """What an accumulator has to know about a metric that it takes."""
    name = name_of(metric)
    return TAKEN[entry_of(name).declaration.task][name]


def chosen(metrics: Any, task: str | None) -> tuple[str, tuple[str | Asked, ...]]:
    """The task and the metrics that a user asks for."""
    if task is not None and task not in TAKEN:
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
    tasks = {entry_of(name).declaration.task for name in names}
    if len(tasks) > 1 or (task is not None and task not in tasks):
        raise ValueError(f"one accumulator serves regression or classification, not both: {', '.join(names)}.")
    return tasks.pop(), found


def _known(metric: Any) -> str | Asked:
    """A metric by its name, and its options where it has some; refused where an accumulator does not take them."""
    function, given = (metric.func, metric.keywords) if isinstance(metric, partial) else (metric, {})
    name = function if isinstance(function, str) else getattr(function, "__name__", "")
    try:
        known = isinstance(function, str) or entry_of(name).function is function
    except ValueError:
        known = False
    if not known:
        raise ValueError(
            f"{metric!r} is no metric of scorebars: an accumulator sums up known ones only. Use scorebars.evaluate on "
            "arrays for your own."
        )
    entry = entry_of(name)
    taken = TAKEN[entry.declaration.task]
    if name not in taken:
        raise ValueError(
            f"{name} needs all labels at once, so an accumulator cannot sum it up: use scorebars.evaluate on arrays. An "
            f"accumulator takes: {', '.join(taken)}."
        )
    if isinstance(metric, partial) and metric.args:
        raise ValueError(f"{name}: pass options by name, functools.partial(scorebars.{name}, option=value).")
    options = {option: _plain(name, option, value) for option, value in given.items()}
    _require_options(name, options, signature(entry.function).parameters)
    return Asked(entry.function, **options) if options else name


def _require_options(name: str, options: Options, parameters: Mapping[str, Parameter]) -> None:
    allowed = TAKEN[entry_of(name).declaration.task][name].options
    for option in options:
        if option not in allowed:
            raise ValueError(
                f"an accumulator cannot take {name} with {option}. The options are: {', '.join(allowed) or 'none'}."
            )
    for option in allowed:
        if parameters[option].default is Parameter.empty and option not in options:
            raise ValueError(f"{name} needs {option}: pass functools.partial(scorebars.{name}, {option}=...).")
    if "tolerance" in options:
        at_least_zero(options["tolerance"], "tolerance")
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
