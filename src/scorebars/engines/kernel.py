"""The compiled kernel (_kernel.c), if it was built with this installation."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from scorebars.engines.names import NAMES

# y, prediction, sigma (array or float), weight, tolerance, reference -> the numbers named in NAMES
ChunkSums = Callable[[Any, Any, Any, Any, "float | None", "float | None"], tuple[float, ...]]


class Kernel(NamedTuple):
    """`chunk_sums` is None where there is no kernel; `note` then says why, else what it runs on."""

    chunk_sums: ChunkSums | None
    note: str


@cache
def load() -> Kernel:
    """Import the extension once."""
    try:
        module = importlib.import_module("scorebars.engines._kernel")
    except ImportError as error:
        return Kernel(None, str(error))
    if module.NAMES != NAMES:
        return Kernel(None, "it was built from another version of the sources; install the package again")
    return Kernel(module.chunk_sums, module.instruction_set())
