"""Exact mean and variance of a ratio of quadratic forms in normal labels.

The value of the metric is V = M / D, in the components eta ~ N(theta, lam) of `components`,

    D = sum eta^2 - omega (sum e eta)^2 + d0,        M = kappa (sum e eta)^2 + sum l eta + m0.

With v0 = E M / E D and N = M - v0 D, whose mean is 0,

    E V - v0 = E[N / D] = int_0^inf E[N exp(-t D)] dt,    E (V - v0)^2 = E[N^2 / D^2] = int_0^inf t E[N^2 exp(-t D)] dt:

taking out v0 first keeps all digits of a small variance. Under the weight exp(-t D) the components are again
normal: with r = 1 / (1 + 2 t lam), q = 1 - r, g = sum e^2 r and nu = sum e r theta / g (omega = 1)

    mean r theta + q nu e,    covariance diag(lam r) + (q e)(q e)' / (2 t g),
    E exp(-t D) = prod r^(1/2) g^(-1/2) exp(-t sum r (theta - nu e)^2 - t d0),

so that E[N ...] and E[N^2 ...] are closed and the integrals over log t converge exponentially.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scorebars.laws.base import FloatArray
from scorebars.laws.components import THETA, Components, E

_STEP = 0.2  # of log t: error exp(-pi^2 / step)
_BLOCK = 32


@dataclass
class Tilted:
    """What the weight exp(-t D) makes of the components, at each of many t (j,)."""

    t: FloatArray
    r: FloatArray
    q: FloatArray
    c: FloatArray
    """Coefficients of theta - nu e, (3,) or (j, 3)."""
    nu: FloatArray
    gap: FloatArray
    """1 - g."""
    rho: FloatArray
    """omega / (2 t g)."""
    log_weight: FloatArray
    """log E exp(-t (D - d0))."""


def tilt(components: Components, omega: int, t: FloatArray) -> Tilted:
    u = np.multiply.outer(2.0 * t, components.lam)
    r = 1.0 / (1.0 + u)
    q = u * r
    logarithm = np.einsum("jk,k->j", np.log1p(u), components.count)
    if omega == 0:
        zero = np.zeros_like(t)
        return Tilted(t, r, q, THETA, zero, zero, zero, -0.5 * logarithm - t * components.form(r, THETA, THETA))
    g = components.form(r, E, E)
    nu = components.form(r, E, THETA) / g
    c = THETA - nu[:, None] * E
    weight = -0.5 * (logarithm + np.log(g)) - t * components.form(r, c, c)
    return Tilted(t, r, q, c, nu, components.form(q, E, E), 1.0 / (2.0 * t * g), weight)


@dataclass
class Deviation:
    """N = alpha sum eta^2 + kappa (sum e eta)^2 + sum linear eta + constant, the constant such that its mean is 0."""

    components: Components
    alpha: float
    kappa: float
    linear: FloatArray

    def mean(self, at: Tilted) -> FloatArray:
        """Mean of N under the weight exp(-t D), as a sum of terms that vanish with t."""
        form, lam = self.components.form, self.components.lam
        squares = form(at.q**2, at.c, at.c) - np.einsum("jk,k->j", lam * at.q, self.components.count)
        out: FloatArray = self.alpha * squares - form(at.q, at.c, 2.0 * self.alpha * THETA + self.linear)
        if self.kappa != 0 or np.any(at.rho != 0):
            drift = form(at.q, E, at.c)  # how far nu has moved from the mean of theta
            square = -drift * (at.nu + self.components.at_zero(E, THETA)) + at.gap**2 * at.rho
            out += self.alpha * at.rho * form(at.q**2, E, E)
            out += self.kappa * (square - form(lam * at.q, E, E))
        return out

    def variance(self, at: Tilted) -> FloatArray:
        """Variance of N under the weight exp(-t D): 2 tr (N S N S) + 4 gradient' S gradient."""
        form, alpha, kappa = self.components.form, self.alpha, self.kappa
        spread = self.components.lam * at.r
        common = form(at.q**2, E, E) * at.rho
        trace = np.einsum("jk,k->j", spread**2, self.components.count)
        trace += 2.0 * at.rho * form(spread * at.q**2, E, E) + common**2
        trace = alpha**2 * trace + 2.0 * alpha * kappa * common * at.rho + (kappa * at.gap * at.rho) ** 2
        linear = self.linear + 2.0 * (alpha + kappa) * at.nu[:, None] * E
        gradient = alpha**2 * form(spread * at.r**2, at.c, at.c) + alpha * form(spread * at.r, at.c, linear)
        gradient += 0.25 * form(spread, linear, linear)
        along = alpha * form(at.q * at.r, at.c, E) + 0.5 * form(at.q, linear, E)
        out: FloatArray = 2.0 * trace + 4.0 * (gradient + at.rho * along**2)
        return out


def integrate(integrand: Callable[[FloatArray], FloatArray], centre: float) -> FloatArray:
    """int f(t) dt over t > 0 for each row of f(t) (m, j): trapezoid rule in log t, from the centre outwards."""
    total, size = 0.0, 0.0
    for direction in (1, -1):
        start = 0 if direction == 1 else 1
        for _ in range(100):
            t = centre * np.exp(_STEP * direction * np.arange(float(start), start + _BLOCK))
            values = integrand(t) * t
            total = total + values.sum(axis=1)
            size = np.maximum(size, np.abs(values).max(axis=1))
            if np.all(np.abs(values[:, -1]) <= 1e-19 * size):
                break
            start += _BLOCK
    return np.asarray(total * _STEP)


def ratio_moments(
    deviation: Deviation, omega: int, d0: float, mean_d: float, with_variance: bool
) -> tuple[float, float]:
    """E[N / D], and the variance of N / D (inf unless asked for)."""

    def integrand(t: FloatArray) -> FloatArray:
        at = tilt(deviation.components, omega, t)
        weight = np.exp(at.log_weight - t * d0)
        mean = deviation.mean(at)
        if not with_variance:
            return np.stack([weight * mean])
        return np.stack([weight * mean, weight * t * (mean**2 + deviation.variance(at))])

    moments = integrate(integrand, 1.0 / mean_d)
    if not with_variance:
        return float(moments[0]), math.inf
    return float(moments[0]), max(float(moments[1] - moments[0] ** 2), 0.0)
