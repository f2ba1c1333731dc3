"""The distributions of the mean squared error and its root, for label errors that are normal.

    Q = sum_i w_i (delta_i + e_i)^2 / sum_i w_i,    e ~ N(0, S),

is a generalised chi-square: a sum of independent terms (b_j + sqrt(lam_j) Z_j)^2, with lam and b from the eigenvectors
of the weighted S. Distribution function, density and quantiles come from a contour integral (`laws.contour`), exact
to 1e-12; a constant sigma gives the non-central chi-square, and labels without error only shift Q.

The mean of the root follows, with mu = E Q, from

    sqrt(mu) - E sqrt(Q) = 1 / (2 sqrt(pi)) int_0^inf (E exp(-t Q) - exp(-t mu)) t^(-3/2) dt,

whose integrand is positive: nothing cancels, however small or large the label errors are.

How large can the true mean squared error be, given the observed one?

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
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from scorebars.arrays import FloatArray
from scorebars.laws.contour import Inversion, InvertedLaw
from scorebars.laws.quadratic.cgf import BatchCGF, DiagonalCGF, LowRankCGF
from scorebars.laws.quadratic.quadratic_form import DEPTH, EXACT, compress, compress_nodes
from scorebars.laws.quadratic.ratio_moments import over_all_scales
from scorebars.laws.square_root import LawWithRoot
from scorebars.numerics.roots import crossing

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


_LOWEST = 1e-100  # of the mean: nothing is found closer to the floor
_NOTHING = 746.0  # exp of minus this is 0
_REACH: FloatArray = 4.0 ** np.arange(7.0)


class GeneralizedChiSquare(InvertedLaw, LawWithRoot):
    """Distribution of floor + Q, with `cgf` that of Q > 0, or None if nothing is random.

    `compressed`: nodes of the cgf stand for many labels of different errors.
    """

    method = "exact"

    def __init__(
        self,
        cgf: DiagonalCGF | LowRankCGF | BatchCGF | None,
        floor: float,
        mean: float,
        variance: float,
        compressed: bool = False,
    ) -> None:
        self.cgf, self.floor, self._compressed = cgf, floor, compressed
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
        compressed = lam.size > 1 and float(np.sum(count)) > EXACT + 0.5
        cgf = DiagonalCGF(count, lam, b2)
        mean = floor + cgf.mean if mean is None else mean
        return cls(cgf, floor, mean, cgf.k2 if variance is None else variance, compressed)

    @classmethod
    def covariance(cls, delta: FloatArray, cov: FloatArray, weight: FloatArray | None = None) -> GeneralizedChiSquare:
        """The same with correlated errors of covariance `cov` (n, n)."""
        root = np.sqrt(_shares(delta.size, weight))
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
        return law if law.cgf is None else cls(law.cgf, law.floor, mean, variance, law._compressed)

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
        return cls(cgf, floor, floor + mean, cgf.k2, compressed=True)

    @classmethod
    def in_batches(
        cls,
        delta: FloatArray,
        variance: FloatArray,
        shift: FloatArray,
        batch: NDArray[np.intp],
        weight: FloatArray | None = None,
    ) -> GeneralizedChiSquare:
        """The same with covariance diag(variance) + shift_i shift_j for labels of one batch; O(n) for any number of them.

        Labels of one batch and one variance are rotated so that one of them has all of the shift; the others are
        independent of it and of each other.
        """
        share = _shares(delta.size, weight)
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

    def _out_of_reach(self, height: float) -> bool:
        """Whether the nodes of a compressed distribution are not good for the small probability beyond this height.

        Sums of squares of independent normals, with l the largest variance, fulfil

            P(X > mean + sqrt(2 c var) + 2 c l) < exp(-c)

        (Laurent and Massart 2000), and P(X <= x) is below exp(K(t) - t x) for every t < 0.
        """
        if not self._compressed or not isinstance(self.cgf, DiagonalCGF):
            return False
        mean, variance = self._moments[0] - self.floor, self._moments[1]
        if height > mean:
            return height - mean > math.sqrt(2.0 * _NOTHING * variance) + 2.0 * _NOTHING * float(self.cgf.lam.max())
        return float(np.min(self.cgf.exponent(-_REACH / height, height))) < DEPTH

    def _probabilities(self, x: float) -> tuple[float, float, float]:
        """P(value <= x), P(value > x) and density."""
        if self.cgf is None:
            return 1.0, 0.0, math.inf
        height = max(x - self.floor, _LOWEST * self.cgf.mean)
        if self._out_of_reach(height):
            return float(x > self._moments[0]), float(x < self._moments[0]), 0.0
        under, over, density = self._inversion.probabilities(height)
        return (under, over, density) if height == x - self.floor else (0.0, 1.0, density)

    def _ppf(self, q: float) -> float:
        if self.cgf is None:
            return self.floor
        return self.floor + self._inversion.ppf(max(q, math.exp(DEPTH)) if self._compressed else q)

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
