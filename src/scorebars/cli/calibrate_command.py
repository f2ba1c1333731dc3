"""``scorebars calibrate FILE``: are the error bars of the forecasts right?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

import scorebars as sb
from scorebars._shared.score_views import counted, number
from scorebars._shared.writing import as_json
from scorebars.cli import options as opt
from scorebars.cli import output
from scorebars.files.file_labels import TableLabels

_MEANINGS = {
    "spread factor": "multiply the forecast's error bars by this; above 1 they are too small",
    "bias": "forecast - label on average",
    "chi2/n": "mean squared residual in units of spread and label error together; 1 is right",
    "area": "between found and nominal coverage; 0 at best",
    "spread": "mean standard deviation of the forecasts; of two calibrated ones the sharper is better",
    "ignored": "the verdict if the label errors were ignored",
}


def calibrate(
    file: opt.FileArgument,
    columns: opt.ForecastOptions,
    out: output.OutputOptions,
    claims: Annotated[
        str,
        typer.Option(
            help="What the forecasts speak of: truth (the value behind the label) or label (with its error).",
            metavar="WHAT",
        ),
    ] = "truth",
    report: output.ReportOption = None,
) -> None:
    """Are the error bars of the forecasts right, label errors allowed for? Ends with code 1 where one is not calibrated.

    A forecast is a prediction with its spread (pred_x and pred_x_std), or an ensemble (pred_x_1, pred_x_2, ...).
    """
    if claims not in ("truth", "label"):
        raise output.Failure(f"--claims must be truth or label, got {claims!r}.")
    output.keep_apart([*file, columns.cov], out, report)
    data = opt.labels_in(file, columns, out.quiet, "regression")
    if not data.forecasts:
        raise output.Failure(
            f"{data.source} has predictions but no forecasts: say --std COLUMN for the spread of a model's predictions, or "
            "--members 'pred_x_*' for the members of an ensemble."
        )
    found = calibrated(data, claims)
    if report:
        output.write_report(report, data, out.quiet, **opt.in_python(file, data.roles, columns))
    rows = [{"model": model, **one.to_dict()} for model, one in found.items()]
    out.put(
        "calibrate",
        table=lambda: _shown(found, data, out),
        json=lambda: as_json({"schema": "scorebars/calibrate/1", "n": data.n, "claims": claims, "models": rows}),
        csv=lambda: output.as_csv(rows),
    )
    for line in () if out.quiet else dict.fromkeys(line for one in found.values() for line in one.notes):
        output.note(f"{line[0].upper()}{line[1:]}")
    if not all(one.calibrated for one in found.values()):
        raise typer.Exit(output.FOUND)


def calibrated(data: TableLabels, claims: str = "truth") -> Mapping[str, sb.Calibration]:
    """The calibration of every forecast of a file."""
    forecasts = {model: forecast.claiming(claims) for model, forecast in data.forecasts.items()}
    found = sb.calibration(data.y, forecasts, yerr=data.yerr)
    assert isinstance(found, sb.Calibrations)
    return found


def _shown(found: Mapping[str, sb.Calibration], data: TableLabels, out: output.OutputOptions) -> str:
    allowed = any(one.naive is not one for one in found.values())
    head = ["model", "verdict", "spread factor", "95 %", "bias", "chi2/n", "area", "spread"]
    rows = []
    for model, one in found.items():
        facts = one.to_dict()
        low, high = facts["spread_factor_low"], facts["spread_factor_high"]
        between = "-" if low is None else f"{low:.3g} to {high:.3g}"
        numbers = [number(facts[name], 3) for name in ("bias", "chi_squared", "miscalibration_area", "sharpness")]
        ignored = [_word(one.naive)] if allowed else []
        rows.append([model, _word(one), number(facts["spread_factor"], 3), between, *numbers, *ignored])
    unit = f", in {data.unit}" if data.unit else ""
    title = Text.assemble(("Calibration", "bold"), (f"  {counted(data.n, 'label')}{unit}", "dim"))
    tables = output.grid([*head, *(["ignored"] if allowed else [])], rows, ("model", "verdict", "ignored"))
    verdicts = [
        Text(f"{model}: {one.verdict}", style="green" if one.calibrated else "yellow") for model, one in found.items()
    ]
    said = [
        Text(f"{model}, label errors ignored: {one.naive.verdict}", style="dim")
        for model, one in found.items()
        if allowed
    ]
    meanings = {name: text for name, text in _MEANINGS.items() if allowed or name != "ignored"}
    return out.screen(title, *tables, "", *verdicts, *said, meanings=meanings)


def _word(one: sb.Calibration) -> Any:
    """The verdict in a word."""
    return one.verdict.partition(":")[0].lower()
