"""Mean losses under correlated errors: reference values, quadrature, series against closed form, shared shifts, limits."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorebars import errors, losses
from scorebars.measured import Measured
from scorebars.moments import correlated, folded_pairs, label_moments
from scorebars.moments.correlated import (
    covariance_of_absolute,
    principal_shifts,
    variance_correlated,
    variance_shared,
)
from scorebars.numerics.special import folded_mean, folded_variance, v

REFERENCE = {
    c["id"]: c for c in json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
}
ROWS = REFERENCE["cov_abs_bivariate"]["exact"]["table"]
WITH_COV = [c for c in REFERENCE.values() if c["metric"] == "mae" and "cov" in c["inputs"]]


def pair(h, k, rho):
    return float(covariance_of_absolute(np.array([h]), np.array([k]), np.array([rho]))[0])


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"rho={r['rho']}")
def test_reference_pairs(row):
    scale = row["s1"] * row["s2"]
    got = scale * pair(row["mu1"] / row["s1"], row["mu2"] / row["s2"], row["rho"])
    assert got == pytest.approx(float(row["cov"]), rel=1e-13, abs=2e-16)
    cov = np.array([[row["s1"] ** 2, row["rho"] * scale], [row["rho"] * scale, row["s2"] ** 2]])
    delta = np.array([row["mu1"], row["mu2"]])
    own = np.sum(folded_variance(delta, np.sqrt(np.diagonal(cov))))
    assert variance_correlated(delta, cov) == pytest.approx((own + 2 * float(row["cov"])) / 4, rel=1e-13)


@pytest.mark.parametrize("case", WITH_COV, ids=lambda c: c["id"])
def test_reference_mae(case):
    inputs = case["inputs"]
    delta = np.subtract(inputs["y"], inputs["y_pred"])
    weight = inputs.get("sample_weight")
    got = variance_correlated(delta, np.array(inputs["cov"]), None if weight is None else np.array(weight))
    assert got == pytest.approx(float(case["exact"]["var"]), rel=1e-13)


def by_quadrature(h, k, rho):
    """E|U + h| E(|V + k| given U) - product of means, on both sides of the kinks."""
    q = math.sqrt(1 - rho * rho)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    centre = -k / rho
    edges = np.clip([-12, -5, 5, 12, -h, *(centre + np.array([-8, -3, -1, 0, 1, 3, 8]) * q / abs(rho))], -12, 12)
    edges = np.unique(edges)
    total = 0.0
    for a, b in itertools.pairwise(edges):
        u = 0.5 * (b - a) * nodes + 0.5 * (a + b)
        total += (
            0.5
            * (b - a)
            * np.sum(
                weights * np.exp(-0.5 * u * u) / math.sqrt(2 * math.pi) * np.abs(u + h) * folded_mean(k + rho * u, q)
            )
        )
    return total - folded_mean(h, 1.0) * folded_mean(k, 1.0)


@pytest.mark.parametrize("rho", [-0.999999, -0.95, -0.3, 0.02, 0.6, 0.9, 0.99999])
@pytest.mark.parametrize(("h", "k"), [(0.0, 0.0), (0.0, 1.3), (0.7, -0.7), (2.0, 1.0), (-3.0, 0.1), (4.0, 4.0)])
def test_pairs_by_quadrature(h, k, rho):
    assert pair(h, k, rho) == pytest.approx(by_quadrature(h, k, rho), abs=2e-13)


@given(st.floats(-8, 8), st.floats(-8, 8), st.floats(-0.9, 0.9))
def test_series_and_closed_form_agree(h, k, rho):
    first, second = (folded_pairs.absolute_coefficients(np.array([x]), 350) for x in (h, k))
    series = correlated._mehler(first, second, np.array([[rho]]))
    assert series == pytest.approx(pair(h, k, rho), abs=1e-14)
    assert pair(h, k, rho) == pytest.approx(pair(k, h, rho), abs=1e-15)
    assert pair(h, -k, rho) == pytest.approx(pair(h, k, -rho), abs=1e-15)


@pytest.mark.parametrize("h", [0.0, 0.4, 3.0, 100.0, 1e300])
def test_full_correlation(h):
    assert pair(h, h, 1.0) == pytest.approx(v(h), rel=1e-14)
    assert pair(h, -h, -1.0) == pytest.approx(v(h), rel=1e-14)


def test_large_residuals_keep_the_covariance_of_the_errors():
    assert pair(1e8, -3e9, 0.97) == pytest.approx(-0.97, rel=1e-15)


def random_problem(n, k, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(0, 1, n),
        rng.uniform(0.3, 1.0, n),
        0.3 + 0.3 * rng.standard_normal((k, n)),
        rng.uniform(0.5, 2, n),
    )


def dense(sigma, shared):
    return np.diag(sigma**2) + shared.T @ shared


def test_variance_by_simulation():
    delta, sigma, shared, weight = random_problem(6, 2)
    rng = np.random.default_rng(1)
    errors = sigma * rng.standard_normal((400_000, 6)) + rng.standard_normal((400_000, 2)) @ shared
    draws = np.abs(delta + errors) @ weight / weight.sum()
    assert variance_correlated(delta, dense(sigma, shared), weight) == pytest.approx(draws.var(), rel=0.01)


def test_blocks_do_not_matter(monkeypatch):
    delta, sigma, shared, weight = random_problem(60, 3)
    cov = dense(sigma, shared)
    whole = variance_correlated(delta, cov, weight)
    monkeypatch.setattr(correlated, "_PAIRS", 500)
    assert variance_correlated(delta, cov, weight) == pytest.approx(whole, rel=1e-14)


def test_independent_labels_and_exact_labels():
    delta, sigma, _, weight = random_problem(30, 1)
    sigma[::3] = 0.0
    share = weight / weight.sum()
    expected = np.sum(share**2 * folded_variance(delta, sigma))
    assert variance_correlated(delta, np.diag(sigma**2), weight) == pytest.approx(expected, rel=1e-14)
    assert variance_correlated(delta, np.zeros((30, 30))) == 0.0
    assert variance_shared(delta, sigma, np.zeros((2, 30)), weight).variance == pytest.approx(expected, rel=1e-14)
    assert variance_shared(delta, np.zeros(30), np.zeros((1, 30))) == (pytest.approx(np.mean(np.abs(delta))), 0.0)


@pytest.mark.parametrize("power", [-150, 150])
def test_units_do_not_matter(power):
    delta, sigma, shared, _ = random_problem(20, 1)
    unit = 2.0**power
    base = variance_shared(delta, sigma, shared)
    other = variance_shared(unit * delta, unit * sigma, unit * shared)
    assert other.variance == pytest.approx(unit**2 * base.variance, rel=1e-14)
    assert variance_correlated(unit * delta, unit**2 * dense(sigma, shared)) == pytest.approx(
        unit**2 * base.variance, rel=1e-13
    )


@pytest.mark.parametrize("k", [1, 2, 3])
def test_shared_shifts_in_pairs(k):
    delta, sigma, shared, weight = random_problem(100, k)
    sigma[::4] = 0.0
    moments = variance_shared(delta, sigma, shared, weight)
    cov = dense(sigma, shared)
    assert moments.variance == pytest.approx(variance_correlated(delta, cov, weight), rel=1e-13)
    assert moments.mean == pytest.approx(np.average(folded_mean(delta, np.sqrt(np.diagonal(cov))), weights=weight))


@pytest.mark.parametrize("exact_labels", [0, 200])
def test_one_shared_shift_by_nodes(exact_labels):
    delta, sigma, shared, weight = random_problem(400, 1)
    sigma[:exact_labels] = 0.0
    exact = variance_correlated(delta, dense(sigma, shared), weight)
    assert variance_shared(delta, sigma, shared, weight).variance == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize(("k", "exact_labels", "rel"), [(1, 200, 1e-7), (2, 0, 1e-10), (3, 0, 1e-6), (3, 200, 1e-6)])
def test_more_labels_than_pairs_can_be_formed_of(k, exact_labels, rel, monkeypatch):
    """The ways for more than 4000 labels, at 400."""
    delta, sigma, shared, weight = random_problem(400, k)
    sigma[:exact_labels] = 0.0
    exact = variance_correlated(delta, dense(sigma, shared), weight)
    monkeypatch.setattr(correlated, "_PAIRS_UP_TO", 0)
    assert variance_shared(delta, sigma, shared, weight).variance == pytest.approx(exact, rel=rel)


def test_a_common_offset_does_not_average_out():
    rng = np.random.default_rng(3)
    delta, sigma = rng.normal(0, 0.5, 5000), np.full(5000, 0.3)
    alone = variance_shared(delta, sigma, np.zeros((1, 5000))).variance
    offset = variance_shared(delta, sigma, np.full((1, 5000), 0.4)).variance
    doubled = variance_shared(delta, sigma, np.full((4, 5000), 0.2)).variance
    assert offset > 50 * alone
    assert doubled == pytest.approx(offset, rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(0, 1000))
def test_principal_shifts_keep_the_covariance(k, seed):
    shared = np.random.default_rng(seed).standard_normal((k, 4))
    turned = principal_shifts(shared)
    assert turned.T @ turned == pytest.approx(shared.T @ shared, abs=1e-12)
    assert turned.shape[0] <= k


# any loss

RNG = np.random.default_rng(5)
N = 10
Y = RNG.normal(size=N)
P = Y + 0.5 * RNG.normal(size=N)
ROOT = 0.3 * RNG.normal(size=(N, N))
MODELS = {
    "cov": errors.Normal(cov=ROOT @ ROOT.T + 0.05 * np.eye(N)),
    "two shifts": errors.Normal(0.3, shared=0.4 * RNG.normal(size=(2, N))),
    "one shift": errors.Normal(0.2, shared=np.full(N, 0.2)),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weight", [None, np.linspace(0, 2, N)], ids=["equal", "weighted"])
def test_agrees_with_exact_variances(name: str, weight: np.ndarray | None) -> None:
    data = Measured(Y, P, MODELS[name], weight)
    assert correlated.variance_by_series(losses.SquaredError(), data) == pytest.approx(
        correlated.correlated_variance(losses.SquaredError(), data), rel=1e-12
    )
    assert correlated.variance_by_series(losses.SignedError(), data) == pytest.approx(
        correlated.correlated_variance(losses.SignedError(), data), rel=1e-12
    )
    assert correlated.variance_by_series(losses.AbsoluteError(), data) == pytest.approx(
        correlated.correlated_variance(losses.AbsoluteError(), data), rel=1e-4
    )


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "loss",
    [losses.Pinball(0.2), losses.Huber(0.3), losses.LogCosh(), losses.Within(0.5), losses.SymmetricPercentage()],
    ids=lambda v: type(v).__name__,
)
def test_agrees_with_simulation(name: str, loss: losses.Loss) -> None:
    data = Measured(Y, P, MODELS[name])
    draws = loss(MODELS[name].sample(Y, 100_000, np.random.default_rng(0)), P).mean(axis=1)
    assert correlated.correlated_variance(loss, data) == pytest.approx(float(draws.var()), rel=0.025)


def test_without_correlation_the_labels_add_up() -> None:
    loss = losses.Huber(0.3)
    data = Measured(Y, P, errors.Normal(cov=np.diag(np.full(N, 0.09))))
    own = label_moments(loss, errors.Normal(0.3), Y, P).variance
    assert correlated.correlated_variance(loss, data) == pytest.approx(float(own.sum()) / N**2, rel=1e-13)
