"""The law of a quadratic form of normal components that may take either sign.

    N = alpha sum eta^2 + sum_a kappa_a (u_a . eta)^2 + l . eta + c,     eta ~ N(theta, lam) independent,

written with the coefficients (3,) of `components`; all kappa have one sign. In standard normals z its matrix is
alpha diag(lam) + V diag(kappa) V' with V = sqrt(lam) u, its gradient at z = 0 is g = sqrt(lam) (x . slope), and with
R = 1 / (1 - 2 t alpha lam), P = V' R V, C = (1/kappa - 2 t P)^-1

    K(t) = log E exp(t N) = t N(theta) - 1/2 sum log(1 / R) - 1/2 log det(1 - 2 t kappa P)
           + t^2/2 (g' R g + 2 t g' R V C V' R g).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from scorebars.laws.base import FloatArray
from scorebars.laws.cgf import Numbers, log_excess
from scorebars.laws.components import THETA, Components


class QuadraticForm:
    """N for given alpha, kappa (k,), directions u (k, 3), linear = l (3,), constant = c; k may be 0."""

    def __init__(
        self,
        components: Components,
        alpha: float,
        kappa: FloatArray,
        u: FloatArray,
        linear: FloatArray,
        constant: float,
    ) -> None:
        self.components, self.alpha, self.kappa, self.u = components, alpha, kappa, u
        lam, at_zero = components.lam, components.at_zero
        offsets = np.array([at_zero(a, THETA) for a in u])
        own = float(np.sum(components.count * lam))
        self.slope = 2.0 * alpha * THETA + linear + 2.0 * (kappa * offsets) @ u
        self.at_theta = alpha * at_zero(THETA, THETA) + at_zero(linear, THETA) + float(kappa @ offsets**2) + constant
        self._spread = self._matrix(lam[None])[0]
        self.mean = self.at_theta + alpha * own + float(kappa @ np.diag(self._spread))
        self.upper = self._limit(alpha, kappa)
        self.lower = -self._limit(-alpha, -kappa)

    def _matrix(self, f: Numbers) -> Numbers:
        """sum f (u_a . x)(u_b . x): (j, k, k)."""
        k = len(self.u)
        out = np.empty((len(f), k, k), dtype=f.dtype)
        for a in range(k):
            for b in range(a + 1):
                out[:, a, b] = out[:, b, a] = self.components.form(f, self.u[a], self.u[b])
        return out

    def _vector(self, f: Numbers, coefficients: Numbers) -> Numbers:
        """sum f (u_a . x)(coefficients . x): (j, k)."""
        out = np.empty((len(f), len(self.u)), dtype=np.result_type(f, coefficients))
        for a, direction in enumerate(self.u):
            out[:, a] = self.components.form(f, direction, coefficients)
        return out

    def _limit(self, alpha: float, kappa: FloatArray) -> float:
        """Upper end of the t for which K is finite (not the very last one if kappa < 0 < alpha)."""
        top = self.components.top
        end = 0.5 / (alpha * top) if alpha > 0 and top > 0 else math.inf
        if top == 0 or not np.any(kappa > 0):
            return end
        root = np.sqrt(kappa)

        def smallest(log_share: float) -> float:
            share = math.exp(log_share)  # of `end`, or of 1 / (2 top) where there is no end
            if end < math.inf:
                part, gap = share / (1.0 + share), 1.0 / (1.0 + share)
                t, ratio = part * end, self.components.lam / top
                r = 1.0 / ((1.0 - ratio) + gap * ratio)
            else:
                t = share / top
                r = 1.0 / (1.0 - 2.0 * t * alpha * self.components.lam)
            matrix = self._matrix((self.components.lam * r)[None])[0]
            return float(np.linalg.eigvalsh(np.eye(root.size) - 2.0 * t * root[:, None] * matrix * root)[0])

        if smallest(30.0) > 0:
            return end
        share = math.exp(brentq(smallest, -200.0, 30.0, xtol=1e-9))
        return end * share / (1.0 + share) if end < math.inf else share / top

    def centred(self, t: Numbers) -> Numbers:
        """K(t) - t E N for real or complex t (j,), with full relative accuracy for small t."""
        lam = self.components.lam
        u = np.multiply.outer(2.0 * self.alpha * t, lam)
        spread = lam / (1.0 - u)
        quadratic = self.components.form(spread, self.slope, self.slope)
        out: Numbers = np.einsum("jk,k->j", log_excess(u), self.components.count)
        if self.kappa.size:
            root = np.sqrt(np.abs(self.kappa))
            sign = math.copysign(1.0, self.kappa.sum())
            matrix = self._matrix(spread)
            shared = 2.0 * sign * t[:, None, None] * (root[:, None] * matrix * root)
            vector = root * self._vector(spread, self.slope)
            solved = np.linalg.solve(np.eye(root.size) - shared, vector[:, :, None])[:, :, 0]
            quadratic = quadratic + 2.0 * sign * t * np.sum(vector * solved, axis=1)
            change = np.einsum("jaa,a->j", self._matrix(spread * u), self.kappa)
            # all eigenvalues lie in the same half plane, so their principal logarithms add up to the right one
            eigenvalues = shared[:, 0] if root.size == 1 else np.linalg.eigvals(shared)
            out = out + t * change + np.sum(log_excess(eigenvalues), axis=1)
        return out + 0.5 * t * t * quadratic

    def exponent(self, t: Numbers) -> Numbers:
        """K(t)."""
        out: Numbers = t * self.mean + self.centred(t)
        return out

    def tilted(self, t: Numbers) -> Tilted:
        """The components under the weight exp(t N)."""
        lam = self.components.lam
        spread = lam / (1.0 - np.multiply.outer(2.0 * self.alpha * t, lam))
        identity = np.eye(self.kappa.size)
        inner = identity - 2.0 * t[:, None, None] * self.kappa[:, None] * self._matrix(spread)
        coupling = np.linalg.solve(inner, np.broadcast_to(np.diag(self.kappa), inner.shape))
        pull = 2.0 * t[:, None] * np.einsum("jab,jb->ja", coupling, self._vector(spread, self.slope))
        return Tilted(self, t, spread, coupling, self.slope + pull @ self.u)

    def derivatives(self, t: float) -> tuple[float, float]:
        """K'(t) and K''(t) at real t."""
        at = self.tilted(np.array([t]))
        lam, form, alpha = self.components.lam, self.components.form, self.alpha
        r = 1.0 / (1.0 - 2.0 * t * alpha * lam[None])
        along = self._vector(at.spread, at.force)[0]
        twice, thrice = self._matrix(at.spread * r)[0], self._matrix(at.spread**2 * r)[0]
        across = self._vector(at.spread * r, at.force)[0]
        c = at.coupling[0]
        own = at.spread[0] @ self.components.count, (at.spread[0] ** 2) @ self.components.count
        first = self.at_theta + alpha * own[0] + np.sum(c * twice) + t * form(at.spread, self.slope, at.force)[0]
        first += t * t * (alpha * form(at.spread**2, at.force, at.force)[0] + self.kappa @ along**2)
        trace = alpha**2 * own[1] + 2.0 * alpha * np.sum(c * thrice) + np.trace(c @ twice @ c @ twice)
        second = 2.0 * trace + form(at.spread * r**2, at.force, at.force)[0] + 2.0 * t * across @ c @ across
        return float(first), float(second)


class Tilted:
    """Mean theta + t spread (x . force) and covariance diag(spread) + 2 t (spread V)(coupling)(spread V)' of the
    components under the weight exp(t N), at each of many t (j,)."""

    def __init__(self, form: QuadraticForm, t: Numbers, spread: Numbers, coupling: Numbers, force: Numbers) -> None:
        self._form, self.t, self.spread, self.coupling, self.force = form, t, spread, coupling, force

    def linear(self, a: FloatArray) -> tuple[Numbers, Numbers]:
        """Mean and variance of a . eta."""
        components = self._form.components
        vector = self._form._vector(self.spread, a)
        mean = components.at_zero(a, THETA) + self.t * components.form(self.spread, a, self.force)
        shared = np.einsum("ja,jab,jb->j", vector, self.coupling, vector)
        return mean, components.form(self.spread, a, a) + 2.0 * self.t * shared

    def square(self) -> Numbers:
        """Mean of sum eta^2."""
        components, t = self._form.components, self.t
        moved = 2.0 * t * components.form(self.spread, THETA, self.force)
        moved = moved + t * t * components.form(self.spread**2, self.force, self.force)
        shared = np.einsum("jab,jab->j", self.coupling, self._form._matrix(self.spread**2))
        own = np.einsum("jk,k->j", self.spread, components.count)
        out: Numbers = components.at_zero(THETA, THETA) + moved + own + 2.0 * t * shared
        return out
