"""The compiled kernel (_kernel.c) and bins (_bins.c), if they were built with this installation."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from scorebars.engines.names import NAMES

_OTHER_VERSION = "it was built from another version of the sources; install the package again"
_BINS_LAYOUT = 3
"""Of the arguments of the compiled loops."""

# y, prediction, sigma (array or float), weight, tolerance, reference -> the numbers named in NAMES
ChunkSums = Callable[[Any, Any, Any, Any, "float | None", "float | None"], tuple[float, ...]]


class Kernel(NamedTuple):
    """`chunk_sums` is None where there is no kernel; `note` then says why, else what it runs on."""

    chunk_sums: ChunkSums | None
    note: str


class BinLoops(NamedTuple):
    """`module` with square_bins and folded_bins is None where there is none; `note` then says why."""

    module: Any
    note: str


@cache
def load() -> Kernel:
    """Import the extension once."""
    try:
        module = importlib.import_module("scorebars.engines._kernel")
    except ImportError as error:
        return Kernel(None, str(error))
    if module.NAMES != NAMES:
        return Kernel(None, _OTHER_VERSION)
    return Kernel(module.chunk_sums, module.instruction_set())


@cache
def load_bins() -> BinLoops:
    """Import the extension once."""
    try:
        module = importlib.import_module("scorebars.engines._bins")
    except ImportError as error:
        return BinLoops(None, str(error))
    return BinLoops(module, "") if module.LAYOUT == _BINS_LAYOUT else BinLoops(None, _OTHER_VERSION)
