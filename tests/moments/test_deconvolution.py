"""The law of the true residuals: recovered where it is known, the same in cells, its profile checked independently."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from scorebars.moments import deconvolution as cells_module
from scorebars.moments.deconvolution import Deconvolution, cells_of, normal_likelihood, residual_grid, typical_spacing


def fitted(d, s, share=None):
    share = np.full(len(d), 1 / len(d)) if share is None else share
    return Deconvolution.fit(d, s, share, residual_grid(d, s, share))


def test_two_points_are_found():
    rng = np.random.default_rng(1)
    s = rng.uniform(0.1, 0.4, 4000)
    fit = fitted(np.where(rng.random(4000) < 0.3, -1.0, 2.0) + s * rng.normal(size=4000), s)
    near = [float(fit.weights[np.abs(fit.grid - point) < 0.1].sum()) for point in (-1.0, 2.0)]
    assert near == pytest.approx([0.3, 0.7], abs=0.03)
    assert fit.gap < 1e-7


def test_likelihood_is_the_normal_density_up_to_a_factor_of_each_row():
    d, s, grid = np.array([0.3, -2.0]), np.array([0.5, 1.5]), np.linspace(-3, 3, 7)
    ratio = normal_likelihood(d, s, grid) / norm.pdf(d[:, None], grid, s[:, None])
    assert np.ptp(ratio, axis=1) == pytest.approx([0, 0], abs=1e-12)


def test_second_moment_is_that_of_the_unbiased_estimate():
    """For errors all equal, the fitted law's variance plus s^2 is the observed variance, as for any maximum likelihood
    of a law's scale: the mean of D^2 agrees with mean(d^2 - s^2) up to the grid."""
    rng = np.random.default_rng(2)
    d = rng.normal(0.2, 1.0, 800) + 0.6 * rng.normal(size=800)
    fit = fitted(d, np.full(800, 0.6))
    assert fit.mean_of(fit.grid) == pytest.approx(d.mean(), abs=2e-3)
    assert fit.mean_of(fit.grid**2) == pytest.approx(np.mean(d**2) - 0.36, abs=2e-2)


@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_cells_change_little(spread, monkeypatch):
    rng = np.random.default_rng(3)
    s = 0.5 * np.exp(spread * rng.normal(size=6000))
    d = rng.laplace(size=6000) + s * rng.normal(size=6000)
    coarse = fitted(d, s)
    monkeypatch.setattr(cells_module, "_UNBINNED", 10**6)
    fine = fitted(d, s)
    assert len(coarse.cells.share) < 3500 and len(fine.cells.share) == 6000
    assert coarse.mean_of(np.abs(coarse.grid)) == pytest.approx(fine.mean_of(np.abs(fine.grid)), abs=4e-3)
    assert coarse.effective_labels == pytest.approx(6000)


def test_cells_keep_mean_and_variance():
    rng = np.random.default_rng(4)
    d, s, share = rng.normal(size=5000), rng.uniform(0.3, 0.5, 5000), rng.random(5000)
    grid = residual_grid(d, s, share)
    cells = cells_of(d, s, share, grid, typical_spacing(d, grid), s)
    a = share / share.sum()
    assert cells.share.sum() == pytest.approx(1) and cells.square.sum() == pytest.approx(np.sum(a**2))
    assert cells.share @ cells.residual == pytest.approx(a @ d)
    before = a @ (d**2 - s**2)
    assert cells.share @ (cells.residual**2 - cells.sd**2) == pytest.approx(before, rel=1e-9)


def test_wide_range_of_errors_stays_small():
    rng = np.random.default_rng(5)
    s = 10.0 ** rng.uniform(-3, 3, 200_000)
    d = rng.normal(size=200_000) + s * rng.normal(size=200_000)
    grid = residual_grid(d, s, np.ones(200_000))
    assert len(cells_of(d, s, np.ones(200_000), grid, typical_spacing(d, grid), s).share) <= 8000


def reaches(fit, values, drop):
    """How far below and above the estimate a mean gets."""
    return fit.profile_end(-values, drop), fit.profile_end(values, drop)


def test_profile_end_is_the_constrained_maximum():
    """A general solver maximises the mean under the same cost in likelihood."""
    rng = np.random.default_rng(6)
    d = rng.normal(size=80) + 0.8 * rng.normal(size=80)
    s, share = np.full(80, 0.8), np.full(80, 1 / 80)
    fit = Deconvolution.fit(d, s, share, np.linspace(d.min(), d.max(), 11))
    values, drop = np.abs(fit.grid), 0.02
    likelihood = normal_likelihood(d, s, fit.grid)
    top = share @ np.log(likelihood @ fit.weights)
    below, above = reaches(fit, values, drop)
    for sign, reach in ((-1, below), (1, above)):
        found = minimize(
            lambda w, sign=sign: -sign * values @ w,
            fit.weights * 0.9 + 0.1 / 11,
            jac=lambda w, sign=sign: -sign * values,
            bounds=[(0, 1)] * 11,
            constraints=[
                {"type": "eq", "fun": lambda w: w.sum() - 1},
                {"type": "ineq", "fun": lambda w: share @ np.log(np.maximum(likelihood @ w, 1e-300)) - top + drop},
            ],
            method="SLSQP",
            options={"maxiter": 2000, "ftol": 1e-13},
        )
        assert reach == pytest.approx(sign * (values @ found.x - fit.mean_of(values)), rel=0.01)


def test_item_influence_is_the_derivative_of_the_items_mean():
    rng = np.random.default_rng(7)
    d = rng.normal(size=50) + 0.5 * rng.normal(size=50)
    fit = fitted(d, np.full(50, 0.5))
    likelihood, values = normal_likelihood(d, np.full(50, 0.5), fit.grid), np.abs(fit.grid)

    def items_mean(weights):
        joint = likelihood * weights
        return float(np.mean(joint @ values / joint.sum(axis=1)))

    influence = fit.item_influence(values)
    for k in (10, 70, 120):
        step = np.zeros(len(fit.grid))
        step[k] = 1e-6
        assert influence[k] == pytest.approx(
            (items_mean(fit.weights + step) - items_mean(fit.weights)) / 1e-6, abs=1e-4
        )
    by_cell = fit.item_influence(np.broadcast_to(values, likelihood.shape))
    assert by_cell == pytest.approx(influence, abs=1e-12)


def test_pickle_carries_only_what_was_fitted():
    rng = np.random.default_rng(8)
    fit = fitted(rng.normal(size=500), np.full(500, 0.5))
    reach = reaches(fit, np.abs(fit.grid), 0.004)
    text = pickle.dumps(fit)
    assert len(text) < 40_000
    assert reaches(pickle.loads(text), np.abs(fit.grid), 0.004) == reach


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_units_do_not_matter(scale):
    rng = np.random.default_rng(9)
    d, s = rng.normal(size=200), rng.uniform(0.2, 0.6, 200)
    one, other = fitted(d, s), fitted(d * scale, s * scale)
    assert other.mean_of(np.abs(other.grid)) == pytest.approx(scale * one.mean_of(np.abs(one.grid)), rel=1e-5)


def test_identical_residuals():
    fit = fitted(np.full(40, 1.5), np.full(40, 0.5))
    assert fit.mean_of(fit.grid) == pytest.approx(1.5, abs=0.02)
    below, above = reaches(fit, np.abs(fit.grid), 1.92 / 40)
    assert 0 < below < 0.5 and 0 < above < 0.5


def test_grid_covers_the_residuals_and_keeps_its_points_apart():
    rng = np.random.default_rng(10)
    d = np.concatenate([rng.normal(size=100), np.full(50, 0.3), 0.3 + 1e-300 * rng.normal(size=50), [1e-200, -40.0]])
    s = rng.uniform(0.2, 0.6, len(d))
    grid = residual_grid(d, s, np.ones(len(d)))
    assert grid[0] < d.min() and grid[-1] > d.max() and len(grid) <= 151
    assert np.diff(grid).min() > 1e-7 and 0.0 in grid
    assert np.isfinite(fitted(d, s).posterior_variance(np.abs(grid)))
