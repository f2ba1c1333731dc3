"""Law of the median absolute error: order statistics, draws, exact labels, many labels."""

import math
import pickle

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import ndtr, ndtri
from scipy.stats import beta, kstest

from scorebars.laws.mean_absolute.independent_labels import FoldedNormalMean
from scorebars.laws.order import median
from scorebars.laws.order.median import median_law
from scorebars.numerics.special import folded_mean, folded_variance


def problem(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, n), rng.uniform(0.2, 1.0, n)


def drawn(delta, sigma, count):
    rng = np.random.default_rng(11)
    return np.median(np.abs(delta + sigma * rng.standard_normal((count, delta.size))), axis=1)


def test_one_label_and_two():
    one = median_law([0.3], [0.5])
    assert one.mean == pytest.approx(folded_mean(0.3, 0.5), rel=1e-12)
    assert one.var == pytest.approx(folded_variance(0.3, 0.5), rel=1e-10)
    # the median of two is their mean
    two, mean = median_law([0.3, -1.0], [0.5, 0.2]), FoldedNormalMean([0.3, -1.0], [0.5, 0.2])
    assert two.mean == pytest.approx(mean.mean, rel=1e-12)
    assert two.var == pytest.approx(mean.var, rel=1e-9)
    for x in (0.3, 0.6, 1.0):
        assert two.cdf(x) == pytest.approx(mean.cdf(x), abs=1e-12)
        assert two.sf(x) == pytest.approx(mean.sf(x), abs=1e-12)


def test_equal_labels_are_order_statistics():
    n = 9
    law = median_law(np.zeros(n), 1.0)
    x = np.array([0.2, 0.6, 1.1])
    assert law.cdf(x) == pytest.approx(beta(5, 5).cdf(2 * ndtr(x) - 1), rel=1e-12)
    q = np.array([0.1, 0.5, 0.99])
    assert law.ppf(q) == pytest.approx(ndtri(0.5 + 0.5 * beta(5, 5).ppf(q)), rel=1e-10)


@pytest.mark.parametrize("n", [3, 4, 21, 40, 150, 301])
def test_follows_draws(n):
    delta, sigma = problem(n, n)
    law = median_law(delta, sigma)
    draws = drawn(delta, sigma, 4000)
    assert draws.mean() == pytest.approx(law.mean, abs=4 * law.std / math.sqrt(4000))
    assert draws.std() == pytest.approx(law.std, rel=0.06)
    for q in (0.05, 0.5, 0.95):
        share = np.mean(draws <= law.ppf(q))
        assert share == pytest.approx(q, abs=4.5 * math.sqrt(q * (1 - q) / 4000))
    x = law.ppf(0.3)
    assert law.cdf(x) == pytest.approx(0.3, abs=1e-9)
    assert law.cdf(x) + law.sf(x) == pytest.approx(1.0, abs=1e-9)
    assert law.pdf(x) > 0


@pytest.mark.parametrize("n", [4, 5, 30, 151, 300])
def test_exact_labels(n):
    delta, sigma = problem(n, n + 1)
    sigma[::3] = 0.0
    law = median_law(delta, sigma)
    draws = drawn(delta, sigma, 4000)
    assert draws.mean() == pytest.approx(law.mean, abs=4 * law.std / math.sqrt(4000) + 1e-12)
    assert draws.std() == pytest.approx(law.std, rel=0.06)
    for x in np.quantile(draws, [0.2, 0.5, 0.8]) + 1e-7:
        assert law.cdf(x) == pytest.approx(np.mean(draws <= x), abs=0.036)


@pytest.mark.parametrize("n", [4, 26, 102, 2500])
@pytest.mark.parametrize("gap", [0.01, 1.0, 30.0])
def test_precise_labels_around_a_gap_in_the_middle(n, gap):
    """The two middle labels are always the same, so their mean is normal."""
    size = np.linspace(10, 10 + 0.01 * (n - 2) / 2, n)  # about 0.005 apart
    size[n // 2 :] += gap
    sigma = np.random.default_rng(n).uniform(1e-6, 2e-5, n)
    sigma[0] = 0.0
    law = median_law(size * np.where(np.arange(n) % 3, 1, -1), sigma)
    mean, std = np.median(size), 0.5 * math.hypot(*sigma[n // 2 - 1 : n // 2 + 1])
    assert law.mean == pytest.approx(mean, abs=1e-9 * std + 1e-13)
    assert law.std == pytest.approx(std, rel=1e-9)
    q = np.array([0.001, 0.025, 0.5, 0.975, 0.999])
    assert law.ppf(q) == pytest.approx(mean + std * ndtri(q), abs=1e-9 * std + 1e-13)
    assert law.method == "exact"


@pytest.mark.parametrize("n", [26, 200, 201, 1000])
@pytest.mark.parametrize("error", [0.05, 0.5, 5.0])
def test_errors_about_as_large_as_the_distance_of_labels(n, error):
    rng = np.random.default_rng(n)
    delta, sigma = rng.uniform(0, 1, n), error / n * rng.uniform(0.5, 1.5, n)
    law, draws = median_law(delta, sigma), drawn(delta, sigma, 4000)
    assert draws.mean() == pytest.approx(law.mean, abs=4 * law.std / math.sqrt(4000))
    assert draws.std() == pytest.approx(law.std, rel=0.06)
    for q in (0.025, 0.5, 0.975):
        assert np.mean(draws <= law.ppf(q)) == pytest.approx(q, abs=4.5 * math.sqrt(q * (1 - q) / 4000))


@pytest.mark.parametrize("n", [30, 31, 50])
@pytest.mark.parametrize("spread", [0.1, 0.7])
def test_table_agrees_with_the_formula(n, spread, monkeypatch):
    rng = np.random.default_rng(n)
    delta, sigma = rng.normal(0, 1, n), np.exp(rng.normal(-1, spread, n))
    table = median_law(delta, sigma)
    monkeypatch.setattr(median, "_FEW", 50)
    formula = median_law(delta, sigma)
    assert isinstance(formula, median._MiddleErrors)
    x = formula.ppf([1e-4, 0.1, 0.5, 0.9])
    assert table.cdf(x) == pytest.approx(formula.cdf(x), abs=1e-8)
    assert table.mean == pytest.approx(formula.mean, rel=1e-9)
    assert table.var == pytest.approx(formula.var, rel=1e-7)


def test_steps_are_drawn():
    """A few exact labels among an even number."""
    delta, sigma = problem(30, 5)
    sigma[:3] = 0.0
    law = median_law(delta, sigma)
    assert law.method == "simulation"
    draws = drawn(delta, sigma, 40_000)
    assert law.cdf(np.quantile(draws, [0.1, 0.5, 0.9]) + 1e-9) == pytest.approx([0.1, 0.5, 0.9], abs=0.01)


@pytest.mark.parametrize("n", [2500, 2501])
def test_many_labels(n):
    delta, sigma = problem(n, 6)
    law = median_law(delta, sigma)
    draws = drawn(delta, sigma, 1000)
    assert draws.mean() == pytest.approx(law.mean, abs=4 * law.std / math.sqrt(1000))
    assert draws.std() == pytest.approx(law.std, rel=0.1)
    q = np.array([0.025, 0.5, 0.975])
    assert law.cdf(law.ppf(q)) == pytest.approx(q, abs=1e-9)
    assert np.mean(draws <= law.ppf(0.5)) == pytest.approx(0.5, abs=0.07)


@pytest.mark.parametrize("n", [3, 4])
def test_all_labels_exact(n):
    delta = np.array([1.0, -2.0, 0.5, 0.75])[:n]
    law = median_law(delta, 0.0)
    value = np.median(np.abs(delta))
    assert (law.mean, law.var, law.ppf(0.2), law.cdf(value), law.cdf(value - 0.01)) == (value, 0.0, value, 1.0, 0.0)


def test_units_do_not_matter():
    delta, sigma = problem(8, 9)
    law, other = median_law(delta, sigma), median_law(2.0**40 * delta, 2.0**40 * sigma)
    assert other.mean == pytest.approx(2.0**40 * law.mean, rel=1e-12)
    assert other.std == pytest.approx(2.0**40 * law.std, rel=1e-10)


def test_draws_and_pickle():
    law = median_law(*problem(7, 10))
    assert kstest(law.rvs(500, rng=1), law.cdf).pvalue > 0.001
    assert isinstance(law.rvs(rng=1), float)
    x = law.ppf(0.4)
    assert pickle.loads(pickle.dumps(law)).ppf(0.4) == x


@pytest.mark.parametrize("seed", range(4))
def test_small_errors_among_others_are_steps_of_an_exact_law(seed):
    """Only labels that may lie on either side of the middle count: they give what one product over all labels gives."""
    rng = np.random.default_rng(seed)
    size, sigma = np.abs(rng.normal(size=151)), rng.uniform(0.2, 0.6, 151)
    small = rng.random(151) < 0.25
    sigma[small] = 10.0 ** rng.uniform(-6, -2, np.count_nonzero(small))
    sigma[np.flatnonzero(small)[:3]] = 0.0
    found = median.median_law(size, sigma)
    assert found.method == "exact"
    direct = median._MiddleErrors(size, sigma, 76, False, (0.0, 10.0))
    x = found.ppf(np.array([1e-4, 0.025, 0.2, 0.5, 0.8, 0.975]))
    np.testing.assert_allclose(found.cdf(x), direct.tails(x)[0], atol=1e-9)
    grid = np.linspace(*found.ends, 20_001)
    over = direct.tails(grid)[1]
    assert float(found.mean) == pytest.approx(grid[0] + trapezoid(over, grid), abs=1e-4 * float(found.std))
    square = 2 * trapezoid((grid - grid[0]) * over, grid) - trapezoid(over, grid) ** 2
    assert float(found.std) == pytest.approx(np.sqrt(square), rel=1e-3)
