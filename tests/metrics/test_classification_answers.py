"""The questions of every classification metric under every model of label errors, against simulation."""

import math
import pickle

import numpy as np
import pytest
from classification_cases import METRICS, OF_CLASSES, confusion_matrix, prediction_for, situation

from scorebars.answers.score import UndefinedEstimate
from scorebars.errors import ClassFlip, Flip, LabelProbabilities, Normal, Thresholded, Transition, Votes
from scorebars.laws.counts.correlated_flips import conditional_flip_probabilities
from scorebars.metrics.class_scores import roc_auc_score
from scorebars.metrics.class_shares import f1_score, precision_score, recall_score
from scorebars.metrics.predicted_classes import accuracy_score

Y, PRED, SCORE, MODELS = situation()
TWO = np.array([0, 1])
DRAWS = 200


def score(name, y, model, **options):
    function, given = METRICS[name]
    return function(y, prediction_for(name, PRED, SCORE), yerr=model, **(given | options))


def drawn_labels(name, rng):
    model = MODELS[name]
    if name == "Flip correlated":
        chances, conditional = conditional_flip_probabilities(np.full(len(Y), model.q), model.correlation)
        case = rng.choice(2, size=DRAWS, p=chances)
        return np.where(rng.random((DRAWS, len(Y))) < conditional[case], 1 - Y, Y)
    p = model.label_probabilities(Y, TWO)[:, 1]
    return (rng.random((DRAWS, len(Y))) < p).astype(int)


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(17)
    return {name: drawn_labels(name, rng) for name in MODELS}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("metric", METRICS)
def test_expected_and_std_against_simulation(metric, model, labels):
    s = score(metric, Y, MODELS[model])
    draws = np.array([score(metric, y, None).observed for y in labels[model]])
    assert abs(draws.mean() - float(s)) < 4.5 * s.std / math.sqrt(DRAWS)
    assert draws.std() == pytest.approx(s.std, rel=0.25)
    low, high = s.interval(0.9)
    assert 0.83 < np.mean((draws >= low - 1e-12) & (draws <= high + 1e-12)) <= 1
    assert s.distribution.std == pytest.approx(s.std, rel=0.08)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("metric", METRICS)
def test_all_answers_exist_or_say_why(metric, model):
    s = score(metric, Y, MODELS[model])
    again = pickle.loads(pickle.dumps(s))
    assert (float(again), again.std, again.observed) == (float(s), s.std, s.observed)
    for ask in ("truth", "remeasured", "perfect"):
        try:
            estimate = s.remeasured() if ask == "remeasured" else getattr(s, ask)
        except UndefinedEstimate as why:
            assert len(str(why)) > 40
            continue
        assert math.isfinite(estimate)
        assert estimate.std >= 0
        low, high = estimate.interval(0.9)
        assert low <= high
    kind = MODELS[model].kind
    if kind == "berkson":
        assert float(s.truth) == float(s)
        with pytest.raises(UndefinedEstimate, match="Berkson"):
            s.remeasured()
    elif model == "Thresholded":
        with pytest.raises(UndefinedEstimate, match="cutting a measured number"):
            _ = s.truth
        assert float(s.remeasured()) == s.observed
    elif model != "Votes":
        assert float(s.remeasured()) == s.observed
    assert s.noise_share is None or 0 <= s.noise_share <= 1
    assert s.sampling_std >= 0  # 0 where the labels' own errors explain all the scatter of the items
    low, high = s.total_interval(0.9)
    assert low < (float(s) if kind == "berkson" else s.observed) < high
    assert "observed" in s.explain()


@pytest.mark.parametrize(
    "model", [Flip(0.1), ClassFlip({0: 0.05, 1: 0.2}), Transition([[0.9, 0.1], [0.2, 0.8]], [0, 1])], ids=repr
)
@pytest.mark.parametrize("metric", METRICS)
def test_truth_is_found_again(metric, model):
    """Wrong labels of known true classes: the estimate is right on average, and its std is that of its scatter."""
    rng = np.random.default_rng(23)
    n, repeats = 300, 40
    true = (rng.random(n) < 0.4).astype(int)
    proba = np.clip(0.5 + 0.25 * (2 * true - 1) + rng.normal(0, 0.25, n), 0.02, 0.98)
    given = (proba > 0.5).astype(int) if metric in OF_CLASSES else proba
    function, options = METRICS[metric]
    wanted = function(true, given, **options).observed
    rows = model.transition(TWO)[true, 1]
    found = [function((rng.random(n) < rows).astype(int), given, yerr=model, **options).truth for _ in range(repeats)]
    spread = np.std(found)
    assert abs(np.mean(found) - wanted) < 4 * spread / math.sqrt(repeats) + 0.003
    assert np.median([e.std for e in found]) == pytest.approx(spread, rel=0.45)
    inside = [e.interval(0.95).low <= wanted <= e.interval(0.95).high for e in found]
    assert np.mean(inside) >= 0.85


def test_three_classes_against_simulation():
    rng = np.random.default_rng(4)
    rows = np.array([[0.85, 0.1, 0.05], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8]])
    y = rng.integers(0, 3, 40)
    p = np.where(rng.random(40) < 0.7, y, rng.integers(0, 3, 40))
    model = Transition(rows, [0, 1, 2])
    labels = (rng.random((400, 40, 1)) >= np.cumsum(rows[y], axis=1)[:, :-1]).sum(axis=2)
    asked = [
        ("matthews_corrcoef", {}), ("balanced_accuracy_score", {}), ("cohen_kappa_score", {}), ("accuracy_score", {}),
        ("f1_score", {"average": "macro"}), ("f1_score", {"average": "weighted"}), ("jaccard_score", {"average": "micro"}),
        ("specificity_score", {"average": "macro"}),
    ]  # fmt: skip
    for name, options in asked:
        s = METRICS[name][0](y, p, yerr=model, **options)
        draws = np.array([METRICS[name][0](one, p, **options).observed for one in labels])
        assert abs(draws.mean() - float(s)) < 4.5 * s.std / 20, name
        assert draws.std() == pytest.approx(s.std, rel=0.15), name
    each = recall_score(y, p, yerr=model, average=None)
    draws = np.array([[s.observed for s in recall_score(one, p, average=None)] for one in labels[:150]])
    np.testing.assert_allclose(np.asarray(each), draws.mean(axis=0), atol=0.04)
    assert all(s.method == "exact" for s in each)


def test_weights_against_simulation():
    rng = np.random.default_rng(9)
    weight = rng.random(len(Y)) + 0.2
    p = MODELS["Flip"].label_probabilities(Y, TWO)[:, 1]
    labels = (rng.random((DRAWS, len(Y))) < p).astype(int)
    for name in METRICS:
        s = score(name, Y, Flip(0.1), sample_weight=weight)
        draws = np.array([score(name, y, None, sample_weight=weight).observed for y in labels])
        assert abs(draws.mean() - float(s)) < 4.5 * s.std / math.sqrt(DRAWS), name
        assert draws.std() == pytest.approx(s.std, rel=0.25), name


@pytest.mark.parametrize("k", [2, 3, 10])
def test_accuracy_turns_at_one_over_k(k):
    """Wrong labels lower an accuracy above 1/K, raise one below, and leave 1/K as it is."""
    y = np.repeat(np.arange(k), 30)
    for right, sign in ((30 // k, 0), (30 // k - 2, 1), (30 // k + 2, -1)):
        pred = np.where(np.arange(30 * k) % 30 < right, y, (y + 1) % k)
        rows = Flip(0.2).transition(np.arange(k))
        for model in (Flip(0.2), Transition(rows, range(k))):
            assert accuracy_score(y, pred, yerr=model).correction == pytest.approx(
                0.2 * sign * abs(k * right / 30 - 1) / (k - 1), abs=1e-14
            )


@pytest.mark.parametrize("metric", ["f1_score", "recall_score", "roc_auc_score", "log_loss", "matthews_corrcoef"])
def test_no_truth_where_labels_say_nothing(metric):
    with pytest.raises(UndefinedEstimate, match=r"at q = 0\.5 a label says nothing about the true class \(30 of 30"):
        _ = score(metric, Y, Flip(0.5)).truth
    with pytest.raises(UndefinedEstimate, match="transition matrix is singular"):
        _ = score(metric, Y, Transition([[0.5, 0.5], [0.5, 0.5]], [0, 1])).truth


def test_transition_equals_flip():
    """The same errors said in two ways give the same scores."""
    flip, rows = Flip(0.1), Transition([[0.9, 0.1], [0.1, 0.9]], [0, 1])
    for name in METRICS:
        a, b = score(name, Y, flip), score(name, Y, rows)
        assert float(a) == pytest.approx(float(b), rel=1e-12), name
        assert a.std == pytest.approx(b.std, rel=1e-12), name
        assert float(a.truth) == pytest.approx(float(b.truth), rel=1e-12), name
        assert float(a.perfect) == pytest.approx(float(b.perfect), rel=1e-12), name
        assert float(a.remeasured(3)) == pytest.approx(float(b.remeasured(3)), rel=1e-12), name


def test_more_votes_lead_to_the_truth():
    for name in ("f1_score", "accuracy_score", "roc_auc_score"):
        s = score(name, Y, Flip(0.1))
        steps = [float(s.remeasured(k)) for k in (1, 3, 9, 41)]
        assert np.all(np.diff(steps) > 0), name
        assert steps[-1] == pytest.approx(float(s.truth), abs=1e-4), name
        assert float(s.remeasured(math.inf)) == float(s.truth), name


def test_votes_at_hand():
    """One fresh vote is as the votes are; as many as there were give the label again."""
    counts = np.array([[5, 0], [1, 4], [3, 2], [0, 5], [4, 1], [2, 3]])
    model, pred = Votes(counts, ["no", "yes"]), ["no", "yes", "no", "yes", "yes", "yes"]
    s = accuracy_score(None, pred, yerr=model)
    assert s.observed == 5 / 6
    assert float(s) == pytest.approx(np.mean([5, 4, 3, 5, 1, 3]) / 5)
    assert float(s.remeasured(1)) == pytest.approx(float(s))
    assert float(s.remeasured(5)) == s.observed
    assert float(s.remeasured(3)) == pytest.approx(np.mean([1, 1, 0.7, 1, 0, 0.7]), abs=0.01)
    with pytest.raises(UndefinedEstimate, match="some items have 5 only"):
        s.remeasured(7)
    assert float(s.truth) > s.observed


def test_thresholded_berkson_is_its_own_truth():
    model = Thresholded([0.1, 0.9, 2.0], Normal(0.5, kind="berkson"), 1.0)
    s = accuracy_score(None, [0, 1, 1], yerr=model)
    assert float(s.truth) == float(s)


def test_perfect_model():
    assert float(score("accuracy_score", Y, ClassFlip({0: 0.0, 1: 0.2})).perfect) == pytest.approx(1 - 0.2 * Y.mean())
    entropy = -(0.1 * math.log(0.1) + 0.9 * math.log(0.9))
    assert float(score("log_loss", Y, Flip(0.1)).perfect) == pytest.approx(entropy)
    assert float(score("brier_score_loss", Y, Flip(0.1)).perfect) == pytest.approx(0.09)


def test_single_class_of_labels():
    """Labels that are all of one class may still be of the other."""
    s = precision_score([1, 1, 1], [1, 1, 1], yerr=0.1)
    assert (s.observed, float(s)) == (1.0, pytest.approx(0.9))
    with pytest.warns(UserWarning, match="Recall is ill-defined"):  # observed is 0/0, expected is not
        s = recall_score([0, 0, 0], [0, 1, 0], yerr=0.1)
    assert s.observed == 0
    assert 0 < float(s) < 0.2
    assert f1_score(["a", "a"], ["a", "a"], pos_label="a", yerr=0.1).observed == 1


def test_large_sets_are_quick():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 100_000)
    pred = np.where(rng.random(100_000) < 0.9, y, 1 - y)
    s = f1_score(y, pred, yerr=0.05)
    assert s.std == pytest.approx(0.0007, rel=0.2)
    assert s.truth > s.observed > float(s)


def test_truth_of_many_classes_with_negative_cells():
    """Few labels, large errors: counts carried back would be negative, and the most likely ones serve."""
    s = f1_score([0, 1, 0, 1, 1], [0, 1, 0, 1, 1], yerr=0.4)
    assert 0 <= float(s.truth) <= 1
    assert math.isfinite(s.truth.std)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: f1_score(None, [1, 0]), r"y_true is None, which is allowed only with"),
        (lambda: f1_score([1, 0], [1, 0], yerr=Normal(0.1)), r"describes measured numbers"),
        (lambda: f1_score([1, 0], [1, 0], yerr=[0.1]), r"describes 1 labels but y_true has 2"),
        (
            lambda: f1_score([1, 0], [1, 0], yerr=ClassFlip({0: 0.1, 2: 0.1})),
            r"ClassFlip does not name: the first is 1",
        ),
        (lambda: accuracy_score([0, 2], [0, 1], yerr=ClassFlip({0: 0.1, 2: 0.1})), r"no probability for class .*1"),
        (lambda: f1_score(["a"], ["b"], pos_label="a", yerr=Transition(np.eye(2), [0, 1])), r"does not name|mix texts"),
        (lambda: roc_auc_score([0, 1], [0.1, 0.2], max_fpr=1.5), r"Expected max_fpr in range"),
        (lambda: roc_auc_score([0, 1], [0.1, 0.2, 0.3]), r"inconsistent numbers of samples: 2 and 3"),
        (lambda: confusion_matrix([0, 1], [0, 1], normalize="rows"), r"normalize must be one of"),
        (lambda: accuracy_score([1, 1], [0, 1], yerr=Thresholded([0.0, 1.0], 0.1, 0.5)), r"differs from the labels"),
        (lambda: accuracy_score([1, 1], [0, 1], yerr=Votes([[2, 1], [0, 3]], [0, 1])), r"differs from the majority"),
        (
            lambda: METRICS["log_loss"][0](
                [0, 1], [0.1, 0.9], yerr=LabelProbabilities([[0.2, 0.3, 0.5]] * 2, [0, 1, 2])
            ),
            r"no column|different number of classes",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message):
        call()
