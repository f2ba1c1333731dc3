"""``scorebars evaluate FILE``: how good are the models, given how well the labels are known?"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import scorebars as sb
from scorebars._shared.escaping import printable
from scorebars._shared.score_views import LIMITS_COUNT, QUESTIONS, MetricData, table_rows
from scorebars._shared.writing import as_json
from scorebars.cli import options as opt
from scorebars.cli import output
from scorebars.files.columns import Roles
from scorebars.files.file_labels import TableLabels, binary, task_of
from scorebars.files.file_study import marks_limits
from scorebars.files.formats import (
    STREAM_ABOVE,
    ArrowFile,
    TableSource,
    dataset_of,
    files_in_pieces,
    no_rows,
)
from scorebars.files.table_rows import no_complete_rows

_COLUMNS = {question.name: question.brief for question in QUESTIONS if question.label} | {
    "noise": "how much of the observed error is label error",
    "± labels": "standard error from the label errors, for these items",
    "± sample": "what the choice of the items adds to it",
}
_OF_LIMITS = (
    "the classical metric, each limit at the allowed value nearest to the prediction: a lower bound of an error"
)


def evaluate(
    file: opt.FileArgument,
    columns: opt.GroupedOptions,
    out: output.PaperOptions,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="A metric (scorebars explain lists them), or one with options, such as fraction_within:tolerance=0.5; "
            "may be repeated.",
            metavar="NAME",
            autocompletion=opt.metrics_beginning,
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of the intervals.", metavar="P")] = 0.95,
    anew: Annotated[
        int,
        typer.Option(help="remeasured: how often each label is measured again; shown if above 1.", metavar="N", min=1),
    ] = 1,
    positive: Annotated[
        str | None,
        typer.Option(help="Of two classes the one that precision, recall, F1 and AUC are about.", metavar="CLASS"),
    ] = None,
    report: output.ReportOption = None,
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
        raise output.Failure(f"--level must be a probability strictly between 0 and 1, got {level:g}.")
    output.keep_apart([*file, columns.cov], out, report)
    asked: Sequence[opt.AskedMetric] | None = [opt.asked_metric(given) for given in metric] if metric else None
    with opt.source_and_roles(file, columns, out.quiet) as (source, roles):
        large = stream is None and source.streams and source.bytes_held(len(roles.used)) > STREAM_ABOVE
        if stream or large:
            _require_no_memory_needed(columns, positive, report)
            result, unit = _streamed(source, roles, columns, asked, out.quiet), None
            omitted = result.omitted
        else:
            data = opt.checked_labels(source, roles, columns, out.quiet, opt.asked_task(asked))
            data = data if positive is None else binary(data, positive)
            result, omitted, unit = evaluation_of(data, asked or data.metrics), data.omitted, data.unit
            checks = output.note_doubts(data, out.quiet)
            if report:
                read = opt.in_python(file, roles, columns)
                if positive is not None:  # the code would score the other class from the file
                    read["columns"] = None
                read |= {"evaluation": result, "level": level, "metrics": asked, "checks": checks}
                output.write_report(report, data, out.quiet, **read)
        about = {"source": source.name, "level": level, "omitted": omitted, "columns": roles.to_dict()}
    out.put(
        "evaluate",
        table=lambda: _shown(result, level, anew, unit, out),
        json=lambda: as_json({**result.to_dict(level, anew), **about}),
        csv=lambda: output.as_csv(result.rows(level, anew)),
        latex=result.to_latex,
        markdown=result.to_markdown,
        sentence=lambda: sentences_of(result, result.metrics if metric else result.metrics[:1], unit),
    )


def evaluation_of(data: TableLabels, metrics: Sequence[opt.AskedMetric] | None) -> sb.Evaluation:
    """The scores of the checked arrays."""
    given = {"yerr": data.yerr, "sample_weight": data.weight, "by": data.by, "groups": data.groups}
    try:
        return sb.evaluate(data.y, data.models, metrics=metrics, task=data.task, **given)
    except ValueError as why:
        if "pos_label" in str(why):
            raise output.Failure(f"{why} Of two classes, --positive CLASS says which one counts as positive.") from why
        raise


def sentences_of(result: Any, metrics: Sequence[str], unit: str | None) -> str:
    """A sentence for each score, the best model first."""
    return "\n\n".join(
        f"{model if group is None else f'{model}, {group}'}: {result[model, metric, group].sentence(unit)}"
        for model, metric, group in product(result.ranked(), metrics, result.groups)
    )


def _shown(result: Any, level: float, anew: int, unit: str | None, out: output.PaperOptions) -> str:
    """The evaluation for people: a block for each metric, a line for each model, the best by the first metric first."""
    interval = f"{level * 100:g} % (labels)"
    names = ["model"] if result.groups == [None] else ["model", "group"]
    head = [*names, "observed", "expected ± labels", interval, "truth ± labels ± sample", "perfect ± labels", "noise"]
    head += [f"measured again {anew} times ± labels"] if anew > 1 else []
    lines = list(product(result.ranked(), result.groups))
    scores = [result.scores[model, metric, group] for metric in result.metrics for model, group in lines]
    rows = iter(table_rows(scores, level, unit, anew))
    parts: list[Any] = []
    for metric in result.metrics:
        block = [next(rows) for _ in lines]
        firsts = [(model, "all" if group is None else group)[: len(names)] for model, group in lines]
        cells = [[*first, *row.cells] for first, row in zip(firsts, block, strict=True)]
        parts += [_title(block[0].metric, metric), *output.grid(head, cells, names), ""]
    meanings = {**_COLUMNS, interval: "of expected, from the label errors alone"}
    meanings |= {"observed": _OF_LIMITS} if LIMITS_COUNT in result.assumed else {}
    return out.screen(*parts[:-1], meanings=meanings)


def _title(about: MetricData, metric: str) -> Text:
    """Name, options, direction and unit of a metric."""
    title = f"{about.title} {metric.removeprefix(about.name)}".strip()
    parts = [about.direction, *([f"in {about.unit}"] if about.unit else []), about.labels]
    return Text.assemble((title, "bold"), (f"  {', '.join(parts)}", "dim"))


def _require_no_memory_needed(columns: opt.ColumnOptions, positive: str | None, report: Path | None) -> None:
    """Refuse what needs all labels at once."""
    if columns.supposed.changes:
        raise output.Failure("supposing other errors or rows needs all labels in memory: add --no-stream.")
    if positive is not None:
        raise output.Failure("--positive is for files read as a whole: add --no-stream.")
    if report:
        raise output.Failure("--report needs all labels in memory: add --no-stream, or take a sample of the file.")


def _streamed(
    source: TableSource,
    roles: Roles,
    options: opt.ColumnOptions,
    metrics: Sequence[opt.AskedMetric] | None,
    quiet: bool,
) -> sb.Evaluation:
    """The evaluation of a file that is read in pieces."""
    files = files_in_pieces(source)
    if files is None:
        raise output.Failure(f"{source.name} cannot be streamed: only CSV, Parquet and Feather files can.")
    labels = _labels_to_stream(source, roles)
    models = {printable(model): column for column, model in roles.models().items()}
    if len(models) < len(roles.predictions):
        raise output.Failure("two models have names that look the same. Rename their columns.")
    # whole numbers of a few values are measured here, for later rows may hold others
    task = options.task or task_of({labels: source.first_rows()[labels]}, roles)[0]
    try:
        result = sb.evaluate(
            dataset_of(files, roles.numbers(task)),
            y=labels,
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
            raise output.Failure(f"{what}; add --no-stream to read all of it into memory.") from why
        for file in files:
            file.say_what_is_wrong(str(why))
        raise output.Failure(_as_shown_here(str(why), files)) from why
    if result.omitted and not quiet:
        opt.note_omitted(result.omitted, result.n)
    return result


def _labels_to_stream(source: TableSource, roles: Roles) -> str:
    """The column of labels; refuses what needs more than one pass, or more than one column of errors."""
    if isinstance(roles.yerr, tuple) or roles.percent or roles.in_cells or roles.cov or roles.model or roles.y is None:
        raise output.Failure(
            "--stream takes labels with one column of errors or one number: add --no-stream for anything else."
        )
    if marks_limits(source, roles.y):
        raise output.Failure(
            f"a column of {source.name} may mark which labels are limits, which tell about the truth only all together: add "
            "--no-stream."
        )
    if roles.members or not roles.predictions:
        raise output.Failure(
            "--stream takes a column of predictions for each model: add --no-stream, or say --members none."
        )
    if roles.by is not None:
        raise output.Failure("--by needs all labels in memory: leave it out (--by none), or add --no-stream.")
    if roles.gold is not None:
        raise output.Failure(
            f"gold labels ({roles.gold}) need all labels in memory: add --no-stream, or say --gold none."
        )
    if roles.groups is not None:
        raise output.Failure("--groups needs all labels in memory: leave it out, or add --no-stream.")
    return roles.y


def _as_shown_here(why: str, files: Sequence[ArrowFile]) -> str:
    """A message about a row of the dataset as one about a row, and for a text a line, of a file."""

    def place(found: re.Match[str]) -> str:
        file = next(file for file in files if str(file.path) == found[2])
        inside = file.place(int(found[1]))
        return inside if len(files) == 1 or file.name in inside else f"{inside} of {file.name}"

    paths = "|".join(re.escape(str(file.path)) for file in files)
    why = re.sub(rf"row \d+ of the dataset \(row (\d+) of ({paths})\)", place, why)
    return why.replace("nan_policy='omit'", "--nan-policy omit")
