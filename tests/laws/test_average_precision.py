"""Average precision of uncertain labels: listing, integrals, scikit-learn, simulation."""

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from scorebars.laws.ranking import uncertain_ranking
from scorebars.laws.ranking.average_precision import UncertainAveragePrecision


def data(n, seed=0, error=0.15, digits=8):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n).round(digits)
    y = rng.random(n) < 0.4
    q = error * rng.random(n)
    return scores, np.where(y, 1 - q, q), rng.random(n) + 0.1


@pytest.mark.parametrize("digits", [0, 8])
@pytest.mark.parametrize("weighted", [False, True])
def test_listing_agrees_with_scikit_learn(weighted, digits):
    scores, p, w = data(6, digits=digits)
    weights = w if weighted else None
    chance, value = [], []
    for labels in itertools.product((0, 1), repeat=6):
        y = np.array(labels)
        chance.append(np.prod(np.where(y == 1, p, 1 - p)))
        value.append(average_precision_score(y, scores, sample_weight=weights) if y.any() else 0.0)
    chance, value = np.array(chance), np.array(value)
    uncertain = UncertainAveragePrecision(scores, p, weights)
    moments = uncertain.moments()
    mean = np.sum(chance * value)
    assert moments.mean == pytest.approx(mean, abs=1e-13)
    assert moments.var == pytest.approx(np.sum(chance * (value - mean) ** 2), abs=1e-13)
    assert uncertain.law().mean == pytest.approx(mean, abs=1e-13)


@pytest.mark.parametrize("digits", [0, 8])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("p_of", ["mixed", "rare", "certain", "half"])
def test_integrals_agree_with_listing(p_of, weighted, digits, monkeypatch):
    scores, p, w = data(12, seed=1, digits=digits)
    p = {"mixed": p, "rare": np.full(12, 1e-7), "certain": np.where(p > 0.5, 1.0, p), "half": np.full(12, 0.5)}[p_of]
    listed = UncertainAveragePrecision(scores, p, w if weighted else None).moments()
    monkeypatch.setattr(uncertain_ranking, "LISTED", -1)
    found = UncertainAveragePrecision(scores, p, w if weighted else None).moments()
    assert found[:3] == pytest.approx(listed[:3], rel=1e-12, abs=1e-14) and found.method == "exact"


def test_exact_moments_agree_with_simulation():
    scores, p, w = data(200, seed=2)
    uncertain = UncertainAveragePrecision(scores, p, w)
    moments, law = uncertain.moments(), uncertain.law()
    assert law.method == "simulation"
    assert law.mean == pytest.approx(moments.mean, abs=4 * law.std / math.sqrt(4000))
    assert law.std == pytest.approx(math.sqrt(moments.var), rel=0.03)
    assert np.array_equal(uncertain.law().table.values, uncertain.law().table.values)


def test_delta_method_agrees_for_many_labels():
    scores, p, _ = data(3000, seed=3)
    uncertain = UncertainAveragePrecision(scores, p)
    exact, (mean, var) = uncertain.moments(), uncertain._delta()
    assert mean == pytest.approx(exact.mean, abs=1e-7)
    assert var == pytest.approx(exact.var, rel=1e-3)


def test_very_many_labels():
    scores, p, _ = data(60_000, seed=4)
    uncertain = UncertainAveragePrecision(scores, p)
    assert uncertain.moments().method == "delta"
    law = uncertain.law()
    assert law.method == "delta" and law.std == pytest.approx(math.sqrt(uncertain.moments().var))


def test_seldom_a_positive():
    moments = UncertainAveragePrecision(-np.arange(20.0), np.full(20, 1e-5)).moments()
    # one positive at rank r has average precision 1/r
    assert moments.mean == pytest.approx(1e-5 * np.sum(1 / np.arange(1, 21)), rel=1e-3)


def test_no_positive_is_possible():
    assert UncertainAveragePrecision([1.0, 2.0], [0.0, 0.0]).moments()[:2] == (0.0, 0.0)
    constant = UncertainAveragePrecision([0.1, 0.4, 0.35, 0.8], [0.0, 0.0, 1.0, 1.0]).moments()
    assert constant.mean == pytest.approx(0.8333333333333333) and constant.var == 0
