"""Laws of R2, explained variance and concordance: reference values, F laws, simulation, limits."""

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, roots_legendre
from unequal_errors import require_drawn_law, unequal

from scorebars.laws.quadratic.quadratic_form import Components
from scorebars.laws.quadratic.ratio import ConcordanceLaw, ExplainedVarianceLaw, R2Law

CASES = {
    c["id"]: c for c in json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
}
LAWS = {"r2": R2Law, "explained variance": ExplainedVarianceLaw, "concordance": ConcordanceLaw}


def metric(kind, y, p, weight):
    """The metric of each row of y."""
    w = weight / np.sum(weight)
    mean, mean_p = y @ w, p @ w
    b = (y - mean[:, None]) ** 2 @ w
    if kind == "r2":
        return 1 - (y - p) ** 2 @ w / b
    if kind == "explained variance":
        d = y - p
        return 1 - (d - (d @ w)[:, None]) ** 2 @ w / b
    return 2 * (y * (p - mean_p)) @ w / ((p - mean_p) ** 2 @ w + b + (mean - mean_p) ** 2)


@pytest.mark.parametrize(("case", "kind"), [("r2_M7", "r2"), ("ccc_M7", "concordance")])
def test_reference(case, kind):
    inputs, exact = CASES[case]["inputs"], CASES[case]["exact"]
    y, p, sigma = (np.array(inputs[key]) for key in ("y", "y_pred", "sigma"))
    law = LAWS[kind].of_labels(y, p, sigma)
    np.testing.assert_allclose(law.mean, float(exact["mean"]), rtol=1e-13)
    np.testing.assert_allclose(law.var, float(exact["var"]), rtol=1e-12)
    for point in exact.get("cdf", []):
        np.testing.assert_allclose(law.cdf(point["x"]), float(point["p"]), rtol=1e-10)
        np.testing.assert_allclose(law.ppf(float(point["p"])), point["x"], rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 9, 40, 3000])
def test_r2_of_a_constant_prediction_is_an_f_law(n):
    """With mu = p = 0 and equal sigma, R2 = -F / (n - 1) with F of 1 and n - 1 degrees of freedom."""
    law, f = R2Law.of_labels(np.zeros(n), np.zeros(n), 0.7), stats.f(1, n - 1)
    assert law.mean == (-math.inf if n <= 3 else pytest.approx(-1 / (n - 3), rel=1e-13))
    assert law.var == (math.inf if n <= 5 else pytest.approx(f.var() / (n - 1) ** 2, rel=1e-12))
    for q in (0.01, 0.3, 0.9):
        np.testing.assert_allclose(law.ppf(q), -f.isf(q) / (n - 1), rtol=1e-9)
        x = -f.isf(q) / (n - 1)
        np.testing.assert_allclose(law.cdf(x), q, rtol=1e-10)
        np.testing.assert_allclose(law.pdf(x), (n - 1) * f.pdf(-(n - 1) * x), rtol=1e-8)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("seed", [10, 29, 53, 86, 88, 107, 118])
def test_errors_of_very_different_size(kind, seed):
    y, p, sigma, weight = unequal(seed)
    rng = np.random.default_rng(0)
    drawn = y + sigma * rng.standard_normal((20_000, y.size))
    law = LAWS[kind].of_labels(y, p, sigma, weight)
    require_drawn_law(law, metric(kind, drawn, p, np.ones(y.size) if weight is None else weight))


def test_distribution_function_where_nothing_is_quadratic():
    """At x = 0 the form loses its quadratic part."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=30)
    law = R2Law.of_labels(y, y + rng.normal(size=30), rng.uniform(0.1, 2.0, 30))
    np.testing.assert_allclose(law.cdf(np.array([-1e-12, -1e-300, 0.0, 1e-300, 1e-12])), law.cdf(0.0), rtol=1e-10)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(("n", "noise"), [(3, 1.0), (7, 0.3), (12, 2.0), (400, 1.0)])
def test_simulation(kind, n, noise):
    rng = np.random.default_rng(n)
    mu = 5 + rng.normal(size=n)
    p, sigma = mu + 0.7 * rng.normal(size=n), noise * rng.lognormal(-0.5, 0.7, n)
    weight = rng.exponential(size=n) if n == 12 else None
    if n == 7:
        sigma[2] = 0
    law = LAWS[kind].of_labels(mu, p, sigma, weight)
    draws = metric(kind, mu + sigma * rng.standard_normal((4000, n)), p, np.ones(n) if weight is None else weight)
    assert stats.kstest(law.rvs(4000, rng=1), draws).pvalue > 1e-4
    for q in (0.02, 0.3, 0.7, 0.98):
        assert law.cdf(np.quantile(draws, q)) == pytest.approx(q, abs=5 * math.sqrt(q * (1 - q) / 4000))
    if n > 7:
        assert draws.mean() == pytest.approx(law.mean, abs=5 * law.std / 63)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("n", [6, 30])
def test_moments_are_those_of_the_quantiles(kind, n):
    """The integrals for the moments and the contour integrals for the distribution function know nothing of each other."""
    rng = np.random.default_rng(3)
    mu = rng.normal(size=n)
    law = LAWS[kind].of_labels(mu, mu + 0.5 * rng.normal(size=n), 0.2 * rng.lognormal(0, 0.5, n))
    nodes, weights = roots_legendre(40)
    z = 9 * nodes
    values = law.ppf(ndtr(z))
    density = 9 * weights * stats.norm.pdf(z)
    np.testing.assert_allclose(density @ values, law.mean, rtol=1e-8)
    np.testing.assert_allclose(density @ (values - law.mean) ** 2, law.var, rtol=1e-6)


@pytest.mark.parametrize("kind", LAWS)
def test_compression_changes_nothing(kind):
    rng = np.random.default_rng(5)
    n = 600
    mu = rng.normal(size=n)
    p, sigma = mu + 0.7 * rng.normal(size=n), rng.lognormal(-0.5, 1.0, n)
    law = LAWS[kind].of_labels(mu, p, sigma)
    assert law.components.lam.size < n
    origin = p.mean() if kind == "concordance" else mu.mean()
    x = np.stack([np.ones(n), mu - origin, p - mu], axis=1) / math.sqrt(n)
    full = LAWS[kind](Components(sigma**2 / n, np.ones(n), x[:, :, None] * x[:, None, :]), False)
    np.testing.assert_allclose(law.mean, full.mean, rtol=1e-12)
    np.testing.assert_allclose(law.var, full.var, rtol=1e-12)
    x = law.ppf([1e-6, 0.025, 0.975, 1 - 1e-6])
    np.testing.assert_allclose(law.cdf(x)[:2], full.cdf(x)[:2], rtol=1e-10)
    np.testing.assert_allclose(law.sf(x)[2:], full.sf(x)[2:], rtol=1e-10)


@pytest.mark.parametrize("kind", LAWS)
def test_equal_sigmas_are_one_node(kind):
    rng = np.random.default_rng(6)
    mu, p = rng.normal(size=700), rng.normal(size=700)
    sigma = np.full(700, 0.4)
    law = LAWS[kind].of_labels(mu, p, sigma)
    assert law.components.lam.tolist() == [pytest.approx(0.16 / 700), 0.0]
    sigma[::2] *= 1 + 1e-13  # all different for the machine, the same law
    np.testing.assert_allclose(LAWS[kind].of_labels(mu, p, sigma).mean, law.mean, rtol=1e-10)
    np.testing.assert_allclose(LAWS[kind].of_labels(mu, p, sigma).ppf(0.1), law.ppf(0.1), rtol=1e-9)


@pytest.mark.parametrize("kind", LAWS)
def test_small_errors_keep_all_digits_of_the_variance(kind):
    rng = np.random.default_rng(7)
    mu = rng.normal(size=9)
    p, sigma = mu + 0.3 * rng.normal(size=9), rng.lognormal(size=9)
    value = metric(kind, mu[None], p, np.ones(9))[0]
    slope = [
        (metric(kind, (mu + 1e-6 * e)[None], p, np.ones(9)) - metric(kind, (mu - 1e-6 * e)[None], p, np.ones(9)))[0]
        / 2e-6
        for e in np.eye(9)
    ]
    for size in (1e-5, 1e-8):
        law = LAWS[kind].of_labels(mu, p, size * sigma)
        np.testing.assert_allclose(law.mean, value, rtol=1e-8)
        np.testing.assert_allclose(law.var, size**2 * np.sum((slope * sigma) ** 2), rtol=1e-7)
        low, high = law.ppf([0.1586552539, 0.8413447461])
        np.testing.assert_allclose(0.5 * (high - low), law.std, rtol=1e-4)


@pytest.mark.parametrize("kind", LAWS)
def test_shift_scale_and_order_do_not_matter(kind):
    rng = np.random.default_rng(8)
    mu, p, sigma, weight = rng.normal(size=8), rng.normal(size=8), rng.lognormal(size=8), rng.exponential(size=8)
    law = LAWS[kind].of_labels(mu, p, sigma, weight)
    order = rng.permutation(8)
    other = LAWS[kind].of_labels(7 * mu[order] + 30, 7 * p[order] + 30, 7 * sigma[order], 3 * weight[order])
    np.testing.assert_allclose([other.mean, other.var], [law.mean, law.var], rtol=1e-11)
    np.testing.assert_allclose(other.ppf([0.1, 0.9]), law.ppf([0.1, 0.9]), rtol=1e-10)
    dropped = LAWS[kind].of_labels(
        np.append(mu, 99.0), np.append(p, -5.0), np.append(sigma, 3.0), np.append(weight, 0.0)
    )
    np.testing.assert_allclose(dropped.mean, law.mean, rtol=1e-11)


@pytest.mark.parametrize("law_type", LAWS.values())
def test_exact_labels_are_a_point_mass(law_type):
    mu, p = np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])
    law = law_type.of_labels(mu, p, 0.0)
    value = law.mean
    assert law.var == 0 and law.ppf(0.3) == value and law.cdf(value) == 1 and law.cdf(value - 1e-9) == 0
    assert law.pdf(value) == math.inf and law.pdf(value - 1) == 0 and law.rvs(2, rng=1).tolist() == [value] * 2


def test_values_that_no_error_can_change():
    mu, sigma = np.array([1.0, 2.0, 4.0]), 0.5
    assert ExplainedVarianceLaw.of_labels(mu, np.full(3, 0.1), sigma).ppf(0.2) == 0
    assert ConcordanceLaw.of_labels(mu, np.full(3, 0.1), sigma).var == 0
    equal = np.full(3, 2.0)
    assert R2Law.of_labels(equal, equal, 0.0).mean == 1 and R2Law.of_labels(equal, mu, 0.0).mean == 0
    with pytest.raises(ValueError, match="at least two labels"):
        R2Law.of_labels(np.ones(1), np.ones(1), 0.3)


def test_which_moments_exist():
    rng = np.random.default_rng(10)

    def law(certain, uncertain):
        n = len(certain) + uncertain
        sigma = np.append(np.zeros(len(certain)), np.full(uncertain, 0.5))
        return R2Law.of_labels(
            np.append(certain, rng.normal(size=uncertain)), rng.normal(size=n), sigma * rng.lognormal(size=n)
        )

    assert law([], 3).mean == -math.inf and math.isfinite(law([], 4).mean)
    assert law([], 5).var == math.inf and math.isfinite(law([], 6).var)
    assert law([1.0], 2).mean == -math.inf and math.isfinite(law([1.0], 3).mean)
    assert law([1.0, 1.0], 4).var == math.inf and math.isfinite(law([1.0, 1.0], 5).var)
    assert math.isfinite(law([1.0, 2.0], 1).var)
    assert math.isfinite(R2Law.of_labels(np.array([1.0, 3.0, 4.0]), np.ones(3), np.array([0.0, 1.0, 1.0])).var)


def test_interface():
    law = R2Law.of_labels(np.array([0.0, 1.0, 3.0, 4.0]), np.array([0.5, 1.0, 2.5, 4.0]), 0.3)
    assert law.support == (-math.inf, 1) and law.cdf(1.0) == 1 and law.sf(1.0) == 0 and law.method == "quadrature"
    assert law.ppf([0, 1]).tolist() == [-math.inf, 1]
    assert pickle.loads(pickle.dumps(law)).ppf(0.3) == law.ppf(0.3)
    x = np.array([[0.5, 0.8], [0.9, 0.95]])
    np.testing.assert_allclose(law.cdf(x) + law.sf(x), 1.0, rtol=1e-14)
    assert law.rvs((2, 3), rng=1).shape == (2, 3) and isinstance(law.rvs(rng=1), float)


@pytest.mark.parametrize(("n", "ratio"), [(3, 1e8), (10, 1e7), (100, 1e8)])
def test_errors_that_drown_the_labels(n, ratio):
    """R2 is then just below 0, and rarely above: the distribution function still grows, and follows draws."""
    rng = np.random.default_rng(n)
    y = rng.normal(size=n)
    p, sigma = y + 0.5 * rng.normal(size=n), ratio * 0.5 * rng.uniform(0.5, 1.5, n)
    law = LAWS["r2"].of_labels(y, p, sigma, None)
    x = np.array([-1e-2, -1e-5, -1e-7, -1e-8, 0.0, 1e-9, 1e-8, 1e-7])
    cdf = law.cdf(x)
    assert np.all(np.diff(cdf) >= 0) and cdf[4] > 0.999
    drawn = metric("r2", y + sigma * rng.standard_normal((20_000, n)), p, np.ones(n))
    assert np.all(np.abs(cdf - np.mean(drawn[:, None] <= x, axis=0)) < 5 * np.sqrt(cdf * (1 - cdf) / 20_000) + 1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_explained_variance_of_two_labels_up_to_its_upper_end(seed):
    """With u and q the differences of the two labels and predictions, it is above x if |u - q| < sqrt(1 - x) |u|."""
    rng = np.random.default_rng(seed)
    y, sigma = 3 * rng.normal(size=2), 10 ** rng.uniform(-5, 3, 2)
    p = y + 10 ** rng.uniform(-6, 1) * rng.normal(size=2)
    law = ExplainedVarianceLaw.of_labels(y, p, sigma)
    mean, std, q = y[1] - y[0], math.hypot(*sigma), p[1] - p[0]
    for gap in (1e-15, 1e-12, 1e-9, 1e-7, 1e-3, 0.5):
        x = 1 - gap
        root = math.sqrt(1 - x)
        low, high = np.sort([q / (1 + root), q / (1 - root)])
        sign = -1 if low > mean else 1
        above = abs(ndtr(sign * (high - mean) / std) - ndtr(sign * (low - mean) / std))
        np.testing.assert_allclose([law.sf(x), law.cdf(x)], [above, 1 - above], atol=1e-9)
