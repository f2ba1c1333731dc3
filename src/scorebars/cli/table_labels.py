"""The columns as arrays that belong together, checked, with every complaint naming its column, row and line."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb
from scorebars.cli.column_roles import Roles
from scorebars.cli.console import Failure, printable
from scorebars.cli.source import Column, TableSource, reads_as_number

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class TableLabels:
    """What a command works on. `omitted` rows had a missing value and were left out on request."""

    y: Column
    predictions: dict[str, Column]
    yerr: Any
    weight: Column | None
    by: Column | None
    ids: Column | None
    task: str
    unit: str | None
    omitted: int

    @property
    def n(self) -> int:
        return len(self.y)


def no_rows(source: TableSource) -> Failure:
    return Failure(f"{source.name} has column names but no rows.")


def no_complete_rows(source: TableSource, roles: Roles) -> Failure:
    return Failure(f"every row of {source.name} misses a value in one of the columns {', '.join(roles.used)}.")


def load_labels(source: TableSource, roles: Roles, task: str | None = None, nan_policy: str = "raise") -> TableLabels:
    """Read and check the columns."""
    columns = source.read(roles.used)
    task = task or task_of(columns, roles)
    _require_one_unit(source, roles, task)
    here = _Rows(source, np.arange(len(columns[roles.y])))
    for name in roles.numbers(task):
        columns[name] = _as_numbers(columns[name], name, here)
    columns, here, omitted = _complete(columns, roles, here, nan_policy)
    if len(here.rows) == 0:
        raise no_complete_rows(source, roles)
    yerr = _errors(columns, roles, task, here)
    weight = None if roles.weight is None else columns[roles.weight]
    if weight is not None:
        here.refuse(weight < 0, roles.weight, "is negative", "A weight says how much a label counts.", weight)
    y, names = columns[roles.y], roles.models()
    predictions = {printable(names[c]): columns[c] for c in roles.predictions}
    if len(predictions) < len(roles.predictions):
        raise Failure("two models have names that look the same. Rename their columns.")
    if task == "classification":
        y, predictions = _classes(y), {model: _classes(values) for model, values in predictions.items()}
    by, ids = (None if name is None else _texts(columns[name]) for name in (roles.by, roles.id))
    return TableLabels(y, predictions, yerr, weight, by, ids, task, source.units([roles.y]).get(roles.y), omitted)


def task_of(columns: Mapping[str, Column], roles: Roles) -> str:
    """Classes if the errors are probabilities of a wrong label; else what labels, errors and predictions look like."""
    if roles.flips:
        return "classification"
    if isinstance(roles.yerr, tuple):
        return "regression"  # lower and upper errors, or limits, are those of measured numbers
    yerr = columns.get(roles.yerr) if isinstance(roles.yerr, str) else roles.yerr
    return sb.guess_task(columns[roles.y], yerr, [columns[name] for name in roles.predictions if name in columns])


@dataclass(frozen=True)
class _Rows:
    """Rows that are left, by their place in the source."""

    source: TableSource
    rows: NDArray[np.intp]

    def refuse(self, bad: Mask, column: str | None, what: str, advice: str, values: Column | None = None) -> None:
        """Complain about the first bad row of a column, where there is one, and count the others."""
        if not bad.any():
            return
        first, count = int(np.flatnonzero(bad)[0]), int(bad.sum())
        value = "" if values is None else f": {values[first]!r}" if values.dtype.kind == "O" else f": {values[first]}"
        more = f", and in {count - 1} more row{'s' if count > 2 else ''}" if count > 1 else ""
        place = self.source.place(int(self.rows[first]))
        raise Failure(f"column {column!r} {what} in {place}{value}{more}. {advice}")


def _as_numbers(values: Column, name: str, here: _Rows) -> Column:
    if values.dtype.kind in "iubf":
        return values if values.dtype.kind == "f" else values.astype(np.float64)
    values = np.asarray(values, dtype=object)
    empty = np.array([v is None or (isinstance(v, str) and not v.strip()) for v in values], dtype=bool)
    bad = np.array([not reads_as_number(v) for v in values], dtype=bool) & ~empty
    advice = "Correct the cell, empty it and use --nan-policy omit, or choose another column."
    here.refuse(bad, name, "holds no number", advice, values)
    return np.array([np.nan if e else float(v) for v, e in zip(values, empty, strict=True)])


def _missing(values: Column) -> Mask:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind == "O":
        return np.array([v is None or v == "" or v != v for v in values], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _complete(
    columns: Mapping[str, Column], roles: Roles, here: _Rows, nan_policy: str
) -> tuple[dict[str, Column], _Rows, int]:
    """Rows without missing values; those that have one are refused, or left out on request."""
    if len(here.rows) == 0:
        raise no_rows(here.source)
    drop = np.zeros(len(here.rows), dtype=bool)
    for name in roles.used:
        if name == roles.id:
            continue
        gone = _missing(columns[name])
        if nan_policy == "raise":
            advice = "Fill in the values, or leave such rows out with --nan-policy omit."
            here.refuse(gone, name, "has no value", advice)
        drop |= gone
    left = _Rows(here.source, np.flatnonzero(~drop))
    kept = {name: values[left.rows] if drop.any() else values for name, values in columns.items()}
    for name in roles.used:
        if kept[name].dtype.kind == "f" and name not in (roles.by, roles.id):
            advice = "Correct the value or drop the row."
            left.refuse(np.isinf(kept[name]), name, "is infinite", advice, kept[name])
    return kept, left, int(drop.sum())


def _errors(columns: Mapping[str, Column], roles: Roles, task: str, here: _Rows) -> Any:
    """The errors as `yerr` takes them: a number, (n,) or (2, n)."""
    if roles.yerr is None or isinstance(roles.yerr, float):
        return roles.yerr
    if isinstance(roles.yerr, str):
        given = columns[roles.yerr]
        if task == "classification":
            advice = "For classes the error is the probability that a label is wrong."
            here.refuse((given < 0) | (given > 1), roles.yerr, "is not between 0 and 1", advice, given)
        else:
            here.refuse(given < 0, roles.yerr, "is negative", "An error is a standard deviation: at least 0.", given)
        return given
    if task == "classification":
        raise Failure("class labels have one probability of being wrong, not a lower and an upper error.")
    y, (low, high) = columns[roles.y], (columns[name] for name in roles.yerr)
    if roles.limits:
        advice = "--limits are a lower and an upper bound."
        here.refuse(low > y, roles.yerr[0], "is above the label", advice, low)
        here.refuse(high < y, roles.yerr[1], "is below the label", advice, high)
        return np.stack([y - low, high - y])
    if not roles.sure and bool(np.all((low <= y) & (y <= high))):
        pair = ",".join(roles.yerr)
        raise Failure(
            f"are {roles.yerr[0]!r} and {roles.yerr[1]!r} errors or limits? The label lies between them in every row, so "
            f"they look like limits of a 68 % interval: say --limits {pair} for that, --yerr {pair} if they are lower "
            "and upper errors."
        )
    for name, side in zip(roles.yerr, (low, high), strict=True):
        here.refuse(side < 0, name, "is negative", "Lower and upper errors are both given as at least 0.", side)
    return np.stack([low, high])


def _texts(values: Column) -> Column:
    return np.array([printable(value) for value in values])


def _classes(values: Column) -> Column:
    """Class labels: texts, or whole numbers as integers; other numbers are probabilities and stay."""
    if values.dtype.kind == "O":
        return _texts(values)
    if values.dtype.kind == "f" and bool(np.all(values == np.floor(values))):
        return values.astype(np.int64)
    return values


def binary(data: TableLabels, positive: str) -> TableLabels:
    """Two classes as 1 (the positive one) and 0; predicted probabilities stay, being those of the positive class."""
    columns = [data.y, *data.predictions.values()]
    classes = sorted({str(value) for values in columns if values.dtype.kind != "f" for value in values})
    if data.task != "classification" or len(classes) != 2 or positive not in classes:
        shown = ", ".join(classes[:10]) + (", ..." if len(classes) > 10 else "")
        raise Failure(f"--positive {positive!r} must be one of two classes; the labels and predictions hold {shown}.")

    def mapped(values: Column) -> Column:
        return values if values.dtype.kind == "f" else (values.astype(str) == positive).astype(np.int64)

    predictions = {model: mapped(values) for model, values in data.predictions.items()}
    return replace(data, y=mapped(data.y), predictions=predictions)


def _require_one_unit(source: TableSource, roles: Roles, task: str) -> None:
    """Labels, errors and predictions in different units are refused: nothing here converts."""
    names = (roles.y, *roles.error_columns, *roles.predictions)
    units = source.units(names)
    if task == "classification" or not units:
        return
    unit = units.get(roles.y) or next(iter(units.values()))
    for name in names:
        if units.get(name, unit) != unit:
            raise Failure(
                f"column {name!r} is in {units[name]} but {roles.y!r} is in {unit}. Convert them to one unit first."
            )
    if silent := [name for name in names if name not in units]:
        warnings.warn(f"no unit is given for {', '.join(silent)}: taken to be {unit}, like the rest.", stacklevel=2)
