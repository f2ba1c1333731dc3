"""CSV, TSV, Parquet and Feather files, read by pyarrow."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from scorebars.cli.failures import Failure, needs
from scorebars.cli.source import Array, Source

BLOCK = 2 << 20
"""Bytes of a text file that are read at a time."""
COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")


def _arrow(module: str) -> Any:
    def load() -> Any:
        import importlib

        return importlib.import_module(module)

    return needs("reading CSV, Parquet and Feather files", "arrow", load)


class ArrowFile(Source):
    """One file that pyarrow reads; `kind` is "csv", "parquet" or "feather"."""

    def __init__(self, path: Path, kind: str, name: str | None = None) -> None:
        self.path, self.kind, self.name = path, kind, name or path.name
        self.paths, self.size = (path,), path.stat().st_size
        self.delimiter, self.skipped = ",", 0
        if kind == "csv":
            header = self._header()
        else:
            with readable(self.name):
                header = list(self._dataset().schema.names)
        self.columns = header

    def _open(self) -> Any:
        """The text of the file, decompressed."""
        raw = _arrow("pyarrow").input_stream(str(self.path), compression="detect")
        return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")

    def _header(self) -> list[str]:
        """Names in the first line that is no comment; also finds the delimiter."""
        try:
            with self._open() as text:
                line = text.readline()
                while line.startswith("#") or (line and not line.strip()):
                    self.skipped += 1
                    line = text.readline()
        except UnicodeDecodeError as why:
            raise Failure(f"{self.name} is not a text in UTF-8: save it as such, or give its real ending.") from why
        if not line.strip():
            raise Failure(f"{self.name} is empty: it needs a line of column names and at least one row.")
        self.delimiter = max("\t;,", key=line.count)
        names = next(csv.reader([line], delimiter=self.delimiter))
        if all(_is_number(name) for name in names):
            raise Failure(
                f"{self.name} starts with numbers, not with column names. Add a first line such as y,y_err,pred_model."
            )
        return names

    def _options(self, numbers: Sequence[str] = (), names: Sequence[str] | None = None) -> dict[str, Any]:
        pc, pa = _arrow("pyarrow.csv"), _arrow("pyarrow")
        return {
            "read_options": pc.ReadOptions(skip_rows=self.skipped, block_size=BLOCK),
            "parse_options": pc.ParseOptions(delimiter=self.delimiter),
            "convert_options": pc.ConvertOptions(
                strings_can_be_null=True,
                column_types={name: pa.float64() for name in numbers},
                include_columns=list(names) if names is not None else None,
            ),
        }

    def batches(self, names: Sequence[str], numbers: Sequence[str], rows: int) -> Iterator[Any]:
        """The columns piece by piece, so that memory stays flat; `numbers` of a CSV file are read as floats throughout."""
        with readable(self.name, [self]):
            if self.kind == "csv":
                options = self._options(numbers, names)
                yield from _arrow("pyarrow.csv").open_csv(str(self.path), **options)
            elif self.kind == "parquet":
                # a small buffer instead of whole column chunks, which may be as large as the file
                options = {"buffer_size": 1 << 16, "pre_buffer": False}
                with _arrow("pyarrow.parquet").ParquetFile(str(self.path), **options) as file:
                    yield from file.iter_batches(rows, columns=list(names))
            else:
                with _arrow("pyarrow.ipc").open_file(_arrow("pyarrow").OSFile(str(self.path))) as file:
                    for k in range(file.num_record_batches):
                        yield file.get_batch(k).select(list(names))

    def rows(self) -> int:
        """How many there are: known to the file, or for a CSV file estimated from its beginning."""
        if self.kind != "csv":
            return int(self._dataset().count_rows())
        with self.path.open("rb") as file:
            start = file.read(1 << 20)
        return math.ceil(self.size * start.count(b"\n") / len(start))

    def _dataset(self) -> Any:
        return _arrow("pyarrow.dataset").dataset(str(self.path), format=self.kind)

    def read(self, names: Sequence[str]) -> dict[str, Array]:
        for name in names:
            if self.columns.count(name) > 1:
                raise Failure(f"{self.name} has {self.columns.count(name)} columns called {name!r}. Rename them.")
        with readable(self.name, [self]):
            if self.kind == "csv":
                table = _arrow("pyarrow.csv").read_csv(str(self.path), **self._options(names=names))
            else:
                table = self._dataset().to_table(columns=list(names))
        return {name: to_numpy(table.column(name), name, self.name) for name in names}

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The rows of a CSV file after its header, each with its line number."""
        with self._open() as text:
            for _ in range(self.skipped):
                text.readline()
            reader = csv.reader(text, delimiter=self.delimiter)
            next(reader)
            for record in reader:
                if record:
                    yield self.skipped + reader.line_num, record

    def place(self, row: int) -> str:
        if self.kind == "csv":
            for k, (line, _) in enumerate(self.records()):
                if k == row:
                    return f"row {row + 1} (line {line} of {self.name})"
        return super().place(row)


@contextmanager
def readable(name: str, files: Sequence[ArrowFile] = ()) -> Iterator[None]:
    """Turns pyarrow's complaints into ours, with the line of a row that has too few or too many cells."""
    try:
        yield
    except (ValueError, KeyError) as why:
        if not type(why).__module__.startswith("pyarrow"):
            raise
        for file in files:
            if file.kind == "csv":
                _say_what_is_wrong(file, str(why))
        raise Failure(f"{name} cannot be read: {re.split(r'[.:] ?Is this', str(why))[0].strip()}.") from why


def _say_what_is_wrong(file: ArrowFile, why: str) -> None:
    """Find the line of a CSV file that pyarrow stumbled over."""
    wanted, value = len(file.columns), re.search(r"invalid value '(.*)'", why)
    for row, (line, record) in enumerate(file.records()):
        if len(record) != wanted:
            raise Failure(
                f"line {line} of {file.name} has {len(record)} cells, but there are {wanted} column names. "
                "Quote cells that hold the delimiter, or fill in what is missing."
            )
        if value and value[1] in record:
            column = file.columns[record.index(value[1])]
            raise Failure(
                f"column {column!r} holds no number in row {row + 1} (line {line} of {file.name}): {value[1]!r}. "
                "Correct the cell, empty it and use --nan-policy omit, or choose another column."
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def to_numpy(column: Any, name: str, file: str) -> Array:
    """A pyarrow column as Source promises it."""
    pa = _arrow("pyarrow")
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if numeric and (column.null_count == 0 or not pa.types.is_boolean(kind)):
        return np.asarray(column.to_numpy())
    if pa.types.is_nested(kind):
        raise Failure(f"column {name!r} of {file} holds a {kind} in each row, not one value.")
    values = column.to_pylist()
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return np.array([v if v is None or text or numeric else str(v) for v in values], dtype=object)
