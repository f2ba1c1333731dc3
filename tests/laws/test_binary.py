"""Binary metrics on the grid of two counts: reference values, scikit-learn, enumeration, the coarse grid."""

import itertools
import json
import math
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metrics_of_counts import TwoCounts
from sklearn import metrics as sk

from scorebars.laws.counts import two_counts as binary
from scorebars.laws.counts.two_counts import BinaryCounts

CASES = {
    c["id"]: c for c in json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
}
METRICS = {
    "accuracy": TwoCounts.accuracy,
    "precision": TwoCounts.precision,
    "recall": TwoCounts.recall,
    "specificity": TwoCounts.specificity,
    "f1": TwoCounts.f_beta,
    "jaccard": TwoCounts.jaccard,
    "balanced_accuracy": TwoCounts.balanced_accuracy_of_both,
    "mcc": TwoCounts.matthews,
    "kappa": TwoCounts.cohen_kappa,
}


def counts_of(y, pred, q):
    y, pred, q = (np.asarray(v) for v in (y, pred, q))
    p = np.where(y == 1, 1 - q, q)
    return BinaryCounts(p[pred == 1], p[pred == 0])


@pytest.mark.parametrize("case", ["binary_M1_q0.25", "binary_M7_q0", "binary_M7_q0.5", "binary_M7_q0.05"])
@pytest.mark.parametrize("name", METRICS)
def test_reference(case, name):
    inputs, exact = CASES[case]["inputs"], CASES[case]["exact"][name]
    counts, f = counts_of(inputs["y"], inputs["y_pred"], inputs["q"]), METRICS[name]
    zero = counts.moments_of(f, undefined=0.0)
    assert zero.mean == pytest.approx(float(exact["mean_zero_division_0"]), abs=1e-14)
    assert zero.var == pytest.approx(float(exact["var_zero_division_0"]), abs=1e-14)
    assert zero.p_defined == pytest.approx(float(exact["p_defined"]), abs=1e-14)
    if "mean_given_defined" not in exact:
        with pytest.raises(ValueError, match="undefined"):
            counts.moments_of(f)
        return
    given_defined = counts.moments_of(f)
    law = counts.law_of(f)
    for mean, var, p_defined in (given_defined[:3], (law.law.mean, law.law.var, law.p_defined)):
        assert mean == pytest.approx(float(exact["mean_given_defined"]), abs=1e-14)
        assert var == pytest.approx(float(exact["var_given_defined"]), abs=1e-14)
        assert p_defined == pytest.approx(float(exact["p_defined"]), abs=1e-14)
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
    functions = METRICS | {"fbeta": partial(TwoCounts.f_beta, beta=0.5)}
    rng = np.random.default_rng(0)
    for _ in range(40):
        y, pred = rng.integers(0, 2, 6), rng.integers(0, 2, 6)
        tp, fn = np.sum(y * pred), np.sum(y * (1 - pred))
        for name, expected in sklearn_values(y, pred).items():
            value = float(functions[name](tp, fn, float(pred.sum()), float(6 - pred.sum())))
            if name in ("mcc", "jaccard") and math.isnan(value):
                value = 0.0
            assert value == pytest.approx(expected, nan_ok=True), name


def test_f_beta_limits():
    at = (3.0, 2.0, 7.0, 5.0)
    assert TwoCounts.f_beta(*at, beta=0.0) == TwoCounts.precision(*at)
    assert TwoCounts.f_beta(*at, beta=math.inf) == TwoCounts.recall(*at)
    assert TwoCounts.f_beta(*at, beta=1e6) == pytest.approx(TwoCounts.recall(*at), rel=1e-9)


def test_balanced_accuracy_of_the_classes_present():
    assert TwoCounts.balanced_accuracy(0.0, 0.0, 2.0, 6.0) == 0.75
    assert TwoCounts.balanced_accuracy(2.0, 6.0, 2.0, 6.0) == 0.25
    assert TwoCounts.balanced_accuracy(1.0, 1.0, 2.0, 6.0) == TwoCounts.balanced_accuracy_of_both(1.0, 1.0, 2.0, 6.0)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=8),
    st.sampled_from(sorted(METRICS)),
)
def test_grid_agrees_with_listing_all_labels(items, name):
    pred, p = np.array([i[0] for i in items]), np.array([i[1] for i in items])
    f = METRICS[name]
    law = BinaryCounts(p[pred == 1], p[pred == 0]).law_of(f, undefined=0.25).law
    mean = square = below = 0.0
    for labels in itertools.product((0, 1), repeat=len(items)):
        y = np.array(labels)
        chance = float(np.prod(np.where(y == 1, p, 1 - p)))
        value = float(f(np.sum(y * pred), np.sum(y * (1 - pred)), float(pred.sum()), float(np.sum(1 - pred))))
        value = 0.25 if math.isnan(value) else value
        mean, square = mean + chance * value, square + chance * value**2
        below += chance * (value <= 0.5 + 1e-12)
    assert law.mean == pytest.approx(mean, abs=1e-12)
    assert law.var == pytest.approx(square - mean**2, abs=1e-12)
    assert law.cdf(0.5) == pytest.approx(below, abs=1e-12)


@pytest.mark.parametrize(
    "f", [TwoCounts.f_beta, TwoCounts.matthews, TwoCounts.recall, TwoCounts.precision, TwoCounts.cohen_kappa]
)
def test_coarse_grid_agrees_with_the_full_one(f, monkeypatch):
    counts = BinaryCounts([0.95, 0.06], [0.03, 0.97], [9000, 3000], [28000, 2000])
    monkeypatch.setattr(binary, "_MOST_CELLS", 10**7)
    full = counts.law_of(f).law
    monkeypatch.setattr(binary, "_MOST_CELLS", 40_000)
    moments = counts.moments_of(f)
    assert full.method == "exact" and moments.method == "quadrature"
    assert moments.mean == pytest.approx(full.mean, rel=1e-13)
    assert moments.var == pytest.approx(full.var, rel=1e-10)
    coarse = counts.law_of(f).law
    x = full.ppf(np.linspace(0.005, 0.995, 100))
    np.testing.assert_allclose(coarse.cdf(x), full.cdf(x), atol=0.003 if f is not TwoCounts.precision else 0.03)
    np.testing.assert_allclose(coarse.ppf([0.025, 0.975]), full.ppf([0.025, 0.975]), atol=0.05 * full.std)


def test_simulation_of_labels():
    rng = np.random.default_rng(1)
    p, pred = rng.beta(0.3, 1, 60), rng.random(60) < 0.3
    law = BinaryCounts(p[pred], p[~pred]).law_of(TwoCounts.f_beta).law
    y = rng.random((40_000, 60)) < p
    draws = TwoCounts.f_beta(y[:, pred].sum(1), y[:, ~pred].sum(1), float(pred.sum()), float((~pred).sum()))
    assert draws.mean() == pytest.approx(law.mean, abs=4 * law.std / 200)
    assert draws.std() == pytest.approx(law.std, rel=0.02)
    x = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(law.cdf(x), [(draws <= v + 1e-12).mean() for v in x], atol=0.01)


def test_labels_without_error_give_a_constant():
    counts = counts_of([1, 0, 1, 1], [1, 1, 0, 1], [0.0] * 4)
    law = counts.law_of(TwoCounts.f_beta).law
    assert law.std == 0 and law.mean == pytest.approx(2 / 3) and law.ppf(0.5) == law.mean


def test_memory_stays_bounded():
    """A few temporaries of the size of the labels, and a grid of outcomes that does not grow with them."""
    rng = np.random.default_rng(0)
    p, pred = rng.beta(1, 15, 10**6), rng.random(10**6) < 0.3
    tracemalloc.start()
    low, high = BinaryCounts(p[pred], p[~pred]).law_of(TwoCounts.f_beta).law.ppf([0.025, 0.975])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert low < high
    assert peak < 6 * p.nbytes


def test_nothing_predicted_positive():
    counts = BinaryCounts([], [0.1, 0.6])
    with pytest.raises(ValueError, match="undefined"):
        counts.moments_of(TwoCounts.precision)
    assert counts.moments_of(TwoCounts.precision, undefined=1.0)[:3] == (1.0, 0.0, 0.0)
    assert counts.moments_of(TwoCounts.recall).mean == 0 and counts.moments_of(
        TwoCounts.accuracy
    ).mean == pytest.approx(0.65)
