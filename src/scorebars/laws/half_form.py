"""P(r > x) for a correlation r = L / sqrt(B), as the law of a quadratic form over half of all cases.

For x > 0, r > x means N = L^2 - x^2 B > 0 and L > 0. Under the weight exp(tN) the components are still normal, so the
share of cases with L > 0 is a normal probability and

    log E[exp(tN); L > 0] = K(t) + log Phi(mean of L / sd of L, both under exp(tN)),

for complex t too. With L = l . eta, B = sum eta^2 - (e . eta)^2, u = (e, l) orthonormal and R, P, A as in `indefinite`
the mean of u . eta under that weight is A^-1 u' R theta, its covariance A^-1 P.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from scorebars.laws.base import FloatArray
from scorebars.laws.complex_log import Numbers
from scorebars.laws.components import THETA, Components, E
from scorebars.laws.indefinite import QuadraticForm
from scorebars.laws.sign import derivatives


def whole_form(components: Components, direction: FloatArray, x: float) -> QuadraticForm:
    """N = L^2 - x^2 B with L = direction . eta."""
    surplus = np.array([0.0, (1.0 - x) * (1.0 + x)])
    return QuadraticForm(components, -x * x, surplus, np.stack([E, direction]), np.zeros(3), 0.0)


class HalfForm:
    """log E[exp(tN); side * L > 0] with N = L^2 - x^2 B, L = direction . eta of some variance, side = sign(x)."""

    real_singularities = False  # the standard deviation of L under exp(tN) may vanish for complex t

    def __init__(self, components: Components, direction: FloatArray, x: float) -> None:
        self._components, self._side = components, math.copysign(1.0, x)
        self._form = whole_form(components, direction, x)
        self.lower, self.upper, self.width = self._form.lower, self._form.upper, self._form.width

    def _score(self, t: Numbers) -> tuple[Numbers, Numbers]:
        """Mean and standard deviation of side * L under the weight exp(tN)."""
        components, form = self._components, self._form
        r = 1.0 / (1.0 - np.multiply.outer(2.0 * form.alpha * t, components.lam))
        over_r, over_spread = components.sums(r), components.sums(components.lam * r)
        columns = np.stack([form.vector(over_r, THETA), form.vector(over_spread, form.u[1])], axis=2)
        solved = np.linalg.solve(form.inner(t, r, over_spread), columns)
        return self._side * solved[:, 1, 0], np.sqrt(solved[:, 1, 1])

    def exponent(self, t: Numbers) -> Numbers:
        mean, std = self._score(t)
        out: Numbers = self._form.exponent(t) + log_ndtr(mean / std)
        return out

    def at_zero(self) -> tuple[float, float, float]:
        return self._at_zero

    @cached_property
    def _at_zero(self) -> tuple[float, float, float]:
        return derivatives(self, 0.0, self.width)

    def mean_square(self, t: Numbers) -> Numbers:
        """Mean of L^2 over the cases with side * L > 0, under the weight exp(tN)."""
        mean, std = self._score(t)
        z = mean / std
        out: Numbers = mean**2 + std**2 + mean * std * np.exp(-0.5 * z * z - log_ndtr(z)) / math.sqrt(2.0 * math.pi)
        return out
