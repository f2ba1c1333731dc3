"""From what the user names to a table: a file, a folder of files, a shipped data set, or standard input.

A `TableSource` is a table that is read column by column. The class of a format says by `reads` which files it reads: those of
Parquet and Feather are here, texts in `text_files`, spreadsheets and the formats of astronomy and of grids in
`library_formats`.
"""

from __future__ import annotations

import csv
import errno
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
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from scorebars import datasets
from scorebars.cells import names_and_units
from scorebars.files.problem import TableProblem

Column = NDArray[Any]
PREFIX = "dataset:"
"""The names of shipped data sets begin with this."""
STREAM_ABOVE = 256 << 20
"""A file of more bytes than this, decompressed, is read in pieces unless the user says otherwise."""
_NUMBER = 8
"""Bytes that a number takes in memory."""
FIRST_ROWS = 400
"""So many first rows are looked at to tell what a column holds."""


@dataclass(frozen=True)
class Reading:
    """How to read a file, as far as the user says."""

    format: str | None = None
    decimal: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    skip_rows: int | None = None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in _READERS:
            raise TableProblem(f"--format {self.format!r} is not known. Choose one of {', '.join(sorted(_READERS))}.")
        if self.decimal not in (None, ".", ","):
            raise TableProblem(f"--decimal must be a point or a comma, got {self.decimal!r}.")
        if self.skip_rows is not None and self.skip_rows < 0:
            raise TableProblem(f"--skip-rows must be at least 0, got {self.skip_rows}.")


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
    decimal_is_given: bool = False
    """Whether the user says which mark is the decimal one."""
    delimiter: str | None = None
    """What stands between the cells of a text file."""
    unique_ids: bool = True
    """Whether each item has at most one row; then an id that occurs twice must be explained."""
    coordinates: frozenset[str] = frozenset()
    """Columns that say where or when something was measured."""

    @abstractmethod
    def read(self, names: Sequence[str]) -> dict[str, Column]:
        """These columns. Numbers are numbers with NaN where missing, texts are objects with None where missing."""

    def with_decimal(self, mark: str) -> TableSource:
        """The same table, numbers in its texts written with this decimal mark."""
        return self

    def first_rows(self) -> dict[str, Column]:
        """The first rows of all columns that can be read."""
        found = self.read([name for name in dict.fromkeys(self.columns) if self.columns.count(name) == 1])
        return {name: values[:FIRST_ROWS] for name, values in found.items()}

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

    unique_ids = False

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

    def with_decimal(self, mark: str) -> Folder:
        return Folder(self.name, [part.with_decimal(mark) for part in self.parts])

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


# the readers of formats ----------------------------------------------------------------------------

Reader = TypeVar("Reader", bound=Callable[..., TableSource])
_READERS: dict[str, Callable[[Path, Reading, str | None], TableSource]] = {}
_KIND_OF_ENDING: dict[str, str] = {}
_KIND_OF_BEGINNING: dict[bytes, str] = {}
COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")
_COMPRESSED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst"}


def reads(kind: str, *endings: str, beginnings: Sequence[bytes] = ()) -> Callable[[Reader], Reader]:
    """Register a class as the reader of a kind of file, known by its endings or its first bytes."""

    def register(reader: Reader) -> Reader:
        _READERS[kind] = reader
        _KIND_OF_ENDING.update(dict.fromkeys(endings, kind))
        _KIND_OF_BEGINNING.update(dict.fromkeys(beginnings, kind))
        return reader

    return register


def load_library(what: str, extra: str, load: Callable[[], Any]) -> Any:
    """An optional library; where it is missing, the error names the extra to install."""
    try:
        return load()
    except ImportError as why:
        raise ImportError(f"{what} needs {extra}: pip install 'scorebars[{extra}]'") from why


def load_arrow(module: str) -> Any:
    """A module of pyarrow."""
    return load_library("reading CSV, Parquet and Feather files", "arrow", lambda: import_module(module))


@reads("parquet", ".parquet", ".pq", beginnings=[b"PAR1"])
@reads("feather", ".feather", ".arrow", beginnings=[b"ARROW1"])
class ArrowFile(TableSource):
    """A Parquet or Feather file."""

    streams = True
    empty = False
    """Whether a text has column names but no rows, which pyarrow refuses to read."""

    def __init__(self, path: Path, options: Reading, name: str | None = None) -> None:
        self.path, self.kind, self.name = path, options.format, name or path.name
        self.size = path.stat().st_size
        with arrow_problems(self.name):
            self.columns = list(self._dataset().schema.names)

    def _dataset(self) -> Any:
        return load_arrow("pyarrow.dataset").dataset(str(self.path), format=self.file_format())

    def say_what_is_wrong(self, why: str) -> None:
        """Name the line of a text file that pyarrow complains about."""

    def file_format(self, numbers: Sequence[str] = ()) -> Any:
        """How pyarrow is to read the file in pieces; checksums of Parquet pages are verified where the file has them."""
        if self.kind != "parquet":
            return self.kind
        module = load_arrow("pyarrow.dataset")
        return module.ParquetFileFormat(
            default_fragment_scan_options=module.ParquetFragmentScanOptions(page_checksum_verification=True)
        )

    def bytes_held(self, columns: int, most: int = STREAM_ABOVE) -> int:
        """Counted from the number of rows, which the file states: equal values take next to no bytes on disk."""
        if self.size > most:
            return self.size
        with arrow_problems(self.name):
            return max(self.size, int(self._dataset().count_rows()) * _NUMBER * columns)

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        require_one_of_each(self, names)
        with arrow_problems(self.name):
            table = self._dataset().to_table(columns=list(names))
        return {name: column_values(table.column(name), name, self.name) for name in names}

    def first_rows(self) -> dict[str, Column]:
        pa = load_arrow("pyarrow")
        with arrow_problems(self.name):
            data = self._dataset()
            names = [f.name for f in data.schema if not pa.types.is_nested(f.type) and self.columns.count(f.name) == 1]
            rows = data.head(FIRST_ROWS, columns=names)
        return {name: column_values(rows.column(name), name, self.name) for name in names}


def require_one_of_each(source: TableSource, names: Sequence[str]) -> None:
    """Refuse a column whose name occurs twice."""
    for name in names:
        if source.columns.count(name) > 1:
            raise TableProblem(f"{source.name} has {source.columns.count(name)} columns called {name!r}. Rename them.")


def dataset_of(files: Sequence[ArrowFile], numbers: Sequence[str] = ()) -> Any:
    """Several files as one dataset, each read in its own way; it has the columns of the first."""
    filled = [file for file in files if not file.empty]
    if not filled:
        raise no_rows(files[0])
    for file in filled:
        if file.kind == "csv":
            require_one_of_each(file, file.columns)
    with arrow_problems(filled[0].name):
        parts = [load_arrow("pyarrow.dataset").dataset(str(f.path), format=f.file_format(numbers)) for f in filled]
    first, fragments = parts[0], [fragment for part in parts for fragment in part.get_fragments()]
    return type(first)(fragments, first.schema, first.format, first.filesystem)


def no_rows(source: TableSource) -> TableProblem:
    """The complaint about a table that has names of columns and nothing below."""
    return TableProblem(f"{source.name} has column names but no rows. Add the rows, or name another file.")


def files_in_pieces(source: TableSource) -> list[ArrowFile] | None:
    """The files of a source that can be read in pieces; None for others."""
    parts = source.parts if isinstance(source, Folder) else [source]
    files = [part for part in parts if isinstance(part, ArrowFile) and part.streams]
    return files if len(files) == len(parts) else None


@contextmanager
def arrow_problems(name: str, file: ArrowFile | None = None) -> Iterator[None]:
    """Say pyarrow's complaints in our words, with the line of a row that has too few or too many cells."""
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
            file.say_what_is_wrong(str(why))
        said = re.split(r"[.:] ?Is this", str(why))[0].strip()
        raise TableProblem(
            f"{name} cannot be read: {said}. Is it whole, and of the kind that its ending says?"
        ) from why
    except OSError as why:
        if why.errno is not None:  # the system's own, which say what and where
            raise
        said = re.sub(r"^.*(?:IOError|OSError): ", "", str(why), flags=re.DOTALL).splitlines()[0].strip(" .")
        raise TableProblem(
            f"{name} cannot be read: {said[:200]}. The file is damaged or cut off: copy or write it again."
        ) from why


def column_values(column: Any, name: str, file: str) -> Column:
    """A pyarrow column as TableSource promises it."""
    pa = load_arrow("pyarrow")
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    text, truth = pa.types.is_string(kind) or pa.types.is_large_string(kind), pa.types.is_boolean(kind)
    if text or truth or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.to_numpy())
    if pa.types.is_nested(kind):
        raise TableProblem(
            f"column {name!r} of {file} holds a {kind} in each row, not one value: choose another column."
        )
    return np.array([None if value is None else str(value) for value in column.to_pylist()], dtype=object)


# shipped data sets -------------------------------------------------------------------------------


def shipped_names() -> list[str]:
    """What may stand after ``dataset:``."""
    return [name.removeprefix("load_") for name in datasets.__all__ if name.startswith("load_")]


class Shipped(TableSource):
    """A shipped data set: columns y, y_err (or y_err_lo and y_err_hi), pred_<model>, id, and its own."""

    unique_ids = False

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
        return {name: texts_as_objects(self.table[name]) for name in names}

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return dict.fromkeys((name for name in names if name in self.labels), self.data.units)

    def place(self, row: int) -> str:
        return f"row {row + 1} ({self.data.ids[row]})"


def texts_as_objects(values: Column) -> Column:
    """Texts as TableSource promises them."""
    return values.astype(object) if values.dtype.kind in "US" else values


# which file ----------------------------------------------------------------------------------------


@contextmanager
def opened(names: str | Sequence[str], options: Reading | None = None) -> Iterator[TableSource]:
    """The table in one file, or in several with the same columns."""
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
        raise TableProblem(f"{name!r} is not the name of a file. Name a file, or a shipped data set as {PREFIX}NAME.")
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
    """The kind of file that the ending tells; an ending for compression is passed over.

    >>> kind_of(Path("a.csv.gz")), kind_of(Path("b.PARQUET")), kind_of(Path("c.doc"))
    ('csv', 'parquet', None)
    """
    ends = [end.lower() for end in path.suffixes]
    if ends and ends[-1] in COMPRESSIONS:
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
            f"or name the kind with --format ({', '.join(sorted(_READERS))})."
        )
    return _READERS[found](path, replace(options, format=found), name)


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
    """Where a disk is full, say which one, and what was to be kept there."""
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
    if sys.stdin is None:
        raise TableProblem("standard input is closed. Pipe a table into it, or name a file.")
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
        told = (kind for magic, kind in _KIND_OF_BEGINNING.items() if start.startswith(magic))
        yield _file(path, replace(options, format=options.format or next(told, "csv")), "standard input")


# files that stay what they are while they are read ---------------------------------------------------
#
# A file that is replaced or written to between two pieces would give a mixture of old and new rows, and no reader notices.

Mark = tuple[int, int, int, int]
"""Device, number, size and time of the last change of a file."""


def mark_of(path: str | os.PathLike[str]) -> Mark | None:
    """What identifies a file and its contents; None where there is no file, or something else such as a pipe."""
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
    """Files that must not change meanwhile; an error that a change explains is reported as that change."""
    before = marks_of(files)
    try:
        yield
    except Exception:
        require_unchanged(before)
        raise
    require_unchanged(before)
