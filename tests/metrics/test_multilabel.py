"""Several yes-or-no labels for each item: against scikit-learn, against all possible flips, and by simulation."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse

import scorebars as sb

metrics = pytest.importorskip("sklearn.metrics")
pytestmark = pytest.mark.filterwarnings("ignore")

AVERAGES = ["micro", "macro", "weighted", "samples"]
SHARES = ["precision_score", "recall_score", "f1_score", "jaccard_score"]
RNG = np.random.default_rng(1)
Y = np.array([[1, 0, 1], [0, 1, 0]])
P = np.array([[1, 0, 0], [0, 1, 1]])
SCORES = RNG.random((2, 3)).round(1)
PROBABILITIES = RNG.dirichlet(np.ones(3), 2)
Q = RNG.uniform(0.02, 0.3, (2, 3))
FLIPS = np.array(list(itertools.product((0, 1), repeat=6))).reshape(-1, 2, 3)
WEIGHTS = np.array([1.0, 0.5])


def share_cases():
    for name, average, zero in itertools.product(SHARES, AVERAGES, (0.0, 1.0, np.nan)):
        if not (name == "jaccard_score" and np.isnan(zero)):
            yield name, P, {"average": average, "zero_division": zero}


CASES = [
    *share_cases(),
    ("accuracy_score", P, {}),
    ("zero_one_loss", P, {"normalize": False}),
    *(("roc_auc_score", SCORES, {"average": a}) for a in AVERAGES),
    *(("roc_auc_score", SCORES, {"average": a, "max_fpr": 0.6}) for a in AVERAGES),
    *(("average_precision_score", SCORES, {"average": a}) for a in AVERAGES),
    ("log_loss", PROBABILITIES, {}),
    ("brier_score_loss", PROBABILITIES, {}),
]


def chances(q):
    return np.prod(np.where(FLIPS, q, 1 - q), axis=(1, 2))


def all_values(name, second, options):
    return np.array([getattr(metrics, name)(Y ^ flip, second, **options) for flip in FLIPS])


@pytest.mark.parametrize("weight", [None, WEIGHTS])
@pytest.mark.parametrize(("name", "second", "options"), CASES)
def test_every_flip_of_every_cell(name, second, options, weight):
    options = {**options, "sample_weight": weight}
    values = all_values(name, second, options)
    defined = ~np.isnan(values)
    chance = chances(Q)[defined] / chances(Q)[defined].sum()
    mean = np.sum(chance * values[defined])
    std = np.sqrt(np.sum(chance * (values[defined] - mean) ** 2))
    score = getattr(sb, name)(Y, second, yerr=Q, **options)
    assert score.expected == pytest.approx(mean, abs=1e-12)
    assert score.std == pytest.approx(std, abs=1e-9)
    assert score.distribution.mean() == pytest.approx(mean, abs=1e-9)
    assert score.observed == pytest.approx(getattr(metrics, name)(Y, second, **options), abs=1e-12)


UNBIASED = [("accuracy_score", P, {}), ("log_loss", PROBABILITIES, {}), ("average_precision_score", SCORES, {})]
UNBIASED += [(name, P, {"zero_division": 0.0}) for name in SHARES]


@pytest.mark.parametrize(("name", "second", "options"), UNBIASED)
def test_truth_of_means_over_items_is_unbiased(name, second, options):
    """Over all labels that true labels Y can be shown as, estimate and squared standard error are right on average."""
    if name not in ("accuracy_score", "log_loss"):
        options = {**options, "average": "samples"}
    q = np.full((2, 3), 0.08)
    found = [getattr(sb, name)(Y ^ flip, second, yerr=q, **options)._answers for flip in FLIPS]
    if name == "log_loss":
        estimates = np.array([float(one.truth()) for one in found])
        assert np.sum(chances(q) * estimates) == pytest.approx(getattr(metrics, name)(Y, second), abs=1e-12)
        return
    estimates = np.array([one._true_value()[0] for one in found])
    truth = getattr(metrics, name)(Y, second, **options)
    assert np.sum(chances(q) * estimates) == pytest.approx(truth, abs=1e-12)
    slopes, states = found[0]._influences(found[0].data.indicators), [one.data.indicators for one in found]
    variances = [
        np.sum(np.sum(slopes * a, axis=1) ** 2 - np.sum(a * slopes**2, axis=1)) for a in states
    ]  # not clipped at 0
    assert np.sum(chances(q) * variances) == pytest.approx(np.sum(chances(q) * (estimates - truth) ** 2), abs=1e-12)


@pytest.mark.parametrize("weight", [None, RNG.random(40)])
@pytest.mark.parametrize("average", [*AVERAGES, None])
def test_like_scikit_learn(average, weight):
    rng = np.random.default_rng(3)
    y = (rng.random((40, 5)) < 0.4).astype(int)
    p, scores = np.where(rng.random(y.shape) < 0.2, 1 - y, y), rng.random(y.shape).round(2)
    y[:, 0], y[:, 1] = np.arange(40) % 2, (np.arange(40) + 1) % 2  # every item and every output has both values
    options = {"average": average, "sample_weight": weight}
    for name in SHARES:
        for zero in (0.0, 1.0) if name == "jaccard_score" else (0.0, 1.0, np.nan):
            ours = getattr(sb, name)(sparse.csr_matrix(y), p.tolist(), zero_division=zero, labels=[3, 1, 0], **options)
            theirs = getattr(metrics, name)(y, p, zero_division=zero, labels=[3, 1, 0], **options)
            np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-12)
    for name, more in [("roc_auc_score", {}), ("roc_auc_score", {"max_fpr": 0.3}), ("average_precision_score", {})]:
        ours, theirs = (getattr(m, name)(y, scores, **options, **more) for m in (sb, metrics))
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-12)


def test_average_precision_of_many_classes_over_items():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 3, 20), rng.random((20, 3)).round(1)
    theirs = metrics.average_precision_score(y, scores, average="samples")
    assert float(sb.average_precision_score(y, scores, average="samples")) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("max_fpr", [0.05, 0.3, 0.8, 1.0])
def test_partial_auc_and_its_slopes(max_fpr):
    from scorebars.answers.classes.ranking_answers import PartialAucAnswers, ranking_answers

    rng = np.random.default_rng(5)
    y, scores, w = rng.integers(0, 2, 60), rng.random(60).round(1), rng.random(60)
    ours = sb.roc_auc_score(y, scores, max_fpr=max_fpr, sample_weight=w)
    assert float(ours) == pytest.approx(metrics.roc_auc_score(y, scores, max_fpr=max_fpr, sample_weight=w), rel=1e-12)
    declaration, data = ours.declaration, ours._answers.data
    answers = PartialAucAnswers(declaration, data, scores, max_fpr)
    at = rng.uniform(0.2, 0.8, 60)
    slope = np.diff(answers._influences(np.stack([1 - at, at], axis=1)))[:, 0]
    for i in range(0, 60, 7):
        step = np.eye(60)[i] * 1e-6
        above, below = answers.values(np.stack([at + step, at - step]))
        change = (above - below) / 2e-6
        assert slope[i] == pytest.approx(change, abs=1e-6)
    if max_fpr == 1:
        whole = ranking_answers(declaration, data, scores, 1.0)
        both = whole._influences(np.stack([1 - at, at], axis=1))
        np.testing.assert_allclose(slope, both[:, 1] - both[:, 0], atol=1e-12)


def simulated(name, options, n=60, outputs=4, q=0.08, repetitions=200, ranked=False):
    """How often the intervals of truth, population and next test set hold what they promise."""
    rng = np.random.default_rng(11)
    held = np.zeros(3)

    def test_set(size):
        hard = rng.normal(0, 0.7, (size, 1))  # the labels of one item go together
        true = (rng.normal(0, 1, (size, outputs)) + hard > 0.3).astype(int)
        scores = true + rng.normal(0, 0.8, true.shape) + hard / 3
        return true, scores if ranked else (scores > 0.5).astype(int)

    value = float(getattr(sb, name)(*test_set(40_000), **options))
    for _ in range(repetitions):
        true, second = test_set(n)
        shown = true ^ (rng.random(true.shape) < q)
        score = getattr(sb, name)(shown, second, yerr=q, **options)
        again, other = test_set(n)
        later = getattr(sb, name)(again ^ (rng.random(again.shape) < q), other, **options)
        targets = [float(getattr(sb, name)(true, second, **options)), value, float(later)]
        intervals = [score.truth.interval(), score.truth.total_interval(), score.total_interval()]
        held += [low - 1e-9 <= t <= high + 1e-9 for t, (low, high) in zip(targets, intervals, strict=True)]
    return held / repetitions


@pytest.mark.parametrize(
    ("name", "options", "ranked"),
    [
        ("accuracy_score", {}, False),
        ("f1_score", {"average": "micro"}, False),
        ("recall_score", {"average": "samples", "zero_division": 0.0}, False),
    ],
)
def test_intervals_hold(name, options, ranked):
    """95 % intervals; .95 in 200 repetitions scatters by .015."""
    held = simulated(name, options, ranked=ranked)
    assert np.all(held >= 0.90), held


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "ranked"),
    [
        *((name, {"average": average}, False) for name in ("f1_score", "jaccard_score") for average in AVERAGES),
        *(("roc_auc_score", {"average": average}, True) for average in ("micro", "macro", "weighted")),
        ("roc_auc_score", {"average": "micro", "max_fpr": 0.3}, True),
        *(("average_precision_score", {"average": average}, True) for average in AVERAGES),
    ],
)
def test_intervals_of_every_average_hold(name, options, ranked):
    held = simulated(name, options, n=100, repetitions=400, ranked=ranked)
    assert np.all(held >= 0.91), held


def test_all_answers():
    for average in AVERAGES:
        score = sb.f1_score(np.tile(Y, (10, 1)), np.tile(P, (10, 1)), average=average, yerr=[0.02, 0.05, 0.1])
        assert score.n == 20
        assert 0 < score.perfect < 1
        assert score.remeasured(1) == pytest.approx(score.observed)
        low, high = sorted([score.observed, float(score.truth)])
        assert low - 0.02 <= score.remeasured(3) <= high + 0.02
        again = pickle.loads(pickle.dumps(score))
        assert (again.expected, again.truth, again.std) == (score.expected, score.truth, score.std)
    berkson = sb.f1_score(Y, P, average="samples", yerr=sb.Flip(Q, kind="berkson"))
    assert berkson.truth == berkson.expected
    conditional = sb.accuracy_score(Y, Y, yerr=sb.errors.ClassFlip({0: 0.02, 1: 0.2}))
    assert conditional.expected == pytest.approx((0.8 * 0.98 * 0.8 + 0.98 * 0.8 * 0.98) / 2)


def test_labels_that_tell_nothing_are_said_to():
    y = np.tile(Y, (1, 20))
    with pytest.raises(sb.UndefinedEstimate, match="60 labels an item are too many"):
        _ = sb.accuracy_score(y, y, yerr=0.3).truth
    with pytest.raises(sb.UndefinedEstimate, match=r"more than its range|next to nothing"):
        _ = sb.accuracy_score(y[:, :15], y[:, :15], yerr=0.3).truth


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sb.f1_score(Y, P), "Target is multilabel-indicator but average='binary'"),
        (lambda: sb.f1_score([0, 1], [0, 1], average="samples"), "Samplewise metrics are not available"),
        (lambda: sb.f1_score(Y, [0, 1], average="micro"), "mix of multilabel-indicator and binary targets"),
        (lambda: sb.f1_score(Y, 2 * P, average="micro"), "multiclass-multioutput is not supported"),
        (lambda: sb.accuracy_score(Y, P[:, :2]), "different numbers of labels an item"),
        (lambda: sb.accuracy_score(Y, P, yerr=[0.1, 0.2]), r"yerr has shape \(2,\) but y_true has shape \(2, 3\)"),
        (lambda: sb.accuracy_score(Y, P, yerr=sb.Flip(0.1, correlation=0.5)), "must err independently"),
        (lambda: sb.f1_score(Y, P, average="macro", labels=[0, 3]), "Got 3 > 2"),
        (lambda: sb.roc_auc_score([0, 1], [0.1, 0.2], max_fpr=0), r"Expected max_fpr in range \(0, 1\]"),
        (lambda: sb.roc_auc_score(Y, SCORES[:, :2]), "Give a score for each label of each item"),
        (lambda: sb.matthews_corrcoef(Y, P), "one class for each item"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_weighted_items_without_a_score_are_left_out():
    """zero_division=nan: the weight of an item whose score is 0/0 does not count."""
    y = np.array([[0, 0, 0], [1, 0, 1], [1, 1, 0], [0, 0, 1]])
    p = np.array([[0, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0]])
    weights = np.array([0.5, 2.0, 1.0, 3.0])
    score = sb.f1_score(y, p, average="samples", zero_division=np.nan, sample_weight=weights, yerr=0.05)
    assert score.observed == pytest.approx((2.0 * 0.5 + 1.0 * 1.0 + 3.0 * 0.0) / 6.0)
