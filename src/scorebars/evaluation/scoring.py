"""Which metrics are asked for, and their scores of one model, from one pass over the data where they can share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any, TypeGuard

import numpy as np

from scorebars.evaluation.results import Evaluation
from scorebars.evaluation.study_data import StudyData
from scorebars.evaluation.task import assumed_task
from scorebars.metrics import call
from scorebars.metrics.call import scored
from scorebars.metrics.registry import Maker, entry_of
from scorebars.score import Score

DEFAULT = {
    "regression": ("root_mean_squared_error", "mean_absolute_error", "mean_error", "r2_score"),
    "classification": ("accuracy_score", "balanced_accuracy_score", "matthews_corrcoef", "cohen_kappa_score"),
}

_OF_LABELS = ("r2_score", "explained_variance_score")
"""These need sums of the labels' own scatter as well."""

Metric = str | Callable[..., Score]


def evaluate_arrays(data: StudyData, metrics: Metric | Sequence[Metric] | None, task: str | None) -> Evaluation:
    """Every metric of every model and group, from one pass over the data for each model."""
    assumed = ""
    if metrics is None:
        task, assumed = assumed_task(task, data.labels, data.yerr, list(data.models.values()))
    chosen = chosen_metrics(metrics, task or "regression")
    parts = {None: data, **({} if data.by is None else _groups(data))}
    scores: dict[tuple[str, str, str | None], Score] = {}
    for model in data.models:
        for group, part in parts.items():
            found = _scores(chosen, part.y_true, part.models[model], part.yerr, part.sample_weight)
            scores.update({(model, name, group): score for name, score in found.items()})
    return Evaluation(scores, next(iter(scores.values())).n, data.omitted, assumed)


def _groups(data: StudyData) -> dict[str | None, StudyData]:
    """The items of each group, in the order in which groups first occur."""
    values = np.asarray(data.by)
    if values.shape != (data.n,):
        raise ValueError(f"by and y_true have inconsistent numbers of samples: {values.shape} and {data.n}.")
    names = list(dict.fromkeys(values.tolist()))
    return {str(name): data.rows(np.flatnonzero(values == name)) for name in names}


def chosen_metrics(metrics: Metric | Sequence[Metric] | None, task: str) -> list[Metric]:
    """The metrics that a user asks for, each once; the common ones of the task where none are named."""
    if task not in DEFAULT:
        raise ValueError(f"task must be 'regression' or 'classification', got {task!r}.")
    if metrics is None:
        return list(DEFAULT[task])
    chosen = [_by_name(metric) for metric in ([metrics] if isinstance(metrics, str) or callable(metrics) else metrics)]
    if not chosen:
        raise ValueError("metrics is empty: name at least one, or leave it out for the common ones.")
    return [metric for k, metric in enumerate(chosen) if not any(_same(metric, other) for other in chosen[:k])]


def _by_name(metric: Metric) -> Metric:
    """A declared metric by its name, whether it came as a name or as its function, so that it can share one pass."""
    if not callable(metric):
        return entry_of(metric).declaration.name
    name = getattr(getattr(metric, "declaration", None), "name", None)
    try:
        return name if name is not None and entry_of(name).function is metric else metric
    except ValueError:  # one of the user's own
        return metric


def _same(one: Metric, other: Metric) -> bool:
    """Whether two metrics are one: the same name or function, with the same options."""
    if isinstance(one, partial) and isinstance(other, partial):
        try:
            return bool((one.func, one.args, one.keywords) == (other.func, other.args, other.keywords))
        except ValueError:  # options that are arrays: their names tell whether they can be told apart
            return False
    return one == other


def _scores(metrics: Sequence[Metric], y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> dict[str, Score]:
    """All metrics of one model; those that can share one pass over the data."""
    makers = [_maker(metric) for metric in metrics]
    shared = call.measured(y_true, y_pred, yerr, sample_weight) if any(makers) else []
    if len(shared) == 1:
        tolerances = {metric.keywords["tolerance"] for metric in metrics if _has_tolerance(metric)}
        labels = any(metric in _OF_LABELS for metric in metrics)
        if labels or len(tolerances) == 1:
            call.sum_once(shared[0], labels, tolerances.pop() if len(tolerances) == 1 else None)
    found: list[tuple[str, Score]] = []
    for metric, make in zip(metrics, makers, strict=True):
        if make is not None and len(shared) == 1:
            answers = make(shared[0])
            found.append((answers.declaration.name, scored(answers, shared[0].unit)))
            continue
        function = metric if callable(metric) else entry_of(metric).function
        score = _score_by(function, y_true, y_pred, yerr, sample_weight)
        found.append((getattr(metric, "__name__", score.name), score))
    names = _told_apart([name for name, _ in found], metrics)
    return {name: score for name, (_, score) in zip(names, found, strict=True)}


def _told_apart(names: list[str], metrics: Sequence[Metric]) -> list[str]:
    """The names of scores; those of one function with several options carry the options."""

    def full(name: str, metric: Metric) -> str:
        options = metric.keywords if isinstance(metric, partial) else {}
        return f"{name}({', '.join(f'{option}={value!r}' for option, value in options.items())})" if options else name

    told = [full(name, metric) if names.count(name) > 1 else name for name, metric in zip(names, metrics, strict=True)]
    twice = [name for name in told if told.count(name) > 1]
    if twice:
        raise ValueError(f"metrics: two functions give scores called {twice[0]!r}. Give them different names.")
    return told


def _maker(metric: Metric) -> Maker | None:
    """How the answers of a metric are made from checked data; None where its function has to see the arguments."""
    if isinstance(metric, str):
        return entry_of(metric).make
    if _has_tolerance(metric):
        make_with = entry_of(metric.func.__name__).make_with
        return None if make_with is None else make_with(**metric.keywords)
    return None


def _has_tolerance(metric: Any) -> TypeGuard[partial[Score]]:
    """Whether it is a declared metric with its tolerance bound, and nothing else."""
    return (
        isinstance(metric, partial) and hasattr(metric.func, "declaration") and list(metric.keywords) == ["tolerance"]
    )


def _score_by(function: Callable[..., Score], y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> Score:
    """The score by a function of its own; not all take weights."""
    name = getattr(function, "__name__", repr(function))
    if sample_weight is None:
        score = function(y_true, y_pred, yerr=yerr)
    elif hasattr(function, "declaration") and "sample_weight" not in signature(function).parameters:
        raise ValueError(f"{name} takes no sample_weight. Leave it out of metrics, or evaluate without weights.")
    else:
        score = function(y_true, y_pred, yerr=yerr, sample_weight=sample_weight)
    if not isinstance(score, Score):
        raise TypeError(
            f"metrics: {name} gives a {type(score).__name__}, not a Score, so it has no place in this table. Call it by itself."
        )
    return score
