"""From what the user names to a table: files of every kind, folders of them, shipped data sets, standard input."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from glob import glob
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars import datasets
from scorebars.cells import MISSING_MARKS, is_missing_mark, names_and_units, read_cells
from scorebars.files.problem import TableProblem
from scorebars.files.text_layout import TextLayout, latin_of, opened_text, read_head, table_head, text_layout

Column = NDArray[Any]
PREFIX = "dataset:"
"""What the name of a shipped data set starts with."""
STREAM_ABOVE = 256 << 20
"""A file that holds more bytes than these, decompressed, is read in pieces unless the user says otherwise."""
_NUMBER = 8
"""Bytes of a number in memory."""
_BLOCK = 1 << 20
"""Bytes of a text file that are read at a time."""
_FIRST_ROWS = 400
"""The first rows, this many, tell what a column holds."""


@dataclass(frozen=True)
class Reading:
    """How a file is to be read, where the user says so."""

    format: str | None = None
    decimal: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    skip_rows: int | None = None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in _KINDS:
            raise TableProblem(f"--format {self.format!r} is not known. Choose one of {', '.join(sorted(_KINDS))}.")
        if self.decimal not in (None, ".", ","):
            raise TableProblem(f"--decimal must be a point or a comma, got {self.decimal!r}.")
        if self.skip_rows is not None and self.skip_rows < 0:
            raise TableProblem(f"--skip-rows must be at least 0, got {self.skip_rows}.")

    def text(self) -> dict[str, Any]:
        """The options of text files."""
        names = ("decimal", "delimiter", "encoding", "skip_rows")
        return {name: getattr(self, name) for name in names}


READING_OPTIONS = tuple(field.name for field in fields(Reading))


class TableSource(ABC):
    """A table that is read column by column, only those that are asked for; messages call it `name`."""

    name: str
    columns: list[str]
    size: int = 0
    """Bytes on disk."""

    def bytes_held(self, columns: int, most: int = STREAM_ABOVE) -> int:
        """Bytes that this many columns take in memory; counting stops at `most`."""
        return self.size

    streams: bool = False
    """Whether it can be read in pieces."""
    decimal: str | None = None
    """The decimal mark of a text file; None where numbers are stored as such, "?" where it is not known."""
    coordinates: frozenset[str] = frozenset()
    """Columns that say where or when something was measured."""

    @abstractmethod
    def read(self, names: Sequence[str]) -> dict[str, Column]:
        """These columns. Numbers are numbers with NaN where missing, texts are objects with None where missing."""

    def first_rows(self) -> dict[str, Column]:
        """The first rows of all columns that can be read."""
        found = self.read([name for name in dict.fromkeys(self.columns) if self.columns.count(name) == 1])
        return {name: values[:_FIRST_ROWS] for name, values in found.items()}

    def units(self, names: Sequence[str]) -> dict[str, str]:
        """The units of those columns that have one."""
        return {name: unit for name, (_, unit) in names_and_units(names).items() if unit}

    def declared_errors(self) -> dict[str, str]:
        """Columns whose metadata name another column as their standard error."""
        return {}

    def remarks(self) -> list[str]:
        """What was understood of the file beyond the ordinary."""
        return []

    def place(self, row: int) -> str:
        """How a person finds this row (counted from 0)."""
        return f"row {row + 1}"


class Folder(TableSource):
    """Several files with the same columns, one after the other."""

    def __init__(self, name: str, parts: Sequence[TableSource]) -> None:
        self.name, self.parts = name, list(parts)
        self.columns = parts[0].columns
        self.streams, self.size = all(part.streams for part in parts), sum(part.size for part in parts)
        marks = {part.decimal for part in parts if part.decimal is not None}
        self.decimal = marks.pop() if len(marks) == 1 else "?" if marks else None
        self.coordinates = parts[0].coordinates
        self._lengths: list[int] = []

    def bytes_held(self, columns: int, most: int = STREAM_ABOVE) -> int:
        held = 0
        for part in self.parts:
            held += part.bytes_held(columns, most - held) if held <= most else 0
        return held

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        read = [part.read(names) for part in self.parts]
        self._lengths = [len(columns[names[0]]) for columns in read]
        return {name: np.concatenate([columns[name] for columns in read]) for name in names}

    def first_rows(self) -> dict[str, Column]:
        return self.parts[0].first_rows()

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return self.parts[0].units(names)

    def declared_errors(self) -> dict[str, str]:
        return self.parts[0].declared_errors()

    def remarks(self) -> list[str]:
        return [f"{len(self.parts)} files", *self.parts[0].remarks()]

    def place(self, row: int) -> str:
        for part, length in zip(self.parts, self._lengths, strict=False):
            if row < length:
                inside = part.place(row)
                return inside if part.name in inside else f"{inside} of {part.name}"
            row -= length
        return super().place(row)


# text, Parquet, Feather ----------------------------------------------------------------------------


def _needs(what: str, extra: str, load: Callable[[], Any]) -> Any:
    """An optional library, or an error that names the extra to install."""
    try:
        return load()
    except ImportError as why:
        raise ImportError(f"{what} needs {extra}: pip install 'scorebars[{extra}]'") from why


def _arrow(module: str) -> Any:
    return _needs("reading CSV, Parquet and Feather files", "arrow", lambda: import_module(module))


class ArrowFile(TableSource):
    """A Parquet or Feather file."""

    streams = True

    def __init__(self, path: Path, kind: str, name: str | None = None) -> None:
        self.path, self.kind, self.name = path, kind, name or path.name
        self.size = path.stat().st_size
        with _arrow_errors(self.name):
            self.columns = list(self._dataset().schema.names)

    def _dataset(self) -> Any:
        return _arrow("pyarrow.dataset").dataset(str(self.path), format=self.file_format())

    def file_format(self, numbers: Sequence[str] = ()) -> Any:
        """How pyarrow is to read the file in pieces; checksums of Parquet pages are verified where the file has them."""
        if self.kind != "parquet":
            return self.kind
        module = _arrow("pyarrow.dataset")
        return module.ParquetFileFormat(
            default_fragment_scan_options=module.ParquetFragmentScanOptions(page_checksum_verification=True)
        )

    def bytes_held(self, columns: int, most: int = STREAM_ABOVE) -> int:
        """By the number of rows, which the file tells: a column of equal values takes next to no bytes on disk."""
        if self.size > most:
            return self.size
        with _arrow_errors(self.name):
            return max(self.size, int(self._dataset().count_rows()) * _NUMBER * columns)

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        _require_one_of_each(self, names)
        with _arrow_errors(self.name):
            table = self._dataset().to_table(columns=list(names))
        return {name: column_values(table.column(name), name, self.name) for name in names}

    def first_rows(self) -> dict[str, Column]:
        pa = _arrow("pyarrow")
        with _arrow_errors(self.name):
            data = self._dataset()
            names = [f.name for f in data.schema if not pa.types.is_nested(f.type) and self.columns.count(f.name) == 1]
            rows = data.head(_FIRST_ROWS, columns=names)
        return {name: column_values(rows.column(name), name, self.name) for name in names}


class TextFile(ArrowFile):
    """A table in a text file: pyarrow reads it, told how it is laid out; rows cut at blanks are handed to it with tabs."""

    def __init__(self, path: Path, options: Reading, name: str | None = None) -> None:
        self.path, self.kind, self.name = path, "csv", name or path.name
        self.size, self._options = path.stat().st_size, options
        with self._raw() as raw:
            self.layout: TextLayout = text_layout(read_head(raw), self.name, **options.text())
        self.columns, self.decimal, self.streams = self.layout.names, self.layout.decimal, self.layout.plain

    @contextmanager
    def _raw(self) -> Iterator[Any]:
        """The bytes of the file, decompressed."""
        with (
            _arrow_errors(self.name),
            _arrow("pyarrow").input_stream(str(self.path), compression="detect") as raw,
        ):
            yield raw

    def bytes_held(self, columns: int, most: int = STREAM_ABOVE) -> int:
        """Of a compressed file by decompressing that much of it: what such files say of their size need not be so."""
        if self.size > most or self.path.suffix.lower() not in _COMPRESSIONS:
            return self.size
        held = 0
        with self._raw() as raw:
            while held <= most and (read := len(raw.read(_BLOCK))):
                held += read
        return held

    @property
    def decimal_is_given(self) -> bool:
        """Whether the user says which mark is the decimal one."""
        return self._options.decimal is not None

    def with_decimal(self, mark: str) -> TextFile:
        """The same file, its numbers written with this decimal mark."""
        return TextFile(self.path, replace(self._options, decimal=mark), self.name)

    def _how(self, numbers: Sequence[str] = (), names: Sequence[str] | None = None) -> dict[str, Any]:
        pc, pa, layout = _arrow("pyarrow.csv"), _arrow("pyarrow"), self.layout
        plain, marks = layout.plain, {**dict.fromkeys(pc.ConvertOptions().null_values)}
        if numbers:
            marks |= dict.fromkeys(spelled for mark in MISSING_MARKS for spelled in (mark, mark.upper(), mark.title()))
        encoding = {"utf-8-sig": "utf-8"}.get(layout.encoding, layout.encoding) if plain else "utf-8"
        skip = layout.skip if plain else 0
        return {
            "read_options": pc.ReadOptions(
                skip_rows=skip, column_names=layout.names, block_size=_BLOCK, encoding=encoding
            ),
            "parse_options": pc.ParseOptions(delimiter=layout.delimiter if plain else "\t"),
            "convert_options": pc.ConvertOptions(
                strings_can_be_null=True,
                null_values=list(marks),
                decimal_point="," if layout.decimal == "," else ".",
                column_types={name: pa.float64() for name in numbers},
                include_columns=list(names) if names is not None else None,
            ),
        }

    def file_format(self, numbers: Sequence[str] = ()) -> Any:
        """How pyarrow is to read the file in pieces; `numbers` are read as floats throughout."""
        return _arrow("pyarrow.dataset").CsvFileFormat(**self._how(numbers))

    @property
    def empty(self) -> bool:
        """Whether there are names but no rows, which pyarrow does not take."""
        return not any(self.layout.sample.values())

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        _require_one_of_each(self, names)
        if self.empty:
            return {name: np.zeros(0) for name in names}
        try:
            with _arrow_errors(self.name, self):
                what = str(self.path) if self.layout.plain else self._with_tabs()
                table = _arrow("pyarrow.csv").read_csv(what, **self._how(names=names))
        except UnicodeDecodeError:
            if self._options.encoding or self.layout.encoding != "utf-8":
                raise
            with self._raw() as raw:  # a letter far down the file tells that it is no UTF-8
                self.layout = replace(self.layout, encoding=latin_of(raw.read()))
            return self.read(names)
        return {name: _stripped(column_values(table.column(name), name, self.name)) for name in names}

    def first_rows(self) -> dict[str, Column]:
        return {name: typed_cells(cells, self.decimal) for name, cells in self.layout.sample.items()}

    def _with_tabs(self) -> Any:
        """The rows as pyarrow takes them."""
        sink = io.StringIO()
        csv.writer(sink, delimiter="\t", lineterminator="\n").writerows(record for _, record in self.records())
        return _arrow("pyarrow").BufferReader(sink.getvalue().encode("utf-8"))

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The rows of values, each with its line number."""
        with self._raw() as raw, opened_text(raw, self.layout.encoding) as text:
            yield from self.layout.records(self._lines(text))

    def _lines(self, text: Any) -> Iterator[str]:
        while line := text.readline(_BLOCK):
            if len(line) == _BLOCK:
                raise self.too_long
            yield line

    @property
    def too_long(self) -> TableProblem:
        """What to say of a line without end, which would fill the memory."""
        return TableProblem(
            f"{self.name} cannot be read: a line is longer than {_BLOCK >> 20} MiB. Is it a table, with a line for each row?"
        )

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return {**super().units(names), **{name: unit for name, unit in self.layout.units.items() if name in names}}

    def remarks(self) -> list[str]:
        return self.layout.remarks()

    def place(self, row: int) -> str:
        for k, (line, _) in enumerate(self.records()):
            if k == row:
                return f"row {row + 1} (line {line} of {self.name})"
        return super().place(row)


def _require_one_of_each(source: TableSource, names: Sequence[str]) -> None:
    for name in names:
        if source.columns.count(name) > 1:
            raise TableProblem(f"{source.name} has {source.columns.count(name)} columns called {name!r}. Rename them.")


def typed_cells(cells: Sequence[Any], decimal: str | None) -> Column:
    """Cells of a text as whole numbers, numbers or texts, whichever all of them are."""
    try:
        if decimal != ",":
            return np.array(cells, dtype=np.int64 if all(str(cell).strip().isdigit() for cell in cells) else np.float64)
    except ValueError:
        pass  # not just numbers
    there = [cell for cell in cells if not (isinstance(cell, str) and is_missing_mark(cell))]
    if there and all(re.fullmatch(r"[+-]?\d+", str(cell).strip()) for cell in there) and len(there) == len(cells):
        return np.array([int(cell) for cell in cells])
    found = read_cells(there, decimal if decimal in (".", ",") else None)
    plain = there and not found.bad.any() and not found.limits.any() and found.upper is None and not found.unit
    if plain:
        return read_cells(cells, decimal if decimal in (".", ",") else None).values
    return np.array([None if isinstance(c, str) and is_missing_mark(c) else c for c in cells], dtype=object)


def _stripped(values: Column) -> Column:
    """Texts without the blanks that a text file has around them."""
    if values.dtype.kind != "O":
        return values
    return np.array([v.strip() if isinstance(v, str) else v for v in values], dtype=object)


def dataset_of(files: Sequence[ArrowFile], numbers: Sequence[str] = ()) -> Any:
    """Several files as one dataset, each read in its own way; it has the columns of the first."""
    filled = [file for file in files if not (isinstance(file, TextFile) and file.empty)]
    if not filled:
        raise no_rows(files[0])
    for file in filled:
        if isinstance(file, TextFile):
            _require_one_of_each(file, file.columns)
    with _arrow_errors(filled[0].name):
        parts = [_arrow("pyarrow.dataset").dataset(str(f.path), format=f.file_format(numbers)) for f in filled]
    first, fragments = parts[0], [fragment for part in parts for fragment in part.get_fragments()]
    return type(first)(fragments, first.schema, first.format, first.filesystem)


def no_rows(source: TableSource) -> TableProblem:
    return TableProblem(f"{source.name} has column names but no rows. Add the rows, or name another file.")


def files_in_pieces(source: TableSource) -> list[ArrowFile] | None:
    """The files of a source that can be read in pieces; None for others."""
    parts = source.parts if isinstance(source, Folder) else [source]
    files = [part for part in parts if isinstance(part, ArrowFile) and part.streams]
    return files if len(files) == len(parts) else None


@contextmanager
def _arrow_errors(name: str, file: TextFile | None = None) -> Iterator[None]:
    """Turns pyarrow's complaints into ours, with the line of a row that has too few or too many cells."""
    try:
        yield
    except UnicodeDecodeError:
        raise
    except csv.Error as why:
        raise TableProblem(
            f"{name} cannot be read: {why}. Is it a table, with a line for each row? A cell may hold "
            f"{csv.field_size_limit():,} letters; a quotation mark that nothing closes makes one cell of all that follows."
        ) from why
    except (ValueError, KeyError) as why:
        if not type(why).__module__.startswith("pyarrow"):
            raise
        if "invalid UTF8" in str(why):
            raise UnicodeDecodeError("utf-8", b"", 0, 1, str(why)) from why
        if file is not None:
            say_what_is_wrong(file, str(why))
        said = re.split(r"[.:] ?Is this", str(why))[0].strip()
        raise TableProblem(
            f"{name} cannot be read: {said}. Is it whole, and of the kind that its ending says?"
        ) from why
    except OSError as why:
        if why.errno is not None:  # the system's own, which say what and where
            raise
        said = re.sub(r"^.*(?:IOError|OSError): ", "", str(why), flags=re.DOTALL).splitlines()[0].strip()
        raise TableProblem(
            f"{name} cannot be read: {said[:200]}. The file is damaged or cut off: copy or write it again."
        ) from why


def say_what_is_wrong(file: ArrowFile, why: str) -> None:
    """Find the line of a text file that pyarrow stumbled over."""
    if not isinstance(file, TextFile):
        return
    if "straddling" in why:
        raise file.too_long
    wanted, value = len(file.columns), re.search(r"invalid value '(.*?)'", why)
    for row, (line, record) in enumerate(file.records()):
        if len(record) != wanted:
            raise TableProblem(
                f"line {line} of {file.name} has {len(record)} cells, but there are {wanted} column names. Quote cells that "
                "hold the delimiter, fill in what is missing, or name the delimiter with --delimiter CHARACTER."
            )
        if value and value[1] in record:
            column = file.columns[record.index(value[1])]
            raise TableProblem(
                f"column {column!r} holds no number in row {row + 1} (line {line} of {file.name}): {value[1]!r}. "
                "Correct the cell, empty it and use --nan-policy omit, or choose another column."
            )


def column_values(column: Any, name: str, file: str) -> Column:
    """A pyarrow column as TableSource promises it."""
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
        raise TableProblem(f"column {name!r} of {file} holds a {kind} in each row, not one value.")
    values = column.to_pylist()
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return np.array([v if v is None or text or numeric else str(v) for v in values], dtype=object)


class Spreadsheet(TableSource):
    """A sheet of a workbook (.xlsx, .xls, .ods)."""

    def __init__(self, path: Path, options: Reading, name: str | None = None) -> None:
        self.name, self.size = name or path.name, path.stat().st_size
        calamine = _needs("reading spreadsheets", "excel", lambda: import_module("python_calamine"))
        try:
            book = calamine.CalamineWorkbook.from_path(str(path))
        except Exception as why:  # a damaged file raises kinds of its own
            raise TableProblem(f"{self.name} cannot be read: {why}.") from why
        self.sheet, rows = self._sheet(book, options)
        self._skipped = options.skip_rows or 0
        width = max((len(row) for row in rows), default=0)
        rows = [[*row, *[""] * (width - len(row))] for row in rows][self._skipped :]
        rows, self._numbers = _without_empty(rows)
        head = table_head(rows, len(rows[0])) if rows else None
        if head is None:
            raise TableProblem(
                f"sheet {self.sheet!r} of {self.name} has no row of column names above its values. Add one, or name another "
                "sheet with --sheet NAME."
            )
        self.head, self.columns, self._rows = head, head.names, rows[head.first :]

    def _sheet(self, book: Any, options: Reading) -> tuple[str, list[list[Any]]]:
        names = list(book.sheet_names)
        if options.sheet is not None:
            place = str(options.sheet)
            if place not in names and place.isdigit() and 1 <= int(place) <= len(names):
                place = names[int(place) - 1]
            if place not in names:
                raise TableProblem(f"--sheet: {self.name} has no sheet {place!r}. It has: {', '.join(names)}.")
            return place, book.get_sheet_by_name(place).to_python(skip_empty_area=False)
        read = {one: book.get_sheet_by_name(one).to_python(skip_empty_area=False) for one in names}
        tables = [one for one, rows in read.items() if sum(any(isinstance(c, float) for c in row) for row in rows) > 1]
        tables = tables or [one for one, rows in read.items() if len(rows) > 1]
        if len(tables) != 1:
            what = f"tables in {len(tables)} sheets ({', '.join(tables)})" if tables else "no table"
            raise TableProblem(f"{self.name} has {what}: choose with --sheet NAME.")
        return tables[0], read[tables[0]]

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        _require_one_of_each(self, names)
        return {name: _cells_of_sheet([row[self.columns.index(name)] for row in self._rows]) for name in names}

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return {**super().units(names), **{name: unit for name, unit in self.head.units.items() if name in names}}

    def remarks(self) -> list[str]:
        titles = self.head.titles
        said = [f"{titles} title row{'s' if titles > 1 else ''} skipped"] if titles else []
        return [f"sheet {self.sheet}", *said]

    def place(self, row: int) -> str:
        line = self._numbers[self.head.first + row] + 1 + self._skipped
        return f"row {row + 1} (line {line} of sheet {self.sheet})"


def _without_empty(rows: list[list[Any]]) -> tuple[list[list[Any]], list[int]]:
    """Rows and columns that hold something, and the numbers of these rows."""
    full = [k for k, row in enumerate(rows) if any(str(cell).strip() for cell in row)]
    wide = [j for j in range(len(rows[0]) if rows else 0) if any(str(rows[k][j]).strip() for k in full)]
    return [[rows[k][j] for j in wide] for k in full], full


def _cells_of_sheet(cells: Sequence[Any]) -> Column:
    """A column of a sheet: numbers where all cells are, whole numbers where all are whole."""
    given = [None if isinstance(cell, str) and is_missing_mark(cell) else cell for cell in cells]
    if all(cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) for cell in given):
        values = np.array([np.nan if cell is None else float(cell) for cell in given])
        return values.astype(np.int64) if len(values) and bool(np.all(values == np.floor(values))) else values
    if all(isinstance(cell, bool) for cell in given):
        return np.array(given)
    return np.array(
        [cell if cell is None or isinstance(cell, str | int | float) else str(cell) for cell in given], dtype=object
    )


# data sets, astronomy, grids -----------------------------------------------------------------------


def shipped_names() -> list[str]:
    """What may stand after ``dataset:``."""
    return [name.removeprefix("load_") for name in datasets.__all__ if name.startswith("load_")]


class Shipped(TableSource):
    """A shipped data set: columns y, y_err (or y_err_lo and y_err_hi), pred_<model>, id, and its own."""

    def __init__(self, name: str) -> None:
        short, known = name.removeprefix(PREFIX), shipped_names()
        if short not in known:
            near = get_close_matches(short, known, 1)
            hint = f" Did you mean {PREFIX}{near[0]}?" if near else ""
            raise TableProblem(f"there is no data set {short!r}.{hint} There are: {', '.join(known)}.")
        self.name = name
        self.data = data = getattr(datasets, f"load_{short}")()
        errors = () if data.yerr is None else data.yerr if data.yerr.ndim == 2 else (data.yerr,)
        self.labels: dict[str, Column] = {
            "y": data.y,
            **dict(zip(("y_err_lo", "y_err_hi") if len(errors) == 2 else ("y_err",), errors, strict=False)),
            **{f"pred_{model}": values for model, values in data.predictions.items()},
        }
        own = {key: values for key, values in data.columns.items() if values.shape == (data.n,)}
        self.table = {**own, "id": data.ids, **self.labels}
        self.columns = list(dict.fromkeys(["id", *self.labels, *own]))

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        return {name: _texts_as_objects(self.table[name]) for name in names}

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return dict.fromkeys((name for name in names if name in self.labels), self.data.units)

    def place(self, row: int) -> str:
        return f"row {row + 1} ({self.data.ids[row]})"


def _texts_as_objects(values: Column) -> Column:
    return values.astype(object) if values.dtype.kind in "US" else values


class AstropyFile(TableSource):
    """A FITS, ECSV or VO table; of a FITS file the first table."""

    def __init__(self, path: Path, kind: str, name: str | None = None) -> None:
        self.name, self.size = name or path.name, path.stat().st_size
        reader = _needs("reading FITS, ECSV and VO tables", "astropy", lambda: import_module("astropy.table").Table)
        try:
            if kind == "fits":
                self.table = reader.read(str(path), format="fits", hdu=_first_table(path, self.name))
            else:
                self.table = reader.read(str(path), format="votable" if kind == "votable" else "ascii.ecsv")
        except TableProblem:
            raise
        except Exception as why:  # astropy raises many kinds for a damaged file
            raise TableProblem(
                f"{self.name} cannot be read: {str(why).splitlines()[0] if str(why) else why!r}."
            ) from why
        self.columns = list(self.table.colnames)

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        return {name: self._column(name) for name in names}

    def _column(self, name: str) -> Column:
        column = self.table[name]
        values = np.ma.asarray(column.value if hasattr(column, "to_value") else column)
        if values.ndim != 1:
            raise TableProblem(f"column {name!r} of {self.name} holds an array in each row, not one value.")
        missing = np.ma.getmaskarray(values)
        plain = values.data.astype(values.dtype.newbyteorder("="))  # FITS is big-endian
        if plain.dtype.kind in "USO":
            texts = (np.char.decode(plain, "utf-8") if plain.dtype.kind == "S" else plain).astype(object)
            texts[missing] = None
            return np.asarray(texts)
        return np.where(missing, np.nan, plain.astype(np.float64)) if missing.any() else np.asarray(plain)

    def first_rows(self) -> dict[str, Column]:
        return {name: self._column(name)[:_FIRST_ROWS] for name in self.columns if self.table[name].ndim == 1}

    def units(self, names: Sequence[str]) -> dict[str, str]:
        named = super().units(names)
        return named | {name: str(self.table[name].unit) for name in names if self.table[name].unit is not None}

    def declared_errors(self) -> dict[str, str]:
        """By the metadata of a column: ``uncertainty: y_err``, or the UCD ``stat.error;phot.mag`` of the other one."""
        metadata = {name: dict(self.table[name].info.meta or {}) for name in self.columns}
        return errors_by_metadata(metadata)


def _first_table(path: Path, name: str) -> int:
    from astropy.io import fits

    with fits.open(path) as pieces:
        for k, piece in enumerate(pieces):
            if isinstance(piece, fits.BinTableHDU | fits.TableHDU):
                return k
    raise TableProblem(f"{name} holds no table, only images.")


class NetcdfFile(TableSource):
    """A NetCDF file: every variable and coordinate is a column, broadcast over the dimensions of those in use."""

    def __init__(self, path: Path, kind: str, name: str | None = None) -> None:
        self.name, self.size = name or path.name, path.stat().st_size
        self.xarray = _needs("reading NetCDF files", "xarray", lambda: import_module("xarray"))
        try:
            with self.xarray.open_dataset(path) as opened:
                self.data = opened.load()
        except (ValueError, OSError, TypeError) as why:
            with path.open("rb") as file:
                genuine = file.read(4) == b"\x89HDF"
            if genuine and not (find_spec("netCDF4") or find_spec("h5netcdf")):
                raise ImportError(f"reading {self.name} needs netCDF4: pip install 'scorebars[xarray]'") from why
            raise TableProblem(f"{self.name} cannot be read: it is no NetCDF file, or a damaged one.") from why
        self.columns = [str(key) for key in (*self.data.data_vars, *self.data.coords)]
        self.coordinates = frozenset(map(str, self.data.coords))
        self._grid: Any = None

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        together = self.xarray.broadcast(*(self.data[name] for name in names))
        self._grid = together[0] if together else None
        flat = {name: np.asarray(one.values).reshape(-1) for name, one in zip(names, together, strict=True)}
        times_as_texts = {name: v.astype(str) if v.dtype.kind in "mM" else v for name, v in flat.items()}
        return {name: _texts_as_objects(values) for name, values in times_as_texts.items()}

    def first_rows(self) -> dict[str, Column]:
        shape = max((self.data[name].dims for name in self.data.data_vars), key=len, default=())
        whole = [name for name in self.columns if set(self.data[name].dims) <= set(shape)]
        return {name: values[:_FIRST_ROWS] for name, values in self.read(whole).items()} if whole else {}

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return {name: str(self.data[name].attrs["units"]) for name in names if self.data[name].attrs.get("units")}

    def declared_errors(self) -> dict[str, str]:
        """By the CF conventions: an ancillary variable, or one whose standard name has the modifier standard_error."""
        return errors_by_metadata({name: dict(self.data[name].attrs) for name in self.columns})

    def place(self, row: int) -> str:
        if self._grid is None or not self._grid.shape:
            return super().place(row)
        where = np.unravel_index(row, self._grid.shape)
        return ", ".join(f"{dim} {int(k)}" for dim, k in zip(self._grid.dims, where, strict=True))


_ERROR_KEYS = ("uncertainty", "error", "errors", "yerr", "sigma", "std", "ancillary_variables")
"""Under these keys of a column's metadata stands the name of the column of its errors."""


def errors_by_metadata(metadata: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Column -> column of its standard errors, as the metadata of both say.

    >>> errors_by_metadata({"t": {"ancillary_variables": "t_flag t_u"}, "t_flag": {"standard_name": "t status_flag"},
    ...                     "t_u": {"standard_name": "t standard_error"}})
    {'t': 't_u'}
    """
    found = {}
    for name, about in metadata.items():
        named = [word for key in _ERROR_KEYS for word in str(about.get(key, "")).split()]
        sure = [word for key in _ERROR_KEYS[:-1] for word in str(about.get(key, "")).split() if word in metadata]
        ancillary = [word for word in named if word in metadata and _is_standard_error(metadata[word])]
        standard, ucd = about.get("standard_name"), about.get("ucd")
        alike = [
            other
            for other, said in metadata.items()
            if (standard and said.get("standard_name") == f"{standard} standard_error")
            or (ucd and said.get("ucd") == f"stat.error;{ucd}")
        ]
        errors = list(dict.fromkeys([*sure, *ancillary, *alike]))
        if len(errors) > 1:
            raise TableProblem(
                f"the metadata of {name!r} name several columns of errors ({', '.join(errors)}): say --yerr COLUMN."
            )
        if errors:
            found[name] = errors[0]
    return found


def _is_standard_error(about: Mapping[str, Any]) -> bool:
    said = f"{about.get('standard_name', '')} {about.get('long_name', '')} {about.get('ucd', '')}".lower()
    return any(word in said for word in ("standard_error", "standard error", "uncertainty", "stat.error", "1 sigma"))


# which file ----------------------------------------------------------------------------------------

_KINDS = {
    "csv": (".csv", ".tsv", ".txt", ".dat", ".tab", ".asc"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow"),
    "fits": (".fits", ".fit"),
    "ecsv": (".ecsv",),
    "votable": (".vot", ".votable"),
    "netcdf": (".nc", ".nc4", ".cdf"),
    "excel": (".xlsx", ".xlsm", ".xls", ".ods"),
}
_KIND_OF_ENDING = {ending: kind for kind, endings in _KINDS.items() for ending in endings}
_BEGINNINGS = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"SIMPLE  =": "fits",
    b"# %ECSV": "ecsv",
    b"CDF": "netcdf",
    b"\x89HDF": "netcdf",
}
_COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")
_COMPRESSED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst"}
_ZIP = b"PK\x03\x04"


@contextmanager
def opened(names: str | Sequence[str], options: Reading | None = None) -> Iterator[TableSource]:
    """The table that one or several names mean."""
    options = options or Reading()
    names = [names] if isinstance(names, str) else list(names)
    with ExitStack() as stack:
        if len(names) == 1 and names[0] == "-":
            yield stack.enter_context(_standard_input(options))
            return
        if len(names) == 1 and names[0].startswith(PREFIX):
            yield Shipped(names[0])
            return
        parts: list[tuple[Path, str | None]] = []
        for name in names:
            parts += stack.enter_context(_found(name, options))
        stack.enter_context(unchanged(path for path, _ in parts))
        sources = [_file(path, options, called) for path, called in parts]
        yield sources[0] if len(sources) == 1 else _same_columns(", ".join(names), sources)


@contextmanager
def _found(name: str, options: Reading) -> Iterator[list[tuple[Path, str | None]]]:
    """The files that a name means, each with what messages call it: a file, a folder, a pattern, or a zip archive."""
    if not name or "\0" in name:
        raise TableProblem(f"{name!r} is no name of a file. Name a file, or a shipped data set as {PREFIX}NAME.")
    path = Path(name)
    if not path.exists():
        matching = [Path(one) for one in sorted(glob(name))]
        if not matching:
            raise TableProblem(f"there is no file {name!r}.{_near(path)}")
        yield [(one, None) for one in matching]
    elif path.is_dir():
        yield _in_folder(path, path, options)
    elif path.suffix.lower() == ".zip":
        with tempfile.TemporaryDirectory(prefix="scorebars-") as folder:
            try:
                with unchanged([path]), zipfile.ZipFile(path) as archive:
                    needed, free = sum(part.file_size for part in archive.infolist()), shutil.disk_usage(folder).free
                    if needed > free:
                        raise TableProblem(
                            f"{path.name} holds {needed:,} bytes, but {folder} has room for {free:,}: extract it where there "
                            "is room, and name the files."
                        )
                    with _room_in(folder, path.name):
                        archive.extractall(folder)
            except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as why:
                raise TableProblem(f"{path.name} cannot be read: {why}.") from why
            yield _in_folder(Path(folder), path, options)
    else:
        yield [(path, None)]


def _near(path: Path) -> str:
    near = get_close_matches(path.name, os.listdir(path.parent) if path.parent.is_dir() else [], 1)
    return f" Did you mean {path.parent / near[0]}?" if near else " Shipped data sets are written dataset:NAME."


def kind_of(path: Path) -> str | None:
    """The kind that the ending tells; a second ending of compression is looked through.

    >>> kind_of(Path("a.csv.gz")), kind_of(Path("b.PARQUET")), kind_of(Path("c.doc"))
    ('csv', 'parquet', None)
    """
    ends = [end.lower() for end in path.suffixes]
    if ends and ends[-1] in _COMPRESSIONS:
        ends.pop()
    return _KIND_OF_ENDING.get(ends[-1]) if ends else None


def _file(path: Path, options: Reading, name: str | None = None) -> TableSource:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise TableProblem(
            f"the name of {str(name or path.name)!r} is not in UTF-8, which readers of tables need. Rename the file, or pipe "
            "it in: scorebars evaluate - < FILE."
        ) from None
    found = options.format or kind_of(path)
    if found is None:
        raise TableProblem(
            f"the ending of {path.name} does not say what it is. Known endings: {', '.join(sorted(_KIND_OF_ENDING))}; "
            f"or name the kind with --format ({', '.join(sorted(_KINDS))})."
        )
    if found == "csv":
        return TextFile(path, options, name)
    if found == "excel":
        return Spreadsheet(path, options, name)
    make = {"fits": AstropyFile, "ecsv": AstropyFile, "votable": AstropyFile, "netcdf": NetcdfFile}.get(
        found, ArrowFile
    )
    return make(path, found, name)


def _in_folder(path: Path, called: Path, options: Reading) -> list[tuple[Path, str | None]]:
    seen = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith((".", "_"))]
    files = [file for file in seen if options.format or kind_of(file)]
    kinds = {options.format or kind_of(file) for file in files}
    if len(kinds) != 1:
        what = f"files of several kinds ({', '.join(sorted(map(str, kinds)))})" if kinds else "no tables"
        where = f"the folder {called}" if called.is_dir() else called.name
        raise TableProblem(f"{where} holds {what}: it must hold files of one kind with the same columns.")
    return [(file, str(file.relative_to(path))) for file in files]


def _same_columns(name: str, parts: Sequence[TableSource]) -> TableSource:
    first = parts[0]
    for part in parts[1:]:
        if set(part.columns) != set(first.columns):
            odd = sorted(set(part.columns) ^ set(first.columns))[0]
            where, other = (first, part) if odd in first.columns else (part, first)
            raise TableProblem(
                f"the files of {name} differ in their columns: {where.name} has {odd!r}, {other.name} has not. "
                "All files need the same columns."
            )
        units = first.units(first.columns), part.units(first.columns)
        if units[0] != units[1]:
            odd = next(key for key in first.columns if units[0].get(key) != units[1].get(key))
            raise TableProblem(
                f"the files of {name} differ in the unit of {odd!r}: {first.name} has {units[0].get(odd)}, {part.name} "
                f"{units[1].get(odd)}. Convert them to one unit first."
            )
    return Folder(name, parts)


@contextmanager
def _room_in(folder: str, what: str) -> Iterator[None]:
    """A disk that is full is named, with what was to be kept there."""
    try:
        yield
    except OSError as why:
        if why.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise TableProblem(
            f"{what} cannot be kept in {Path(folder).parent}: {(why.strerror or str(why)).lower()}. Make room there, or name a "
            "folder with room in TMPDIR."
        ) from why


@contextmanager
def _standard_input(options: Reading) -> Iterator[TableSource]:
    """Standard input, kept in a temporary file: most kinds have to be read from the end, and any may be large."""
    with tempfile.TemporaryDirectory(prefix="scorebars-") as folder:
        path = Path(folder) / "input"
        with _room_in(folder, "standard input"), path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        with path.open("rb") as file:
            start = file.read(16)
        if not start:
            raise TableProblem("standard input is empty. Pipe a table into it, or name a file.")
        for magic, ending in _COMPRESSED.items():
            if start.startswith(magic):
                path = path.rename(path.with_suffix(ending))
        found = options.format or next((k for magic, k in _BEGINNINGS.items() if start.startswith(magic)), None)
        found = found or ("excel" if start.startswith(_ZIP) else "csv")
        yield _file(path, replace(options, format=found), "standard input")


# files that stay what they are while they are read ---------------------------------------------------
#
# A file that is replaced or written to between two pieces would give a mixture of old and new rows, and no reader notices.

Mark = tuple[int, int, int, int]
"""Device, number, size and time of the last change of a file."""


def mark_of(path: str | os.PathLike[str]) -> Mark | None:
    """What tells a file from another; None for what is no regular file, such as a pipe, and where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def marks_of(files: Iterable[str | os.PathLike[str]]) -> dict[str, Mark | None]:
    """The marks of files before they are read, for `require_unchanged` afterwards."""
    return {os.fspath(file): mark_of(file) for file in files}


def require_unchanged(before: Mapping[str, Mark | None]) -> None:
    """Refuse what was read if a file is no longer the one that was opened."""
    for path, mark in before.items():
        if mark is not None and mark_of(path) != mark:
            what = "was replaced or written to" if os.path.exists(path) else "was removed"
            raise TableProblem(
                f"{path} {what} while it was being read, so its rows may be a mixture of old and new ones. Wait until the file "
                "is complete, or read a copy of it."
            )


@contextmanager
def unchanged(files: Iterable[str | os.PathLike[str]]) -> Iterator[None]:
    """Files that must be the same at the end as at the beginning; an error that a change explains is told as the change."""
    before = marks_of(files)
    try:
        yield
    except Exception:
        require_unchanged(before)
        raise
    require_unchanged(before)
