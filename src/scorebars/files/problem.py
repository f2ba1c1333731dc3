"""What is wrong with a table, said so that the user can put it right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class TableProblem(ValueError):
    """A table that cannot be used as it is. The message names options as on the command line, such as ``--y COLUMN``."""


_NO_VALUE = "or and are is adds for takes means needs must exclude"
_OPTION = re.compile(
    rf"--([a-z][a-z-]*)(?: (?!(?:{_NO_VALUE.replace(' ', '|')})\b|--)([.,]|[^\s;:]*[^\s;:,.?])(?=[\s;:,.?)]|$))?"
)


def as_keywords(message: str) -> str:
    """A message that names options of the command line as one that names keywords of Python.

    >>> as_keywords("say --y COLUMN, or use --nan-policy omit")
    "say y=COLUMN, or use nan_policy='omit'"
    """

    def keyword(found: re.Match[str]) -> str:
        name, value = found[1].replace("-", "_"), found[2]
        name = "sample_weight" if name == "weight" else name
        if value is None or value[0] in "'\"(":
            return name if value is None else f"{name} {value}"
        return f"{name}={value if re.fullmatch('[A-Z]+(,[A-Z]+)?', value) else repr(value)}"

    return _OPTION.sub(keyword, message)


def first_names(names: Sequence[str], most: int = 20) -> str:
    """Names for a message; of many the first."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


@contextmanager
def said_for_python() -> Iterator[None]:
    """Problems of tables name keywords instead of options."""
    try:
        yield
    except TableProblem as why:
        raise TableProblem(as_keywords(str(why))) from why.__cause__
