"""The terminal: what is printed where, how wide, nothing that a file could smuggle into it, and how a command ends.

Results go to standard output, everything said about them to standard error, so that a pipe gets the result alone.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from scorebars._shared.escaping import printable_lines

FOUND, BAD_INPUT, MISSING_LIBRARY, UNEXPECTED, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141
EXIT_CODES = (
    "Exit codes: 0 done; 1 check found something; 2 the command or a file cannot be used; 3 a library is missing; "
    "4 a bug; 130 Ctrl-C; 141 broken pipe."
)
_PIPE_WIDTH = 120
"""Width of a table that does not go to a terminal (unless COLUMNS says otherwise)."""


def width_of(stream: Any) -> int:
    """Columns of the terminal behind the stream; COLUMNS, or a fixed width, where there is none."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return _PIPE_WIDTH


def colour_on(stream: Any) -> bool:
    """Colours only on a terminal, and not where NO_COLOR asks for none."""
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def rendered(*parts: Any, width: int, colour: bool = False) -> str:
    """Tables and texts as they look on a terminal of this width; a plain string is shown as it is."""
    sink = io.StringIO()
    console = Console(
        file=sink,
        width=width,
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


def note(text: str, style: str = "dim") -> None:
    """A remark about the work, on standard error."""
    safe = Text(printable_lines(text), style=style)
    sys.stderr.write(rendered(safe, width=width_of(sys.stderr), colour=colour_on(sys.stderr)))
    sys.stderr.flush()


def warn(text: str) -> None:
    """A warning, on standard error."""
    note(f"Warning: {text}", style="yellow")


def write_nowhere(stream: Any) -> None:
    """What a stream still holds goes to nobody: Python flushes it once more at exit, and that has to go somewhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Failure(Exception):
    """Something the user can put right; the text is the whole message."""
