"""The confusion matrix and the rankings of many classes: simulation, and what they hold."""

import pickle

import numpy as np
import pytest
from classification_cases import confusion_matrix

from scorebars.answers.score import Scores, UndefinedEstimate
from scorebars.errors import Flip, LabelProbabilities, Transition
from scorebars.metrics.class_scores import average_precision_score, roc_auc_score

RNG = np.random.default_rng(8)
ROWS = np.array([[0.9, 0.1, 0.0], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]])
Y = RNG.integers(0, 3, 60)
PRED = np.where(RNG.random(60) < 0.7, Y, RNG.integers(0, 3, 60))
SCORES = RNG.dirichlet(np.ones(3), 60) + 0.4 * np.eye(3)[Y]
SCORES /= SCORES.sum(axis=1, keepdims=True)
MODEL = Transition(ROWS, [0, 1, 2])
LABELS = (RNG.random((300, 60, 1)) >= np.cumsum(ROWS[Y], axis=1)[:, :-1]).sum(axis=2)


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_matrix_against_simulation(normalize):
    c = confusion_matrix(Y, PRED, yerr=MODEL, normalize=normalize)
    draws = np.array([confusion_matrix(y, PRED, normalize=normalize, labels=[0, 1, 2]).observed for y in LABELS])
    assert np.all(np.abs(draws.mean(axis=0) - c.expected) < 4.5 * c.std / np.sqrt(300) + 1e-12)
    np.testing.assert_allclose(draws.std(axis=0), c.std, rtol=0.25)
    np.testing.assert_allclose(np.cov(draws.reshape(300, 9).T), c.covariance, atol=0.25 * c.std.max() ** 2)
    low, high = c.interval(0.9)
    assert np.all(np.mean((draws >= low - 1e-9) & (draws <= high + 1e-9), axis=0) > 0.8)
    assert c.method == "exact"


def test_matrix_of_true_classes():
    """Unbiased, with the covariance of its scatter; columns keep their sums."""
    true = Y
    shown = (RNG.random((300, 60, 1)) >= np.cumsum(ROWS[true], axis=1)[:, :-1]).sum(axis=2)
    found = [confusion_matrix(y, PRED, yerr=MODEL, labels=[0, 1, 2]).truth for y in shown]
    wanted = confusion_matrix(true, PRED).observed
    values = np.array([cells.value for cells in found])
    assert np.all(np.abs(values.mean(axis=0) - wanted) < 4.5 * values.std(axis=0) / np.sqrt(300) + 1e-12)
    mean_covariance = np.mean([cells.covariance for cells in found], axis=0)
    np.testing.assert_allclose(np.cov(values.reshape(300, 9).T), mean_covariance, atol=0.25 * values.var(axis=0).max())
    np.testing.assert_allclose(values[0].sum(axis=0), wanted.sum(axis=0))


def test_matrix_object():
    c = confusion_matrix(Y, PRED, yerr=MODEL)
    assert c.shape == (3, 3)
    np.testing.assert_array_equal(np.asarray(c), c.expected)
    np.testing.assert_allclose(c.correction, c.expected - c.observed)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(c)).expected, c.expected)
    np.testing.assert_array_equal(c.remeasured(), c.observed)
    assert np.all(c.truth_constrained >= 0)
    assert np.all(np.abs(c.remeasured(41) - c.truth.value) < 0.05)
    np.testing.assert_allclose(c.perfect.sum(axis=1), np.bincount(Y))  # the labels stay as they are
    with pytest.raises(UndefinedEstimate, match="a label says nothing"):
        _ = confusion_matrix([0, 1], [0, 1], yerr=0.5).truth
    berkson = confusion_matrix(None, PRED, yerr=LabelProbabilities(ROWS[Y], [0, 1, 2]))
    np.testing.assert_array_equal(berkson.truth.value, berkson.expected)
    with pytest.raises(UndefinedEstimate, match="Berkson"):
        berkson.remeasured()


def test_matrix_of_correlated_flips():
    """Two flips that go together move the cells together."""
    alone = confusion_matrix([1, 0, 1, 0], [1, 1, 0, 0], yerr=Flip(0.2))
    together = confusion_matrix([1, 0, 1, 0], [1, 1, 0, 0], yerr=Flip(0.2, correlation=1.0))
    np.testing.assert_allclose(alone.expected, together.expected, atol=1e-14)
    assert alone.covariance[0, 1] == pytest.approx(0)
    np.testing.assert_allclose(together.std, 0, atol=1e-14)  # in each column one label of each class: a swap


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (roc_auc_score, {"multi_class": "ovr"}),
        (roc_auc_score, {"multi_class": "ovr", "average": "weighted"}),
        (roc_auc_score, {"multi_class": "ovr", "average": "micro"}),
        (roc_auc_score, {"multi_class": "ovo"}),
        (average_precision_score, {"average": "macro"}),
        (average_precision_score, {"average": "micro"}),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_rankings_of_many_classes(function, options):
    s = function(Y, SCORES, yerr=MODEL, **options)
    draws = np.array([function(y, SCORES, **options).observed for y in LABELS[:150]])
    assert abs(draws.mean() - float(s)) < 4.5 * s.std / np.sqrt(150)
    assert draws.std() == pytest.approx(s.std, rel=0.25)
    assert s.method == "simulation"
    assert float(function(Y, SCORES, yerr=MODEL, **options)) == float(s)  # the seed is fixed
    assert s.truth > s.observed > float(s)
    assert s.sampling_std > 0
    assert float(s) < float(s.perfect) < 1


def test_each_class_of_a_ranking():
    each = roc_auc_score(Y, SCORES, yerr=MODEL, multi_class="ovr", average=None)
    assert isinstance(each, Scores)
    mean = roc_auc_score(Y, SCORES, yerr=MODEL, multi_class="ovr")
    assert float(mean) == pytest.approx(np.mean(np.asarray(each)), rel=1e-12)
    assert float(mean.truth) == pytest.approx(np.mean([s.truth for s in each]), rel=1e-12)
