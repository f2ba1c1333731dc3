"""The sums depend on the numbers alone: not on spacing, alignment, direction or type of the arrays."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from scorebars.engines import NormalSums, normal_sums

N = 1531


@pytest.fixture
def columns() -> list[np.ndarray[Any, Any]]:
    """Values that float32 holds exactly."""
    rng = np.random.default_rng(5)
    y, p, sigma, weight = rng.normal(size=(4, N)).astype(np.float32).astype(np.float64)
    return [y, p, np.abs(sigma), np.abs(weight)]


def spaced(a: np.ndarray[Any, Any], step: int) -> np.ndarray[Any, Any]:
    wide = np.full(len(a) * step, np.nan)
    wide[::step] = a
    return wide[::step]


def backwards(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(a[::-1])[::-1]


def column_of_matrix(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.stack([a, a + 1, a + 2], axis=1)[:, 0]


def misaligned(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    record = np.zeros(len(a), dtype=[("flag", "i1"), ("value", a.dtype)])
    record["value"] = a
    return record["value"]


def packed_misaligned(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.frombuffer(b"\0\0\0" + a.tobytes(), dtype=np.uint8)[3:].view(a.dtype)


def offset(a: np.ndarray[Any, Any], by: int) -> np.ndarray[Any, Any]:
    return np.concatenate([np.zeros(by), a])[by:]


def read_only(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    copy = a.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS = {
    "step 2": lambda a: spaced(a, 2),
    "step 7": lambda a: spaced(a, 7),
    "backwards": backwards,
    "backwards, step 3": lambda a: spaced(a[::-1], 3)[::-1],
    "column of a matrix": column_of_matrix,
    "misaligned field": misaligned,
    "misaligned": packed_misaligned,
    **{f"offset {by}": lambda a, by=by: offset(a, by) for by in range(1, 8)},
    "read only": read_only,
    "float32": lambda a: a.astype(np.float32),
    "float32 spaced": lambda a: spaced(a, 3).astype(np.float32)[::-1][::-1],
    "float32 misaligned": lambda a: misaligned(a.astype(np.float32)),
    "float32 backwards": lambda a: backwards(a.astype(np.float32)),
    "byte-swapped": lambda a: a.astype(">f8" if np.little_endian else "<f8"),
    "byte-swapped float32": lambda a: a.astype(">f4" if np.little_endian else "<f4"),
    "long double": lambda a: a.astype(np.longdouble),
    "objects": lambda a: a.astype(object),
}


def sums(columns: list[np.ndarray[Any, Any]]) -> NormalSums:
    return normal_sums(*columns, tolerance=0.5, labels=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_same_bits_in_any_layout(engine: str, columns: list[np.ndarray[Any, Any]], layout: str) -> None:
    expected = sums(columns)
    lay = LAYOUTS[layout]
    assert sums([lay(column) for column in columns]) == expected
    for k in range(4):
        mixed = [lay(column) if i == k else column for i, column in enumerate(columns)]
        assert sums(mixed) == expected


def test_integers(engine: str) -> None:
    y, p = np.arange(10), np.arange(10)[::-1]
    assert normal_sums(y, p, np.ones(10, dtype=int)) == normal_sums(y.astype(float), p.astype(float), 1.0)
    assert normal_sums(y.astype(np.uint8), p.astype(np.int16), np.float32(1), np.ones(10, bool)).d == 0


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int32, ">f8"])
def test_memory_stays_small(engine: str, kind: Any) -> None:
    n = 1_500_000
    y = np.zeros(2 * n, dtype=kind)[::2]
    sigma, weight = np.full(n, 1, dtype=kind), np.full(n, 1, dtype=kind)
    normal_sums(y[:10], y[:10], sigma[:10])
    tracemalloc.start()
    try:
        normal_sums(y, y, sigma, weight, threads=4)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 32e6
