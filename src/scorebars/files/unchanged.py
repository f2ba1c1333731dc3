"""Files that stay what they are while they are read: what tells a file from another is compared at both ends.

A file that is replaced or written to between two pieces would give a mixture of old and new rows, and no reader notices.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from scorebars.files.problem import TableProblem

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
