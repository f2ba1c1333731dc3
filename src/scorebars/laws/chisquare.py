"""The law of a mean squared error whose label errors are normal: the generalised chi-square.

    Q = sum_i w_i (delta_i + e_i)^2 / sum_i w_i,    e ~ N(0, S),

is a sum of independent terms (b_j + sqrt(lam_j) Z_j)^2, with lam and b from the eigenvectors of the weighted S.
Its cumulants are kappa_r = 2^(r-1) (r-1)! sum_j (lam_j^r + r b_j^2 lam_j^(r-1)). Distribution function, density
and quantiles come from the contour integral of `contour`, exact to rounding; a constant sigma gives the
non-central chi-square, and labels without error only shift Q.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import gammaln

from scorebars.laws.base import RNG, FloatArray, Law
from scorebars.laws.cgf import CGF, UNDERFLOW, DiagonalCGF
from scorebars.laws.cgf_low_rank import LowRankCGF
from scorebars.laws.compress import BLOCK, DEPTH, EXACT, compress, merge_equal
from scorebars.laws.contour import density, quantile, tails
from scorebars.laws.draws import transformed

_LOWEST = 1e-100  # of the mean: below it only the leading power of the distribution function is left
_NOTHING = 746.0  # exp of minus this is 0
_MANY = 1e9  # labels near the floor of a law too large to care
_DIRECT_DRAWS = 2_000_000  # normal variates a call of rvs may use


class GeneralizedChiSquare(Law):
    """Law of floor + Q, with `cgf` that of Q > 0, or None if nothing is random."""

    method = "exact"

    def __init__(
        self, cgf: CGF | None, floor: float, cumulants: tuple[float, float, float, float], compressed: bool = False
    ) -> None:
        self.cgf, self.floor = cgf, floor
        self._kappa, self._compressed = cumulants, compressed
        self.support = (floor, math.inf if cgf is not None else floor)

    @classmethod
    def independent(
        cls, delta: FloatArray, sigma: FloatArray | float, weight: FloatArray | None = None
    ) -> GeneralizedChiSquare:
        """Law of sum w (delta + sigma Z)^2 / sum w with independent standard normal Z; no weight: the mean."""
        n = delta.size
        if weight is None and np.ndim(sigma) == 0:
            node = (np.array([float(n)]), np.array([float(sigma) ** 2 / n]), np.array([np.sum(delta * delta) / n]))
            return cls._from_nodes(*node)
        total = float(n) if weight is None else float(np.sum(weight))
        spread = np.broadcast_to(np.asarray(sigma, dtype=float), (n,))

        def labels() -> Iterator[tuple[FloatArray, FloatArray]]:
            for start in range(0, n, BLOCK):
                part = slice(start, start + BLOCK)
                share = 1.0 / total if weight is None else weight[part] / total
                yield spread[part] ** 2 * share, delta[part] ** 2 * share

        def uncertain() -> Iterator[tuple[FloatArray, FloatArray]]:
            for lam, b2 in labels():
                keep = lam > 0
                yield lam[keep], np.stack([np.ones(int(keep.sum())), b2[keep]])

        if n <= EXACT:
            lam, b2 = next(labels())
            return cls._from_nodes(np.ones(n), lam, b2)
        floors, means, variances = [], [], []
        for lam, b2 in labels():
            certain = lam == 0
            floors.append(float(np.sum(b2[certain])))
            means.append(float(np.sum(lam + np.where(certain, 0.0, b2))))
            variances.append(float(np.sum((2 * lam + 4 * b2) * lam)))
        floor, mean, variance = math.fsum(floors), math.fsum(means), math.fsum(variances)
        if mean == 0:
            return cls(None, floor, (floor, 0.0, 0.0, 0.0))
        nodes, (count, b2) = compress(uncertain)
        cgf = DiagonalCGF(count, nodes, b2, mean=mean, depth=DEPTH)
        return cls(cgf, floor, (floor + mean, variance, cgf.k3, cgf.k4), compressed=nodes.size > 1)

    @classmethod
    def _from_nodes(cls, count: FloatArray, lam: FloatArray, b2: FloatArray) -> GeneralizedChiSquare:
        """Few labels, or groups of `count` labels of equal variance, each kept as it is."""
        floor = float(np.sum(b2[lam == 0]))
        keep = lam > 0
        if not keep.any():
            return cls(None, floor, (floor, 0.0, 0.0, 0.0))
        nodes, columns = merge_equal(lam[keep], np.stack([count[keep], b2[keep]]))
        compressed = nodes.size > EXACT
        if compressed:
            nodes, columns = compress(lambda: iter([(nodes, columns)]))
        cgf = DiagonalCGF(columns[0], nodes, columns[1], depth=DEPTH if compressed else UNDERFLOW)
        return cls(cgf, floor, (floor + cgf.mean, cgf.k2, cgf.k3, cgf.k4), compressed)

    @classmethod
    def summarised(
        cls, count: FloatArray, lam: FloatArray, b2: FloatArray, floor: float, mean: float, variance: float
    ) -> GeneralizedChiSquare:
        """Many labels of variance > 0 that were compressed elsewhere; mean and variance are known better than nodes do.

        `mean` is that of what lies above the `floor`.
        """
        nodes, columns = lam, np.stack([count, b2])
        if nodes.size > EXACT:
            nodes, columns = compress(lambda: iter([(lam, np.stack([count, b2]))]))
        cgf = DiagonalCGF(columns[0], nodes, columns[1], mean=mean, depth=DEPTH)
        return cls(cgf, floor, (floor + mean, variance, cgf.k3, cgf.k4), compressed=True)

    @classmethod
    def covariance(cls, delta: FloatArray, cov: FloatArray, weight: FloatArray | None = None) -> GeneralizedChiSquare:
        """The same with correlated errors of covariance `cov` (n, n)."""
        root = np.sqrt(_shares(delta.size, weight))
        return cls._from_matrix(root * delta, root[:, None] * cov * root)

    @classmethod
    def _from_matrix(cls, offset: FloatArray, matrix: FloatArray, floor: float = 0.0) -> GeneralizedChiSquare:
        """Law of floor + |offset + e|^2 with e ~ N(0, matrix)."""
        lam, vectors = np.linalg.eigh(matrix)
        # an eigenvalue far below the variances of the labels that make it up is a rounded zero
        rounding = 16 * lam.size * np.finfo(float).eps * (np.diag(matrix) @ vectors**2)
        law = cls._from_nodes(np.ones(lam.size), np.where(lam > rounding, lam, 0.0), (offset @ vectors) ** 2)
        # the first two cumulants from the matrix itself: eigenvectors know small variances only to rounding
        mean = floor + float(offset @ offset + np.trace(matrix))
        variance = float(2 * np.sum(matrix * matrix) + 4 * offset @ matrix @ offset)
        return cls(law.cgf, floor + law.floor, (mean, max(variance, 0.0), *law._kappa[2:]))

    @classmethod
    def low_rank(
        cls,
        delta: FloatArray,
        variance: FloatArray | float,
        shared: FloatArray,
        weight: FloatArray | None = None,
    ) -> GeneralizedChiSquare:
        """The same with covariance diag(variance) + shared.T @ shared, `shared` (k, n) fully correlated shifts."""
        n = delta.size
        share = _shares(n, weight)
        v = np.broadcast_to(np.asarray(variance, dtype=float), (n,)) * share
        x = np.vstack([delta, shared]).T * np.sqrt(share)[:, None]
        if 4 * np.sum(v * (v + np.sum(x * x, axis=1))) < (1e-12 * np.sum(x * x)) ** 2:
            v = np.zeros(n)  # their own errors move Q by less than 1e-12 of it
        v, x, floor = _without_exact_labels(v, x)
        if v.size == 0:
            return cls(None, floor, (floor, 0.0, 0.0, 0.0))
        if v.size <= EXACT:
            return cls._from_matrix(x[:, 0], np.diag(v) + x[:, 1:] @ x[:, 1:].T, floor)
        mean = float(np.sum(v) + np.sum(x * x))
        # the shift that would bring the labels closest to Q = 0: taken out, nothing cancels in the lower tail
        precision = 1.0 / np.sqrt(np.maximum(v, 1e-12 * np.mean(v)))
        design = np.vstack([x[:, 1:] * precision[:, None], np.eye(x.shape[1] - 1)])
        along = np.linalg.lstsq(design, np.append(x[:, 0] * precision, np.zeros(x.shape[1] - 1)))[0]
        x[:, 0] -= x[:, 1:] @ along
        rows, columns = np.triu_indices(x.shape[1])

        def labels() -> Iterator[tuple[FloatArray, FloatArray]]:
            for start in range(0, v.size, BLOCK):
                part = x[start : start + BLOCK].T
                yield v[start : start + BLOCK], np.vstack([np.ones(part.shape[1]), part[rows] * part[columns]])

        nodes, sums = compress(labels)
        gram = np.empty((nodes.size, x.shape[1], x.shape[1]))
        gram[:, rows, columns] = gram[:, columns, rows] = sums[1:].T
        cgf = LowRankCGF(sums[0], nodes, gram, along, mean=mean, depth=DEPTH)
        return cls(cgf, floor, (floor + mean, cgf.k2, cgf.k3, cgf.k4), compressed=True)

    def cumulant(self, order: int) -> float:
        """The cumulant of the given order, 1 to 4: mean, variance, third and fourth cumulant."""
        if order not in (1, 2, 3, 4):
            raise ValueError(f"order must be 1, 2, 3 or 4, got {order}")
        return self._kappa[order - 1]

    def _mean(self) -> float:
        return self._kappa[0]

    def _var(self) -> float:
        return self._kappa[1]

    def _out_of_reach(self, x: float) -> bool:
        """Whether x lies where less probability is left than the smallest double: nodes that stand for many labels can
        stand for them near the mean only. Sums of squares of independent normals, with l the largest variance, fulfil

            P(X > mean + sqrt(2 c var) + 2 c l) < exp(-c),    P(X < mean - sqrt(2 c var)) < exp(-c)

        (Laurent and Massart 2000; Birgé 2001).
        """
        if not self._compressed or not isinstance(self.cgf, DiagonalCGF):
            return False
        mean, variance, *_ = self._kappa
        side = math.sqrt(2.0 * _NOTHING * variance)
        return not -side < x - mean < side + _NOTHING / self.cgf.limit

    def _cdf(self, x: float) -> float:
        height = x - self.floor
        if self.cgf is None:
            return 1.0
        if self._out_of_reach(x):
            return float(x > self._kappa[0])
        if height > _LOWEST * self.cgf.mean:
            return tails(self.cgf, height)[0]
        freedom, log_constant = self.edge()
        return math.exp(log_constant + 0.5 * freedom * math.log(height)) * 2 / freedom if height > 0 else 0.0

    def _sf(self, x: float) -> float:
        height = x - self.floor
        if self.cgf is None or height <= _LOWEST * self.cgf.mean:
            return 1.0 - self._cdf(x)
        if self._out_of_reach(x):
            return float(x < self._kappa[0])
        return tails(self.cgf, height)[1]

    def _pdf(self, x: float) -> float:
        height = x - self.floor
        if self.cgf is None:
            return math.inf
        if self._out_of_reach(x):
            return 0.0
        if height > _LOWEST * self.cgf.mean:
            return density(self.cgf, height)
        freedom, log_constant = self.edge()
        if height > 0:
            return math.exp(log_constant + (0.5 * freedom - 1) * math.log(height))
        return 0.0 if freedom > 2 else math.exp(log_constant) if freedom == 2 else math.inf

    def edge(self) -> tuple[float, float]:
        """(m, log c) where the density just above the floor is c (x - floor)^(m/2 - 1), with m labels."""
        if self._compressed or not isinstance(self.cgf, DiagonalCGF):
            return _MANY, -math.inf
        count, lam, b2 = self.cgf.count, self.cgf.lam, self.cgf.b2
        freedom = float(np.sum(count))
        return freedom, -0.5 * float(np.sum(count * np.log(2 * lam) + b2 / lam)) - float(gammaln(freedom / 2))

    def _ppf(self, q: float) -> float:
        if self.cgf is None:
            return self.floor
        freedom, log_constant = self.edge()
        log_height = (math.log(0.5 * freedom * q) - log_constant) * 2 / freedom
        if log_height < math.log(_LOWEST * self.cgf.mean):
            return self.floor + math.exp(log_height)
        return self.floor + quantile(self.cgf, q)

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws from the law; `rng` is a seed or a Generator, and the same seed gives the same draws."""
        generator = np.random.default_rng(rng)
        shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        number = math.prod(shape)
        if self.cgf is None:
            draws = np.full(shape, self.floor)
        elif isinstance(self.cgf, DiagonalCGF) and not self._compressed and number * self.cgf.lam.size <= _DIRECT_DRAWS:
            draws = np.full(shape, self.floor)
            for count, lam, b2 in zip(self.cgf.count, self.cgf.lam, self.cgf.b2, strict=True):
                draws += (math.sqrt(b2) + math.sqrt(lam) * generator.standard_normal(shape)) ** 2
                if count > 1:
                    draws += lam * generator.chisquare(count - 1, shape)
        else:
            draws = transformed(self, generator.standard_normal(shape), logarithm=True)
        return float(draws) if size is None else draws


def _shares(n: int, weight: FloatArray | None) -> FloatArray:
    return np.full(n, 1.0 / n) if weight is None else weight / np.sum(weight)


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
