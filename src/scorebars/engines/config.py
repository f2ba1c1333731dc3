"""Which engine forms the sums, and on how many threads.

Two environment variables, read at every call:

    SCOREBARS_ENGINE    "auto" (the compiled kernel where there is one, else NumPy), "kernel" or "numpy"
    SCOREBARS_THREADS   number of threads for large data; by default the cores at hand, at most 8
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from scorebars.engines import kernel
from scorebars.engines.kernel import ChunkSums

_MOST_THREADS = 8


def chunk_sums() -> ChunkSums:
    """The active engine's function that sums one chunk of labels."""
    wish = _wished_engine()
    if wish != "numpy":
        compiled = kernel.load()
        if compiled.chunk_sums is not None:
            return compiled.chunk_sums
        if wish == "kernel":
            raise RuntimeError(f"SCOREBARS_ENGINE=kernel, but there is no compiled kernel: {compiled.note}")
    from scorebars.engines import numpy_twin

    return numpy_twin.chunk_sums


def bin_loops() -> Any:
    """The compiled loops that put labels into bins; None where NumPy does it."""
    return None if _wished_engine() == "numpy" else kernel.load_bins().module


_alone: ContextVar[bool] = ContextVar("scorebars_alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep to this thread: for work of which others already run several pieces at a time."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def threads() -> int:
    """How many threads work on large data."""
    if _alone.get():
        return 1
    wish = os.environ.get("SCOREBARS_THREADS", "").strip()
    if not wish:
        return min(_cores(), _MOST_THREADS)
    if not wish.isdecimal() or int(wish) < 1:
        raise ValueError(f"SCOREBARS_THREADS must be a whole number of at least 1, got {wish!r}")
    return int(wish)


def describe() -> dict[str, str | int]:
    """What is active, in words."""
    wish = _wished_engine()
    compiled = kernel.load()
    if wish == "numpy":
        engine = "numpy (SCOREBARS_ENGINE=numpy)"
    elif compiled.chunk_sums is None:
        engine = f"numpy (no compiled kernel: {compiled.note})"
    else:
        engine = f"compiled kernel, {compiled.note}"
    note = kernel.load_bins().note
    bins = "numpy" if wish == "numpy" else f"numpy (no compiled module: {note})" if note else "compiled"
    return {"engine": engine, "bins": bins, "threads": threads()}


def show_config() -> None:
    """Print which engine forms the sums, and what it runs on.

    >>> show_config()
    scorebars ...
    engine: ...
    bins: ...
    threads: ...
    """
    import platform
    from importlib.metadata import version

    import numpy
    import scipy

    print(f"scorebars {version('scorebars')}, Python {platform.python_version()} on {platform.machine()}")
    for name, value in describe().items():
        print(f"{name}: {value}")
    print(f"NumPy {numpy.__version__}, SciPy {scipy.__version__}")


def _wished_engine() -> str:
    wish = os.environ.get("SCOREBARS_ENGINE", "").strip() or "auto"
    if wish not in ("auto", "kernel", "numpy"):
        raise ValueError(f"SCOREBARS_ENGINE must be 'auto', 'kernel' or 'numpy', got {wish!r}")
    return wish


def _cores() -> int:
    """Cores that this process may use (fewer than the machine has, in a container or batch job)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
