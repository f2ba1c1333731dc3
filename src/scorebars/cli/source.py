"""What every kind of input offers: column names, columns as arrays, and where a row is found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Source(ABC):
    """A table that is read column by column, only those that are asked for.

    Attributes
    ----------
    name : what to call it in messages
    columns : names of its columns
    paths : the Arrow files behind it, empty where it cannot be streamed
    size : bytes on disk
    """

    name: str
    columns: list[str]
    paths: tuple[Path, ...] = ()
    size: int = 0

    @abstractmethod
    def read(self, names: Sequence[str]) -> dict[str, Array]:
        """These columns. Numbers are numbers with NaN where missing, texts are objects with None where missing."""

    def units(self, names: Sequence[str]) -> dict[str, str]:
        """The units of those columns that have one."""
        return {}

    def place(self, row: int) -> str:
        """How a person finds this row (counted from 0)."""
        return f"row {row + 1}"


class Folder(Source):
    """Several files with the same columns, one after the other."""

    def __init__(self, name: str, parts: Sequence[Source]) -> None:
        self.name, self.parts = name, list(parts)
        self.columns = [c for c in parts[0].columns if all(c in part.columns for part in parts)]
        streamed = all(part.paths for part in parts)
        self.paths = tuple(path for part in parts for path in part.paths) if streamed else ()
        self.size = sum(part.size for part in parts)
        self._lengths: list[int] = []

    def read(self, names: Sequence[str]) -> dict[str, Array]:
        read = [part.read(names) for part in self.parts]
        if names:
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
