"""Distributions from six cumulants agree with the exact ones within their stated error, wherever both are to be had."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

import scorebars as sb
from scorebars.engines.bins import Labels
from scorebars.engines.engine import higher_sums, normal_sums
from scorebars.engines.store import summarise
from scorebars.laws import from_cumulants, from_summary
from scorebars.laws.from_cumulants import ACCURATE, Cumulants
from scorebars.laws.law import Law, SquareRoot
from scorebars.laws.quadratic.ratio import ExplainedVarianceLaw, R2Law

LEVELS = [1e-9, 1e-4, 0.025, 0.3, 0.5, 0.84, 0.975, 0.9999, 1 - 1e-9]
ERRORS = ["uniform", "alike", "lognormal", "some exact", "weighted", "large unit", "small unit"]
METRICS = {
    "squared": ("squares", from_cumulants.squared_law_of_cumulants, from_summary.squared_law_of_store),
    "absolute": ("absolute", from_cumulants.absolute_law_of_cumulants, from_summary.absolute_law),
    "r2": ("ratio", partial(from_cumulants.explained_law, centred=False), partial(from_summary.ratio_law, R2Law)),
    "explained variance": (
        "ratio",
        partial(from_cumulants.explained_law, centred=True),
        partial(from_summary.ratio_law, ExplainedVarianceLaw),
    ),
}


def columns(errors: str, n: int, seed: int = 3) -> tuple[Any, ...]:
    """Labels, biased predictions, errors and weights."""
    rng = np.random.default_rng(seed)
    y = rng.normal(3.0, 1.0, n)
    p, sigma = y + rng.normal(0.2, 0.7, n), rng.uniform(0.1, 1.0, n)
    if errors == "alike":
        sigma = np.full(n, 0.5)
    elif errors == "lognormal":
        sigma = np.exp(rng.normal(-1.0, 0.3, n))
    elif errors == "some exact":
        sigma[::3] = 0.0
    unit = {"large unit": 1e6, "small unit": 1e-7}.get(errors, 1.0)
    return y * unit, p * unit, sigma * unit, rng.uniform(0.0, 3e4, n) if errors == "weighted" else None


def both(metric: str, errors: str, n: int, **options: Any) -> tuple[Any, Law]:
    """By cumulants, and by contour integrals over bins of the same labels."""
    need, by_cumulants, exact = METRICS[metric]
    given = columns(errors, n)
    sums = normal_sums(*given, labels=True)
    higher = higher_sums(*given, need, sums)
    assert higher is not None
    return by_cumulants(higher, **options), exact(summarise(Labels(*given), {need}, sums=sums), **options)


def agree(law: Any, exact: Law) -> None:
    mean, std = float(exact.mean), float(exact.std)
    assert law.method == "saddlepoint" and law.error <= ACCURATE
    assert law.mean == pytest.approx(mean, abs=1e-10 * std)
    assert law.std == pytest.approx(std, rel=1e-10)
    x = mean + std * np.linspace(-6.0, 6.0, 25)
    rounding = 1e-11 if exact.method == "exact" else 1e-10
    np.testing.assert_allclose(law.cdf(x), exact.cdf(x), rtol=0, atol=law.error + rounding)
    np.testing.assert_allclose(law.sf(x), exact.sf(x), rtol=0, atol=law.error + rounding)
    central = x[8:17]
    np.testing.assert_allclose(law.pdf(central) * std, exact.pdf(central) * std, rtol=0, atol=1e-8)
    for q in LEVELS:
        density = float(exact.pdf(exact.ppf(q)))
        assert abs(law.ppf(q) - exact.ppf(q)) <= (2.0 * law.error + 1e-11) / density + 1e-9 * std, q
        assert law.cdf(law.ppf(q)) == pytest.approx(q, abs=1e-12 + 1e-9 * density * std)


@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("metric", METRICS)
def test_agrees_with_contour_integrals(metric: str, errors: str) -> None:
    agree(*both(metric, errors, 60_000))


@pytest.mark.parametrize("errors", ["uniform", "weighted"])
@pytest.mark.parametrize("metric", ["squared", "absolute"])
def test_a_perfect_model(metric: str, errors: str) -> None:
    agree(*both(metric, errors, 150_000, perfect=True))


@pytest.mark.parametrize("errors", ERRORS)
def test_root(errors: str) -> None:
    law, exact = both("squared", errors, 60_000)
    assert isinstance(exact, from_summary.GeneralizedChiSquare)
    agree(law.root(), SquareRoot(exact))


@pytest.mark.parametrize("bias", [0.0, 0.7])
def test_against_chi_square(bias: float) -> None:
    """Labels that are alike: SciPy knows the distribution."""
    n, sigma = 50_000, 0.3
    y, p = np.zeros(n), np.full(n, bias)
    score = sb.mean_squared_error(y, p, yerr=sigma)
    law = score.distribution
    scale = sigma**2 / n
    exact = ncx2(n, n * (bias / sigma) ** 2, scale=scale) if bias else chi2(n, scale=scale)
    assert law.method == "saddlepoint"
    x = exact.ppf([1e-6, 0.025, 0.5, 0.975, 1 - 1e-6])
    np.testing.assert_allclose(law.cdf(x), exact.cdf(x), rtol=0, atol=1e-9)
    np.testing.assert_allclose(law.ppf(exact.cdf(x)), x, rtol=1e-9)
    # in the tail too, relatively
    np.testing.assert_allclose(law.sf(exact.isf(1e-30)), 1e-30, rtol=1e-2)


@pytest.mark.parametrize("metric", METRICS)
def test_a_label_that_dominates_is_left_to_others(metric: str) -> None:
    """Its own cumulants are too large for a short series, and the bound says so."""
    need, by_cumulants, _ = METRICS[metric]
    y, p, sigma, weight = columns("uniform", 60_000)
    sigma = sigma.copy()
    sigma[7] = 60.0
    sums = normal_sums(y, p, sigma, weight, labels=True)
    higher = higher_sums(y, p, sigma, weight, need, sums)
    assert higher is not None
    assert by_cumulants(higher) is None


def test_answers_go_by_cumulants_only_where_they_are_good() -> None:
    y, p, sigma, _ = columns("uniform", 60_000)
    for metric in (sb.mean_squared_error, sb.root_mean_squared_error, sb.mean_absolute_error, sb.r2_score):
        assert metric(y, p, yerr=sigma).method == "saddlepoint"
        assert metric(y[:5000], p[:5000], yerr=sigma[:5000]).method != "saddlepoint"
    assert sb.mean_squared_error(y[:9000], p[:9000], yerr=sigma[:9000]).method == "exact"  # its bound is above 1e-9
    assert sb.explained_variance_score(y, p, yerr=sigma).method == "saddlepoint"
    single = [x.astype(np.float32) for x in (y, p, sigma)]
    assert sb.mean_absolute_error(single[0], single[1], yerr=single[2]).method == "saddlepoint"
    sigma = sigma.copy()
    sigma[0] = 60.0
    assert sb.mean_squared_error(y, p, yerr=sigma).method == "exact"


@pytest.mark.parametrize("shape", [(0.02, 6e-4, 3e-5, 2e-6, 1e-7), (-0.02, 6e-4, -3e-5, 2e-6, 1e-7), (0.0,) * 5])
def test_tails_are_monotone_and_end(shape: tuple[float, ...]) -> None:
    """Far out, where the series ends, nothing is left of the tail; no probability leaves 0 to 1."""
    found = Cumulants(*shape)
    x = np.linspace(-60.0, 60.0, 481)
    under, over, density = np.array([found.probabilities(v) for v in x.tolist()]).T
    assert np.all(np.diff(under) >= 0) and np.all(np.diff(over) <= 0)
    np.testing.assert_allclose(under + over, 1.0, atol=1e-15)
    assert np.all(density >= 0) and under[0] == 0 and over[-1] == 0
    quantiles = [found.quantile(q) for q in (1e-300, 1e-30, 0.01, 0.5, 0.99, 1 - 1e-16)]
    assert np.all(np.diff(quantiles) > 0) and all(map(math.isfinite, quantiles))


def test_constant_labels_and_no_errors() -> None:
    """Nothing to divide by: other ways answer."""
    y, p = np.full(20_000, 2.0), np.full(20_000, 2.5)
    assert sb.mean_absolute_error(y, p, yerr=0.0).interval() == (0.5, 0.5)
    low, high = sb.r2_score(y, p, yerr=0.1).interval()
    assert -math.inf < low < high < 0
