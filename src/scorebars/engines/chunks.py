"""Work on a fixed grid of chunks, on several threads.

The grid depends on the number of labels alone and results are returned in its order, so whatever is made
of them is the same on any number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

Result = TypeVar("Result")

CHUNK = 1 << 17  # labels: about 0.4 ms of work, and 4 MB where all columns have to be converted
_THREADS_PAY_FROM = 500_000  # labels: below, waking threads costs more than they save


def chunk_ranges(n: int, size: int = CHUNK) -> list[tuple[int, int]]:
    """Start and stop of each chunk."""
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def over_chunks(work: Callable[[int, int], Result], n: int, threads: int, size: int = CHUNK) -> list[Result]:
    """`work(start, stop)` for each chunk of n labels; the calling thread takes its share."""
    ranges = chunk_ranges(n, size)
    if threads <= 1 or n < _THREADS_PAY_FROM:
        return [work(start, stop) for start, stop in ranges]

    queue = deque(enumerate(ranges))
    results: dict[int, Result] = {}

    def drain() -> None:
        while True:
            try:
                index, (start, stop) = queue.popleft()
            except IndexError:
                return
            results[index] = work(start, stop)

    helpers = _send_helpers(drain, min(threads, len(ranges)) - 1, threads - 1)
    try:
        drain()
    finally:
        queue.clear()  # after an error nobody need go on; else it is empty already
        for helper in helpers:
            if not helper.cancel():  # one that still waits behind another caller's work has nothing left to do
                helper.result()
    return [results[index] for index in range(len(ranges))]


def _send_helpers(drain: Callable[[], None], count: int, workers: int) -> list[Future[None]]:
    try:
        pool = _pool(workers)
        return [pool.submit(drain) for _ in range(count)]
    except RuntimeError:  # Python is shutting down and starts no more threads: the caller does it all
        return []


_pools: dict[int, ThreadPoolExecutor] = {}
_lock = Lock()


def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads are made when first needed, and kept."""
    with _lock:
        if workers not in _pools:
            _pools[workers] = ThreadPoolExecutor(workers, thread_name_prefix="scorebars")
        return _pools[workers]


def _forget_pools() -> None:
    """In a forked child the parent's threads do not exist, and its lock may be held for ever."""
    global _lock
    _lock = Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)
