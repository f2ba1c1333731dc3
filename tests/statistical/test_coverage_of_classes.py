"""Intervals of classification metrics: true score of these items and of the population, and the next test set."""

import math
import warnings
from functools import partial

import numpy as np
import pytest
from simulated_coverage import assert_covers, effort, slowly

import scorebars as sb
from scorebars.laws.counts.correlated_flips import conditional_flip_probabilities

PREVALENCE = 0.4
METRICS = {
    "accuracy_score": sb.accuracy_score,
    "precision_score": sb.precision_score,
    "recall_score": sb.recall_score,
    "f1_score": sb.f1_score,
    "balanced_accuracy_score": sb.balanced_accuracy_score,
    "matthews_corrcoef": sb.matthews_corrcoef,
    "log_loss": partial(sb.log_loss, labels=[0, 1]),
    "roc_auc_score": sb.roc_auc_score,
}
OF_SCORES = ("log_loss", "roc_auc_score")


def items(rng, n, accuracy):
    """True classes, predicted classes, and probabilities of the positive class."""
    true = (rng.random(n) < PREVALENCE).astype(int)
    predicted = np.where(rng.random(n) < accuracy, true, 1 - true)
    sure = np.clip(0.5 + rng.beta(4, 2, n) / 2, 0.51, 0.98)
    return true, predicted, np.where(predicted == 1, sure, 1 - sure)


def shown_labels(rng, true, q):
    return np.where(rng.random(len(true)) < q, 1 - true, true)


def experiments(n, accuracy, q, count, level=0.95):
    """For each metric the intervals of three answers with what they should hold."""
    rng = np.random.default_rng(3)
    far = items(np.random.default_rng(4), 200_000, accuracy)
    population = {name: f(far[0], far[2 if name in OF_SCORES else 1]).observed for name, f in METRICS.items()}
    found = {(name, answer): [] for name in METRICS for answer in ("truth", "population", "next")}
    for _ in range(count):
        true, *given = items(rng, n, accuracy)
        shown = shown_labels(rng, true, q)
        later, *given_later = items(rng, n, accuracy)
        shown_later = shown_labels(rng, later, q)
        for name, function in METRICS.items():
            which = int(name in OF_SCORES)
            score = function(shown, given[which], yerr=q)
            found[name, "next"].append(
                (score.total_interval(level), function(shown_later, given_later[which]).observed)
            )
            truth = score.truth
            found[name, "truth"].append((truth.interval(level), function(true, given[which]).observed))
            found[name, "population"].append((truth.total_interval(level), population[name]))
    return found


@effort(60)
@pytest.mark.parametrize("situation", slowly((30, 0.95, 0.05), (100, 0.7, 0.2), (500, 0.95, 0.1)), ids=str)
def test_two_classes(situation, count):
    """Few labels and a score near 1, where intervals from the observed variance hold two in three."""
    warnings.simplefilter("ignore")
    for (name, answer), intervals in experiments(*situation, count).items():
        try:
            assert_covers(intervals, 0.95, 0.03, 0.05)
        except AssertionError as missed:
            raise AssertionError(f"{name}, {answer}: {missed}") from None


def binomial_chances(n, p):
    k = np.arange(n + 1)
    return k, np.array([math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in k])


@pytest.mark.parametrize("q", [0.0, 0.1, 0.3])
@pytest.mark.parametrize(("n", "accuracy"), [(20, 0.95), (20, 0.7), (50, 0.95), (100, 0.99)])
def test_accuracy_of_a_population_counted_out(n, accuracy, q):
    """All outcomes with their chances, no drawing: 95 % intervals hold 92 % or more, and those of 20 of 20 are not empty."""
    k, chances = binomial_chances(n, accuracy + q * (1 - 2 * accuracy))
    ends = [sb.accuracy_score([1] * n, [1] * i + [0] * (n - i), yerr=q).truth.total_interval(0.95) for i in k]
    held = math.fsum(c for (low, high), c in zip(ends, chances, strict=True) if low <= accuracy <= high)
    assert 0.92 <= held <= 0.995
    assert all(low < high for low, high in ends)


@pytest.mark.parametrize(("n", "accuracy"), [(20, 0.95), (100, 0.8), (200, 0.95)])
def test_accuracy_of_the_next_test_set_counted_out(n, accuracy):
    """The observed share on two test sets, all pairs of outcomes; at q = 0.1 the label errors are in it once."""
    k, chances = binomial_chances(n, accuracy + 0.1 * (1 - 2 * accuracy))
    ends = [sb.accuracy_score([1] * n, [1] * i + [0] * (n - i), yerr=0.1).total_interval(0.95) for i in k]
    held = math.fsum(
        c * float(chances[(k / n >= low - 1e-12) & (k / n <= high + 1e-12)].sum())
        for (low, high), c in zip(ends, chances, strict=True)
    )
    assert 0.92 <= held <= 0.98


@effort(200)
def test_correlated_flips_count_twice_on_the_next_test_set(count):
    """What the labels share shifts this set and the next one, each by itself.

    The shared cause has two states, of which one set shows one: the interval holds .85, as the theory page says.
    """
    n, q, rho = 100, 0.1, 0.05
    chances, flips = conditional_flip_probabilities(np.full(n, q), rho)
    rng, found = np.random.default_rng(5), []

    def right():
        state = rng.choice(2, p=chances)
        return (rng.random(n) < 0.95) ^ (rng.random(n) < flips[state])

    for _ in range(count):
        score = sb.accuracy_score(np.ones(n, dtype=int), right().astype(int), yerr=sb.Flip(q, correlation=rho))
        found.append((score.total_interval(0.95), float(np.mean(right()))))
    assert_covers(found, 0.85, 0.02, 0.15)


@pytest.mark.parametrize("metric", METRICS)
def test_all_right_leaves_room_for_doubt(metric):
    y = np.array([0, 1] * 10)
    given = np.where(y == 1, 0.9, 0.1) if metric in OF_SCORES else y
    for q in (0.0, 0.1):
        score = METRICS[metric](y, given, yerr=q)
        for low, high in (score.total_interval(), score.truth.total_interval()):
            assert low < high


def test_near_chance_correlated_flips_cancel():
    """Var = q (1 - q) [(1 - rho) / M + rho (1 - 2a)^2]: below that of independent flips."""
    score = sb.accuracy_score([1] * 100, [1] * 50 + [0] * 50, yerr=sb.Flip(0.1, correlation=0.5))
    assert score.std == pytest.approx(math.sqrt(0.09 * 0.5 / 100), rel=1e-12)
    assert score.std == pytest.approx(score.distribution.std, rel=1e-10)


def test_classes_that_labels_cannot_tell_from_none_are_refused():
    """8 positive labels of 60 where 12 are expected to be wrong: what divides by true positives has no value."""
    y, s = (np.arange(60) % 8 == 0).astype(int), np.linspace(1, 0, 60)
    for metric, given in ((sb.roc_auc_score, s), (sb.average_precision_score, s), (sb.recall_score, (s > 0.5) * 1)):
        with pytest.raises(sb.UndefinedEstimate, match="cannot be told from 0"):
            metric(y, given, yerr=0.2).truth  # noqa: B018
    with pytest.raises(sb.UndefinedEstimate, match="next to nothing about the true classes"):
        sb.accuracy_score([1, 0], [1, 1], yerr=0.5 - 1e-9).truth  # noqa: B018


@pytest.mark.parametrize("q", [0.2, 0.4])
@pytest.mark.parametrize("metric", METRICS)
def test_estimates_agree_with_their_intervals(metric, q):
    """More labels agree than such errors allow: the raw estimate may leave the range, the interval holds its nearest end."""
    y = np.array([0, 1] * 20)
    given = np.where(y == 1, 0.9, 0.1) if metric in OF_SCORES else y
    score = METRICS[metric](y, given, yerr=q)
    value = min(max(float(score.truth), score.declaration.low), score.declaration.high)
    for low, high in (score.truth.interval(), score.truth.total_interval()):
        assert score.declaration.low <= low <= value <= high <= score.declaration.high
        assert low < high
