"""Smooth shapes of residuals: their moments, the limits they go to, and that the labels show which one it is."""

import math

import numpy as np
import pytest
from scipy import stats

from scorebars.moments.deconvolution import Cells, Deconvolution, Mixture, normal_likelihood
from scorebars.moments.residual_shapes import most_likely_shape, shape_weights

GRID = np.linspace(-12.0, 12.0, 4801)
SHAPES = [-0.999, -0.7, -0.3, 0.0, 0.3, 0.8, 0.99]


@pytest.mark.parametrize("c", SHAPES)
def test_mean_and_variance_are_as_said(c):
    weights = shape_weights(GRID, 0.4, 0.7, c)
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ GRID == pytest.approx(0.4, abs=1e-4)
    assert weights @ np.square(GRID - 0.4) == pytest.approx(0.49, rel=1e-3)


@pytest.mark.parametrize(
    ("c", "law"),
    [
        (-1.0, stats.laplace(0.0, math.sqrt(0.5))),
        (0.0, stats.norm()),
        (-0.5, stats.gennorm(math.sqrt(2), 0.0, math.sqrt(math.gamma(0.5**0.5) / math.gamma(3 * 0.5**0.5)))),
    ],
)
def test_known_shapes(c, law):
    edges = (GRID[1:] + GRID[:-1]) / 2
    assert np.cumsum(shape_weights(GRID, 0.0, 1.0, c))[:-1] == pytest.approx(law.cdf(edges), abs=1e-9)


def test_two_points_are_the_end():
    weights = shape_weights(GRID, 0.0, 1.0, 1.0)
    assert weights[np.abs(np.abs(GRID) - 1.0) < 0.01].sum() == pytest.approx(1.0)


def test_shapes_change_without_a_jump():
    """From one side of the normal shape to the other."""
    apart = np.abs(shape_weights(GRID, 0.0, 1.0, -1e-6) - shape_weights(GRID, 0.0, 1.0, 1e-6))
    assert apart.sum() < 1e-5


DRAWS = {
    "Laplace": lambda rng, n: rng.laplace(0.0, math.sqrt(0.5), n),
    "normal": lambda rng, n: rng.standard_normal(n),
    "two points": lambda rng, n: rng.choice([-1.0, 1.0], n),
}
FOUND = {"Laplace": -1.0, "normal": 0.0, "two points": 1.0}


@pytest.mark.parametrize("name", DRAWS)
def test_labels_show_the_shape(name):
    """2000 labels with half as much error: the shape found is near the true one, and nearer than both others."""
    rng = np.random.default_rng(0)
    d = 0.3 + DRAWS[name](rng, 2000) + 0.5 * rng.standard_normal(2000)
    mixture = Mixture(normal_likelihood(d, np.full(2000, 0.5), GRID[::20]), np.full(2000, 1 / 2000))
    found = most_likely_shape(mixture, 2000.0, GRID[::20], float(d.mean()), float(d.std()))
    assert found @ GRID[::20] == pytest.approx(0.3, abs=0.1)
    assert found @ np.square(GRID[::20] - 0.3) == pytest.approx(1.0, abs=0.12)
    away = {
        other: np.abs(np.cumsum(found - shape_weights(GRID[::20], 0.3, 1.0, c))).sum() for other, c in FOUND.items()
    }
    assert min(away, key=away.get) == name


def test_where_labels_tell_nothing_the_shape_stays():
    """Below -2 there are limits only: the distribution keeps the proportions of the first one there, and follows the numbers above."""
    rng = np.random.default_rng(1)
    grid, s = np.linspace(-6.0, 6.0, 121), np.full(300, 0.2)
    d = rng.choice([-0.5, 1.5], 300, p=[0.8, 0.2]) + s * rng.standard_normal(300)
    likelihood = np.vstack([normal_likelihood(d, s, grid), np.tile(grid < -2.0, (30, 1)).astype(float)])
    share = np.full(330, 1 / 330)
    cells = Cells(
        np.append(d, np.zeros(30)), np.append(s, np.full(30, 1e6)), share, np.square(share), np.append(s, np.ones(30))
    )
    fit = Deconvolution.of_cells(cells, grid, np.asfortranarray(likelihood))
    first = shape_weights(grid, 0.0, 1.0, 0.0)
    found = fit.likely_near(first, 2.0)
    assert found.sum() == pytest.approx(1.0)
    mixture = Mixture(np.asfortranarray(likelihood), share)
    assert 0.0 < 330 * (mixture.log_likelihood(fit.weights) - mixture.log_likelihood(found)) <= 2.0
    assert found[grid > 0.5].sum() == pytest.approx(0.2 * 300 / 330, abs=0.06)
    beyond = grid < -2.0
    assert found[beyond].sum() == pytest.approx(30 / 330, abs=0.02)
    assert found[beyond] / found[beyond].sum() == pytest.approx(first[beyond] / first[beyond].sum(), rel=1e-3)
    assert fit.likely_near(fit.weights, 2.0) == pytest.approx(fit.weights)
