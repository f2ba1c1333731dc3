"""Rows of files, of Arrow datasets, tables and readers, batch by batch: opened, with types that lose nothing."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROWS = 1 << 20
"""Of a batch: enough that a batch's own cost does not count, few enough that several fit in little memory."""
_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".feather": "feather", ".arrow": "feather"}
_TEXT = ("csv", "json")
"""Of these files the types of columns are guessed from the first rows."""


class Tagged(NamedTuple):
    """A batch and the file that it comes from."""

    record_batch: Any
    fragment: Any


class Source:
    """What is read: a dataset, or a reader, which can be read once."""

    def __init__(self, data: Any) -> None:
        self._data = _opened(data)
        self.schema = self._data.schema

    def sample(self, name: str) -> NDArray[Any]:
        """No rows of a column, but of its type as an array."""
        import pyarrow as pa

        kind = self.schema.field(name).type
        return to_numpy(pa.array([], pa.float64() if pa.types.is_null(kind) else kind))

    def rows(self) -> int | None:
        """How many, where that is known without reading: from the footers of Parquet files."""
        parquet = getattr(getattr(self._data, "format", None), "default_extname", "") == "parquet"
        return int(self._data.count_rows()) if parquet else None

    def batches(self, names: Sequence[str], numbers: Collection[str]) -> Iterator[Tagged]:
        """All rows of some columns, in order, file by file: a scan of all files at once reads ahead without bounds.

        Of text files, `numbers` are read as floating numbers even where the first rows hold whole ones.
        """
        import pyarrow as pa

        if hasattr(self._data, "read_next_batch"):
            yield from (Tagged(batch.select(names), None) for batch in self._data)
            return
        options = {"columns": list(names), "batch_size": ROWS, "batch_readahead": 2}
        try:
            fragments = list(self._data.get_fragments())
        except ValueError:  # a filtered dataset has no files of its own
            yield from self._filtered(names, options)
            return
        schema, fragment = self._types(fragments, names, numbers), None
        try:
            for fragment in fragments:
                for batch in fragment.to_batches(schema=schema, **options, **_in_small_steps(fragment)):
                    yield Tagged(batch, fragment)
        except pa.ArrowInvalid as why:
            raise _unreadable(why, getattr(fragment, "path", ""), schema, names) from None

    def _filtered(self, names: Sequence[str], options: dict[str, Any]) -> Iterator[Tagged]:
        import pyarrow as pa

        schema = self._types(list(_files_of(self._data)), names, ())
        for name in names:
            if schema.field(name).type != self.schema.field(name).type:
                raise ValueError(
                    f"column {name!r} is of type {self.schema.field(name).type} in the first file, but holds "
                    f"{schema.field(name).type} in others. Make the dataset with a schema before it is filtered: "
                    "pyarrow.dataset.dataset(path, schema=...).filter(...)."
                )
        try:
            yield from self._data.scanner(**options, fragment_readahead=1).scan_batches()
        except pa.ArrowInvalid as why:
            raise _unreadable(why, "", schema, names) from None

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


def _in_small_steps(fragment: Any) -> dict[str, Any]:
    """Options that read a Parquet file on a local disk a little at a time: less copying and less memory."""
    import pyarrow.dataset as pads
    import pyarrow.fs as pafs

    if _format_name(fragment) != "parquet" or not isinstance(fragment.filesystem, pafs.LocalFileSystem):
        return {}
    return {"fragment_scan_options": pads.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)}


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


def _unreadable(why: Exception, file: str, schema: Any, names: Sequence[str]) -> ValueError:
    expected = ", ".join(f"{name!r} as {schema.field(name).type}" for name in names)
    return ValueError(
        f"{file or 'the dataset'} cannot be read: {why}. The columns are read by the types of the first rows, {expected}: "
        "correct the file, or pass pyarrow.dataset.dataset(path, schema=...) with types that hold all values."
    )
