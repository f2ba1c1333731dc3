"""Scores of data on disk that need not fit in memory: Parquet, CSV and Feather files, folders of them, Arrow datasets.

Batches are summed up on two threads while the next ones are read.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars import tables
from scorebars.studies.accumulate import Accumulator
from scorebars.studies.batch import KEPT
from scorebars.studies.evaluate import Evaluation

_ROWS = 3 << 17
"""Of a batch: enough that a batch's own cost does not count, few enough that several fit in little memory."""
_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".feather": "feather", ".arrow": "feather"}


def evaluate_dataset(
    dataset: Any,
    *,
    y: str,
    pred: str | Sequence[str],
    yerr: Any = None,
    sample_weight: str | None = None,
    metrics: Any = None,
    task: str | None = None,
    progress: bool = False,
) -> Evaluation:
    """How good are these models, on labels that need not fit in memory?

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset, or path
        A dataset, or the path of a Parquet, CSV or Feather file, or of a folder of such files.
    y, pred : names
        The column of labels, and the column or columns of predictions.
    yerr : name, number or error model, optional
        The column of label errors, or what serves all labels.
    sample_weight : name, optional
        The column of weights.
    metrics, task :
        As in `Accumulator`.
    progress : bool
        Show how far the pass is.
    """
    total = Accumulator(metrics, task=task)
    read_into(total, dataset, y=y, pred=pred, yerr=yerr, sample_weight=sample_weight, progress=progress)
    if total.n == 0:
        raise ValueError("the dataset has no rows: at least one label is needed.")
    return total.result()


def read_into(
    total: Accumulator,
    dataset: Any,
    *,
    y: str,
    pred: str | Sequence[str],
    yerr: Any = None,
    sample_weight: str | None = None,
    progress: bool = False,
) -> Accumulator:
    """Take all rows of a dataset into an accumulator."""
    source = open_dataset(dataset)
    columns = Columns(source, y, pred, yerr, sample_weight)
    place = Place()
    with Lanes(total) as lanes:
        for tagged in _with_progress(source, columns.names, progress):
            lanes.take(columns, tagged.record_batch, place.after(tagged))
            place = place.next(tagged)
    return total


class Lanes:
    """Two accumulators that take turns, each on a thread of its own: summing up costs more than reading.

    Which batch goes where depends on the batches alone, so the result has the same bits in every run. Few labels all go
    to the first, in their order.
    """

    def __init__(self, total: Accumulator) -> None:
        self._lanes = [total, Accumulator(total.metrics, task=total.task)]
        self._threads = [ThreadPoolExecutor(1, thread_name_prefix="scorebars") for _ in self._lanes]
        self._waiting: deque[Future[None]] = deque()
        self._turn = self._rows = 0

    def __enter__(self) -> Lanes:
        return self

    def take(self, columns: Columns, batch: Any, place: Place) -> None:
        """Sum up a batch as soon as its lane is free; an error shows with one of the next batches."""
        lane, self._turn = self._turn, (1 - self._turn if self._rows > KEPT else 0)
        self._rows += batch.num_rows
        self._waiting.append(self._threads[lane].submit(columns.update, self._lanes[lane], batch, place))
        while len(self._waiting) > len(self._lanes):
            self._waiting.popleft().result()

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        try:
            while self._waiting and failed is None:
                self._waiting.popleft().result()
        finally:
            for thread in self._threads:
                thread.shutdown(cancel_futures=True)
        if failed is None:
            self._lanes[0].merge(self._lanes[1])


def open_dataset(dataset: Any) -> Any:
    """A dataset as it is, or that of the files at a path."""
    if not isinstance(dataset, str | os.PathLike):
        return dataset
    try:
        import pyarrow.dataset as pads
    except ImportError as why:
        raise ImportError("reading files needs pyarrow: pip install 'scorebars[arrow]'") from why
    path = os.fspath(dataset)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file or folder {path!r}.")
    return pads.dataset(path, format=_format_of(path))


def _format_of(path: str) -> str:
    """By the ending of the file, or of the files in the folder."""
    if os.path.isdir(path):
        names = [name for _, _, files in os.walk(path) for name in files if not name.startswith((".", "_"))]
    else:
        names = [path]
    endings = {os.path.splitext(name)[1].lower() for name in names}
    formats = {_FORMATS[ending] for ending in endings if ending in _FORMATS}
    if len(formats) != 1 or not endings <= set(_FORMATS):
        found = ", ".join(sorted(ending or "no ending" for ending in endings)) or "no files"
        raise ValueError(
            f"{path!r} holds {found}: one kind of file is needed, Parquet (.parquet), CSV (.csv) or Feather (.feather). Pass "
            "a pyarrow.dataset.dataset for anything else."
        )
    return formats.pop()


@dataclass(frozen=True)
class Place:
    """Where a batch lies: its first row in the dataset, and in its file."""

    row: int = 0
    file: str = ""
    row_in_file: int = 0

    def after(self, tagged: Any) -> Place:
        """The place of this batch, if the last one ended here."""
        file = str(getattr(tagged.fragment, "path", ""))
        return Place(self.row, file, self.row_in_file if file == self.file else 0)

    def next(self, tagged: Any) -> Place:
        """Where this batch ends."""
        here, rows = self.after(tagged), tagged.record_batch.num_rows
        return Place(here.row + rows, here.file, here.row_in_file + rows)

    def of(self, index: int) -> str:
        """In words, the place of one row of the batch."""
        file = f" (row {self.row_in_file + index} of {self.file})" if self.file else ""
        return f"row {self.row + index} of the dataset{file}"


class Columns:
    """Which columns of a dataset hold what."""

    def __init__(self, source: Any, y: str, pred: str | Sequence[str], yerr: Any, sample_weight: Any) -> None:
        self.models = [pred] if isinstance(pred, str) else list(pred)
        self.y, self.yerr, self.weight = y, yerr, sample_weight
        if not self.models:
            raise ValueError("pred is empty: name the columns that hold the predictions.")
        named = {"y": y, **{f"pred[{k}]": name for k, name in enumerate(self.models)}}
        if isinstance(yerr, str):
            named["yerr"] = yerr
        if sample_weight is not None:
            if not isinstance(sample_weight, str):
                raise ValueError("sample_weight must be the name of a column of the dataset.")
            named["sample_weight"] = sample_weight
        known = list(source.schema.names)
        for argument, name in named.items():
            if name not in known:
                raise ValueError(
                    f"{argument} names a column {name!r} that the dataset does not have. {tables._hint(name, known)}"
                )
        self.names = list(dict.fromkeys(named.values()))

    def update(self, total: Accumulator, batch: Any, place: Place) -> None:
        """Take a batch into an accumulator."""
        arrays = {name: _array(batch.column(name), name, place) for name in self.names}
        yerr = arrays[self.yerr] if isinstance(self.yerr, str) else self.yerr
        weight = None if self.weight is None else arrays[self.weight]
        try:
            total.update(arrays[self.y], {m: arrays[m] for m in self.models}, yerr=yerr, sample_weight=weight)
        except ValueError:
            self._explain(arrays, place)
            raise

    def _explain(self, arrays: dict[str, NDArray[Any]], place: Place) -> None:
        """Say which row of the dataset cannot be used, where that is the reason."""
        for name, values in arrays.items():
            if values.dtype.kind != "f":
                continue
            bad, what = ~np.isfinite(values), "a value that is not finite"
            if not bad.any() and name in (self.yerr, self.weight):
                bad, what = values < 0, "a negative value"
            if bad.any():
                first = int(np.argmax(bad))
                raise ValueError(
                    f"column {name!r} has {what}: the first is {values[first]} in {place.of(first)}, {int(bad.sum())} in this "
                    "batch. Remove these rows: dataset.filter(...)."
                )


def _array(column: Any, name: str, place: Place) -> NDArray[Any]:
    """A column of a batch as an array; missing values are refused by the row that they are in."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        first = int(np.argmax(pc.is_null(column).to_numpy(zero_copy_only=False)))
        raise ValueError(
            f"column {name!r} has missing values: the first in {place.of(first)}, {column.null_count} in this batch. "
            "Remove these rows: dataset.filter(...)."
        )
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = pc.cast(column, pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _with_progress(source: Any, names: list[str], progress: bool) -> Iterator[Any]:
    """All batches with their files, only the named columns, with a bar on the terminal where one is asked for."""
    batches = _batches(source, names)
    if not progress:
        yield from batches
        return
    try:
        from rich.progress import Progress
    except ImportError as why:
        raise ImportError("progress=True needs rich: pip install 'scorebars[rich]'") from why
    parquet = getattr(getattr(source, "format", None), "default_extname", "") == "parquet"
    with Progress(transient=True) as bar:
        # the footers of Parquet files know the number of rows; elsewhere counting would be reading
        task = bar.add_task("scoring", total=source.count_rows() if parquet else None)
        for tagged in batches:
            yield tagged
            bar.advance(task, tagged.record_batch.num_rows)


class Tagged(NamedTuple):
    """A batch and the file that it comes from."""

    record_batch: Any
    fragment: Any


def _batches(source: Any, names: list[str]) -> Iterator[Any]:
    """File by file: a scan of all files at once reads ahead without bounds."""
    options = {"columns": names, "batch_size": _ROWS, "batch_readahead": 2}
    try:
        fragments = list(source.get_fragments())
    except ValueError:  # a filtered dataset has no files of its own
        yield from source.scanner(**options, fragment_readahead=1).scan_batches()
        return
    for fragment in fragments:
        for batch in fragment.to_batches(schema=source.schema, **options):
            yield Tagged(batch, fragment)
