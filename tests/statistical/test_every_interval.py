"""Every interval of every metric in every world: the registry decides what is tested, a simulation what is right."""

import math

import numpy as np
import pytest
from experiment import ANSWERS, CALIBRATION, DIFFERENCES, FORECASTS, Situation, calibrations, measure, situations
from judgement import declared, verdict
from measure import read, row_of, together
from worlds import NOISE, WORLDS

from scorebars.errors import MeasurementError
from scorebars.studies.capabilities import _families, pairs

SLOW_METRICS = (
    "kendall_correlation",
    "spearman_correlation",
    "median_absolute_error",
    "d2_absolute_error_score",
    "crps",
    "interval_score",
    "concordance_index",
)
N = 40
ROWS = read()
names = {"ids": lambda s: f"{s.metric}-{s.world.name}"}


def refused(situation):
    """Combinations that the library refuses as a whole, with a message of their own test."""
    return situation.metric == "reduced_chi_squared" and not situation.world.name.startswith(("Normal", "Split", "Rep"))


OFFERED = [s for s in situations(N) if not refused(s)]


def test_every_error_model_has_a_world():
    assert set(_families()) <= set(WORLDS)
    kinds = {name: isinstance(model, MeasurementError) for name, model in _families().items()}
    assert all((WORLDS[name].task == "regression") == number for name, number in kinds.items())


def test_every_combination_is_measured():
    measured = {(row["metric"], row["model"]) for row in ROWS}
    offered = {(s.metric, s.world.name) for s in OFFERED}
    assert offered <= measured
    assert {(metric, model) for metric, model, _ in pairs()} - offered <= {
        (s.metric, s.world.name) for s in situations(N) if refused(s)
    }


METRICS = sorted({row["metric"] for row in ROWS})


def _rows(metric):
    return [row for row in ROWS if row["metric"] == metric]


def _named(row):
    held = f"{row['held68']} and {row['held95']} of {row['count']}, {row['held99']} of {row['count99']}"
    return f"{row['model']}, {row['answer']}, n = {row['n']}: {held}"


@pytest.mark.parametrize("metric", METRICS)
def test_measured_coverage(metric):
    """92 to 98 % at 95 %, 64 to 73 % at 68 %, at least 97 % at 99 %, or declared with a reason."""
    known = declared()
    weak = [row for row in _rows(metric) if verdict(row) != "held" and not any(one.covers(row) for one in known)]
    assert [f"{verdict(row)}: {_named(row)}" for row in weak] == []


@pytest.mark.parametrize("metric", METRICS)
def test_estimates_lie_in_their_intervals(metric):
    assert [_named(row) for row in _rows(metric) if float(row["outside"]) > 0] == []


def test_declarations_are_not_stale():
    """A declaration that no measured cell needs any more is taken back."""
    assert [weak for weak in declared() if not any(weak.covers(row) for row in ROWS)] == []


def _check(situation, repetitions):
    """No end is NaN, estimates lie in their intervals, and no interval misses so often that chance cannot explain it."""
    known = [weak for weak in declared() if weak.verdict == "short"]
    level = 0.95
    for answer, cell in measure(situation, repetitions).items():
        assert cell.outside == 0, f"{answer}: {cell.outside} estimates outside their own interval"
        row = {"metric": situation.metric, "model": situation.world.name, "answer": answer, "n": str(situation.n)}
        misses = cell.count - cell.held[level]
        row |= row_of(cell)
        chance = sum(
            math.comb(cell.count, k) * (1 - level) ** k * level ** (cell.count - k)
            for k in range(misses, cell.count + 1)
        )
        excused = any(weak.covers(row) for weak in known)
        assert chance > 1e-5 or excused, f"{answer}: {misses} misses of {cell.count}"


def _few(situation):
    """Four repetitions, all of which would have to miss, in a world that changes from metric to metric; else one."""
    worlds = [s.world.name for s in OFFERED if s.metric == situation.metric]
    place = worlds.index(situation.world.name) + sum(map(ord, situation.metric))
    return 4 if situation.metric not in SLOW_METRICS and place % 3 == 0 else 1


@pytest.mark.parametrize("situation", OFFERED, **names)
def test_few_repetitions(situation):
    _check(situation, _few(situation))


@pytest.mark.slow
@pytest.mark.parametrize("situation", [Situation(s.metric, s.world, 30) for s in OFFERED], **names)
def test_many_repetitions(situation):
    _check(situation, 20 if situation.metric in SLOW_METRICS else 100)


def test_answers_are_named():
    assert {row["answer"] for row in ROWS} <= {*ANSWERS, *DIFFERENCES, *CALIBRATION}


@pytest.mark.parametrize("situation", [*situations(N, NOISE.values()), *calibrations(N)], **names)
def test_one_repetition_elsewhere(situation):
    """At other shares of noise, and of calibrations."""
    assert all(cell.outside == 0 for cell in measure(situation, 1).values())


def test_every_answer_of_a_calibration_is_measured():
    (found,) = [measure(s, 2) for s in calibrations(N) if s.world.name == "Normal" and s.metric == FORECASTS[0]]
    assert set(found) == set(CALIBRATION)


def test_batches_add_up():
    """Two batches are drawn apart, and their rows together are the row of all repetitions."""
    situation = Situation("mean_error", WORLDS["Normal"], N)
    first, second = (measure(situation, 30, batch=batch)["truth"] for batch in (0, 1))
    assert first.errors != second.errors
    both = together(row_of(first), row_of(second))
    errors = first.errors + second.errors
    assert both["count"] == both["count99"] == "60" and both["batches"] == "2"
    assert int(both["held95"]) == first.held[0.95] + second.held[0.95]
    assert float(both["bias"]) == pytest.approx(np.mean(errors), rel=1e-4, abs=1e-6)
    assert float(both["scatter"]) == pytest.approx(np.std(errors), rel=1e-4)


def test_counts_of_the_table_are_possible():
    for row in ROWS:
        count, later = int(row["count"]), int(row["count99"])
        assert int(row["held68"]) <= int(row["held95"]) <= count and int(row["held99"]) <= later <= count
