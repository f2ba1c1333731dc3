"""Several metrics of one or many models, from one read of the data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars._render import tables
from scorebars.errors import ErrorModel, MeasurementError
from scorebars.metrics import inputs
from scorebars.metrics.additive import scored
from scorebars.metrics.registry import declarations, entry_of
from scorebars.score import Score

SCHEMA = "scorebars/evaluation/1"

_DEFAULT = {
    "regression": ("root_mean_squared_error", "mean_absolute_error", "mean_error", "r2_score"),
    "classification": ("accuracy_score", "balanced_accuracy_score", "matthews_corrcoef", "cohen_kappa_score"),
}

Metric = str | Callable[..., Score]


@dataclass(frozen=True)
class Evaluation:
    """The scores of an evaluation: one for each model, metric and group.

    ``evaluation["model", "metric"]`` is a Score (``["model", "metric", group]`` with groups). Printing gives a table;
    notebooks show it as HTML; `to_frame`, `to_dict`, `to_json`, `to_latex`, `to_markdown` and `to_html` carry it on.
    """

    scores: dict[tuple[str, str, str | None], Score]
    n: int

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        return list(dict.fromkeys(model for model, _, _ in self.scores))

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return list(dict.fromkeys(metric for _, metric, _ in self.scores))

    @property
    def groups(self) -> list[str | None]:
        """Names of the groups; ``[None]`` without groups."""
        return list(dict.fromkeys(group for _, _, group in self.scores))

    def __getitem__(self, key: str | tuple[str, ...]) -> Score:
        """The score of (model, metric), or (model, metric, group); a bare metric name if there is one model."""
        parts = (key,) if isinstance(key, str) else tuple(key)
        if len(parts) == 1 and len(self.models) == 1:
            parts = (self.models[0], *parts)
        full = (*parts, None) if len(parts) == 2 else parts
        if full not in self.scores:
            raise KeyError(
                f"{key!r} is not in this evaluation. Models: {', '.join(self.models)}; metrics: {', '.join(self.metrics)}"
                + (f"; groups: {', '.join(map(str, self.groups))}." if self.groups != [None] else ".")
            )
        return self.scores[full]

    def __iter__(self) -> Iterator[tuple[tuple[str, str, str | None], Score]]:
        return iter(self.scores.items())

    def __len__(self) -> int:
        return len(self.scores)

    def rows(self) -> list[dict[str, Any]]:
        """One flat record for each score, as `Score.to_dict` gives it, with model and group."""
        return [
            {"model": model, **({} if group is None else {"group": group}), "metric": metric, **score.to_dict()}
            for (model, metric, group), score in self.scores.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data: schema name, number of labels, and one record for each score."""
        return {"schema": SCHEMA, "n": self.n, "scores": self.rows()}

    def to_json(self, **options: Any) -> str:
        """`to_dict` as JSON; infinities are written as the strings "inf" and "-inf"."""
        return json.dumps(tables.json_safe(self.to_dict()), allow_nan=False, **options)

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row for each score."""
        try:
            import pandas as pd
        except ImportError as why:
            raise ImportError("to_frame needs pandas: pip install 'scorebars[pandas]'") from why
        return pd.DataFrame(self.rows())

    def to_markdown(self) -> str:
        """A Markdown table."""
        return tables.markdown(self)

    def to_latex(self) -> str:
        r"""A LaTeX table with siunitx uncertainties, ``\num{0.594 +- 0.007}``."""
        return tables.latex(self)

    def to_html(self) -> str:
        """An HTML table."""
        return tables.html(self)

    _repr_html_ = to_html

    def __str__(self) -> str:
        return tables.plain(self)

    def __rich__(self) -> Any:
        return tables.rich_table(self)


def evaluate(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    metrics: Metric | Sequence[Metric] | None = None,
    by: Any = None,
    sample_weight: Any = None,
    task: str | None = None,
) -> Evaluation:
    """How good are these models, given how well the labels are known?

    Parameters
    ----------
    y_true : (n,), or None
        Labels; None where the error model holds them.
    y_pred : (n,), (n, models), mapping or DataFrame
        Predictions of one model, or of several: columns, or a mapping from name to predictions.
    yerr : number, (n,), (2, n) or error model, optional
        Label errors, as in every metric.
    metrics : name, function, or list of them, optional
        By default the common ones of the task.
    by : (n,), optional
        Groups: every score is also given for each group.
    sample_weight : (n,), optional
        How much each label counts.
    task : {"regression", "classification"}, optional
        Guessed from the labels and their errors: texts, booleans and flip models mean classes.

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> models = {name: masses.predictions[name] for name in ("FRDM2012", "DZ28")}
    >>> print(sb.evaluate(masses.y, models, yerr=masses.yerr, metrics=["root_mean_squared_error", "mean_error"]))
    model     metric                   observed   expected ± std    truth             perfect          noise share
    FRDM2012  root_mean_squared_error  0.5811     0.5936 ± 0.0069   0.5683 ± 0.0052   0.120 ± 0.016    0.0436
    FRDM2012  mean_error               -0.004258  -0.0043 ± 0.0026  -0.0043 ± 0.0026  0.0000 ± 0.0026  0.615
    DZ28      root_mean_squared_error  0.36       0.3798 ± 0.0090   0.3390 ± 0.0060   0.120 ± 0.016    0.114
    DZ28      mean_error               -0.00933   -0.0093 ± 0.0026  -0.0093 ± 0.0026  0.0000 ± 0.0026  0.28
    """
    labels = yerr.labels() if y_true is None and hasattr(yerr, "labels") else y_true
    models = named_predictions(y_pred, 0 if labels is None else len(labels))
    chosen = _chosen(metrics, task or guess_task(labels, yerr))
    whole: NDArray[np.intp] | None = None
    parts = {None: whole} if by is None else {None: whole, **groups_of(by, len(next(iter(models.values()))))}
    scores: dict[tuple[str, str, str | None], Score] = {}
    for model, prediction in models.items():
        for group, index in parts.items():
            found = _scores(chosen, *_subset(index, y_true, prediction, yerr, sample_weight))
            scores.update({(model, name, group): score for name, score in found.items()})
    return Evaluation(scores, next(iter(scores.values())).n)


def named_predictions(y_pred: Any, n: int) -> dict[str, Any]:
    """Predictions by model name, from a mapping, a DataFrame, columns of an array, or a single array."""
    if isinstance(y_pred, Mapping):
        models = {str(name): values for name, values in y_pred.items()}
    elif hasattr(y_pred, "columns") and hasattr(y_pred, "__getitem__"):
        models = {str(name): y_pred[name] for name in y_pred.columns}
    else:
        array = np.asarray(y_pred)
        if array.ndim == 2 and array.shape[1] > 1:
            models = {f"model {k + 1}": array[:, k] for k in range(array.shape[1])}
        else:
            models = {"model": y_pred}
    if not models:
        raise ValueError("y_pred holds no predictions. Give one array, or a mapping from model name to predictions.")
    return models


def guess_task(labels: Any, yerr: Any) -> str:
    """Classes if the error model says so, or the labels are texts or booleans; else measured numbers."""
    if isinstance(yerr, ErrorModel):
        return "regression" if isinstance(yerr, MeasurementError) else "classification"
    kind = np.asarray(labels).dtype.kind
    return "classification" if kind in "bUSO" else "regression"


def _chosen(metrics: Metric | Sequence[Metric] | None, task: str) -> list[Metric]:
    if task not in _DEFAULT:
        raise ValueError(f"task must be 'regression' or 'classification', got {task!r}.")
    if metrics is None:
        return [name for name in _DEFAULT[task] if name in declarations()]
    chosen = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    if not chosen:
        raise ValueError("metrics is empty: name at least one, or leave it out for the common ones.")
    for metric in chosen:
        if not callable(metric):
            entry_of(metric)
    return chosen


def groups_of(by: Any, n: int) -> dict[str | None, NDArray[np.intp]]:
    """The items of each group, in the order in which groups first occur."""
    values = np.asarray(by)
    if values.shape != (n,):
        raise ValueError(f"by and y_true have inconsistent numbers of samples: {values.shape} and {n}.")
    names = list(dict.fromkeys(values.tolist()))
    return {str(name): np.flatnonzero(values == name) for name in names}


def _subset(index: NDArray[np.intp] | None, *arguments: Any) -> list[Any]:
    """The arguments of one group of items."""
    if index is None:
        return list(arguments)
    out = []
    for value in arguments:
        if value is None or (np.ndim(value) == 0 and not isinstance(value, ErrorModel)):
            out.append(value)
        elif isinstance(value, ErrorModel):
            out.append(value[index] if value.size is not None else value)
        else:
            array = np.asarray(value)
            out.append(array[..., index] if array.ndim == 2 and array.shape[0] == 2 else array[index])
    return out


def _scores(metrics: Sequence[Metric], y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> dict[str, Score]:
    """All metrics of one model; those that can share one pass over the data."""
    shared = None
    found: dict[str, Score] = {}
    for metric in metrics:
        entry = None if callable(metric) else entry_of(metric)
        if entry is not None and entry.make is not None:
            if shared is None:
                shared = inputs.measured(y_true, y_pred, yerr, sample_weight)
            if len(shared) == 1:
                found[entry.declaration.name] = scored(entry.make(shared[0]), shared[0].unit)
                continue
        function = metric if callable(metric) else entry_of(metric).function
        score = function(y_true, y_pred, yerr=yerr, sample_weight=sample_weight)
        found[score.name if isinstance(metric, str) or not hasattr(metric, "__name__") else metric.__name__] = score
    return found
