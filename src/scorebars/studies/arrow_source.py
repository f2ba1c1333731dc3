"""Rows of files, of Arrow datasets, tables and readers, batch by batch: opened, with types that lose nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROWS = 1 << 20
"""Of a batch: enough that a batch's own cost does not count, few enough that several fit in little memory."""
_STEP = 1 << 16
"""Bytes of a column that are read at a time."""
FIRST = 1000
"""So many rows tell whether whole numbers are classes."""
_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".feather": "feather", ".arrow": "feather"}
_TEXT = ("csv", "json")
"""Of these files the types of columns are guessed from the first rows."""


class Piece(NamedTuple):
    """Some rows, to be read when they are needed."""

    rows: int
    file: str
    """Where they lie; "" for rows that are in no file."""
    batches: Callable[[], Iterable[Any]]


class Source:
    """What is read: a dataset, or a reader, which can be read once."""

    def __init__(self, data: Any) -> None:
        self._data = _opened(data)
        self.schema = self._data.schema
        self._kept: Any = None
        """The batch of a reader that was looked at before the pass."""

    def first_rows(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """The first rows of some columns; of a reader they are kept for the pass."""
        if not hasattr(self._data, "read_next_batch"):
            rows = self._data.head(FIRST, columns=list(names))
        else:
            if self._kept is None:
                self._kept = next(iter(self._data), None)
            rows = self._kept if self._kept is not None else self.schema.empty_table()
        return {name: to_numpy(_combined(rows.column(name))[:FIRST]) for name in names}

    def rows(self) -> int | None:
        """How many, where that is known without reading: from the footers of Parquet files."""
        parquet = getattr(getattr(self._data, "format", None), "default_extname", "") == "parquet"
        return int(self._data.count_rows()) if parquet else None

    def pieces(self, names: Sequence[str], numbers: Collection[str]) -> Iterator[Piece]:
        """All rows of some columns, in order.

        Row groups of Parquet files on a local disk are read by whoever takes them: so several are read at once, and no
        rows wait in memory. Other rows are read here, file by file: a scan of all files at once reads ahead without
        bounds. Of text files, `numbers` are read as floating numbers even where the first rows hold whole ones.
        """
        if hasattr(self._data, "read_next_batch"):
            kept = () if self._kept is None else (self._kept,)
            yield from (_read(batch.select(names), None) for batch in chain(kept, self._data))
            return
        options = {"columns": list(names), "batch_size": ROWS, "batch_readahead": 2}
        try:
            fragments = list(self._data.get_fragments())
        except ValueError:  # a filtered dataset has no files of its own
            yield from self._filtered(names, options)
            return
        schema = self._types(fragments, names, numbers)
        for fragment in fragments:
            if _is_local_parquet(fragment):
                yield from _row_groups(fragment, schema, options)
                continue
            with _readable(getattr(fragment, "path", ""), schema, names):
                yield from (_read(batch, fragment) for batch in fragment.to_batches(schema=schema, **options))

    def _filtered(self, names: Sequence[str], options: dict[str, Any]) -> Iterator[Piece]:
        schema = self._types(list(_files_of(self._data)), names, ())
        for name in names:
            if schema.field(name).type != self.schema.field(name).type:
                raise ValueError(
                    f"column {name!r} is of type {self.schema.field(name).type} in the first file, but holds "
                    f"{schema.field(name).type} in others. Make the dataset with a schema before it is filtered: "
                    "pyarrow.dataset.dataset(path, schema=...).filter(...)."
                )
        with _readable("", schema, names):
            tagged = self._data.scanner(**options, fragment_readahead=1).scan_batches()
            yield from (_read(batch, fragment) for batch, fragment in tagged)

    def _types(self, fragments: Sequence[Any], names: Sequence[str], numbers: Collection[str]) -> Any:
        """The schema with the columns' types widened to what all files hold; a dataset has those of its first file."""
        import pyarrow as pa

        schema = self.schema
        for name in names:
            kind = schema.field(name).type
            for fragment in fragments:
                place = fragment.physical_schema.get_field_index(name)
                if place >= 0:
                    kind = _common(name, kind, fragment.physical_schema.field(place).type, fragment)
            whole = pa.types.is_integer(kind) or pa.types.is_null(kind)
            if whole and name in numbers and any(_format_name(fragment) in _TEXT for fragment in fragments):
                kind = pa.float64()
            schema = schema.set(schema.get_field_index(name), pa.field(name, kind))
        return schema


def _combined(column: Any) -> Any:
    """A column of a table or of a batch as one array."""
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def _read(batch: Any, fragment: Any) -> Piece:
    """Rows that have been read already."""
    return Piece(batch.num_rows, str(getattr(fragment, "path", "")), lambda: (batch,))


def _is_local_parquet(fragment: Any) -> bool:
    import pyarrow.fs as pafs

    return _format_name(fragment) == "parquet" and isinstance(fragment.filesystem, pafs.LocalFileSystem)


def _row_groups(fragment: Any, schema: Any, options: dict[str, Any]) -> Iterator[Piece]:
    """Row groups of a Parquet file, together as many as make up a batch; the next ones come from the disk meanwhile."""
    ids: list[list[int]] = []
    rows: list[int] = []
    for group in fragment.row_groups:
        if not ids or rows[-1] + group.num_rows > ROWS:
            ids.append([])
            rows.append(0)
        ids[-1].append(group.id)
        rows[-1] += group.num_rows
    with open(fragment.path, "rb") as file:
        announced = _announced(file.fileno(), fragment.metadata, ids, options["columns"])
        for some, number in zip(ids, rows, strict=True):
            next(announced, None)
            yield Piece(number, fragment.path, partial(_of_row_groups, fragment, some, schema, options))


def _announced(file: int, metadata: Any, ids: Sequence[Sequence[int]], names: Sequence[str]) -> Iterator[None]:
    """Tell the system, at each step, which parts of a Parquet file will be read next, where it wants to know."""
    if not hasattr(os, "posix_fadvise") or not ids:
        return
    first = metadata.row_group(0)
    columns = [k for k in range(first.num_columns) if first.column(k).path_in_schema in names]
    for k, some in enumerate(ids):
        for row_group in map(metadata.row_group, some):
            for chunk in map(row_group.column, columns):
                start = chunk.dictionary_page_offset or chunk.data_page_offset
                os.posix_fadvise(file, start, chunk.total_compressed_size, os.POSIX_FADV_WILLNEED)
        if k > 0:  # one piece more is under way
            yield


def _of_row_groups(fragment: Any, ids: list[int], schema: Any, options: dict[str, Any]) -> Iterator[Any]:
    """Their batches, read a little at a time, and as far as possible on the thread that asks for them."""
    import pyarrow.dataset as pads
    import pyarrow.parquet as pq

    names = options["columns"]
    held = {field.name: field.type for field in fragment.physical_schema}
    with _readable(fragment.path, schema, names):
        if all(held.get(name) == schema.field(name).type for name in names):
            steps = {"buffer_size": _STEP, "pre_buffer": False}
            with pq.ParquetFile(
                fragment.path, filesystem=fragment.filesystem, metadata=fragment.metadata, **steps
            ) as file:
                yield from file.iter_batches(ROWS, row_groups=ids, columns=names, use_threads=False)
            return
        small = pads.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=_STEP, pre_buffer=False)
        part = fragment.subset(row_group_ids=ids)
        yield from part.to_batches(schema=schema, use_threads=False, fragment_scan_options=small, **options)


def to_numpy(column: Any) -> NDArray[Any]:
    """An Arrow array without missing values as one of NumPy."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = pc.cast(column, pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _opened(data: Any) -> Any:
    """A dataset, the one of a table or of the files at a path; or a reader."""
    if not isinstance(data, str | os.PathLike) and type(data).__module__.partition(".")[0] != "pyarrow":
        raise TypeError(_NO_DATASET.format(type(data).__name__))
    try:
        import pyarrow as pa
        import pyarrow.dataset as pads
    except ImportError as why:
        raise ImportError("reading files needs pyarrow: pip install 'scorebars[arrow]'") from why
    if isinstance(data, pa.Table | pa.RecordBatch):
        return pads.dataset(data)
    if isinstance(data, pads.Dataset | pa.RecordBatchReader):
        return data
    if not isinstance(data, str | os.PathLike):
        raise TypeError(_NO_DATASET.format(type(data).__name__))
    path = os.fspath(data)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file or folder {path!r}.")
    try:
        return pads.dataset(path, format=_format_of(path))
    except pa.ArrowInvalid as why:
        raise ValueError(f"{path!r} cannot be read: {why}") from None


_NO_DATASET = (
    "dataset is a {}: give the path of a Parquet, CSV or Feather file or of a folder of them, or a Dataset, Table or "
    "RecordBatchReader of pyarrow."
)


def _files_of(data: Any) -> Iterator[Any]:
    """The files of a dataset, whatever its filter."""
    for child in getattr(data, "children", ()):
        yield from _files_of(child)
    for path in getattr(data, "files", ()):
        yield data.format.make_fragment(path, data.filesystem)


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
    """Errors of reading say in which file, and what was expected."""
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
        raise OSError(f"{file or 'the dataset'} cannot be read: {why}. Is the file whole? Write it again.") from None
