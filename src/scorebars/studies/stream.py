"""Scores of data on disk that need not fit in memory: Parquet, CSV and Feather files, folders of them, Arrow datasets.

Several threads read and sum up, each a piece of the rows at a time.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.engines.config import one_thread, threads
from scorebars.studies.accumulate import Accumulator
from scorebars.studies.arrow_source import Piece, Source, to_numpy
from scorebars.studies.batch import KEPT
from scorebars.studies.columns import Columns, reworded
from scorebars.studies.evaluate import Evaluation
from scorebars.studies.task import guess_task

LANES = 4
"""More threads than these do not help."""


def evaluate_dataset(
    dataset: Any,
    *,
    y: str,
    pred: Any,
    yerr: Any = None,
    sample_weight: str | None = None,
    metrics: Any = None,
    task: str | None = None,
    progress: bool = False,
) -> Evaluation:
    """How good are these models, on labels that need not fit in memory?

    Parameters
    ----------
    dataset : Dataset, Table or RecordBatchReader of pyarrow, or path
        Or the path of a Parquet, CSV or Feather file, or of a folder of such files.
    y, pred : names
        The column of labels, and the column or columns of predictions, or a mapping from model to column.
    yerr : name, number or error model, optional
        The column of label errors, or what serves all labels.
    sample_weight : name, optional
        The column of weights.
    metrics : optional
        As in `Accumulator`.
    task : {"regression", "classification"}, optional
        Where `metrics` is left out; guessed from the first rows.
    progress : bool
        Show how far the pass is.
    """
    source = Source(dataset)
    columns = Columns.of(source.schema.names, y, pred, yerr, sample_weight)
    if task is None and metrics is None:
        first = source.first_rows(
            [str(name) for name in (y, *columns.models.values(), columns.yerr) if name is not None]
        )
        errors = columns.errors if columns.yerr is None else first[str(columns.yerr)]
        task = guess_task(first[y], errors, [first[str(name)] for name in columns.models.values()])
    total = Accumulator(metrics, task=task)
    _read(total, source, columns, progress)
    if total.n == 0:
        raise ValueError("the dataset has no rows: at least one label is needed.")
    return total.result()


def read_into(
    total: Accumulator,
    dataset: Any,
    *,
    y: str,
    pred: Any,
    yerr: Any = None,
    sample_weight: str | None = None,
    progress: bool = False,
) -> Accumulator:
    """Take all rows of a dataset into an accumulator; after an error it holds what it held before."""
    source = Source(dataset)
    return _read(total, source, Columns.of(source.schema.names, y, pred, yerr, sample_weight), progress)


def _read(total: Accumulator, source: Source, columns: Columns, progress: bool) -> Accumulator:
    numbers = columns.names if total.task == "regression" else columns.numbers
    place = Place()
    with _bar(source, progress) as advance, Lanes(total, advance) as lanes:
        for piece in source.pieces(columns.names, numbers):
            place = place.in_file(piece.file)
            lanes.take(columns, piece, place)
            place = place.after(piece.rows)
    return total


class Lanes:
    """Accumulators that take turns, each working on one piece of the rows at a time, on several threads.

    Which piece goes where depends on the pieces alone, so the result has the same bits in every run and on any number of
    threads. Few labels all go to the first, in their order. Only when all went well does the accumulator that they work
    for take them over.
    """

    def __init__(self, total: Accumulator, advance: Callable[[int], object]) -> None:
        self._total, self._advance = total, advance
        self._lanes = [total.copy(), *(Accumulator(total.metrics, task=total.task) for _ in range(LANES - 1))]
        self._threads = min(threads(), LANES)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="scorebars")
        self._working: deque[Future[None]] = deque()
        self._turn = self._rows = 0

    def __enter__(self) -> Lanes:
        return self

    def take(self, columns: Columns, piece: Piece, place: Place) -> None:
        """Sum up a piece as soon as a thread is free; an error shows with one of the next pieces."""
        lane = self._turn
        self._rows += piece.rows
        self._turn = (lane + 1) % LANES if self._rows > KEPT else 0
        self._working.append(self._pool.submit(self._update, self._lanes[lane], columns, piece, place))
        others = 0 if self._turn == lane else min(self._threads, LANES - 1)  # that may go on: never two of one lane
        while len(self._working) > others:
            self._working.popleft().result()

    def _update(self, total: Accumulator, columns: Columns, piece: Piece, place: Place) -> None:
        for batch in piece.batches():
            _update(total, columns, batch, place)
            place = place.after(batch.num_rows)
            self._advance(batch.num_rows)

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        try:
            while self._working and failed is None:
                self._working.popleft().result()
        finally:
            self._pool.shutdown(cancel_futures=True)
        if failed is None:
            first, *others = self._lanes
            for other in others:
                first = first.merge(other)
            self._total._become(first)


@dataclass(frozen=True)
class Place:
    """Where a batch lies: its first row in the dataset, and in its file."""

    row: int = 0
    file: str = ""
    row_in_file: int = 0

    def in_file(self, file: str) -> Place:
        """The place of a batch from a file, if the last one ended here."""
        return self if file == self.file else Place(self.row, file, 0)

    def after(self, rows: int) -> Place:
        """Where a batch that begins here ends."""
        return Place(self.row + rows, self.file, self.row_in_file + rows)

    def of(self, index: int) -> str:
        """In words, the place of one row of the batch."""
        file = f" (row {self.row_in_file + index} of {self.file})" if self.file else ""
        return f"row {self.row + index} of the dataset{file}"

    def named(self, message: str) -> str:
        """A message about an index in the batch as one about a row."""
        message = re.sub(r"\bat index (\d+)", lambda found: f"in {self.of(int(found[1]))}", message, count=1)
        return re.sub(r", (\d+) in all\.", r", \1 in this batch.", message, count=1)


def _update(total: Accumulator, columns: Columns, batch: Any, place: Place) -> None:
    """Take a batch into an accumulator; errors name column, row and file."""
    arrays = {name: _array(batch.column(name), name, place) for name in columns.names}
    try:
        with one_thread():  # the other lane has its own
            columns.update(total, arrays)
    except (ValueError, TypeError, OverflowError) as why:
        raise reworded(why, place.named(str(why))) from None


def _array(column: Any, name: str, place: Place) -> NDArray[Any]:
    """A column of a batch as an array; missing values are refused by the row that they are in."""
    import pyarrow.compute as pc

    if column.null_count:
        first = int(np.argmax(pc.is_null(column).to_numpy(zero_copy_only=False)))
        raise ValueError(
            f"column {name!r} has missing values: the first in {place.of(first)}, {column.null_count} in this batch. "
            "Remove these rows: dataset.filter(...)."
        )
    return to_numpy(column)


@contextmanager
def _bar(source: Source, progress: bool) -> Iterator[Callable[[int], object]]:
    """A function that tells of rows done; with a bar on standard error where one is asked for."""
    if not progress:
        yield lambda rows: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError as why:
        raise ImportError("progress=True needs rich: pip install 'scorebars[rich]'") from why
    with Progress(transient=True, console=Console(stderr=True)) as bar:
        task = bar.add_task("scoring", total=source.rows())
        yield lambda rows: bar.advance(task, rows)
