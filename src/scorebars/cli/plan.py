"""``scorebars plan``: what to measure next."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import scorebars as sb
from scorebars.cli import options as opt
from scorebars.cli.console import note, width_of
from scorebars.cli.failures import Failure
from scorebars.cli.labels import Labels
from scorebars.cli.output import Format, as_csv, as_json, chosen_format, put, screen
from scorebars.cli.show import counted, grid

FEW = 10
_GOAL, _ASSUMED = "Goal (one of them)", "Assumed variances per label, instead of a pilot FILE"


def plan(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Pilot data: labels, errors and one or two models.")
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(
            help="Tell two models apart whose mean squared errors differ this much (with a pilot: its own).",
            metavar="D",
            rich_help_panel=_GOAL,
        ),
    ] = None,
    std: Annotated[
        float | None,
        typer.Option(help="Know one model's mean squared error this well.", metavar="S", rich_help_panel=_GOAL),
    ] = None,
    sampling_variance: Annotated[
        float | None, typer.Option(help="Between items.", metavar="V", rich_help_panel=_ASSUMED)
    ] = None,
    measurement_variance: Annotated[
        float | None, typer.Option(help="Of a single measurement.", metavar="V", rich_help_panel=_ASSUMED)
    ] = None,
    power: Annotated[float, typer.Option(help="Probability of finding the difference.", metavar="P")] = 0.9,
    level: Annotated[float, typer.Option(help="Two-sided confidence level.", metavar="P")] = 0.95,
    cost_label: Annotated[float, typer.Option(help="What a label costs once.", metavar="C")] = 1.0,
    cost_repeat: Annotated[float, typer.Option(help="What each of its repeats costs.", metavar="C")] = 1.0,
    y: opt.Y = None,
    yerr: opt.Yerr = None,
    pred: opt.Pred = None,
    task: opt.Task = None,
    nan_policy: opt.NanPolicy = "raise",
    kind: opt.Kind = None,
    json: opt.Json = False,
    csv: opt.Csv = False,
    output: opt.Output = None,
    quiet: opt.Quiet = False,
) -> None:
    """How many labels, and how many repeats of each, are needed?"""
    form = chosen_format({Format.json: json, Format.csv: csv}, output)
    goal: dict[str, Any] = {"power": power, "level": level, "cost_label": cost_label, "cost_repeat": cost_repeat}
    raters = False
    if file is None:
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
        chosen = opt.ColumnOptions(
            y, yerr, None, tuple(pred or ()), "none", "none", None, task, nan_policy, kind, quiet
        )
        with opt.source_and_roles(file, chosen) as (source, roles):
            data = opt.labels_of(source, roles, chosen)
        raters = data.task == "classification"
        found = _from_pilot(data, difference, std, goal)
    rows = _alternatives(found, cost_label, cost_repeat, raters)
    if form is Format.json:
        best = {key: getattr(found, key) for key in ("labels", "repeats", "cost", "power", "goal")}
        text = as_json({"schema": "scorebars/plan/1", **best, "alternatives": rows})
    elif form is Format.csv:
        text = as_csv(rows)
    elif form is Format.table:
        text = _shown(found, rows, output)
    else:
        raise Failure("plan writes a table, JSON or CSV.")
    put(text, output)
    if found.labels < FEW and not quiet:
        note(f"Note: a plan of fewer than {FEW} labels rests on approximations that do not hold there: measure {FEW}.")


def _from_pilot(data: Labels, difference: float | None, std: float | None, goal: dict[str, Any]) -> Any:
    wanted = 1 if std is not None else 2
    if len(data.predictions) != wanted:
        what = "one model (--std)" if wanted == 1 else "two models (--difference)"
        raise Failure(
            f"this plan is about {what}, but the file has {len(data.predictions)}: {', '.join(data.predictions)}. "
            "Choose with --pred COLUMN."
        )
    if data.yerr is None:
        raise Failure("planning repeats needs the error of a single measurement: say --yerr COLUMN.")
    yerr = sb.Flip(data.yerr) if data.task == "classification" else data.yerr
    models = data.predictions if wanted == 2 else next(iter(data.predictions.values()))
    return sb.plan(data.y, models, yerr=yerr, difference=difference, std=std, task=data.task, **goal)


def _alternatives(found: Any, cost_label: float, cost_repeat: float, raters: bool) -> list[dict[str, Any]]:
    """What other numbers of repeats would need to reach the same goal; a majority of raters needs an odd number."""
    tried = sorted({found.repeats, *((1, 3, 5, 7, 9) if raters else (1, 2, 3, 4, 6, 8, 12, 16))})
    rows = []
    for repeats in tried:
        labels = max(math.ceil(found.labels_for(repeats) * (1 - 1e-12)), 1)
        row = {"repeats": repeats, "labels": labels, "cost": labels * (cost_label + repeats * cost_repeat)}
        rows.append({**row, "std": found.std_at(labels, repeats), "chosen": repeats == found.repeats})
    return rows


def _shown(found: Any, rows: list[dict[str, Any]], output: Path | None) -> str:
    table = grid()
    for name in ("repeats of each", "labels", "cost", "std reached"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for row in rows:
        style, mark = ("bold", "cheapest") if row["chosen"] else ("", "")
        numbers = (f"{row['repeats']}", f"{row['labels']}", f"{row['cost']:g}", f"{row['std']:.3g}")
        table.add_row(*(Text(cell, style=style) for cell in (*numbers, mark)))
    power = "" if found.power is None else f", with power {found.power:.3f}"
    labels, times = counted(found.labels, "label"), counted(found.repeats, "time")
    head = f"Measure {labels}, {times} each, {found.goal}{power}."
    return screen(Text(head, style="bold"), "", table, output=output, width=width_of(sys.stdout))
