"""What calls itself exact, against all labels that are possible: mean, standard deviation and distribution."""

import itertools
import math
import warnings

import numpy as np
import pytest
from classification_cases import METRICS, OF_CLASSES

import scorebars as sb
from scorebars.laws.counts.correlated_flips import conditional_flip_probabilities
from scorebars.moments.majority_error import majority_error

N = 7
Y = {2: np.array([1, 0, 1, 1, 0, 1, 0]), 3: np.array([2, 0, 1, 1, 0, 2])}
PRED = {2: np.array([1, 0, 0, 1, 0, 1, 1]), 3: np.array([2, 0, 1, 0, 0, 1])}
SCORE = np.array([0.9, 0.2, 0.4, 0.8, 0.1, 0.7, 0.6])
SCORES = np.array(
    [[0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.5, 0.4, 0.1], [0.8, 0.1, 0.1], [0.25, 0.4, 0.35]]
)
WEIGHT = np.array([0.3, 1.1, 0.7, 0.9, 1.3, 0.1, 0.6])
VALUES = np.array([0.9, -0.6, 0.3, 1.4, -0.1, 0.6, -0.9])
TWO = {
    "Flip": sb.Flip(0.1),
    "Flip per item": sb.Flip(np.linspace(0.0, 0.4, N)),
    "Flip correlated": sb.Flip(0.2, correlation=0.5),
    "ClassFlip": sb.ClassFlip({0: 0.05, 1: 0.3}),
    "Transition": sb.Transition([[0.9, 0.1], [0.25, 0.75]], [0, 1]),
    "LabelProbabilities": sb.LabelProbabilities(np.stack([1 - SCORE, SCORE], axis=1), [0, 1]),
    "Votes": sb.Votes(np.stack([np.where(Y[2] == 0, 3, 1), np.where(Y[2] == 0, 1, 4)], axis=1), [0, 1]),
    "Thresholded": sb.Thresholded(VALUES, 0.6, 0.0),
}
THREE = {
    "Flip": sb.Flip(0.2),
    "Flip correlated": sb.Flip(0.2, correlation=0.5),
    "Transition": sb.Transition([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.0, 0.3, 0.7]], [0, 1, 2]),
}
OF_THREE = {
    "accuracy": (sb.accuracy_score, {}, PRED[3]),
    "balanced": (sb.balanced_accuracy_score, {}, PRED[3]),
    "matthews": (sb.matthews_corrcoef, {}, PRED[3]),
    "recall macro, given defined": (
        sb.recall_score,
        {"average": "macro", "labels": [0, 1, 2], "zero_division": math.nan},
        PRED[3],
    ),
    "specificity weighted": (sb.specificity_score, {"average": "weighted", "labels": [0, 1, 2]}, PRED[3]),
    "jaccard macro": (sb.jaccard_score, {"average": "macro", "labels": [0, 1, 2]}, PRED[3]),
    "log loss": (sb.log_loss, {"labels": [0, 1, 2]}, SCORES),
    "auc macro": (sb.roc_auc_score, {"multi_class": "ovr", "labels": [0, 1, 2]}, SCORES),
    "auc pairs": (sb.roc_auc_score, {"multi_class": "ovo", "labels": [0, 1, 2]}, SCORES),
}


def possible_labels(y, model, k):
    """All labels with their chances: the two states of a shared cause counted apart."""
    if isinstance(model, sb.Flip) and model.correlation:
        chances, flips = conditional_flip_probabilities(np.full(len(y), model.q), model.correlation)
        cases = [(c, sb.Flip(r).label_probabilities(y, np.arange(k))) for c, r in zip(chances, flips, strict=True)]
    else:
        cases = [(1.0, model.label_probabilities(y, np.arange(k)))]
    for labels in itertools.product(range(k), repeat=len(y)):
        yield np.array(labels), math.fsum(c * np.prod(p[np.arange(len(y)), labels]) for c, p in cases)


def assert_exact(function, options, y, prediction, model, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        score = function(y, prediction, yerr=model, **options)
        if score.method != "exact":
            return
        values, chances = [], []
        for labels, chance in possible_labels(y, model, k):
            if chance == 0:
                continue
            try:
                value = function(labels, prediction, **options).observed
            except ValueError:  # one class only, which the metric is conditional on not being so
                value = math.nan
            if not math.isnan(value):
                values.append(value)
                chances.append(chance)
    values, chances = np.array(values), np.array(chances) / math.fsum(chances)
    mean = float(chances @ values)
    std = math.sqrt(float(chances @ (values - mean) ** 2))
    assert score.expected == pytest.approx(mean, abs=1e-9)
    assert score.std == pytest.approx(std, abs=1e-9)
    assert float(score.distribution.mean()) == pytest.approx(mean, abs=1e-9)
    for x in np.quantile(values, [0.1, 0.5, 0.8]):
        below = math.fsum(chances[values <= x + 1e-9])
        assert float(score.distribution.cdf(x + 1e-9)) == pytest.approx(below, abs=1e-9)


@pytest.mark.parametrize("model", TWO)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes(metric, model, weighted):
    function, options = METRICS[metric]
    if weighted:
        options = options | {"sample_weight": WEIGHT}
    held = TWO[model].labels() is not None
    y = TWO[model].labels() if held else Y[2]
    prediction = PRED[2] if metric in OF_CLASSES else SCORE
    assert_exact(function, options, y, prediction, TWO[model], 2)


@pytest.mark.parametrize("model", ["Flip", "Flip correlated", "LabelProbabilities"])
@pytest.mark.parametrize("metric", ["precision_score", "recall_score", "specificity_score", "f1_score"])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_given_that_the_metric_is_defined(metric, model, weighted):
    options = {"zero_division": math.nan} | ({"sample_weight": WEIGHT} if weighted else {})
    assert_exact(METRICS[metric][0], options, Y[2], PRED[2], TWO[model], 2)


@pytest.mark.parametrize("model", THREE)
@pytest.mark.parametrize("metric", OF_THREE)
def test_three_classes(metric, model):
    function, options, prediction = OF_THREE[metric]
    assert_exact(function, options, Y[3], prediction, THREE[model], 3)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("name", ["precision_score", "recall_score", "specificity_score"])
@pytest.mark.parametrize("undefined", [0.0, 1.0, math.nan])
def test_averages_of_weighted_items_where_a_class_may_have_no_labels(average, name, undefined):
    options = {"average": average, "labels": [0, 1], "zero_division": undefined, "sample_weight": WEIGHT[:4]}
    assert_exact(getattr(sb, name), options, np.array([1, 0, 1, 1]), np.array([1, 0, 0, 1]), sb.Flip(0.3), 2)


@pytest.mark.parametrize("metric", METRICS)
def test_many_labels_say_how_their_distribution_was_found(metric):
    """Rankings of more labels than can be listed are drawn, and say so; counts of two classes stay exact."""
    function, options = METRICS[metric]
    y, given = np.tile(Y[2], 6), np.tile(PRED[2] if metric in OF_CLASSES else SCORE, 6)
    other = {"roc_auc_score": "simulation", "average_precision_score": "simulation", "log_loss": "quadrature"}
    assert function(y, given, yerr=0.1, **options).method == other.get(metric, "exact")


@pytest.mark.parametrize("q", [0.05, 0.3])
def test_ties_of_votes_are_broken_by_lot(q):
    assert float(majority_error(q, 2)) == pytest.approx(q, rel=1e-12)
    four = q**4 + 4 * q**3 * (1 - q) + 0.5 * 6 * q**2 * (1 - q) ** 2
    assert float(majority_error(q, 4)) == pytest.approx(four, rel=1e-12)
