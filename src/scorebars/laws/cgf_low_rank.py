"""Cumulant generating function for labels that share a few systematic shifts.

The errors have covariance S = diag(v) + U U', where the k columns of U are fully correlated shifts. For
Q = |d + e|^2, with R = diag(1 / (1 - 2 t v)) and G = I - 2 t U' R U,

    K(t) = -1/2 log det(1 - 2 t diag(v)) - 1/2 log det G + t (d' R d + 2 t w' G^-1 w),   w = U' R d.

All this needs of the labels is sums over them of products of the entries of x_i = (d_i, U_i1, ..., U_ik) times
functions of v_i. So a node carries the sum of x x' over its labels, and no array grows with their number.
Tilting by t0 leads back to the same form: v -> v R, U -> R U G^-1/2, d -> R (d + 2 t0 U G^-1 w). To keep apart
what would cancel, the offset is written as r + U a = x . (1, a): r is then only scaled by R, and a -> G^-1/2'
(a + 2 t0 U' R r).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from scorebars.laws.cgf import UNDERFLOW, FloatArray, log_excess, log_peak
from scorebars.laws.complex_log import Numbers

_ENDS = (-600.0, 30.0)  # of the logit of (largest v) / (largest eigenvalue)


class LowRankCGF:
    """K of |r + U a + e|^2 with e ~ N(0, diag(v) + U U').

    `count` (m,) labels of variance `v` (m,) at each node and `gram` (m, k + 1, k + 1) the sum of x x' over them,
    x = (r, U); counts and grams may be fractional or negative, as compression makes them. `along` is a (k,).
    """

    def __init__(
        self,
        count: FloatArray,
        v: FloatArray,
        gram: FloatArray,
        along: FloatArray,
        *,
        mean: float | None = None,
        gain: float = 0.0,
        depth: float = UNDERFLOW,
        limit: float | None = None,
    ) -> None:
        self.count, self.v, self.gram, self.along = count, v, gram, along
        self.gain, self.depth = gain, depth
        self._offset = np.append(1.0, along)
        self._total = gram.sum(axis=0)
        own = float(np.sum(count * v) + np.trace(self._total[1:, 1:]))
        self.mean = own + float(self._offset @ self._total @ self._offset) if mean is None else mean
        self.k2, self.k3, self.k4 = self._cumulants()
        self.limit = self._find_limit() if limit is None else limit

    def _cumulants(self) -> tuple[float, float, float]:
        """kappa_r = 2^(r-1) (r-1)! (tr S^r + r d' S^(r-1) d), in terms of P_j = U' V^j U, g_j = U' V^j d."""
        moments = [self._total, *(np.einsum("m,mab->ab", self.v**j, self.gram) for j in (1, 2, 3))]
        p0, p1, p2, p3 = (moment[1:, 1:] for moment in moments)
        g0, g1, g2, _ = ((moment @ self._offset)[1:] for moment in moments)
        d1, d2, d3 = (float(self._offset @ moment @ self._offset) for moment in moments[1:])
        own2, own3, own4 = (float(np.sum(self.count * self.v**j)) for j in (2, 3, 4))
        square = own2 + 2 * np.trace(p1) + np.sum(p0 * p0)
        cube = own3 + 3 * np.trace(p2) + 3 * np.sum(p1 * p0) + np.sum((p0 @ p0) * p0)
        fourth = own4 + 4 * np.trace(p3) + 4 * np.sum(p2 * p0) + 2 * np.sum(p1 * p1)
        fourth += 4 * np.sum((p0 @ p0) * p1) + np.sum((p0 @ p0) ** 2)
        linear = d1 + g0 @ g0
        quadratic = d2 + 2 * g1 @ g0 + g0 @ p0 @ g0
        cubic = d3 + 2 * g2 @ g0 + g0 @ p1 @ g0 + np.sum((g1 + p0 @ g0) ** 2)
        return (
            float(2 * square + 4 * linear),
            float(8 * cube + 24 * quadratic),
            float(48 * fourth + 192 * cubic),
        )

    def _find_limit(self) -> float:
        """1 / (2 largest eigenvalue of S): where the smallest eigenvalue of G(t) reaches 0, below 1 / (2 max v)."""
        top = float(self.v.max())
        share = self.v / top

        def smallest(logit: float) -> float:
            part, gap = float(expit(logit)), float(expit(-logit))  # 2 t max v and what is left of it
            r = 1.0 / ((1.0 - share) + gap * share)
            return float(np.linalg.eigvalsh(np.eye(self.along.size) - part / top * self._shared(r))[0])

        if smallest(_ENDS[1]) > 0:
            return 0.5 / top
        return 0.5 * float(expit(brentq(smallest, *_ENDS, xtol=1e-13))) / top

    def _shared(self, r: FloatArray) -> FloatArray:
        out: FloatArray = np.einsum("m,mab->ab", r, self.gram[:, 1:, 1:])
        return out

    def _tilt(self, t: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """r = 1 / (1 - 2 t v), the sum of r x x', the eigenvalues of 1 - G, a root of G^-1, and the new a."""
        r = 1.0 / (1.0 - 2.0 * t * self.v)
        cross = np.einsum("m,mab->ab", r, self.gram)
        h, vectors = np.linalg.eigh(2.0 * t * cross[1:, 1:])
        root = vectors / np.sqrt(1.0 - h)
        return r, cross, h, root, root.T @ (self.along + 2.0 * t * cross[1:, 0])

    def tilted(self, t: float) -> LowRankCGF:
        r, cross, _, root, along = self._tilt(t)
        v = self.v * r
        change = np.eye(cross.shape[0])
        change[1:, 1:] = root
        gram = change.T @ (self.gram * (r * r)[:, None, None]) @ change
        offset = np.append(1.0, along)
        # K'(t) - K'(0) = 2 t (tr S S' + d' S d' + d S d'), primes for tilted
        between = cross @ change
        weighted = np.einsum("m,mab->ab", self.v, gram)
        mixed = np.einsum("m,mab->ab", self.v * r, self.gram)
        trace = np.sum(self.count * self.v * v) + np.trace(weighted[1:, 1:]) + np.trace(mixed[1:, 1:])
        trace += np.sum(between[1:, 1:] ** 2)
        shifted = (between @ offset)[1:]
        drift = offset @ weighted @ offset + shifted @ shifted
        drift += self._offset @ mixed @ change @ offset + (self._total @ self._offset)[1:] @ shifted
        gain = float(2.0 * t * (trace + drift))
        mean = self.mean + gain if gain > -0.5 * self.mean else None
        return LowRankCGF(self.count, v, gram, along, mean=mean, gain=gain, limit=self.limit - t)

    def peak(self, t: float) -> float:
        r, cross, h, root, along = self._tilt(t)
        both = np.einsum("m,mab->ab", self.v * r * r, self.gram)
        offset = np.append(1.0, root @ along)
        deviation = offset @ both @ offset + np.sum((cross @ offset)[1:] ** 2)
        own = float(np.sum(self.count * log_peak(2.0 * t * self.v)) + np.sum(log_peak(h)))
        return own - 2.0 * t * t * float(np.sum(root * (both[1:, 1:] @ root)) + deviation)

    def centred(self, s: Numbers) -> Numbers:
        u = np.multiply.outer(2.0 * s, self.v)
        r = 1.0 / (1.0 - u)
        plain = np.einsum("jm,mab->jab", r, self.gram)
        weighted = np.einsum("jm,mab->jab", r * self.v, self.gram)
        shared = 2.0 * s[:, None, None] * plain[:, 1:, 1:]
        linear = (plain @ self._offset)[:, 1:]
        solved = np.linalg.solve(np.eye(shared.shape[-1]) - shared, linear[:, :, None])[:, :, 0]
        trace = np.trace(weighted[:, 1:, 1:], axis1=1, axis2=2)
        offset = np.einsum("a,jab,b->j", self._offset, weighted, self._offset)
        quadratic = 2.0 * s * s * (trace + offset + np.sum(linear * solved, axis=1))
        own = np.einsum("jm,m->j", log_excess(u), self.count)
        out: Numbers = own + quadratic + np.sum(log_excess(_eigenvalues(shared)), axis=1)
        return out

    def value(self, t: FloatArray) -> FloatArray:
        u = np.multiply.outer(-2.0 * t, self.v)
        plain = np.einsum("jm,mab->jab", 1.0 / (1.0 + u), self.gram)
        g = np.eye(self.along.size) - 2.0 * t[:, None, None] * plain[:, 1:, 1:]
        along = self.along + 2.0 * t[:, None] * plain[:, 1:, 0]
        square = np.sum(along * np.linalg.solve(g, along[:, :, None])[:, :, 0], axis=1) - self.along @ self.along
        logarithm = np.einsum("jm,m->j", np.log1p(u), self.count) + np.linalg.slogdet(g)[1]
        out: FloatArray = t * plain[:, 0, 0] + 0.5 * (square - logarithm)
        return out


def _eigenvalues(matrices: Numbers) -> Numbers:
    """Eigenvalues of symmetric matrices, real or complex.

    For Im s > 0 the imaginary part of the matrix is positive definite, so all eigenvalues lie in the upper half
    plane and the principal logarithms of 1 - eigenvalue add up to the right one.
    """
    return np.linalg.eigvals(matrices) if np.iscomplexobj(matrices) else np.linalg.eigvalsh(matrices)
