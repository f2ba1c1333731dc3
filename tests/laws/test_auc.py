"""ROC AUC of uncertain labels: reference values, listing, scikit-learn, one method against the other."""

import itertools
import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from scorebars.laws.ranking import uncertain_ranking
from scorebars.laws.ranking.auc import UncertainAuc

CASES = {
    c["id"]: c for c in json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
}


def data(n, seed=0, error=0.06, digits=8):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n).round(digits)
    y = rng.random(n) < 1 / (1 + np.exp(-scores))
    q = error * rng.gamma(1.0, size=n).clip(0, 5)
    return scores, np.where(y, 1 - q, q), rng.random(n) + 0.1


def listed(scores, p, w=None):
    """Mean, variance and probability of being defined by scikit-learn on all label vectors."""
    chance, value = [], []
    for labels in itertools.product((0, 1), repeat=len(p)):
        y = np.array(labels)
        if 0 < y.sum() < y.size:
            chance.append(np.prod(np.where(y == 1, p, 1 - p)))
            value.append(roc_auc_score(y, scores, sample_weight=w))
    chance, value = np.array(chance), np.array(value)
    mean = np.sum(chance * value) / chance.sum()
    return mean, np.sum(chance * (value - mean) ** 2) / chance.sum(), chance.sum()


@pytest.mark.parametrize("case", ["auc_M7", "auc_M7_q0"])
@pytest.mark.parametrize("way", ["listed", "integrated"])
def test_reference(case, way, monkeypatch):
    if way == "integrated":
        monkeypatch.setattr(uncertain_ranking, "LISTED", 0)
    inputs, exact = CASES[case]["inputs"], CASES[case]["exact"]
    y, q = np.array(inputs["y"]), np.array(inputs["q"])
    moments = UncertainAuc(inputs["score"], np.where(y == 1, 1 - q, q)).moments()
    assert moments.mean == pytest.approx(float(exact["mean_given_defined"]), abs=1e-14)
    assert moments.var == pytest.approx(float(exact["var_given_defined"]), abs=1e-15)
    assert moments.p_defined == pytest.approx(float(exact["p_defined"]), abs=1e-15)


@pytest.mark.parametrize("weighted", [False, True])
def test_listing_agrees_with_scikit_learn(weighted):
    scores, p, w = data(6, seed=1, error=0.2, digits=0)
    weights = w if weighted else None
    mean, var, defined = listed(scores, p, weights)
    uncertain = UncertainAuc(scores, p, weights)
    assert uncertain.moments()[:3] == pytest.approx((mean, var, defined), abs=1e-12)
    law = uncertain.law()
    assert (law.mean, law.var, uncertain.p_defined) == pytest.approx((mean, var, defined), abs=1e-12)
    assert law.method == "exact"


def test_exact_moments_agree_with_simulation():
    scores, p, _ = data(40, seed=3, error=0.15)
    uncertain = UncertainAuc(scores, p)
    rng = np.random.default_rng(0)
    y = (rng.random((20_000, 40)) < p).astype(float)
    draws = uncertain._values(y @ uncertain._b, y @ uncertain._w, y.sum(1))
    assert uncertain.moments().method == "exact"
    assert draws.mean() == pytest.approx(uncertain.moments().mean, abs=4 * draws.std() / math.sqrt(20_000))
    assert draws.var() == pytest.approx(uncertain.moments().var, rel=0.04)
    assert draws[0] == pytest.approx(roc_auc_score(y[0], scores))
    law = uncertain.law()
    assert law.method == "simulation"
    np.testing.assert_allclose(law.ppf([0.05, 0.5, 0.95]), np.quantile(draws, [0.05, 0.5, 0.95]), atol=0.1 * law.std)


def test_small_errors_keep_their_digits():
    scores, p, _ = data(60, seed=4)
    tiny = np.where(p > 0.5, 1 - 1e-12, 1e-12)
    moments = UncertainAuc(scores, tiny).moments()
    y = p > 0.5
    base = roc_auc_score(y, scores)
    flipped = np.array([roc_auc_score(y ^ (np.arange(60) == i), scores) for i in range(60)]) - base
    assert moments.mean - base == pytest.approx(1e-12 * flipped.sum(), abs=3e-15)
    assert moments.var == pytest.approx(1e-12 * np.sum(flipped**2), rel=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_delta_method_agrees_for_many_labels(weighted):
    scores, p, w = data(900, seed=5)
    uncertain = UncertainAuc(scores, p, w if weighted else None)
    mean, var = uncertain._delta()
    assert uncertain.moments().method == "exact"
    assert mean == pytest.approx(uncertain.moments().mean, abs=1e-6)
    assert var == pytest.approx(uncertain.moments().var, rel=1e-3)
    law = uncertain.law()
    assert (law.mean, law.std) == pytest.approx((mean, math.sqrt(var)), rel=0.02)


@pytest.mark.parametrize("kind", ["mixed", "rare", "certain"])
@pytest.mark.parametrize("weighted", [False, True])
def test_integrals_agree_with_listing(kind, weighted):
    scores, p, w = data(12, seed=9, error=0.2, digits=0)
    p = {"mixed": p, "rare": np.full(12, 1e-6), "certain": np.where(p > 0.5, 1.0, p)}[kind]
    uncertain = UncertainAuc(scores, p, w if weighted else None)
    assert uncertain._exact() == pytest.approx(uncertain.moments()[:2], rel=1e-11, abs=1e-14)


def test_many_labels_are_quick_and_normal():
    scores, p, _ = data(60_000, seed=6)
    uncertain = UncertainAuc(scores, p)
    law = uncertain.law()
    assert uncertain.moments().method == "delta" and law.std == pytest.approx(math.sqrt(uncertain.moments().var))


def test_one_class_is_seldom_left():
    """Conditioning on two classes when nearly all label vectors have one."""
    scores, p = np.arange(30.0), np.full(30, 1e-4)
    uncertain = UncertainAuc(scores, p)
    assert uncertain.p_defined == pytest.approx(1 - (1 - 1e-4) ** 30, rel=1e-10)
    # one positive, anywhere: its AUC is uniform on k / 29
    assert uncertain.moments().mean == pytest.approx(0.5, abs=1e-12)
    assert uncertain.moments().var == pytest.approx(np.var(np.arange(30) / 29), rel=2e-3)
    law = uncertain.law()
    assert law.mean == pytest.approx(0.5, abs=0.02) and law.ppf(0.9) == pytest.approx(0.9, abs=0.05)
    mirrored = UncertainAuc(scores, 1 - p)
    assert mirrored.moments().var == pytest.approx(uncertain.moments().var, rel=1e-9)
    assert mirrored.law().ppf(0.9) == pytest.approx(0.9, abs=0.05)


def test_impossible_and_trivial_labels():
    for p in ([1.0, 1.0], [0.0, 0.0, 0.0], [0.5]):
        with pytest.raises(ValueError, match="one class only"):
            _ = UncertainAuc(np.arange(len(p)), p).moments()
    constant = UncertainAuc([0.1, 0.4, 0.35, 0.8], [0.0, 0.0, 1.0, 1.0])
    assert constant.moments()[:3] == (0.75, 0.0, 1.0) and constant.law().ppf(0.3) == 0.75


def test_zero_weights_are_left_out():
    scores, p, w = data(8, seed=7, error=0.2)
    w[3] = 0
    keep = np.arange(8) != 3
    a, b = UncertainAuc(scores, p, w).moments(), UncertainAuc(scores[keep], p[keep], w[keep]).moments()
    assert a[:3] == pytest.approx(b[:3])


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 30), st.integers(0, 1000))
def test_mirror_and_monotone_maps(n, seed):
    scores, p, _ = data(n, seed=seed, error=0.2, digits=1)
    a, b, c = (UncertainAuc(s, p).moments() for s in (scores, -scores, np.exp(scores)))
    assert a.mean + b.mean == pytest.approx(1, abs=1e-12) and a.var == pytest.approx(b.var, abs=1e-12)
    assert a.mean == c.mean and 0 <= a.var <= 0.25


def test_same_seed_same_law():
    scores, p, _ = data(40, seed=8)
    uncertain = UncertainAuc(scores, p)
    law = pickle.loads(pickle.dumps(uncertain.law()))
    assert np.array_equal(law.table.values, uncertain.law().table.values)
