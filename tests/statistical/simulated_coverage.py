"""How often an interval holds what it should, and whether that is often enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest

import scorebars as sb

THOROUGH = 2000


def effort(quick: int) -> pytest.MarkDecorator:
    """Run a test with few repetitions, and with many where there is time."""
    return pytest.mark.parametrize("count", [quick, pytest.param(THOROUGH, marks=pytest.mark.slow)])


def slowly(*values: object) -> list[object]:
    """The first value always, the others where there is time."""
    return [values[0], *(pytest.param(value, marks=pytest.mark.slow) for value in values[1:])]


def share_inside(intervals: Iterable[tuple[sb.Interval, float]]) -> tuple[float, int]:
    """Share of the intervals that hold their value, and how many there were."""
    inside = [low <= value <= high for (low, high), value in intervals]
    return float(np.mean(inside)), len(inside)


def assert_covers(
    intervals: Iterable[tuple[sb.Interval, float]], level: float, short: float = 0.02, over: float = 0.02
) -> None:
    """The coverage is the level, up to 4 standard errors and what an approximation may be short of or above it."""
    share, count = share_inside(intervals)
    error = 4 * math.sqrt(level * (1 - level) / count)
    assert level - short - error <= share <= level + over + error, f"coverage {share:.4f} of {count} at level {level}"


def repeated(one: Callable[[np.random.Generator], tuple[sb.Interval, float]], count: int, seed: int):
    """The same experiment many times over."""
    rng = np.random.default_rng(seed)
    return [one(rng) for _ in range(count)]
