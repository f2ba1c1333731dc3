"""Rank correlations: reference values, listing of orders, simulation, SciPy on exact labels, grid against triples."""

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, multivariate_normal, rankdata, spearmanr

from scorebars.laws.ranking import rank_moments
from scorebars.laws.ranking.rank_correlations import drawn_rank_sums, kendall_law, spearman_law
from scorebars.laws.ranking.rank_moments import first_order_moments, orthant_excess, rank_sum_moments
from scorebars.numerics.inversions import inversions

CASES = json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
RANK_CASES = [c for c in CASES if c["metric"] in ("spearman", "kendall")]
LAWS = {"spearman": spearman_law, "kendall": kendall_law}


@pytest.mark.parametrize("case", RANK_CASES, ids=lambda c: c["id"])
def test_reference(case):
    inputs, exact = case["inputs"], case["exact"]
    y, p, sigma = (np.array(inputs[k]) for k in ("y", "y_pred", "sigma"))
    signs = case["metric"] == "kendall"
    n = y.size
    factor = 2 / (n * (n - 1)) if signs else 6 / (n * (n * n - 1))
    mean, variance = rank_sum_moments(y, sigma, rankdata(p), signs)
    assert factor * mean == pytest.approx(float(exact["mean"]), rel=1e-14)
    assert factor**2 * variance == pytest.approx(float(exact["var"]), rel=1e-13)
    law = LAWS[case["metric"]](y, p, sigma)
    assert law.mean == pytest.approx(float(exact["mean"]), rel=1e-14)
    assert law.var == pytest.approx(float(exact["var"]), rel=1e-13)


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize("n", [70, 3000])
def test_compiled_pairs_are_those_of_numpy(signs, n, monkeypatch):
    y, sigma, rank = problem(n, 3, 0.5)
    moments = rank_sum_moments if n < 1000 else first_order_moments
    compiled = moments(y, sigma, rank, signs)
    monkeypatch.setenv("SCOREBARS_ENGINE", "numpy")
    assert compiled == pytest.approx(moments(y, sigma, rank, signs), rel=1e-13)


def problem(n, seed=0, spread=0.0):
    rng = np.random.default_rng(seed)
    y = rng.normal(0, 1, n)
    return y, 0.5 * np.exp(spread * rng.standard_normal(n)), rankdata(y + rng.normal(0, 1, n))


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize("spread", [0.0, 0.3, 2.0, 5.0])
@pytest.mark.parametrize("exact_labels", [0, 20])
@pytest.mark.parametrize("ties", [False, True])
def test_grid_against_triples(signs, spread, exact_labels, ties, monkeypatch):
    y, sigma, rank = problem(60, 1, spread)
    sigma[:exact_labels] = 0.0
    if ties:
        rank = rankdata(np.floor(rank / 7))
    mean, variance = rank_sum_moments(y, sigma, rank, signs)
    monkeypatch.setattr(rank_moments, "_TRIPLES", 0)
    grid_mean, grid_variance = rank_sum_moments(y, sigma, rank, signs)
    assert grid_mean == mean
    # sharp steps on the grid are averaged over its cells; without them the integral is exact to rounding
    assert grid_variance == pytest.approx(variance, rel=1e-10 if spread < 0.1 and not exact_labels else 3e-4)


def test_labels_far_apart_and_close_together(monkeypatch):
    y = np.concatenate([np.arange(30) * 1e3, 15e3 + 1e-3 * np.arange(30)])
    sigma, rank = np.full(60, 1e-3), rankdata(np.sin(np.arange(60)))
    mean, variance = rank_sum_moments(y, sigma, rank, True)
    monkeypatch.setattr(rank_moments, "_TRIPLES", 0)
    assert rank_sum_moments(y, sigma, rank, True) == (mean, pytest.approx(variance, rel=1e-8))


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize("n", [5, 200])
def test_moments_by_simulation(n, signs):
    y, sigma, rank = problem(n, 2, 0.7)
    sigma[1] = 0.0
    rank[0] = rank[2]
    mean, variance = rank_sum_moments(y, sigma, rank, signs)
    rng = np.random.default_rng(3)
    w = np.sign(rank[:, None] - rank) if signs else rank[:, None] - rank
    draws = []
    for _ in range(6000):
        labels = y + sigma * rng.standard_normal(n)
        draws.append(0.5 * np.sum(w * np.sign(labels[:, None] - labels)))
    assert np.mean(draws) == pytest.approx(mean, abs=4 * math.sqrt(variance / len(draws)))
    assert np.var(draws) == pytest.approx(variance, rel=0.1)


def test_exact_labels_give_scipys_values():
    rng = np.random.default_rng(4)
    y, p = np.round(rng.normal(0, 2, 40)), np.round(rng.normal(0, 2, 40))
    tau, rho = kendall_law(y, p, 0.0), spearman_law(y, p, 0.0)
    assert (tau.mean, tau.var) == (pytest.approx(kendalltau(y, p).statistic), 0.0)
    assert (rho.mean, rho.var) == (pytest.approx(spearmanr(y, p).statistic), 0.0)


@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_law_follows_drawn_labels(name):
    y, sigma, rank = problem(12, 9, 0.3)
    sigma[:2], y[1] = 0.0, y[0]
    rank[3] = rank[4]
    law = LAWS[name](y, rank, sigma)
    reference = {"spearman": spearmanr, "kendall": kendalltau}[name]
    rng = np.random.default_rng(1)
    seen = [reference(y + sigma * rng.standard_normal(12), rank).statistic for _ in range(1500)]
    assert np.mean(seen) == pytest.approx(law.mean, abs=4 * law.std / math.sqrt(1500))
    assert np.std(seen) == pytest.approx(law.std, rel=0.08)
    step = {"spearman": 0.12 * law.std, "kendall": 2.2 / 66}[name]  # tau moves in steps of one pair
    assert np.quantile(seen, [0.1, 0.9]) == pytest.approx(law.ppf([0.1, 0.9]), abs=step)
    assert law.cdf(1.0) == 1.0
    assert pickle.loads(pickle.dumps(law)).ppf(0.3) == law.ppf(0.3)


def test_many_labels_are_normal():
    y, sigma, rank = problem(1200, 8)
    law = spearman_law(y, rank, sigma)
    assert law.method == "delta"
    assert law.ppf(0.5) == law.mean


def test_small_errors_approach_the_exact_labels():
    y, _, _ = problem(30, 5)
    p = np.round(y, 1) + 0.3
    for law, reference in ((kendall_law, kendalltau), (spearman_law, spearmanr)):
        assert law(y, p, 1e-9).mean == pytest.approx(reference(y, p).statistic, abs=1e-6)


def test_large_errors_forget_the_labels():
    n = 50
    y, _, rank = problem(n, 6)
    mean, variance = rank_sum_moments(y, np.full(n, 1e9), rank, True)
    assert mean == pytest.approx(0.0, abs=1e-5)
    assert variance == pytest.approx(n * (n - 1) * (2 * n + 5) / 18, rel=1e-7)
    mean, variance = rank_sum_moments(y, np.full(n, 1e9), rank, False)
    assert variance * (6 / (n * (n * n - 1))) ** 2 == pytest.approx(1 / (n - 1), rel=1e-7)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_order_shift_and_unit_do_not_matter(seed, signs):
    y, sigma, rank = problem(9, seed, 1.0)
    mean, variance = rank_sum_moments(y, sigma, rank, signs)
    shuffle = np.random.default_rng(seed).permutation(9)
    moved = rank_sum_moments(1e3 + 16.0 * y[shuffle], 16.0 * sigma[shuffle], rank[shuffle], signs)
    assert moved == (pytest.approx(mean, rel=1e-10, abs=1e-10), pytest.approx(variance, rel=1e-9))
    turned = rank_sum_moments(-y, sigma, rank, signs)
    assert turned == (pytest.approx(-mean, rel=1e-12, abs=1e-12), pytest.approx(variance, rel=1e-11))


@pytest.mark.parametrize(
    ("h", "k", "rho"), [(0.3, -1.0, 0.5), (0.0, 0.0, 0.7), (0.0, 1.0, 0.2), (-2.0, -1.5, 0.99), (1.0, -0.0, 0.4)]
)
def test_orthants(h, k, rho):
    joint = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([h, k])
    alone = multivariate_normal(0, 1).cdf(h) * multivariate_normal(0, 1).cdf(k)
    got = orthant_excess(np.array([h]), np.array([k]), np.array([rho]))
    assert got[0] == pytest.approx(joint - alone, abs=1e-7)


def test_orthant_of_one_variable():
    got = orthant_excess(np.array([0.3, -1.0]), np.array([1.0, -1.0]), np.array([1.0, 1.0]))
    phi = multivariate_normal(0, 1).cdf
    assert got == pytest.approx([phi(0.3) - phi(0.3) * phi(1.0), phi(-1.0) - phi(-1.0) ** 2], abs=1e-12)


def test_many_labels_by_simulation():
    n = 2000
    y, sigma, rank = problem(n, 7, 0.2)
    mean, variance = rank_sum_moments(y, sigma, rank, False)
    rng = np.random.default_rng(0)
    draws = [2 * np.sum(rank * (rankdata(y + sigma * rng.standard_normal(n)) - (n + 1) / 2)) for _ in range(1500)]
    assert np.mean(draws) == pytest.approx(mean, abs=4 * math.sqrt(variance / 1500))
    assert np.var(draws) == pytest.approx(variance, rel=0.15)


@pytest.mark.parametrize("n", [1, 2, 3, 16, 32, 37, 300])
def test_inversions_are_counted(n):
    rows = np.array([np.random.default_rng(k).permutation(n) for k in range(5)])
    slow = [sum(row[i] > row[j] for i in range(n) for j in range(i + 1, n)) for row in rows]
    assert inversions(rows).tolist() == slow


@pytest.mark.parametrize("signs", [True, False])
def test_rank_sums_of_draws_are_the_sums_over_pairs(signs):
    """With labels tied among themselves, predictions tied, and both."""
    y = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 0.3, 1.7, 1.2])
    sigma = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.2])
    rank = rankdata([1, 1, 2, 3, 1, 5, 5, 7])
    got = drawn_rank_sums(y, sigma, rank, signs, 200, np.random.default_rng(3))
    order = np.argsort(rank, kind="stable")
    labels = y[order] + sigma[order] * np.random.default_rng(3).standard_normal((200, 8))
    gap = rank[order][:, None] - rank[order]
    w = np.sign(gap) if signs else gap
    expected = 0.5 * np.sum(w * np.sign(labels[:, :, None] - labels[:, None, :]), axis=(1, 2))
    assert got == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_very_many_labels_have_moments_to_first_order(name):
    n = 2001
    y, sigma, rank = problem(n, 11, 0.5)
    law = LAWS[name](y, rank, sigma)
    assert law.method == "delta"
    factor = 2 / (n * (n - 1)) if name == "kendall" else 6 / (n * (n * n - 1))
    mean, variance = rank_sum_moments(y, sigma, rank, name == "kendall")
    assert law.mean == pytest.approx(factor * mean, abs=0.02 * law.std)
    assert law.std == pytest.approx(factor * math.sqrt(variance), rel=0.015)
    exact = LAWS[name](y, rank, 0.0)
    assert (exact.std, exact.method) == (0.0, "exact")


@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_labels_that_hardly_overlap_are_drawn(name):
    y, sigma, rank = problem(2001, 11, 0.5)
    law = LAWS[name](y, rank, 1e-3 * sigma)
    assert law.method == "simulation"
    n = y.size
    factor = 2 / (n * (n - 1)) if name == "kendall" else 6 / (n * (n * n - 1))
    seen = factor * drawn_rank_sums(
        y, 1e-3 * sigma, rank - rank.mean(), name == "kendall", 200, np.random.default_rng(3)
    )
    assert law.mean == pytest.approx(
        np.mean(seen), abs=4 * law.std * math.hypot(1 / math.sqrt(1000), 1 / math.sqrt(200))
    )
    assert law.std == pytest.approx(np.std(seen), rel=0.25)


@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_the_skewed_law_follows_drawn_labels(name):
    y, sigma, rank = problem(100, 5, 0.5)
    law = LAWS[name](y, rank, sigma)
    factor = 2 / (100 * 99) if name == "kendall" else 6 / (100 * (100**2 - 1))
    seen = factor * drawn_rank_sums(y, sigma, rank - rank.mean(), name == "kendall", 20_000, np.random.default_rng(3))
    q = np.array([0.025, 0.16, 0.5, 0.84, 0.975])
    assert np.quantile(seen, q) == pytest.approx(law.ppf(q), abs=0.07 * law.std)
    assert law.cdf(law.ppf(q)) == pytest.approx(q, abs=1e-12)
    assert law.sf(law.ppf(q)) == pytest.approx(1 - q, abs=1e-12)
    assert np.mean(law.rvs(20_000, 0)) == pytest.approx(law.mean, abs=0.03 * law.std)
    step = 1e-3 * law.std
    for x in law.ppf(q):
        assert law.pdf(x) == pytest.approx((law.cdf(x + step) - law.cdf(x - step)) / (2 * step), rel=1e-4)
