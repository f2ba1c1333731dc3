"""What a perfect model scores on labels that are shown wrong: the labels stay, the true classes behind them are drawn."""

from __future__ import annotations

import numpy as np
import pytest

import scorebars as sb

METRICS = [
    "recall_score",
    "precision_score",
    "specificity_score",
    "f1_score",
    "jaccard_score",
    "balanced_accuracy_score",
    "matthews_corrcoef",
    "cohen_kappa_score",
]
SICK, WRONG = 0.3, 0.2


def shown_of(truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(truth.shape) < WRONG, 1 - truth, truth)


@pytest.mark.parametrize("name", METRICS)
def test_estimates_are_on_the_mark_and_scatter_as_they_say(name):
    """Rare classes are shown more often than they are: of the labels "sick" many are of healthy ones."""
    rng, pulls, function = np.random.default_rng(5), [], getattr(sb, name)
    for _ in range(60):
        truth = (rng.random(800) < SICK).astype(int)
        labels = shown_of(truth, rng)
        perfect = function(labels, labels, yerr=WRONG).perfect
        value = function(labels, truth).observed
        pulls.append((perfect - value) / perfect.std)
    assert abs(np.mean(pulls)) < 3 / np.sqrt(60)
    assert 0.75 < np.std(pulls) < 1.25


def test_recall_of_many_labels_is_the_share_of_truly_sick_among_those_called_sick():
    truth = np.arange(100_000) < 100_000 * SICK
    shown = np.where(np.arange(100_000) % 5 == 0, ~truth, truth).astype(int)
    perfect = sb.recall_score(shown, shown, yerr=WRONG).perfect
    right, false = SICK * (1 - WRONG), (1 - SICK) * WRONG
    assert perfect == pytest.approx(right / (right + false), abs=1e-6)
    # positives q wrong and negatives (1 - q): their scatter, as seen through the correction for wrong labels
    spread = (WRONG**2 * SICK + (1 - WRONG) ** 2 * (1 - SICK)) * WRONG * (1 - WRONG) / (1 - 2 * WRONG) ** 2
    hits = perfect * (1 - perfect) / (right + false)  # which labels are right, at known frequencies
    assert hits < 1e5 * perfect.std**2
    assert np.sqrt(spread) / (right + false) == pytest.approx(perfect.std * np.sqrt(1e5), rel=0.01)


def test_labels_that_are_the_best_guess_need_no_frequencies():
    """Berkson: of the labels "sick" a share q is wrong, however many there are."""
    shown = np.repeat([1, 0], [40, 160])
    model = sb.Flip(0.1, kind="berkson")
    perfect = sb.recall_score(shown, shown, yerr=model).perfect
    assert perfect == pytest.approx(0.9)
    assert perfect.std == pytest.approx(np.sqrt(0.09 / 40))
    rng = np.random.default_rng(0)
    truths = np.where(rng.random((4000, 200)) < 0.1, 1 - shown, shown)
    precise = sb.precision_score(shown, shown, yerr=model).perfect
    assert precise == pytest.approx(np.mean([np.mean(shown[t == 1]) for t in truths]), abs=0.004)


def test_three_classes_and_weights_that_repeat():
    rng = np.random.default_rng(3)
    rows = np.array([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.1, 0.2, 0.7]])
    model = sb.Transition(rows, labels=["a", "b", "c"])
    pulls = []
    for _ in range(60):
        truth = rng.choice(3, 600, p=[0.2, 0.5, 0.3])
        shown = np.array([rng.choice(3, p=rows[t]) for t in truth])
        names = np.array(["a", "b", "c"])
        perfect = sb.recall_score(names[shown], names[shown], yerr=model, average="macro").perfect
        value = sb.recall_score(names[shown], names[truth], average="macro").observed
        pulls.append((perfect - value) / perfect.std)
    assert abs(np.mean(pulls)) < 3 / np.sqrt(60)
    assert 0.7 < np.std(pulls) < 1.3
    weights = rng.integers(1, 3, 200)
    labels = shown[:200] % 2
    once = sb.f1_score(labels, labels, yerr=0.1, sample_weight=weights).perfect
    again = sb.f1_score(np.repeat(labels, weights), np.repeat(labels, weights), yerr=0.1).perfect
    assert once == pytest.approx(again, abs=0.01)


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_several_labels_an_item(average):
    rng, pulls, rates = np.random.default_rng(11), [], np.array([0.2, 0.5, 0.7])
    for _ in range(60):
        truth = (rng.random((400, 3)) < rates).astype(int)
        shown = shown_of(truth, rng)
        perfect = sb.recall_score(shown, shown, yerr=WRONG, average=average).perfect
        value = sb.recall_score(shown, truth, average=average).observed
        pulls.append((perfect - value) / perfect.std)
    assert abs(np.mean(pulls)) < 3 / np.sqrt(60)
    assert 0.7 < np.std(pulls) < 1.3


def test_labels_that_say_nothing_of_the_truth_are_taken_as_it():
    shown = np.repeat([1, 0], 50)
    assert "taken as the true ones" in sb.f1_score(shown, shown, yerr=0.5).perfect.note
    assert "taken as" not in sb.f1_score(shown, shown, yerr=0.2).perfect.note


@pytest.mark.parametrize("name", ["accuracy_score", "recall_score", "f1_score", "roc_auc_score", "log_loss"])
def test_counted_rates_widen_it(name):
    """Rates from 50 checked labels a class: the expected score of a perfect model moves with them."""
    rng, found, function = np.random.default_rng(2), [], getattr(sb, name)
    truth = (rng.random(3000) < SICK).astype(int)
    shown = shown_of(truth, rng)

    def perfect(wrong, checked):
        model = sb.ClassFlip.from_counts({0: (wrong[0], checked), 1: (wrong[1], checked)})
        return function(shown, shown.astype(float), yerr=model).perfect

    known = perfect((2000, 1000), 10_000).std
    for wrong in rng.binomial(50, [0.2, 0.1], (80, 2)):
        found.append(perfect(wrong, 50).value)
    once = perfect((10, 5), 50).std
    assert np.hypot(np.std(found), known) == pytest.approx(once, rel=0.3)
    assert once > 1.5 * known


def test_confusion_matrix_of_a_perfect_model_has_its_scores():
    shown = np.repeat([0, 1, 2], [50, 100, 250])
    model = sb.Transition([[0.8, 0.1, 0.1], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]], labels=[0, 1, 2])
    matrix = sb.confusion_matrix(shown, shown, yerr=model).perfect
    assert matrix.sum(axis=1) == pytest.approx([50, 100, 250])  # the labels stay as they are
    per_class = sb.recall_score(shown, shown, yerr=model, average=None)
    for k, score in enumerate(per_class):
        assert score.perfect == pytest.approx(matrix[k, k] / matrix[k].sum(), rel=1e-6)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_labels_of_nearly_one_class(n):
    shown = np.array([1, *[0] * (n - 1)])
    for name in METRICS:
        perfect = getattr(sb, name)(shown, shown, yerr=0.2).perfect
        low, high = perfect.interval()
        assert low <= perfect <= high
        assert np.isfinite(perfect.std)
