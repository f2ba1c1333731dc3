"""Sums of squares of labels with errors: traces and covariances against whole matrices."""

import numpy as np
import pytest

from scorebars.errors import Repeats
from scorebars.moments.label_noise import LabelNoise, QuadraticSums

N = 6


def _errors(kind):
    rng = np.random.default_rng(4)
    own = rng.uniform(0.2, 1.0, N)
    if kind == "covariance":
        root = rng.standard_normal((N, N))
        return LabelNoise(np.diag(root @ root.T).copy(), cov=root @ root.T), root @ root.T
    shared = rng.standard_normal((2, N))
    return LabelNoise(own, shared=shared), np.diag(own) + shared.T @ shared


@pytest.mark.parametrize("kind", ["covariance", "shared"])
@pytest.mark.parametrize("pair", [(0, 0), (0, 1), (1, 1)])
def test_traces_are_those_of_the_matrices(kind, pair):
    """Q = a W - k w w' / sum w: squares, or squares about the mean; equal weights, for which the sums are exact."""
    noise, covariance = _errors(kind)
    w, square, centred = np.full(N, 2.0), (1.0, 0.5), (0.0, 1.0)
    sums = QuadraticSums(w, square, centred, np.zeros((2, N)))
    forms = [a * np.diag(w) - k * np.outer(w, w) / w.sum() for a, k in zip(square, centred, strict=True)]
    one, two = pair
    trace = float(np.trace(forms[one] @ covariance @ forms[two] @ covariance))
    assert noise._trace(sums, one, two, noise) == pytest.approx(trace, rel=1e-12)
    assert noise.added(sums) == pytest.approx([np.trace(q @ covariance) for q in forms], rel=1e-12)


def test_what_all_labels_share_does_not_scatter_between_items():
    """Of errors 0.3 that are alone and 0.4 that all share, the scatter of the items shows the first."""
    noise = LabelNoise(np.full(N, 0.09), shared=np.full((1, N), 0.4))
    assert noise.alone().variance == pytest.approx(np.full(N, 0.09), rel=1e-12)
    assert noise.alone().shared is None


def test_errors_that_are_not_normal_scatter_squares_by_their_fourth_moment():
    """Var sum (d + e)^2 = sum m4 - s^4 + 4 d m3 + 4 d^2 s^2, here with the slopes d at the true values."""
    variance, third, fourth = np.full(N, 0.5), np.full(N, 0.2), np.full(N, 1.1)
    slope = np.linspace(-1.0, 1.0, N)
    excess = fourth - np.square(variance)
    noise = LabelNoise(variance, third, excess, 0.4 * excess)
    sums = QuadraticSums(np.ones(N), (1.0, 1.0), (0.0, 0.0), np.stack([slope, slope]))
    exact = float(np.sum(excess + 4.0 * slope * third + 4.0 * np.square(slope) * variance))
    assert noise.covariance(sums) == pytest.approx(np.full((2, 2), exact), rel=1e-12)


def test_moments_take_the_powers_of_a_factor():
    noise = LabelNoise(*(np.full(N, m) for m in (0.5, 0.2, 1.1, 0.4)))
    doubled = noise.scaled(np.full(N, 2.0))
    found = [float(m[0]) for m in (doubled.variance, doubled.third, doubled.fourth, doubled.least)]
    assert found == pytest.approx([4 * 0.5, 8 * 0.2, 16 * 1.1, 16 * 0.4], rel=1e-15)


def test_variances_from_two_repeats_are_uncertain():
    """Of nu degrees of freedom 2 s^4 / (nu + 2) estimates the variance of s^2, also where nu is 1."""
    values = np.array([[1.0, 2.0], [3.0, 3.5], [0.0, 4.0]])
    noise = LabelNoise.of(Repeats(values), values.mean(axis=1))
    assert noise.uncertain == pytest.approx(2.0 / 3.0 * (values.var(axis=1, ddof=1) / 2.0) ** 2)
