"""Truths that no unbiased estimate reaches: residuals that follow the label errors, losses that jump, few labels."""

import math

import numpy as np
import pytest
from simulated_coverage import effort, repeated, share_inside

import scorebars as sb

LAWS = {
    "normal": lambda rng, n, s: rng.standard_normal(n),
    "laplace": lambda rng, n, s: rng.laplace(size=n) / math.sqrt(2),
    "two points": lambda rng, n, s: rng.choice([-1.0, 1.0], n),
    "80 % zeros": lambda rng, n, s: np.where(rng.random(n) < 0.8, 0.0, math.sqrt(5) * rng.standard_normal(n)),
    "proportional": lambda rng, n, s: s / math.sqrt(np.mean(s * s)) * rng.standard_normal(n),
}


def of_items(metric, law, n, noise, spread=0.0, **options):
    """One experiment: the interval of the items' truth, which also holds the estimate."""

    def one(rng):
        s = noise * np.exp(rng.uniform(-spread, spread, n))
        true = LAWS[law](rng, n, s)
        truth = metric(true + s * rng.standard_normal(n), np.zeros(n), yerr=s, **options).truth
        interval, total = truth.interval(0.95), truth.total_interval(0.95)
        assert interval.low <= truth <= interval.high and total.low <= truth <= total.high
        return interval, float(metric(true, np.zeros(n), **options))

    return one


def assert_holds(found):
    """At least 92 %, up to 3 standard errors; more is allowed."""
    share, count = share_inside(found)
    assert share >= 0.92 - 3 * math.sqrt(0.05 * 0.95 / count), f"coverage {share:.3f} of {count}"


@pytest.mark.parametrize("count", [25, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("metric", [sb.mean_absolute_error, sb.huber_loss])
def test_residuals_that_follow_the_errors(count, metric):
    """Without the trend 95 % intervals of the MAE hold some .3, and the estimate is low by .2 to .3."""
    found = repeated(of_items(metric, "proportional", 150, 0.7, math.log(3)), count, seed=1)
    assert_holds(found)


def errors_of_a_factor(metric, n, factor, scatter=0.3):
    """One experiment: labels and predictions that are wrong by factors, true values over a decade."""

    def one(rng):
        truth = np.exp(1 + 0.8 * rng.standard_normal(n))
        prediction = truth * np.exp(scatter * rng.standard_normal(n))
        labels = truth * np.exp(factor * rng.standard_normal(n))
        estimate = metric(labels, prediction, yerr=sb.LogNormal(factor)).truth
        return estimate.interval(0.95), float(metric(truth, prediction))

    return one


@pytest.mark.parametrize("count", [25, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("metric", [sb.mean_absolute_error, sb.mean_absolute_percentage_error])
def test_residuals_that_follow_errors_of_a_factor(count, metric):
    """Taken as independent of the errors, residuals are too small by half: 95 % intervals of the MAE held .09."""
    assert_holds(repeated(errors_of_a_factor(metric, 150, 0.25), count, seed=5))


def test_which_law_is_said():
    rng = np.random.default_rng(2)
    s = np.exp(rng.uniform(-1, 1, 300))
    noise, zero = s * rng.standard_normal(300), np.zeros(300)
    grows, same = (sb.mean_absolute_error(x + noise, zero, yerr=s) for x in (s * rng.standard_normal(300), 3 + zero))
    assert grows.truth.method == "location-scale" and "seen to follow the label errors" in grows.truth.note
    assert same.truth.method == "npmle" and "no dependence is seen" in same.truth.note
    assert grows.truth.bootstrap(3).method == "location-scale"


@pytest.mark.parametrize("count", [20, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("law", ["normal", "two points", "80 % zeros"])
@pytest.mark.parametrize("tolerance", [0.5, 1.2])
def test_fraction_within(count, law, tolerance):
    """A step: extrapolation misses two points by .3 and holds them never; the range over all fitting laws holds."""
    assert_holds(repeated(of_items(sb.fraction_within, law, 100, 0.7, tolerance=tolerance), count, seed=3))


@effort(40)
@pytest.mark.parametrize("metric", [sb.mean_absolute_error, sb.huber_loss, sb.fraction_within])
def test_few_labels(count, metric):
    """Extrapolation holds .72 of the MAE where most residuals are 0."""
    options = {"tolerance": 0.7} if metric is sb.fraction_within else {}
    assert_holds(repeated(of_items(metric, "80 % zeros", 20, 0.7, **options), count, seed=4))


def test_precise_labels_keep_their_score():
    """Residuals of 8 to 11 errors, far from the kink: nothing to correct, whatever the errors."""
    shifts = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        s = np.exp(rng.uniform(-1, 1, 200))
        true = rng.choice([-1.0, 1.0], 200) * s * rng.uniform(8, 11, 200)
        score = sb.mean_absolute_error(true + s * rng.standard_normal(200), np.zeros(200), yerr=s)
        shifts.append((float(score.truth) - score.observed) * math.sqrt(200 / np.mean(s * s)))
    assert abs(np.mean(shifts)) < 0.3  # in standard errors; -2.1 before
