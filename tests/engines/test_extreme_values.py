"""Data too large or small for fourth powers are divided by a power of two; bad values are noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scorebars.engines import BadValues, NormalSums, normal_sums
from scorebars.engines.sums import SUMS


def draw(n: int = 700, seed: int = 2) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return [y, y + rng.normal(size=n), rng.exponential(size=n), rng.exponential(size=n)]


def in_units_of(sums: NormalSums, unit: float, weight_unit: float = 1.0) -> dict[str, float]:
    """Sums as if labels had been given in `unit`, a power of two; scales taken out."""
    label, weight = np.log2(unit) - np.log2(sums.scale), np.log2(weight_unit) - np.log2(sums.weight_scale)
    in_labels = sums.divided(int(label))
    return {name: np.ldexp(getattr(in_labels, name), int(-weight * (2 if "w2" in name else 1))) for name in SUMS}


@pytest.mark.parametrize("power", [-1000, -600, -500, -300, -190, -150, 150, 180, 195, 300, 500, 800, 1015])
def test_any_unit_of_the_labels(engine: str, power: int) -> None:
    y, p, sigma, weight = draw()
    unit = 2.0**power
    expected = in_units_of(normal_sums(y, p, sigma, weight, 0.5, labels=True), 1.0)
    found = normal_sums(y * unit, p * unit, sigma * unit, weight, 0.5 * unit, labels=True)
    assert np.frexp(found.scale)[0] == 0.5
    assert (found.scale == 1.0) == (-185 < power < 185)
    assert in_units_of(found, unit) == pytest.approx(expected, rel=1e-15)
    assert found.max_abs_d * (found.scale / unit) == np.abs(p - y).max()


@pytest.mark.parametrize("power", [-1000, -600, -90, 90, 300, 1000])
def test_any_unit_of_the_weights(engine: str, power: int) -> None:
    y, p, sigma, weight = draw()
    unit = 2.0**power
    expected = in_units_of(normal_sums(y, p, sigma, weight, 0.5, labels=True), 1.0)
    found = normal_sums(y, p, sigma, weight * unit, 0.5, labels=True)
    assert (found.weight_scale == 1.0) == (abs(power) < 100)
    assert in_units_of(found, 1.0, unit) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("size", [1e150, 1e-150])
def test_mean_and_spread_of_huge_and_tiny_data(engine: str, size: float) -> None:
    y, p, sigma, _ = draw()
    a, b = normal_sums(y, p, sigma), normal_sums(y * size, p * size, sigma * size)
    assert b.sq / b.w * (b.scale / size) ** 2 == pytest.approx(a.sq / a.w, rel=1e-14)
    assert np.sqrt(2 * b.var2_w2 + 4 * b.sqvar_w2) * (b.scale / size) ** 2 == pytest.approx(
        np.sqrt(2 * a.var2_w2 + 4 * a.sqvar_w2), rel=1e-14
    )
    assert b.loss2_sq * (b.scale / size) ** 4 == pytest.approx(a.loss2_sq, rel=1e-14)


def test_largest_doubles(engine: str) -> None:
    """The difference itself is not a double."""
    y, p = np.array([1e308, -1e308, 1e308]), np.array([-1e308, 1e308, 1e308])
    s = normal_sums(y, p, 1e308, labels=True, tolerance=1.5e308)
    assert s.abs / s.w * (s.scale / 1e308) == pytest.approx(4 / 3, rel=1e-15)
    assert s.d == pytest.approx(0, abs=1e-10 * s.abs)
    assert s.within == 1
    assert 0 < s.within_p < 3
    assert all(np.isfinite(s))


def test_errors_far_smaller_than_differences(engine: str) -> None:
    """Differences of 1e150 with errors 200 orders of magnitude smaller: their products still count."""
    s = normal_sums(np.array([0.0, 0.0]), np.array([1e150, 0.0]), 1e-50)
    assert s.sq * (s.scale / 1e150) ** 2 == pytest.approx(1, rel=1e-14)
    assert s.var * (s.scale * 1e50) ** 2 == pytest.approx(2, rel=1e-14)
    assert s.sqvar_w2 * (s.scale * 1e50) ** 2 * (s.scale / 1e150) ** 2 == pytest.approx(1, rel=1e-14)
    s = normal_sums(np.full(3, 1e150), np.full(3, 1e150), np.array([1e-150, 0, 0]))
    assert s.var2_w2 * (s.scale * 1e150) ** 4 == pytest.approx(1, rel=1e-14)


def test_labels_without_weight_do_not_matter(engine: str) -> None:
    y, p, sigma, weight = draw()
    weight[::7] = 0
    expected = normal_sums(y, p, sigma, weight, 0.5)
    for huge in (1e300, -1.7e308):
        y[::7], sigma[::7] = huge, abs(huge)
        p[::14] = -huge
        assert normal_sums(y, p, sigma, weight, 0.5) == pytest.approx(expected, rel=1e-15, nan_ok=True)


def test_all_weights_zero(engine: str) -> None:
    y, p, sigma, weight = draw()
    s = normal_sums(y, p, sigma, 0 * weight, 0.5, labels=True)
    assert (s.w, s.w2, s.abs, s.fold, s.max_weight, s.max_abs_d, s.scale) == (0, 0, 0, 0, 0, 0, 1)


@pytest.mark.parametrize("n", [1, 5, 700, 140_000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", range(4))
def test_values_that_are_not_finite(engine: str, n: int, bad: float, which: int) -> None:
    columns = draw(n)
    columns[which][n // 2] = bad
    with pytest.raises(BadValues):
        normal_sums(*columns)
    if which == 2:
        with pytest.raises(BadValues):
            normal_sums(columns[0], columns[1], bad)


def test_infinite_on_both_sides(engine: str) -> None:
    with pytest.raises(BadValues):
        normal_sums(np.array([np.inf, 0.0]), np.array([np.inf, 0.0]), 1.0)


@pytest.mark.parametrize("n", [1, 5, 700, 140_000])
@pytest.mark.parametrize("negative", [-1e-300, -1.0])
def test_negative_errors_and_weights(engine: str, n: int, negative: float) -> None:
    for which in (2, 3):
        columns = draw(n)
        columns[which][n // 2] = negative
        with pytest.raises(BadValues):
            normal_sums(*columns)
    with pytest.raises(BadValues):
        normal_sums(*draw(n)[:2], negative)


def test_bad_values_are_noticed_where_the_weight_is_zero(engine: str) -> None:
    for which, bad in ((0, np.nan), (1, np.inf), (2, np.nan), (2, -1.0)):
        columns = draw(9)
        columns[3][4] = 0.0
        columns[which][4] = bad
        with pytest.raises(BadValues):
            normal_sums(*columns)


def test_minus_zero_is_not_negative(engine: str) -> None:
    s = normal_sums(np.zeros(3), np.ones(3), np.array([-0.0, 0.0, 1.0]), np.array([1.0, -0.0, 1.0]))
    assert (s.w, s.var) == (2, 1)
