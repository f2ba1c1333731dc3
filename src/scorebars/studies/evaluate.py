"""Several metrics of one or many models, from one read of the data."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars._render import tables, text
from scorebars.score import Score
from scorebars.studies.gather import Gathered, errors_of, gather, labels_of, rows
from scorebars.studies.scoring import Metric, chosen_metrics, scores_of
from scorebars.studies.task import assumed_task

SCHEMA = "scorebars/evaluation/1"


@dataclass(frozen=True)
class Evaluation:
    """The scores of an evaluation: one for each model, metric and group.

    ``evaluation["model", "metric"]`` is a Score (``["model", "metric", group]`` with groups). Printing gives a table;
    notebooks show it as HTML; `to_frame`, `to_dict`, `to_json`, `to_latex`, `to_markdown` and `to_html` carry it on.
    """

    scores: dict[tuple[str, str, str | None], Score]
    n: int
    omitted: int = 0
    """Rows that were left out because they miss a value (``nan_policy="omit"``)."""
    assumed: str = ""
    """What was assumed about the labels, and how to change it; empty where nothing had to be."""

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
        """Plain data: schema name, numbers of labels and of rows left out, and one record for each score."""
        return {"schema": SCHEMA, "n": self.n, "omitted": self.omitted, "scores": self.rows()}

    def to_json(self, **options: Any) -> str:
        """`to_dict` as JSON; infinities are written as the strings "inf" and "-inf"."""
        return json.dumps(tables.json_safe(self.to_dict()), allow_nan=False, **options)

    def to_metrics(self) -> dict[str, float]:
        """All finite numbers as ``"model/metric/answer"`` (``"model/metric/group/answer"``): what experiment trackers take."""
        found: dict[str, float] = {}
        for (model, metric, group), score in self.scores.items():
            found |= text.for_trackers(score, model, metric, *([] if group is None else [group]))
        return found

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
        return tables.plain(self) + (f"\nNote: {self.assumed}." if self.assumed else "")

    def __rich__(self) -> Any:
        return tables.rich_table(self)


def evaluate(
    y_true: Any,
    y_pred: Any = None,
    *,
    y: Hashable | None = None,
    pred: Any = None,
    yerr: Any = None,
    sample_weight: Any = None,
    by: Any = None,
    metrics: Metric | Sequence[Metric] | None = None,
    task: str | None = None,
    nan_policy: str = "raise",
    progress: bool = False,
) -> Evaluation:
    """How good are these models, given how well the labels are known?

    Takes arrays, ``evaluate(y_true, y_pred, yerr=sigma)``, or a table and the names of its columns,
    ``evaluate(table, y="mass", pred=["a", "b"], yerr="mass_err")``.

    Parameters
    ----------
    y_true : (n,), table, or None
        Labels (None where the error model holds them), or a table of pandas, polars, Arrow or astropy, or a mapping from
        name to column, with the columns that the other arguments name.
    y_pred : (n,), (n, models), mapping or DataFrame
        Predictions of one model, or of several: columns, or a mapping from name to predictions.
    y, pred : names
        In a table: the column of labels, and the column or list of columns of predictions, one for each model, or a
        mapping from model to column.
    yerr : number, (n,), (2, n) or error model, optional
        Label errors, as in every metric; in a table also the name of a column, or those of lower and upper errors.
    sample_weight : (n,), optional
        How much each label counts; in a table also the name of a column.
    by : (n,), optional
        Groups: every score is also given for each group; in a table also the name of a column.
    metrics : name, function, or list of them, optional
        By default the common ones of the task. Options go with the function, ``functools.partial(sb.fraction_within,
        tolerance=0.1)``; scores of one function with several options have names such as ``fraction_within(tolerance=0.1)``.
    task : {"regression", "classification"}, optional
        Guessed from labels, predictions and errors where no metrics are named: texts, booleans, models of class errors, and
        whole numbers of few values that the predictions share mean classes. The result says so where numbers were taken
        as classes.
    nan_policy : {"raise", "omit"}
        Refuse missing values (by their row labels), or leave such rows out for all models and say how many.
    progress : bool
        Show how far the pass over a dataset on disk is.

    Data that need not fit in memory are summed up batch by batch (see `Accumulator` for the metrics that can be): a
    ``pyarrow.dataset.Dataset``, a ``RecordBatchReader`` or the path of a Parquet, CSV or Feather file or folder, with the
    names of its columns, and arrays and DataFrames of dask, on whatever scheduler is active. There `yerr` is a column (of
    dask arrays: another one), or one number or error model for all labels.

    Arguments from pandas must have the same row labels in the same order; they are never realigned.

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
    if streamed(y_true):
        return _evaluate_streamed(
            y_true, y_pred, by, nan_policy, progress, y=y, pred=pred, yerr=yerr, sample_weight=sample_weight,
            metrics=metrics, task=task,
        )  # fmt: skip
    data = gather(y_true, y_pred, y=y, pred=pred, yerr=yerr, sample_weight=sample_weight, by=by, nan_policy=nan_policy)
    assumed = ""
    if metrics is None:
        task, assumed = assumed_task(task, labels_of(data), data.yerr, list(data.models.values()))
    chosen = chosen_metrics(metrics, task or "regression")
    n = len(next(iter(data.models.values())))
    whole: NDArray[np.intp] | None = None
    parts = {None: whole} if data.by is None else {None: whole, **groups_of(data.by, n)}
    scores: dict[tuple[str, str, str | None], Score] = {}
    for model, prediction in data.models.items():
        for group, index in parts.items():
            found = scores_of(chosen, *_subset(index, data, prediction, n))
            scores.update({(model, name, group): score for name, score in found.items()})
    return Evaluation(scores, next(iter(scores.values())).n, data.omitted, assumed)


def streamed(data: Any) -> bool:
    """Whether labels come in pieces: from dask, or from files by way of pyarrow."""
    library = type(data).__module__.partition(".")[0]
    return (
        (library in ("dask", "dask_expr") and hasattr(data, "to_delayed"))
        or (library == "pyarrow" and (hasattr(data, "get_fragments") or hasattr(data, "read_next_batch")))
        or isinstance(data, str | os.PathLike)
    )


def _evaluate_streamed(
    data: Any, y_pred: Any, by: Any, nan_policy: str, progress: bool, *, y: Any, pred: Any, **options: Any
) -> Evaluation:
    if by is not None or nan_policy != "raise":
        raise ValueError(
            "by and nan_policy='omit' need all labels at once. Filter the data first, or read them into a table."
        )
    home: Any  # found by name: these modules are built on this one
    if hasattr(data, "to_delayed"):
        home = import_module("scorebars.studies.dask_tree")
        return home.evaluate_dask(data, y_pred, y=y, pred=pred, **options)
    if y is None or pred is None or y_pred is not None:
        raise ValueError("name the columns of a dataset: evaluate(dataset, y=..., pred=..., yerr=...).")
    home = import_module("scorebars.studies.stream")
    return home.evaluate_dataset(data, y=y, pred=pred, progress=progress, **options)


def groups_of(by: Any, n: int) -> dict[str | None, NDArray[np.intp]]:
    """The items of each group, in the order in which groups first occur."""
    values = np.asarray(by)
    if values.shape != (n,):
        raise ValueError(f"by and y_true have inconsistent numbers of samples: {values.shape} and {n}.")
    names = list(dict.fromkeys(values.tolist()))
    return {str(name): np.flatnonzero(values == name) for name in names}


def _subset(index: NDArray[np.intp] | None, data: Gathered, prediction: Any, n: int) -> tuple[Any, Any, Any, Any]:
    """Labels, predictions, errors and weights of one group of items."""
    if index is None:
        return data.y_true, prediction, data.yerr, data.sample_weight
    y, p, weight = (rows(value, index) for value in (data.y_true, prediction, data.sample_weight))
    return y, p, errors_of(data.yerr, index, n), weight
