"""Data too large or small for fourth powers give what others give; bad values are noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scorebars as sb
from scorebars.engines import BadValues, normal_sums


def draw(n: int = 700, seed: int = 2) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return [y, y + rng.normal(size=n), rng.exponential(size=n), rng.exponential(size=n)]


def answers(metric: Any, y: Any, p: Any, yerr: Any, unit: float = 1.0, **options: Any) -> list[float]:
    """Numbers of the metric's degree, in units of `unit`."""
    s = metric(y, p, yerr=yerr, **options)
    perfect = [float(s.perfect), s.perfect.std] if s.name != "r2_score" else []
    return [number / unit for number in (s.observed, s.expected, s.std, *s.interval(), *perfect)]


POWERS = [-1000, -600, -500, -300, -190, -150, 150, 180, 195, 300, 500, 800, 1015]


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("metric", [sb.mean_absolute_error, sb.root_mean_squared_error, sb.mean_error, sb.r2_score])
@pytest.mark.parametrize("n", [40, 1200])
def test_any_unit_of_the_labels(engine: str, metric: Any, n: int, power: int) -> None:
    y, p, sigma, weight = draw(n)
    unit = 2.0**power
    expected = answers(metric, y, p, sigma, sample_weight=weight)
    degree = 0 if metric is sb.r2_score else 1
    found = answers(metric, y * unit, p * unit, sigma * unit, unit**degree, sample_weight=weight)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("power", POWERS)
def test_shares_in_any_unit_of_the_labels(engine: str, power: int) -> None:
    y, p, sigma, weight = draw()
    unit = 2.0**power
    expected = answers(sb.fraction_within, y, p, sigma, tolerance=0.5, sample_weight=weight)
    found = answers(sb.fraction_within, y * unit, p * unit, sigma * unit, tolerance=0.5 * unit, sample_weight=weight)
    assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("power", [-1000, -600, -90, 90, 300, 1000])
def test_any_unit_of_the_weights(engine: str, power: int) -> None:
    y, p, sigma, weight = draw()
    for metric in (sb.mean_squared_error, sb.mean_absolute_error, sb.mean_error, sb.r2_score):
        expected = answers(metric, y, p, sigma, sample_weight=weight)
        assert answers(metric, y, p, sigma, sample_weight=weight * 2.0**power) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("power", [-40, -20, 20, 40])
def test_sums_know_whether_they_are_ordinary(engine: str, power: int) -> None:
    """The engine's sums of labels in another unit are the same, to the last bit; their size tells whether they can be used."""
    y, p, sigma, weight = draw()
    unit = 2.0**power
    sums = normal_sums(y, p, sigma, weight, 0.5, labels=True)
    found = normal_sums(y * unit, p * unit, sigma * unit, weight, 0.5 * unit, labels=True)
    assert found.divided(power) == sums
    assert sums.ordinary(ratio=True) and found.ordinary(ratio=True)
    for larger, usual in ((2.0**50, True), (2.0**70, False), (2.0**-50, True), (2.0**-70, False)):
        assert normal_sums(y, y, sigma * larger).ordinary() == usual
        assert normal_sums(0 * y, 0 * y + larger, 0.0).ordinary() == usual
    assert normal_sums(y, p, sigma * 2.0**-100).ordinary()
    assert not normal_sums(y, p, sigma * 2.0**-190).ordinary()
    assert normal_sums(y * 2.0**70, y * 2.0**70, 1.0, labels=True).ordinary()
    assert not normal_sums(y * 2.0**70, y * 2.0**70, 1.0, labels=True).ordinary(ratio=True)
    assert not normal_sums(y, p, 1.0, weight * 2.0**-110).ordinary()
    assert not normal_sums(y, p, 1.0, weight * 2.0**70).ordinary()


def test_sums_that_are_no_doubles(engine: str) -> None:
    y, p, sigma, _ = draw()
    for unit in (2.0**300, 2.0**1000):
        with pytest.raises(BadValues):
            normal_sums(y * unit, p * unit, sigma * unit)


@pytest.mark.parametrize("size", [1e150, 1e-150])
def test_mean_and_spread_of_huge_and_tiny_data(engine: str, size: float) -> None:
    y, p, sigma, _ = draw()
    expected = answers(sb.mean_squared_error, y, p, sigma)
    found = answers(sb.mean_squared_error, y * size, p * size, sigma * size, size * size)
    assert found == pytest.approx(expected, rel=1e-13)
    one, other = (sb.mean_squared_error(y * s, p * s, yerr=sigma * s).sampling_std for s in (1.0, size))
    assert other / size**2 == pytest.approx(one, rel=1e-13)


def test_largest_doubles(engine: str) -> None:
    """The difference itself is not a double."""
    y, p = np.array([1e308, -1e308, 1e308]), np.array([-1e308, 1e308, 1e308])
    found = sb.mean_absolute_error(y, p, yerr=1e307)
    assert found.observed / 1e308 == pytest.approx(4 / 3, rel=1e-15)
    assert found.expected / 1e308 == pytest.approx(4 / 3 + 0.1 * np.sqrt(2 / np.pi) / 3, rel=1e-15)
    assert sb.mean_error(y, p, yerr=1e307).observed == pytest.approx(0, abs=1e298)
    within = sb.fraction_within(y, p, yerr=1e308, tolerance=1.5e308)
    assert within.observed == 1 / 3
    assert 0 < within.expected < 1


def test_errors_far_smaller_than_differences(engine: str) -> None:
    """Differences of 1e150 with errors 200 orders of magnitude smaller: their products still count."""
    s = sb.mean_squared_error(np.array([0.0, 0.0]), np.array([1e150, 0.0]), yerr=1e-50)
    assert s.observed == pytest.approx(5e299, rel=1e-14)
    assert s.std == pytest.approx(1e100, rel=1e-14)
    assert s.perfect == pytest.approx(1e-100, rel=1e-14)
    s = sb.mean_squared_error(np.full(3, 1e150), np.full(3, 1e150), yerr=np.array([1e-150, 0, 0]))
    assert s.expected == pytest.approx(1e-300 / 3, rel=1e-14)
    assert s.std == pytest.approx(np.sqrt(2) * 1e-300 / 3, rel=1e-14)


@pytest.mark.parametrize("ratio", [1e-300, 1e-100, 1e100, 1e140])
def test_any_ratio_of_difference_to_error(engine: str, ratio: float) -> None:
    s = sb.mean_absolute_error([0.0], [ratio], yerr=1.0)
    assert s.expected == pytest.approx(ratio if ratio > 1 else np.sqrt(2 / np.pi), rel=1e-15)
    assert s.std == pytest.approx(1.0 if ratio > 1 else np.sqrt(1 - 2 / np.pi), rel=1e-15)
    assert s.observed == pytest.approx(ratio, rel=1e-15)
    many = sb.mean_absolute_error(np.zeros(50), np.full(50, ratio), yerr=1.0)
    assert 0 <= many.distribution.cdf(many.observed) <= many.distribution.cdf(many.expected) <= 1
    assert np.isfinite([*many.interval(), *many.perfect.interval()]).all()


METRICS = {
    "mean_squared_error": {},
    "root_mean_squared_error": {},
    "mean_absolute_error": {},
    "mean_error": {},
    "fraction_within": {"tolerance": 0.5},
    "huber_loss": {},
    "mean_pinball_loss": {"alpha": 0.3},
    "median_absolute_error": {},
    "r2_score": {},
}


@pytest.mark.parametrize("name", METRICS)
def test_labels_without_weight_do_not_matter(engine: str, name: str) -> None:
    """They may be of any size, in every answer."""
    y, p, sigma, weight = draw()
    sigma *= 0.3
    weight[::7] = 0
    expected = getattr(sb, name)(y, p, yerr=sigma, sample_weight=weight, **METRICS[name])
    for huge in (1e300, -1.7e308):
        y[::7], sigma[::7] = huge, abs(huge)
        p[::14] = -huge
        found = getattr(sb, name)(y, p, yerr=sigma, sample_weight=weight, **METRICS[name])
        for key in ("observed", "expected", "std", "sampling_std"):
            assert getattr(found, key) == pytest.approx(getattr(expected, key), rel=1e-11), key
        assert float(found.truth) == pytest.approx(float(expected.truth), rel=1e-6)
        assert float(found.perfect) == pytest.approx(float(expected.perfect), rel=1e-11)
        assert found.interval() == pytest.approx(expected.interval(), rel=1e-6)


def test_all_weights_zero(engine: str) -> None:
    y, p, sigma, weight = draw()
    s = normal_sums(y, p, sigma, 0 * weight, 0.5, labels=True)
    assert (s.w, s.w2, s.abs, s.fold, s.max_weight, s.max_abs_d) == (0, 0, 0, 0, 0, 0)


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
