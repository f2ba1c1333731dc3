"""Accuracy under wrong labels: the two-class formula, K classes, correlation, and ways to say the same."""

import math

import numpy as np
import pytest
from situations import assert_same_answers

import scorebars as sb


def data(right, n, classes=2):
    """Labels and predictions of n items, the first `right` of which agree."""
    p = np.arange(n) % classes
    return np.where(np.arange(n) < right, p, (p + 1) % classes), p


@pytest.mark.parametrize("right", [0, 1, 7, 15, 20, 29, 30])
@pytest.mark.parametrize("q", [0.0, 0.05, 0.3, 0.45, 0.5, 0.8, 1.0])
def test_two_classes(right, q):
    """a + q (1 - 2a) and q (1 - q) / M."""
    score = sb.accuracy_score(*data(right, 30), yerr=q)
    a = right / 30
    assert score.observed == a
    assert score.expected == pytest.approx(a + q * (1 - 2 * a), abs=1e-15)
    assert score.variance == pytest.approx(q * (1 - q) / 30, rel=1e-13)
    assert score.distribution.mean() == pytest.approx(score.expected, rel=1e-13)
    assert score.distribution.var() == pytest.approx(score.variance, rel=1e-12)
    if q == 0.5:
        with pytest.raises(sb.UndefinedEstimate, match=r"q = 0\.5 .* says nothing about the true class"):
            score.truth  # noqa: B018
    else:
        assert score.truth == pytest.approx((a - q) / (1 - 2 * q), abs=1e-14)
        assert score.truth.std == pytest.approx(math.sqrt(q * (1 - q) / 30) / abs(1 - 2 * q), rel=1e-12)
    assert score.remeasured() == pytest.approx(a, abs=1e-15)
    assert score.perfect == pytest.approx(1 - q, rel=1e-14)


@pytest.mark.parametrize("classes", [2, 3, 4, 10])
@pytest.mark.parametrize("q", [0.02, 0.2, 0.4])
def test_the_score_moves_towards_chance(classes, q):
    """Wrong labels lower an accuracy above 1/K, raise one below, and leave 1/K where it is."""
    n = 10 * classes
    below, at, above = (
        sb.accuracy_score(*data(right, n, classes), yerr=q)
        for right in (n // classes - 3, n // classes, n // classes + 3)
    )
    assert below.expected > below.observed
    assert at.expected == pytest.approx(at.observed, rel=1e-14)
    assert above.expected < above.observed
    for score in (below, at, above):
        a, r = score.observed, q / (classes - 1)
        assert score.expected == pytest.approx(a * (1 - q) + (1 - a) * r, rel=1e-14)
        assert score.variance == pytest.approx((a * q * (1 - q) + (1 - a) * r * (1 - r)) / n, rel=1e-13)
        assert score.truth == pytest.approx((a - r) / (1 - q - r), rel=1e-13)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_one_q_or_one_for_each_label(classes, weighted, correlation):
    y, p = data(17, 25, classes)
    weight = np.random.default_rng(0).integers(1, 4, 25) if weighted else None
    ways = [sb.Flip(0.1, correlation), sb.Flip(np.full(25, 0.1), correlation), sb.Flip([0.1] * 25, correlation)]
    if not correlation:
        ways += [0.1, np.full(25, 0.1), np.full((25, 1), 0.1)]
    first, *others = (sb.accuracy_score(y, p, yerr=way, sample_weight=weight) for way in ways)
    for score in others:
        assert_same_answers(score, first, skip=("truth interval",))  # one q for all has an exact interval
        assert score.truth.interval() == pytest.approx(first.truth.interval(), abs=0.12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", [0.1, sb.Flip(0.1, correlation=0.2), np.linspace(0, 0.4, 25)], ids=["q", "rho", "qs"])
def test_loss_and_accuracy_are_complements(model, weighted):
    y, p = data(17, 25, 3)
    weight = np.linspace(1, 3, 25) if weighted else None
    right, wrong = (f(y, p, yerr=model, sample_weight=weight) for f in (sb.accuracy_score, sb.zero_one_loss))
    for name in ("observed", "expected", "truth", "perfect"):
        assert float(getattr(right, name)) + float(getattr(wrong, name)) == pytest.approx(1, rel=1e-14), name
    assert right.remeasured(3) + wrong.remeasured(3) == pytest.approx(1)
    assert right.std == pytest.approx(wrong.std, rel=1e-13)
    assert right.noise_share == wrong.noise_share
    low, high = right.interval(0.9)
    assert wrong.interval(0.9) == pytest.approx((1 - high, 1 - low), abs=1e-12)
    low, high = right.truth.interval(0.9)
    assert wrong.truth.interval(0.9) == pytest.approx((1 - high, 1 - low), abs=1e-12)
    assert right.greater_is_better
    assert not wrong.greater_is_better


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_shares_times_the_total(weighted):
    y, p = data(17, 25)
    weight = np.linspace(1, 3, 25) if weighted else None
    total = 25 if weight is None else weight.sum()
    for function in (sb.accuracy_score, sb.zero_one_loss):
        share = function(y, p, yerr=0.1, sample_weight=weight)
        count = function(y, p, yerr=0.1, sample_weight=weight, normalize=False)
        assert_same_answers(count, share, scale=total)
        assert count.declaration.high == total


def test_order_of_items_and_names_of_classes():
    rng = np.random.default_rng(0)
    y, p, q, w = rng.integers(0, 3, 40), rng.integers(0, 3, 40), 0.3 * rng.random(40), rng.random(40)
    i = rng.permutation(40)
    first = sb.accuracy_score(y, p, yerr=q, sample_weight=w)
    assert_same_answers(sb.accuracy_score(y[i], p[i], yerr=q[i], sample_weight=w[i]), first)
    assert_same_answers(sb.accuracy_score(y[i], p[i], yerr=sb.Flip(q)[i], sample_weight=w[i]), first)
    names = np.array(["up", "down", "strange"])
    assert_same_answers(sb.accuracy_score(names[y], names[p], yerr=q, sample_weight=w), first)


def test_weights():
    y, p = data(17, 25)
    w = np.arange(25) % 3 + 1.0
    repeated = np.repeat(np.arange(25), w.astype(int))
    weighted, many = (
        sb.accuracy_score(y, p, yerr=0.1, sample_weight=w),
        sb.accuracy_score(y[repeated], p[repeated], yerr=0.1),
    )
    assert weighted.observed == pytest.approx(many.observed, rel=1e-14)
    assert weighted.expected == pytest.approx(many.expected, rel=1e-14)
    assert weighted.truth == pytest.approx(many.truth, rel=1e-14)
    assert weighted.std > many.std
    assert_same_answers(sb.accuracy_score(y, p, yerr=0.1, sample_weight=5 * w), weighted)
    equal = sb.accuracy_score(y, p, yerr=0.1, sample_weight=np.ones(25))
    assert_same_answers(equal, sb.accuracy_score(y, p, yerr=0.1), skip=("truth interval",))


@pytest.mark.parametrize("q", [0.05, 0.2])
@pytest.mark.parametrize("rho", [0.1, 0.5, 1.0])
def test_flips_that_happen_together(q, rho):
    """Var = q(1-q)[(1-rho)/M + rho (1-2a)^2]."""
    score = sb.accuracy_score(*data(24, 30), yerr=sb.Flip(q, correlation=rho))
    a = 24 / 30
    variance = q * (1 - q) * ((1 - rho) / 30 + rho * (1 - 2 * a) ** 2)
    assert score.variance == pytest.approx(variance, rel=1e-12)
    assert score.distribution.mean() == pytest.approx(score.expected, rel=1e-12)
    assert score.distribution.var() == pytest.approx(variance, rel=1e-11)
    assert score.expected == pytest.approx(a + q * (1 - 2 * a), rel=1e-14)
    if rho == 1:
        np.testing.assert_allclose(score.distribution.pmf([24 / 30, 6 / 30]), [1 - q, q], rtol=1e-12)


def test_all_labels_wrong_mirror_the_truth():
    score = sb.accuracy_score(*data(8, 30), yerr=1.0)
    assert score.expected == pytest.approx(22 / 30)
    assert score.std == 0
    assert score.truth == pytest.approx(22 / 30)
    assert score.truth.interval() == pytest.approx((22 / 30, 22 / 30))


def test_exact_labels():
    score = sb.accuracy_score(*data(22, 30))
    assert score.expected == score.observed == score.truth == 22 / 30
    assert score.std == score.truth.std == score.perfect.std == 0
    assert score.perfect == 1
    assert score.noise_share == 0
    assert score.interval() == pytest.approx((22 / 30, 22 / 30))
    assert score.truth.interval() == pytest.approx((22 / 30, 22 / 30))
    assert score.distribution.pmf(22 / 30) == 1


def test_majority_of_votes_leads_to_the_truth():
    score = sb.accuracy_score(*data(25, 30), yerr=0.1)
    votes = [float(score.remeasured(k)) for k in (1, 3, 5, 51)]
    assert votes == sorted(votes)
    assert votes[0] == pytest.approx(25 / 30)
    q3 = 0.1**3 + 3 * 0.1**2 * 0.9
    assert votes[1] == pytest.approx(q3 + (1 - 2 * q3) * score.truth)
    assert score.remeasured(math.inf) == pytest.approx(score.truth)
    assert votes[-1] == pytest.approx(score.truth, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("q", [0.0, 0.2, 1.0])
def test_few_labels(n, q):
    score = sb.accuracy_score([1] * n, [1] * n, yerr=q)
    assert score.expected == 1 - q
    assert 0 <= score.interval().low <= score.interval().high <= 1
    assert 0 <= score.truth.interval().low <= score.truth.interval().high <= 1
    assert 0 <= score.total_interval().low <= score.total_interval().high <= 1
