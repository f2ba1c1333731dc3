"""Models of class labels: what they mean, and what they say to bad input."""

import pickle

import numpy as np
import pytest

from scorebars.errors import (
    ClassFlip,
    Empirical,
    Flip,
    LabelProbabilities,
    Normal,
    SplitNormal,
    Thresholded,
    Transition,
    Votes,
)

CLASSES = np.array([0, 1, 2])
SHOWN = np.array([0, 2, 1, 1])
T3 = np.array([[0.875, 0.09375, 0.03125], [0.125, 0.75, 0.125], [0.0, 0.0625, 0.9375]])
MODELS = [
    Flip(0.1),
    Flip([0.1, 0.2, 0.0, 0.3]),
    ClassFlip({0: 0.1, 1: 0.2, 2: 0.0}),
    Transition(T3, [0, 1, 2]),
    LabelProbabilities(T3[SHOWN], [0, 1, 2]),
    Votes([[3, 1, 1], [0, 1, 4], [1, 3, 1], [0, 5, 0]], [0, 1, 2]),
]
IDS = lambda model: repr(model)  # noqa: E731


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_label_probabilities_are_probabilities(model):
    p = model.label_probabilities(SHOWN, CLASSES)
    assert p.shape == (4, 3)
    assert np.all(p >= 0)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-15)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_transition_rows_sum_to_one(model):
    rows = model.transition(CLASSES)
    if rows is not None:
        np.testing.assert_allclose(rows.sum(axis=-1), 1, atol=1e-15)


@pytest.mark.parametrize("model", MODELS[:4], ids=IDS)
def test_indicators_invert_the_transition(model):
    """Averaged over what an item of true class k is shown as, the indicators are those of k."""
    rows = np.broadcast_to(model.transition(CLASSES), (4, 3, 3))
    for true in CLASSES:
        mean = sum(rows[:, true, [shown]] * model.true_indicators(np.full(4, shown), CLASSES) for shown in CLASSES)
        np.testing.assert_allclose(mean, np.broadcast_to(np.eye(3)[true], (4, 3)), atol=1e-13)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_subset_and_pickle(model):
    part = pickle.loads(pickle.dumps(model))[np.array([2, 0])]
    whole = model.label_probabilities(SHOWN, CLASSES)
    np.testing.assert_array_equal(part.label_probabilities(SHOWN[[2, 0]], CLASSES), whole[[2, 0]])
    assert part.kind == model.kind


def test_class_flip_is_a_transition():
    flip = ClassFlip({"b": 0.2, "a": 0.1})
    classes = np.array(["a", "b"])
    np.testing.assert_allclose(flip.transition(classes), [[0.9, 0.1], [0.2, 0.8]])


def test_transition_leaves_unnamed_classes_alone():
    model = Transition([[0.9, 0.1], [0.2, 0.8]], ["b", "a"])
    rows = model.transition(np.array(["a", "b", "c"]))
    np.testing.assert_allclose(rows, [[0.8, 0.2, 0], [0.1, 0.9, 0], [0, 0, 1]])


def test_singular_transition():
    with pytest.raises(np.linalg.LinAlgError):
        Transition([[0.5, 0.5], [0.5, 0.5]], [0, 1]).true_indicators(np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(np.linalg.LinAlgError):
        Flip(0.5).true_indicators(np.array([0, 1]), np.array([0, 1]))


def test_likeliest_class_is_the_label():
    assert LabelProbabilities([[0.5, 0.5], [0.4, 0.6]], ["x", "y"]).labels().tolist() == ["x", "y"]
    assert Votes([[3, 2], [1, 2]], [7, 3]).labels().tolist() == [7, 3]


def test_votes_of_known_raters():
    """The error of a single vote is found from the agreement of votes alone."""
    rng = np.random.default_rng(3)
    truth, q, k = rng.integers(0, 4, 20_000), 0.15, 4
    votes = np.where(
        rng.random((20_000, 5)) < q, (truth[:, None] + rng.integers(1, k, (20_000, 5))) % k, truth[:, None]
    )
    counts = np.stack([(votes == c).sum(axis=1) for c in range(k)], axis=1)
    model = Votes(counts, range(k))
    assert model.vote_error == pytest.approx(q, abs=0.003)
    assert model.kappa == pytest.approx((1 - q * k / (k - 1)) ** 2, abs=0.01)
    assert Votes([[3, 0], [0, 3]], [0, 1]).vote_error == 0
    assert Votes([[3, 0], [0, 3]], [0, 1]).kappa == 1
    assert np.isnan(Votes([[1, 0], [0, 1]], [0, 1]).vote_error)


def test_fleiss_kappa_of_the_textbook():
    """The worked example of Fleiss (1971) as it is reprinted everywhere: 10 items, 14 raters, kappa 0.210."""
    counts = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    model = Votes(counts, range(5))
    assert model.agreement == pytest.approx(0.378, abs=5e-4)
    assert model.kappa == pytest.approx(0.210, abs=5e-4)


def test_thresholded_takes_any_family():
    values = np.array([0.25, 1.5, 0.5])
    normal = Thresholded(values, [0.5, 0.25, 1.0], 0.5)
    np.testing.assert_allclose(normal.q, [0.3085375387259869, 3.167124183311996e-05, 0.5], rtol=1e-13)
    assert normal.labels().tolist() == [0, 1, 0]
    split = Thresholded(values, np.array([[0.5, 0.25, 1.0]] * 2), 0.5)
    np.testing.assert_allclose(split.q, normal.q, rtol=1e-12)
    assert isinstance(split.errors, SplitNormal)
    draws = Empirical([[0.0, 1.0, 2.0, 0.4], [0.1, 0.2, 0.3, 0.4]])
    held = Thresholded(None, draws, 0.5)
    np.testing.assert_allclose(held.label_probabilities(held.labels(), np.array([0, 1])), [[0.5, 0.5], [1, 0]])
    assert Thresholded(values, Normal(0.1, kind="berkson"), 0.5).kind == "berkson"
    certain = Thresholded([0.5, 0.6], 0.0, 0.5)
    assert certain.q.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClassFlip({}), r"q must map each class"),
        (lambda: ClassFlip({0: 1.5}), r"q has values outside \[0, 1\]: the first is 1.5 at index 0"),
        (
            lambda: Transition([[0.9, 0.2], [0, 1]], [0, 1]),
            r"rows that do not sum to 1: the first is 1.1 at index 0, 1",
        ),
        (lambda: Transition([[0.9, 0.1]], [0]), r"matrix must be square"),
        (lambda: Transition(np.eye(2), [0, 1, 2]), r"labels names 3 classes but there are 2 columns"),
        (lambda: Transition(np.eye(2), [1, 1]), r"labels names classes twice: the first is 1 at index 1"),
        (lambda: LabelProbabilities([[0.5, 0.6]], [0, 1]), r"p has rows that do not sum to 1"),
        (lambda: LabelProbabilities([[-0.5, 1.5]], [0, 1]), r"p has values outside \[0, 1\]: the first is -0.5"),
        (lambda: LabelProbabilities([0.5], [0]), r"p must have shape"),
        (lambda: Votes([[1.5, 2]], [0, 1]), r"counts has values that are not whole"),
        (lambda: Votes([[0, 0]], [0, 1]), r"items without votes: the first is 0.0 at index 0, 1 in all"),
        (lambda: Votes([[-1, 2]], [0, 1]), r"counts has negative values"),
        (lambda: Thresholded([1.0], 0.1, float("nan")), r"cut must be a finite number"),
        (lambda: Thresholded(None, 0.1, 1.0), r"values is None"),
        (lambda: Thresholded([1.0, 2.0], [0.1], 1.0), r"yerr has shape \(1,\) but"),
        (lambda: Thresholded([1.0], Flip(0.1), 1.0), r"describes class labels"),
        (lambda: Thresholded([1.0, 2.0], Normal(cov=[[1, 0.5], [0.5, 1]]), 1.0), r"independent of each other"),
        (lambda: Flip(0.1, kind="other"), r"kind must be"),
    ],
)
def test_messages(make, message):
    with pytest.raises(ValueError, match=message):
        make()
