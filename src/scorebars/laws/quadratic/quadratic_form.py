"""Quadratic forms of labels with normal errors, of either sign: R2, Pearson and others are the sign of such a form.

With weights w that add up to 1, independent labels y ~ N(mu, sigma^2) and predictions p, let eta = sqrt(w) y. The
sums these metrics are made of, sum w y^2, sum w y and sum w p y, are sum eta^2, e . eta and pi . eta with
e = sqrt(w) and pi = sqrt(w) p. The form

    N = alpha sum eta^2 + sum_a kappa_a (u_a . eta)^2 + l . eta + c,      eta ~ N(theta, lam),

has u and l that are linear combinations of the three columns e, theta = sqrt(w) mu and delta = sqrt(w) (p - mu). So
sums over labels of f(lam) times products of two columns are all that is needed, and labels may be grouped. With
the gradient g of N at theta, S = lam / (1 - 2 t alpha lam), and one pivot A = 1 - 2 t kappa u' S u for each u,
after which S gains 2 t kappa S u u' S / A,

    K(t) = log E exp(tN) = t N(theta) - 1/2 sum log(1 - 2 t alpha lam) - 1/2 sum log A + t^2/2 g' S g.

Many labels as a few hundred nodes.

The law of a quadratic form needs only sums over labels of smooth functions of one variable, the variance v
of the label: sum_i c_i f(v_i) for a few columns c (how many labels, their squared offsets, ...), with
f(v) = log(1 - 2 t v), 1 / (1 - 2 t v) and their derivatives. Such sums are kept to rounding if

- the largest variances are kept one by one: by the time the variable t is so large that 2 t v reaches 1
  for all of them, the integrand has fallen below rounding, so that f is tame for all the rest;
- the rest is interpolated in v at Chebyshev points, octave by octave below the smallest variance kept, and
  further down, where f is nearly a straight line, eight octaves at a time.

Interpolation makes the sums of v^k exact for k below the number of points, hence all low cumulants too. Bins
that end above zero keep the relative accuracy of sums such as sum b^2 v, small v with large b included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from scorebars.arrays import FloatArray
from scorebars.laws.contour import Numbers, log, log1p

Block = Callable[[slice], tuple[FloatArray, FloatArray]]
"""Gives the variances (m,) of some labels, and their columns (c, m)."""

BLOCK = 1 << 15  # labels a block: small enough for the cache
EXACT = 256  # so many labels are kept as they are

_LARGEST = 64  # how many of the largest variances stay apart when there are more
_POINTS = 12
# lower ends of the bins, as powers of two of the smallest variance kept; the last bin reaches down to 0
_EXPONENTS = np.array([1, 2, 3, 4, 5, 6, 7, 15, 23, 31, 39, 47, 55, 63, 1100])
_EDGES = np.append(1.0, np.ldexp(1.0, -_EXPONENTS))
_BIN_OF_EXPONENT = np.searchsorted(_EXPONENTS, np.arange(1101))

_GRID = np.cos(np.pi * (np.arange(_POINTS) + 0.5) / _POINTS)
# row: Chebyshev polynomial, column: point; turns sums of T_k into weights of the points
_TO_WEIGHTS = np.cos(np.outer(np.arange(_POINTS), np.arccos(_GRID))) * (2.0 / _POINTS)
_TO_WEIGHTS[0] *= 0.5


def merge_equal(v: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """One node for each distinct variance, with the columns (c, m) of its labels added up."""
    nodes, index = np.unique(v, return_inverse=True)
    return nodes, np.stack([np.bincount(index, weights=column, minlength=nodes.size) for column in columns])


def compress(n: int, block: Block) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes (k,) and columns (c, k) with sum_i c_i f(v_i) = sum_k c_k f(v_k) for the functions f of these distributions,
    summed over labels of variance v > 0; and the sums (c,) of the columns over labels of variance 0.

    Two passes over the n labels, memory independent of their number.
    """
    largest, least, number, certain = np.empty(0), np.inf, 0, np.zeros(0)
    for v, columns in _blocks(n, block):
        exact = v == 0
        certain = certain + columns[:, exact].sum(axis=1) if certain.size else columns[:, exact].sum(axis=1)
        v = v[~exact] if exact.any() else v
        number += v.size
        least = min(least, float(v.min(initial=np.inf)))
        candidates = np.concatenate([largest, v])
        keep = min(_LARGEST, candidates.size)
        largest = np.partition(candidates, candidates.size - keep)[candidates.size - keep :] if keep else candidates
    parts = ((v[v > 0], columns[:, v > 0]) for v, columns in _blocks(n, block))
    if number <= EXACT or least == largest.max():
        merged = [merge_equal(v, columns) for v, columns in parts]
        return *merge_equal(
            np.concatenate([v for v, _ in merged]), np.concatenate([c for _, c in merged], axis=1)
        ), certain
    return *_interpolate(parts, float(largest.min()), certain.size), certain


def compress_nodes(v: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fewer nodes, as `compress` makes them, of nodes v > 0 (m,) with columns (c, m)."""
    return compress(v.size, lambda part: (v[part], columns[:, part]))[:2]


def _blocks(n: int, block: Block) -> Iterator[tuple[FloatArray, FloatArray]]:
    return (block(slice(start, min(start + BLOCK, n))) for start in range(0, n, BLOCK))


def _interpolate(
    parts: Iterator[tuple[FloatArray, FloatArray]], top: float, rows: int
) -> tuple[FloatArray, FloatArray]:
    """Variances above `top` as they are, those below it at Chebyshev points in each bin."""
    bins = _EXPONENTS.size
    kept_v: list[FloatArray] = []
    kept_columns: list[FloatArray] = []
    sums = np.zeros((rows, _POINTS, bins))
    for v, columns in parts:
        apart = v > top
        if apart.any():
            kept_v.append(v[apart])
            kept_columns.append(columns[:, apart])
            v, columns = v[~apart], columns[:, ~apart]
        index, u = _locate(v / top)
        before, present = np.ones_like(u), u
        for k in range(_POINTS):
            polynomial = before
            before, present = present, 2.0 * u * present - before
            for j, column in enumerate(columns):
                sums[j, k] += np.bincount(index, weights=polynomial * column, minlength=bins)
    weights = np.einsum("jkb,kp->jbp", sums, _TO_WEIGHTS).reshape(rows, -1)
    nodes = _positions().ravel() * top
    used = np.any(weights != 0, axis=0)
    return merge_equal(
        np.concatenate([*kept_v, nodes[used]]), np.concatenate([*kept_columns, weights[:, used]], axis=1)
    )


def _locate(ratio: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Bin and position in it from -1 to 1 of each variance, given as a share of the smallest one kept."""
    _, exponent = np.frexp(ratio)
    index = _BIN_OF_EXPONENT[np.clip(1 - exponent, 1, 1100)]
    index[ratio == 0] = _EXPONENTS.size - 1
    upper, lower = _EDGES[index], _EDGES[index + 1]
    return index, (2.0 * ratio - upper - lower) / (upper - lower)


def _positions() -> FloatArray:
    """Where the Chebyshev points of each bin lie, in the same shares: (bins, points)."""
    upper, lower = _EDGES[:-1, None], _EDGES[1:, None]
    out: FloatArray = 0.5 * (upper + lower) + 0.5 * (upper - lower) * _GRID
    return out


E, THETA, DELTA = np.eye(3)
"""The coefficients that pick out the columns e, theta and delta."""
PI: FloatArray = THETA + DELTA

_CROSS = np.triu_indices(3)


class Components:
    """Labels grouped by the variance `lam` (k,) of eta: `count` (k,) of them, with the sums `gram` (k, 3, 3) of the
    products of their columns."""

    def __init__(self, lam: FloatArray, count: FloatArray, gram: FloatArray) -> None:
        self.lam, self.count, self.gram = lam, count, gram
        self._flat = gram.reshape(-1, 9)
        self.total: FloatArray = gram.sum(axis=0)

    @classmethod
    def independent(
        cls, mu: FloatArray, p: FloatArray, sigma: FloatArray | float, weight: FloatArray | None = None
    ) -> Components:
        """Independent labels of mean `mu`, predicted as `p`; no weight: all equal."""
        n = mu.size
        spread = np.broadcast_to(np.asarray(sigma, dtype=float), (n,))
        total = float(n) if weight is None else float(np.sum(weight))

        def block(part: slice) -> tuple[FloatArray, FloatArray]:
            share = np.full(mu[part].size, 1.0 / total) if weight is None else weight[part] / total
            root = np.sqrt(share)
            x = np.stack([root, root * mu[part], root * (p[part] - mu[part])])
            lam = share * spread[part] ** 2
            return lam, np.vstack([np.ones(lam.size), x[_CROSS[0]] * x[_CROSS[1]]])

        return cls.of_products(*compress(n, block))

    @classmethod
    def of_products(cls, lam: FloatArray, columns: FloatArray, certain: FloatArray) -> Components:
        """From nodes lam (k,) and columns (7, k): counts and the sums of products ee, e theta, e delta, theta theta,
        theta delta, delta delta; `certain` (7,) are those of labels without error."""
        columns = np.column_stack([columns, certain])
        gram = np.empty((columns.shape[1], 3, 3))
        gram[:, _CROSS[0], _CROSS[1]] = gram[:, _CROSS[1], _CROSS[0]] = columns[1:].T
        return cls(np.append(lam, 0.0), np.append(columns[0, :-1], 0.0), gram)

    def sums(self, f: Numbers) -> Numbers:
        """Sums of f (j, k) times the products of columns: (j, 3, 3)."""
        out: Numbers = (f @ self._flat).reshape(-1, 3, 3)
        return out

    def form(self, f: Numbers, a: Numbers, b: Numbers) -> Numbers:
        """sum f (a . x)(b . x) for f (j, k) and coefficients a, b, each (3,) or (j, 3): (j,)."""
        out: Numbers = np.sum((a[..., :, None] * b[..., None, :]) * self.sums(f), axis=(1, 2))
        return out

    def at_zero(self, a: FloatArray, b: FloatArray) -> float:
        """sum (a . x)(b . x)."""
        return float(a @ self.total @ b)

    def along(self, a: FloatArray) -> tuple[float, float]:
        """Mean and variance of a . eta."""
        return self.at_zero(a, THETA), float(self.form(self.lam[None], a, a)[0])


class QuadraticForm:
    """N with `alpha`, pairs (kappa, u) of numbers and coefficients (3,), and the coefficients of its gradient at theta.

    Its value at theta is asked for, as only the caller knows how to form it without cancellation.
    """

    def __init__(
        self,
        components: Components,
        alpha: float,
        squares: list[tuple[float, FloatArray]],
        linear: FloatArray,
        at_theta: float,
    ) -> None:
        self.components, self.alpha, self.squares, self.at_theta = components, alpha, squares, at_theta
        self.gradient: FloatArray = 2.0 * alpha * THETA + linear
        for kappa, u in squares:
            self.gradient = self.gradient + 2.0 * kappa * components.at_zero(u, THETA) * u

    def width(self) -> float:
        """1 / standard deviation of N."""
        c = self.components
        first, second = c.sums(np.stack([c.lam, c.lam**2]))
        trace = self.alpha**2 * float(c.count @ c.lam**2)
        for kappa, u in self.squares:
            trace += 2.0 * self.alpha * kappa * float(u @ second @ u)
            trace += kappa * sum(other * float(u @ first @ v) ** 2 for other, v in self.squares)
        return 1.0 / math.sqrt(2.0 * trace + float(self.gradient @ first @ self.gradient))

    def tilted(self, t: Numbers) -> tuple[Numbers, Numbers]:
        """K(t) (j,), and S (j, 3, 3), the covariances under the weight exp(tN) of sums with the three columns."""
        c = self.components
        u = np.multiply.outer(2.0 * self.alpha * t, c.lam)
        s = c.sums(c.lam / (1.0 - u))
        logarithm = log1p(-u) @ c.count
        for kappa, direction in self.squares:
            moved = s @ direction
            pull = 2.0 * kappa * t
            pivot = 1.0 - pull * (moved @ direction)
            logarithm += log(pivot)
            s = s + (pull / pivot)[:, None, None] * (moved[:, :, None] * moved[:, None, :])
        steep = np.einsum("a,jab,b->j", self.gradient, s, self.gradient)
        return t * self.at_theta - 0.5 * logarithm + 0.5 * t * t * steep, s
