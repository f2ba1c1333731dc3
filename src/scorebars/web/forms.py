"""What can be chosen on a page, and which view a filled-in form means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import scorebars as sb
from scorebars._shared.metric_names import NEEDED, declared_metrics, options_of
from scorebars.cli import options as opt
from scorebars.files.column_names import LABEL_SOURCES
from scorebars.files.formats import READING_OPTIONS
from scorebars.files.supposed import SUPPOSED_OPTIONS
from scorebars.web import questions
from scorebars.web.limits import Refused
from scorebars.web.view import View, number_in

ROLES = (
    ("", "not used"),
    ("y", "labels"),
    ("pred", "prediction"),
    ("std", "spread of the prediction before it"),
    ("weight", "weights"),
    ("by", "groups (scores for each)"),
    ("groups", "items that belong together"),
    ("id", "names the item"),
    ("model", "names the model (long table)"),
)
_NOT_ASKED = ("average", "kind")
"""Options of metrics that the page does not ask for."""


@cache
def catalogue() -> list[dict[str, Any]]:
    """The metrics that can be chosen, each with its options that are numbers or words."""
    found = []
    for name, declared in declared_metrics(sb).items():
        options = [
            {"name": option, "default": "" if default is NEEDED else str(default), "needed": default is NEEDED}
            for option, default in options_of(getattr(sb, name)).items()
            if option not in _NOT_ASKED and (default is NEEDED or type(default) in (int, float, str))
        ]
        found.append({"name": name, "title": declared.title, "task": declared.task, "options": options})
    return found


def number_text(text: str, title: str) -> str:
    """The text of a number, checked; empty where there is none."""
    return text.strip() and f"{number_in(text, title):.15g}"


def filled_in(query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The fields of a form; one whose name ends in ``[]`` has a list of values."""
    found: dict[str, Any] = {}
    for name, value in query:
        if name.endswith("[]"):
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    return found


def chosen_roles(query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """What the selects beside the columns say: ``role.COLUMN=pred``."""
    found: dict[str, Any] = {}
    spreads: dict[str, str] = {}
    last = ""
    for name, value in query:
        if name == "members":
            found.setdefault("members", []).append(value)
        if not name.startswith("role.") or not value:
            continue
        column = name.removeprefix("role.")
        if value == "pred":
            found.setdefault("pred", []).append(column)
            last = column
        elif value == "std":
            if not last:
                raise Refused(f"{column!r} is the spread of a prediction, but no prediction stands before it.", 422)
            spreads[last] = column
        elif value in found:
            title = dict(ROLES)[value]
            raise Refused(f"Two columns are chosen as {title}: {found[value]!r} and {column!r}. Choose one.", 422)
        else:
            found[value] = column
    if spreads:
        found["std"] = [spreads.get(column, "none") for column in found["pred"]]
    return found


def chosen_view(query: list[tuple[str, str]]) -> View:
    """The view that the form of columns and errors means."""
    options = {**chosen_roles(query), **questions.chosen(filled_in(query))}
    kept = View.of([pair for pair in query if pair[0] in (*READING_OPTIONS, "nan_policy", "metric", "level")])
    view = View({name: value for name, value in {**options, **kept.given}.items() if value is not None})
    if not view.is_whole:
        missing = "predictions" if any(view.get(name) for name in ("y", *LABEL_SOURCES)) else "the labels"
        raise Refused(f"No column is chosen as {missing}. Choose it in the list of columns.", 422)
    return view


def roles_of_columns(view: View) -> dict[str, str]:
    """Column: what it is taken for."""
    found: dict[str, str] = {}
    for role, _ in ROLES[1:]:
        value = view.get(role)
        for column in value if isinstance(value, list) else [value]:
            if column and column not in ("none", "rows"):
                found[column] = role
    return found


def columns_of_errors(view: View) -> list[str]:
    """The columns that the question about errors names."""
    texts = [str(view.get(name, "")) for name in ("yerr", "yerr_percent", "limits")]
    named = [part for text in texts for part in re.split(r"[,+]", text) if part]
    named += [view.get(name) for name in ("gold", "gold_probability") if view.get(name) not in (None, "none")]
    return [*texts, *named, *(one for name in LABEL_SOURCES for one in view.get(name, []))]


def suitable_metrics(about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The metrics for labels of this kind."""
    tasks = {about["task"], *(["forecast"] if about["forecasts"] else [])}
    return [metric for metric in catalogue() if metric["task"] in tasks]


def with_suitable_metrics(view: View) -> View:
    """A cut makes classes of numbers, and taking it away numbers of classes: metrics of the other kind go."""
    task = "classification" if view.get("cut") is not None else view.get("task")
    if task is None or not view.get("metric"):
        return view
    kind = {metric["name"]: metric["task"] for metric in catalogue()}
    other = {"classification": ("regression", "forecast"), "regression": ("classification",)}[task]
    kept = [name for name in view.get("metric") if kind.get(opt.metric_name(name.partition(":")[0])) not in other]
    given = {name: value for name, value in view.given.items() if name != "metric"}
    return View({**given, "metric": kept} if kept else given)


def panel_of(found: Mapping[str, Any], view: View) -> dict[str, Any]:
    """What can be changed on the page of the result."""
    about = found["about"]
    chosen: dict[str, dict[str, str]] = {}
    for asked in view.get("metric", []) or found["metrics"]:
        name, _, options = str(asked).partition(":")
        chosen[opt.metric_name(name)] = dict(part.split("=", 1) for part in options.split(",") if "=" in part)
    suitable = {metric["name"]: metric for metric in suitable_metrics(about)}
    order = [*(name for name in chosen if name in suitable), *(name for name in suitable if name not in chosen)]
    metrics = [{**suitable[name], "chosen": name in chosen, "given": chosen.get(name, {})} for name in order]
    shown = {
        *(option for option in SUPPOSED_OPTIONS if option not in ("resolution", "checked")),
        "pred",
        "metric",
        "level",
    }
    hidden = [pair for pair in view.query() if pair[0] not in shown]
    numeric = about["task"] == "regression"
    was_numeric = numeric or view.get("cut") is not None
    if was_numeric and not view.get("task"):  # so that a cut can be taken away again
        hidden.append(("task", "regression"))
    plain = (
        numeric
        and not any(view.get(n) for n in ("repeats", "cov", "resolution", "limits"))
        and "," not in str(view.get("yerr", ""))
    )
    return {
        "metrics": metrics,
        "hidden": hidden,
        "numeric": numeric,
        "was_numeric": was_numeric,
        "plain": plain and about["errors"],
        "scales": about["errors"] and not any(view.get(n) for n in ("votes", "probabilities", "checked", "gold")),
        "systematic": numeric and not view.get("repeats") and not view.get("resolution"),
        "unit": about["unit"],
        "excluded": set(view.get("exclude", [])),
        "one_by_one": not view.get("std"),
    }
