"""Estimates and intervals where labels are limits: what was measured, and what no estimate can do better.

`measure_shapes.py` and `least_intervals.py` write the tables. What is off by more than 0.02 of the residuals' standard deviation,
or holds less than 92 %, is declared here and explained in docs/theory/limits.md.
"""

import csv
import math
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
from least_intervals import COUNTS, GRID, MEAN, Labels, distribution, least, power
from scipy.special import ndtr

HERE = Path(__file__).parent
MOST_OFF, LEAST_HELD = 0.02, 0.92
OFF = {
    "two points 50 * errors 1.0 mean_absolute_error": 0.06,
    "two points 400 * errors 1.0 me*_absolute_error": 0.05,
    "two points 50 * errors 0.5 mean_squared_error": 0.05,
    "Laplace * mean_squared_error": 0.05,
    "Laplace 400 0.6 limits, errors 1.0 fraction_within": 0.04,
    "two points * fraction_within": 0.32,
}
"""Hidden by label errors, hidden beyond limits, or a share that jumps."""
HELD = {"Laplace * mean_squared_error": 0.9}


def rows(name, topic=None):
    with (HERE / name).open(newline="") as file:
        return [row for row in csv.DictReader(file) if topic in (None, row.get("topic"))]


SHAPES = rows("shapes.csv", "limits")


def named(row):
    return " ".join(row[name] for name in ("residuals", "n", "setting", "metric"))


def declared(table, row, usual):
    return next((value for pattern, value in table.items() if fnmatch(named(row), pattern)), usual)


@pytest.mark.parametrize("metric", sorted({row["metric"] for row in SHAPES}))
def test_measured(metric):
    """Within twice the error of the count of what is asked for, or declared."""
    wrong = []
    for row in (row for row in SHAPES if row["metric"] == metric):
        held, off, error, count = (float(row[name]) for name in ("held", "bias", "bias_error", "count"))
        least_held, most_off = declared(HELD, row, LEAST_HELD), declared(OFF, row, MOST_OFF)
        if held < least_held - 2 * math.sqrt(least_held * (1 - least_held) / count) or abs(off) > most_off + 2 * error:
            wrong.append(f"{named(row)}: {held} held, off by {off} ± {error}")
    assert wrong == []


@pytest.mark.parametrize("table", [OFF, HELD])
def test_declarations_are_not_stale(table):
    assert [pattern for pattern in table if not any(fnmatch(named(row), pattern) for row in SHAPES)] == []


def test_the_power_of_the_best_test():
    """Of 400 normal numbers of mean 0.1 against 0: the sum is normal."""
    edges = np.arange(-5.0, 5.2, 0.01)
    one, other = (np.diff(ndtr(edges - mean)) for mean in (0.0, 0.1))
    assert power(one / one.sum(), other / other.sum(), 400) == pytest.approx(ndtr(2.0 - 1.6449), abs=2e-3)


def test_distributions_have_their_moments():
    for name in ("normal", "Laplace", "two points"):
        weights = distribution(name)
        assert weights.sum() == pytest.approx(1.0)
        assert weights @ np.square(GRID) == pytest.approx(1.0, abs=0.03)
    seen = Labels.of(0.3, 1.0).chance
    assert seen.sum(axis=0) == pytest.approx(np.ones(len(GRID)))
    assert MEAN @ distribution("two points") == pytest.approx(1.0)


def test_bounds_are_those_of_the_table():
    row = next(row for row in rows("least_intervals.csv") if row["residuals"] == "two points" and row["n"] == "400")
    length, scatter = least("two points", 400, row["setting"])
    assert (length, scatter) == pytest.approx((float(row["least_length"]), float(row["least_scatter"])), rel=0.02)


def test_intervals_are_hardly_longer_than_they_must_be():
    """By a tenth for normal and Laplace residuals, by two fifths for two points; and they hold for what is hardest to tell."""
    table = rows("least_intervals.csv")
    assert len(table) == 15 * len(COUNTS)
    for row in table:
        held, count = float(row["held"]), int(row["count"])
        if row["least_length"]:
            longest = 1.42 if row["residuals"] == "two points" else 1.12
            assert float(row["length"]) < longest * float(row["least_length"])
            assert held > LEAST_HELD - 2 * math.sqrt(0.92 * 0.08 / count)
        else:
            assert held > 0.85


def test_a_small_bias_would_cost_more_scatter():
    """Where label errors are as large as residuals of two points, an estimate without bias errs by more than this one does."""
    table = [
        row
        for row in rows("least_intervals.csv")
        if row["residuals"] == "two points" and "errors 1.0" in row["setting"]
    ]
    for row in table:
        least_scatter, scatter, bias = (float(row[name]) for name in ("least_scatter", "scatter", "bias"))
        assert math.hypot(scatter, bias) < least_scatter
