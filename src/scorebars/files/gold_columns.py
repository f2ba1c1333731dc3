"""Better labels of some rows of a file: a column that is empty where nobody checked, and the chance of being checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorebars._shared.escaping import printable
from scorebars.errors import Verified
from scorebars.files.formats import Column
from scorebars.files.guesses import missing
from scorebars.files.problem import TableProblem
from scorebars.files.table_rows import TableRows

_FEWEST = 2


def verified(table: TableRows, task: str) -> Verified:
    """The gold labels of a table; says how many rows were checked."""
    name, by = str(table.roles.gold), table.roles.gold_probability
    if table.side is not None and table.side.any():
        raise TableProblem(
            "some labels are limits, which gold labels do not correct: say --gold none, or leave out these rows."
        )
    gold, shown = table.columns[name], table.columns[str(table.roles.y)]
    checked = ~missing(gold)
    count, n = int(checked.sum()), len(checked)
    if count < _FEWEST:
        raise TableProblem(
            f"column {name!r} has gold labels for {count} of {n} rows: at least {_FEWEST} must have been checked. Without "
            "gold labels: --gold none."
        )
    chance = None if by is None else table.columns[by]
    if chance is not None:
        advice = "It is the probability with which this row was chosen to be checked: above 0, at most 1."
        table.refuse((chance <= 0) | (chance > 1), by, "is not a probability above 0", advice, chance)
        advice = "A row that was sure to be checked has a gold label: give the probability with which it was chosen."
        table.refuse((chance == 1) & ~checked, by, "is 1 where there is no gold label", advice, chance)
    differ = ""
    if task == "classification":
        gold, other = _as_shown(gold, checked, shown)
        differ = f", and {other} of these have another gold label"
    found = Verified(gold, probability=chance)
    lot = "by lot" if by is None else f"with the probabilities in {by}"
    table.remarks.append(f"{count} of {n} labels were checked {lot}{differ}: truth rests on the column {name}")
    return found


def _as_shown(gold: Column, checked: Any, shown: Column) -> tuple[Column, int]:
    """Gold classes written as the shown ones are, and how many differ from these."""
    texts = shown.dtype.kind in "OUS"
    found = np.full(len(gold), None, dtype=object)
    for row in np.flatnonzero(checked):
        found[row] = printable(_whole(gold[row])) if texts else gold[row]
    labels = [printable(value) if texts else value for value in shown[checked].tolist()]
    differ = sum(a != b for a, b in zip(found[checked].tolist(), labels, strict=True))
    return (found if texts or gold.dtype.kind == "O" else gold), differ


def _whole(value: Any) -> Any:
    """A class that a column with empty cells holds as 2.0."""
    return int(value) if isinstance(value, float | np.floating) and value == int(value) else value


def of_positive_class(model: Verified, positive: str) -> Verified:
    """Gold labels as 1 for this class and 0 for the other."""
    gold = np.full(len(model.gold), np.nan)
    gold[model.known] = [str(_whole(value)) == positive for value in model.gold[model.known].tolist()]
    return Verified(gold, model.probability)


def above_cut(model: Verified, cut: float) -> Verified:
    """Gold numbers as 1 above a value and 0 up to it."""
    gold = np.asarray(model.gold, dtype=np.float64)
    return Verified(np.where(model.known, (gold > cut).astype(np.float64), np.nan), model.probability)
