"""The distribution of the mean squared error, for label errors that are normal: a generalised chi-square.

    Q = sum_i w_i (delta_i + e_i)^2 / sum_i w_i,    e ~ N(0, S),

is a sum of independent terms (b_j + sqrt(lam_j) Z_j)^2, with lam and b from the eigenvectors of the weighted S. A constant
sigma gives the non-central chi-square, and labels without error only shift Q. Distribution function, density and quantiles
come from a contour integral (`laws.contour`) of the cumulant generating function, exact to 1e-12. Independent labels have

    K(t) = log E exp(tQ) = sum_j -1/2 log(1 - 2 t lam_j) + t b_j^2 / (1 - 2 t lam_j),   t < 1 / (2 max lam).

Labels that share k shifts, Q = |d + e|^2 with errors of covariance S = diag(v) + U U': with R = diag(1 / (1 - 2 t v))
and G = I - 2 t U' R U,

    K(t) = -1/2 log det(1 - 2 t diag(v)) - 1/2 log det G + t (d' R d + 2 t w' G^-1 w),   w = U' R d.

`exponent(t, x)` = K(t) - t x is what the contour integral needs, `centred(s)` = K(s) - s K'(0) what the mean of the root
needs. With mu = E Q that follows from

    sqrt(mu) - E sqrt(Q) = 1 / (2 sqrt(pi)) int_0^inf (E exp(-t Q) - exp(-t mu)) t^(-3/2) dt,

whose integrand is positive: nothing cancels, however small or large the label errors are.

How large can the true mean squared error be, given the observed one (`interval_from_nodes`)?

The observed mean square q = sum w (D_i + s_i Z_i)^2 / sum w holds the true deviations D and label errors of
standard deviation s. With D_i^2 = theta c_i the distribution of q depends on theta alone, and shifts up with it: the
interval holds the theta that make neither a smaller nor a larger q too improbable,

    P(Q >= q | low) = P(Q <= q | high) = (1 - level) / 2.

A q below what label errors alone make of it (its median without D) is improbable whatever theta is. The high end is then
where it is (1 - level) times as probable as for theta = 0, so that it is above 0 always.

With constant s and c = 1 this is the exact inversion of the non-central chi-square in its non-centrality.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from scorebars.arrays import FloatArray
from scorebars.laws.contour import Contour, Inversion, InvertedLaw, Numbers, contour, log1p
from scorebars.laws.law import LawWithRoot
from scorebars.laws.quadratic.quadratic_form import EXACT, compress, compress_nodes
from scorebars.laws.quadratic.ratio_moments import over_all_scales
from scorebars.moments.correlated import shares_of
from scorebars.numerics.roots import crossing

# cumulant generating functions --------------------------------------------------------------------

_SMALL = 0.01
_SERIES = np.append([0.0, 0.0], 0.5 / np.arange(2.0, 10.0))  # of log_excess, to rounding up to _SMALL
_CELLS = 2_000_000  # nodes times labels that are looked at in one go


def log_excess(u: Numbers) -> Numbers:
    """-(log(1 - u) + u) / 2 without cancellation at small u, where it is a power series."""
    small = np.abs(u) < _SMALL
    out, large = np.empty_like(u), u[~small]
    out[small] = np.polynomial.polynomial.polyval(u[small], _SERIES)
    out[~small] = -0.5 * (log1p(-large) + large)
    return out


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
        return contour(lambda t: self.exponent(t, x), 1.0 / math.sqrt(self.k2), guess, "right")


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


# the distribution ---------------------------------------------------------------------------------

_LOWEST = 1e-100  # of the mean: nothing is found closer to the floor
_RAREST = 1e-60  # no quantile is looked for that is rarer


class GeneralizedChiSquare(InvertedLaw, LawWithRoot):
    """Distribution of floor + Q, with `cgf` that of Q > 0, or None if nothing is random."""

    method = "exact"

    def __init__(
        self,
        cgf: DiagonalCGF | LowRankCGF | BatchCGF | None,
        floor: float,
        mean: float,
        variance: float,
    ) -> None:
        self.cgf, self.floor = cgf, floor
        self._moments = mean, variance
        self.support = (floor, math.inf if cgf is not None else floor)

    @classmethod
    def independent(
        cls, delta: FloatArray, sigma: FloatArray | float, weight: FloatArray | None = None
    ) -> GeneralizedChiSquare:
        """sum w (delta + sigma Z)^2 / sum w with independent standard normal Z; no weight: the mean."""
        n = delta.size
        if weight is None and np.ndim(sigma) == 0:
            node = np.array([[float(sigma) ** 2 / n], [float(n)], [float(np.sum(delta * delta)) / n]])
            return cls.of_nodes(*node)
        total = float(n) if weight is None else float(np.sum(weight))
        spread = np.broadcast_to(np.asarray(sigma, dtype=float), (n,))

        def block(part: slice) -> tuple[FloatArray, FloatArray]:
            share = 1.0 / total if weight is None else weight[part] / total
            b2 = delta[part] ** 2 * share
            return spread[part] ** 2 * share, np.stack([np.ones(b2.size), b2])

        nodes, columns, certain = compress(n, block)
        return cls.of_nodes(nodes, *columns, floor=float(certain[1]))

    @classmethod
    def of_nodes(
        cls,
        lam: FloatArray,
        count: FloatArray,
        b2: FloatArray,
        *,
        floor: float = 0.0,
        mean: float | None = None,
        variance: float | None = None,
    ) -> GeneralizedChiSquare:
        """Groups of `count` labels of variance `lam` with squared offsets that add up to `b2`, above the floor.

        Mean and variance may be given where they are known better than the nodes know them.
        """
        if not lam.all():
            floor += float(np.sum(b2[lam == 0]))
            lam, count, b2 = lam[lam > 0], count[lam > 0], b2[lam > 0]
        if lam.size == 0:
            return cls(None, floor, floor, 0.0)
        if lam.size > EXACT:
            lam, (count, b2) = compress_nodes(lam, np.stack([count, b2]))
        cgf = DiagonalCGF(count, lam, b2)
        mean = floor + cgf.mean if mean is None else mean
        if cgf.k2 == 0:  # below the smallest double
            return cls(None, mean, mean, 0.0)
        return cls(cgf, floor, mean, cgf.k2 if variance is None else variance)

    @classmethod
    def covariance(cls, delta: FloatArray, cov: FloatArray, weight: FloatArray | None = None) -> GeneralizedChiSquare:
        """The mean squared error of labels with correlated errors, of covariance `cov` (n, n)."""
        root = np.sqrt(shares_of(weight, delta.size))
        return cls._from_matrix(root * delta, root[:, None] * cov * root)

    @classmethod
    def _from_matrix(cls, offset: FloatArray, matrix: FloatArray, floor: float = 0.0) -> GeneralizedChiSquare:
        """floor + |offset + e|^2 with e ~ N(0, matrix)."""
        lam, vectors = np.linalg.eigh(matrix)
        # an eigenvalue far below the variances of the labels that make it up is a rounded zero
        rounding = 16 * lam.size * np.finfo(float).eps * (np.diag(matrix) @ vectors**2)
        # mean and variance from the matrix itself: eigenvectors know small variances only to rounding
        mean = floor + float(offset @ offset + np.trace(matrix))
        variance = max(float(2 * np.sum(matrix * matrix) + 4 * offset @ matrix @ offset), 0.0)
        law = cls.of_nodes(np.where(lam > rounding, lam, 0.0), np.ones(lam.size), (offset @ vectors) ** 2, floor=floor)
        return law if law.cgf is None else cls(law.cgf, law.floor, mean, variance)

    @classmethod
    def low_rank(
        cls,
        delta: FloatArray,
        variance: FloatArray | float,
        shared: FloatArray,
        weight: FloatArray | None = None,
    ) -> GeneralizedChiSquare:
        """For errors of covariance diag(variance) + shared.T @ shared: `shared` (k, n) are shifts common to all labels."""
        n = delta.size
        share = shares_of(weight, n)
        v = np.broadcast_to(np.asarray(variance, dtype=float), (n,)) * share
        x = np.vstack([delta, shared]).T * np.sqrt(share)[:, None]
        if 4 * np.sum(v * (v + np.sum(x * x, axis=1))) < (1e-12 * np.sum(x * x)) ** 2:
            v = np.zeros(n)  # their own errors move Q by less than 1e-12 of it
        v, x, floor = _without_exact_labels(v, x)
        if v.size == 0:
            return cls(None, floor, floor, 0.0)
        if v.size <= EXACT:
            return cls._from_matrix(x[:, 0], np.diag(v) + x[:, 1:] @ x[:, 1:].T, floor)
        mean = float(np.sum(v) + np.sum(x * x))
        # the shift that would bring the labels closest to Q = 0: taken out, nothing cancels in the lower tail
        precision = 1.0 / np.sqrt(np.maximum(v, 1e-12 * np.mean(v)))
        design = np.vstack([x[:, 1:] * precision[:, None], np.eye(x.shape[1] - 1)])
        along = np.linalg.lstsq(design, np.append(x[:, 0] * precision, np.zeros(x.shape[1] - 1)))[0]
        x[:, 0] -= x[:, 1:] @ along
        rows, columns = np.triu_indices(x.shape[1])

        def block(part: slice) -> tuple[FloatArray, FloatArray]:
            some = x[part].T
            return v[part], np.vstack([np.ones(some.shape[1]), some[rows] * some[columns]])

        # labels without an error of their own are nodes of variance 0
        nodes, sums, certain = compress(v.size, block)
        nodes, sums = np.append(nodes, 0.0), np.column_stack([sums, certain])
        gram = np.empty((nodes.size, x.shape[1], x.shape[1]))
        gram[:, rows, columns] = gram[:, columns, rows] = sums[1:].T
        cgf = LowRankCGF(sums[0], nodes, gram, along)
        return cls(cgf, floor, floor + mean, cgf.k2)

    @classmethod
    def in_batches(
        cls,
        delta: FloatArray,
        variance: FloatArray,
        shift: FloatArray,
        batch: NDArray[np.intp],
        weight: FloatArray | None = None,
    ) -> GeneralizedChiSquare:
        """For errors of covariance diag(variance) + shift_i shift_j within each batch; O(n) for any number of batches.

        Labels of one batch and one variance are rotated so that one of them has all of the shift; the others are
        independent of it and of each other.
        """
        share = shares_of(weight, delta.size)
        root = np.sqrt(share)
        v, x, d = variance * share, shift * root, delta * root
        order = np.lexsort((v, batch))
        v, x, d, batch = v[order], x[order], d[order], batch[order]
        first = np.flatnonzero(np.append(True, (np.diff(batch) > 0) | (np.diff(v) > 0)))
        count = np.diff(np.append(first, v.size)).astype(np.float64)
        x2, xd, d2 = (np.add.reduceat(product, first) for product in (x * x, x * d, d * d))
        lever = np.sqrt(x2)
        along = np.where(lever > 0, xd / np.where(lever > 0, lever, 1.0), 0.0)
        moved, v, batch = lever > 0, v[first], batch[first]
        alone = np.where(moved, count - 1.0, count), np.maximum(np.where(moved, d2 - along**2, d2), 0.0)
        some = (alone[0] > 0) | (alone[1] > 0)
        rest = cls.of_nodes(v[some], alone[0][some], alone[1][some])
        if not moved.any():
            return rest
        cgf = BatchCGF(v[moved], lever[moved], along[moved], np.unique(batch[moved], return_inverse=True)[1], rest.cgf)
        return cls(cgf, rest.floor, rest.floor + cgf.mean, cgf.k2)

    @cached_property
    def _inversion(self) -> Inversion:
        assert self.cgf is not None
        return Inversion(self.cgf.contour, self.cgf.mean, math.sqrt(self.cgf.k2))

    def _probabilities(self, x: float) -> tuple[float, float, float]:
        """P(value <= x), P(value > x) and density."""
        if self.cgf is None:
            return 1.0, 0.0, math.inf
        height = max(x - self.floor, _LOWEST * self.cgf.mean)
        under, over, density = self._inversion.probabilities(height)
        return (under, over, density) if height == x - self.floor else (0.0, 1.0, density)

    def _ppf(self, q: float) -> float:
        if self.cgf is None:
            return self.floor
        return self.floor + self._inversion.ppf(max(q, _RAREST))

    def root_deficit(self) -> float:
        """The integral over t above, in log t."""
        cgf, mean, floor = self.cgf, float(self.mean), self.floor
        if cgf is None:
            return 0.0

        def integrand(t: FloatArray) -> FloatArray:
            excess = cgf.centred(-t)
            difference = np.exp(-t * mean) * np.expm1(np.minimum(excess, 1.0))
            far = np.flatnonzero(excess >= 1.0)
            difference[far] = np.exp(cgf.exponent(-t[far], -floor)) - np.exp(-t[far] * mean)
            return np.asarray(difference * t**-1.5)[None]

        return float(over_all_scales(integrand, 1.0 / mean)[0]) / (2.0 * math.sqrt(math.pi))


def _without_exact_labels(v: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Rotate the labels of variance 0 into as few rows as there are shifts; what no shift moves is a constant."""
    exact = v == 0
    if not exact.any():
        return v, x, 0.0
    left, size, right = np.linalg.svd(x[exact, 1:], full_matrices=False)
    keep = size > 16 * max(x.shape) * np.finfo(float).eps * size.max(initial=0.0)
    along = left[:, keep].T @ x[exact, 0]
    rest = x[exact, 0] - left[:, keep] @ along
    rows = np.column_stack([along, size[keep, None] * right[keep]])
    return np.concatenate([v[~exact], np.zeros(along.size)]), np.vstack([x[~exact], rows]), float(rest @ rest)


# the true mean square ------------------------------------------------------------------------------

_SMALLEST = 1e-250


def interval_from_nodes(
    observed: float, nodes: FloatArray, count: FloatArray, b2: FloatArray, *, fixed: float, level: float
) -> tuple[float, float]:
    """Interval for theta = sum w D^2 / sum w from the observed mean square and compressed labels.

    The variances w s^2 of labels are `nodes`; `count` of them are alike and hold the share `b2` = sum w c of theta, labels
    without error the share `fixed`. The low end is 0 where q is no larger than label errors alone make it; the high end is
    above 0 even where q is too small for them.
    """
    if nodes.size == 0:
        return observed, observed

    def both(theta: float) -> tuple[float, float]:
        rest = observed - theta * fixed
        if rest <= 0:
            return 0.0, 1.0
        law = GeneralizedChiSquare.of_nodes(nodes, count, theta * b2)
        return float(law.cdf(rest)), float(law.sf(rest))

    tail = 0.5 * (1.0 - level)
    # start where q is 40 standard deviations away, or at 0: further off, compressed nodes are not exact
    spread = math.sqrt(float(np.sum(2.0 * count * nodes * nodes + 4.0 * observed * b2 * nodes)))
    start = max(observed - float(np.sum(count * nodes)) - 40.0 * spread, 0.0)
    low = 0.0
    below, above = both(start)
    if above < tail:
        low = _solve(lambda theta: both(theta)[1], tail, start, observed)
    tail = min(tail, 2.0 * tail * below) if start == 0 else tail
    if tail < _SMALLEST:
        # so small a q that its probability falls like exp(-sum D^2 / 2 s^2)
        return low, -2.0 * math.log1p(-level) / (float(np.sum(b2 / nodes)) + 2.0 * fixed / max(observed, _SMALLEST))
    reach = observed
    while both(reach)[0] > tail:
        reach *= 2.0
    return low, _solve(lambda theta: both(theta)[0], tail, low, reach)


def _solve(probability: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Where the probability meets the target, on the scale of normal quantiles on which it is nearly straight."""

    def miss(theta: float) -> float:
        return float(ndtri(max(probability(theta), 1e-300))) - goal

    goal = float(ndtri(target))
    rises = 1.0 if miss(low) < 0 else -1.0
    return crossing(lambda theta: rises * miss(theta), low, high, xtol=1e-14 * high, rtol=1e-14)
