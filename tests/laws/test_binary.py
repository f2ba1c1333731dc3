"""Binary metrics on the grid of two counts: reference values, scikit-learn, enumeration, the coarse grid."""

import itertools
import json
import math
import tracemalloc
from pathlib import Path

import metrics_of_counts as of
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metrics_of_counts import both_chances
from sklearn import metrics as sk

from scorebars.answers.classes.confusion_answers import OfPositives, Share
from scorebars.laws.counts import confusion_law
from scorebars.laws.counts.confusion_law import UncertainConfusion

CASES = {
    c["id"]: c for c in json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
}
METRICS = {
    "accuracy": of.accuracy,
    "precision": of.precision,
    "recall": of.recall,
    "specificity": of.specificity,
    "f1": of.f_beta,
    "jaccard": of.jaccard,
    "balanced_accuracy": of.balanced_accuracy_of_both,
    "mcc": of.matthews_of_both,
    "kappa": of.cohen_kappa,
}


def labels_of(y, pred, q):
    y, pred, q = (np.asarray(v) for v in (y, pred, q))
    return both_chances(np.where(y == 1, 1 - q, q)), pred.astype(int)


def matrix(y, pred):
    return np.array([[np.sum((y == k) & (pred == m)) for m in (0, 1)] for k in (0, 1)], dtype=float)


@pytest.mark.parametrize("case", ["binary_M1_q0.25", "binary_M7_q0", "binary_M7_q0.5", "binary_M7_q0.05"])
@pytest.mark.parametrize("name", METRICS)
def test_reference(case, name):
    inputs, exact = CASES[case]["inputs"], CASES[case]["exact"][name]
    labels, f = labels_of(inputs["y"], inputs["y_pred"], inputs["q"]), METRICS[name]
    zero = UncertainConfusion(f, *labels, undefined=0.0).moments()
    assert zero.mean == pytest.approx(float(exact["mean_zero_division_0"]), abs=1e-14)
    assert zero.var == pytest.approx(float(exact["var_zero_division_0"]), abs=1e-14)
    assert zero.p_defined == pytest.approx(float(exact["p_defined"]), abs=1e-14)
    uncertain = UncertainConfusion(f, *labels)
    if "mean_given_defined" not in exact:
        with pytest.raises(ValueError, match="undefined"):
            uncertain.moments()
        return
    given_defined, law = uncertain.moments(), uncertain.law()
    for mean, var in (given_defined[:2], (law.mean, law.var)):
        assert mean == pytest.approx(float(exact["mean_given_defined"]), abs=1e-14)
        assert var == pytest.approx(float(exact["var_given_defined"]), abs=1e-14)
    assert given_defined.p_defined == pytest.approx(float(exact["p_defined"]), abs=1e-14)
    assert given_defined.method == "exact"


def sklearn_values(y, pred):
    return {
        "accuracy": sk.accuracy_score(y, pred),
        "precision": sk.precision_score(y, pred, zero_division=np.nan),
        "recall": sk.recall_score(y, pred, zero_division=np.nan),
        "specificity": sk.recall_score(1 - y, 1 - pred, zero_division=np.nan),
        "f1": sk.f1_score(y, pred, zero_division=np.nan),
        "fbeta": sk.fbeta_score(y, pred, beta=0.5, zero_division=np.nan),
        "jaccard": sk.jaccard_score(y, pred, zero_division=0.0),
        "mcc": sk.matthews_corrcoef(y, pred),
    }


def test_functions_are_those_of_scikit_learn():
    functions = METRICS | {"fbeta": OfPositives(Share("f_beta", 0.5))}
    rng = np.random.default_rng(0)
    for _ in range(40):
        y, pred = rng.integers(0, 2, 6), rng.integers(0, 2, 6)
        for name, expected in sklearn_values(y, pred).items():
            value = float(functions[name](matrix(y, pred)))
            if name in ("mcc", "jaccard") and math.isnan(value):
                value = 0.0
            assert value == pytest.approx(expected, nan_ok=True), name


def test_f_beta_limits():
    c = np.array([[3.0, 4.0], [2.0, 3.0]])
    assert OfPositives(Share("f_beta", 0.0))(c) == of.precision(c)
    assert OfPositives(Share("f_beta", math.inf))(c) == of.recall(c)
    assert OfPositives(Share("f_beta", 1e6))(c) == pytest.approx(of.recall(c), rel=1e-9)


def test_balanced_accuracy_of_the_classes_present():
    assert of.balanced_accuracy(np.array([[6.0, 2.0], [0.0, 0.0]])) == 0.75
    assert of.balanced_accuracy(np.array([[0.0, 0.0], [6.0, 2.0]])) == 0.25
    both = np.array([[5.0, 1.0], [1.0, 1.0]])
    assert of.balanced_accuracy(both) == of.balanced_accuracy_of_both(both)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=8),
    st.sampled_from(sorted(METRICS)),
)
def test_grid_agrees_with_listing_all_labels(items, name):
    pred, p = np.array([i[0] for i in items]), np.array([i[1] for i in items])
    f = METRICS[name]
    law = UncertainConfusion(f, both_chances(p), pred, undefined=0.25).law()
    mean = square = below = 0.0
    for labels in itertools.product((0, 1), repeat=len(items)):
        y = np.array(labels)
        chance = float(np.prod(np.where(y == 1, p, 1 - p)))
        value = float(f(matrix(y, pred)))
        value = 0.25 if math.isnan(value) else value
        mean, square = mean + chance * value, square + chance * value**2
        below += chance * (value <= 0.5 + 1e-12)
    assert law.mean == pytest.approx(mean, abs=1e-12)
    assert law.var == pytest.approx(square - mean**2, abs=1e-12)
    assert law.cdf(0.5) == pytest.approx(below, abs=1e-12)


@pytest.mark.parametrize("f", [of.f_beta, of.matthews_of_both, of.recall, of.precision, of.cohen_kappa])
def test_coarse_grid_agrees_with_the_full_one(f, monkeypatch):
    labels = both_chances([0.95, 0.06, 0.03, 0.97]), [1, 1, 0, 0], None, [9000, 3000, 28000, 2000]
    monkeypatch.setattr(confusion_law, "_MOST_CELLS", 10**7)
    full = UncertainConfusion(f, *labels).law()
    monkeypatch.setattr(confusion_law, "_MOST_CELLS", 40_000)
    uncertain = UncertainConfusion(f, *labels)
    moments, coarse = uncertain.moments(), uncertain.law()
    assert full.method == "exact" and moments.method == "quadrature"
    assert moments.mean == pytest.approx(full.mean, rel=1e-13)
    assert moments.var == pytest.approx(full.var, rel=1e-10)
    x = full.ppf(np.linspace(0.005, 0.995, 100))
    np.testing.assert_allclose(coarse.cdf(x), full.cdf(x), atol=0.003 if f is not of.precision else 0.03)
    np.testing.assert_allclose(coarse.ppf([0.025, 0.975]), full.ppf([0.025, 0.975]), atol=0.05 * full.std)


def test_simulation_of_labels():
    rng = np.random.default_rng(1)
    p, pred = rng.beta(0.3, 1, 60), rng.random(60) < 0.3
    law = UncertainConfusion(of.f_beta, both_chances(p), pred.astype(int)).law()
    y = rng.random((40_000, 60)) < p
    draws = 2 * y[:, pred].sum(1) / (pred.sum() + y.sum(1))
    assert draws.mean() == pytest.approx(law.mean, abs=4 * law.std / 200)
    assert draws.std() == pytest.approx(law.std, rel=0.02)
    x = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(law.cdf(x), [(draws <= v + 1e-12).mean() for v in x], atol=0.01)


def test_labels_without_error_give_a_constant():
    law = UncertainConfusion(of.f_beta, *labels_of([1, 0, 1, 1], [1, 1, 0, 1], [0.0] * 4)).law()
    assert law.std == 0 and law.mean == pytest.approx(2 / 3) and law.ppf(0.5) == law.mean


def test_memory_stays_bounded():
    """A few temporaries of the size of the labels, and a grid of outcomes that does not grow with them."""
    rng = np.random.default_rng(0)
    p, pred = both_chances(rng.beta(1, 15, 10**6)), (rng.random(10**6) < 0.3).astype(int)
    tracemalloc.start()
    low, high = UncertainConfusion(of.f_beta, p, pred).law().ppf([0.025, 0.975])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert low < high
    assert peak < 3 * p.nbytes


def test_nothing_predicted_positive():
    labels = both_chances([0.1, 0.6]), [0, 0]
    with pytest.raises(ValueError, match="undefined"):
        UncertainConfusion(of.precision, *labels).moments()
    assert UncertainConfusion(of.precision, *labels, undefined=1.0).moments()[:3] == (1.0, 0.0, 0.0)
    assert UncertainConfusion(of.recall, *labels).moments().mean == 0
    assert UncertainConfusion(of.accuracy, *labels).moments().mean == pytest.approx(0.65)
