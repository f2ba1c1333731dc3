"""Estimates and intervals where labels are limits: what was measured, and what no estimate can do better.

`measure_shapes.py` and `least_intervals.py` write the tables. What is off by more than 0.02 of the residuals' standard deviation,
or holds less than 92 or more than 98 %, is declared in `weak_situations.toml`, which docs/theory/limits.md shows.
"""

import csv
import math
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from judgement import RANGES, SHORT, declared_situations, error_bar, verdict_of_share
from least_intervals import ABSOLUTE, COUNTS, FRACTION, GRID, LOSSES, SQUARED, Labels, distribution, least, power
from measure_shapes import read as read_shapes
from scipy.special import ndtr

MOST_OFF = 0.02
TABLE = Path(__file__).with_name("least_intervals.csv")
SHAPES = [row for row in read_shapes() if row["topic"] == "limits"]


def named(row):
    return "/".join(row[part] for part in ("residuals", "n", "setting", "metric"))


def verdicts():
    """(situation, verdict) of all that is short, wide, or off by more than `MOST_OFF` and twice its error.

    A hundred test sets do not tell 98 from 100 %. What is wide shows in all situations of a metric together, with label errors
    and without, of one shape of residuals or of all. Where labels tell all, intervals have no length and hold always.
    """
    found, pools = [], defaultdict(list)
    for row in SHAPES:
        held, off, error, count = (float(row[part]) for part in ("held", "bias", "bias_error", "count"))
        if verdict_of_share(held, int(count)) == "short":
            found.append((named(row), "short"))
        if abs(off) > MOST_OFF + 2 * error:
            found.append((named(row), "high" if off > 0 else "low"))
        if error > 1e-4:
            errors = "exact" if row["setting"].endswith("errors 0.0") else "errors"
            for residuals in (row["residuals"], "all"):
                pools[f"{residuals}/all/{errors}/{row['metric']}"].append((held, count))
    for name, cells in pools.items():
        held, count = np.array(cells).T
        if verdict_of_share(float(held @ count / count.sum()), int(count.sum()), wide=SHORT) == "wide":
            found.append((name, "wide"))
    return found


def test_measured():
    """All situations of the table hold 92 to 98 % and are off by little, or `weak_situations.toml` has a reason."""
    known, found = declared_situations("limits"), verdicts()
    assert [pair for pair in found if not any(one.covers(*pair) for one in known)] == []
    assert [one for one in known if not any(one.covers(*pair) for pair in found)] == []


def test_every_score_is_measured():
    """Which takes limits, for three shapes of residuals; the absolute and the squared error in all situations."""
    assert {row["residuals"] for row in SHAPES} == {"normal", "Laplace", "two points"}
    counts = Counter(row["metric"] for row in SHAPES)
    assert counts["mean_absolute_error"] == counts["mean_squared_error"] == 3 * 20
    others = {"root_mean_squared_error", "median_absolute_error", "mean_error", "huber_loss", "mean_pinball_loss"}
    others |= {"fraction_within", "crps", "log_score", "kendall_correlation", "concordance_index", "intrinsic_scatter"}
    assert others <= counts.keys()


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
    assert LOSSES[ABSOLUTE] @ distribution("two points") == pytest.approx(1.0)


with TABLE.open(newline="") as file:
    BOUNDS = list(csv.DictReader(file))


@pytest.mark.parametrize("metric", [ABSOLUTE, SQUARED, FRACTION])
def test_bounds_are_those_of_the_table(metric):
    about = (metric, "two points", "400", "0.6 limits, errors 1.0")
    row = next(row for row in BOUNDS if (row["metric"], row["residuals"], row["n"], row["setting"]) == about)
    length, scatter = least("two points", 400, row["setting"], metric)
    assert (length, scatter) == pytest.approx((float(row["least_length"]), float(row["least_scatter"])), rel=0.02)


def test_intervals_are_hardly_longer_than_they_must_be():
    """By a tenth for normal and Laplace residuals, by two fifths for two points; and they hold for what is hardest to tell.

    Where all but five of 50 labels are numbers, by some hundredths more.
    """
    table = [row for row in BOUNDS if row["metric"] == ABSOLUTE]
    assert len(table) == 24 * len(COUNTS)
    for row in table:
        held, count = float(row["held"]), int(row["count"])
        if row["least_length"]:
            longest = 1.42 if row["residuals"] == "two points" else 1.12
            longest += 0.07 if row["n"] == "50" and row["setting"].startswith("0.1") else 0.0
            assert float(row["length"]) < longest * float(row["least_length"])
            assert error_bar(held, count, SHORT)[1] > RANGES["held95"][0]
        else:
            assert held > 0.85


def test_no_interval_of_squares_holds_for_all_residuals():
    """Behind 60 % limits 50 labels do not bound what lies far out: intervals are shorter than any that held for all shapes."""
    table = [row for row in BOUNDS if row["metric"] == SQUARED]
    assert len(table) == 12 * len(COUNTS)
    for row in table:
        assert error_bar(float(row["held"]), int(row["count"]), SHORT)[1] > RANGES["held95"][0]
        if row["setting"].startswith("0.6"):
            longest = 1.0 if row["n"] == "50" else 1.2
            assert float(row["length"]) < longest * float(row["least_length"])


def test_no_interval_of_a_share_within_a_tolerance_is_short():
    """400 labels leave a third to nearly all of what is possible open; ours are hardly longer than the least that hold for all."""
    table = [row for row in BOUNDS if row["metric"] == FRACTION]
    assert len(table) == 6 * len(COUNTS)
    for row in table:
        least_length, length = float(row["least_length"]), float(row["length"])
        assert error_bar(float(row["held"]), int(row["count"]), SHORT)[1] > RANGES["held95"][0]
        assert least_length > 0.3
        assert length < 1.25 * least_length


@pytest.mark.parametrize(
    ("metric", "residuals", "labels"),
    [(ABSOLUTE, "two points", ("50", "400")), (SQUARED, "", ("50",)), (FRACTION, "", ("50", "400"))],
)
def test_a_small_bias_would_cost_more_scatter(metric, residuals, labels):
    """Where errors are as large as the residuals: of the absolute error for two points, of the others behind 60 % limits."""
    least_share = "0.3" if metric == ABSOLUTE else "0.6"
    table = [
        row
        for row in BOUNDS
        if row["metric"] == metric
        and row["least_length"]
        and residuals in row["residuals"]
        and row["n"] in labels
        and "errors 1.0" in row["setting"]
        and row["setting"] >= least_share
    ]
    assert table
    for row in table:
        least_scatter, scatter, bias = (float(row[name]) for name in ("least_scatter", "scatter", "bias"))
        assert math.hypot(scatter, bias) < least_scatter
