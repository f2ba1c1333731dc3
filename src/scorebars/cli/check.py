"""``scorebars check FILE``: are the quoted label errors believable?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.text import Text

import scorebars as sb
from scorebars.cli import options as opt
from scorebars.cli.console import width_of
from scorebars.cli.failures import FOUND, Failure
from scorebars.cli.output import Format, as_csv, as_json, chosen_format, put, screen
from scorebars.cli.show import grid, legend, share_text


def check(
    file: opt.File,
    y: opt.Y = None,
    yerr: opt.Yerr = None,
    limits: opt.Limits = None,
    pred: opt.Pred = None,
    nan_policy: opt.NanPolicy = "raise",
    kind: opt.Kind = None,
    json: opt.Json = False,
    csv: opt.Csv = False,
    output: opt.Output = None,
    quiet: opt.Quiet = False,
) -> None:
    """Are the quoted label errors believable? Ends with code 1 where something deserves a look.

    Pulls (residuals in units of the label error), errors that are zero, look like a default or grow with the label.
    """
    form = chosen_format({Format.json: json, Format.csv: csv}, output)
    chosen = opt.ColumnOptions(y, yerr, limits, tuple(pred or ()), "none", "none", None, None, nan_policy, kind, quiet)
    with opt.source_and_roles(file, chosen) as (source, roles):
        if roles.yerr is None:
            raise Failure(f"{source.name} has no column of label errors to check: say --yerr COLUMN.")
        data = opt.labels_of(source, roles, chosen)
    if data.task == "classification":
        raise Failure("check looks at the errors of measured numbers; the labels of this file are classes.")
    found = {model: sb.check_errors(data.y, p, data.yerr) for model, p in data.predictions.items()}
    rows = [_record(model, result) for model, result in found.items()]
    if form is Format.json:
        text = as_json({"schema": "scorebars/check/1", "n": data.n, "models": rows})
    elif form is Format.csv:
        text = as_csv([{**row, "warnings": " ".join(row["warnings"])} for row in rows])
    elif form is Format.table:
        text = _shown(rows, data.n, quiet, output)
    else:
        raise Failure("check writes a table, JSON or CSV.")
    put(text, output)
    if any(row["warnings"] for row in rows):
        raise typer.Exit(FOUND)


def _record(model: str, result: Any) -> dict[str, Any]:
    """One model's pulls and what is odd about the errors."""
    pulls = result.pulls[np.isfinite(result.pulls)]
    return {
        "model": model,
        "pull_mean": float(np.mean(pulls)),
        "pull_std": float(np.std(pulls)),
        "reduced_chi_squared": result.reduced_chi_squared,
        "pvalue_high": result.pvalue_high,
        "pvalue_low": result.pvalue_low,
        "noise_share": result.noise_share,
        "zero_share": result.zero_share,
        "repeated_share": result.repeated_share,
        "repeated_value": result.repeated_value,
        "growth": result.growth,
        "warnings": list(result.warnings),
    }


def _shown(rows: list[dict[str, Any]], n: int, quiet: bool, output: Path | None) -> str:
    first = rows[0]
    grown = "" if first["growth"] is None else f"; they go as |label|^{first['growth']:.2f}"
    errors = (
        f"zero: {first['zero_share'] * 100:.1f} %; most frequent: {first['repeated_value']:g} "
        f"({first['repeated_share'] * 100:.1f} %){grown}"
    )
    table = grid()
    table.add_column("model", overflow="fold")
    for name in ("mean pull", "std of pulls", "chi2/n", "p-value", "noise"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        p = min(row["pvalue_low"], row["pvalue_high"])
        numbers = [f"{row[k]:.3g}" for k in ("pull_mean", "pull_std", "reduced_chi_squared")]
        table.add_row(
            *map(Text, [row["model"], *numbers, f"{p:.2g}" if p > 0 else "< 1e-300", share_text(row["noise_share"])])
        )
    parts: list[Any] = [
        Text.assemble(("Label errors", "bold"), (f"  {n} labels", "dim")),
        Text(errors, style="dim"),
        "",
        table,
        "",
        *_warnings(rows),
    ]
    if not quiet:
        meanings = {
            "pull": "(label - prediction) / label error; a perfect model has mean 0 and std 1",
            "p-value": "how often a perfect model would show a chi2/n as extreme, on the side where it lies",
            "noise": "how much of the mean squared residual is label error",
        }
        parts += ["", legend(meanings)]
    return screen(*parts, output=output, width=width_of(sys.stdout))


def _warnings(rows: list[dict[str, Any]]) -> list[Text]:
    """Every warning once, with the models that it concerns."""
    models: dict[str, list[str]] = {}
    for row in rows:
        for warning in row["warnings"]:
            models.setdefault(warning, []).append(row["model"])
    out = []
    for warning, whom in models.items():
        who = "" if len(whom) == len(rows) else f"{', '.join(whom)}: "
        out.append(Text(f"! {who}{warning}", style="yellow"))
    return out or [Text("Nothing odd about these errors.", style="green")]
