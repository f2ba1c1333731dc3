"""Intervals of the score against the truth: labels drawn around true values that stay as they are."""

import math

import numpy as np
import pytest
from simulated_coverage import assert_covers, effort, repeated, slowly

import scorebars as sb
from scorebars.answers.classes.accuracy_answers import InvertedCount
from scorebars.laws.counts.poisson_binomial import PoissonBinomial


def mixed(rng, n, spread):
    s = rng.lognormal(0, spread, n)
    return s / np.sqrt(np.mean(s * s))


def of_truth(function, true_residual, s, level, errors=None, draw=None):
    """One experiment: labels measured with error s around 0, predictions at the true residuals."""
    n = len(true_residual)
    exact = float(function(np.zeros(n), true_residual))

    def one(rng):
        labels = s * rng.standard_normal(n) if draw is None else draw(rng)
        return function(labels, true_residual, yerr=s if errors is None else errors).truth.interval(level), exact

    return one


@effort(60)
@pytest.mark.parametrize("n", slowly(5, 1, 30))
@pytest.mark.parametrize("size", slowly(0.5, 0.0, 3.0))
def test_equal_errors_are_exact(count, n, size):
    """MSE with one sigma: the non-central chi-square inverted. A truth of exactly 0 is missed on one side only.

    So, nearly, is a small one: an observed score far below the noise floor has an interval too, where the inversion has none.
    """
    true = size * np.random.default_rng(1).standard_normal(n)
    found = list(repeated(of_truth(sb.mean_squared_error, true, 0.8, 0.9), count, seed=2))
    small = 0 < np.mean(np.square(true)) < 2 * 0.8**2
    assert_covers(found, 0.95 if size == 0 else 0.9, 0.0, 0.05 if small else 0.0)
    above = np.mean([low > value for (low, _), value in found])
    assert above <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / count)


@effort(40)
@pytest.mark.parametrize("n", slowly(10, 60))
@pytest.mark.parametrize("spread", slowly(0.8, 0.3))
@pytest.mark.parametrize("true", ["independent", "proportional"])
def test_mixed_errors(count, n, spread, true):
    """MSE with unequal sigmas, whose size has nothing, or much, to do with the model's error: not too short in either."""
    s = 0.7 * mixed(np.random.default_rng(3), n, spread)

    def one(rng):
        residual = rng.standard_normal(n) * (s / 0.7 if true == "proportional" else 1.0)
        score = sb.mean_squared_error(s * rng.standard_normal(n), residual, yerr=s)
        return score.truth.interval(0.95), float(np.mean(residual**2))

    assert_covers(repeated(one, count, seed=4), 0.95, 0.03, 0.05)


def test_root():
    """The interval of the RMSE is the root of the interval of the MSE, so it holds the truth as often."""
    rng = np.random.default_rng(5)
    residual, s = rng.standard_normal(25), 0.6 * mixed(rng, 25, 0.5)
    labels = s * rng.standard_normal(25)
    square, root = (f(labels, residual, yerr=s).truth for f in (sb.mean_squared_error, sb.root_mean_squared_error))
    assert root.interval(0.9) == pytest.approx(np.sqrt(square.interval(0.9)), rel=1e-12)


@effort(300)
@pytest.mark.parametrize("metric", [sb.mean_squared_error, sb.mean_error, sb.mean_absolute_error])
def test_shared_shifts(count, metric):
    """Errors that most labels have in common."""
    count = count // 6 if metric is sb.mean_absolute_error else count
    rng = np.random.default_rng(7)
    n = 40
    residual, s, shift = 1 + 0.5 * rng.standard_normal(n), np.full(n, 0.3), np.full(n, 0.2)
    model = sb.Normal(s, shared=shift)

    def draw(rng):
        return s * rng.standard_normal(n) + shift * rng.standard_normal()

    found = repeated(of_truth(metric, residual, s, 0.95, model, draw), count, seed=8)
    # the square of a shift that all labels share is far from normal, whatever their number
    assert_covers(found, 0.95, 0.08 if metric is sb.mean_squared_error else 0.03, 0.03)


@effort(500)
def test_bias(count):
    rng = np.random.default_rng(9)
    residual, s = rng.standard_normal(10), mixed(rng, 10, 0.8)
    assert_covers(repeated(of_truth(sb.mean_error, residual, s, 0.95), count, seed=10), 0.95, 0.0, 0.0)


@pytest.mark.parametrize("count", slowly(5, 400))
@pytest.mark.parametrize("noise", slowly(0.5, 0.2))
@pytest.mark.parametrize("n", slowly(50, 400))
def test_absolute_error(count, noise, n):
    """MAE: no unbiased estimate exists, but where the noise is moderate it is near enough."""
    residual = np.random.default_rng(11).standard_normal(n)
    found = repeated(of_truth(sb.mean_absolute_error, residual, noise, 0.95), count, seed=12)
    assert_covers(found, 0.95, 0.03, 0.03)


@effort(60)
@pytest.mark.parametrize("classes", slowly(2, 4))
@pytest.mark.parametrize("kind", ["one q", "one for each", "weighted"])
def test_accuracy(count, classes, kind):
    rng = np.random.default_rng(13)
    n = 120
    p = np.arange(n) % classes
    truth = np.where(rng.random(n) < 0.8, p, (p + 1) % classes)
    q = 0.1 if kind == "one q" else 0.25 * rng.random(n)
    weight = 0.5 + rng.random(n) if kind == "weighted" else None
    exact = float(sb.accuracy_score(truth, p, sample_weight=weight))

    def one(rng):
        shown = np.where(rng.random(n) < q, (truth + rng.integers(1, classes, n)) % classes, truth)
        return sb.accuracy_score(shown, p, yerr=q, sample_weight=weight).truth.interval(0.9), exact

    # counts are discrete: one q for all has a mid-p interval, whose exact coverage the next test looks at
    assert_covers(repeated(one, count, seed=14), 0.9, 0.05 if kind == "one q" else 0.02, 0.06)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_accuracy_with_one_q_holds_its_level_on_average(level):
    """Exactly, by the distribution of the count: mid-p intervals hold a little less for some numbers of right labels."""
    n, stay = 120, 0.9
    ends = {hits: InvertedCount(hits, n, stay, 1.0 - stay, lambda _: (0.0, 1.0))(level) for hits in range(20, 101)}
    held = []
    for right in range(40, 92):
        law = PoissonBinomial(np.array([stay, 1.0 - stay]), np.array([right, n - right]))
        held.append(sum(float(law.pmf(hits)) for hits, (low, high) in ends.items() if low <= right / n <= high))
    assert np.mean(held) == pytest.approx(level, abs=0.01)
    assert min(held) > level - 0.03


@effort(200)
def test_fresh_labels_are_forecast(count):
    """remeasured: where the score on labels measured once more falls, from labels measured once."""
    rng = np.random.default_rng(15)
    n = 40
    residual, s = rng.standard_normal(n), 0.6 * mixed(rng, n, 0.4)
    for function in (sb.mean_squared_error, sb.mean_absolute_error, sb.root_mean_squared_error):

        def one(rng, function=function):
            seen, fresh = s * rng.standard_normal((2, n))
            forecast = function(seen, residual, yerr=s).remeasured()
            return forecast.interval(0.95), float(function(fresh, residual))

        assert_covers(repeated(one, count, seed=16), 0.95, 0.03, 0.03)


@pytest.mark.slow
def test_bootstrap_of_the_absolute_error():
    """MAE by the most likely law: the bootstrap's intervals for the items and for the population."""
    rng, n, items, population = np.random.default_rng(31), 80, [], []
    for _ in range(30):
        residual, s = rng.laplace(size=n), 0.5
        truth = sb.mean_absolute_error(residual + s * rng.standard_normal(n), np.zeros(n), yerr=s).truth
        drawn = truth.bootstrap(40, rng=rng)
        items.append((drawn.interval(0.9), float(np.mean(np.abs(residual)))))
        population.append((drawn.total_interval(0.9), 1.0))
    assert_covers(items, 0.9, 0.05, 0.1)
    assert_covers(population, 0.9, 0.05, 0.1)
