"""``scorebars evaluate FILE``: how good are the models, given how well the labels are known?"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import scorebars as sb
from scorebars.cli import options as opt
from scorebars.cli import show
from scorebars.cli.console import note
from scorebars.cli.failures import Failure
from scorebars.cli.labels import Labels, binary
from scorebars.cli.metric_options import Metric
from scorebars.cli.metric_options import metric as metric_of
from scorebars.cli.output import Format, as_csv, as_json, chosen_format, put, replace_file
from scorebars.cli.streaming import STREAM_ABOVE, streamed


def evaluate(
    file: opt.File,
    y: opt.Y = None,
    yerr: opt.Yerr = None,
    limits: opt.Limits = None,
    pred: opt.Pred = None,
    weight: opt.Weight = None,
    by: opt.By = None,
    id: opt.Id = None,
    metric: opt.Metrics = None,
    level: opt.Level = 0.95,
    task: opt.Task = None,
    positive: Annotated[
        str | None,
        typer.Option(help="Of two classes the one that precision, recall, F1 and AUC are about.", metavar="CLASS"),
    ] = None,
    nan_policy: opt.NanPolicy = "raise",
    kind: opt.Kind = None,
    json: opt.Json = False,
    csv: opt.Csv = False,
    latex: opt.Latex = False,
    markdown: opt.Markdown = False,
    output: opt.Output = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Also write an HTML page with figures.", metavar="PAGE.html", rich_help_panel="Output"),
    ] = None,
    stream: Annotated[
        bool | None,
        typer.Option(
            help=f"Read the file in pieces, in flat memory (default: above {STREAM_ABOVE >> 20} MiB).",
            show_default=False,
        ),
    ] = None,
    quiet: opt.Quiet = False,
) -> None:
    """How good are the models, given how well the labels are known?

    observed: what the metric says. expected: what it becomes when the labels move within their errors.

    truth: what it is against the true values behind the labels. perfect: what a perfect model would score.
    """
    flags = {Format.json: json, Format.csv: csv, Format.latex: latex, Format.markdown: markdown}
    form = chosen_format(flags, output)
    if not 0 < level < 1:
        raise Failure(f"--level must be a probability strictly between 0 and 1, got {level:g}.")
    chosen = opt.ColumnOptions(y, yerr, limits, tuple(pred or ()), weight, by, id, task, nan_policy, kind, quiet)
    asked: Sequence[Metric] | None = [metric_of(given) for given in metric] if metric else None
    with opt.source_and_roles(file, chosen) as (source, roles):
        large = source.size > STREAM_ABOVE and bool(source.paths)
        if stream or (stream is None and large):
            if positive is not None:
                raise Failure("--positive is for files read as a whole: add --no-stream.")
            if report:
                raise Failure("--report needs all labels in memory: add --no-stream, or take a sample of the file.")
            (result, omitted), unit = streamed(source, roles, chosen, asked), None
        else:
            data = opt.labels_of(source, roles, chosen)
            if positive is not None:
                data = binary(data, positive)
            metrics = asked or opt.default_metrics(data)
            result, omitted, unit = scored(data, metrics), data.omitted, data.unit
            if report:
                _write_report(report, data, metrics, source.name, level)
                note(f"report: {report}")
        name = source.name
    if form is Format.json:
        about = {"source": name, "level": level, "omitted": omitted, "columns": roles.to_dict()}
        text = as_json({**result.to_dict(), **about, "scores": records(result, level)})
    elif form is Format.csv:
        text = as_csv(records(result, level))
    elif form is Format.latex:
        text = result.to_latex()
    elif form is Format.markdown:
        text = result.to_markdown()
    else:
        text = show.evaluation(result, level, unit, quiet, output)
    put(text, output)


def scored(data: Labels, metrics: Sequence[Metric] | None) -> Any:
    """The evaluation of the checked arrays."""
    try:
        return sb.evaluate(
            data.y,
            data.predictions,
            yerr=data.yerr,
            metrics=metrics,
            by=data.by,
            sample_weight=data.weight,
            task=data.task,
        )
    except ValueError as why:
        if "pos_label" in str(why):
            raise Failure(f"{why} Of two classes, --positive CLASS says which one counts as positive.") from why
        raise


def records(result: Any, level: float) -> list[dict[str, Any]]:
    """One flat record for each score, its intervals at this level."""
    rows: list[dict[str, Any]] = result.rows()
    if level == 0.95:  # what `rows` gives
        return rows
    for row, (_, score) in zip(rows, result, strict=True):
        for name in ("interval", "truth", "remeasured", "perfect"):
            if row[f"{name}_low"] is None:
                continue
            holder = (
                score if name == "interval" else score.remeasured() if name == "remeasured" else getattr(score, name)
            )
            row[f"{name}_low"], row[f"{name}_high"] = holder.interval(level)
    return rows


def _write_report(path: Path, data: Labels, metrics: Sequence[Metric] | None, source: str, level: float) -> None:
    try:
        from scorebars import report as page
    except ImportError as why:
        raise ImportError(f"--report needs jinja2 ({why}): pip install 'scorebars[report]'") from why
    html = page.build(
        data.y,
        data.predictions,
        yerr=data.yerr,
        sample_weight=data.weight,
        ids=data.ids,
        metrics=metrics,
        task=data.task,
        unit=data.unit,
        title=source,
        command=shlex.join(["scorebars", *sys.argv[1:]]),
        source=source,
        level=level,
    )
    replace_file(path, html)
