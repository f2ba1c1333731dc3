"""Rows that stand for many labels give what the labels themselves give."""

import numpy as np
import pytest
from metrics_of_counts import accuracy, matthews, recall

from scorebars.laws.counts.confusion_law import UncertainConfusion, coarser
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.moments.confusion_moments import confusion_of_probabilities


def groups(rows, most, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(3, 0.3), rows)
    return p, rng.integers(0, 3, rows), rng.random(rows) + 0.5, rng.integers(0, most, rows)


def test_moments():
    p, pred, weight, count = groups(40, 9)
    grouped = confusion_of_probabilities(p, pred, weight, count)
    single = confusion_of_probabilities(*(np.repeat(x, count, axis=0) for x in (p, pred, weight)))
    np.testing.assert_allclose(grouped.mean, single.mean, rtol=1e-13)
    np.testing.assert_allclose(grouped.columns, single.columns, atol=1e-13)


def test_listed_outcomes():
    p, pred, weight, count = groups(4, 3, seed=3)
    p = np.vstack([p, [[0, 1, 0]]])
    pred, weight, count = np.append(pred, 2), np.append(weight, 1.0), np.append(count, 50)
    grouped = UncertainConfusion(accuracy, p, pred, weight, count)
    single = UncertainConfusion(accuracy, *(np.repeat(x, count, axis=0) for x in (p, pred, weight)))
    one, other = (uncertain.moments() for uncertain in (grouped, single))
    assert one.method == other.method == "exact"
    assert (one.mean, one.var) == pytest.approx((other.mean, other.var), rel=1e-13)


@pytest.mark.parametrize("few_rows", [0, 1000])
def test_draws_have_the_moments_of_the_labels(few_rows, monkeypatch):
    """Drawn row by row, and label by label."""
    monkeypatch.setattr("scorebars.laws.counts.confusion_law._FEW_ROWS", few_rows)
    monkeypatch.setattr("scorebars.laws.counts.confusion_law._MOST_CHANGES", 10**7)
    p, pred, weight, count = groups(12, 6, seed=1)
    draws = 20_000
    found = UncertainConfusion(accuracy, p, pred, weight, count).samples(draws, 5)
    expected = confusion_of_probabilities(p, pred, weight, count)
    np.testing.assert_allclose(found.sum(axis=1), np.broadcast_to(expected.mean.sum(axis=0), (draws, 3)), rtol=1e-12)
    spread = np.sqrt(np.diag(expected.covariance)).reshape(3, 3)
    assert np.all(np.abs(found.mean(axis=0) - expected.mean) < 5 * spread / np.sqrt(draws) + 1e-12)
    np.testing.assert_allclose(
        np.cov(found.reshape(draws, 9).T), expected.covariance, atol=0.06 * np.max(expected.covariance)
    )


def test_counts_that_are_not_whole_keep_their_sums():
    uncertain = UncertainConfusion(accuracy, np.full((4, 2), 0.5), [0, 0, 1, 1], None, [1.5, 1.5, 0.25, 3.75])
    assert uncertain._whole.tolist() == [2, 1, 0, 4]


def test_trials():
    p, count = np.array([0.0, 0.2, 0.7, 1.0]), np.array([3.0, 40.0, 900.0, 2.0])
    whole, nearly = PoissonBinomial(p, count), PoissonBinomial(p, np.add(count, [0, 1e-9, -1e-9, 0]))
    assert (nearly.trials, nearly.support) == (whole.trials, whole.support)
    assert nearly.ppf([0.01, 0.5, 0.99]) == pytest.approx(whole.ppf([0.01, 0.5, 0.99]))
    assert nearly.mean == pytest.approx(whole.mean, rel=1e-12)


def test_two_classes():
    p, _, _, count = groups(30, 7, seed=2)
    p, pred = np.stack([1 - p[:, 0], p[:, 0]], axis=1), np.repeat([1, 0], 15)
    single = UncertainConfusion(recall, np.repeat(p, count, axis=0), np.repeat(pred, count)).moments()
    grouped = UncertainConfusion(recall, p, pred, None, count).moments()
    assert (grouped.mean, grouped.var) == pytest.approx((single.mean, single.var), rel=1e-12)


def test_a_coarse_grid_does_not_depend_on_where_its_ends_are_cut():
    counts = np.arange(1000.0, 3000.0)
    pmf = np.exp(-0.5 * ((counts - 2000) / 120) ** 2)
    coarse = [coarser((counts[k:], pmf[k:]), 128) for k in (0, 5)]
    shared = np.isin(coarse[0][0], coarse[1][0])
    assert np.count_nonzero(~shared) <= 1
    assert np.all(coarse[0][0] % 16 == 0)
    assert coarse[0][1].sum() == pytest.approx(1.0)


def test_the_delta_method_does_not_feel_the_order_of_labels():
    rng = np.random.default_rng(7)
    q = rng.beta(1, 12, 20_000)
    label, pred = rng.integers(0, 3, q.size), rng.integers(0, 3, q.size)
    pred = np.where(rng.random(q.size) < 0.7, label, pred)
    p = np.repeat(q[:, None] / 2, 3, axis=1)
    p[np.arange(q.size), label] = 1 - q
    mixed = rng.permutation(q.size)
    one, other = (UncertainConfusion(matthews, p[order], pred[order]).moments() for order in (np.arange(q.size), mixed))
    assert one.method == "delta"
    assert one.mean == pytest.approx(other.mean, rel=1e-12)
    assert one.var == pytest.approx(other.var, rel=1e-11)
