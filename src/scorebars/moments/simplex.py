"""The most likely mixing weights: a concave programme on the simplex.

Which weights w (w >= 0, sum 1) maximise

    f(w) = sum_i a_i log(sum_k L_ik w_k) + tilt . w ?

L_ik is the likelihood of datum i under component k, a_i how much the datum counts (sum 1). With tilt = 0 this is the
nonparametric maximum likelihood estimate of Kiefer & Wolfowitz on a grid; with tilt = lambda * values its solutions run
along the likelihood profile of the mean of `values`. EM needs thousands of sweeps. Here each step maximises the
quadratic expansion of f over the present support and the local maxima of the gradient (Wang 2007, constrained Newton),
which takes some five steps. It stops when the duality gap, max_k gradient_k - w . gradient >= f(best) - f(w), is small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from scorebars.arrays import FloatArray

_FIRST_SWEEPS = 20
"""EM sweeps from equal weights: the quadratic steps converge from there at once."""
_STEPS = 200
_RIDGE = 1e-10
"""Neighbouring components are almost the same, and some explain no datum: this part keeps the second derivatives regular."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Data that come from a mixture of known components: `likelihood` (data, components) and the data's shares."""

    likelihood: FloatArray
    share: FloatArray

    def log_likelihood(self, weights: FloatArray) -> float:
        """sum a log(L w), per datum."""
        return self._objective(self.likelihood @ weights, weights, np.zeros(len(weights)))

    def first_weights(self) -> FloatArray:
        """A start: a few sweeps of EM from equal weights."""
        weights = np.full(self.likelihood.shape[1], 1.0 / self.likelihood.shape[1])
        for _ in range(_FIRST_SWEEPS):
            weights = weights * ((self.share / (self.likelihood @ weights)) @ self.likelihood)
        return np.asarray(weights / weights.sum())

    def most_likely(self, start: FloatArray, tilt: FloatArray | None = None, gap: float = 1e-10) -> FloatArray:
        """Weights that maximise the objective up to a duality gap; every datum must be possible at the start."""
        weights, slope = start, np.zeros(len(start)) if tilt is None else tilt
        density = self.likelihood @ weights
        for _ in range(_STEPS):
            gradient = (self.share / density) @ self.likelihood + slope
            if float(gradient.max()) - float(weights @ gradient) <= gap:
                break
            better = self._uphill(weights, density, gradient, slope)
            if better is None:  # rounding: no higher value can be told from this one
                break
            weights, density = better, self.likelihood @ better
        return weights

    def _objective(self, density: FloatArray, weights: FloatArray, slope: FloatArray) -> float:
        if not float(density.min()) > 0:
            return -np.inf
        return float(self.share @ np.log(density)) + float(slope @ weights)

    def _uphill(
        self, weights: FloatArray, density: FloatArray, gradient: FloatArray, slope: FloatArray
    ) -> FloatArray | None:
        """Better weights: towards the maximum of the quadratic expansion, else towards the steepest component."""
        value = self._objective(density, weights, slope)
        steepest = np.zeros(len(weights))
        steepest[np.argmax(gradient)] = 1.0
        for target in (self._newton(weights, density, gradient, slope), steepest):
            direction = target - weights
            rise, change = float(gradient @ direction), self.likelihood @ direction
            step = 1.0
            while rise > 0 and step > 1e-9:
                reached = self._objective(density + step * change, weights + step * direction, slope)
                if reached > value + 0.15 * step * rise:
                    moved = np.maximum(weights + step * direction, 0.0)
                    return np.asarray(moved / moved.sum())
                step /= 2
        return None

    def _newton(self, weights: FloatArray, density: FloatArray, gradient: FloatArray, slope: FloatArray) -> FloatArray:
        """Maximum of the quadratic expansion over the support and the local maxima of the gradient.

        -log(u) = 1/2 (u/u0 - 2)^2 + constant up to third order, so the expansion is a least-squares problem.
        """
        padded = np.concatenate([[-np.inf], gradient, [-np.inf]])
        peak = (gradient >= padded[:-2]) & (gradient >= padded[2:]) & (gradient > float(weights @ gradient))
        candidates = np.flatnonzero((weights > 0) | peak)
        pulls = self.likelihood[:, candidates] * (np.sqrt(self.share) / density)[:, None]
        second = pulls.T @ pulls
        diagonal = np.diag_indices(len(candidates))
        second[diagonal] += _RIDGE * (second[diagonal] + np.max(second[diagonal]))
        first = (2.0 * gradient - slope)[candidates]
        target = np.zeros(len(weights))
        target[candidates] = smallest_quadratic(second, first)
        return target


def smallest_quadratic(second: FloatArray, first: FloatArray) -> FloatArray:
    """The x >= 0 with sum 1 that minimises x' second x / 2 - first . x.

    With second = R'R and R'b = first that is |R x - b|^2 = |(R - b 1') x|^2 for such x: a non-negative least-squares problem
    whose solution is scaled to sum 1 (Dax 1990).
    """
    root = cholesky(second, check_finite=False)
    target = solve_triangular(root, first, trans="T", check_finite=False)
    rows = np.vstack([root - target[:, None], np.ones(len(first))])
    x, _ = nnls(rows, np.append(np.zeros(len(first)), 1.0), maxiter=100 * len(first))
    return np.asarray(x / x.sum())
