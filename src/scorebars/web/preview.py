"""What the page shows of a file before any score: its columns, what they are taken for, and its groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from scorebars._shared.escaping import printable
from scorebars._shared.score_views import shortened
from scorebars.files.column_names import UNGUESSED
from scorebars.files.columns import Roles, role_finder
from scorebars.files.file_labels import understood
from scorebars.files.formats import TableSource
from scorebars.files.guesses import holds_numbers
from scorebars.files.problem import TableProblem
from scorebars.files.table_rows import as_texts
from scorebars.web.inquiry import Inquiry
from scorebars.web.wording import for_page

_SHOWN_ROWS = 5
_LONGEST_CELL = 60
_MOST_VALUES = 30
"""A column with at most this many different values can hold groups."""
_GROUP_COLUMNS = 8


def must_say_none(find_roles: Callable[..., Roles], given: Mapping[str, Any], roles: Roles) -> list[str]:
    """The options that must say ``none`` on the command line, because it would guess a column otherwise."""
    silent = {name: value for name, value in given.items() if UNGUESSED.get(name) == value}
    others = {name: value for name, value in given.items() if name not in silent}

    def alike(**said: Any) -> bool:
        try:
            return find_roles(**{**others, **said}) == roles
        except TableProblem:
            return False

    needed = [name for name in silent if not alike(**{**silent, name: None})]
    if not alike(**{name: silent[name] for name in needed}):
        needed = list(silent)
    if given.get("yerr") == "none" and not alike(**{name: silent[name] for name in needed}, yerr=None):
        needed.append("yerr")
    return needed


def preview(asked: Inquiry) -> dict[str, Any]:
    """The columns with their first values, and what each is taken for; where a guess would be a gamble, the question."""
    with asked.source() as source:
        asked.say("Looking at the columns")
        find_roles, view, sample = role_finder(source), asked.view, source.first_rows()
        roles, question = None, ""
        attempts: list[dict[str, Any]] = [{}, {"yerr": "none"}, {"yerr": "none", "std": ["none"], "members": ["none"]}]
        for attempt in [view.roles(asked.covariance)] if view.is_whole else attempts:
            try:
                roles = find_roles(**attempt)
                break
            except TableProblem as why:
                question = question or for_page(str(why))
        units = source.units(source.columns)
        return {
            "columns": [_column(name, sample.get(name), units.get(name, "")) for name in source.columns],
            "question": question,
            "name": source.name,
            "remarks": source.remarks(),
            "view": {} if roles is None else view.filled(roles).given,
            "line": "" if roles is None else understood(source, roles),
            "limits": "" if roles is None else _limits_said(asked, source, roles),
            "classes": roles is not None and _are_classes(roles, sample),
            "sure": not question,
        }


def _limits_said(asked: Inquiry, source: TableSource, roles: Roles) -> str:
    """Which labels are limits, in words. Where the table cannot be used yet, nothing: the result says why."""
    try:
        return asked.labels(source, roles, nan_policy="omit").limits_said
    except ValueError:
        return ""


def _column(name: str, values: Any, unit: str) -> dict[str, Any]:
    shown = [] if values is None else [_cell(value) for value in values[:_SHOWN_ROWS].tolist()]
    return {"name": name, "unit": unit, "values": shown, "number": values is not None and holds_numbers(values)}


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return shortened(f"{value:.6g}" if isinstance(value, float) else printable(value), _LONGEST_CELL)


def _are_classes(roles: Roles, sample: Mapping[str, Any]) -> bool:
    if roles.flips or roles.votes or roles.probabilities:
        return True
    labels = sample.get(roles.y or "")
    return labels is not None and not holds_numbers(labels)


def groups_of(source: TableSource, roles: Roles) -> list[dict[str, Any]]:
    """Columns of few different values, whose rows can be left out."""
    found = []
    taken = {*roles.label_columns, *roles.error_columns, *roles.predictions, *roles.forecast_columns}
    first = [name for name in (roles.by, roles.groups, roles.model) if name]
    others = [name for name in source.columns if name not in taken and name not in first and name != roles.id]
    for name in [*first, *others][:60]:
        if source.columns.count(name) > 1:
            continue
        try:
            values = source.read([name])[name]
        except ValueError:
            continue
        if values.dtype.kind == "f" and not np.all(values == np.floor(values)):
            continue
        texts, counts = np.unique(as_texts(values), return_counts=True)
        if 2 <= len(texts) <= _MOST_VALUES:
            rows = [{"value": str(text), "count": int(count)} for text, count in zip(texts, counts, strict=True)]
            found.append({"column": name, "values": rows})
        if len(found) >= _GROUP_COLUMNS:
            break
    return found
