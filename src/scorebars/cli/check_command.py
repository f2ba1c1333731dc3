"""``scorebars check FILE``: are the quoted label errors believable?"""

from __future__ import annotations

from typing import Any

import numpy as np
import typer
from rich.text import Text

import scorebars as sb
from scorebars._shared.score_views import counted, percent
from scorebars._shared.writing import as_json
from scorebars.cli import options as opt
from scorebars.cli import output

_MEANINGS = {
    "pull": "(prediction - label) / label error; a perfect model has mean 0 and std 1",
    "p-value": "how often a perfect model would show a chi2/n as extreme, on the side where it lies",
    "noise": "how much of the mean squared residual is label error",
}
_FACTS = (
    *("verdict", "reduced_chi_squared", "pvalue_high", "pvalue_low", "pvalue_noisiest", "noise_share"),
    *("zero_share", "repeated_share", "repeated_value", "growth"),
)


def check(
    file: opt.FileArgument, columns: opt.ForecastOptions, out: output.OutputOptions, report: output.ReportOption = None
) -> None:
    """Are the quoted label errors believable? Ends with code 1 where something deserves a look.

    Pulls (residuals in units of the label error), errors that are zero, look like a default or grow with the label.
    """
    output.keep_apart([*file, columns.cov], out, report)
    data = opt.labels_in(file, columns, out.quiet)
    if data.yerr is None:
        raise output.Failure(f"{data.source} has no column of label errors to check: say --yerr COLUMN.")
    if data.task == "classification":
        raise output.Failure("check looks at the errors of measured numbers; the labels of this file are classes.")
    checks = {model: sb.check_errors(data.y, p, yerr=data.yerr) for model, p in data.predictions.items()}
    rows = [_record(model, check) for model, check in checks.items()]
    if report:
        output.write_report(report, data, out.quiet, checks=checks, **opt.in_python(file, data.roles, columns))
    out.put(
        "check",
        table=lambda: _shown(rows, data.n, out),
        json=lambda: as_json({"schema": "scorebars/check/1", "n": data.n, "models": rows}),
        csv=lambda: output.as_csv([{**row, "warnings": " ".join(row["warnings"])} for row in rows]),
    )
    if any(row["warnings"] for row in rows):
        raise typer.Exit(output.FOUND)


def _record(model: str, result: sb.ErrorCheck) -> dict[str, Any]:
    """One model's pulls and what is odd about the errors."""
    pulls = result.pulls[np.isfinite(result.pulls)]
    facts = {name: getattr(result, name) for name in _FACTS}
    means = {"pull_mean": float(np.mean(pulls)), "pull_std": float(np.std(pulls))}
    return {"model": model, **means, **facts, "warnings": list(result.warnings)}


def _shown(rows: list[dict[str, Any]], n: int, out: output.OutputOptions) -> str:
    rows = sorted(rows, key=lambda row: row["reduced_chi_squared"])
    first = rows[0]
    grown = "" if first["growth"] is None else f"; they go as |label|^{first['growth']:.2f}"
    errors = (
        f"zero: {first['zero_share'] * 100:.1f} %; most frequent: {first['repeated_value']:g} "
        f"({first['repeated_share'] * 100:.1f} %){grown}"
    )
    texts = []
    for row in rows:
        p = min(row["pvalue_low"], row["pvalue_high"])
        numbers = [f"{row[k]:.3g}" for k in ("pull_mean", "pull_std", "reduced_chi_squared")]
        texts.append([row["model"], *numbers, f"{p:.2g}" if p > 0 else "< 1e-300", percent(row["noise_share"])])
    tables = output.grid(["model", "mean pull", "std of pulls", "chi2/n", "p-value", "noise"], texts)
    title = Text.assemble(("Label errors", "bold"), (f"  {counted(n, 'label')}", "dim"))
    verdicts = [Text(line, style="bold") for line in output.said_of({row["model"]: [row["verdict"]] for row in rows})]
    odd = [
        Text(f"! {line}", style="yellow") for line in output.said_of({row["model"]: row["warnings"] for row in rows})
    ]
    odd = odd or [Text("Nothing odd about these errors.", style="green")]
    return out.screen(title, Text(errors, style="dim"), "", *tables, "", *verdicts, *odd, meanings=_MEANINGS)
