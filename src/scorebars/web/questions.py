"""The guided question "What do you know about the errors?": what can be said, and what each answer means for the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scorebars.files.column_names import LABEL_SOURCES
from scorebars.files.columns import number_or_name
from scorebars.web.limits import Refused
from scorebars.web.view import View

Form = Mapping[str, Any]


@dataclass(frozen=True)
class Knowledge:
    """One answer to the question."""

    name: str
    says: str
    """What the visitor knows, in the visitor's words."""
    more: str
    """What is asked next, or how it is taken."""
    fields: tuple[tuple[str, str, str], ...] = ()
    """Name, kind ("number", "whole", "column", "columns", "file") and title of each field that is asked next."""
    task: str | None = None
    """Whether this is about classes or measured numbers alone."""
    means: Callable[[Form], dict[str, Any]] = field(kw_only=True)
    """What a form that was filled in says as options of the library."""


def _one(form: Form, name: str) -> str:
    return str(form.get(name) or "").strip()


def _needed(form: Form, *names: str) -> list[str]:
    found = [_one(form, name) for name in names]
    if not all(found):
        raise Refused("The question about errors is not answered yet: choose the columns, or give the number.", 422)
    return found


def _either(form: Form, number: str, column: str) -> str:
    found = _one(form, column) or _one(form, number).replace(",", ".")
    if _one(form, column) and _one(form, number):
        raise Refused("Give one number for all labels, or choose a column, not both.", 422)
    if not found:
        raise Refused("The question about errors is not answered yet: give the number, or choose the column.", 422)
    return found


def _several(form: Form, name: str) -> list[str]:
    found = [str(value) for value in form.get(f"{name}[]", [])]
    if not found:
        raise Refused("The question about errors is not answered yet: choose its columns.", 422)
    return found


def _repeats(form: Form) -> dict[str, Any]:
    if _one(form, "repeats_id"):
        return {"repeats": ["rows"], "id": _one(form, "repeats_id")}
    return {"repeats": _several(form, "repeats"), "y": None}


KNOWLEDGE = (
    Knowledge(
        "sigma",
        "One standard error for all labels",
        "A number in the unit of the labels, such as 0.1.",
        (("sigma", "number", "Standard error"),),
        "regression",
        means=lambda form: {"yerr": _needed(form, "sigma")[0].replace(",", ".")},
    ),
    Knowledge(
        "column",
        "A column holds the standard error of each label",
        "Two columns, statistical and systematic, say, are added in quadrature.",
        (("error", "column", "Column of errors"), ("error_2", "column", "And a second one (may stay empty)")),
        "regression",
        means=lambda form: {"yerr": "+".join(filter(None, [*_needed(form, "error"), _one(form, "error_2")]))},
    ),
    Knowledge(
        "sides",
        "Lower and upper errors, in two columns",
        "For asymmetric errors, as in 1.2 +0.3 -0.1.",
        (("lower", "column", "Lower errors"), ("upper", "column", "Upper errors")),
        "regression",
        means=lambda form: {"yerr": ",".join(_needed(form, "lower", "upper"))},
    ),
    Knowledge(
        "percent",
        "Errors in percent of the label",
        "One number for all labels, or a column.",
        (("percent", "number", "Percent"), ("percent_column", "column", "or column of percents")),
        "regression",
        means=lambda form: {"yerr_percent": _either(form, "percent", "percent_column")},
    ),
    Knowledge(
        "interval",
        "Limits: the ends of a 68 % interval, in two columns",
        "Labels that are limits themselves, such as <5, are understood without this.",
        (("low", "column", "Lower end"), ("high", "column", "Upper end")),
        "regression",
        means=lambda form: {"limits": ",".join(_needed(form, "low", "high"))},
    ),
    Knowledge(
        "cells",
        "The error stands in the cell of the label",
        "As in 1.23 ± 0.05 or 1.23(5).",
        (),
        "regression",
        means=lambda form: {"yerr": "cells"},
    ),
    Knowledge(
        "repeats",
        "Each label was measured several times",
        "The label is the mean of the repeats, its error comes from their scatter.",
        (
            ("repeats", "columns", "Columns of the repeats"),
            ("repeats_id", "column", "or, if repeats stand in rows: the column that names the item"),
        ),
        "regression",
        means=_repeats,
    ),
    Knowledge(
        "covariance",
        "Errors are correlated, and I have the covariance matrix",
        "A text file of numbers or .npy, with one row for each label.",
        (("covariance", "file", "Covariance matrix"),),
        "regression",
        means=lambda form: {"cov": "uploaded"},
    ),
    Knowledge(
        "resolution",
        "The instrument has a resolution: values are rounded",
        "The step between two readings, such as 0.5.",
        (("resolution", "number", "Step"),),
        "regression",
        means=lambda form: {"resolution": float(_needed(form, "resolution")[0].replace(",", "."))},
    ),
    Knowledge(
        "wrong",
        "Labels are classes, and wrong with a known probability",
        "One number for all labels, such as 0.05, or a column.",
        (("q", "number", "Probability of a wrong label"), ("q_column", "column", "or column of probabilities")),
        "classification",
        means=lambda form: {"yerr": _either(form, "q", "q_column")},
    ),
    Knowledge(
        "checked",
        "Labels are classes, and some were checked",
        "How many labels were checked, and how many of them were wrong.",
        (("wrong", "whole", "Wrong"), ("checked", "whole", "Checked")),
        "classification",
        means=lambda form: {"checked": "/".join(_needed(form, "wrong", "checked"))},
    ),
    Knowledge(
        "gold",
        "Some labels were checked, and a column holds what was found",
        "Better labels in the rows that were checked, empty cells in the others.",
        (
            ("gold", "column", "Column of the better labels"),
            ("gold_probability", "column", "Probability of being checked (stays empty if by lot)"),
        ),
        means=lambda form: {
            "gold": _needed(form, "gold")[0],
            "gold_probability": _one(form, "gold_probability") or "none",
        },
    ),
    Knowledge(
        "votes",
        "Several people voted on each label",
        "Columns with a count for each class, or with the class that each rater chose.",
        (("votes", "columns", "Columns of votes"),),
        "classification",
        means=lambda form: {"votes": _several(form, "votes"), "y": None},
    ),
    Knowledge(
        "probabilities",
        "Columns hold the probability of each class",
        "One column for each class.",
        (("probabilities", "columns", "Columns of probabilities"),),
        "classification",
        means=lambda form: {"probabilities": _several(form, "probabilities"), "y": None},
    ),
    Knowledge(
        "none",
        "Nothing: take the labels as exact",
        "The result is then the classical metric alone.",
        means=lambda form: {},
    ),
)
_NAMES = {knowledge.name: knowledge for knowledge in KNOWLEDGE}


def chosen(form: Form) -> dict[str, Any]:
    """What the answer means as options of the library."""
    name = _one(form, "errors")
    if name not in _NAMES:
        raise Refused("Please answer the question “What do you know about the errors?”.", 422)
    try:
        found = _NAMES[name].means(form)
    except ValueError as why:
        if isinstance(why, Refused):
            raise
        raise Refused("The answer about errors must be a number.", 422) from None
    if name != "none" and _one(form, "kind") == "berkson":
        found["error_kind"] = "berkson"
    if _NAMES[name].task is not None:
        found["task"] = _NAMES[name].task
    return found


def answered(view: View, classes: bool) -> tuple[str, dict[str, Any]]:
    """The answer, and the values of its fields, that a view stands for; the way back from `chosen`."""
    get = view.get
    for name in LABEL_SOURCES:
        if get(name):
            rows = get(name) == ["rows"]
            return name, {"repeats_id": get("id")} if rows else {f"{name}[]": get(name)}
    if get("gold") not in (None, "none"):
        chance = get("gold_probability")
        return "gold", {"gold": get("gold"), "gold_probability": None if chance == "none" else chance}
    if get("cov"):
        return "covariance", {}
    if get("resolution") is not None:
        return "resolution", {"resolution": get("resolution")}
    if get("checked"):
        wrong, _, checked = str(get("checked")).partition("/")
        return "checked", {"wrong": wrong, "checked": checked}
    if get("limits"):
        low, _, high = str(get("limits")).partition(",")
        return "interval", {"low": low, "high": high}
    if get("yerr_percent"):
        number = _is_number(get("yerr_percent"))
        return "percent", {"percent" if number else "percent_column": get("yerr_percent")}
    return _column_answered(get("yerr"), classes)


def _column_answered(yerr: Any, classes: bool) -> tuple[str, dict[str, Any]]:
    if yerr in (None, "none"):
        return "none", {}
    if yerr == "cells":
        return "cells", {}
    if classes:
        return "wrong", {"q" if _is_number(yerr) else "q_column": yerr}
    if _is_number(yerr):
        return "sigma", {"sigma": yerr}
    first, plus, second = str(yerr).partition("+")
    if plus:
        return "column", {"error": first, "error_2": second}
    lower, comma, upper = str(yerr).partition(",")
    return ("sides", {"lower": lower, "upper": upper}) if comma else ("column", {"error": yerr})


def _is_number(text: Any) -> bool:
    return isinstance(number_or_name(text), float)
