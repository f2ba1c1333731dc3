"""The most likely mixing weights: optimality by the duality gap, and against other solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from scorebars.moments.deconvolution import Mixture, smallest_quadratic


def mixture(seed: int, data: int = 60, components: int = 40, width: float = 0.5) -> Mixture:
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(-1, 0.7, data // 2), rng.normal(2, 0.6, data - data // 2)])
    share = rng.uniform(0.2, 1.0, data)
    grid = np.linspace(x.min(), x.max(), components)
    return Mixture(np.exp(-0.5 * ((x[:, None] - grid) / width) ** 2), share / share.sum())


def gap(problem: Mixture, weights: np.ndarray, tilt: np.ndarray) -> float:
    gradient = (problem.share / (problem.likelihood @ weights)) @ problem.likelihood + tilt
    return float(gradient.max() - weights @ gradient)


@pytest.mark.parametrize("width", [0.05, 0.5, 3.0])
def test_the_duality_gap_closes(width):
    problem = mixture(1, width=width)
    weights = problem.most_likely(problem.first_weights())
    assert weights.min() >= 0 and weights.sum() == pytest.approx(1, abs=1e-12)
    assert gap(problem, weights, np.zeros(40)) < 1e-7


def test_no_sweep_of_em_finds_more():
    problem = mixture(2)
    best = problem.log_likelihood(problem.most_likely(problem.first_weights()))
    weights = problem.first_weights()
    for _ in range(5000):
        weights = weights * ((problem.share / (problem.likelihood @ weights)) @ problem.likelihood)
    assert best >= problem.log_likelihood(weights)
    assert best == pytest.approx(problem.log_likelihood(weights), abs=1e-4)


def test_a_general_solver_agrees_under_a_tilt():
    problem = mixture(3, components=12)
    tilt = 0.3 * np.linspace(-1, 1, 12) ** 2
    weights = problem.most_likely(problem.first_weights(), tilt)
    found = minimize(
        lambda w: -problem.share @ np.log(problem.likelihood @ w) - tilt @ w,
        np.full(12, 1 / 12),
        jac=lambda w: -(problem.share / (problem.likelihood @ w)) @ problem.likelihood - tilt,
        bounds=[(0, 1)] * 12,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    mine = problem.log_likelihood(weights) + tilt @ weights
    assert mine >= -found.fun - 1e-9 and mine == pytest.approx(-found.fun, abs=1e-7)
    assert gap(problem, weights, tilt) < 1e-7


def test_shares_of_very_different_size():
    problem = mixture(4)
    share = problem.share * 10.0 ** -np.linspace(0, 17, 60)
    problem = Mixture(problem.likelihood, share / share.sum())
    weights = problem.most_likely(problem.first_weights())
    assert gap(problem, weights, np.zeros(40)) < 1e-6


def test_one_component():
    problem = Mixture(np.ones((5, 1)), np.full(5, 0.2))
    assert problem.most_likely(problem.first_weights()).tolist() == [1.0]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_the_quadratic_problem_is_solved(seed, size):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size + 2, size))
    second, first = root.T @ root, rng.normal(size=size)
    start = rng.random(size) * (rng.random(size) < 0.6)
    start[0] += 0.1
    x = smallest_quadratic(second, first)
    slope = second @ x - first
    assert x.min() >= 0 and x.sum() == pytest.approx(1)
    assert slope.min() >= x @ slope - 1e-7 * max(1, np.abs(slope).max())
