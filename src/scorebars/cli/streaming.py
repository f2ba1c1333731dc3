"""Files larger than memory: read in pieces, each added to an `Accumulator` and forgotten."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

import scorebars as sb
from scorebars.cli.arrow_files import ArrowFile, to_numpy
from scorebars.cli.console import note, printable
from scorebars.cli.failures import Failure
from scorebars.cli.labels import arranged, guess_task, no_complete_rows, no_rows
from scorebars.cli.metric_options import Metric, name_of
from scorebars.cli.options import ColumnOptions
from scorebars.cli.roles import Roles
from scorebars.cli.source import Array, Folder, Source

STREAM_ABOVE = 256 << 20
"""Bytes above which a file is streamed unless --no-stream is given."""


BATCH = 1 << 20
"""Rows of one piece."""


class Piece(Source):
    """Consecutive rows of a larger table."""

    def __init__(self, whole: Source, columns: dict[str, Array], start: int) -> None:
        self.name, self.columns, self.whole, self.held, self.start = whole.name, whole.columns, whole, columns, start

    def read(self, names: Sequence[str]) -> dict[str, Array]:
        return {name: self.held[name] for name in names}

    def place(self, row: int) -> str:
        return self.whole.place(self.start + row)


def streamed(source: Source, roles: Roles, options: ColumnOptions, metrics: Sequence[Metric] | None) -> tuple[Any, int]:
    """The evaluation of a file that is read in pieces, and how many rows were left out; groups are for data in memory."""
    files = _files(source)
    if roles.by is not None:
        raise Failure("--by needs all labels in memory: leave it out (--by none), or add --no-stream.")
    roles = replace(roles, id=None)
    task = options.task or _guess_task(files[0], roles)
    _require_summable(metrics, task)
    accumulator = sb.Accumulator(metrics, task=task)
    omitted = rows = 0
    with _bar(not options.quiet) as bar:
        work = bar.add_task(f"reading {printable(source.name)}", total=sum(file.rows() for file in files))
        for columns in _pieces(files, roles, task):
            length = len(columns[roles.y])
            if length == 0:
                continue
            data = arranged(Piece(source, columns, rows), roles, task=task, nan_policy=options.nan_policy)
            if data is not None:
                accumulator.update(data.y, data.predictions, yerr=data.yerr, sample_weight=data.weight)
            omitted += length if data is None else data.omitted
            rows += length
            bar.update(work, completed=rows)
    if rows == 0:
        raise no_rows(source)
    if omitted == rows:
        raise no_complete_rows(source, roles)
    if omitted and not options.quiet:
        note(f"{omitted} of {rows} rows have missing values and were left out, for every model.")
    return accumulator.result(), omitted


def _guess_task(file: ArrowFile, roles: Roles) -> str:
    """From the type of the labels in the first piece; whole numbers are measured, for later pieces may hold others."""
    first = next(file.batches([roles.y], [], BATCH), None)
    if first is None:
        return "regression"
    return guess_task({roles.y: to_numpy(first.column(roles.y), roles.y, file.name)}, roles)


def _require_summable(metrics: Sequence[Metric] | None, task: str) -> None:
    takes = sb.Accumulator.takes[task]
    for metric in map(name_of, metrics or ()):
        if metric not in takes:
            raise Failure(
                f"{metric} needs all labels at once. Of a file that is read in pieces there are: {', '.join(takes)}; "
                "add --no-stream to read all of it into memory."
            )


def _files(source: Source) -> list[ArrowFile]:
    parts = source.parts if isinstance(source, Folder) else [source]
    files = [part for part in parts if isinstance(part, ArrowFile)]
    if len(files) != len(parts):
        raise Failure(f"{source.name} cannot be streamed: only CSV, Parquet and Feather files can.")
    return files


def _pieces(files: Sequence[ArrowFile], roles: Roles, task: str) -> Iterator[dict[str, Array]]:
    """Columns of one batch after the other; those that must be numbers are read as numbers from the start."""
    measured = (roles.y, *roles.predictions) if task == "regression" else ()
    numbers = [*measured, *roles.error_columns, *([roles.weight] if roles.weight else [])]
    names = roles.used
    for file in files:
        for batch in file.batches(names, numbers, BATCH):
            yield {name: to_numpy(batch.column(name), name, file.name) for name in names}


def _bar(wanted: bool) -> Progress:
    """A progress bar on standard error, only where that is a terminal."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not (wanted and sys.stderr.isatty()))
