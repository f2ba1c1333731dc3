"""Formats that need a library of their own: spreadsheets, FITS, ECSV and VO tables, NetCDF.

What the metadata of a file say about errors and units is used: see `errors_by_metadata`.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np

from scorebars import checks
from scorebars._shared.score_views import counted
from scorebars.cells import is_missing_mark
from scorebars.files.formats import (
    FIRST_ROWS,
    Column,
    Reading,
    TableSource,
    load_library,
    reads,
    require_one_of_each,
    texts_as_objects,
)
from scorebars.files.problem import TableProblem
from scorebars.files.text_files import table_head


@reads("excel", ".xlsx", ".xlsm", ".xls", ".ods", beginnings=[b"PK\x03\x04"])
class Spreadsheet(TableSource):
    """A sheet of a workbook (.xlsx, .xls, .ods)."""

    def __init__(self, path: Path, options: Reading, name: str | None = None) -> None:
        self.name, self.size = name or path.name, path.stat().st_size
        calamine = load_library("reading spreadsheets", "excel", lambda: import_module("python_calamine"))
        _require_room(path, self.name)
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
        require_one_of_each(self, names)
        return {name: _cells_of_sheet([row[self.columns.index(name)] for row in self._rows]) for name in names}

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return {**super().units(names), **{name: unit for name, unit in self.head.units.items() if name in names}}

    def remarks(self) -> list[str]:
        titles = self.head.titles
        return [f"sheet {self.sheet}", *([f"{counted(titles, 'title row')} skipped"] if titles else [])]

    def place(self, row: int) -> str:
        line = self._numbers[self.head.first + row] + 1 + self._skipped
        return f"row {row + 1} (line {line} of sheet {self.sheet})"


_CELL = re.compile(rb'<(?:\w+:)?c\s[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')
_CELL_BYTES = 64
"""What the reader and its rows in Python take for each cell of the rectangle that holds all, be it empty."""


def _require_room(path: Path, name: str) -> None:
    """Refuse an .xlsx file with a cell so far from the table that no memory holds the empty ones between."""
    if not zipfile.is_zipfile(path):
        return
    damaged = suppress(zipfile.BadZipFile, zlib.error, EOFError)  # the reader says what is
    with damaged, zipfile.ZipFile(path) as book:
        for sheet in (one for one in book.namelist() if one.startswith("xl/worksheets/")):
            with book.open(sheet) as cells:
                column, row = _last_cell(cells)
            if row * _column_number(column) * _CELL_BYTES > checks.free_memory():
                raise TableProblem(
                    f"{name} has a sheet that reaches to column {column.decode()} and row {row:,}: more cells than "
                    "memory holds. Delete what stands far from the table, or save the sheet as CSV."
                )


def _last_cell(cells: IO[bytes]) -> tuple[bytes, int]:
    """The last column and the last row that a sheet of an .xlsx file names."""
    columns, last, before = {b"A"}, 0, b""
    while piece := cells.read(1 << 20):
        found = _CELL.findall(before + piece)
        columns.update(letters for letters, _ in found)
        last = max([last, *(int(row) for _, row in found)])
        before = piece[-100:]  # a cell may begin in one piece and end in the next
    return max(columns, key=_column_number), last


def _column_number(letters: bytes) -> int:
    return sum((letter - 64) * 26**place for place, letter in enumerate(reversed(letters)))


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


@reads("fits", ".fits", ".fit", beginnings=[b"SIMPLE  ="])
@reads("ecsv", ".ecsv", beginnings=[b"# %ECSV"])
@reads("votable", ".vot", ".votable")
class AstropyFile(TableSource):
    """A FITS, ECSV or VO table; of a FITS file the first table."""

    def __init__(self, path: Path, options: Reading, name: str | None = None) -> None:
        self.name, self.size = name or path.name, path.stat().st_size
        reader = load_library(
            "reading FITS, ECSV and VO tables", "astropy", lambda: import_module("astropy.table").Table
        )
        try:
            if options.format == "fits":
                self.table = reader.read(str(path), format="fits", hdu=_first_table(path, self.name))
            else:
                self.table = reader.read(str(path), format="votable" if options.format == "votable" else "ascii.ecsv")
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
            raise TableProblem(
                f"column {name!r} of {self.name} holds an array in each row, not one value: choose another column."
            )
        missing = np.ma.getmaskarray(values)
        plain = values.data.astype(values.dtype.newbyteorder("="))  # FITS is big-endian
        if plain.dtype.kind in "USO":
            texts = (np.char.decode(plain, "utf-8") if plain.dtype.kind == "S" else plain).astype(object)
            texts[missing] = None
            return np.asarray(texts)
        return np.where(missing, np.nan, plain.astype(np.float64)) if missing.any() else np.asarray(plain)

    def first_rows(self) -> dict[str, Column]:
        return {name: self._column(name)[:FIRST_ROWS] for name in self.columns if self.table[name].ndim == 1}

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


@reads("netcdf", ".nc", ".nc4", ".cdf", beginnings=[b"CDF", b"\x89HDF"])
class NetcdfFile(TableSource):
    """A NetCDF file: every variable and coordinate is a column, broadcast over the dimensions of those in use."""

    def __init__(self, path: Path, options: Reading, name: str | None = None) -> None:
        self.name, self.size = name or path.name, path.stat().st_size
        self.xarray = load_library("reading NetCDF files", "xarray", lambda: import_module("xarray"))
        try:
            with self.xarray.open_dataset(path) as opened:
                self.data = opened.load()
        except (ValueError, OSError, TypeError) as why:
            with path.open("rb") as file:
                genuine = file.read(4) == b"\x89HDF"
            if genuine and not (find_spec("netCDF4") or find_spec("h5netcdf")):
                raise ImportError(f"reading {self.name} needs netCDF4: pip install 'scorebars[xarray]'") from why
            raise TableProblem(f"{self.name} cannot be read: it is not a NetCDF file, or it is damaged.") from why
        self.columns = [str(key) for key in (*self.data.data_vars, *self.data.coords)]
        self.coordinates = frozenset(map(str, self.data.coords))
        self._grid: Any = None

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        together = self.xarray.broadcast(*(self.data[name] for name in names))
        self._grid = together[0] if together else None
        flat = {name: np.asarray(one.values).reshape(-1) for name, one in zip(names, together, strict=True)}
        times_as_texts = {name: v.astype(str) if v.dtype.kind in "mM" else v for name, v in flat.items()}
        return {name: texts_as_objects(values) for name, values in times_as_texts.items()}

    def first_rows(self) -> dict[str, Column]:
        shape = max((self.data[name].dims for name in self.data.data_vars), key=len, default=())
        whole = [name for name in self.columns if set(self.data[name].dims) <= set(shape)]
        return {name: values[:FIRST_ROWS] for name, values in self.read(whole).items()} if whole else {}

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


_ERROR_KEYS = ("uncertainty", "error", "errors", "yerr", "sigma", "std")
"""Under these keys of a column's metadata stands the name of the column of its errors."""


def errors_by_metadata(metadata: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Column -> column of its standard errors, as the metadata of both say.

    >>> errors_by_metadata({"t": {"ancillary_variables": "t_flag t_u"}, "t_flag": {"standard_name": "t status_flag"},
    ...                     "t_u": {"standard_name": "t standard_error"}})
    {'t': 't_u'}
    """
    found = {}
    for name, about in metadata.items():
        sure = [word for key in _ERROR_KEYS for word in str(about.get(key, "")).split() if word in metadata]
        others = [word for word in str(about.get("ancillary_variables", "")).split() if word in metadata]
        ancillary = [word for word in others if _is_standard_error(metadata[word])]
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
