"""Sums of parts become the sums of the whole, whatever the parts' references."""

from __future__ import annotations

import math
import pickle
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from scorebars.engines import NormalSums, normal_sums
from scorebars.engines.sums import SUMS

SIGNED = ("d", "d_w2", "y1", "d_var_w2", "y_var_w2", "y_d_var_w2")


def draw(n: int = 900) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(4)
    y = np.sort(rng.normal(5.0, 2.0, n))  # sorted: the parts have different references
    return [y, y + rng.normal(size=n), rng.exponential(size=n), rng.exponential(size=n)]


def parts_of(columns: list[np.ndarray[Any, Any]], *cuts: int, **options: Any) -> list[NormalSums]:
    edges = [0, *cuts, len(columns[0])]
    return [normal_sums(*(column[a:b] for column in columns), **options) for a, b in pairwise(edges)]


def merge(parts: list[NormalSums]) -> NormalSums:
    return reduce(NormalSums.merged, parts)


def assert_same(found: NormalSums, expected: NormalSums) -> None:
    assert found.n == expected.n
    for name in SUMS:
        cancelled = 1e-13 * expected.loss2_sq**0.75 if name in SIGNED else 0.0
        value = getattr(expected, name)
        assert getattr(found, name) == pytest.approx(value, rel=1e-13, abs=cancelled, nan_ok=True), name


@pytest.mark.parametrize("cuts", [(), (450,), (1, 2, 3), tuple(range(50, 900, 50))])
def test_parts_make_the_whole(engine: str, cuts: tuple[int, ...]) -> None:
    columns = draw()
    whole = normal_sums(*columns, tolerance=0.5, labels=True)
    merged = merge([_nothing_about(whole), *parts_of(columns, *cuts, tolerance=0.5, labels=True)])
    assert_same(merged, whole)
    assert (merged.tolerance, merged.y_shift) == (whole.tolerance, whole.y_shift)
    assert merged.max_abs_d == whole.max_abs_d
    assert merged.max_abs_y >= whole.max_abs_y


def _nothing_about(whole: NormalSums) -> NormalSums:
    """An empty part with the reference of `whole`."""
    zeros = dict.fromkeys(whole._fields, 0.0)
    kept = {name: getattr(whole, name) for name in ("tolerance", "y_shift")}
    return NormalSums(**(zeros | {"n": 0} | kept))


def test_reference_of_the_whole(engine: str) -> None:
    columns = draw()
    a, b = parts_of(columns, 400, labels=True)
    ab, ba = merge([a, b]), merge([b, a])
    assert (ab.y_shift, ba.y_shift) == (a.y_shift, b.y_shift)
    for s in (ab, ba):
        mean = s.y1 / s.w
        assert s.y_shift + mean == pytest.approx(np.average(columns[0], weights=columns[3]), rel=1e-14)
        spread = np.average((columns[0] - s.y_shift - mean) ** 2, weights=columns[3])
        assert s.y2 / s.w - mean**2 == pytest.approx(spread, rel=1e-13)
        w2_var = columns[3] ** 2 * columns[2] ** 2
        centred = columns[0] - s.y_shift
        assert s.y2_var_w2 == pytest.approx(np.sum(w2_var * centred**2), rel=1e-13)
        assert s.y_d_var_w2 == pytest.approx(np.sum(w2_var * centred * (columns[1] - columns[0])), rel=1e-11)


def test_missing_sums_stay_missing(engine: str) -> None:
    columns = draw()
    full, bare = normal_sums(*columns, tolerance=0.5, labels=True), normal_sums(*columns)
    for parts in ([full, bare], [bare, full]):
        merged = merge(parts)
        assert merged.abs == 2 * full.abs
        missing = ("within", "within_p", "tolerance", "y1", "y2", "y_shift", "max_abs_y")
        assert all(math.isnan(getattr(merged, name)) for name in missing)


def test_sums_travel_between_processes(engine: str) -> None:
    sums = normal_sums(*draw(), tolerance=0.5, labels=True)
    assert pickle.loads(pickle.dumps(sums)) == sums
