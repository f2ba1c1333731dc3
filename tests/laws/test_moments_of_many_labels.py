"""Moments of roots and ratios from sums alone, where labels are many: against the exact laws, and where they must not be used."""

import math

import numpy as np
import pytest

import scorebars as sb
from scorebars.engines import normal_sums
from scorebars.laws.quadratic import ratio_moments
from scorebars.laws.quadratic.ratio_moments import explained_moments, root_moments

METRICS = [sb.root_mean_squared_error, sb.r2_score, sb.explained_variance_score]


def labels(n, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    y = 3.0 + rng.normal(size=n)
    p = y + 0.1 + 0.7 * rng.normal(size=n)
    return y, p, rng.uniform(0.1, 2.0, n), rng.uniform(0.5, 2.0, n) if weighted else None


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_many_labels_agree_with_the_exact_law(metric, weighted, monkeypatch):
    y, p, sigma, weight = labels(100_000, weighted=weighted)
    fast = metric(y, p, yerr=sigma, sample_weight=weight)
    assert "_own_law" not in fast._answers.__dict__
    assert "_root_law" not in fast._answers.__dict__
    monkeypatch.setattr(ratio_moments, "NEGLIGIBLE", 0.0)
    exact = metric(y, p, yerr=sigma, sample_weight=weight)
    assert fast.observed == pytest.approx(exact.observed, rel=1e-14)
    assert fast.expected == pytest.approx(exact.expected, abs=1e-9)
    assert fast.std == pytest.approx(exact.std, rel=1e-4)
    assert fast.interval() == exact.interval()


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.__name__)
def test_what_is_left_out_falls_with_the_square_of_the_number(metric, monkeypatch):
    gaps = []
    for n in (2_000, 8_000):
        y, p, sigma, _ = labels(n)
        sums = normal_sums(y, p, sigma, labels=True)
        monkeypatch.setattr(ratio_moments, "NEGLIGIBLE", 1.0)
        mean = (
            root_moments(sums)[0]
            if metric is sb.root_mean_squared_error
            else explained_moments(sums, metric is sb.explained_variance_score)[1]
        )
        monkeypatch.setattr(ratio_moments, "NEGLIGIBLE", 0.0)
        gaps.append(abs(mean - metric(y, p, yerr=sigma).expected))
    assert 8 < gaps[0] / gaps[1] < 30


def test_few_or_dominating_labels_are_left_to_the_law():
    y, p, sigma, _ = labels(1_000)
    assert root_moments(normal_sums(y, p, sigma)) is None
    assert explained_moments(normal_sums(y, p, sigma, labels=True), False) is None
    y, p, sigma, _ = labels(200_000)
    assert root_moments(normal_sums(y, p, sigma)) is not None
    sigma[7] = 1e3  # one label makes up most of the sum
    assert root_moments(normal_sums(y, p, sigma)) is None
    assert root_moments(normal_sums(1e50 * y, 1e50 * p, 1e50 * sigma)) is None
    assert explained_moments(normal_sums(1e-60 * y, 1e-60 * p, 1e-60 * sigma, labels=True), False) is None
    same = normal_sums(np.ones(9), np.zeros(9), 0.1, labels=True)
    assert explained_moments(same, True) is None


def test_sharing_one_pass_changes_nothing():
    y, p, sigma, _ = labels(100_000, 3)
    names = ["mean_squared_error", "root_mean_squared_error", "r2_score", "mean_error", "mean_absolute_error"]
    together = sb.evaluate(y, p, yerr=sigma, metrics=names)
    for name in names:
        alone = getattr(sb, name)(y, p, yerr=sigma)
        assert float(together[name]) == float(alone)
        assert together[name].std == alone.std
    within = sb.fraction_within(y, p, tolerance=0.5, yerr=sigma)
    assert within.observed == np.mean(np.abs(y - p) <= 0.5)
    assert math.isclose(within.std, math.sqrt(within.distribution.var), rel_tol=1e-9)


@pytest.mark.parametrize("metric", [sb.r2_score, sb.explained_variance_score], ids=lambda m: m.__name__)
def test_bad_values_among_many_labels_are_named(metric):
    y, p, sigma, _ = labels(20_000)
    for values, name, what in ((y, "y_true", "contains NaN"), (p, "y_pred", "contains NaN")):
        good, values[77] = values[77], np.nan
        with pytest.raises(ValueError, match=f"{name} {what}: the first is nan at index 77, 1 in all"):
            metric(y, p, yerr=sigma)
        values[77] = good
    sigma[5] = -0.1
    with pytest.raises(ValueError, match=r"yerr has negative values: the first is -0\.1 at index 5"):
        metric(y, p, yerr=sigma)
