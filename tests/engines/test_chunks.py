"""Chunks and threads: the same bits on any number of them, from many callers at once, and after a fork."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from scorebars.engines import BadValues, NormalSums, engine, normal_sums
from scorebars.engines.engine import CHUNK, chunk_ranges, over_chunks
from scorebars.engines.sums import exact_sum

N = 5 * CHUNK + 321


@pytest.fixture(scope="module")
def columns() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(8)
    y, p, sigma, weight = rng.normal(size=(4, N), scale=3.0)
    return [y, p, np.abs(sigma), np.abs(weight)]


def sums(columns: list[np.ndarray[Any, Any]], threads: int | None = None) -> NormalSums:
    return normal_sums(*columns, tolerance=0.5, labels=True, threads=threads)


def test_number_of_threads_does_not_matter(engine: str, columns: list[np.ndarray[Any, Any]]) -> None:
    one = sums(columns, 1)
    assert sums(columns, 2) == one
    assert sums(columns, 7) == one
    assert sums(columns) == one


def test_long_sums_are_exact(engine: str, columns: list[np.ndarray[Any, Any]]) -> None:
    y, p, sigma, weight = columns
    s = sums(columns)
    assert s.abs == pytest.approx(exact_sum(weight * np.abs(p - y)), rel=1e-15)
    assert s.w == pytest.approx(exact_sum(weight), rel=1e-15)
    assert s.var2_w2 == pytest.approx(exact_sum((weight * sigma**2) ** 2), rel=1e-15)
    assert s.max_abs_d == np.abs(p - y).max()


def test_a_bad_value_in_one_chunk(engine: str, columns: list[np.ndarray[Any, Any]]) -> None:
    y = columns[0].copy()
    y[-1] = np.inf
    y[0] = -np.inf
    with pytest.raises(BadValues):
        normal_sums(y, *columns[1:], threads=2)


def test_many_callers_at_once(engine: str, columns: list[np.ndarray[Any, Any]]) -> None:
    expected = sums(columns, 1)
    with ThreadPoolExecutor(6) as callers:
        assert set(callers.map(lambda _: sums(columns, 3), range(12))) == {expected}


def test_work_is_shared() -> None:
    """With one thread held up, the others take the chunks; results keep their order."""
    caller = threading.current_thread()
    others_done = threading.Event()
    n = 8 * CHUNK

    def work(start: int, stop: int) -> tuple[int, int]:
        if threading.current_thread() is caller:
            assert others_done.wait(10)
        elif stop == n:
            others_done.set()
        return start, stop

    assert over_chunks(work, n, 2) == chunk_ranges(n)


def test_errors_in_threads_reach_the_caller() -> None:
    def work(start: int, stop: int) -> None:
        if start >= CHUNK:
            raise ZeroDivisionError("chunk")

    for threads in (1, 4):
        with pytest.raises(ZeroDivisionError, match="chunk"):
            over_chunks(work, 8 * CHUNK, threads)


def test_without_helpers_the_caller_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(workers: int) -> ThreadPoolExecutor:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr(engine, "_pool", refuse)
    assert over_chunks(lambda start, stop: stop - start, 8 * CHUNK, 4) == [CHUNK] * 8


def test_grid_covers_everything_once() -> None:
    for n in (1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK):
        ranges = chunk_ranges(n)
        assert ranges[0][0] == 0
        assert ranges[-1][1] == n
        assert all(a[1] == b[0] for a, b in pairwise(ranges))


def _in_child(columns: list[np.ndarray[Any, Any]], queue: Any) -> None:
    queue.put(sums(columns, 2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork(columns: list[np.ndarray[Any, Any]]) -> None:
    """The child has none of the parent's threads and makes its own."""
    expected = sums(columns, 2)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(columns, queue))
    child.start()
    assert queue.get(timeout=30) == expected
    child.join(30)
    assert child.exitcode == 0


def test_sum_that_overflows_is_nan() -> None:
    assert exact_sum([1e308, -1e308, 1e308]) == 1e308
    for values in ([1e308, 1e308], [np.inf, -np.inf], [np.nan, 1.0]):
        assert np.isnan(exact_sum(values))
