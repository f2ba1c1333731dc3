"""Confusion matrices of uncertain labels: reference values, drawing, the delta method."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from metrics_of_counts import accuracy, balanced_accuracy, items_of, kappa_or_zero, macro_f1, matthews

from scorebars.answers.classes.confusion_answers import BalancedAccuracy, Kappa, OfPositives, Share
from scorebars.laws.counts import confusion_law as confusion
from scorebars.laws.counts.confusion_law import UncertainConfusion, draw_confusions
from scorebars.laws.uncertain_labels import label_changes
from scorebars.moments.confusion_moments import (
    confusion_of_probabilities,
    delta_moments,
)

CASES = {
    c["id"]: c for c in json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
}


METRICS = {
    "accuracy": accuracy,
    "macro_f1": macro_f1,
    "balanced_accuracy": balanced_accuracy,
    "kappa": kappa_or_zero,
    "mcc": matthews,
}


def test_reference_moments():
    case = CASES["kclass_M5_transition"]
    moments = confusion_of_probabilities(np.array(case["inputs"]["label_probs"]), np.array(case["inputs"]["y_pred"]))
    exact = case["exact"]
    np.testing.assert_allclose(moments.mean, np.array(exact["mean_confusion"], dtype=float), atol=1e-15)
    np.testing.assert_allclose(moments.covariance, np.array(exact["cov_confusion"], dtype=float), atol=1e-15)


@pytest.mark.parametrize("name", METRICS)
def test_reference_metrics(name):
    case = CASES["kclass_M5_transition"]
    uncertain = UncertainConfusion(METRICS[name], case["inputs"]["label_probs"], case["inputs"]["y_pred"])
    moments, law = uncertain.moments(), uncertain.law()
    exact = case["exact"][name]
    assert moments.method == "exact" == law.method
    assert moments.mean == pytest.approx(float(exact["mean"]), abs=1e-14)
    assert moments.var == pytest.approx(float(exact["var"]), abs=1e-14)
    assert law.mean == pytest.approx(float(exact["mean"]), abs=1e-14)


def random_items(n, k, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.2), n)
    return p, rng.integers(0, k, n), rng.random(n) + 0.1


def test_counts_and_probabilities_agree():
    rng = np.random.default_rng(1)
    t = rng.dirichlet(np.ones(3), 3)
    y, pred, w = rng.integers(0, 3, 50), rng.integers(0, 3, 50), rng.random(50)
    shown = np.zeros((3, 3))
    np.add.at(shown, (y, pred), 1)
    a, b = UncertainConfusion(accuracy, *items_of(shown, t)).cells, confusion_of_probabilities(t[y], pred)
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-13)
    np.testing.assert_allclose(a.covariance, b.covariance, atol=1e-13)
    b = confusion_of_probabilities(t[y], pred, w)
    factor = b.factor().reshape(-1, 9)
    np.testing.assert_allclose(factor.T @ factor, b.covariance, atol=1e-13)


def test_drawn_matrices_have_the_moments():
    p, pred, w = random_items(30, 3)
    moments = confusion_of_probabilities(p, pred, w)
    draws = draw_confusions(p, pred, w, 40_000, np.random.default_rng(0))
    sd = np.sqrt(np.diag(moments.covariance))
    np.testing.assert_allclose((draws.mean(0) - moments.mean).ravel() / sd, 0, atol=5 / 200)
    np.testing.assert_allclose(np.cov(draws.reshape(-1, 9).T), moments.covariance, atol=0.03 * np.max(sd) ** 2)
    np.testing.assert_allclose(draws.sum(1), np.tile(np.bincount(pred, w), (40_000, 1)), rtol=1e-12)


def test_normal_cells_have_the_moments(monkeypatch):
    p, pred, w = random_items(2000, 3)
    moments = confusion_of_probabilities(p, pred, w)
    monkeypatch.setattr(confusion, "_MOST_CHANGES", 0)
    draws = UncertainConfusion(accuracy, p, pred, w).samples(40_000)
    sd = np.sqrt(np.diag(moments.covariance))
    np.testing.assert_allclose((draws.mean(0) - moments.mean).ravel() / sd, 0, atol=5 / 200)
    np.testing.assert_allclose(np.cov(draws.reshape(-1, 9).T), moments.covariance, atol=0.03 * np.max(sd) ** 2)
    np.testing.assert_allclose(draws.sum(1), np.tile(np.bincount(pred, w), (40_000, 1)), rtol=1e-9)


def test_drawn_counts_have_the_moments():
    shown = np.array([[40, 3, 0], [2, 30, 5], [1, 0, 12]])
    t = np.array([[0.9, 0.08, 0.02], [0.1, 0.85, 0.05], [0.0, 0.2, 0.8]])
    draws = UncertainConfusion(accuracy, *items_of(shown, t)).samples(40_000)
    moments = UncertainConfusion(accuracy, *items_of(shown, t)).cells
    np.testing.assert_allclose(draws.mean(0), moments.mean, atol=0.05)
    np.testing.assert_allclose(np.cov(draws.reshape(-1, 9).T), moments.covariance, atol=0.2)
    assert np.array_equal(draws.sum(1), np.tile(shown.sum(0), (40_000, 1)))


def test_label_changes_have_their_probabilities():
    leave = np.array([0.0, 0.01, 0.3, 0.5, 0.001])
    item, draw = label_changes(leave, 200_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(item, minlength=5) / 200_000, leave, atol=0.004)
    together = np.intersect1d(draw[item == 2], draw[item == 3]).size / 200_000
    assert together == pytest.approx(0.15, abs=0.004)


def test_label_changes_given_at_least_one():
    leave = np.array([0.002, 0.01, 0.005])
    item, draw = label_changes(leave, 100_000, np.random.default_rng(0), at_least_one=True)
    assert np.unique(draw).size == 100_000
    any_change = 1 - np.prod(1 - leave)
    np.testing.assert_allclose(np.bincount(item) / 100_000, leave / any_change, atol=0.006)


@pytest.mark.parametrize("f", [accuracy, macro_f1, balanced_accuracy, matthews, kappa_or_zero])
def test_delta_method_agrees_with_simulation_for_many_labels(f):
    rng = np.random.default_rng(2)
    shown = np.array([[4000, 300, 100], [200, 3000, 500], [100, 200, 1200]])
    t = np.array([[0.9, 0.08, 0.02], [0.1, 0.85, 0.05], [0.05, 0.15, 0.8]])
    uncertain = UncertainConfusion(f, *items_of(shown, t))
    moments = uncertain.moments()
    draws = f(uncertain.samples(20_000, rng))
    assert moments.method == "delta" or f is not accuracy
    assert draws.mean() == pytest.approx(moments.mean, abs=4 * draws.std() / math.sqrt(20_000))
    assert draws.std() == pytest.approx(math.sqrt(moments.var), rel=0.02)
    law = uncertain.law()
    assert law.std == pytest.approx(draws.std(), rel=0.03)


def test_gradient_reaches_the_linear_part():
    p, pred, w = random_items(200, 3, seed=3)
    moments = confusion_of_probabilities(p, pred, w)
    delta = delta_moments(accuracy, moments)
    total = w.sum()
    hit = p[np.arange(200), pred]
    assert delta.mean == pytest.approx(np.sum(w * hit) / total, rel=1e-9)
    assert delta.var == pytest.approx(np.sum(w**2 * hit * (1 - hit)) / total**2, rel=1e-9)
    assert delta.curvature < 1e-7


def test_small_sets_are_simulated_with_the_linear_part_exact():
    p, pred, w = random_items(40, 3, seed=4)
    uncertain = UncertainConfusion(macro_f1, p, pred, w)
    moments = uncertain.moments()
    assert moments.method == "simulation"
    draws = macro_f1(draw_confusions(p, pred, w, 200_000, np.random.default_rng(9)))
    assert moments.mean == pytest.approx(draws.mean(), abs=5 * math.sqrt(moments.var / 4000) + 5 * draws.std() / 450)
    assert moments.var == pytest.approx(draws.var(), rel=0.05)
    assert uncertain.moments() == moments
    law = uncertain.law()
    np.testing.assert_allclose(law.ppf([0.1, 0.5, 0.9]), np.quantile(draws, [0.1, 0.5, 0.9]), atol=0.1 * draws.std())


def test_two_classes_agree_with_the_exact_grid():
    rng = np.random.default_rng(5)
    p, pred, f = rng.beta(0.4, 0.6, 80), (rng.random(80) < 0.4).astype(int), OfPositives(Share("f_beta"))
    labels = np.stack([1 - p, p], axis=1), pred
    exact, general = (UncertainConfusion(f, *labels, weights).moments() for weights in (None, np.ones(80)))
    assert (exact.method, general.method) == ("exact", "simulation")
    assert general.mean == pytest.approx(exact.mean, abs=6 * max(math.sqrt(general.var / 4000), 1e-4))
    assert general.var == pytest.approx(exact.var, rel=0.06)


@pytest.mark.parametrize("weights", [None, np.ones(2)])
def test_undefined_values_are_conditioned_away_or_replaced(weights):
    labels = np.array([[0.5, 0.5], [1.0, 0.0]]), [1, 0], weights
    recall = OfPositives(Share("recall"))
    assert UncertainConfusion(recall, *labels).moments()[:3] == (1.0, 0.0, 0.5)
    assert UncertainConfusion(recall, *labels, undefined=0.0).moments()[:3] == (0.5, 0.25, 0.5)
    with pytest.raises(ValueError, match="undefined"):
        UncertainConfusion(recall, [[1.0, 0.0]], [0]).moments()


def test_certain_labels_are_quick_and_exact():
    y = np.random.default_rng(0).integers(0, 3, 200_000)
    p = np.eye(3)[y]
    p[:2] = [0.5, 0.25, 0.25]
    moments = UncertainConfusion(accuracy, p, y).moments()
    assert moments.method == "exact" and moments.mean == pytest.approx(1 - (2 - p[0, y[0]] - p[1, y[1]]) / 200_000)
    shown = np.bincount(y, minlength=3) * np.eye(3, dtype=int)
    constant = UncertainConfusion(accuracy, *items_of(shown, np.eye(3))).moments()
    assert constant[:2] == (1.0, 0.0) and constant.method == "exact"
    t = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0.5, 0.5]])
    few = UncertainConfusion(accuracy, *items_of([[10, 1, 0], [0, 5, 0], [0, 0, 2]], t)).moments()
    assert few.method == "exact" and few.mean == pytest.approx((15 + 1) / 18)


def test_many_different_labels_use_the_normal_cells(monkeypatch):
    p, pred, w = random_items(300, 3, seed=6)
    uncertain = UncertainConfusion(accuracy, p, pred, w)
    plain = uncertain.samples(2000, 1)
    monkeypatch.setattr(confusion, "_MOST_CHANGES", 10)
    normal = uncertain.samples(2000, 1)
    np.testing.assert_allclose(normal.mean(0), plain.mean(0), atol=1.0)
    assert normal.min() >= 0


def test_metrics_with_options_are_vectorised():
    c = np.random.default_rng(0).integers(1, 30, (5, 4, 4)).astype(float)
    for f in (
        macro_f1,
        accuracy,
        BalancedAccuracy(adjusted=True),
        Kappa((0, 1, 2, 3), "linear"),
    ):
        np.testing.assert_allclose(f(c), [float(f(one)) for one in c])
