"""How much memory there is, asked before an array is made that may not fit."""

from __future__ import annotations

import os
from contextlib import suppress

_ALWAYS = 1 << 28
"""So many bytes are taken without asking."""
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def free_memory() -> int:
    """Bytes that this process may still take, as far as the system tells."""
    found = []
    with suppress(OSError, ValueError, StopIteration), open("/proc/meminfo", encoding="ascii") as file:
        found.append(1024 * next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")))
    for limit in _LIMITS:
        with suppress(OSError, ValueError), open(limit, encoding="ascii") as file:
            found.append(int(file.read()))
    with suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=1 << 62)


def require_memory(needed: int, what: str, instead: str) -> None:
    """Refuse what would take more memory than there is: say how much, and what to do instead."""
    if needed <= _ALWAYS:
        return
    there = free_memory()
    if needed > there:
        raise ValueError(
            f"{what} needs {needed / 2**30:,.1f} GiB of memory, and {there / 2**30:,.1f} GiB are free. {instead}"
        )
