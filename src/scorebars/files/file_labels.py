"""From the columns of a file to what a study works on: labels, their errors, predictions and what else belongs to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from scorebars._shared.escaping import printable
from scorebars.cells import read_cells
from scorebars.errors import Censored, LabelProbabilities, Normal, Repeats, Verified, Votes
from scorebars.evaluation.scoring import DEFAULT, common_scores
from scorebars.evaluation.study_data import are_probabilities, assumed_task
from scorebars.files.columns import Roles
from scorebars.files.formats import Column, TableSource
from scorebars.files.gold_columns import of_positive_class, verified
from scorebars.files.problem import TableProblem, first_names
from scorebars.files.table_rows import TableRows, as_texts, require_one_unit
from scorebars.forecasts import Forecast

PROBABILITY_METRICS = ("log_loss", "brier_score_loss", "roc_auc_score", "average_precision_score")
"""The metrics that judge predicted probabilities."""


@dataclass(frozen=True)
class TableLabels:
    """The labels of a file, and all that belongs to them. `omitted` rows had a missing value and were left out on request."""

    source: str
    """What messages call the file."""
    roles: Roles
    """What each of its columns was taken for."""
    y: Column
    predictions: dict[str, Column]
    yerr: Any
    weight: Column | None
    by: Column | None
    groups: Column | None
    ids: Column | None
    task: str
    unit: str | None
    omitted: int
    remarks: tuple[str, ...] = ()
    """What was understood while reading that the roles do not say."""
    forecasts: dict[str, Forecast] = field(default_factory=dict)
    """The forecasts of models whose predictions come with a spread or with members; `predictions` has their means."""

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def models(self) -> dict[str, Any]:
        """The forecast of each model, or its predictions where it has none."""
        return {model: self.forecasts.get(model, values) for model, values in self.predictions.items()}

    @property
    def report_options(self) -> dict[str, Any]:
        """What a report has to know of these labels besides their models."""
        return {"yerr": self.yerr, "sample_weight": self.weight, "ids": self.ids, "unit": self.unit, "task": self.task}

    @property
    def metrics(self) -> list[str] | None:
        """The metrics that suit the predictions where the common ones of the task do not, or not alone."""
        if self.probable:
            return list(PROBABILITY_METRICS)
        if not self.forecasts or len(self.forecasts) < len(self.predictions):
            return None
        scores = [name for name in common_scores(list(self.forecasts.values())) if name not in DEFAULT["regression"]]
        return [*DEFAULT["regression"], *scores]

    @property
    def limits_said(self) -> str:
        """Which labels are limits, in words: "37 of 400 labels are upper limits"; empty where none is."""
        return self.yerr.said() if isinstance(self.yerr, Censored) else ""

    def with_models(self, names: Sequence[str]) -> TableLabels:
        """The same labels with some of the models."""
        predictions = {name: self.predictions[name] for name in names}
        return replace(self, predictions=predictions, forecasts={n: f for n, f in self.forecasts.items() if n in names})

    @property
    def probable(self) -> bool:
        """Whether the predictions are probabilities of a class."""
        return self.task == "classification" and any(p.dtype.kind == "f" for p in self.predictions.values())


def understood(source: TableSource, roles: Roles) -> str:
    """One line that says what file was read how, and which column was taken for what."""
    remarks = source.remarks()
    about = f" ({', '.join(remarks)})" if remarks else ""
    return f"{source.name}{about}: {roles.described(source.units(roles.used))}"


def load_labels(
    source: TableSource, roles: Roles, task: str | None, nan_policy: str, exclude: Sequence[str]
) -> TableLabels:
    """Read and check the columns; rows whose COLUMN=VALUE is in `exclude` are left out."""
    table, given = TableRows.of(source, roles), roles
    task = "regression" if task == "forecast" else task
    said: list[str] = table.remarks
    if task is None:
        table.refuse_near_numbers()
        task, assumed = task_of(table.columns, table.roles)
        said += [assumed] if assumed else []
    table = table if task == "regression" else table.without_forecasts()
    table.require_numbers(table.roles.numbers(task))
    require_one_unit(table, task)
    table = table.with_limits() if task == "regression" else table
    table = table.without(exclude) if exclude else table
    table = table.with_one_row_for_each_item()
    table, omitted = table.complete(nan_policy)
    y, yerr = labels_and_errors(table, task)
    table = table.one_row_for_each_label()
    columns, roles = table.columns, table.roles
    weight = None if roles.weight is None else columns[roles.weight]
    if weight is not None:
        table.refuse(weight < 0, roles.weight, "is negative", "A weight says how much a label counts.", weight)
    predictions = {printable(table.models[c]): columns[c] for c in roles.predictions}
    forecasts = table.forecasts()
    predictions |= {model: np.asarray(forecast) for model, forecast in forecasts.items() if model not in predictions}
    if 0 < len(forecasts) < len(predictions):
        plain = next(model for model in predictions if model not in forecasts)
        said.append(f"scores of forecasts need a spread for every model, and {plain} has none: name models with --pred")
    if len(predictions) < len(roles.predictions) + len(roles.members):
        raise TableProblem("two models have names that look the same. Rename their columns.")
    if task == "classification":
        y, predictions = _classes(y), {model: _classes(values) for model, values in predictions.items()}
    named = (roles.by, roles.groups, roles.id)
    by, groups, ids = (None if name is None else as_texts(columns[name]) for name in named)
    unit = table.units.get(roles.label_columns[0]) if roles.label_columns else None
    found = y, predictions, yerr, weight, by, groups, ids, task, unit, omitted, tuple(said), forecasts
    return TableLabels(source.name, given, *found)


# labels and errors ----------------------------------------------------------------------------------


def labels_and_errors(table: TableRows, task: str) -> tuple[Column, Any]:
    """The labels, and their errors as `yerr` takes them: a number, (n,), (2, n), or a model that holds both."""
    roles, columns = table.roles, table.columns
    if roles.repeats:
        model: Any = Repeats(np.stack([columns[name] for name in roles.repeats], axis=1))
        return model.labels(), model
    if roles.repeated_rows:
        groups = as_texts(columns[str(roles.id)])
        model = Repeats(columns[str(roles.y)], groups)
        return model.labels(), model
    if roles.votes:
        counts, classes = _votes(table)
        model = Votes(counts, classes)
        return model.labels(), model
    if roles.probabilities:
        shares = np.stack([columns[name] for name in roles.probabilities], axis=1)
        model = LabelProbabilities(shares, _class_names(roles.probabilities))
        return model.labels(), model
    y = columns[str(roles.y)]
    if roles.cov is not None:
        if task == "classification":
            raise TableProblem("--cov is the covariance of measured numbers; the labels of this file are classes.")
        matrix = read_matrix(roles.cov)
        if len(matrix) != table.total:
            raise TableProblem(
                f"--cov: {roles.cov} is a matrix of {len(matrix)} labels, but the file has {table.total} rows."
            )
        return y, Normal(cov=matrix[np.ix_(table.rows, table.rows)])
    if roles.gold is not None:
        return y, verified(table, task)
    errors = _errors(table, task)
    return (y, errors) if table.side is None or not table.side.any() else _limited(table, y, errors)


def _limited(table: TableRows, y: Column, errors: Any) -> tuple[Column, Any]:
    """Labels of which some are limits, and the model that holds them."""
    assert table.side is not None
    if isinstance(errors, np.ndarray) and errors.ndim == 2:
        table.remarks.append("of lower and upper errors the mean was taken, since some labels are limits")
        errors = errors.mean(axis=0)
    low, high = np.where(table.side < 0, -np.inf, y), np.where(table.side > 0, np.inf, y)
    model = Censored(low, high, errors)
    table.remarks.append(model.said())
    return model.labels(), model


def _votes(table: TableRows) -> tuple[Any, Any]:
    given = [table.columns[name] for name in table.roles.votes]
    if all(values.dtype.kind in "iuf" for values in given) and any(
        float(v.max()) > 1 or len(given) == 2 for v in given
    ):
        return np.stack(given, axis=1), _class_names(table.roles.votes)
    ratings = np.stack([as_texts(values) for values in given], axis=1)
    classes = np.unique(ratings)
    counts = np.stack([(ratings == one).sum(axis=1) for one in classes], axis=1)
    return counts, _as_whole(classes)


def _errors(table: TableRows, task: str) -> Any:
    roles, columns, y = table.roles, table.columns, table.columns[str(table.roles.y)]
    if roles.in_cells:
        return _errors_in_cells(table)
    percent = roles.percent or any(table.units.get(name) == "%" for name in roles.error_columns)
    percent = percent and table.units.get(str(roles.y)) != "%"
    if percent and task == "classification":
        raise TableProblem("errors in percent are those of measured numbers; the labels of this file are classes.")
    factor: Any = np.abs(y) / 100.0 if percent else 1.0
    if roles.yerr is None or isinstance(roles.yerr, float | int):
        return roles.yerr * factor if percent and roles.yerr is not None else roles.yerr
    given = [columns[name] for name in roles.error_columns]
    if task == "classification":
        if len(given) > 1:
            raise TableProblem("class labels have one probability of being wrong, not a lower and an upper error.")
        advice = "For classes the error is the probability that a label is wrong."
        bad = (given[0] < 0) | (given[0] > 1)
        table.refuse(bad, roles.error_columns[0], "is not between 0 and 1", advice, given[0])
        return given[0]
    if len(given) > 1 and not roles.added:
        return _both_sides(table, y, *given) * factor
    for name, part in zip(roles.error_columns, given, strict=True):
        table.refuse(part < 0, name, "is negative", "An error is a standard deviation: at least 0.", part)
    return (np.sqrt(np.sum(np.square(given), axis=0)) if roles.added else given[0]) * factor


def _both_sides(table: TableRows, y: Column, low: Column, high: Column) -> Any:
    """Lower and upper errors; lower ones may be written as negative numbers, as archives do."""
    roles, (first, second) = table.roles, table.roles.error_columns
    if roles.limits:
        advice = "--limits are a lower and an upper bound."
        table.refuse(low > y, first, "is above the label", advice, low)
        table.refuse(high < y, second, "is below the label", advice, high)
        return np.stack([y - low, high - y])
    if not roles.sure and bool(np.all((low <= y) & (y <= high))):
        pair = f"{first},{second}"
        raise TableProblem(
            f"are {first!r} and {second!r} errors or limits? The label lies between them in every row, so "
            f"they look like limits of a 68 % interval: say --limits {pair} for that, --yerr {pair} if they are lower "
            "and upper errors."
        )
    if bool(np.all(low <= 0)) and bool(np.any(low < 0)):
        table.remarks.append(f"the lower errors {first} are written as negative numbers and taken without their sign")
        low = -low
    elif bool(np.all(high <= 0)) and bool(np.any(high < 0)):
        raise TableProblem(f"the upper errors {second!r} are negative: say --yerr LOWER,UPPER in this order.")
    elif first.rstrip().endswith("2") and second.rstrip().endswith("1"):
        raise TableProblem(f"which of {second!r} and {first!r} are lower errors? Say --yerr LOWER,UPPER.")
    for name, side in zip((first, second), (low, high), strict=True):
        advice = "Lower and upper errors are both given as at least 0, or all lower ones as negative numbers."
        table.refuse(side < 0, name, "is negative", advice, side)
    return np.stack([low, high])


def _errors_in_cells(table: TableRows) -> Any:
    name = str(table.roles.y)
    found = table.cells.get(name)
    if found is None or found.lower is None or found.upper is None:
        raise TableProblem(f"--yerr cells: the cells of {name!r} hold no errors such as 1.23 ± 0.05 or 1.23(5).")
    advice = "Write it as in the other cells, 1.23 ± 0.05, or give the errors in a column."
    limits = found.limits if table.side is None else table.side != 0
    table.refuse(np.isnan(found.upper) & ~limits, name, "has no error in its cell", advice)
    if limits.any():  # limits have the median error of the numbers
        sides = (np.where(limits, np.nanmedian(side), side) for side in (found.lower, found.upper))
        return np.mean(list(sides), axis=0)
    return found.upper if bool(np.all(found.lower == found.upper)) else np.stack([found.lower, found.upper])


def task_of(columns: Mapping[str, Column], roles: Roles) -> tuple[str, str]:
    """Classes if errors are probabilities of a wrong label; else what the columns look like, and what was assumed."""
    if roles.flips or roles.votes or roles.probabilities:
        return "classification", ""
    several = isinstance(roles.yerr, tuple) or roles.percent or roles.repeats or roles.repeated_rows
    if several or roles.in_cells or roles.cov:
        return "regression", ""  # only measured numbers have errors of this kind
    yerr = columns.get(roles.yerr) if isinstance(roles.yerr, str) else roles.yerr
    if roles.stds or roles.members:
        return "regression", ""  # classes have no spread
    predictions = [_zeros_and_ones(columns[name]) for name in roles.predictions if name in columns]
    labels = _zeros_and_ones(columns[str(roles.y)])
    task, said = assumed_task(None, labels, yerr, predictions)
    if (
        task == "regression"
        and are_probabilities(labels, predictions)
        and (yerr is None or np.all(np.asarray(yerr) <= 1))
    ):
        return "classification", (
            "labels are 0 and 1 and predictions lie between, so they were taken as classes and probabilities of class 1. "
            "For measured numbers say --task regression"
        )
    return task, "" if not said else (
        "labels and predictions are whole numbers of few values: taken as classes. Say --task regression if not"
    )


def _zeros_and_ones(values: Column) -> Column:
    """A column of 0.0 and 1.0 as whole numbers."""
    both = values.dtype.kind == "f" and len(values) > 0 and bool(np.all((values == 0) | (values == 1)))
    return values.astype(np.int64) if both else values


def _classes(values: Column) -> Column:
    """Class labels: texts, or whole numbers as integers; other numbers are probabilities and stay."""
    if values.dtype.kind == "O":
        return as_texts(values)
    if values.dtype.kind == "f" and bool(np.all(values == np.floor(values))):
        return values.astype(np.int64)
    return values


def _class_names(columns: Sequence[str]) -> Any:
    """The classes of columns such as ``votes_spiral`` and ``votes_merger``: what their names do not share."""
    last = min(map(len, columns)) - 1
    shared = columns[0][: next((k for k in range(last) if len({column[k] for column in columns}) > 1), last)]
    if "_" in shared and shared[-1] not in "_ .-":  # of votes_a1 and votes_a2 the classes share a letter
        shared = shared[: shared.rindex("_") + 1]
    return _as_whole(np.array([column.removeprefix(shared) for column in columns]))


def _as_whole(names: Any) -> Any:
    return names.astype(np.int64) if all(str(name).isdigit() for name in names) else names


def binary(data: TableLabels, positive: str) -> TableLabels:
    """Two classes as 1 (the positive one) and 0; predicted probabilities stay, being those of the positive class."""
    columns = [data.y, *data.predictions.values()]
    classes = sorted({str(value) for values in columns if values.dtype.kind != "f" for value in values})
    if data.task != "classification" or len(classes) != 2 or positive not in classes:
        raise TableProblem(
            f"--positive {positive!r} must be one of two classes; the labels and predictions hold {first_names(classes, 10)}."
        )

    def mapped(values: Column) -> Column:
        return values if values.dtype.kind == "f" else (values.astype(str) == positive).astype(np.int64)

    predictions = {model: mapped(values) for model, values in data.predictions.items()}
    errors = of_positive_class(data.yerr, positive) if isinstance(data.yerr, Verified) else data.yerr
    return replace(data, y=mapped(data.y), predictions=predictions, yerr=errors)


def read_matrix(path: str) -> Any:
    """A square matrix from a text file of numbers, or from .npy."""
    if not Path(path).exists():
        raise TableProblem(f"--cov: there is no file {path!r}.")
    try:
        if Path(path).suffix.lower() == ".npy":
            return np.atleast_2d(np.load(path))
        text = Path(path).read_text(encoding="utf-8-sig")
        lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        rows = [line.replace(",", " ").replace(";", " ").split() for line in lines]
        if rows and read_cells(rows[0], ".").bad.any():
            rows = rows[1:]  # names of the labels
        matrix = np.array(rows, dtype=np.float64)
    except (ValueError, UnicodeDecodeError) as why:
        raise TableProblem(f"--cov: {path} is not a matrix of numbers: {why}.") from why
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise TableProblem(f"--cov: {path} must hold a square matrix, but its shape is {matrix.shape}.")
    return matrix
