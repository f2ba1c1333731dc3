"""Intrinsic scatter: published values, independent maximisation, limits, coverage and bad input."""

import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2, norm

import scorebars as sb
from scorebars.datasets import load_blackholes, load_nuclear_masses
from scorebars.metrics.chi_squared import intrinsic_scatter

METHODS = ("ml", "chi2")


def sample(n, tau, seed, offset=0.0):
    rng = np.random.default_rng(seed)
    s = rng.lognormal(-0.5, 0.6, n)
    return offset + rng.standard_normal(n) * np.hypot(tau, s), s


def scatter(d, s, **more):
    return intrinsic_scatter(d, np.zeros(len(d)), yerr=s, **more)


# published values --------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "sigma_th"), [("FRDM2012", 0.559538), ("FRLDM2012", 0.661855)])
def test_nuclear_mass_models(model, sigma_th):
    masses = load_nuclear_masses()
    found = intrinsic_scatter(masses.y, masses.predictions[model], yerr=masses.yerr)
    assert found == pytest.approx(sigma_th, abs=1e-6)
    assert found == pytest.approx(masses.published[model]["sigma_th"], abs=1e-4)
    assert found.method == "ml" and ("heavy tails" in found.note) == (model == "FRDM2012")


def test_black_holes():
    holes = load_blackholes()
    found = intrinsic_scatter(
        holes.y,
        holes.predictions["Msigma"],
        yerr=holes.yerr,
        prederr=holes.columns["prederr_Msigma"],
        sample_weight=holes.columns["weight"],
        method="chi2",
    )
    assert found == pytest.approx(0.38029, abs=1e-5) and found.method == "chi2"
    s2 = holes.yerr.mean(axis=0) ** 2 + holes.columns["prederr_Msigma"] ** 2
    d, w = holes.y - holes.predictions["Msigma"], holes.columns["weight"]
    assert np.sum(w * d**2 / (found**2 + s2)) == pytest.approx(np.sum(w), rel=1e-12)


# independent methods -----------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_general_solver_finds_the_same_maximum(offset, weighted):
    d, s = sample(60, 0.8, seed=1, offset=0.4)
    w = np.random.default_rng(2).uniform(0.5, 2, 60) if weighted else np.ones(60)

    def cost(theta):
        return -np.sum(w * norm.logpdf(d, theta[1] if offset else 0.0, np.hypot(theta[0], s)))

    best = minimize(cost, [1.0, 0.1], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}).x
    found = scatter(d, s, offset=offset, sample_weight=w if weighted else None)
    assert found == pytest.approx(abs(best[0]), rel=1e-6)


def leaning(part, level):
    """How much farther out the upper end lies: by half the skewness of a sum of normal squares, times (2 z^2 + 1)/6."""
    z = norm.ppf((1 + level) / 2)
    return 0.5 * 8 * np.sum(part**3) / (2 * np.sum(part**2)) ** 1.5 * (2 * z * z + 1) / 6


@pytest.mark.parametrize("offset", [False, True])
def test_std_and_interval_are_those_of_the_profile(offset):
    d, s = sample(50, 0.8, seed=3, offset=0.5)
    found = scatter(d, s, offset=offset)

    def height(tau):
        variance = tau**2 + s**2
        mu = np.sum(d / variance) / np.sum(1 / variance) if offset else 0.0
        return float(np.sum(norm.logpdf(d, mu, np.sqrt(variance))))

    h = 1e-4
    curvature = -(height(found + h) - 2 * height(found) + height(found - h)) / h**2
    assert found.std == pytest.approx(1 / math.sqrt(curvature), rel=1e-4)
    for level in (0.6827, 0.95):
        low, high = found.interval(level)
        assert 2 * (height(found) - height(low)) == pytest.approx(chi2.ppf(level, 1), rel=1e-8)
        z = math.sqrt(chi2.ppf(level, 1)) + leaning(1 / (found**2 + s**2), level)
        assert 2 * (height(found) - height(high)) == pytest.approx(z * z, rel=1e-8)
    assert found.total_interval(0.9) == found.interval(0.9)


def test_chi_squared_interval_holds_its_law():
    d, s = sample(50, 0.8, seed=4)
    low, high = scatter(d, s, method="chi2").interval(0.9)
    assert np.sum(d**2 / (low**2 + s**2)) == pytest.approx(chi2.ppf(0.95, 50), rel=1e-10)
    farther = norm.sf(norm.ppf(0.95) + leaning(np.ones(50), 0.9))
    assert np.sum(d**2 / (high**2 + s**2)) == pytest.approx(chi2.ppf(farther, 50), rel=1e-10)


def test_equal_errors_have_a_closed_form():
    d, _ = sample(40, 1.5, seed=5)
    for method in METHODS:
        assert scatter(d, 0.5, method=method) == pytest.approx(math.sqrt(np.mean(d**2) - 0.25), rel=1e-12)
        assert scatter(d, 0.0, method=method) == pytest.approx(math.sqrt(np.mean(d**2)), rel=1e-12)
    assert scatter(d, 0.5, offset=True) == pytest.approx(math.sqrt(np.var(d) - 0.25), rel=1e-12)
    # std of a standard deviation: sigma / sqrt(2 n), with sigma^2 = tau^2 + s^2
    tau = float(scatter(d, 0.5))
    assert scatter(d, 0.5).std == pytest.approx((tau**2 + 0.25) / (tau * math.sqrt(80)), rel=1e-9)
    assert scatter(d, 0.5, method="chi2").std == pytest.approx((tau**2 + 0.25) / (tau * math.sqrt(80)), rel=1e-9)


# limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("offset", [False, True])
def test_no_scatter_beyond_the_errors(method, offset):
    rng = np.random.default_rng(6)
    found = scatter(0.3 * rng.standard_normal(20), 1.0, method=method, offset=offset)
    assert found == 0 and "no larger than the errors" in found.note
    assert found.interval(0.9).low == 0 and found.std >= 0


def test_no_scatter_has_an_upper_limit():
    rng = np.random.default_rng(7)
    found = scatter(0.8 * rng.standard_normal(20), 1.0)
    assert found == 0 and 0 < found.interval(0.68).high < found.interval(0.95).high < 2
    assert found.std == pytest.approx(found.interval(math.erf(math.sqrt(0.5))).high)


@pytest.mark.parametrize("method", METHODS)
def test_few_labels(method):
    assert scatter([3.0], 1.0, method=method) == pytest.approx(math.sqrt(8))
    assert scatter([0.5], 1.0, method=method) == 0
    assert scatter([2.0], 0.0, method=method) == pytest.approx(2.0)
    low, high = scatter([3.0], 1.0, method=method).interval(0.95)
    assert 0 <= low < math.sqrt(8) < high < math.inf
    assert scatter([3.0, -3.0], 0.0, offset=True, method=method) == pytest.approx(3.0)


@pytest.mark.parametrize("method", METHODS)
def test_all_residuals_zero(method):
    for s in (0.0, 1.0, [0.0, 0.0, 2.0]):
        found = intrinsic_scatter([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], yerr=s, method=method)
        assert found == 0 and found.std >= 0 and found.interval().low == 0


def test_labels_without_error():
    """They alone fix the scatter where they are many; an exact agreement of all of them means none."""
    d, s = sample(400, 0.8, seed=8)
    s[:200] = 0
    d[:200] = 0.8 * np.random.default_rng(9).standard_normal(200)
    for method in METHODS:
        assert scatter(d, s, method=method) == pytest.approx(0.8, abs=0.1)
    met = scatter([0.0, 0.0, 5.0], [0.0, 0.0, 1.0])
    assert met == 0 and "met exactly" in met.note and met.interval() == (0, 0)
    shifted = scatter([2.0, 2.0, 5.0], [0.0, 0.0, 1.0], offset=True)
    assert shifted == 0 and "met exactly" in shifted.note
    with pytest.raises(sb.UndefinedEstimate, match="one label without error"):
        scatter([2.0, 3.0, 5.0], [0.0, 1.0, 1.0], offset=True)
    assert math.isfinite(scatter([2.0, 3.0, 5.0], [0.0, 1.0, 1.0], offset=True, method="chi2"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ratio", [1e-8, 1e8])
def test_errors_of_any_size(method, ratio):
    d, _ = sample(30, 1.0, seed=10)
    for s in (np.full(30, ratio), np.where(np.arange(30) % 2, ratio, 0.5), np.where(np.arange(30) % 2, ratio, 0.0)):
        found = scatter(d, s, method=method)
        low, high = found.interval()
        assert 0 <= low <= found <= high < math.inf and math.isfinite(found.std)


# properties --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("offset", [False, True])
def test_unit_order_sign_and_weight_scale_do_not_matter(method, offset):
    d, s = sample(40, 0.7, seed=11, offset=0.3)
    w = np.random.default_rng(12).uniform(0.5, 2, 40)

    def answers(d, s, w):
        found = scatter(d, s, method=method, offset=offset, sample_weight=w)
        return np.array([float(found), found.std, *found.interval(0.9)])

    one, mixed = answers(d, s, w), np.random.default_rng(13).permutation(40)
    assert answers(d[mixed], s[mixed], w[mixed]) == pytest.approx(one, rel=1e-9)
    assert answers(-d, s, w) == pytest.approx(one, rel=1e-9)
    assert answers(d, s, 1e5 * w) == pytest.approx(one, rel=1e-9)
    for unit in (1e-250, 1e-3, 1e250):
        assert answers(d * unit, s * unit, w) / unit == pytest.approx(one, rel=1e-9)
    if offset:
        assert answers(d + 5, s, w) == pytest.approx(one, rel=1e-8)


def test_errors_in_every_form():
    d, s = sample(30, 0.7, seed=14)
    y, zero = d + 10, np.full(30, 10.0)
    plain = float(intrinsic_scatter(y, zero, yerr=s))
    assert float(intrinsic_scatter(y, zero, yerr=sb.Normal(s))) == plain
    assert float(intrinsic_scatter(y, zero, yerr=np.stack([0.5 * s, 1.5 * s]))) == pytest.approx(plain, rel=1e-12)
    assert float(intrinsic_scatter(y, zero, yerr=sb.SplitNormal(0.5 * s, 1.5 * s))) == pytest.approx(plain, rel=1e-12)
    assert float(intrinsic_scatter(y, zero, yerr=0.6 * s, prederr=0.8 * s)) == pytest.approx(plain, rel=1e-12)
    both_sides = np.stack([0.4 * s, 1.2 * s])
    assert float(intrinsic_scatter(y, zero, yerr=0.6 * s, prederr=both_sides)) == pytest.approx(plain, rel=1e-12)
    assert float(intrinsic_scatter(y, zero, yerr=0.0, prederr=0.3)) == float(intrinsic_scatter(y, zero, yerr=0.3))
    assert float(intrinsic_scatter(y, zero, yerr=None)) == pytest.approx(math.sqrt(np.mean(d**2)))


def test_labels_of_no_weight_are_not_there():
    d, s = sample(30, 0.7, seed=15)
    found = scatter(np.append(d, 1e9), np.append(s, 0.0), sample_weight=np.append(np.ones(30), 0.0))
    assert float(found) == pytest.approx(float(scatter(d, s)), rel=1e-12)
    assert found.interval() == pytest.approx(scatter(d, s).interval(), rel=1e-9)


def test_pickle():
    d, s = sample(30, 0.7, seed=16)
    for method in METHODS:
        for found in (scatter(d, s, method=method), scatter(0.1 * d, s, method=method)):
            again = pickle.loads(pickle.dumps(found))
            assert (again, again.std, again.interval(0.8)) == (found, found.std, found.interval(0.8))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tau", [0.8, pytest.param(0.2, marks=pytest.mark.slow)])
def test_coverage(method, tau):
    inside, values = [], []
    for seed in range(200):
        d, s = sample(40, tau, seed)
        found = scatter(d, s, method=method)
        low, high = found.interval(0.9)
        inside.append(low <= tau <= high)
        values.append(float(found))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.07)
    assert np.median(values) == pytest.approx(tau, abs=0.1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("law", "n"), [("normal", 30), ("laplace", 30), ("laplace", 100), ("t5", 30)])
def test_heavy_tails(method, law, n):
    """With the scatter of the scores alone 95 % intervals of 30 Laplace or t5 residuals held .88 to .89."""
    draw, tau = {
        "normal": (lambda rng: rng.standard_normal(n), 1.0),
        "laplace": (lambda rng: rng.laplace(size=n), math.sqrt(2)),
        "t5": (lambda rng: rng.standard_t(5, n), math.sqrt(5 / 3)),
    }[law]
    inside = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        low, high = scatter(draw(rng) + 0.3 * rng.standard_normal(n), 0.3, method=method).interval(0.95)
        inside.append(low <= tau <= high)
    assert 0.92 <= np.mean(inside) <= 0.98


@pytest.mark.parametrize("method", METHODS)
def test_heavy_tails_are_said(method):
    outliers = np.random.default_rng(1).standard_t(3, 300)
    assert "heavy tails" in scatter(outliers, 0.3, method=method).note


@pytest.mark.parametrize("method", METHODS)
def test_scatter_that_grows_with_the_error_is_said(method):
    rng = np.random.default_rng(18)
    s = rng.lognormal(0, 0.5, 200)
    grows = scatter(s * rng.standard_normal(200) * math.sqrt(2), s, method=method)
    assert "seen to follow the label errors" in grows.note
    same = scatter(rng.standard_normal(200) * np.hypot(1, s), s, method=method)
    assert same.note == ""


def test_many_labels():
    rng = np.random.default_rng(17)
    s = rng.lognormal(0, 1, 300_000)
    d = rng.standard_normal(300_000) * np.hypot(0.7, s)
    for method in METHODS:
        found = scatter(d, s, method=method)
        assert found == pytest.approx(0.7, abs=4 * found.std) and found.std < 0.01


# bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"method": "reml"}, "method must be 'ml' .* or 'chi2' .*, got 'reml'"),
        ({"prederr": [0.1, 0.2]}, r"prederr has shape \(2,\) but there are 3 predictions"),
        ({"prederr": [0.1, -0.2, 0.1]}, "prederr has negative values: the first is -0.2 at index 1, 1 in all"),
        ({"prederr": [0.1, math.nan, 0.1]}, "prederr contains NaN"),
        ({"yerr": [0.1, -0.2, 0.1]}, "yerr has negative values: the first is -0.2 at index 1"),
        ({"yerr": [0.1, math.inf, 0.1]}, "yerr contains infinity"),
        ({"yerr": sb.Normal(cov=np.eye(3))}, "needs independent errors"),
        ({"yerr": sb.Normal(0.1, kind="berkson")}, "needs classical errors"),
        ({"yerr": sb.Flip(0.1)}, "describes class labels"),
        ({"y_true": [1.0, math.nan, 2.0]}, "y_true contains NaN"),
        ({"sample_weight": [1.0, 0.0, 0.0], "offset": True}, "offset=True needs at least 2 labels"),
        (
            {"y_true": np.ones((3, 2)), "y_pred": np.ones((3, 2))},
            "Multioutput not supported in intrinsic_scatter: y_true has 2 outputs",
        ),
    ],
)
def test_bad_input(more, text):
    arguments = {"y_true": [1.0, 2.0, 3.0], "y_pred": [1.5, 2.0, 2.0], "yerr": 0.1} | more
    with pytest.raises(ValueError, match=text):
        intrinsic_scatter(**arguments)
