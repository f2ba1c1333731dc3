"""Cumulant generating functions of sums of squares of normal errors.

Independent labels, Q = sum_j (b_j + sqrt(lam_j) Z_j)^2:

    K(t) = log E exp(tQ) = sum_j -1/2 log(1 - 2 t lam_j) + t b_j^2 / (1 - 2 t lam_j),   t < 1 / (2 max lam).

Labels that share k shifts, Q = |d + e|^2 with errors of covariance S = diag(v) + U U': with R = diag(1 / (1 - 2 t v))
and G = I - 2 t U' R U,

    K(t) = -1/2 log det(1 - 2 t diag(v)) - 1/2 log det G + t (d' R d + 2 t w' G^-1 w),   w = U' R d.

`exponent(t, x)` = K(t) - t x is what the contour integral needs, `centred(s)` = K(s) - s K'(0) what moments of the root
need, without cancellation at small s. Labels without error only shift Q and are left to the caller.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scorebars.arrays import FloatArray
from scorebars.laws.contour import Contour, Numbers, contour, log1p

_SMALL = 0.1
_ODD = 1.0 / np.arange(15.0, 1.0, -2.0)  # 1/15, 1/13, ... 1/3: series of artanh, highest power first
_CELLS = 2_000_000  # nodes times labels that are looked at in one go
_PRECISION = -39.0  # logarithm of the first term that may be left out, relative to the sum


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


class _SquaresCGF(ABC):
    """K, its mean and its variance."""

    mean: float
    k2: float

    @abstractmethod
    def exponent(self, t: Numbers, x: float) -> Numbers:
        """K(t) - t x."""

    @abstractmethod
    def centred(self, s: Numbers) -> Numbers:
        """K(s) - s K'(0)."""

    def contour(self, x: float, guess: float = 0.0) -> Contour:
        """For the distribution at x."""
        return contour(lambda t: self.exponent(t, x), 1.0 / math.sqrt(self.k2), guess, side=1)


class DiagonalCGF(_SquaresCGF):
    """K of sum_j lam_j times a non-central chi-square with `count_j` degrees of freedom.

    `b2` holds the sum of squared offsets of each node. Counts and b2 may be fractional or negative, as compression makes
    them; only sums over the nodes have a meaning then.
    """

    def __init__(self, count: FloatArray, lam: FloatArray, b2: FloatArray) -> None:
        self.count, self.lam, self.b2 = count, lam, b2
        self.mean = float(np.sum(count * lam + b2))
        self.k2 = float(np.sum((2.0 * count * lam + 4.0 * b2) * lam))
        self._offset = float(np.sum(b2))

    def exponent(self, t: Numbers, x: float) -> Numbers:
        u = np.multiply.outer(2.0 * t, self.lam)
        # einsum, not @: BLAS would wake its threads for these small sums
        logarithm = np.einsum("jk,k->j", log1p(-u), self.count)
        if x > 0.5 * self.mean:  # x and the offset nearly cancel
            shift = np.einsum("jk,k->j", u / (1.0 - u), self.b2) + (self._offset - x)
        else:
            shift = np.einsum("jk,k->j", 1.0 / (1.0 - u), self.b2) - x
        out: Numbers = t * shift - 0.5 * logarithm
        return out

    def centred(self, s: Numbers) -> Numbers:
        u = np.multiply.outer(2.0 * s, self.lam)
        quadratic = s * np.einsum("jk,k->j", u / (1.0 - u), self.b2)
        out: Numbers = np.einsum("jk,k->j", log_excess(u), self.count) + quadratic
        return out


class LowRankCGF(_SquaresCGF):
    """K of |r + U a + e|^2 with e ~ N(0, diag(v) + U U').

    `count` (m,) labels of variance `v` (m,) at each node and `gram` (m, k + 1, k + 1) the sum of x x' over them,
    x = (r, U); counts and grams may be fractional or negative, as compression makes them. `along` is a (k,): the offset
    d = r + U a is kept in two parts that would cancel.
    """

    def __init__(self, count: FloatArray, v: FloatArray, gram: FloatArray, along: FloatArray) -> None:
        self.count, self.v, self.gram, self.along = count, v, gram, along
        self._offset = np.append(1.0, along)
        total, weighted = gram.sum(axis=0), np.einsum("m,mab->ab", v, gram)
        own = float(np.sum(count * v) + np.trace(total[1:, 1:]))
        self.mean = own + float(self._offset @ total @ self._offset)
        # the variance 2 tr S^2 + 4 d' S d, in terms of U' U, U' diag(v) U and U' d
        square = np.sum(count * v**2) + 2.0 * np.trace(weighted[1:, 1:]) + np.sum(total[1:, 1:] ** 2)
        shared = (total @ self._offset)[1:]
        self.k2 = float(2.0 * square + 4.0 * (self._offset @ weighted @ self._offset + shared @ shared))

    def exponent(self, t: Numbers, x: float) -> Numbers:
        u = np.multiply.outer(2.0 * t, self.v)
        plain = np.einsum("jm,mab->jab", 1.0 / (1.0 - u), self.gram)
        shared = 2.0 * t[:, None, None] * plain[:, 1:, 1:]
        moved, a = 2.0 * t[:, None] * plain[:, 1:, 0], self.along
        # a + U' R r, squared in the metric of G^-1, less a'a
        solved = np.linalg.solve(np.eye(a.size) - shared, np.stack([shared @ a + 2.0 * moved, moved], axis=2))
        square = solved[:, :, 0] @ a + np.sum(moved * solved[:, :, 1], axis=1)
        logarithm = np.einsum("jm,m->j", log1p(-u), self.count) + np.sum(log1p(-_eigenvalues(shared)), axis=1)
        out: Numbers = t * (plain[:, 0, 0] - x) + 0.5 * (square - logarithm)
        return out

    def centred(self, s: Numbers) -> Numbers:
        u = np.multiply.outer(2.0 * s, self.v)
        r = 1.0 / (1.0 - u)
        plain, weighted = (np.einsum("jm,mab->jab", f, self.gram) for f in (r, r * self.v))
        shared = 2.0 * s[:, None, None] * plain[:, 1:, 1:]
        linear = (plain @ self._offset)[:, 1:]
        solved = np.linalg.solve(np.eye(shared.shape[-1]) - shared, linear[:, :, None])[:, :, 0]
        trace = np.trace(weighted[:, 1:, 1:], axis1=1, axis2=2)
        offset = np.einsum("a,jab,b->j", self._offset, weighted, self._offset)
        quadratic = 2.0 * s * s * (trace + offset + np.sum(linear * solved, axis=1))
        own = np.einsum("jm,m->j", log_excess(u), self.count)
        out: Numbers = own + quadratic + np.sum(log_excess(_eigenvalues(shared)), axis=1)
        return out


class BatchCGF(_SquaresCGF):
    """K of |d + e|^2 where e of each batch has covariance diag(v) + x x', plus `rest`, independent of it.

    Each batch is diagonal plus rank one: with s(t) = sum x^2 / (1 - 2 t v) and w(t) = sum x d / (1 - 2 t v) over its labels,

        K(t) = sum over labels  [-1/2 log(1 - 2 t v) + t d^2 / (1 - 2 t v)]
             + sum over batches [-1/2 log(1 - 2 t s) + 2 t^2 w^2 / (1 - 2 t s)].

    Labels are sorted by batch; `batch` numbers them from 0 without gaps.
    """

    def __init__(
        self, v: FloatArray, x: FloatArray, d: FloatArray, batch: NDArray[np.intp], rest: _SquaresCGF | None
    ) -> None:
        self.v, self.x, self.d, self.rest = v, x, d, rest
        self._first = np.flatnonzero(np.append(True, np.diff(batch) > 0))
        x2, xd = self._sums(x * x), self._sums(x * d)
        self.mean = float(np.sum(v + x * x + d * d)) + (0.0 if rest is None else rest.mean)
        square = np.sum(v * v) + 2.0 * np.sum(v * x * x) + np.sum(x2 * x2)
        self.k2 = float(2.0 * square + 4.0 * (np.sum(v * d * d) + np.sum(xd * xd))) + (0.0 if rest is None else rest.k2)

    def _sums(self, terms: Numbers) -> Numbers:
        """Over the labels of each batch, along the last axis."""
        return np.add.reduceat(terms, self._first, axis=-1)

    def _in_blocks(self, t: Numbers, one: Callable[[Numbers], Numbers]) -> Numbers:
        """A function of several t, so many at a time that temporaries stay small."""
        step = max(1, _CELLS // self.v.size)
        if t.size <= step:
            return one(t)
        return np.concatenate([one(t[start : start + step]) for start in range(0, t.size, step)])

    def exponent(self, t: Numbers, x: float) -> Numbers:
        out = self._in_blocks(t, self._exponent) - t * x
        return out if self.rest is None else out + self.rest.exponent(t, 0.0)

    def _exponent(self, t: Numbers) -> Numbers:
        u = np.multiply.outer(2.0 * t, self.v)
        r = 1.0 / (1.0 - u)
        shared, moved = 2.0 * t[:, None] * self._sums(r * self.x**2), 2.0 * t[:, None] * self._sums(r * self.x * self.d)
        logarithm = np.sum(log1p(-u), axis=1) + np.sum(log1p(-shared), axis=1)
        offset = t * np.einsum("jk,k->j", r, self.d**2)
        out: Numbers = offset + 0.5 * (np.sum(moved * moved / (1.0 - shared), axis=1) - logarithm)
        return out

    def centred(self, s: Numbers) -> Numbers:
        out = self._in_blocks(s, self._centred)
        return out if self.rest is None else out + self.rest.centred(s)

    def _centred(self, s: Numbers) -> Numbers:
        u = np.multiply.outer(2.0 * s, self.v)
        r = 1.0 / (1.0 - u)
        shared, linear = 2.0 * s[:, None] * self._sums(r * self.x**2), self._sums(r * self.x * self.d)
        own = np.einsum("jk,k->j", r, self.v * (self.x**2 + self.d**2))
        quadratic = 2.0 * s * s * (own + np.sum(linear * linear / (1.0 - shared), axis=1))
        out: Numbers = np.sum(log_excess(u), axis=1) + quadratic + np.sum(log_excess(shared), axis=1)
        return out


def _eigenvalues(matrices: Numbers) -> Numbers:
    """Eigenvalues of symmetric matrices, real or complex.

    For Im s > 0 the imaginary part of the matrix is positive definite, so all eigenvalues lie in the upper half
    plane and the principal logarithms of 1 - eigenvalue add up to the right one.
    """
    return np.linalg.eigvals(matrices) if np.iscomplexobj(matrices) else np.linalg.eigvalsh(matrices)
