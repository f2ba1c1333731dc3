"""Optional libraries: imported where they are used; one that is missing is named with the extra that brings it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needing(what: str, library: str, extra: str) -> Iterator[None]:
    """Imports that `what` needs; where they fail, the message says what to install."""
    try:
        yield
    except ImportError as why:
        raise ImportError(f"{what} needs {library}: pip install 'scorebars[{extra}]'") from why
