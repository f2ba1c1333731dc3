"""The law of Pearson's correlation between predictions and labels with normal errors.

r = L / sqrt(B) with L = sum w (p - pbar) y / sd(p) and B = sum w (y - ybar)^2. For x > 0, r > x means that
N = L^2 - x^2 B > 0 and L > 0. Under the weight exp(tN) the labels are still normal, so the share of cases with L > 0
is a normal probability and

    log E[exp(tN); L > 0] = K(t) + log Phi(mean of L / sd of L, both under exp(tN)),

which holds for complex t too: one contour integral gives the exact probability, and on N = 0 also the density.

Moments: E r = pi^(-1/2) int t^(-1/2) E[L exp(-tB)] dt and E r^2 = int E[L^2 exp(-tB)] dt. For small errors the variance
is taken about r0 = E L / sqrt(E B), where it would cancel. With b = E B, s = sqrt(b), H = sqrt(B) - s and the
form N = L - r0 s - r0 (B - b) / (2 s) of mean 0

    r - r0 = N / sqrt(B) + r0 H^2 / (2 s sqrt(B)).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from scorebars.laws.base import RNG, FloatArray
from scorebars.laws.cgf import Numbers, log_excess
from scorebars.laws.components import PI, THETA, Components, E
from scorebars.laws.draws import transformed
from scorebars.laws.indefinite import QuadraticForm
from scorebars.laws.ratio_moments import Deviation, integrate, tilt
from scorebars.laws.sign import SignContour
from scorebars.laws.stretched import StretchedLaw

_SMALL_NOISE = 0.01  # variance of B / b^2 below which the variance is taken about r0
_CENTRE = 1e-5  # |x| below which the density is that at +-x: N = L^2 - x^2 B has no density at x = 0


class HalfForm:
    """log E[exp(tN); side * L > 0] of a quadratic form N and L = direction . eta."""

    def __init__(self, form: QuadraticForm, direction: FloatArray, side: float) -> None:
        self.form, self.lower, self.upper = form, form.lower, form.upper
        self._direction, self._side = direction, side

    def score(self, t: Numbers) -> tuple[Numbers, Numbers]:
        """Mean and standard deviation of side * L under the weight exp(tN)."""
        mean, variance = self.form.tilted(t).linear(self._direction)
        return self._side * mean, np.sqrt(variance)

    def exponent(self, t: Numbers) -> Numbers:
        mean, std = self.score(t)
        out: Numbers = self.form.exponent(t) + log_ndtr(mean / std)
        return out

    def derivatives(self, t: float) -> tuple[float, float]:
        h = 1e-3 / math.sqrt(self.form.derivatives(t)[1])
        h = min(h, 0.1 * (self.upper - t), 0.1 * (t - self.lower))
        left, middle, right = self.exponent(np.array([t - h, t, t + h]))
        return float(right - left) / (2 * h), max(float(right - 2 * middle + left), 1e-12) / h**2

    def mean_square(self, t: Numbers) -> Numbers:
        """Mean of L^2 over the cases with side * L > 0, under the weight exp(tN)."""
        mean, std = self.score(t)
        z = mean / std
        out: Numbers = mean**2 + std**2 + mean * std * np.exp(-0.5 * z * z - log_ndtr(z)) / math.sqrt(2 * math.pi)
        return out


class PearsonLaw(StretchedLaw):
    """Law of the correlation of y ~ N(mu, diag(sigma^2)) or N(mu, covariance) with predictions p that are not all equal."""

    method = "exact"
    support = (-1.0, 1.0)

    def __init__(
        self,
        mu: FloatArray,
        p: FloatArray,
        sigma: FloatArray | float | None = None,
        weight: FloatArray | None = None,
        *,
        covariance: FloatArray | None = None,
    ) -> None:
        y, prediction = mu - np.average(mu, weights=weight), p - np.average(p, weights=weight)
        if covariance is None:
            components = Components.independent(y, prediction, 0.0 if sigma is None else sigma, weight)
        else:
            components = Components.correlated(y, prediction, covariance, weight)
        self.components = components
        centred = PI - components.at_zero(E, PI) * E
        scale = components.at_zero(centred, centred)
        if scale <= 0:
            raise ValueError("the correlation is undefined: all predictions are equal")
        self._direction = centred / math.sqrt(scale)
        self._labels = mu.size if weight is None else int(np.count_nonzero(weight))
        mean, spread = self._along
        self._signs = float(ndtr(-mean / spread)), float(ndtr(mean / spread))

    @cached_property
    def _along(self) -> tuple[float, float]:
        """Mean and standard deviation of L."""
        variance = self.components.form(self.components.lam[None], self._direction, self._direction)[0]
        return self.components.at_zero(self._direction, THETA), math.sqrt(float(variance))
