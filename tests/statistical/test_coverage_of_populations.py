"""Intervals that see the test set as a sample: the population's true score, and the score on the next test set."""

import math

import numpy as np
import pytest
from coverage import assert_covers, effort, repeated, slowly

import scorebars as sb

# items whose true residual is normal(0.5, 1), and the population's true score
CENTRE, SPREAD = 0.5, 1.0
FOLDED = SPREAD * math.sqrt(2 / math.pi) * math.exp(-0.125) + CENTRE * math.erf(0.5 / math.sqrt(2))
POPULATION = {
    sb.mean_squared_error: CENTRE**2 + SPREAD**2,
    sb.root_mean_squared_error: math.sqrt(CENTRE**2 + SPREAD**2),
    sb.mean_absolute_error: FOLDED,
    sb.mean_error: CENTRE,
}
every_metric = pytest.mark.parametrize("metric", POPULATION, ids=lambda f: f.__name__)


def items(rng, n):
    """True residuals and label errors of n items drawn from the population."""
    return CENTRE + SPREAD * rng.standard_normal(n), 0.2 + 0.6 * rng.random(n)


@effort(200)
@every_metric
@pytest.mark.parametrize("weighted", slowly(False, True))
def test_truth_of_the_population(count, metric, weighted):
    n = 80
    count = count // 20 if metric is sb.mean_absolute_error else count  # a law of the true residuals for each

    def one(rng):
        residual, s = items(rng, n)
        weight = 0.5 + rng.random(n) if weighted else None
        score = metric(s * rng.standard_normal(n), residual, yerr=s, sample_weight=weight)
        return score.truth.total_interval(0.95), POPULATION[metric]

    assert_covers(repeated(one, count, seed=1), 0.95, 0.03, 0.02)


@effort(400)
@pytest.mark.parametrize("metric", [sb.mean_squared_error, sb.mean_error], ids=lambda f: f.__name__)
def test_truth_of_the_population_with_a_shared_shift(count, metric):
    """A shift common to all labels does not show in their scatter and must be added."""
    n = 60
    shift = np.full(n, 0.25)

    def one(rng):
        residual, s = items(rng, n)
        labels = s * rng.standard_normal(n) + shift * rng.standard_normal()
        return metric(labels, residual, yerr=sb.Normal(s, shared=shift)).truth.total_interval(0.95), POPULATION[metric]

    assert_covers(repeated(one, count, seed=2), 0.95, 0.03, 0.03)


@effort(400)
@pytest.mark.parametrize("q", [0.0, 0.15])
def test_true_accuracy_of_the_population(count, q):
    n = 150

    def one(rng):
        truth = rng.integers(0, 2, n)
        p = np.where(rng.random(n) < 0.8, truth, 1 - truth)
        shown = np.where(rng.random(n) < q, 1 - truth, truth)
        return sb.accuracy_score(shown, p, yerr=q).truth.total_interval(0.95), 0.8

    assert_covers(repeated(one, count, seed=3), 0.95, 0.02, 0.02)


@effort(200)
@every_metric
def test_the_next_test_set(count, metric):
    """total_interval: labels that are true means; another test set of this size, with label errors."""
    n = 80

    def one(rng):
        residual, s = items(rng, n)
        interval = metric(np.zeros(n), residual, yerr=s).total_interval(0.95)
        other, s = items(rng, n)
        return interval, float(metric(s * rng.standard_normal(n), other))

    assert_covers(repeated(one, count, seed=4), 0.95, 0.02, 0.02)


@effort(400)
def test_the_next_test_set_of_classes(count):
    n, q = 150, 0.1

    def one(rng):
        truth, p = np.zeros(n, dtype=int), (rng.random(n) < 0.25).astype(int)
        interval = sb.accuracy_score(truth, p, yerr=q).total_interval(0.95)
        shown = (rng.random(n) < q).astype(int)
        return interval, float(sb.accuracy_score(shown, (rng.random(n) < 0.25).astype(int)))

    assert_covers(repeated(one, count, seed=5), 0.95, 0.02, 0.03)


@effort(400)
@pytest.mark.parametrize(
    "metric", slowly(sb.mean_squared_error, sb.mean_error, sb.mean_absolute_error), ids=lambda f: f.__name__
)
def test_several_outputs_of_one_item(count, metric):
    """The residuals of one item's outputs are alike: items are drawn, not labels."""
    n = 50
    count = count // 50 if metric is sb.mean_absolute_error else count

    def one(rng):
        residual, s = items(rng, n)
        residual, s = np.repeat(residual[:, None], 3, axis=1), np.repeat(s[:, None], 3, axis=1)
        score = metric(s * rng.standard_normal((n, 3)), residual, yerr=s)
        return score.truth.total_interval(0.95), POPULATION[metric]

    assert_covers(repeated(one, count, seed=6), 0.95, 0.03, 0.02)
