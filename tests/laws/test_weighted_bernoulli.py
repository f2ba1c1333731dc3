"""Weighted sums of trials: every way to the law against listing all outcomes, and against each other."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorebars.laws import weight_lattice
from scorebars.laws.poisson_binomial import PoissonBinomial
from scorebars.laws.smooth_bernoulli import cumulant_series, smooth_law
from scorebars.laws.weight_lattice import RoundedLaw
from scorebars.laws.weighted_bernoulli import (
    BernoulliSum,
    WeightedBernoulliSum,
    enumerate_outcomes,
    lattice_law,
    whole_multiples,
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
    assert law._law.mean == pytest.approx(mean, abs=1e-13) and law._law.std == pytest.approx(std, abs=1e-7)


def test_equal_weights_are_the_poisson_binomial_law():
    p = np.random.default_rng(0).random(300)
    law, count = WeightedBernoulliSum(np.full(300, 0.37), p), PoissonBinomial(p)
    k = np.arange(301)
    np.testing.assert_allclose(law.cdf(k / 300), count.cdf(k), atol=1e-15)
    assert law.method == "exact"
    np.testing.assert_allclose(law.ppf([0.025, 0.975]) * 300, count.ppf([0.025, 0.975]), rtol=1e-14)


@pytest.mark.parametrize("kinds", [[1.0, 2.0, 3.0], [1 / 0.6, 1 / 1.4], [0.1, 0.3, 1.1], [1.0, 1.5]])
def test_whole_multiples_agree_with_listing(kinds):
    rng = np.random.default_rng(1)
    w, p = rng.choice(kinds, 14), rng.random(14)
    unit, k = whole_multiples(w)
    listed, lattice = enumerate_outcomes(w, p), lattice_law(k, p)
    for value, prob in zip(listed.atoms.values, listed.atoms.pmf, strict=True):
        assert lattice.pmf(round(value / unit)) == pytest.approx(prob, rel=1e-12)


def test_long_lattice_agrees_with_direct_convolution():
    rng = np.random.default_rng(2)
    k, p = rng.integers(1, 60, 200), rng.beta(1, 4, 200)
    pmf = np.ones(1)
    for step, prob in zip(k, p, strict=True):
        longer = np.zeros(pmf.size + step)
        longer[: pmf.size] += (1 - prob) * pmf
        longer[step:] += prob * pmf
        pmf = longer
    law = lattice_law(k, p)
    np.testing.assert_allclose(law.pmf(np.arange(pmf.size)), pmf, atol=1e-15)


def test_irregular_weights_have_no_unit():
    assert whole_multiples(np.random.default_rng(0).random(100)) is None
    assert whole_multiples(np.array([1.0, math.pi])) is None


def test_rounded_lattice_agrees_with_listing():
    rng = np.random.default_rng(3)
    w, p = rng.random(16) + 0.1, np.where(rng.random(16) < 0.7, 1 - rng.random(16) * 0.3, rng.random(16) * 0.5)
    listed, rounded = enumerate_outcomes(w / w.max(), p), RoundedLaw.of_trials(w / w.max(), p)
    assert rounded.mean == pytest.approx(listed.mean) and rounded.std == pytest.approx(listed.std)
    q = np.linspace(0.01, 0.99, 99)
    np.testing.assert_allclose(rounded.ppf(q), listed.ppf(q), atol=1e-4 * rounded.std)
    largest = np.argsort(listed.atoms.pmf)[-3:]
    np.testing.assert_allclose(rounded.pmf(listed.atoms.values[largest]), listed.atoms.pmf[largest], rtol=0.02)


def test_smooth_law_agrees_with_a_fine_lattice():
    rng = np.random.default_rng(4)
    k = rng.integers(800, 1500, 250)
    w, p = k / k.max(), 0.3 + 0.4 * rng.random(250)
    law = smooth_law(w, p, *moments(w, p))
    pmf = np.ones(1)
    for step, prob in zip(k, p, strict=True):
        pmf = np.append((1 - prob) * pmf, np.zeros(step)) + np.append(np.zeros(step), prob * pmf)
    # the lattice law is a staircase; half a step beyond each stair the smooth law meets it to second order
    stair = np.floor(k.max() * (law.mean + law.std * np.linspace(-5, 5, 41)))
    x = (stair + 0.5) / k.max()
    np.testing.assert_allclose([law._cdf(v) for v in x], np.cumsum(pmf)[stair.astype(int)], atol=2e-9)
    density = [(law._cdf(v + 1e-3) - law._cdf(v - 1e-3)) / 2e-3 for v in x]
    np.testing.assert_allclose([law._pdf(v) for v in x], density, atol=1e-6)


def test_cumulants_of_light_trials():
    rng = np.random.default_rng(5)
    w, p, t = rng.random(50), rng.random(50), np.array([0.05, 0.2])
    exact = [np.sum(np.log(1 - p + p * np.exp(1j * w * s)) - 1j * w * p * s) for s in t]
    np.testing.assert_allclose(cumulant_series(w, p, t), exact, atol=1e-12)


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


def test_lighter_trials_lumped_as_normal(monkeypatch):
    rng = np.random.default_rng(12)
    w, p = rng.random(600) + 0.5, 0.05 + 0.9 * rng.random(600)
    full = RoundedLaw.of_trials(w, p)
    monkeypatch.setattr(weight_lattice, "MOST_SINGLE", 100)
    lumped = RoundedLaw.of_trials(w, p)
    x = full.mean + full.std * np.linspace(-3, 3, 31)
    np.testing.assert_allclose(lumped.cdf(x), full.cdf(x), atol=2e-3)


@pytest.mark.parametrize("ratio", [1e4, 1e8, 1e12])
def test_one_weight_towers_above_the_rest(ratio):
    rng = np.random.default_rng(10)
    w, p = rng.random(100) + 0.5, np.full(100, 0.1)
    light = BernoulliSum(w, p)
    law = BernoulliSum(np.append(w, ratio), np.append(p, 1e-9))
    assert law.mean == pytest.approx(light.mean + 1e-9 * ratio) and law.std >= light.std
    np.testing.assert_allclose(law.ppf([0.025, 0.5, 0.975]), light.ppf([0.025, 0.5, 0.975]), rtol=1e-3)
    assert law.sf(ratio / 2) == pytest.approx(1e-9, rel=1e-3)
    likely = BernoulliSum(np.append(w, ratio), np.append(p, 0.4))
    assert likely.ppf(0.3) == pytest.approx(light.ppf(0.5), rel=1e-3)
    assert likely.ppf(0.8) == pytest.approx(ratio + light.ppf(0.5), rel=1e-3)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scale_of_the_weights_does_not_matter(scale):
    rng = np.random.default_rng(8)
    w, p = rng.random(60), rng.random(60) * 0.2
    a, b = WeightedBernoulliSum(w, p), WeightedBernoulliSum(w * scale, p)
    assert a.mean == pytest.approx(b.mean) and a.std == pytest.approx(b.std)
    assert a.cdf(0.1) == pytest.approx(b.cdf(0.1), abs=1e-9)
    assert BernoulliSum(w * scale, p).std == pytest.approx(scale * BernoulliSum(w, p).std)


def test_nothing_uncertain():
    law = WeightedBernoulliSum([1.0, 3.0], [1.0, 0.0])
    assert law.mean == 0.25 and law.std == 0 and law.ppf(0.5) == 0.25
    assert law.cdf([0.2, 0.25]).tolist() == [0, 1]


def test_survives_pickling():
    rng = np.random.default_rng(9)
    for n in (5, 50, 400):
        law = WeightedBernoulliSum(rng.random(n), rng.random(n))
        assert pickle.loads(pickle.dumps(law)).cdf(0.5) == law.cdf(0.5)
