"""The rows of a file: columns that belong together, checked, with every complaint naming its column, row and line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars._shared.escaping import printable
from scorebars._shared.score_views import counted
from scorebars.cells import CellNumbers, decimal_mark, read_cells
from scorebars.checks import warn
from scorebars.errors.censored import limit_sides
from scorebars.files.columns import Roles
from scorebars.files.formats import Column, TableSource, no_rows
from scorebars.files.guesses import has_decimals, missing, plain_names
from scorebars.files.problem import TableProblem, first_names
from scorebars.forecasts import EnsembleForecast, Forecast, NormalForecast

Mask = NDArray[np.bool_]
_SIGNS = ("<", ">", "≤", "≥")
_FIX_LIMIT = (
    "A limit needs its number: write '<0.5' for a value below 0.5. To leave such rows out would bias the scores."
)
_FIX_CELL = "Correct the cell, empty it and use --nan-policy omit, or choose another column."


def no_complete_rows(source: TableSource, roles: Roles) -> TableProblem:
    """The complaint where every row misses a value."""
    return TableProblem(f"every row of {source.name} misses a value in one of the columns {', '.join(roles.used)}.")


@dataclass(frozen=True)
class TableRows:
    """Columns that belong together, and where their rows stand in the file."""

    source: TableSource
    roles: Roles
    columns: dict[str, Column]
    cells: dict[str, CellNumbers]
    """The columns of text that were read as numbers, cell by cell."""
    rows: NDArray[np.intp]
    total: int
    """Rows of the file."""
    models: dict[str, str]
    """Column of predictions -> name of the model."""
    units: dict[str, str]
    remarks: list[str] = field(default_factory=list)
    side: Column | None = None
    """-1 where the label is an upper limit, 1 where it is a lower limit, else 0; None without any limit."""

    @classmethod
    def of(cls, source: TableSource, roles: Roles) -> TableRows:
        """Read the columns; texts that are numbers become numbers."""
        columns = source.read(roles.used)
        remarks: list[str] = []
        texts = _texts_of_numbers(columns, roles)
        mark = _decimal(source, columns, texts, remarks)
        if mark == "," and source.decimal not in (",", None):
            source = source.with_decimal(mark)
            columns = source.read(roles.used)
            texts = _texts_of_numbers(columns, roles)
        cells = {name: read_cells(columns[name], mark) for name in texts}
        columns |= {name: np.where(found.bad, 0.0, found.values) for name, found in cells.items()}
        units = source.units(roles.used) | {name: found.unit for name, found in cells.items() if found.unit}
        with_errors = [name for name, found in cells.items() if found.upper is not None]
        for name in roles.predictions:
            if name in with_errors:
                remarks.append(f"the errors in the cells of {name} are those of predictions and are not used")
        for name in () if roles.in_cells else roles.label_columns:
            if name in with_errors:
                remarks.append(f"the errors in the cells of {name} are not used, since others were given")
        remarks += _odd_values(columns, roles)
        n = len(next(iter(columns.values()))) if columns else 0
        if n == 0:
            raise no_rows(source)
        return cls(source, roles, columns, cells, np.arange(n), n, roles.models(), units, remarks)

    # forecasts -------------------------------------------------------------------------------------

    def without_forecasts(self) -> TableRows:
        """Classes have no spread: members are predictions of their own."""
        roles = self.roles
        members = tuple(name for group in roles.members for name in group)
        roles = replace(roles, predictions=(*roles.predictions, *members), stds=(), members=())
        kept = {name: values for name, values in self.columns.items() if name in roles.used}
        return replace(self, roles=roles, columns=kept, models=roles.models())

    def forecasts(self) -> dict[str, Forecast]:
        """The forecast of each model that has a spread or members."""
        found: dict[str, Forecast] = {}
        for column, std in self.roles.stds:
            values = self.columns[std]
            advice = "The spread of a forecast is a standard deviation: above 0. Correct it, or leave it out with --std none."
            self.refuse(values <= 0, std, "is not positive", advice, values)
            found[printable(self.models[column])] = NormalForecast(self.columns[column], values)
        for model, group in self.roles.ensembles().items():
            found[printable(model)] = EnsembleForecast(np.stack([self.columns[name] for name in group], axis=1))
        return found

    # complaints ------------------------------------------------------------------------------------

    def refuse(self, bad: Mask, column: str | None, what: str, advice: str, values: Column | None = None) -> None:
        """Complain about the first bad row of a column, where there is one, and count the others."""
        if not bad.any():
            return
        first, count = int(np.flatnonzero(bad)[0]), int(bad.sum())
        value = "" if values is None else f": {values[first]!r}" if values.dtype.kind == "O" else f": {values[first]}"
        more = f", and in {counted(count - 1, 'more row')}" if count > 1 else ""
        place = self.source.place(int(self.rows[first]))
        raise TableProblem(f"column {column!r} {what} in {place}{value}{more}. {advice}")

    def refuse_near_numbers(self) -> None:
        """Refuse texts such as 1.5* that would pass for names of classes."""
        for name in (*self.roles.label_columns, *self.roles.predictions):
            values = self.columns[name]
            if values.dtype.kind == "O":
                near = np.array([bool(re.match(r"[<>]?\s*[+-]?\d+[.,]\d", str(value))) for value in values])
                if 2 * near.sum() > len(near):
                    advice = f"{_FIX_CELL} For classes say --task classification."
                    self.refuse(read_cells(values).bad, name, "holds no number", advice, values)

    def require_numbers(self, names: Sequence[str]) -> None:
        """Make these columns numbers; refuse cells that hold no number, and limits, which only labels may be."""
        for name in names:
            values = self.columns[name]
            if name not in self.cells and values.dtype.kind == "O":
                self.cells[name] = read_cells(values)
                self.columns[name] = self.cells[name].values
            found = self.cells.get(name)
            if found is None:
                self.columns[name] = values.astype(np.float64, copy=False)
                continue
            refused = found.limits.any() and (name != self.roles.y or self.roles.repeated_rows)
            if refused or found.bad.any():
                given = self.source.read([name])[name]
                signs = np.array([str(value).strip()[:1] in _SIGNS for value in given])
                self.refuse(found.bad & signs, name, "holds no number", _FIX_LIMIT, given)
                self.refuse(found.bad, name, "holds no number", _FIX_CELL, given)
                self.refuse(found.limits, name, "holds a limit", "Only labels may be limits, one row for each.", given)

    def with_limits(self) -> TableRows:
        """The same table, told which labels are limits: by their cells, or by a column that marks them."""
        name = self.roles.y
        if name is None:
            return self
        found = self.cells.get(name)
        side = np.zeros(len(self.rows)) if found is None else found.side
        flag = self._limit_flag(name)
        if flag is not None:
            side = self._marked(name, flag, side)
        if not side.any():
            return self
        limits = side != 0
        advice = "Only labels with errors of their own may be limits, one row for each."
        if self.roles.repeated_rows or self.roles.cov is not None:
            self.refuse(limits, name, "holds a limit", advice)
        columns = dict(self.columns)
        for error in self.roles.error_columns:
            without = limits & np.isnan(columns[error])
            if without.any() and not np.isnan(columns[error]).all():
                columns[error] = np.where(without, np.nanmedian(columns[error]), columns[error])
                self.remarks.append(f"limits without an error in {error} have the median one")
        return replace(self, columns=columns, side=side)

    def _limit_flag(self, labels: str) -> str | None:
        """The column that marks which labels are limits; None where there is none."""
        named = limit_columns(labels, [column for column in self.source.columns if column not in self.roles.used])
        return next((column for column, sure in named.items() if sure or self._has_signs(column)), None)

    def _has_signs(self, column: str) -> bool:
        """Whether a column holds signs such as < and >."""
        values = self.source.read([column])[column]
        return values.dtype.kind == "O" and any(str(value).strip()[:1] in _SIGNS for value in values)

    def _marked(self, name: str, flag: str, in_cells: Column) -> Column:
        """Which labels are limits by a column that marks them, or by their cells."""
        try:
            side = limit_sides(self.source.read([flag])[flag], flag)
        except ValueError as why:
            raise TableProblem(f"column {flag!r} looks like marks of limits of {name!r}: {why}") from None
        if side.any():
            self.remarks.append(f"the column {flag} marks limits of {name}")
        self.refuse(
            side * in_cells < 0, name, f"is a limit of the other kind than {flag!r} says", "Correct one of them."
        )
        return np.where(in_cells == 0, side, in_cells)

    # rows ------------------------------------------------------------------------------------------

    def _at(self, rows: NDArray[np.intp]) -> TableRows:
        kept = {name: values[rows] for name, values in self.columns.items()}
        cells = {name: found.rows(rows) for name, found in self.cells.items()}
        side = None if self.side is None else self.side[rows]
        return replace(self, columns=kept, cells=cells, rows=self.rows[rows], side=side)

    def without(self, exclude: Sequence[str]) -> TableRows:
        """All rows but those that a text COLUMN=VALUE names."""
        kept = np.ones(len(self.rows), dtype=bool)
        for name, values in excluded_rows(exclude, self.source.columns).items():
            found = np.isin(as_texts(self.source.read([name])[name])[self.rows], values)
            if not found.any():
                raise TableProblem(f"--exclude {name}={values[0]}: no row of {self.source.name} has this value.")
            kept &= ~found
        if not kept.any():
            raise TableProblem(f"--exclude: no row of {self.source.name} is left.")
        self.remarks.append(f"{int((~kept).sum())} of {len(kept)} rows were left out: {', '.join(exclude)}")
        return self._at(np.flatnonzero(kept))

    def with_one_row_for_each_item(self) -> TableRows:
        """A long table, which has a row for each item and model, as a wide one, which has a column for each model."""
        roles = self.roles
        if roles.model is None:
            self._require_unique_ids()
            return self
        named, predicted = as_texts(self.columns[roles.model]), roles.predictions[0]
        models = list(dict.fromkeys(named.tolist()))
        keys = self._items(named, models)
        first: dict[Any, int] = {}
        place: dict[tuple[Any, str], int] = {}
        for row, (key, model) in enumerate(zip(keys, named.tolist(), strict=True)):
            first.setdefault(key, row)
            if (key, model) in place:
                raise TableProblem(
                    f"{roles.id} {key!r} occurs twice for the model {model!r}: the second time in "
                    f"{self.source.place(int(self.rows[row]))}. Each item needs one row for each model."
                )
            place[key, model] = row
        items = np.array(list(first.values()))
        wide = self._at(items)
        own = (*roles.label_columns, *roles.error_columns, *roles.gold_columns)
        for name in dict.fromkeys((*own, *filter(None, (roles.weight, roles.by, roles.groups)))):
            values = self.columns[name]
            agreed = values[[first[key] for key in keys]]
            differ = np.array(
                [a != b and not (a != a and b != b) for a, b in zip(values, agreed, strict=True)], dtype=bool
            )
            self.refuse(differ, name, "differs between models for the same item", "Labels belong to items.", values)
        columns = dict(wide.columns)
        std = dict(roles.stds).get(predicted)
        for name in filter(None, (predicted, std)):
            del columns[name]
            for model in models:
                rows = [place.get((key, model)) for key in first]
                columns[f"{name} of {model}"] = _picked(self.columns[name], rows)
        names = {f"{predicted} of {model}": model for model in models}
        stds = tuple((f"{predicted} of {model}", f"{std} of {model}") for model in models if std is not None)
        cells = {name: found for name, found in wide.cells.items() if name not in (predicted, std)}
        roles = replace(roles, predictions=tuple(names), model=None, stds=stds)
        return replace(wide, columns=columns, cells=cells, models=names, roles=roles)

    def _items(self, named: Column, models: Sequence[str]) -> list[Any]:
        """What each row of a long table is about: its id, or its place among the rows of its model."""
        if self.roles.id is not None:
            return list(self.columns[self.roles.id].tolist())
        seen = dict.fromkeys(models, 0)
        keys = []
        for model in named.tolist():
            keys.append(seen[model])
            seen[model] += 1
        if len(set(seen.values())) > 1:
            raise TableProblem(
                f"the models of {self.roles.model!r} have different numbers of rows ({seen}): say --id COLUMN, which tells "
                "which rows are about the same item."
            )
        return keys

    def _require_unique_ids(self) -> None:
        name = self.roles.id
        if name is None or self.roles.repeated_rows or not (self.source.unique_ids and self.roles.has_unique_ids):
            return
        values, counts = np.unique(as_texts(self.columns[name]), return_counts=True)
        if len(values) and counts.max() > 1:
            often = int(np.argmax(counts))
            raise TableProblem(
                f"{name} {str(values[often])!r} stands in {counts[often]} rows. In a long table say which column names the "
                "model: --model COLUMN. If the rows are repeats of one label, say --repeats rows; if each row stands for "
                "itself, --id none."
            )

    def complete(self, nan_policy: str) -> tuple[TableRows, int]:
        """The rows without missing values, and how many were left out; without that request a missing value is refused."""
        drop = np.zeros(len(self.rows), dtype=bool)
        ragged = self.roles.repeats  # labels need not have equally many repeats
        used = [name for name in self.columns if name not in (self.roles.id, self.roles.gold, *ragged)]
        gaps = {name: missing(self.columns[name]) for name in used}
        if ragged:
            gaps[ragged[0]] = np.all([missing(self.columns[name]) for name in ragged], axis=0)
        for name, gone in gaps.items():
            if nan_policy == "raise":
                advice = "Fill in the values, or leave such rows out with --nan-policy omit."
                if name in self.roles.forecast_columns:
                    advice += f" Without a forecast: {self._no_forecast(name)}."
                self.refuse(gone, name, "has no value", advice)
            drop |= gone
        left = self._at(np.flatnonzero(~drop)) if drop.any() else self
        if len(left.rows) == 0:
            raise no_complete_rows(self.source, self.roles)
        for name in (*used, *([self.roles.gold] if self.roles.gold else [])):
            if left.columns[name].dtype.kind == "f" and name not in (self.roles.by, self.roles.groups, self.roles.id):
                bad = np.isinf(left.columns[name])
                left.refuse(bad, name, "is infinite", "Correct the value or drop the row.", left.columns[name])
        return left, int(drop.sum())

    def _no_forecast(self, column: str) -> str:
        return "--std none" if column in (std for _, std in self.roles.stds) else "--members none"

    def one_row_for_each_label(self) -> TableRows:
        """Where rows are repeats of a label, the first row of each; predictions and weights must agree between them."""
        if not self.roles.repeated_rows:
            return self
        names = as_texts(self.columns[str(self.roles.id)])
        _, first, back = np.unique(names, return_index=True, return_inverse=True)
        forecasts = (*self.roles.predictions, *self.roles.forecast_columns)
        for name in (*forecasts, *filter(None, (self.roles.weight, self.roles.by, self.roles.groups))):
            values = self.columns[name]
            advice = "Repeats of one label have the same prediction and weight in every row."
            self.refuse(
                values != values[first[back]], name, f"differs between rows of one {self.roles.id}", advice, values
            )
        return self._at(np.sort(first))


def _picked(values: Column, rows: Sequence[int | None]) -> Column:
    """The values of these rows; missing where there is none."""
    empty = np.nan if values.dtype.kind in "iuf" else None
    filled = [empty if row is None else values[row] for row in rows]
    whole = values.dtype if None not in rows else None
    return np.array(filled, dtype=whole or (np.float64 if empty is not None else object))


def excluded_rows(exclude: Sequence[str], columns: Sequence[str]) -> dict[str, list[str]]:
    """Column: values whose rows are left out.

    >>> excluded_rows(["site=a", "site=b", "x=y=1"], ["site", "x=y"])
    {'site': ['a', 'b'], 'x=y': ['1']}
    """
    found: dict[str, list[str]] = {}
    for text in exclude:
        names = [name for name in columns if text.startswith(f"{name}=")]
        if not names:
            raise TableProblem(f"--exclude {text!r}: write COLUMN=VALUE. The columns are: {first_names(columns)}.")
        name = max(names, key=len)
        found.setdefault(name, []).append(text[len(name) + 1 :])
    return found


_LIMIT_ENDS = ("lim", "_lim", "_limit_flag", "_limit", "_is_ul", "_ul", "_uplim", "_is_limit", "_censored")
_RELATIONS = ("relation", "standard_relation", "qualifier", "operator", "flag")
"""Columns of these names mark limits if they hold signs such as <; alone, or after the name of the labels."""


def limit_columns(labels: str, columns: Iterable[str]) -> dict[str, bool]:
    """Columns that may mark which labels are limits, and whether their names leave no doubt; those come first."""
    plain = plain_names(dict.fromkeys([labels, *columns]))
    base = plain.pop(labels)
    sure = {*(f"{base}{end}" for end in _LIMIT_ENDS), f"l_{base}", f"is_ul_{base}", "is_ul"}
    relations = {*_RELATIONS, *(f"{base}_{word}" for word in _RELATIONS)}
    found = {column: name in sure for column, name in plain.items() if name in sure | relations}
    return dict(sorted(found.items(), key=lambda item: not item[1]))


# texts as numbers ----------------------------------------------------------------------------------


def _texts_of_numbers(columns: Mapping[str, Column], roles: Roles) -> list[str]:
    """The columns of text whose cells are numbers."""
    predicted = [*roles.predictions, *roles.forecast_columns]
    others = (*roles.error_columns, *roles.gold_columns, *([roles.weight] if roles.weight else []))
    names = [*roles.label_columns, *predicted, *others]
    return [
        name
        for name in dict.fromkeys(names)
        if columns[name].dtype.kind == "O"
        and any(isinstance(value, str) for value in columns[name][:1000])
        and read_cells(columns[name]).numeric
    ]


def _decimal(
    source: TableSource, columns: Mapping[str, Column], texts: Sequence[str], remarks: list[str]
) -> str | None:
    """The decimal mark of numbers that are written as text; asks where they leave it open."""
    if source.decimal_is_given:
        return source.decimal
    marks = {name: decimal_mark([value for value in columns[name] if isinstance(value, str)]) for name in texts}
    known = source.decimal if source.decimal in (".", ",") else None
    if known is None and any(values.dtype.kind == "f" and has_decimals(values) for values in columns.values()):
        known = "."
    for name, mark in marks.items():
        if mark == "?" and known == "." and source.delimiter == ",":
            remarks.append(f"commas in {name} part thousands (say --decimal , if they do not)")
        elif mark == "?" and known != ",":
            first = next(value for value in columns[name] if isinstance(value, str) and "," in value)
            raise TableProblem(
                f"column {name!r} holds {first!r}: does the comma part thousands, or is it a decimal comma? Say --decimal . or "
                "--decimal , for it."
            )
        elif mark == "," and known == ".":
            first = next(value for value in columns[name] if isinstance(value, str) and "," in value)
            raise TableProblem(
                f"column {name!r} holds {first!r}, written with a decimal comma, but other numbers of {source.name} have "
                "decimal points: write them alike, or say --decimal . or --decimal , for all."
            )
    return known or ("," if "," in marks.values() else "." if "." in marks.values() else None)


_PLACEHOLDERS = (-99.0, -999.0, -9999.0, -99999.0, 99999.0, 1e20)
"""Numbers that often stand for a missing value."""


def _odd_values(columns: Mapping[str, Column], roles: Roles) -> list[str]:
    """A remark about each column in which a placeholder lies far from all other numbers."""
    said = []
    for name in (*roles.label_columns, *roles.predictions, *roles.forecast_columns):
        values = columns[name]
        if values.dtype.kind not in "iuf" or len(values) < 2:
            continue
        for odd in _PLACEHOLDERS:
            marked = values == odd
            others = np.abs(values[~marked & np.isfinite(values)])
            if marked.any() and others.size and float(others.max()) < abs(odd) / 5:
                times = "once" if marked.sum() == 1 else f"{int(marked.sum())} times"
                said.append(
                    f"column {name} holds {odd:g} {times}: where it stands for a missing value, empty these cells"
                )
    return said


def as_texts(values: Column) -> Column:
    """Names in a column, as texts that can be shown."""
    return np.array([printable(value) for value in values])


def require_one_unit(table: TableRows, task: str) -> None:
    """Refuse labels, errors and predictions in different units: nothing here converts units."""
    roles, units = table.roles, table.units
    errors = () if roles.percent else tuple(name for name in roles.error_columns if units.get(name) != "%")
    gold = (roles.gold,) if roles.gold else ()
    names = (*roles.label_columns, *errors, *gold, *roles.predictions, *roles.forecast_columns)
    units = {name: unit for name, unit in units.items() if name in names}
    if task == "classification" or not units:
        return
    labels = roles.label_columns[0]
    unit = units.get(labels) or next(iter(units.values()))
    for name in names:
        if units.get(name, unit) != unit:
            raise TableProblem(
                f"column {name!r} is in {units[name]} but {labels!r} is in {unit}. Convert them to one unit first."
            )
    if silent := [name for name in names if name not in units]:
        warn(f"no unit is given for {', '.join(silent)}: taken to be {unit}, like the rest.")
