"""The law of a quadratic form of normal components that may take either sign.

    N = alpha sum eta^2 + sum_a kappa_a (u_a . eta)^2 + l . eta + c,     eta ~ N(theta, lam) independent,

written with the coefficients (3,) of `components`; the u are orthonormal and all kappa have one sign. With
R = 1 / (1 - 2 t alpha lam), P = u' lam R u and A = 1 - 2 t P kappa, K(t) = log E exp(tN) is had in two ways:

- about the mean of eta, for small t: with the gradient g = 2 alpha theta + l + 2 sum_a kappa_a (u_a . theta) u_a of N
      K = t N(theta) + 1/2 sum log R - 1/2 log det A + t^2/2 (g' lam R g + 2 t v' kappa A^-1 v),    v = u' lam R g;
- about the stationary point s of N, for large t: with z = theta - s and w = u' R z
      K = t N(s) + 1/2 sum log R - 1/2 log det A + t (alpha z' R z + w' kappa A^-1 w).

Neither loses digits where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from scorebars.laws.base import FloatArray
from scorebars.laws.cgf import log_excess
from scorebars.laws.complex_log import Numbers, log, log1p
from scorebars.laws.components import THETA, Components, Pairs, Sums

_CELLS = 5000
"""Values of t times components that are computed at a time."""
_TINY = 1e-200  # relative to the largest
_NEVER = math.exp(-30.0)  # 1 / (t top) from which on nothing else ends K
_LARGE = 5.0  # |2 t alpha lam| from which on t counts as large


class QuadraticForm:
    """N for given alpha, `surplus` = alpha + kappa (k,), directions u (k, 3), linear = l (3,) and constant = c; k >= 1.

    Where the surplus is 0, N does not change along u, so l must not either.
    """

    real_singularities = True

    def __init__(
        self,
        components: Components,
        alpha: float,
        surplus: FloatArray,
        u: FloatArray,
        linear: FloatArray,
        constant: float,
    ) -> None:
        self.components, self.alpha, self.surplus, self.u = components, alpha, surplus, u
        self.kappa = surplus - alpha
        lam, dot = components.lam, components.at_zero
        offsets = np.array([dot(a, THETA) for a in u])
        self._gradient = 2.0 * alpha * THETA + linear + 2.0 * (self.kappa * offsets) @ u
        at_theta = alpha * dot(THETA, THETA) + dot(linear, THETA) + float(self.kappa @ offsets**2) + constant
        self._near = Pairs(components, u, self._gradient)
        (spread,), _, (steepness,) = self._near(lam[None])
        shared = self._near.squares @ self.kappa
        self._mean = at_theta + alpha * float(components.count @ lam) + float(shared @ lam)
        trace = (
            self.kappa @ spread**2 @ self.kappa + alpha**2 * components.count @ lam**2 + 2.0 * alpha * shared @ lam**2
        )
        self.width = 1.0 / math.sqrt(2.0 * float(trace) + float(steepness))
        self._linear, self._constant = linear, constant
        self.upper = self._limit(alpha, self.kappa)
        self.lower = -self._limit(-alpha, -self.kappa)

    @cached_property
    def _stationary(self) -> tuple[Pairs, float]:
        """What K for large t is made of: pairs with z, and N at the stationary point; alpha is not 0."""
        dot, linear = self.components.at_zero, self._linear
        moved = [
            0.0 if s == 0 else k / s * dot(a, linear) for a, k, s in zip(self.u, self.kappa, self.surplus, strict=True)
        ]
        point = -0.5 / self.alpha * (linear - np.array(moved) @ self.u)
        return Pairs(self.components, self.u, THETA - point), self._constant + 0.5 * dot(linear, point)

    def at_zero(self) -> tuple[float, float, float]:
        """K(0), K'(0) and K''(0)."""
        return 0.0, self._mean, self.width**-2

    def matrix(self, sums: Sums) -> Numbers:
        """The sums of (u_a . x)(u_b . x): (j, k, k)."""
        return np.stack([self.vector(sums, a) for a in self.u], axis=2)

    def vector(self, sums: Sums, coefficients: Numbers) -> Numbers:
        """The sums of (u_a . x)(coefficients . x): (j, k)."""
        return np.stack([sums(a, coefficients) for a in self.u], axis=1)

    def _limit(self, alpha: float, kappa: FloatArray) -> float:
        """Upper end of the t for which K is finite (not the very last one if kappa < 0 < alpha)."""
        top = self.components.top
        end = 0.5 / (alpha * top) if alpha > 0 else math.inf
        if not np.any(kappa > 0):
            return end
        if kappa.size == 1:
            lam, weight = self.components.lam, self._near.squares[:, 0] * self.components.lam
            inverse = _secular_root(2.0 * alpha * lam, 2.0 * float(kappa[0]) * weight)
            return min(1.0 / inverse, end) if inverse > _NEVER * top else end
        root = np.sqrt(kappa)

        def smallest(log_share: float) -> float:
            share = math.exp(log_share)  # t is this share of 1 / top, or its odds as a share of `end`
            t, r = share / top, np.ones(1)
            if end < math.inf:
                t, ratio = end * share / (1.0 + share), self.components.lam / top
                r = 1.0 / ((1.0 - ratio) + ratio / (1.0 + share))
            elif alpha < 0:
                r = 1.0 / (1.0 - 2.0 * t * alpha * self.components.lam)
            (matrix,), _, _ = self._near((self.components.lam * r)[None])
            return float(np.linalg.eigvalsh(np.eye(root.size) - 2.0 * t * root[:, None] * matrix * root)[0])

        if smallest(30.0) > 0:
            return end
        share = math.exp(brentq(smallest, -200.0, 30.0, xtol=1e-9))
        return end * share / (1.0 + share) if end < math.inf else share / top

    def inner(self, t: Numbers, r: Numbers, over_spread: Sums) -> Numbers:
        """A = 1 - 2 t P kappa (j, k, k); for large t from 2 t alpha lam R = R - 1, where it would cancel."""
        out: Numbers = np.eye(self.kappa.size) - 2.0 * t[:, None, None] * self.matrix(over_spread) * self.kappa
        large = np.abs(2.0 * t * self.alpha) * self.components.top > _LARGE
        if large.any():
            over_r = self.components.sums(r[large])
            out[large] = (np.diag(self.surplus) - self.matrix(over_r) * self.kappa) / self.alpha
        return out

    def exponent(self, t: Numbers) -> Numbers:
        """K(t) for real or complex t (j,)."""
        out = np.empty_like(t)
        for part in self.blocks(t):
            here = t[part]
            large = np.abs(2.0 * here * self.alpha) * self.components.top > _LARGE
            out[part] = self._about_mean(here) if not large.any() else self._on_both_sides(here, large)
        return out

    def blocks(self, t: Numbers) -> Iterator[slice]:
        """Some t at a time: arrays of so many components stay small, and are not taken from the system again and again."""
        rows = max(_CELLS // self.components.lam.size, 1)
        return (slice(start, start + rows) for start in range(0, t.size, rows))

    def _on_both_sides(self, t: Numbers, large: NDArray[np.bool_]) -> Numbers:
        out = np.empty_like(t)
        for part, method in ((large, self._about_stationary), (~large, self._about_mean)):
            if part.any():
                out[part] = method(t[part])
        return out

    def _about_stationary(self, t: Numbers) -> Numbers:
        u = np.multiply.outer(2.0 * self.alpha * t, self.components.lam)
        pairs, at_stationary = self._stationary
        matrix, w, square = pairs(1.0 / (1.0 - u))
        inner = (np.diag(self.surplus) - matrix * self.kappa) / self.alpha
        pulled = np.sum(w * self.kappa * _solved(inner, w), axis=1)
        logarithm = log1p(-u) @ self.components.count + np.sum(log(_eigenvalues(inner)), axis=1)
        out: Numbers = t * (at_stationary + self.alpha * square + pulled) - 0.5 * logarithm
        return out

    def _about_mean(self, t: Numbers) -> Numbers:
        lam = self.components.lam
        u = np.multiply.outer(2.0 * self.alpha * t, lam)
        spread = lam / (1.0 - u)
        matrix, v, square = self._near(spread)
        change = (spread * u) @ (self._near.squares @ self.kappa)
        shared = 2.0 * t[:, None, None] * matrix * self.kappa
        solved = _solved(np.eye(self.kappa.size) - shared, v)
        quadratic = square + 2.0 * t * np.sum(v * self.kappa * solved, axis=1)
        logarithm = log_excess(u) @ self.components.count + np.sum(log_excess(_eigenvalues(shared)), axis=1)
        out: Numbers = t * (self._mean + change) + logarithm + 0.5 * t * t * quadratic
        return out

    def tilted(self, t: Numbers) -> Tilted:
        """The components under the weight exp(tN)."""
        lam = self.components.lam
        r = 1.0 / (1.0 - np.multiply.outer(2.0 * self.alpha * t, lam))
        over_spread = self.components.sums(lam * r)
        inner = self.inner(t, r, over_spread)
        coupling = (1.0 / inner if inner.shape[-1] == 1 else np.linalg.inv(inner)) * self.kappa[:, None]
        pull = 2.0 * t[:, None] * np.einsum("jab,jb->ja", coupling, self.vector(over_spread, self._gradient))
        return Tilted(self, t, lam * r, over_spread, coupling, self._gradient + pull @ self.u)


class Tilted:
    """Mean theta + t spread (x . force) and covariance diag(spread) + 2 t (spread u)(coupling)(spread u)' of the
    components under the weight exp(tN), at each of many t (j,)."""

    def __init__(
        self, form: QuadraticForm, t: Numbers, spread: Numbers, over_spread: Sums, coupling: Numbers, force: Numbers
    ) -> None:
        self._form, self._t, self._spread, self._over_spread = form, t, spread, over_spread
        self._coupling, self._force = coupling, force

    def linear(self, a: FloatArray) -> tuple[Numbers, Numbers]:
        """Mean and variance of a . eta."""
        vector = self._form.vector(self._over_spread, a)
        mean = self._form.components.at_zero(a, THETA) + self._t * self._over_spread(a, self._force)
        shared = np.einsum("ja,jab,jb->j", vector, self._coupling, vector)
        return mean, self._over_spread(a, a) + 2.0 * self._t * shared

    def square(self) -> Numbers:
        """Mean of sum eta^2."""
        components, t = self._form.components, self._t
        over_square = components.sums(self._spread**2)
        moved = 2.0 * t * self._over_spread(THETA, self._force) + t * t * over_square(self._force, self._force)
        shared = np.einsum("jab,jba->j", self._coupling, self._form.matrix(over_square))
        own = self._spread @ components.count
        out: Numbers = components.at_zero(THETA, THETA) + moved + own + 2.0 * t * shared
        return out


def _secular_root(poles: FloatArray, weight: FloatArray) -> float:
    """The s > 0 above all poles with psi(s) = sum weight / (s - poles) = 1; 0 if psi is lower everywhere.

    1 / psi is concave: Newton's steps from below lead to where it is 1, and never beyond.
    """
    unit = max(float(np.abs(poles).max()), float(weight.max()))
    some = np.abs(weight) > _TINY * unit  # negative ones are of nodes that stand for many labels
    if not some.any():
        return 0.0
    poles, weight = poles[some] / unit, weight[some] / unit
    last = max(float(poles.max()), 0.0)
    s = max(float((poles + weight).max()), 0.0)
    if poles.min() >= 0:
        s = max(s, float(weight.sum()))
    for _ in range(100):
        distance = s - poles
        if distance.min() <= 0:  # to rounding
            break
        terms = weight / distance
        psi = float(terms.sum())
        step = psi * (psi - 1.0) / float(terms @ (1.0 / distance))
        s = max(s + step, 0.0)
        if s == 0 or abs(step) <= 1e-10 * (s - last):
            break
    return unit * s


def _solved(matrices: Numbers, vectors: Numbers) -> Numbers:
    """Each matrix (k, k) solved for its vector (k,)."""
    if matrices.shape[-1] == 1:
        return vectors / matrices[:, 0]
    out: Numbers = np.linalg.solve(matrices, vectors[:, :, None])[:, :, 0]
    return out


def _eigenvalues(matrices: Numbers) -> Numbers:
    """Eigenvalues of matrices like A (j, k).

    For complex t all lie in one half plane, so their principal logarithms add up to log det A; for real t they are
    real.
    """
    values = matrices[:, 0] if matrices.shape[-1] == 1 else np.linalg.eigvals(matrices)
    return values if np.iscomplexobj(matrices) else values.real
