"""The columns as arrays that belong together, checked, with every complaint naming its column, row and line."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb
from scorebars.cli.console import printable
from scorebars.cli.failures import Failure
from scorebars.cli.roles import Roles
from scorebars.cli.source import Array, Source

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Labels:
    """What a command works on. `omitted` rows had a missing value and were left out on request."""

    y: Array
    predictions: dict[str, Array]
    yerr: Any
    weight: Array | None
    by: Array | None
    ids: Array | None
    task: str
    unit: str | None
    omitted: int

    @property
    def n(self) -> int:
        return len(self.y)


def load(source: Source, roles: Roles, *, task: str | None = None, nan_policy: str = "raise") -> Labels:
    """Read and check the columns."""
    data = arranged(source, roles, task=task, nan_policy=nan_policy)
    if data is None:
        raise no_complete_rows(source, roles)
    return data


def no_rows(source: Source) -> Failure:
    return Failure(f"{source.name} has column names but no rows.")


def no_complete_rows(source: Source, roles: Roles) -> Failure:
    return Failure(f"every row of {source.name} misses a value in one of the columns {', '.join(roles.used)}.")


def arranged(source: Source, roles: Roles, *, task: str | None, nan_policy: str) -> Labels | None:
    """The columns as arrays; None where every row was left out."""
    columns = source.read(roles.used)
    task = task or guess_task(columns, roles)
    _one_unit(source, roles, task)
    for name in _numbers(roles, task):
        columns[name] = _as_numbers(columns[name], name, source)
    columns, rows, omitted = _complete(columns, roles, source, nan_policy)
    if len(rows) == 0:
        return None
    here = _Rows(source, rows)
    yerr = _errors(columns, roles, task, here)
    weight = None if roles.weight is None else columns[roles.weight]
    if weight is not None:
        here.refuse(weight < 0, roles.weight, "is negative", weight, "A weight says how much a label counts.")
    y, names = columns[roles.y], roles.models()
    predictions = {printable(names[c]): columns[c] for c in roles.predictions}
    if len(predictions) < len(roles.predictions):
        raise Failure("two models have names that look the same. Rename their columns.")
    if task == "classification":
        y, predictions = _classes(y), {model: _classes(values) for model, values in predictions.items()}
    return Labels(
        y,
        predictions,
        yerr,
        weight,
        None if roles.by is None else np.array([printable(v) for v in columns[roles.by]]),
        None if roles.id is None else np.array([printable(v) for v in columns[roles.id]]),
        task,
        source.units([roles.y]).get(roles.y),
        omitted,
    )


def guess_task(columns: Mapping[str, Array], roles: Roles) -> str:
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

    source: Source
    rows: NDArray[np.intp]

    def refuse(self, bad: Mask, column: str | None, what: str, values: Array, advice: str) -> None:
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            raise _complaint(
                self.source, column, what, int(self.rows[first]), int(bad.sum()), f": {values[first]}", advice
            )


def _complaint(source: Source, column: str | None, what: str, row: int, count: int, value: str, advice: str) -> Failure:
    more = f", and in {count - 1} more row{'s' if count > 2 else ''}" if count > 1 else ""
    return Failure(f"column {column!r} {what} in {source.place(row)}{value}{more}. {advice}")


def _numbers(roles: Roles, task: str) -> list[str]:
    """The columns that must hold numbers."""
    measured = (roles.y, *roles.predictions) if task == "regression" else ()
    return [*measured, *roles.error_columns, *([roles.weight] if roles.weight else [])]


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _as_numbers(values: Array, name: str, source: Source) -> Array:
    if values.dtype.kind in "iu":
        return values.astype(np.float64)
    if values.dtype.kind in "bf":
        return values.astype(np.float64) if values.dtype.kind == "b" else values
    empty = np.array([v is None or (isinstance(v, str) and not v.strip()) for v in values], dtype=bool)
    bad = np.array([not _is_number(v) for v in values], dtype=bool) & ~empty
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise _complaint(
            source,
            name,
            "holds no number",
            first,
            int(bad.sum()),
            f": {values[first]!r}",
            "Correct the cell, empty it and use --nan-policy omit, or choose another column.",
        )
    return np.array([np.nan if e else float(v) for v, e in zip(values, empty, strict=True)])


def _missing(values: Array) -> Mask:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind == "O":
        return np.array([v is None or v == "" or v != v for v in values], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _complete(
    columns: Mapping[str, Array], roles: Roles, source: Source, nan_policy: str
) -> tuple[dict[str, Array], NDArray[np.intp], int]:
    """Rows without missing values; those that have one are refused, or left out on request."""
    length = len(columns[roles.y])
    if length == 0:
        raise no_rows(source)
    drop = np.zeros(length, dtype=bool)
    for name in roles.used:
        if name == roles.id:
            continue
        gone = _missing(columns[name])
        if gone.any() and nan_policy == "raise":
            advice = "Fill in the values, or leave such rows out with --nan-policy omit."
            raise _complaint(source, name, "has no value", int(np.flatnonzero(gone)[0]), int(gone.sum()), "", advice)
        drop |= gone
    rows = np.flatnonzero(~drop)
    kept = {name: values[rows] if drop.any() else values for name, values in columns.items()}
    here = _Rows(source, rows)
    for name in roles.used:
        if kept[name].dtype.kind == "f" and name not in (roles.by, roles.id):
            here.refuse(np.isinf(kept[name]), name, "is infinite", kept[name], "Correct the value or drop the row.")
    return kept, rows, int(drop.sum())


def _errors(columns: Mapping[str, Array], roles: Roles, task: str, here: _Rows) -> Any:
    """The errors as `yerr` takes them: a number, (n,) or (2, n)."""
    if roles.yerr is None or isinstance(roles.yerr, float):
        return roles.yerr
    if task == "classification":
        if isinstance(roles.yerr, tuple):
            raise Failure("class labels have one probability of being wrong, not a lower and an upper error.")
        q = columns[roles.yerr]
        advice = "For classes the error is the probability that a label is wrong."
        here.refuse((q < 0) | (q > 1), roles.yerr, "is not between 0 and 1", q, advice)
        return q
    if isinstance(roles.yerr, str):
        sigma = columns[roles.yerr]
        here.refuse(sigma < 0, roles.yerr, "is negative", sigma, "An error is a standard deviation: at least 0.")
        return sigma
    y, (low, high) = columns[roles.y], (columns[name] for name in roles.yerr)
    if roles.limits:
        here.refuse(low > y, roles.yerr[0], "is above the label", low, "--limits are a lower and an upper bound.")
        here.refuse(high < y, roles.yerr[1], "is below the label", high, "--limits are a lower and an upper bound.")
        return np.stack([y - low, high - y])
    if not roles.sure and bool(np.all((low <= y) & (y <= high))):
        pair = ",".join(roles.yerr)
        raise Failure(
            f"are {roles.yerr[0]!r} and {roles.yerr[1]!r} errors or limits? The label lies between them in every row, so "
            f"they look like limits of a 68 % interval: say --limits {pair} for that, --yerr {pair} if they are lower "
            "and upper errors."
        )
    for name, side in zip(roles.yerr, (low, high), strict=True):
        here.refuse(side < 0, name, "is negative", side, "Lower and upper errors are both given as at least 0.")
    return np.stack([low, high])


def _classes(values: Array) -> Array:
    """Class labels: texts, or whole numbers as integers; other numbers are probabilities and stay."""
    if values.dtype.kind == "O":
        return np.array([printable(v) for v in values])
    if values.dtype.kind == "f" and bool(np.all(values == np.floor(values))):
        return values.astype(np.int64)
    return values


def binary(data: Labels, positive: str) -> Labels:
    """Two classes as 1 (the positive one) and 0; predicted probabilities stay, being those of the positive class."""
    classes = sorted({str(v) for v in data.y} | {str(v) for p in data.predictions.values() for v in _if_classes(p)})
    if data.task != "classification" or len(classes) != 2 or positive not in classes:
        shown = ", ".join(classes[:10]) + (", ..." if len(classes) > 10 else "")
        raise Failure(f"--positive {positive!r} must be one of two classes; the labels and predictions hold {shown}.")

    def mapped(values: Array) -> Array:
        return values if len(_if_classes(values)) == 0 else (values.astype(str) == positive).astype(np.int64)

    predictions = {model: mapped(values) for model, values in data.predictions.items()}
    return replace(data, y=mapped(data.y), predictions=predictions)


def _if_classes(values: Array) -> Array:
    return values if values.dtype.kind != "f" else values[:0]


def _one_unit(source: Source, roles: Roles, task: str) -> None:
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
