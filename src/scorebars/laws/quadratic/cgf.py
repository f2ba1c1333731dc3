"""Cumulant generating functions of sums of squares of normal errors.

Independent labels, Q = sum_j (b_j + sqrt(lam_j) Z_j)^2:

    K(t) = log E exp(tQ) = sum_j -1/2 log(1 - 2 t lam_j) + t b_j^2 / (1 - 2 t lam_j),   t < 1 / (2 max lam).

Labels that share k shifts, Q = |d + e|^2 with errors of covariance S = diag(v) + U U': with R = diag(1 / (1 - 2 t v))
and G = I - 2 t U' R U,

    K(t) = -1/2 log det(1 - 2 t diag(v)) - 1/2 log det G + t (d' R d + 2 t w' G^-1 w),   w = U' R d.

Tilting the distribution by exp(t0 Q) gives one of the same family, so two operations say everything and neither loses
digits: `tilted(t0)`, and `centred(s)` = K(s) - s K'(0) of the distribution at hand. Labels without error only shift Q
and are left to the caller.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from scorebars.arrays import FloatArray
from scorebars.laws.complex_log import Numbers, log1p
from scorebars.laws.quadratic.contour import UNDERFLOW

_SMALL = 0.1
_ODD = 1.0 / np.arange(15.0, 1.0, -2.0)  # 1/15, 1/13, ... 1/3: series of artanh, highest power first
_PRECISION = -39.0  # logarithm of the first term that may be left out, relative to the sum
_ENDS = (-600.0, 30.0)  # of the logit of (largest v) / (largest eigenvalue)


def log_excess(u: Numbers) -> Numbers:
    """-(log(1 - u) + u) / 2 without cancellation at small u: with w = u / (2 - u), log(1 - u) = -2 artanh(w)."""
    size = np.abs(u)
    largest = float(size.max(initial=0.0))
    if largest < _SMALL:
        return _small_excess(u, largest)
    out = log1p(-u)
    out += u
    out *= -0.5
    small = size < _SMALL
    out[small] = _small_excess(u[small], _SMALL)
    return out


def _small_excess(u: Numbers, largest: float) -> Numbers:
    """The same for |u| up to `largest`, which says how many terms are needed."""
    w = u / (2.0 - u)
    w2 = w * w
    terms = math.ceil(0.5 * _PRECISION / math.log(largest / (2.0 - largest))) if largest > 0 else 1
    first, *others = _ODD[-terms:].tolist()
    series = np.full_like(w, first)
    for coefficient in others:
        series *= w2
        series += coefficient
    series *= w2
    series += 0.5 * u
    series *= w
    return series


def log_peak(u: FloatArray) -> FloatArray:
    """-(log(1 - u) + u / (1 - u)) / 2, never positive: what a label adds to K - t K' at u = 2 t lam < 1."""
    w = u / (1.0 - u)  # then log(1 - u) = -log(1 + w)
    out = -0.5 * (np.log1p(-u) + w)
    small = np.abs(w) < _SMALL
    out[small] = -log_excess(-w[small])
    return out


class DiagonalCGF:
    """K of sum_j lam_j times a non-central chi-square with `count_j` degrees of freedom.

    `b2` holds the sum of squared offsets of each node. Counts and b2 may be fractional or negative, as
    compression makes them; only sums over the nodes have a meaning then. `mean` may be given where it is
    known better than the nodes know it.
    """

    def __init__(
        self,
        count: FloatArray,
        lam: FloatArray,
        b2: FloatArray,
        *,
        mean: float | None = None,
        gain: float = 0.0,
        depth: float = UNDERFLOW,
    ) -> None:
        self.count, self.lam, self.b2 = count, lam, b2
        self.gain, self.depth = gain, depth
        self.mean = float(np.sum(count * lam + b2)) if mean is None else mean
        top = float(lam.max(initial=0.0))
        self.limit = 0.5 / top if top > 0 else math.inf
        self.k2 = float(np.sum((2.0 * count * lam + 4.0 * b2) * lam))

    def tilted(self, t: float) -> DiagonalCGF:
        u = 2.0 * t * self.lam
        r = 1.0 / (1.0 - u)
        lam = self.lam * r
        gain = float(np.sum(u * (self.count * lam + self.b2 * (2.0 - u) * r * r)))
        # near zero the mean is the sum of small positive terms, elsewhere the old mean plus its change
        mean = self.mean + gain if gain > -0.5 * self.mean else None
        return DiagonalCGF(self.count, lam, self.b2 * r * r, mean=mean, gain=gain)

    def peak(self, t: float) -> float:
        u = 2.0 * t * self.lam
        r = 1.0 / (1.0 - u)
        return float(np.sum(self.count * log_peak(u) - (t * r) * (u * r) * self.b2))

    def centred(self, s: Numbers) -> Numbers:
        u = np.multiply.outer(2.0 * s, self.lam)
        # einsum, not @: BLAS would wake its threads for these small sums
        quadratic = s * np.einsum("jk,k->j", u / (1.0 - u), self.b2)
        out: Numbers = np.einsum("jk,k->j", log_excess(u), self.count) + quadratic
        return out

    def value(self, t: FloatArray) -> FloatArray:
        u = np.multiply.outer(-2.0 * t, self.lam)
        logarithm = np.einsum("jk,k->j", np.log1p(u), self.count)
        out: FloatArray = t * np.einsum("jk,k->j", 1.0 / (1.0 + u), self.b2) - 0.5 * logarithm
        return out


class LowRankCGF:
    """K of |r + U a + e|^2 with e ~ N(0, diag(v) + U U').

    `count` (m,) labels of variance `v` (m,) at each node and `gram` (m, k + 1, k + 1) the sum of x x' over them,
    x = (r, U); counts and grams may be fractional or negative, as compression makes them. `along` is a (k,): the offset
    d = r + U a is kept in two parts that would cancel. Tilting by t0 scales r by R and takes v to v R, U to R U G^-1/2
    and a to G^-1/2' (a + 2 t0 U' R r).
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
        # the variance 2 tr S^2 + 4 d' S d, in terms of U' U, U' diag(v) U and U' d
        weighted = np.einsum("m,mab->ab", v, gram)
        square = np.sum(count * v**2) + 2.0 * np.trace(weighted[1:, 1:]) + np.sum(self._total[1:, 1:] ** 2)
        along_shifts = (self._total @ self._offset)[1:]
        self.k2 = float(2.0 * square + 4.0 * (self._offset @ weighted @ self._offset + along_shifts @ along_shifts))
        self.limit = self._find_limit() if limit is None else limit

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
