"""What the page shows of a file before any score: its columns, what they are taken for, and its groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from scorebars._shared.escaping import printable
from scorebars.files.columns import Roles, assign
from scorebars.files.file_labels import understood
from scorebars.files.formats import TableSource
from scorebars.files.guesses import holds_numbers
from scorebars.files.problem import TableProblem
from scorebars.web.inquiry import Inquiry
from scorebars.web.view import View
from scorebars.web.wording import for_page

_SHOWN_ROWS = 5
_LONGEST_CELL = 60
_MOST_VALUES = 30
"""A column with at most this many different values can hold groups."""
_GROUP_COLUMNS = 8
_SILENT = ("weight", "by", "id", "model", "gold", "std", "members")
"""Columns that the command line guesses unless it is told that there are none."""


class ColumnGuess:
    """Which column is what, asked several times of the same file."""

    def __init__(self, source: TableSource) -> None:
        self.source, self.sample = source, source.first_rows()
        self._known: dict[str, Any] = {
            "sample": self.sample,
            "declared": source.declared_errors(),
            "units": source.units(source.columns),
            "coordinates": source.coordinates,
        }

    def roles(self, **options: Any) -> Roles:
        return assign(self.source.columns, **self._known, **options)

    def needed(self, given: Mapping[str, Any], roles: Roles) -> list[str]:
        """Which of the columns that are not there the command line would guess, unless it says ``none``."""
        needed = []
        silent = {name: value for name, value in given.items() if name in _SILENT and value in ("none", ["none"])}
        kept = {name: value for name, value in given.items() if name not in silent}
        for name in silent:
            try:
                same = self.roles(**{**kept, **silent, name: None}) == roles
            except TableProblem:
                same = False
            needed += [] if same else [name]
        rest = {name: value for name, value in silent.items() if name in needed}
        try:
            alike = self.roles(**kept, **rest) == roles
        except TableProblem:
            alike = False
        if not alike:
            needed = list(silent)
        if given.get("yerr") == "none":
            try:
                alike = (
                    self.roles(**{**kept, **dict.fromkeys(needed), **{k: silent[k] for k in needed}, "yerr": None})
                    == roles
                )
            except TableProblem:
                alike = False
            needed += [] if alike else ["yerr"]
        return needed


def preview(asked: Inquiry) -> dict[str, Any]:
    """The columns with their first values, and what each is taken for; where a guess would be a gamble, the question."""
    with asked.source() as source:
        asked.say("Looking at the columns")
        guess = ColumnGuess(source)
        question = ""
        view = asked.view
        roles = None
        attempts: list[dict[str, Any]] = [{}, {"yerr": "none"}, {"yerr": "none", "std": ["none"], "members": ["none"]}]
        for attempt in [view.roles(asked.covariance)] if view.is_whole else attempts:
            try:
                roles = guess.roles(**attempt)
                break
            except TableProblem as why:
                question = question or for_page(str(why))
        units = source.units(source.columns)
        columns = [_column(name, guess.sample.get(name), units.get(name, "")) for name in source.columns]
        found: dict[str, Any] = {"columns": columns, "question": question, "name": source.name}
        found["remarks"] = source.remarks()
        found["view"] = {} if roles is None else view.filled(roles).given
        found["line"] = "" if roles is None else understood(source, roles)
        found["classes"] = roles is not None and _are_classes(roles, guess.sample)
        found["sure"] = not question
        return found


def _column(name: str, values: Any, unit: str) -> dict[str, Any]:
    shown = [] if values is None else [_cell(value) for value in values[:_SHOWN_ROWS].tolist()]
    return {"name": name, "unit": unit, "values": shown, "number": values is not None and holds_numbers(values)}


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else printable(str(value))
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"


def _are_classes(roles: Roles, sample: Mapping[str, Any]) -> bool:
    if roles.flips or roles.votes or roles.probabilities:
        return True
    labels = sample.get(roles.y or "")
    return labels is not None and not holds_numbers(labels)


def groups_of(source: TableSource, view: View, roles: Roles) -> list[dict[str, Any]]:
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
        texts, counts = np.unique(np.array([printable(value) for value in values]), return_counts=True)
        if 2 <= len(texts) <= _MOST_VALUES:
            rows = [{"value": str(text), "count": int(count)} for text, count in zip(texts, counts, strict=True)]
            found.append({"column": name, "values": rows})
        if len(found) >= _GROUP_COLUMNS:
            break
    return found
