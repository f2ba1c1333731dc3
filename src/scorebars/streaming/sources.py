"""Labels that come in pieces: rows of files, of Arrow datasets, tables and readers, and which columns hold what.

Sources know nothing of what is done with the rows. Types are chosen so that nothing is lost, and errors name column, row and
file.
"""

from __future__ import annotations

import copy
import numbers
import os
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars import tables
from scorebars.errors import ErrorModel
from scorebars.evaluation.study_data import (
    SeveralColumns,
    columns_named,
    error_columns,
    predicted_columns,
    put_together,
)
from scorebars.files.formats import (
    Mark,
    column_values,
    dataset_of,
    files_in_pieces,
    marks_of,
    opened,
    require_unchanged,
)
from scorebars.files.problem import said_for_python
from scorebars.streaming.batches import argument_of

ROWS = 1 << 20
"""Rows of a batch: enough that the cost of a batch is small, few enough that several fit in little memory."""
FIRST = 1000
"""This many first rows decide whether whole numbers are classes."""
_STEP = 1 << 16
"""Bytes of a column that are read at a time."""
_TEXT = ("csv", "json")
"""Formats whose column types are guessed from the first rows."""
_COLUMN = "put them in a column of the data, and give yerr the name of that column."


# which columns hold what -------------------------------------------------------------------------


@dataclass(frozen=True)
class Columns:
    """The columns of labels, of each model's predictions, of errors and of weights."""

    y: Any
    models: dict[str, Any]
    yerr: Any
    weight: Any
    errors: Any
    """The label errors where one value serves all labels instead of a column."""

    @classmethod
    def of(cls, known: Iterable[Any], y: Hashable, pred: Any, yerr: Any, sample_weight: Any) -> Columns:
        """The columns that the arguments name; a name that the data do not have is refused."""
        known = list(known)
        models, arguments = predicted_columns(pred, known)
        column = yerr if isinstance(yerr, str) else None
        if sample_weight is not None and not isinstance(sample_weight, str):
            raise ValueError(
                f"sample_weight must be the name of a column, not a {type(sample_weight).__name__}: labels come in pieces, "
                "and nothing tells which weights belong to which. Put them in a column of the data."
            )
        named = {"y": y}
        for argument, given in zip(arguments, models.values(), strict=True):
            named |= columns_named(argument, given)
        named |= {"yerr": column, "sample_weight": sample_weight}
        named |= {f"yerr[{k}]": name for k, name in enumerate(error_columns(yerr) or ())}
        for argument, name in named.items():
            if not isinstance(name, Hashable):
                raise ValueError(f"{argument} must be the name of a column, not a {type(name).__name__}.")
            if name is not None and name not in known:
                raise ValueError(
                    f"{argument} names a column {name!r} that the data do not have. {tables.near_names(name, known)}"
                )
            if known.count(name) > 1:
                raise ValueError(
                    f"{argument} names a column {name!r} that occurs {known.count(name)} times: rename them."
                )
        if error_columns(yerr):
            raise ValueError(
                f"yerr names two columns, {' and '.join(map(repr, yerr))}: lower and upper errors cannot be summed up piece by "
                "piece. Name one column of standard deviations, or read the columns into a table in memory."
            )
        return cls(y, models, column, sample_weight, None if column is not None else for_all_labels(yerr, _COLUMN))

    @property
    def names(self) -> list[Any]:
        """All columns, each once."""
        predicted = [name for given in self.models.values() for name in columns_named("", given).values()]
        return list(dict.fromkeys([self.y, *predicted, *self.numbers]))

    def task(self) -> str | None:
        """What the columns say of it: a mean with its spread is a forecast; None where each model has one column."""
        several = {model: given for model, given in self.models.items() if isinstance(given, SeveralColumns)}
        for model, given in several.items():
            if not given.pair:
                raise ValueError(
                    f"pred[{model!r}] names {len(given.names)} columns: members or quantiles? Say metrics='crps' for members, "
                    "or metrics=functools.partial(scorebars.mean_pinball_loss, alpha=[...]) for quantiles at these levels."
                )
        return "forecast" if several else None

    @property
    def numbers(self) -> list[Any]:
        """The columns that hold numbers even where the labels are classes."""
        return [name for name in (self.yerr, self.weight) if name is not None]

    def arguments(self, arrays: Mapping[Any, Any]) -> dict[str, Any]:
        """The columns of a piece as the arguments of `Accumulator.update`."""
        return {
            "y_true": arrays[self.y],
            "y_pred": {model: self.of_model(model, arrays) for model in self.models},
            "yerr": self.errors if self.yerr is None else arrays[self.yerr],
            "sample_weight": None if self.weight is None else arrays[self.weight],
        }

    def of_model(self, model: str, columns: Mapping[Any, Any]) -> Any:
        """The predictions of a model, of one column or several."""
        given = self.models[model]
        return put_together(given, [columns[name] for name in columns_named("", given).values()])

    def by_column(self, message: str) -> str:
        """A message about an argument as one about its column."""
        called = {"y_true": self.y, "yerr": self.yerr, "sample_weight": self.weight}
        called |= {argument_of(model, self.models): name for model, name in self.models.items()}
        argument, space, rest = message.partition(" ")
        name = called.get(argument)
        if name is None:
            return message
        what = f"the table of columns {name}" if isinstance(name, SeveralColumns) else f"column {name!r}"
        return f"{what}{space}{rest}"


@contextmanager
def reworded(words: Callable[[str], str]) -> Iterator[None]:
    """Errors of bad values in other words."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as why:
        kind = next(kind for kind in (ValueError, TypeError, OverflowError) if isinstance(why, kind))
        raise kind(words(str(why))) from None


def for_all_labels(yerr: Any, instead: str) -> Any:
    """Label errors that are the same for all labels: none, a number, or a model of one parameter.

    What has an entry for each label is refused, for labels come in pieces: `instead` says what to do.
    """
    if isinstance(yerr, ErrorModel):
        if yerr.size is None:
            return yerr
        what = f"a {type(yerr).__name__} of {yerr.size} labels"
    elif yerr is None or isinstance(yerr, numbers.Real) or (isinstance(yerr, np.ndarray) and yerr.ndim == 0):
        return yerr
    else:
        what = f"a {type(yerr).__name__}"
    raise ValueError(
        f"yerr is {what}, but labels come in pieces, and nothing tells which errors belong to which: {instead}"
    )


# rows ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a batch lies: its first row in the dataset, and in its file."""

    row: int = 0
    file: str = ""
    """"" for rows that are in no file."""
    row_in_file: int = 0
    left: NDArray[np.intp] | None = None
    """Which rows of the batch were kept, where some miss a value and were left out."""

    def after(self, rows: int, file: str | None = None) -> Place:
        """The place of the batch that follows `rows` rows, in the same file or in another one."""
        in_file = self.row_in_file + rows if file is None or file == self.file else 0
        return Place(self.row + rows, self.file if file is None else file, in_file)

    def of(self, index: int) -> str:
        """In words, the place of one row of the batch."""
        index = index if self.left is None else int(self.left[index])
        file = f" (row {self.row_in_file + index} of {self.file})" if self.file else ""
        return f"row {self.row + index} of the dataset{file}"

    def named(self, message: str) -> str:
        """A message about an index in the batch as one about a row."""
        message = re.sub(r"\bat index (\d+)", lambda found: f"in {self.of(int(found[1]))}", message, count=1)
        return re.sub(r", (\d+) in all\.", r", \1 in this batch.", message, count=1)


class Piece(NamedTuple):
    """Some rows, to be read when they are needed."""

    rows: int
    place: Place
    batches: Callable[[], Iterable[Any]]


class Source:
    """What is read: a dataset, or a reader, which can only be read once."""

    def __init__(self, data: Any) -> None:
        self._data, self._before = _opened(data)
        self.schema = self._data.schema
        self._kept: Any = None
        """The batch of a reader that was looked at before the pass."""

    def first_rows(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """The first rows of some columns; of a reader they are kept for the pass."""
        import pyarrow as pa

        if not hasattr(self._data, "read_next_batch"):
            try:
                rows = self._data.head(FIRST, columns=list(names))
            except pa.ArrowInvalid:  # later rows of a text show that not all numbers are whole
                fields = [pa.field(f.name, pa.float64()) if pa.types.is_integer(f.type) else f for f in self.schema]
                first = next(iter(self._data.get_fragments()))
                rows = first.scanner(schema=pa.schema(fields), columns=list(names)).head(FIRST)
        else:
            self._kept = next(iter(self._data), self.schema.empty_table())
            rows = self._kept[:FIRST]
        return {name: column_values(rows.column(name), name, "the data") for name in names}

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse what is read meanwhile if a file is no longer the one that was opened."""
        try:
            yield
        except Exception:
            require_unchanged(self._before)
            raise
        require_unchanged(self._before)

    def rows(self) -> int | None:
        """How many rows there are, where the footers of Parquet files tell; None where only reading would."""
        return int(self._data.count_rows()) if _format_name(self._data) == "parquet" else None

    def pieces(self, names: Sequence[str], numbers: Collection[str]) -> Iterator[Piece]:
        """All rows of some columns, in order.

        Row groups of Parquet files on a local disk are read by whoever takes them: so several are read at once, and no
        rows wait in memory. Other rows are read here, file by file: a scan of all files at once reads ahead without
        bounds. Of text files, `numbers` are read as floating numbers even where the first rows hold whole ones.
        """
        place, rows = Place(), 0
        for file, count, batches in self._parts(names, numbers):
            place, rows = place.after(rows, file), count
            yield Piece(rows, place, batches)

    def _parts(self, names: Sequence[str], numbers: Collection[str]) -> Iterator[_Part]:
        if hasattr(self._data, "read_next_batch"):
            kept = () if self._kept is None else (self._kept,)
            yield from (_read(batch.select(names), None) for batch in chain(kept, self._data))
            return
        options: dict[str, Any] = {"columns": list(names), "batch_size": ROWS, "batch_readahead": 2}
        try:
            fragments = list(self._data.get_fragments())
        except ValueError:  # a filtered dataset has no files of its own
            yield from self._filtered(names, options)
            return
        schema = self._types(fragments, names, numbers)
        for fragment in fragments:
            if _format_name(fragment) == "parquet" and fragment.filesystem.type_name == "local":
                yield from _row_groups(fragment, schema, options)
                continue
            with _readable(getattr(fragment, "path", ""), schema, names):
                if _format_name(fragment) == "csv" and set(names) <= set(fragment.physical_schema.names):
                    batches = _of_text(fragment, schema, names)
                else:
                    batches = fragment.to_batches(schema=schema, **options, **_verified(_format_name(fragment)))
                yield from (_read(batch, fragment) for batch in batches)

    def _filtered(self, names: Sequence[str], options: dict[str, Any]) -> Iterator[_Part]:
        schema = self._types(list(_files_of(self._data)), names, ())
        for name in names:
            if schema.field(name).type != self.schema.field(name).type:
                raise ValueError(
                    f"column {name!r} is of type {self.schema.field(name).type} in the first file, but holds "
                    f"{schema.field(name).type} in others. Make the dataset with a schema before it is filtered: "
                    "pyarrow.dataset.dataset(path, schema=...).filter(...)."
                )
        with _readable("", schema, names):
            options |= _verified(_format_name(self._data))
            tagged = self._data.scanner(**options, fragment_readahead=1).scan_batches()
            yield from (_read(batch, fragment) for batch, fragment in tagged)

    def _types(self, fragments: Sequence[Any], names: Sequence[str], numbers: Collection[str]) -> Any:
        """The schema with the columns' types widened to what all files hold; a dataset takes the types of its first file."""
        import pyarrow as pa

        schema = self.schema
        for name in names:
            kind = schema.field(name).type
            for fragment in fragments:
                place = fragment.physical_schema.get_field_index(name)
                if place >= 0:
                    kind = _common(name, kind, fragment.physical_schema.field(place).type, fragment)
                elif str(fragment.partition_expression) == "true" and hasattr(fragment, "path"):
                    raise ValueError(
                        f"column {name!r} is missing in {fragment.path}: it has {', '.join(fragment.physical_schema.names)}. "
                        "All files need the same columns."
                    )
            whole = pa.types.is_integer(kind) or pa.types.is_null(kind)
            if whole and name in numbers and any(_format_name(fragment) in _TEXT for fragment in fragments):
                kind = pa.float64()
            schema = schema.set(schema.get_field_index(name), pa.field(name, kind))
        return schema


_Part = tuple[str, int, Callable[[], Iterable[Any]]]
"""The file, the number of rows, and how their batches are read."""


def _read(batch: Any, fragment: Any) -> _Part:
    """Rows that have been read already."""
    return str(getattr(fragment, "path", "")), batch.num_rows, lambda: (batch,)


def _of_text(fragment: Any, schema: Any, names: Sequence[str]) -> Any:
    """The batches of a delimited text, one after the other: a scan of the same file reads ahead without bounds."""
    import pyarrow.csv as pc

    scan = fragment.format.default_fragment_scan_options
    read, convert = (
        (pc.ReadOptions(), pc.ConvertOptions()) if scan is None else (scan.read_options, scan.convert_options)
    )
    convert = copy.copy(convert)
    convert.column_types = {name: schema.field(name).type for name in names}
    convert.include_columns = list(names)
    stream = fragment.filesystem.open_input_stream(fragment.path)  # decompressed by the ending of its name
    return pc.open_csv(stream, read_options=read, parse_options=fragment.format.parse_options, convert_options=convert)


def _row_groups(fragment: Any, schema: Any, options: dict[str, Any]) -> Iterator[_Part]:
    """Row groups of a Parquet file, together as many as make up a batch."""
    ids: list[list[int]] = []
    rows: list[int] = []
    for group in fragment.row_groups:
        if not ids or rows[-1] + group.num_rows > ROWS:
            ids.append([])
            rows.append(0)
        ids[-1].append(group.id)
        rows[-1] += group.num_rows
    for some, number in zip(ids, rows, strict=True):
        yield fragment.path, number, partial(_of_row_groups, fragment, some, schema, options)


def _of_row_groups(fragment: Any, ids: list[int], schema: Any, options: dict[str, Any]) -> Iterator[Any]:
    """Their batches, read a little at a time, and as far as possible on the thread that asks for them."""
    import pyarrow.parquet as pq

    names = options["columns"]
    held = {field.name: field.type for field in fragment.physical_schema}
    with _readable(fragment.path, schema, names):
        if all(held.get(name) == schema.field(name).type for name in names):
            steps = {"buffer_size": _STEP, "pre_buffer": False, "page_checksum_verification": True}
            with pq.ParquetFile(
                fragment.path, filesystem=fragment.filesystem, metadata=fragment.metadata, **steps
            ) as file:
                yield from file.iter_batches(ROWS, row_groups=ids, columns=names, use_threads=False)
            return
        small = _verified("parquet", use_buffered_stream=True, buffer_size=_STEP, pre_buffer=False)
        part = fragment.subset(row_group_ids=ids)
        yield from part.to_batches(schema=schema, use_threads=False, **small, **options)


def _verified(format_name: str, **options: Any) -> dict[str, Any]:
    """How a scan of Parquet files verifies the checksums of pages, where they have any; nothing for other files."""
    import pyarrow.dataset as pads

    if format_name != "parquet":
        return {}
    return {"fragment_scan_options": pads.ParquetFragmentScanOptions(page_checksum_verification=True, **options)}


def arrays_of(batch: Any, names: Sequence[str], place: Place, omit: bool) -> tuple[dict[str, NDArray[Any]], Place]:
    """The columns of a batch as arrays, and the place of their rows; rows that miss a value are refused, or left out."""
    import pyarrow.compute as pc

    for name in names:
        column = batch.column(name)
        if column.null_count and not omit:
            first = int(np.argmax(pc.is_null(column).to_numpy(zero_copy_only=False)))
            raise ValueError(
                f"column {name!r} has missing values: the first in {place.of(first)}, {column.null_count} in this batch. "
                "Remove these rows: dataset.filter(...), or leave them out: nan_policy='omit'."
            )
    if omit:
        missing = [pc.is_null(batch.column(name), nan_is_null=True).to_numpy(zero_copy_only=False) for name in names]
        left = np.flatnonzero(~np.any(missing, axis=0))
        if left.size < batch.num_rows:
            batch, place = batch.take(left), replace(place, left=left)
    return {name: column_values(batch.column(name), name, place.file or "the data") for name in names}, place


def _opened(data: Any) -> tuple[Any, dict[str, Mark | None]]:
    """A dataset, the one of a table or of the files at a path, or a reader; and the marks of the files."""
    try:
        import pyarrow as pa
        import pyarrow.dataset as pads
    except ImportError as why:
        raise ImportError("reading files needs pyarrow: pip install 'scorebars[arrow]'") from why
    if isinstance(data, pa.Table | pa.RecordBatch):
        return pads.dataset(data), {}
    if isinstance(data, pads.Dataset | pa.RecordBatchReader):
        return data, marks_of(_local_paths(data))
    if not isinstance(data, str | os.PathLike):
        raise TypeError(
            f"dataset is a {type(data).__name__}: give the path of a Parquet, CSV or Feather file or of a folder of them, or a "
            "Dataset, Table or RecordBatchReader of pyarrow."
        )
    path = os.fspath(data)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file or folder {path!r}.")
    with said_for_python(), opened(path) as source:
        files = files_in_pieces(source)
        if files is None:
            raise ValueError(f"{path!r} cannot be read in pieces: only Parquet, Feather and delimited text can.")
        return dataset_of(files), marks_of(file.path for file in files)


def _local_paths(data: Any) -> list[str]:
    """The files on this machine that a dataset is made of."""
    local = getattr(getattr(data, "filesystem", None), "type_name", "") == "local"
    own = list(data.files) if local else []
    return own + [path for child in getattr(data, "children", ()) for path in _local_paths(child)]


def _files_of(data: Any) -> Iterator[Any]:
    """The files of a dataset, whatever its filter."""
    for child in getattr(data, "children", ()):
        yield from _files_of(child)
    for path in getattr(data, "files", ()):
        yield data.format.make_fragment(path, data.filesystem)


def _format_name(fragment: Any) -> str:
    return str(getattr(getattr(fragment, "format", None), "default_extname", ""))


def _common(name: str, one: Any, other: Any, fragment: Any) -> Any:
    """A type that holds the values of both."""
    import pyarrow as pa

    if one == other:
        return one
    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, other)]
    schemas = [pa.schema([pa.field(name, kind)]) for kind in plain]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise ValueError(
            f"column {name!r} is of type {other} in {getattr(fragment, 'path', 'one part')}, but of type {one} before: write "
            "all files with the same types."
        ) from None


@contextmanager
def _readable(file: str, schema: Any, names: Sequence[str]) -> Iterator[None]:
    """Errors of reading name the file and the types that were expected."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowInvalid as why:
        expected = ", ".join(f"{name!r} as {schema.field(name).type}" for name in names)
        raise ValueError(
            f"{file or 'the dataset'} cannot be read: {why}. The columns are read by the types of the first rows, "
            f"{expected}: correct the file, or pass pyarrow.dataset.dataset(path, schema=...) with types that hold all "
            "values."
        ) from None
    except OSError as why:
        said = str(why).rstrip(".")
        raise OSError(
            f"{file or 'the dataset'} cannot be read: {said}. The file is damaged or cut off: copy or write it again."
        ) from None


@contextmanager
def progress_bar(source: Source, wanted: bool) -> Iterator[Callable[[int], object]]:
    """A function to call with the number of rows done; it moves a bar on standard error where one is wanted."""
    if not wanted:
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
