"""A temporary folder of the server's own that is always removed: at its end, or at the start of the next after a kill."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

_PREFIX = "scorebars-serve-"
_LOCK = "lock"
_YOUNG = 60.0
"""Seconds in which a folder may still be without its lock, while its server starts."""


class Scratch:
    """The folder, held by a lock that ends with the process, however it ends.

    >>> with Scratch() as scratch:
    ...     scratch.new_folder().is_dir()
    True
    >>> scratch.path.exists()
    False
    """

    def __init__(self, within: str | os.PathLike[str] | None = None) -> None:
        self._within = Path(within or tempfile.gettempdir())
        remove_left_overs(self._within)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._within))  # only this user may look inside
        self._lock: IO[str] | None = (self.path / _LOCK).open("w")
        _hold(self._lock)

    def new_folder(self) -> Path:
        """A fresh folder inside, under a name that cannot be guessed."""
        return Path(tempfile.mkdtemp(dir=self.path))

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def remove_left_overs(within: Path) -> list[Path]:
    """Remove the folders of servers of this user that are gone, and say which."""
    removed = []
    for folder in sorted(within.glob(f"{_PREFIX}*")):
        if _is_left_over(folder):
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
    return removed


def _is_left_over(folder: Path) -> bool:
    try:
        about = folder.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
            return False
        lock = folder / _LOCK
        if not lock.is_file() or lock.is_symlink():
            return time.time() - about.st_mtime > _YOUNG
        with lock.open("r+") as file:
            return _hold(file)
    except OSError:
        return False


def _hold(file: IO[str]) -> bool:
    """Take the lock of a file, and say whether that went well."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
