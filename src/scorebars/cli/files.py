"""From what the user names to a table: a file, a folder of files, a shipped data set, or standard input."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from scorebars.cli.arrow_files import COMPRESSIONS, ArrowFile
from scorebars.cli.failures import Failure
from scorebars.cli.science_files import AstropyFile, NetcdfFile
from scorebars.cli.shipped import PREFIX, Shipped
from scorebars.cli.source import Folder, Source

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".fits": "fits",
    ".fit": "fits",
    ".ecsv": "ecsv",
    ".nc": "netcdf",
    ".nc4": "netcdf",
    ".cdf": "netcdf",
}
KINDS = sorted(set(_ENDINGS.values()))
_BEGINNINGS = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"SIMPLE  =": "fits",
    b"# %ECSV": "ecsv",
    b"CDF": "netcdf",
    b"\x89HDF": "netcdf",
}
_COMPRESSED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst"}
_MAKE: dict[str, Callable[[Path, str, str | None], Source]] = {
    **dict.fromkeys(("csv", "parquet", "feather"), ArrowFile),
    **dict.fromkeys(("fits", "ecsv"), AstropyFile),
    "netcdf": NetcdfFile,
}


@contextmanager
def opened(name: str, kind: str | None = None) -> Iterator[Source]:
    """The table that `name` means; `kind` overrides what the file's ending says."""
    if kind is not None and kind not in KINDS:
        raise Failure(f"--format {kind!r} is not known. Choose one of {', '.join(KINDS)}.")
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
    if path.parent.is_dir():
        near = get_close_matches(path.name, os.listdir(path.parent), 1)
        if near:
            return f" Did you mean {path.parent / near[0]}?"
    return " Shipped data sets are written dataset:NAME."


def kind_of(path: Path) -> str | None:
    """The kind that the ending tells; a second ending of compression is looked through.

    >>> kind_of(Path("a.csv.gz")), kind_of(Path("b.PARQUET")), kind_of(Path("c.doc"))
    ('csv', 'parquet', None)
    """
    ends = [end.lower() for end in path.suffixes]
    if ends and ends[-1] in COMPRESSIONS:
        ends.pop()
    return _ENDINGS.get(ends[-1]) if ends else None


def _file(path: Path, kind: str | None, name: str | None = None) -> Source:
    found = kind or kind_of(path)
    if found is None:
        raise Failure(
            f"the ending of {path.name} does not say what it is. Known endings: {', '.join(sorted(_ENDINGS))}; "
            f"or name the kind with --format ({', '.join(KINDS)})."
        )
    return _MAKE[found](path, found, name)


def _folder(path: Path, kind: str | None) -> Source:
    files = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not file.name.startswith((".", "_")) and (kind or kind_of(file))
    ]
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
def _standard_input(kind: str | None) -> Iterator[Source]:
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
