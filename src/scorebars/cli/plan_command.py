"""``scorebars plan``: what to measure next."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer
from rich.text import Text

import scorebars as sb
from scorebars._shared.score_views import counted
from scorebars._shared.writing import as_json
from scorebars.cli import options as opt
from scorebars.cli.output import Failure, OutputOptions, as_csv, grid, keep_apart, note, option_under
from scorebars.files.file_labels import TableLabels

_FEWEST = 10
"""Plans of fewer labels rest on approximations that do not hold there."""
_TIMES_AS_MANY = (0.7, 0.85, 1, 1.2, 1.5, 2)
"""Other numbers of checks, as multiples of the best one."""
_number, _goal = option_under(None), option_under("Goal (one of them)")
_assumed = option_under("Assumed variances per label, instead of a pilot FILE", "V")


def plan(
    columns: opt.WeightedOptions,
    out: OutputOptions,
    file: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]", help="Pilot data: labels, errors and one or two models.")
    ] = None,
    difference: Annotated[
        float | None,
        _goal("Tell two models apart whose mean squared errors differ this much (with a pilot: its own).", "D"),
    ] = None,
    std: Annotated[float | None, _goal("Know one model's mean squared error this well.", "S")] = None,
    sampling_variance: Annotated[float | None, _assumed("Between items.")] = None,
    measurement_variance: Annotated[float | None, _assumed("Of a single measurement.")] = None,
    power: Annotated[float, _number("Probability of finding the difference.", "P")] = 0.9,
    level: Annotated[float, _number("Two-sided confidence level.", "P")] = 0.95,
    cost_label: Annotated[float, _number("What a label costs once.", "C")] = 1.0,
    cost_repeat: Annotated[float, _number("What each of its repeats costs.", "C")] = 1.0,
    cost_check: Annotated[
        float, _number("What the check of a label costs, where some were checked (--checked, --gold).", "C")
    ] = 1.0,
) -> None:
    """How many labels, and how many repeats of each, are needed? Where some labels were checked: how many checks?"""
    keep_apart([*(file or ()), columns.cov], out)
    goal: dict[str, Any] = {"power": power, "level": level, "cost_label": cost_label, "cost_repeat": cost_repeat}
    raters = False
    if not file:
        if sampling_variance is None and measurement_variance is None:
            raise Failure("plan needs pilot data (FILE) or --sampling-variance and --measurement-variance.")
        found = sb.plan(
            difference=difference,
            std=std,
            sampling_variance=sampling_variance,
            measurement_variance=measurement_variance,
            **goal,
        )
    else:
        data = opt.labels_in(file, columns, out.quiet)
        raters = data.task == "classification"
        found = plan_from_pilot(data, difference, std, {**goal, "cost_check": cost_check})
    rows = alternatives(found, cost_label, cost_repeat, raters, cost_check)
    best = {key: getattr(found, key) for key in ("labels", "repeats", "cost", "power", "goal")}
    best |= {} if found.checks is None else {"checks": found.checks}
    out.put(
        "plan",
        table=lambda: _shown(found, rows, out),
        json=lambda: as_json({"schema": "scorebars/plan/1", **best, "alternatives": rows}),
        csv=lambda: as_csv(rows),
    )
    if found.labels < _FEWEST and not out.quiet:
        note(
            f"Note: a plan of fewer than {_FEWEST} labels rests on approximations that do not hold there: measure {_FEWEST}."
        )


def plan_from_pilot(data: TableLabels, difference: float | None, std: float | None, goal: dict[str, Any]) -> Any:
    """The plan that the labels of a file suggest as a pilot; refuses another number of models than the goal is about."""
    wanted = 1 if std is not None else 2
    if len(data.predictions) != wanted:
        what = "one model (--std)" if wanted == 1 else "two models (--difference)"
        raise Failure(
            f"this plan is about {what}, but the file has {len(data.predictions)}: {', '.join(data.predictions)}. "
            "Choose with --pred COLUMN."
        )
    if data.yerr is None:
        raise Failure("planning repeats needs the error of a single measurement: say --yerr COLUMN.")
    flips = data.task == "classification" and not hasattr(data.yerr, "kind")
    yerr = sb.Flip(data.yerr) if flips else data.yerr
    models = data.predictions if wanted == 2 else next(iter(data.predictions.values()))
    return sb.plan(
        data.y, models, yerr=yerr, difference=difference, std=std, task=data.task, groups=data.groups, **goal
    )


def alternatives(
    found: Any, cost_label: float, cost_repeat: float, raters: bool, cost_check: float = 1.0
) -> list[dict[str, Any]]:
    """What other numbers of repeats, or of checks, would need to reach the same goal; a majority needs an odd number."""
    if found.checks is not None:
        return _other_checks(found, cost_label + cost_repeat, cost_check)
    tried = sorted({found.repeats, *((1, 3, 5, 7, 9) if raters else (1, 2, 3, 4, 6, 8, 12, 16))})
    rows = []
    for repeats in tried:
        labels = max(math.ceil(found.labels_for(repeats) * (1 - 1e-12)), 1)
        row = {"repeats": repeats, "labels": labels, "cost": labels * (cost_label + repeats * cost_repeat)}
        rows.append({**row, "std": found.std_at(labels, repeats), "chosen": repeats == found.repeats})
    return rows


def _other_checks(found: Any, cost_label: float, cost_check: float) -> list[dict[str, Any]]:
    """What other numbers of checks would need to reach the goal; those that cannot reach it are left out."""
    rows, of_these = [], found.allocation is None  # gold labels belong to some of the items, and to no class
    for factor in _TIMES_AS_MANY:
        checks = max(round(found.checks * factor), 1)
        needed = found.labels_for(1, checks)
        if not math.isfinite(needed):
            continue
        labels = found.labels if factor == 1 else max(math.ceil(needed * (1 - 1e-12)), 1)
        if of_these and labels < checks:
            continue
        row = {"checks": checks, "labels": labels, "cost": labels * cost_label + checks * cost_check}
        rows.append({**row, "std": found.std_at(labels, 1, checks), "chosen": factor == 1})
    return rows


def _shown(found: Any, rows: list[dict[str, Any]], out: OutputOptions) -> str:
    texts = []
    for row in rows:
        style, mark = ("bold", "cheapest") if row["chosen"] else ("", "")
        first = row["repeats"] if found.checks is None else row["checks"]
        numbers = (f"{first}", f"{row['labels']}", f"{row['cost']:g}", f"{row['std']:.3g}")
        texts.append([Text(cell, style=style) for cell in (*numbers, mark)])
    what = "repeats of each" if found.checks is None else "checks"
    tables = grid([what, "labels", "cost", "std reached", ""], texts, left=("",))
    power = "" if found.power is None else f", with power {found.power:.3f}"
    labels, times = counted(found.labels, "label"), counted(found.repeats, "time")
    head = f"Measure {labels}, {times} each, {found.goal}{power}."
    if found.checks is not None:
        head = f"Judge {labels} and check {found.checks}, {found.goal}{power}."
    return out.screen(Text(head, style="bold"), "", *tables)
