"""``scorebars evaluate FILE``: how good are the models, given how well the labels are known?"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import scorebars as sb
from scorebars._shared.score_views import QUESTIONS, counted, table_cells
from scorebars._shared.writing import as_json
from scorebars.cli import options as opt
from scorebars.cli.column_roles import Roles
from scorebars.cli.console import Failure, note, printable, width_of
from scorebars.cli.output import PaperOptions, as_csv, grid, write_file
from scorebars.cli.source import ArrowFile, Folder, TableSource, column_values, dataset_of, say_what_is_wrong
from scorebars.cli.table_labels import TableLabels, binary, no_complete_rows, no_rows, task_of

STREAM_ABOVE = 256 << 20
"""Bytes above which a file is streamed unless --no-stream is given."""
_COLUMNS = {question.name: question.brief for question in QUESTIONS if question.label} | {
    "noise": "how much of the observed error is label error"
}


def evaluate(
    file: opt.FileArgument,
    columns: opt.GroupedOptions,
    out: PaperOptions,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="A metric (scorebars explain lists them), or one with options, such as fraction_within:tolerance=0.5; "
            "may be repeated.",
            metavar="NAME",
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of the intervals.", metavar="P")] = 0.95,
    positive: Annotated[
        str | None,
        typer.Option(help="Of two classes the one that precision, recall, F1 and AUC are about.", metavar="CLASS"),
    ] = None,
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
) -> None:
    """How good are the models, given how well the labels are known?

    observed: what the metric says. expected: what it would be if every label were redrawn from its error bar.

    truth: what it is against the true values behind the labels. perfect: what a perfect model would score.
    """
    if not 0 < level < 1:
        raise Failure(f"--level must be a probability strictly between 0 and 1, got {level:g}.")
    asked: Sequence[opt.AskedMetric] | None = [opt.asked_metric(given) for given in metric] if metric else None
    with opt.source_and_roles(file, columns, out.quiet) as (source, roles):
        if stream or (stream is None and source.size > STREAM_ABOVE and source.streams):
            if positive is not None:
                raise Failure("--positive is for files read as a whole: add --no-stream.")
            if report:
                raise Failure("--report needs all labels in memory: add --no-stream, or take a sample of the file.")
            (result, omitted), unit = _streamed(source, roles, columns, asked, out.quiet), None
        else:
            data = opt.checked_labels(source, roles, columns, out.quiet)
            data = data if positive is None else binary(data, positive)
            result, omitted, unit = _evaluation(data, asked or opt.default_metrics(data)), data.omitted, data.unit
            if report:
                write_file(report, _page(data, result, source.name, level))
                note(f"report: {report}")
        about = {"source": source.name, "level": level, "omitted": omitted, "columns": roles.to_dict()}
    out.put(
        "evaluate",
        table=lambda: _shown(result, level, unit, out),
        json=lambda: as_json({**(found := result.to_dict(level)), **about, "scores": found["scores"]}),
        csv=lambda: as_csv(result.rows(level)),
        latex=result.to_latex,
        markdown=result.to_markdown,
    )


def _evaluation(data: TableLabels, metrics: Sequence[opt.AskedMetric] | None) -> Any:
    """The scores of the checked arrays."""
    given = {"yerr": data.yerr, "sample_weight": data.weight, "by": data.by}
    try:
        return sb.evaluate(data.y, data.predictions, metrics=metrics, task=data.task, **given)
    except ValueError as why:
        if "pos_label" in str(why):
            raise Failure(f"{why} Of two classes, --positive CLASS says which one counts as positive.") from why
        raise


def _page(data: TableLabels, evaluation: Any, name: str, level: float) -> str:
    """The report about this evaluation."""
    command = shlex.join(["scorebars", *sys.argv[1:]])
    given = {"yerr": data.yerr, "sample_weight": data.weight, "ids": data.ids, "unit": data.unit, "level": level}
    options = {"title": name, "source": name, "command": command, "evaluation": evaluation}
    return sb.report.build(data.y, data.predictions, **given, **options)


def _shown(result: Any, level: float, unit: str | None, out: PaperOptions) -> str:
    """The evaluation for people: a block for each metric, a line for each model."""
    parts: list[Any] = []
    for metric in result.metrics:
        parts += _block(result, metric, level, unit)
    return out.screen(*parts[:-1], meanings=_COLUMNS)


def _block(result: Any, metric: str, level: float, unit: str | None) -> list[Any]:
    grouped = result.groups != [None]
    rows = [(key, score) for key, score in result if key[1] == metric]
    names = ["model", *(["group"] if grouped else [])]
    interval = f"{level * 100:g} % interval"
    head = [*names, "observed", "expected ± std", interval, "truth", "perfect", "noise"]
    texts = [
        [model, *(["all" if group is None else str(group)] if grouped else []), *table_cells(score, level)]
        for (model, _, group), score in rows
    ]
    for extra in (interval, "noise"):  # what a narrow terminal does without
        needed = sum(max(map(len, column)) + 2 for column in zip(head, *texts, strict=True)) - 2
        if needed > width_of(sys.stdout):
            k = head.index(extra)
            head, texts = head[:k] + head[k + 1 :], [row[:k] + row[k + 1 :] for row in texts]
    return [_title(rows[0][1], metric, unit), grid(head, texts, names), ""]


def _title(score: sb.Score, metric: str, unit: str | None) -> Text:
    """Name, options, direction and unit of a metric."""
    declared = score.declaration
    parts = [declared.direction]
    if unit and declared.degree:
        parts.append(f"in {unit}" if declared.degree == 1 else f"in ({unit})^{declared.degree}")
    title = f"{declared.title} {metric.removeprefix(declared.name)}".strip()
    return Text.assemble((title, "bold"), (f"  {', '.join([*parts, counted(score.n, 'label')])}", "dim"))


def _streamed(
    source: TableSource,
    roles: Roles,
    options: opt.ColumnOptions,
    metrics: Sequence[opt.AskedMetric] | None,
    quiet: bool,
) -> tuple[Any, int]:
    """The evaluation of a file that is read in pieces, and how many rows were left out; groups are for data in memory."""
    parts = source.parts if isinstance(source, Folder) else [source]
    files = [part for part in parts if isinstance(part, ArrowFile)]
    if len(files) != len(parts):
        raise Failure(f"{source.name} cannot be streamed: only CSV, Parquet and Feather files can.")
    if roles.by is not None:
        raise Failure("--by needs all labels in memory: leave it out (--by none), or add --no-stream.")
    models = {printable(model): column for column, model in roles.models().items()}
    if len(models) < len(roles.predictions):
        raise Failure("two models have names that look the same. Rename their columns.")
    try:
        task = options.task or _guess_task(files, roles)
        result = sb.evaluate(
            dataset_of(files, roles.numbers(task)),
            y=roles.y,
            pred=models,
            yerr=roles.yerr,
            sample_weight=roles.weight,
            metrics=metrics,
            task=task,
            nan_policy=options.nan_policy,
            progress=not quiet and sys.stderr.isatty(),
        )
    except ValueError as why:
        if "has no rows" in str(why):
            raise no_rows(source) from None
        if "every one of the" in str(why):
            raise no_complete_rows(source, roles) from None
        if "needs all labels at once" in str(why):
            takes = ", ".join(sb.Accumulator.takes[task])
            what = f"{str(why).partition(',')[0]}. Of a file that is read in pieces there are: {takes}"
            raise Failure(f"{what}; add --no-stream to read all of it into memory.") from why
        for file in files:
            say_what_is_wrong(file, str(why))
        raise Failure(_as_shown_here(str(why), files)) from why
    if result.omitted and not quiet:
        rows = result.n + result.omitted
        note(f"{result.omitted} of {rows} rows have missing values and were left out, for every model.")
    return result, result.omitted


def _guess_task(files: Sequence[ArrowFile], roles: Roles) -> str:
    """From the type of the labels; whole numbers are measured, for later rows may hold others. Texts may be numbers."""
    dataset = dataset_of(files[:1])
    texts = str(dataset.schema.field(roles.y).type) in ("string", "large_string")
    first = dataset.head(1000, columns=[roles.y]) if texts else dataset.schema.empty_table()
    return task_of({roles.y: column_values(first.column(roles.y), roles.y, files[0].name)}, roles)


def _as_shown_here(why: str, files: Sequence[ArrowFile]) -> str:
    """A message about a row of the dataset as one about a row, and for a text a line, of a file."""

    def place(found: re.Match[str]) -> str:
        file = next(file for file in files if str(file.path) == found[2])
        inside = file.place(int(found[1]))
        return inside if len(files) == 1 or file.name in inside else f"{inside} of {file.name}"

    paths = "|".join(re.escape(str(file.path)) for file in files)
    why = re.sub(rf"row \d+ of the dataset \(row (\d+) of ({paths})\)", place, why)
    return why.replace("nan_policy='omit'", "--nan-policy omit")
