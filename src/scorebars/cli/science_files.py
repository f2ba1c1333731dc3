"""FITS and ECSV tables (astropy) and NetCDF files (xarray), with their units."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from scorebars.cli.failures import Failure, needs
from scorebars.cli.source import Array, Source


class AstropyFile(Source):
    """A FITS or ECSV table; of a FITS file the first table."""

    def __init__(self, path: Path, kind: str, name: str | None = None) -> None:
        self.name, self.size = name or path.name, path.stat().st_size

        def load() -> Any:
            from astropy.table import Table

            return Table

        reader = needs("reading FITS and ECSV files", "astropy", load)
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

    def read(self, names: Sequence[str]) -> dict[str, Array]:
        return {name: self._column(name) for name in names}

    def _column(self, name: str) -> Array:
        column = self.table[name]
        values = np.ma.asarray(column) if not hasattr(column, "to_value") else np.ma.asarray(column.value)
        if values.ndim != 1:
            raise Failure(f"column {name!r} of {self.name} holds an array in each row, not one value.")
        missing = np.ma.getmaskarray(values)
        plain = values.data.astype(values.dtype.newbyteorder("="))  # FITS is big-endian
        if plain.dtype.kind == "S":
            plain = np.char.decode(plain, "utf-8")
        if plain.dtype.kind in "USO":
            texts = plain.astype(object)
            texts[missing] = None
            return np.asarray(texts)
        if missing.any():
            return np.where(missing, np.nan, plain.astype(np.float64))
        return np.asarray(plain)

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return {name: str(self.table[name].unit) for name in names if self.table[name].unit is not None}


def _first_table(path: Path, name: str) -> int:
    from astropy.io import fits

    with fits.open(path) as pieces:
        for k, piece in enumerate(pieces):
            if isinstance(piece, fits.BinTableHDU | fits.TableHDU):
                return k
    raise Failure(f"{name} holds no table, only images.")


class NetcdfFile(Source):
    """A NetCDF file: every variable and coordinate is a column, broadcast over the dimensions of those in use."""

    def __init__(self, path: Path, kind: str, name: str | None = None) -> None:
        self.name, self.size = name or path.name, path.stat().st_size

        def load() -> Any:
            import xarray

            return xarray

        self.xarray = needs("reading NetCDF files", "xarray", load)
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

    def read(self, names: Sequence[str]) -> dict[str, Array]:
        together = self.xarray.broadcast(*(self.data[name] for name in names))
        self._grid = together[0] if together else None
        out = {}
        for name, variable in zip(names, together, strict=True):
            values = np.asarray(variable.values).reshape(-1)
            if values.dtype.kind in "mM":
                values = values.astype(str)
            out[name] = values.astype(object) if values.dtype.kind in "US" else values
        return out

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return {name: str(self.data[name].attrs["units"]) for name in names if self.data[name].attrs.get("units")}

    def place(self, row: int) -> str:
        if self._grid is None or not self._grid.shape:
            return super().place(row)
        where = np.unravel_index(row, self._grid.shape)
        return ", ".join(f"{dim} {int(k)}" for dim, k in zip(self._grid.dims, where, strict=True))
