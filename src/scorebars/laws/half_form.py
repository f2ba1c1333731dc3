"""P(r > x) for a correlation r = L / sqrt(B), as the law of a quadratic form over half of all cases.

For x > 0, r > x means N = L^2 - x^2 B > 0 and L > 0. Under the weight exp(tN) the components are still normal, so the
share of cases with L > 0 is a normal probability and

    log E[exp(tN); L > 0] = K(t) + log Phi(mean of L / sd of L, both under exp(tN)),

for complex t too. With L = l . eta, B = sum eta^2 - (e . eta)^2, u = (e, l) orthonormal, R = 1 / (1 + 2 t x^2 lam),
kappa = (x^2, 1), P = u' lam R u and A = 1 - 2 t P kappa

    mean of u . eta = a = A^-1 u' R theta,      covariance A^-1 P,
    K(t) = 1/2 sum log R - 1/2 log det A + t (a' kappa u' R theta - x^2 theta' R theta).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from scorebars.laws.base import FloatArray
from scorebars.laws.cgf import Numbers
from scorebars.laws.components import THETA, Components, E
from scorebars.laws.indefinite import QuadraticForm


class HalfForm:
    """log E[exp(tN); side * L > 0] with N = L^2 - x^2 B and L = direction . eta of some variance."""

    def __init__(self, components: Components, direction: FloatArray, x: float) -> None:
        self._components, self._u = components, (E, direction)
        self._square, self._rest = x * x, (1.0 - x) * (1.0 + x)
        self._side = math.copysign(1.0, x)
        self._kappa = np.array([self._square, 1.0])
        form = QuadraticForm(components, -self._square, self._kappa, np.stack(self._u), np.zeros(3), 0.0)
        self.lower, self.upper = form.lower, form.upper
        self._width = 1.0 / math.sqrt(form.derivatives(0.0)[1])

    def _forms(self, f: Numbers) -> Numbers:
        """sum f (u_a . x)(u_b . x): (j, 2, 2)."""
        out = np.empty((len(f), 2, 2), dtype=f.dtype)
        for a in range(2):
            for b in range(a + 1):
                out[:, a, b] = out[:, b, a] = self._components.form(f, self._u[a], self._u[b])
        return out

    def _tilted(self, t: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """K(t), and mean and standard deviation of side * L under the weight exp(tN)."""
        components, lam = self._components, self._components.lam
        u = np.multiply.outer(-2.0 * self._square * t, lam)
        r = 1.0 / (1.0 - u)
        spread, share = self._forms(lam * r), self._forms(r)
        inner = np.eye(2) - 2.0 * t[:, None, None] * spread * self._kappa
        # the same for large t, where it would cancel
        large = np.abs(t) * self._square * components.top > 0.5
        inner[large] = share[large] * (self._kappa / self._square)
        inner[large, 1, 1] -= self._rest / self._square
        start = np.stack([components.form(r, a, THETA) for a in self._u], axis=1)
        solved = np.linalg.solve(inner, np.concatenate([start[:, :, None], spread], axis=2))
        mean, variance = solved[:, :, 0], solved[:, 1, 2]
        quadratic = np.sum(mean * self._kappa * start, axis=1) - self._square * components.form(r, THETA, THETA)
        logarithm = np.einsum("jk,k->j", np.log1p(-u), components.count)
        eigenvalues = np.linalg.eigvals(inner).astype(t.dtype)  # all in the same half plane: principal logarithms
        k = t * quadratic - 0.5 * (logarithm + np.sum(np.log(eigenvalues), axis=1))
        return k, self._side * mean[:, 1], np.sqrt(variance)

    def exponent(self, t: Numbers) -> Numbers:
        k, mean, std = self._tilted(t)
        out: Numbers = k + log_ndtr(mean / std)
        return out

    def derivatives(self, t: float) -> tuple[float, float]:
        h = min(1e-3 * (self.upper - t), 1e-3 * (t - self.lower), 0.03 * self._width)
        left, middle, right = (float(value) for value in self.exponent(np.array([t - h, t, t + h])))
        return (right - left) / (2.0 * h), max(right - 2.0 * middle + left, 1e-13) / h**2

    def mean_square(self, t: Numbers) -> Numbers:
        """Mean of L^2 over the cases with side * L > 0, under the weight exp(tN)."""
        _, mean, std = self._tilted(t)
        z = mean / std
        out: Numbers = mean**2 + std**2 + mean * std * np.exp(-0.5 * z * z - log_ndtr(z)) / math.sqrt(2.0 * math.pi)
        return out
