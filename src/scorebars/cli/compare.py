"""``scorebars compare FILE``: which model is better, and how sure can the labels make us?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import scorebars as sb
from scorebars.cli import options as opt
from scorebars.cli.console import note, width_of
from scorebars.cli.failures import Failure
from scorebars.cli.metric_options import metric as chosen_metric
from scorebars.cli.output import Format, as_csv, as_json, as_latex, as_markdown, chosen_format, put, screen
from scorebars.cli.show import direction, grid, legend

HEADER = ["model", "P(best)", "mean rank", "difference ± std", "P(better)", "verdict"]


def compare(
    file: opt.File,
    y: opt.Y = None,
    yerr: opt.Yerr = None,
    limits: opt.Limits = None,
    pred: opt.Pred = None,
    weight: opt.Weight = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            help="The metric to compare, with options as NAME:OPTION=VALUE; mean_squared_error or accuracy_score.",
            metavar="NAME",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Compare every model with this one (default: the one most likely the best).", metavar="MODEL"
        ),
    ] = None,
    sampling: Annotated[
        bool, typer.Option("--sampling", help="The rows are a sample too: speak of all items, not only of these.")
    ] = False,
    rope: Annotated[float, typer.Option(help="Differences up to this size do not matter.", metavar="SIZE")] = 0.0,
    level: Annotated[float, typer.Option(help="How sure a verdict must be.", metavar="P")] = 0.95,
    task: opt.Task = None,
    nan_policy: opt.NanPolicy = "raise",
    kind: opt.Kind = None,
    json: opt.Json = False,
    csv: opt.Csv = False,
    latex: opt.Latex = False,
    markdown: opt.Markdown = False,
    output: opt.Output = None,
    quiet: opt.Quiet = False,
) -> None:
    """Which model is better, and how sure can the labels make us?

    All models are compared on the same labels, so errors that they share cancel.
    """
    flags = {Format.json: json, Format.csv: csv, Format.latex: latex, Format.markdown: markdown}
    form = chosen_format(flags, output)
    chosen = opt.ColumnOptions(y, yerr, limits, tuple(pred or ()), weight, "none", None, task, nan_policy, kind, quiet)
    with opt.source_and_roles(file, chosen) as (source, roles):
        data = opt.labels_of(source, roles, chosen)
    found = sb.compare(
        data.y,
        data.predictions,
        yerr=data.yerr,
        metric=chosen_metric(metric) if metric else _default(data.task),
        sample_weight=data.weight,
        sampling=sampling,
        rope=rope,
        level=level,
    )
    ranking = found.ranking()
    reference = ranking.best() if against is None else against
    if reference not in found.models:
        raise Failure(f"--against: there is no model {reference!r}. The models are: {', '.join(found.models)}.")
    rows = records(found, ranking, reference)
    texts = [[row["model"], *_cells(row)] for row in rows]
    if form is Format.json:
        text = as_json(
            {
                "schema": "scorebars/comparison/1",
                "metric": found.metric,
                "n": data.n,
                "level": level,
                "sampling": sampling,
                "rope": rope,
                "against": reference,
                "statement": ranking.statement,
                "warnings": found.warnings,
                "models": rows,
            }
        )
    elif form is Format.csv:
        text = as_csv(rows)
    elif form is Format.latex:
        text = as_latex(HEADER, texts, 1)
    elif form is Format.markdown:
        text = as_markdown(HEADER, texts)
    else:
        text = _shown(found, data, reference, ranking.statement, texts, quiet, output)
    put(text, output)
    if not quiet:
        for warning in found.warnings:
            note(f"Warning: {warning}.")


def _default(task: str) -> str:
    return "mean_squared_error" if task == "regression" else "accuracy_score"


def records(found: Any, ranking: Any, reference: str) -> list[dict[str, Any]]:
    """One record for each model, from the best to the worst, each against the reference."""
    rows = []
    for model in ranking.order():
        row: dict[str, Any] = {
            "model": model,
            "probability_best": float(ranking.probabilities[model][0]),
            "mean_rank": ranking.expected_rank(model),
            "against": reference,
        }
        if model != reference:
            difference = found.difference(model, reference)
            low, high = difference.interval(found.level)
            row |= {
                "difference": float(difference),
                "std": difference.std,
                "low": low,
                "high": high,
                "probability_better": found.probability(model, reference),
                "verdict": found.verdict(model, reference),
                "text": str(difference),
            }
        rows.append(row)
    return rows


def _cells(row: dict[str, Any]) -> list[str]:
    """The cells after the model's name; the reference has no difference from itself."""
    text = row.pop("text", None)
    own = [f"{row['probability_best']:.3f}", f"{row['mean_rank']:.1f}"]
    if text is None:
        return [*own, "-", "-", "reference"]
    return [*own, text, f"{row['probability_better']:.3f}", row["verdict"]]


def _shown(
    found: Any, data: Any, reference: str, statement: str, texts: list[list[str]], quiet: bool, output: Path | None
) -> str:
    declared = found.declaration
    scope = "label errors and finite test set" if found.sampling else "label errors alone"
    title = Text.assemble(
        (declared.title, "bold"),
        (f"  {direction(declared)}, {data.n} labels\n{scope}, level {found.level * 100:g} %", "dim"),
    )
    table = grid()
    for k, name in enumerate(HEADER):
        first, last = k == 0, k == len(HEADER) - 1
        table.add_column(name, justify="left" if first or last else "right", overflow="fold", no_wrap=not first)
    styles = {"better": "green", "worse": "red", "equivalent": "cyan", "reference": "dim"}
    for row in texts:
        table.add_row(*map(Text, row[:-1]), Text(row[-1], style=styles.get(row[-1], "")))
    meanings = {
        "difference": f"{found.metric} of the model minus that of {reference}",
        "P(better)": f"probability that the model is strictly better than {reference}",
        "verdict": f"what can be said at a level of {found.level * 100:g} %",
    }
    parts = [title, table, "", Text(statement)]
    if not quiet:
        parts += ["", legend(meanings)]
    return screen(*parts, output=output, width=width_of(sys.stdout))
