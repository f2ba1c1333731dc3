"""Sums of parts become the sums of the whole, whatever the parts' scales and references."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from scorebars.engines import NormalSums, merge, normal_sums
from scorebars.engines.names import SUMS

SIGNED = ("d", "d_w2", "y1", "d_var_w2", "y_var_w2", "y_d_var_w2")


def draw(n: int = 900) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(4)
    y = np.sort(rng.normal(5.0, 2.0, n))  # sorted: the parts have different references
    return [y, y + rng.normal(size=n), rng.exponential(size=n), rng.exponential(size=n)]


def parts_of(columns: list[np.ndarray[Any, Any]], *cuts: int, **options: Any) -> list[NormalSums]:
    edges = [0, *cuts, len(columns[0])]
    return [normal_sums(*(column[a:b] for column in columns), **options) for a, b in pairwise(edges)]


def assert_same(found: NormalSums, expected: NormalSums) -> None:
    """The same sums, if need be in other units."""
    assert found.n == expected.n
    unit, weight_unit = found.scale / expected.scale, found.weight_scale / expected.weight_scale
    for name, units in SUMS.items():
        value = getattr(found, name) * unit**units.label * weight_unit**units.weight
        cancelled = 1e-13 * expected.loss2_sq**0.75 if name in SIGNED else 0.0
        assert value == pytest.approx(getattr(expected, name), rel=1e-13, abs=cancelled, nan_ok=True), name


@pytest.mark.parametrize("cuts", [(), (450,), (1, 2, 3), tuple(range(50, 900, 50))])
@pytest.mark.parametrize("power", [0, -400, 400])
def test_parts_make_the_whole(engine: str, cuts: tuple[int, ...], power: int) -> None:
    columns = draw()
    columns[:3] = [np.ldexp(column, power) for column in columns[:3]]
    options = {"tolerance": math.ldexp(0.5, power), "labels": True}
    whole = normal_sums(*columns, **options)
    merged = merge([_nothing_about(whole), *parts_of(columns, *cuts, **options)])
    assert_same(merged, whole)
    assert (merged.tolerance, merged.y_shift) == (whole.tolerance, whole.y_shift)
    assert merged.max_abs_d * merged.scale == whole.max_abs_d * whole.scale
    assert merged.max_abs_y * merged.scale >= whole.max_abs_y * whole.scale


def _nothing_about(whole: NormalSums) -> NormalSums:
    """An empty part with the reference of `whole`."""
    zeros = dict.fromkeys(whole._fields, 0.0)
    kept = {name: getattr(whole, name) for name in ("tolerance", "y_shift", "scale", "weight_scale")}
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


def test_parts_of_very_different_size(engine: str) -> None:
    """Parts in scales of their own are brought to the scale that one pass would have chosen."""
    columns = draw()
    columns[1][:300] = columns[0][:300] + np.ldexp(1.0, 600)
    columns[2][:300] = np.ldexp(1.0, 590)
    columns[0][600:], columns[1][600:], columns[2][600:] = 0.0, np.ldexp(1.0, -500), np.ldexp(1.0, -510)
    parts = parts_of(columns, 300, 600)
    assert len({part.scale for part in parts}) == 3
    assert_same(merge(parts), normal_sums(*columns))


def test_a_perfect_part_does_not_hide_a_tiny_one(engine: str) -> None:
    zeros = np.zeros(5)
    tiny = normal_sums(zeros, zeros + 1e-120, 1e-130)
    merged = merge([normal_sums(zeros, zeros, 0.0), tiny])
    assert merged.scale == tiny.scale
    assert (merged.sq, merged.sqvar_w2) == (tiny.sq, tiny.sqvar_w2)
    assert merged.n == 10


def test_weights_of_very_different_size(engine: str) -> None:
    columns = draw()
    columns[3][:300] *= 2.0**500
    columns[3][300:] *= 2.0**-500
    assert_same(merge(parts_of(columns, 300)), normal_sums(*columns))


def test_references_far_apart(engine: str) -> None:
    """Labels near 0 in one part and near 1e160 in the other: squares about a common reference need a scale."""
    low, high = np.arange(5.0), 1e160 + np.zeros(5)
    merged = merge([normal_sums(y, y, 1.0, labels=True) for y in (low, high)])
    assert merged.y2 * (merged.scale / 1e160) ** 2 == pytest.approx(5, rel=1e-14)
    assert all(np.isfinite(getattr(merged, name)) for name in ("y1", "y2", "y2_var_w2", "y_d_var_w2"))


def test_missing_sums_stay_missing(engine: str) -> None:
    columns = draw()
    full, bare = normal_sums(*columns, tolerance=0.5, labels=True), normal_sums(*columns)
    for parts in ([full, bare], [bare, full]):
        merged = merge(parts)
        assert merged.abs == 2 * full.abs
        missing = ("within", "within_p", "tolerance", "y1", "y2", "y_shift", "max_abs_y")
        assert all(math.isnan(getattr(merged, name)) for name in missing)


def test_refusals(engine: str) -> None:
    columns = draw()
    with pytest.raises(ValueError, match="nothing to merge"):
        merge([])
    with pytest.raises(ValueError, match="different tolerances"):
        merge([normal_sums(*columns, tolerance=0.5), normal_sums(*columns, tolerance=0.6)])


def test_sums_travel_between_processes(engine: str) -> None:
    sums = normal_sums(*draw(), tolerance=0.5, labels=True)
    assert pickle.loads(pickle.dumps(sums)) == sums
