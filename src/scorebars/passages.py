"""Passages that several docstrings share: a line ``$name`` of a docstring stands for the passage of that name."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import indent
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def passages(**texts: str) -> Callable[[_Function], _Function]:
    """A decorator that puts these passages into the docstring of a function."""

    def documented(function: _Function) -> _Function:
        if function.__doc__:
            function.__doc__ = re.sub(
                r"^( *)\$(\w+)$", lambda found: indent(texts[found[2]], found[1]), function.__doc__, flags=re.MULTILINE
            )
        return function

    return documented
