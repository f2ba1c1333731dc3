"""Expected value, std and law of every metric and error model against plain simulation with NumPy."""

import functools
import math

import numpy as np
import pytest
from situations import COV, METRICS, SHIFTS, SIGMA, UPPER, WEIGHT, P, Y

import scorebars as sb

DRAWS = 100_000
N = len(Y)


def normal(rng, sigma):
    return Y + sigma * rng.standard_normal((DRAWS, N))


def correlated(rng):
    return rng.multivariate_normal(Y, COV, DRAWS)


def split(rng):
    """Two half normals, each with the probability that its width has in the sum of both."""
    below = rng.random((DRAWS, N)) * (SIGMA + UPPER) < SIGMA
    return Y + np.where(below, -SIGMA, UPPER) * np.abs(rng.standard_normal((DRAWS, N)))


@functools.cache
def drawn(errors, seed):
    """Fresh labels under one of the error models."""
    return LABELS[errors][1](np.random.default_rng(seed))


LABELS = {
    "one sigma": (0.5, lambda rng: normal(rng, 0.5)),
    "sigmas": (SIGMA, lambda rng: normal(rng, SIGMA)),
    "cov": (sb.Normal(cov=COV), correlated),
    "shared": (sb.Normal(SIGMA, shared=SHIFTS), correlated),
    "split": (sb.SplitNormal(SIGMA, UPPER), split),
    "berkson": (sb.Normal(SIGMA, kind="berkson"), lambda rng: normal(rng, SIGMA)),
}


def simulated(metric, labels, weight):
    e = P - labels
    shares = np.full(N, 1 / N) if weight is None else weight / weight.sum()
    if metric == "mean_error":
        return e @ shares
    if metric == "mae":
        return np.abs(e) @ shares
    return np.sqrt((e * e) @ shares) if metric == "rmse" else (e * e) @ shares


def assert_agrees(score, draws, slack=0.0):
    """Mean, variance and distribution function within 4 standard errors of the simulation."""
    mean, deviation = draws.mean(), draws - draws.mean()
    variance, fourth = np.mean(deviation**2), np.mean(deviation**4)
    assert abs(score.expected - mean) <= 4 * math.sqrt(variance / len(draws)) + slack * score.std
    assert abs(score.variance - variance) <= 4 * math.sqrt((fourth - variance**2) / len(draws)) + slack * score.variance
    law = score.distribution
    assert law.mean == pytest.approx(score.expected, rel=1e-9, abs=1e-12)
    assert law.std == pytest.approx(score.std, rel=1e-6 if slack == 0 else slack)
    for x in np.quantile(draws, [0.005, 0.05, 0.2, 0.5, 0.8, 0.95, 0.995]):
        x += 1e-9 * score.std
        p, empirical = law.cdf(x), np.mean(draws <= x)
        assert abs(p - empirical) <= 4 * math.sqrt(empirical * (1 - empirical) / len(draws)) + law_error(law), (x, p)
    low, high = score.interval(0.9)
    rounding = 1e-9 * score.std  # the ends of a discrete law are values that it takes
    inside = np.mean((draws >= low - rounding) & (draws <= high + rounding))
    reach = 4 * math.sqrt(0.09 / len(draws)) + 2 * law_error(law)
    if law.discrete:
        assert inside >= 0.9 - reach
    else:
        assert abs(inside - 0.9) <= reach


def law_error(law):
    """How far a law that is not exact may be off: drawn ones by their own number of draws."""
    return {"exact": 0.0, "quadrature": 1e-6, "saddlepoint": 2e-3, "simulation": 0.01, "delta": 0.05}[law.method]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("errors", LABELS)
def test_regression(metric, errors, weight):
    model = LABELS[errors][0]
    score = METRICS[metric](Y, P, yerr=model, sample_weight=weight)
    slack = 0.01 if metric == "rmse" and errors == "split" else 0.0  # the root of a drawn law
    assert_agrees(score, simulated(metric, drawn(errors, 11), weight), slack)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("errors", LABELS)
def test_noise_floor(metric, errors):
    """The score of a model that predicts the true values, on labels with these errors."""
    perfect = METRICS[metric](Y, P, yerr=LABELS[errors][0]).perfect
    e = Y - drawn(errors, 12)
    draws = {
        "mse": np.mean(e * e, axis=1),
        "rmse": np.sqrt(np.mean(e * e, axis=1)),
        "mae": np.mean(np.abs(e), axis=1),
        "mean_error": np.mean(e, axis=1),
    }[metric]
    slack = 0.02 if errors == "split" else 0.0
    assert abs(perfect - draws.mean()) <= (4 / math.sqrt(DRAWS) + slack) * draws.std()
    assert perfect.std == pytest.approx(draws.std(), rel=0.02)
    low, high = perfect.interval(0.9)
    assert np.mean((draws >= low) & (draws <= high)) == pytest.approx(0.9, abs=0.01 + 2 * slack)


@pytest.mark.parametrize("metric", METRICS)
def test_average_over_outputs(metric):
    rng = np.random.default_rng(13)
    y, p, sigma = Y.reshape(4, 2), P.reshape(4, 2), SIGMA.reshape(4, 2)
    score = METRICS[metric](y, p, yerr=sigma, multioutput=[0.75, 0.25])
    e = P - normal(rng, SIGMA)
    outputs = (e[:, ::2], e[:, 1::2])
    mean = {
        "mse": lambda v: np.mean(v * v, axis=1),
        "rmse": lambda v: np.sqrt(np.mean(v * v, axis=1)),
        "mae": lambda v: np.mean(np.abs(v), axis=1),
        "mean_error": lambda v: np.mean(v, axis=1),
    }[metric]
    draws = 0.75 * mean(outputs[0]) + 0.25 * mean(outputs[1])
    assert_agrees(score, draws)


@pytest.mark.parametrize("metric", ["mse", "mae"])
def test_many_labels(metric):
    """The law of many labels, of very different errors, is found from few numbers."""
    rng = np.random.default_rng(14)
    n = 3000
    y, p, sigma = rng.standard_normal(n), np.zeros(n), rng.lognormal(0, 1, n)
    score = METRICS[metric](y, p, yerr=sigma)
    loss = np.square if metric == "mse" else np.abs
    draws = np.concatenate([loss(y + sigma * rng.standard_normal((500, n))).mean(axis=1) for _ in range(8)])
    assert_agrees(score, draws)


# classes -----------------------------------------------------------------------------------------------------------

ITEMS = 12
PREDICTED = np.arange(ITEMS) % 3
SHOWN = np.where(np.arange(ITEMS) < 8, PREDICTED, (PREDICTED + 1) % 3)
FLIP_WEIGHT = np.arange(ITEMS) % 4 + 0.5


def flips(rng, q, rho):
    """A hidden cause makes labels wrong together: flip_i has probability q_i + sqrt(rho q_i (1 - q_i)) h."""
    q = np.broadcast_to(q, (ITEMS,))
    odds = np.mean(q) / (1 - np.mean(q))
    cause = np.where(rng.random((DRAWS, 1)) < np.mean(q), odds**-0.5, -(odds**0.5))
    return rng.random((DRAWS, ITEMS)) < q + np.sqrt(rho * q * (1 - q)) * cause


@pytest.mark.parametrize("weight", [None, FLIP_WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("q", [0.15, np.linspace(0.1, 0.4, ITEMS)], ids=["one q", "qs"])
@pytest.mark.parametrize("rho", [0.0, 0.2])
def test_accuracy(weight, classes, q, rho):
    rng = np.random.default_rng(15)
    y, p = SHOWN % classes, PREDICTED % classes
    fresh = np.where(flips(rng, q, rho), (y + rng.integers(1, classes, (DRAWS, ITEMS))) % classes, y)
    shares = np.full(ITEMS, 1 / ITEMS) if weight is None else weight / weight.sum()
    draws = (fresh == p) @ shares
    score = sb.accuracy_score(y, p, yerr=sb.Flip(q, correlation=rho), sample_weight=weight)
    assert_agrees(score, draws)
    loss = sb.zero_one_loss(y, p, yerr=sb.Flip(q, correlation=rho), sample_weight=weight)
    assert_agrees(loss, 1 - draws)


# the other questions: estimates that must be unbiased --------------------------------------------------------------


@pytest.mark.parametrize(
    "errors", ["one sigma", "sigmas", pytest.param("shared", id="shared"), pytest.param("split", id="split")]
)
@pytest.mark.parametrize("metric", ["mse", "mean_error"])
def test_truth_and_remeasured_are_unbiased(metric, errors):
    """Labels drawn around the true values Y; the estimates from each set of labels must be right on average."""
    model, labels = LABELS[errors][0], drawn(errors, 16)[:400]
    scores = [METRICS[metric](y, P, yerr=model) for y in labels]
    truths = np.array([score.truth for score in scores])
    exact = METRICS[metric](Y, P).observed
    assert abs(truths.mean() - exact) <= 4 * truths.std() / math.sqrt(len(truths))
    claimed = np.mean([score.truth.std**2 for score in scores])
    if errors == "one sigma" or metric == "mean_error":
        assert claimed == pytest.approx(truths.var(), rel=0.25)
    else:  # the variance of each estimate is kept above that of a perfect model, so on average it is too large
        assert 0.8 * truths.var() < claimed < 2 * truths.var()
    fresh = np.array([score.remeasured(1) for score in scores])
    future = METRICS[metric](Y, P, yerr=model).expected
    assert abs(fresh.mean() - future) <= 4 * fresh.std() / math.sqrt(len(fresh))
    if errors in ("one sigma", "sigmas"):
        averaged = np.array([score.remeasured(4) for score in scores])
        future = METRICS[metric](Y, P, yerr=model / 2).expected
        assert abs(averaged.mean() - future) <= 4 * averaged.std() / math.sqrt(len(averaged))


@pytest.mark.parametrize("classes", [2, 3])
def test_accuracy_estimates_are_unbiased(classes):
    rng = np.random.default_rng(17)
    truth, p = SHOWN % classes, PREDICTED % classes
    q = np.linspace(0.05, 0.3, ITEMS)
    found = []
    for _ in range(600):
        shown = np.where(rng.random(ITEMS) < q, (truth + rng.integers(1, classes, ITEMS)) % classes, truth)
        if len(np.union1d(shown, p)) == classes:
            score = sb.accuracy_score(shown, p, yerr=q)
            found.append((float(score.truth), score.truth.std**2))
    values, variances = np.array(found).T
    assert len(values) > 590
    assert abs(values.mean() - np.mean(truth == p)) <= 4 * values.std() / math.sqrt(len(values))
    assert variances.mean() == pytest.approx(values.var(), rel=0.15)
