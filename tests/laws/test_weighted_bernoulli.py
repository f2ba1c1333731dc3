"""Weighted sums of trials: every way to the law against listing all outcomes, and against each other."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.counts.weighted_bernoulli import (
    BernoulliSum,
    GridLaw,
    SmoothGridLaw,
    WeightedBernoulliSum,
    _nearly_normal,
    common_unit,
    list_outcomes,
    sum_on_grid,
    whole_sum,
)


def moments(w, p):
    return float(np.sum(w * p)), math.sqrt(float(np.sum(w * w * p * (1 - p))))


def test_few_trials_are_listed():
    w, p = np.array([0.5, 1.25, 2.0]), np.array([0.1, 0.5, 0.8])
    law = BernoulliSum(w, p, shift=1.0)
    assert law.method == "exact" and law.discrete
    assert law.pmf(1 + 0.5 + 2.0) == pytest.approx(0.1 * 0.5 * 0.8)
    assert law.cdf(1.0) == pytest.approx(0.9 * 0.5 * 0.2)
    assert law.support == (1.0, 4.75)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(0, 1)), min_size=1, max_size=10))
def test_signs_and_certain_trials(trials):
    w, p = map(np.array, zip(*trials, strict=True))
    law = BernoulliSum(w, p)
    mean, std = moments(w, p)
    assert law.mean == pytest.approx(mean, abs=1e-13) and law.std == pytest.approx(std, abs=1e-7)


def test_equal_weights_are_the_poisson_binomial_law():
    p = np.random.default_rng(0).random(300)
    law, count = WeightedBernoulliSum(np.full(300, 0.37), p), PoissonBinomial(p)
    k = np.arange(301)
    np.testing.assert_allclose(law.cdf(k / 300), count.cdf(k), atol=1e-15)
    assert law.method == "exact"
    np.testing.assert_allclose(law.ppf([0.025, 0.975]) * 300, count.ppf([0.025, 0.975]), rtol=1e-14)


def whole(w, p):
    unit = common_unit(w)
    return whole_sum(unit, np.rint(w / unit).astype(int), p)


@pytest.mark.parametrize("kinds", [[1.0, 2.0, 3.0], [1 / 0.6, 1 / 1.4], [0.1, 0.3, 1.1], [1.0, 1.5]])
def test_whole_multiples_agree_with_listing(kinds):
    rng = np.random.default_rng(1)
    w, p = rng.choice(kinds, 14), rng.random(14)
    listed, law = list_outcomes(w, p), whole(w, p)
    assert law.method == "exact"
    np.testing.assert_allclose(law.pmf(listed.table.values), listed.table.pmf, atol=1e-14)
    np.testing.assert_allclose(law.cdf(listed.table.values), listed.table.cdf, atol=1e-14)


def test_many_multiples_agree_with_direct_convolution():
    rng = np.random.default_rng(2)
    k, p = rng.integers(1, 60, 200), rng.beta(1, 4, 200)
    pmf = np.ones(1)
    for step, prob in zip(k, p, strict=True):
        longer = np.zeros(pmf.size + step)
        longer[: pmf.size] += (1 - prob) * pmf
        longer[step:] += prob * pmf
        pmf = longer
    law = BernoulliSum(k, p)
    assert law.method == "exact"
    np.testing.assert_allclose(law.pmf(np.arange(pmf.size)), pmf, atol=1e-14)


def test_irregular_weights_have_no_unit():
    assert common_unit(np.random.default_rng(0).random(100)) is None
    assert common_unit(np.array([1.0, math.pi])) is None


def test_grid_agrees_with_listing():
    rng = np.random.default_rng(3)
    w, p = rng.random(16) + 0.1, np.where(rng.random(16) < 0.7, 1 - rng.random(16) * 0.3, rng.random(16) * 0.5)
    listed, grid = list_outcomes(w / w.max(), p), sum_on_grid(w / w.max(), p)
    assert isinstance(grid, GridLaw)
    assert grid.mean == pytest.approx(listed.mean) and grid.std == pytest.approx(listed.std)
    q = np.linspace(0.01, 0.99, 99)
    np.testing.assert_allclose(grid.ppf(q), listed.ppf(q), atol=5e-4 * grid.std)
    largest = np.argsort(listed.table.pmf)[-3:]
    np.testing.assert_allclose(grid.pmf(listed.table.values[largest]), listed.table.pmf[largest], rtol=0.02)


def assert_smooth(law, exact_cdf, unit, atol):
    """Half a step beyond each stair of the exact staircase the smooth distribution function meets it to second order."""
    assert isinstance(law, SmoothGridLaw)
    stair = np.floor((law.mean + law.std * np.linspace(-5, 5, 41)) / unit)
    x = (stair + 0.5) * unit
    np.testing.assert_allclose(law.cdf(x), exact_cdf(stair), atol=atol)
    np.testing.assert_allclose(law.cdf(x) + law.sf(x), 1.0, atol=1e-14)
    width = 1e-2 * law.std
    np.testing.assert_allclose(law.pdf(x), (law.cdf(x + width) - law.cdf(x - width)) / (2 * width), atol=2e-5 / law.std)
    q = [1e-6, 0.025, 0.5, 0.975, 1 - 1e-6]
    np.testing.assert_allclose(law.cdf(law.ppf(q)), q, atol=1e-12)


def test_smooth_sum_agrees_with_exact_convolution():
    rng = np.random.default_rng(4)
    k = rng.integers(800, 1500, 250)
    w, p = k / k.max(), 0.3 + 0.4 * rng.random(250)
    pmf = np.ones(1)
    for step, prob in zip(k, p, strict=True):
        pmf = np.append((1 - prob) * pmf, np.zeros(step)) + np.append(np.zeros(step), prob * pmf)
    assert_smooth(sum_on_grid(w, p), lambda x: np.cumsum(pmf)[x.astype(int)], 1 / k.max(), 1e-5)


def test_nearly_normal_sum_agrees_with_exact_convolution():
    rng = np.random.default_rng(5)
    k, p = rng.integers(20, 60, 20_000), rng.beta(2, 8, 20_000)
    assert_smooth(_nearly_normal(k / 59, p), whole_sum(1.0, k, p).cdf, 1 / 59, 1e-6)


@pytest.mark.parametrize(
    "weights",
    [
        lambda rng, n: rng.random(n) + 0.1,
        lambda rng, n: rng.exponential(size=n),
        lambda rng, n: np.exp(2 * rng.normal(size=n)),
    ],
)
@pytest.mark.parametrize("n", [100, 3000])
def test_law_agrees_with_simulation(weights, n):
    rng = np.random.default_rng(6)
    w, p = weights(rng, n), np.where(rng.random(n) < 0.8, 0.95, 0.05)
    law = WeightedBernoulliSum(w, p)
    draws = np.sort(np.concatenate([(rng.random((500, n)) < p) @ w for _ in range(20)]) / w.sum())
    x = law.mean + law.std * np.linspace(-3, 3, 61)
    share = np.searchsorted(draws, x, side="right") / draws.size
    assert np.max(np.abs(law.cdf(x) - share)) < 0.02  # Kolmogorov at 10000 draws: 0.0163 at 1 %
    assert draws.mean() == pytest.approx(law.mean, abs=4 * law.std / math.sqrt(draws.size))
    low, high = law.ppf([0.025, 0.975])
    assert low < law.mean < high


def test_many_trials_of_all_sizes():
    rng = np.random.default_rng(7)
    n = 100_000
    w, p = rng.exponential(size=n), rng.beta(1, 20, n)
    law = WeightedBernoulliSum(w, p)
    assert law.method == "quadrature"
    assert law.mean == pytest.approx(np.sum(w * p) / w.sum(), rel=1e-13)
    np.testing.assert_allclose((law.ppf([0.025, 0.975]) - law.mean) / law.std, [-1.96, 1.96], atol=0.02)


def test_a_few_weights_dominate_many_open_trials():
    rng = np.random.default_rng(11)
    w, p = np.exp(4 * rng.normal(size=2500)), rng.random(2500)
    law = WeightedBernoulliSum(w, p)
    draws = np.sort(np.concatenate([(rng.random((500, 2500)) < p) @ w for _ in range(20)]) / w.sum())
    x = np.linspace(0, 1, 51)
    assert np.max(np.abs(law.cdf(x) - np.searchsorted(draws, x, side="right") / draws.size)) < 0.02
    assert law.method == "quadrature" and law.ppf(1e-4) > -1e-4 and law.ppf(1 - 1e-4) < 1 + 1e-4


@pytest.mark.parametrize("ratio", [1e2, 1e8])
def test_one_weight_towers_above_the_rest(ratio):
    rng = np.random.default_rng(10)
    w, p = rng.random(100) + 0.5, np.full(100, 0.1)
    light = BernoulliSum(w, p)
    law = BernoulliSum(np.append(w, ratio), np.append(p, 0.4))
    assert law.mean == pytest.approx(light.mean + 0.4 * ratio)
    assert law.std == pytest.approx(math.hypot(light.std, ratio * math.sqrt(0.24)))
    assert law.sf(ratio / 2) == pytest.approx(0.4, rel=1e-3)
    assert law.ppf(0.3) == pytest.approx(light.ppf(0.5), abs=1e-4 * ratio)
    assert law.ppf(0.8) == pytest.approx(ratio + light.ppf(0.5), abs=1e-4 * ratio)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scale_of_the_weights_does_not_matter(scale):
    rng = np.random.default_rng(8)
    w, p = rng.random(60), rng.random(60) * 0.2
    a, b = WeightedBernoulliSum(w, p), WeightedBernoulliSum(w * scale, p)
    assert a.mean == pytest.approx(b.mean) and a.std == pytest.approx(b.std)
    assert a.cdf(0.1) == pytest.approx(b.cdf(0.1), abs=1e-9)
    assert BernoulliSum(w * scale, p).std == pytest.approx(scale * BernoulliSum(w, p).std)


@pytest.mark.parametrize("q", [1e-3, 1e-9, 1e-200])
@pytest.mark.parametrize("n", [20, 2000])
def test_rare_errors_leave_the_likeliest_outcome_its_probability(q, n):
    w = np.random.default_rng(13).random(n) + 0.5
    law = BernoulliSum(w, np.full(n, q))
    assert law.discrete and law.ppf(0.01) == pytest.approx(0.0, abs=1e-9)
    assert law.pmf(0.0) == pytest.approx((1 - q) ** n, rel=1e-9)
    assert law.mean == pytest.approx(q * w.sum()) and law.std == pytest.approx(math.sqrt(q * (1 - q) * np.sum(w * w)))


def test_nothing_uncertain():
    law = WeightedBernoulliSum([1.0, 3.0], [1.0, 0.0])
    assert law.mean == 0.25 and law.std == 0 and law.ppf(0.5) == 0.25
    assert law.cdf([0.2, 0.25]).tolist() == [0, 1]


def test_survives_pickling():
    rng = np.random.default_rng(9)
    for n in (5, 50, 400):
        law = WeightedBernoulliSum(rng.random(n), rng.random(n))
        assert pickle.loads(pickle.dumps(law)).cdf(0.5) == law.cdf(0.5)
