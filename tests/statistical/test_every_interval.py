"""Every interval of every metric in every world: the registry decides what is tested, a simulation what is right."""

import math

import pytest
from experiment import ANSWERS, DIFFERENCES, LEVELS, Situation, measure, situations
from judgement import declared, verdict
from measure import read
from worlds import WORLDS

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
    return f"{row['model']}, {row['answer']}, n = {row['n']}: {row['held95']} and {row['held68']} of {row['count']}"


@pytest.mark.parametrize("metric", METRICS)
def test_measured_coverage(metric):
    """92 to 98 % at 95 %, 64 to 73 % at 68 %, or declared with a reason."""
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
    for answer, cell in measure(situation, repetitions, math.inf).items():
        assert cell.outside == 0, f"{answer}: {cell.outside} estimates outside their own interval"
        row = {"metric": situation.metric, "model": situation.world.name, "answer": answer, "n": str(situation.n)}
        level = LEVELS[0]
        misses = cell.count - cell.held[level]
        row |= {"count": str(cell.count), "held95": str(cell.held[level] / cell.count), "held68": "0.68"}
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
    assert {row["answer"] for row in ROWS} <= {*ANSWERS, *DIFFERENCES}
