"""Few labels, and errors from a hundred-millionth to a hundred million times the residuals: no NaN, no crash, no empty interval."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from experiment import Situation, predictions_of, situations
from worlds import WORLDS

import scorebars as sb

SIZES = (1, 2, 3, 10, 100)
RATIOS = (1e-8, 1e-3, 1.0, 1e3, 1e8)
ALL = [
    (Situation(s.metric, s.world, n), ratio)
    for n in SIZES
    for s in situations(n)
    for ratio in (RATIOS if s.world.task == "regression" else (1.0,))
]
SLOW = (
    "kendall_correlation",
    "spearman_correlation",
    "median_absolute_error",
    "d2_absolute_error_score",
    "symmetric_mean_absolute_percentage_error",
)


def scaled_errors(world, items, ratio):
    """The same items with errors `ratio` times as large; classes have no size of errors."""
    size = items.size * ratio if world.task == "regression" else items.size
    return replace(items, size=size)


def check_interval(name, interval, score, estimate=None):
    for level in (0.5, 0.95):
        low, high = interval(level)
        assert not (math.isnan(low) or math.isnan(high)), f"{name}: an end is NaN"
        assert low <= high, f"{name}: {low} > {high}"
        if estimate is not None and math.isfinite(estimate):
            d = score.declaration
            kept = min(max(estimate, d.low), d.high)
            slack = 1e-9 * max(
                abs(kept), abs(low) if math.isfinite(low) else 0, abs(high) if math.isfinite(high) else 0
            )
            assert low - slack <= kept <= high + slack, f"{name}: {kept} outside ({low}, {high}) at {level}"


def check_answers(score, repeats=1):
    assert not math.isnan(score.expected), "expected is NaN"
    assert score.std >= 0, "std is NaN or negative"
    check_interval("interval", score.interval, score)
    for name, ask in {
        "truth": lambda: score.truth,
        "perfect": lambda: score.perfect,
        "remeasured": lambda: score.remeasured(repeats),
    }.items():
        try:
            estimate = ask()
            assert not math.isnan(estimate.value), f"{name} is NaN"
            assert estimate.std >= 0, f"{name}.std is NaN or negative"
        except sb.UndefinedEstimate as why:
            assert len(str(why)) > 20
            continue
        try:
            check_interval(f"{name}.interval", estimate.interval, score, estimate.value)
            if name == "truth":
                check_interval("truth.total_interval", estimate.total_interval, score, estimate.value)
        except sb.UndefinedEstimate as why:
            assert len(str(why)) > 20
    try:
        assert score.sampling_std >= 0, "sampling_std is NaN or negative"
        check_interval("total_interval", score.total_interval, score)
    except sb.UndefinedEstimate as why:
        assert len(str(why)) > 20
    assert score.explain()


def run(situation, ratio, seed):
    world, rng = situation.world, np.random.default_rng(seed)
    items = world.items(rng, situation.n)
    measured = world.measure(rng, items)  # of ordinary size, whatever is said of their errors
    items = scaled_errors(world, items, ratio)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = world.model(measured, items)
            score = situation.score(
                world.shown(measured), predictions_of(situation.metric, world, items.prediction), yerr=model
            )
        except ValueError as why:  # too few labels, one class only, labels that the model cannot have: said clearly
            assert len(str(why)) > 20
            return
        check_answers(score, world.repeats)


def cases():
    """Every metric in every world once; which size and ratio it meets changes from one to the next."""
    chosen = []
    for k, s in enumerate(situations(10)):
        n, ratio = SIZES[(3 * k) % 5], RATIOS[(k + k // 5) % 5]
        chosen.append((Situation(s.metric, s.world, min(n, 10) if s.metric in SLOW else n), ratio))
    return chosen


@pytest.mark.parametrize("case", cases(), ids=lambda c: f"{c[0].metric}-{c[0].world.name}-{c[0].n}-{c[1]:g}")
def test_some(case):
    run(*case, seed=1)


@pytest.mark.parametrize(
    "metric, model", [("pearson_correlation", "Normal"), ("explained_variance_score", "Normal(shared)")]
)
def test_errors_too_small_to_matter(metric, model):
    """Quantiles many standard deviations from where the search starts, and a loss to noise that vanishes."""
    run(Situation(metric, WORLDS[model], 100), 1e-8, seed=2)


def test_estimate_below_the_root_of_the_mean_square():
    """Two labels with large Berkson errors: E sqrt(Q) lies far below sqrt(E Q), and in its interval all the same."""
    run(Situation("root_mean_squared_error", WORLDS["Normal(berkson)"], 2), 1000, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("case", ALL, ids=lambda c: f"{c[0].metric}-{c[0].world.name}-{c[0].n}-{c[1]:g}")
def test_all(case):
    run(*case, seed=2)


@pytest.mark.parametrize("df", [0.9, 1.5, 2.0, 2.5, 4.0])
@pytest.mark.parametrize("metric", sorted({s.metric for s in situations(10) if s.world is WORLDS["StudentT"]}))
def test_student_errors_without_moments(metric, df):
    rng = np.random.default_rng(3)
    situation = Situation(metric, WORLDS["StudentT"], 10)
    items = situation.world.items(rng, 10)
    labels = situation.world.measure(rng, items)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            score = situation.score(labels, items.prediction, yerr=sb.StudentT(items.size, df))
        except ValueError as why:
            assert len(str(why)) > 20
            return
        check_answers(score)
