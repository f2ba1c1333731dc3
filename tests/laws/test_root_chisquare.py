"""Law of the square root: moments without cancellation, reference values, limits."""

import json
import math
import pickle
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from scorebars.laws.law import SquareRoot
from scorebars.laws.quadratic.chisquare import GeneralizedChiSquare

CASES = json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]


@pytest.mark.parametrize("case", [c for c in CASES if c["metric"] == "rmse"], ids=lambda c: c["id"])
def test_reference(case):
    inputs, exact = case["inputs"], case["exact"]
    delta = np.array(inputs["y"]) - np.array(inputs["y_pred"])
    law = SquareRoot(GeneralizedChiSquare.independent(delta, np.array(inputs["sigma"])))
    np.testing.assert_allclose(law.mean, float(exact["mean"]), rtol=1e-14)
    np.testing.assert_allclose(law.var, float(exact["var"]), rtol=1e-14)
    for point in exact["cdf"]:
        np.testing.assert_allclose(law.cdf(point["x"]), float(point["p"]), rtol=1e-14)
        np.testing.assert_allclose(law.ppf(law.cdf(point["x"])), point["x"], rtol=1e-13)


@pytest.mark.parametrize("sigma", [1e-8, 1e-5, 1e-2, 0.1, 0.3, 1.0, 10.0, 1e4, 1e8])
@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_one_label_is_a_folded_normal(delta, sigma):
    law = SquareRoot(GeneralizedChiSquare.independent(np.array([delta]), np.array([sigma])))
    with mp.workdps(60):
        d, s = mp.mpf(delta), mp.mpf(sigma)
        mean = s * mp.sqrt(2 / mp.pi) * mp.exp(-((d / s) ** 2) / 2) + d * mp.erf(d / s / mp.sqrt(2))
        var = d * d + s * s - mean * mean
    np.testing.assert_allclose(law.mean, float(mean), rtol=1e-14)
    np.testing.assert_allclose(law.var, float(var), rtol=1e-13)
    folded = stats.foldnorm(delta / sigma, scale=sigma)
    np.testing.assert_allclose(law.ppf(0.9), folded.ppf(0.9), rtol=1e-9)
    np.testing.assert_allclose(law.pdf([0.0, 0.5 * sigma]), folded.pdf([0.0, 0.5 * sigma]), rtol=1e-12)


@pytest.mark.parametrize(("m", "noncentrality"), [(2, 0.0), (7, 3.0), (100, 50.0), (10**5, 1e3)])
def test_constant_sigma_has_a_closed_mean(m, noncentrality):
    law = SquareRoot(GeneralizedChiSquare.independent(np.full(m, math.sqrt(noncentrality / m)), 1.0))
    with mp.workdps(50):
        ratio = mp.gamma(mp.mpf(m + 1) / 2) / mp.gamma(mp.mpf(m) / 2)
        mean = mp.sqrt(mp.mpf(2) / m) * ratio * mp.hyp1f1(-0.5, mp.mpf(m) / 2, -mp.mpf(noncentrality) / 2)
        var = 1 + mp.mpf(noncentrality) / m - mean**2
    np.testing.assert_allclose(law.mean, float(mean), rtol=1e-14)
    np.testing.assert_allclose(law.var, float(var), rtol=1e-12)


@pytest.mark.parametrize("n", [3, 2000])
def test_moments_by_simulation_and_labels_without_error(n):
    rng = np.random.default_rng(1)
    delta, sigma = rng.normal(size=n), rng.lognormal(0, 1, n)
    sigma[0] = 0
    law = SquareRoot(GeneralizedChiSquare.independent(delta, sigma))
    draws = np.sqrt(np.mean((delta + sigma * rng.standard_normal((4000, n))) ** 2, axis=1))
    assert draws.mean() == pytest.approx(law.mean, abs=5 * law.std / 63)
    assert draws.std() == pytest.approx(law.std, rel=0.12)
    assert law.support == (pytest.approx(abs(delta[0]) / math.sqrt(n), rel=1e-14), math.inf)
    assert stats.kstest(law.rvs(4000, rng=2), draws).pvalue > 1e-4
    assert law.pdf(law.support[0]) == (0 if n > 3 else pytest.approx(law.pdf(law.support[0] * (1 + 1e-13)), rel=1e-5))


def test_shared_shifts():
    rng = np.random.default_rng(2)
    n = 260
    delta, variance, shared = rng.normal(size=n), rng.lognormal(size=n), 0.5 * rng.normal(size=(1, n))
    thin = SquareRoot(GeneralizedChiSquare.low_rank(delta, variance, shared))
    dense = SquareRoot(GeneralizedChiSquare.covariance(delta, np.diag(variance) + shared.T @ shared))
    np.testing.assert_allclose(thin.mean, dense.mean, rtol=1e-14)
    np.testing.assert_allclose(thin.var, dense.var, rtol=1e-12)


def test_point_mass_and_pickle():
    law = SquareRoot(GeneralizedChiSquare.independent(np.array([3.0, 4.0]), 0.0))
    root = math.sqrt(12.5)
    assert law.mean == root and law.var == 0 and law.ppf(0.2) == root and law.pdf(root) == math.inf
    assert law.cdf([root - 0.1, root]).tolist() == [0, 1] and law.rvs(rng=0) == root
    law = SquareRoot(GeneralizedChiSquare.independent(np.array([3.0, 4.0]), 1.0))
    assert law.mean > 0 and pickle.loads(pickle.dumps(law)).mean == law.mean
    assert law.pdf(0.0) < 1e-50
