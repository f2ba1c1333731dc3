"""Mean and variance of a ratio of quadratic forms in normal labels: exact, or expanded for very many labels.

The value of the metric is V = M / D, in the eta ~ N(theta, lam) of `quadratic_form`,

    D = sum eta^2 - omega (sum e eta)^2 + d0,        M = kappa (sum e eta)^2 + sum l eta + m0.

With v0 = E M / E D and N = M - v0 D, whose mean is 0,

    E V - v0 = E[N / D] = int_0^inf E[N exp(-t D)] dt,    E (V - v0)^2 = E[N^2 / D^2] = int_0^inf t E[N^2 exp(-t D)] dt:

taking out v0 first keeps all digits of a small variance. Under the weight exp(-t D) the components are again
normal: with r = 1 / (1 + 2 t lam), q = 1 - r, g = sum e^2 r and nu = sum e r theta / g (omega = 1)

    mean r theta + q nu e,    covariance diag(lam r) + (q e)(q e)' / (2 t g),
    E exp(-t D) = prod r^(1/2) g^(-1/2) exp(-t sum r (theta - nu e)^2 - t d0),

so that E[N ...] and E[N^2 ...] are closed and the integrals over log t converge exponentially.

With very many labels an expansion about the means of the sums replaces the integrals, which cost far more than the
pass over the labels. The first terms left out hold the squared relative variance of a sum, 3 v^2, and its relative third
cumulant, at most 6 v times the share of the largest label; both must be below `NEGLIGIBLE` (from about 1e5 labels on):

    E sqrt(Q)  = sqrt(q) (1 - v / 8),               std = sqrt(q v) / 2,              v = Var Q / q^2
    E (A / B)  = (a / b) (1 + v_b - c),             std = (a / b) sqrt(v_a + v_b - 2 c),

with v_a, v_b the relative variances and c the relative covariance of A and B.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.engines.sums import NormalSums
from scorebars.laws.quadratic.quadratic_form import THETA, Components, E

NEGLIGIBLE = 1e-8

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
    """The components under the weight exp(-t D), for each t."""
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


def over_all_scales(integrand: Callable[[FloatArray], FloatArray], centre: float) -> FloatArray:
    """int f(t) dt over t > 0 for each row of f(t) (m, j): trapezoid rule in log t, from the centre outwards."""
    total, size = 0.0, 0.0
    for direction in (1, -1):
        start = 0 if direction == 1 else 1
        for _ in range(100):
            t = centre * np.exp(_STEP * direction * np.arange(float(start), start + _BLOCK))
            values = integrand(t) * t
            total = total + values.sum(axis=1)
            size = np.maximum(size, np.abs(values).max(axis=1))
            if np.all(np.abs(values[:, -1]) <= 1e-16 * size):
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

    moments = over_all_scales(integrand, 1.0 / mean_d)
    if not with_variance:
        return float(moments[0]), math.inf
    return float(moments[0]), max(float(moments[1] - moments[0] ** 2), 0.0)


def root_moments(sums: NormalSums) -> tuple[float, float] | None:
    """Mean and std of the root mean squared error; None where an expansion would not do."""
    mean = sums.sq + sums.var
    spread = (2.0 * sums.var2_w2 + 4.0 * sums.sqvar_w2) / mean**2 if mean > 0 else 0.0
    if not _negligible(spread, sums, mean):
        return None
    root = math.sqrt(mean / sums.w)
    return root * (1.0 - spread / 8.0), 0.5 * root * math.sqrt(spread)


def explained_moments(sums: NormalSums, centred: bool) -> tuple[float, float, float] | None:
    """Observed value, mean and std of R2, or with `centred` of the explained variance; None where it would not do.

    `sums` hold those of the labels. For R2 A = sum w (y - p)^2, else about its mean, and B = sum w (y - mean y)^2.
    """
    s, centre = sums, sums.y1 / sums.w
    offset = s.d / s.w if centred else 0.0
    lost, total = s.sq - offset * s.d, s.y2 - centre * s.y1
    about_mean = s.var - s.var_w2 / s.w
    a, b = lost + (about_mean if centred else s.var), total + about_mean
    if not min(a, total) > 1e-100:  # else their squares lose digits
        return None
    own = 2.0 * s.var2_w2
    of_a = own + 4.0 * (s.sqvar_w2 - 2.0 * offset * s.d_var_w2 + offset**2 * s.var_w2)
    of_b = own + 4.0 * (s.y2_var_w2 - 2.0 * centre * s.y_var_w2 + centre**2 * s.var_w2)
    cross = s.y_d_var_w2 - centre * s.d_var_w2 - offset * (s.y_var_w2 - centre * s.var_w2)
    joint = (own - 4.0 * cross) / (a * b)  # labels that rise bring p - y down
    of_a, of_b = of_a / a**2, of_b / b**2
    if not _negligible(max(of_a, of_b), sums, min(a, b)):
        return None
    std = a / b * math.sqrt(max(of_a + of_b - 2.0 * joint, 0.0))
    return 1.0 - lost / total, 1.0 - a / b * (1.0 + of_b - joint), std


def _negligible(spread: float, sums: NormalSums, mean: float) -> bool:
    """Whether the terms left out can be: `spread` is a relative variance, `mean` the smallest sum."""
    largest = sums.max_weight * sums.max_sigma**2 / mean if mean > 0 else math.inf
    return max(3.0 * spread, 6.0 * largest) * spread < NEGLIGIBLE
