"""The terminal: what is printed where, how wide, and nothing that a file could smuggle into it.

Results go to standard output, everything said about them to standard error, so that a pipe gets the result alone.
"""

from __future__ import annotations

import io
import os
import sys
import unicodedata
from typing import Any

from rich.console import Console
from rich.text import Text

PIPE_WIDTH = 120
"""Width of a table that does not go to a terminal (unless COLUMNS says otherwise)."""


def printable(text: object) -> str:
    r"""The text with control, direction and unassigned characters escaped, so that a terminal shows and never obeys it.

    >>> print(printable("y\x1b[31m\nred"))
    y\x1b[31m\nred
    """
    return "".join(
        letter
        if unicodedata.category(letter) not in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp")
        else letter.encode("unicode_escape").decode("ascii")
        for letter in str(text)
    )


def width_of(stream: Any) -> int:
    """Columns of the terminal behind the stream; COLUMNS, or a fixed width, where there is none."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return PIPE_WIDTH


def colour_on(stream: Any) -> bool:
    """Colours only on a terminal, and not where NO_COLOR asks for none."""
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def rendered(*parts: Any, width: int | None = None, colour: bool = False) -> str:
    """Tables and texts as they look on a terminal of this width; a plain string is shown as it is."""
    sink = io.StringIO()
    console = Console(
        file=sink,
        width=width or width_of(sys.stdout),
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for part in parts:
        console.print(part)
    lines = sink.getvalue().split("\n")
    return "\n".join(line.rstrip() for line in lines) if not colour else sink.getvalue()


def note(text: str) -> None:
    """A remark about the work, on standard error."""
    _to_stderr(Text(_lines(text), style="dim"))


def paragraph(text: str) -> None:
    """An error, on standard error."""
    _to_stderr(Text(_lines(text)))


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))


def _to_stderr(text: Text) -> None:
    colour = colour_on(sys.stderr)
    sys.stderr.write(rendered(text, width=width_of(sys.stderr), colour=colour))
    sys.stderr.flush()
