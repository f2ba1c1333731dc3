"""From what the user names to a table: files of every kind, folders of them, shipped data sets, standard input."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb
from scorebars.cli.console import Failure, needs

Column = NDArray[Any]
PREFIX = "dataset:"
"""What the name of a shipped data set starts with."""
_BLOCK = 2 << 20
"""Bytes of a text file that are read at a time."""


class TableSource(ABC):
    """A table that is read column by column, only those that are asked for; messages call it `name`."""

    name: str
    columns: list[str]
    size: int = 0
    """Bytes on disk."""
    streams: bool = False
    """Whether it can be read in pieces."""

    @abstractmethod
    def read(self, names: Sequence[str]) -> dict[str, Column]:
        """These columns. Numbers are numbers with NaN where missing, texts are objects with None where missing."""

    def units(self, names: Sequence[str]) -> dict[str, str]:
        """The units of those columns that have one."""
        return {}

    def place(self, row: int) -> str:
        """How a person finds this row (counted from 0)."""
        return f"row {row + 1}"


class Folder(TableSource):
    """Several files with the same columns, one after the other."""

    def __init__(self, name: str, parts: Sequence[TableSource]) -> None:
        self.name, self.parts = name, list(parts)
        self.columns = parts[0].columns
        self.streams, self.size = all(part.streams for part in parts), sum(part.size for part in parts)
        self._lengths: list[int] = []

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        read = [part.read(names) for part in self.parts]
        self._lengths = [len(columns[names[0]]) for columns in read]
        return {name: np.concatenate([columns[name] for columns in read]) for name in names}

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return self.parts[0].units(names)

    def place(self, row: int) -> str:
        for part, length in zip(self.parts, self._lengths, strict=False):
            if row < length:
                inside = part.place(row)
                return inside if part.name in inside else f"{inside} of {part.name}"
            row -= length
        return super().place(row)


def _arrow(module: str) -> Any:
    return needs("reading CSV, Parquet and Feather files", "arrow", lambda: import_module(module))


class ArrowFile(TableSource):
    """One file that pyarrow reads; `kind` is "csv", "parquet" or "feather"."""

    def __init__(self, path: Path, kind: str, name: str | None = None) -> None:
        self.path, self.kind, self.name = path, kind, name or path.name
        self.streams, self.size = True, path.stat().st_size
        self.delimiter, self.skipped = ",", 0
        with _arrow_errors(self.name):
            self.columns = self._header() if kind == "csv" else list(self._dataset().schema.names)

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
        if all(reads_as_number(name) for name in names):
            raise Failure(
                f"{self.name} starts with numbers, not with column names. Add a first line such as y,y_err,pred_model."
            )
        return names

    def _options(self, numbers: Sequence[str] = (), names: Sequence[str] | None = None) -> dict[str, Any]:
        pc, pa = _arrow("pyarrow.csv"), _arrow("pyarrow")
        return {
            "read_options": pc.ReadOptions(skip_rows=self.skipped, block_size=_BLOCK),
            "parse_options": pc.ParseOptions(delimiter=self.delimiter),
            "convert_options": pc.ConvertOptions(
                strings_can_be_null=True,
                column_types={name: pa.float64() for name in numbers},
                include_columns=list(names) if names is not None else None,
            ),
        }

    def _dataset(self) -> Any:
        return _arrow("pyarrow.dataset").dataset(str(self.path), format=self.file_format())

    def file_format(self, numbers: Sequence[str] = ()) -> Any:
        """How pyarrow is to read the file; `numbers` of a CSV file are read as floats throughout."""
        return _arrow("pyarrow.dataset").CsvFileFormat(**self._options(numbers)) if self.kind == "csv" else self.kind

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        for name in names:
            if self.columns.count(name) > 1:
                raise Failure(f"{self.name} has {self.columns.count(name)} columns called {name!r}. Rename them.")
        with _arrow_errors(self.name, self):
            if self.kind == "csv":
                table = _arrow("pyarrow.csv").read_csv(str(self.path), **self._options(names=names))
            else:
                table = self._dataset().to_table(columns=list(names))
        return {name: column_values(table.column(name), name, self.name) for name in names}

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


def dataset_of(files: Sequence[ArrowFile], numbers: Sequence[str] = ()) -> Any:
    """Several files as one dataset, each read in its own way; it has the columns of the first."""
    parts = [_arrow("pyarrow.dataset").dataset(str(f.path), format=f.file_format(numbers)) for f in files]
    first, fragments = parts[0], [fragment for part in parts for fragment in part.get_fragments()]
    return type(first)(fragments, first.schema, first.format, first.filesystem)


@contextmanager
def _arrow_errors(name: str, file: ArrowFile | None = None) -> Iterator[None]:
    """Turns pyarrow's complaints into ours, with the line of a row that has too few or too many cells."""
    try:
        yield
    except (ValueError, KeyError) as why:
        if not type(why).__module__.startswith("pyarrow"):
            raise
        if file is not None:
            say_what_is_wrong(file, str(why))
        raise Failure(f"{name} cannot be read: {re.split(r'[.:] ?Is this', str(why))[0].strip()}.") from why


def say_what_is_wrong(file: ArrowFile, why: str) -> None:
    """Find the line of a CSV file that pyarrow stumbled over."""
    if file.kind != "csv":
        return
    wanted, value = len(file.columns), re.search(r"invalid value '(.*?)'", why)
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


def reads_as_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


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
        raise Failure(f"column {name!r} of {file} holds a {kind} in each row, not one value.")
    values = column.to_pylist()
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return np.array([v if v is None or text or numeric else str(v) for v in values], dtype=object)


def shipped_names() -> list[str]:
    """What may stand after ``dataset:``."""
    return [name.removeprefix("load_") for name in sb.datasets.__all__ if name.startswith("load_")]


class Shipped(TableSource):
    """A shipped data set: columns y, y_err (or y_err_lo and y_err_hi), pred_<model>, id, and its own."""

    def __init__(self, name: str) -> None:
        short, known = name.removeprefix(PREFIX), shipped_names()
        if short not in known:
            near = get_close_matches(short, known, 1)
            hint = f" Did you mean {PREFIX}{near[0]}?" if near else ""
            raise Failure(f"there is no data set {short!r}.{hint} There are: {', '.join(known)}.")
        self.name = name
        self.data = data = getattr(sb.datasets, f"load_{short}")()
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
    """A FITS or ECSV table; of a FITS file the first table."""

    def __init__(self, path: Path, kind: str, name: str | None = None) -> None:
        self.name, self.size = name or path.name, path.stat().st_size
        reader = needs("reading FITS and ECSV files", "astropy", lambda: import_module("astropy.table").Table)
        try:
            if kind == "fits":
                self.table = reader.read(str(path), format="fits", hdu=_first_table(path, self.name))
            else:
                self.table = reader.read(str(path), format="ascii.ecsv")
        except Failure:
            raise
        except Exception as why:  # astropy raises many kinds for a damaged file
            raise Failure(f"{self.name} cannot be read: {str(why).splitlines()[0] if str(why) else why!r}.") from why
        self.columns = list(self.table.colnames)

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        return {name: self._column(name) for name in names}

    def _column(self, name: str) -> Column:
        column = self.table[name]
        values = np.ma.asarray(column.value if hasattr(column, "to_value") else column)
        if values.ndim != 1:
            raise Failure(f"column {name!r} of {self.name} holds an array in each row, not one value.")
        missing = np.ma.getmaskarray(values)
        plain = values.data.astype(values.dtype.newbyteorder("="))  # FITS is big-endian
        if plain.dtype.kind in "USO":
            texts = (np.char.decode(plain, "utf-8") if plain.dtype.kind == "S" else plain).astype(object)
            texts[missing] = None
            return np.asarray(texts)
        return np.where(missing, np.nan, plain.astype(np.float64)) if missing.any() else np.asarray(plain)

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return {name: str(self.table[name].unit) for name in names if self.table[name].unit is not None}


def _first_table(path: Path, name: str) -> int:
    from astropy.io import fits

    with fits.open(path) as pieces:
        for k, piece in enumerate(pieces):
            if isinstance(piece, fits.BinTableHDU | fits.TableHDU):
                return k
    raise Failure(f"{name} holds no table, only images.")


class NetcdfFile(TableSource):
    """A NetCDF file: every variable and coordinate is a column, broadcast over the dimensions of those in use."""

    def __init__(self, path: Path, kind: str, name: str | None = None) -> None:
        self.name, self.size = name or path.name, path.stat().st_size
        self.xarray = needs("reading NetCDF files", "xarray", lambda: import_module("xarray"))
        try:
            with self.xarray.open_dataset(path) as opened:
                self.data = opened.load()
        except (ValueError, OSError, TypeError) as why:
            with path.open("rb") as file:
                genuine = file.read(4) == b"\x89HDF"
            if genuine and not (find_spec("netCDF4") or find_spec("h5netcdf")):
                raise ImportError(f"reading {self.name} needs netCDF4: pip install 'scorebars[xarray]'") from why
            raise Failure(f"{self.name} cannot be read: it is no NetCDF file, or a damaged one.") from why
        self.columns = [str(key) for key in (*self.data.data_vars, *self.data.coords)]
        self._grid: Any = None

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        together = self.xarray.broadcast(*(self.data[name] for name in names))
        self._grid = together[0] if together else None
        flat = {name: np.asarray(one.values).reshape(-1) for name, one in zip(names, together, strict=True)}
        times_as_texts = {name: v.astype(str) if v.dtype.kind in "mM" else v for name, v in flat.items()}
        return {name: _texts_as_objects(values) for name, values in times_as_texts.items()}

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return {name: str(self.data[name].attrs["units"]) for name in names if self.data[name].attrs.get("units")}

    def place(self, row: int) -> str:
        if self._grid is None or not self._grid.shape:
            return super().place(row)
        where = np.unravel_index(row, self._grid.shape)
        return ", ".join(f"{dim} {int(k)}" for dim, k in zip(self._grid.dims, where, strict=True))


_KINDS = {
    "csv": (".csv", ".tsv", ".txt", ".dat"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow"),
    "fits": (".fits", ".fit"),
    "ecsv": (".ecsv",),
    "netcdf": (".nc", ".nc4", ".cdf"),
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
_COMPRESSED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst"}


@contextmanager
def opened(name: str, kind: str | None = None) -> Iterator[TableSource]:
    """The table that `name` means; `kind` overrides what the file's ending says."""
    if kind is not None and kind not in _KINDS:
        raise Failure(f"--format {kind!r} is not known. Choose one of {', '.join(sorted(_KINDS))}.")
    if name == "-":
        with _standard_input(kind) as source:
            yield source
        return
    if name.startswith(PREFIX):
        yield Shipped(name)
        return
    path = Path(name)
    if not path.exists():
        raise Failure(f"there is no file {name!r}.{_near(path)}")
    yield _folder(path, kind) if path.is_dir() else _file(path, kind)


def _near(path: Path) -> str:
    near = get_close_matches(path.name, os.listdir(path.parent) if path.parent.is_dir() else [], 1)
    return f" Did you mean {path.parent / near[0]}?" if near else " Shipped data sets are written dataset:NAME."


def kind_of(path: Path) -> str | None:
    """The kind that the ending tells; a second ending of compression is looked through.

    >>> kind_of(Path("a.csv.gz")), kind_of(Path("b.PARQUET")), kind_of(Path("c.doc"))
    ('csv', 'parquet', None)
    """
    ends = [end.lower() for end in path.suffixes]
    if ends and ends[-1] in (".gz", ".bz2", ".zst", ".lz4"):
        ends.pop()
    return _KIND_OF_ENDING.get(ends[-1]) if ends else None


def _file(path: Path, kind: str | None, name: str | None = None) -> TableSource:
    found = kind or kind_of(path)
    if found is None:
        raise Failure(
            f"the ending of {path.name} does not say what it is. Known endings: {', '.join(sorted(_KIND_OF_ENDING))}; "
            f"or name the kind with --format ({', '.join(sorted(_KINDS))})."
        )
    make = {"fits": AstropyFile, "ecsv": AstropyFile, "netcdf": NetcdfFile}.get(found, ArrowFile)
    return make(path, found, name)


def _folder(path: Path, kind: str | None) -> TableSource:
    seen = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith((".", "_"))]
    files = [file for file in seen if kind or kind_of(file)]
    kinds = {kind or kind_of(file) for file in files}
    if len(kinds) != 1:
        what = f"files of several kinds ({', '.join(sorted(map(str, kinds)))})" if kinds else "no tables"
        raise Failure(f"the folder {path} holds {what}: it must hold files of one kind with the same columns.")
    parts = [_file(file, kind, str(file.relative_to(path))) for file in files]
    first = parts[0]
    for part in parts[1:]:
        if set(part.columns) != set(first.columns):
            odd = sorted(set(part.columns) ^ set(first.columns))[0]
            where, other = (first, part) if odd in first.columns else (part, first)
            raise Failure(
                f"the files of {path} differ in their columns: {where.name} has {odd!r}, {other.name} has not."
            )
    return Folder(str(path), parts)


@contextmanager
def _standard_input(kind: str | None) -> Iterator[TableSource]:
    """Standard input, kept in a temporary file: most kinds have to be read from the end, and any may be large."""
    with tempfile.TemporaryDirectory(prefix="scorebars-") as folder:
        path = Path(folder) / "input"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        with path.open("rb") as file:
            start = file.read(16)
        if not start:
            raise Failure("standard input is empty. Pipe a table into it, or name a file.")
        for magic, ending in _COMPRESSED.items():
            if start.startswith(magic):
                path = path.rename(path.with_suffix(ending))
        found = kind or next((k for magic, k in _BEGINNINGS.items() if start.startswith(magic)), "csv")
        yield _file(path, found, "standard input")
