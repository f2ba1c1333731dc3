"""Labels as independent components, for metrics that are ratios of quadratic forms.

With weights w that add up to 1 and labels y ~ N(mu, S), the sums that R2, explained variance, Pearson and
concordance correlation are made of, sum w y^2, sum w y and sum w p y, become

    sum eta_j^2,   sum e_j eta_j,   sum pi_j eta_j,      eta_j independent, N(theta_j, lam_j).

Independent labels: eta = sqrt(w) y, hence e = sqrt(w), theta = sqrt(w) mu, pi = sqrt(w) p, lam = w sigma^2.
Correlated labels: the same rotated by the eigenvectors of the covariance of sqrt(w) y. Everything these laws need
is a sum over components of f(lam) times a product of two linear combinations of x = (e, theta, pi).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from scorebars.laws.base import RNG, FloatArray
from scorebars.laws.complex_log import Numbers
from scorebars.laws.compress import BLOCK, EXACT, compress

E, THETA, PI = np.eye(3)
"""The coefficients that pick e, theta and pi out of x."""


Blocks = Callable[[], Iterator[tuple[FloatArray, FloatArray]]]
"""Gives, at every call, all components block by block: lam (m,) and x (3, m)."""


class Components:
    """Components of variance `lam` (k,), `count` (k,) of them, with `x` (k, 3); or, where many were compressed into
    one node, with `x` (k, 3, 3) the sum of x x' over them."""

    def __init__(self, lam: FloatArray, count: FloatArray, x: FloatArray) -> None:
        self.lam, self.count, self.x = lam, count, x
        self.compressed = x.ndim == 3
        self.top = float(lam.max())
        self.total: FloatArray = x.sum(axis=0) if self.compressed else x.T @ x

    @classmethod
    def independent(
        cls, mu: FloatArray, p: FloatArray, sigma: FloatArray | float, weight: FloatArray | None = None
    ) -> Components:
        """Independent labels of mean `mu`, predicted as `p`; no weight: all equal."""
        n = mu.size
        spread = np.broadcast_to(np.asarray(sigma, dtype=float), (n,))
        total = float(n) if weight is None else float(np.sum(weight))

        def blocks() -> Iterator[tuple[FloatArray, FloatArray]]:
            for start in range(0, n, BLOCK):
                part = slice(start, start + BLOCK)
                root = np.sqrt(np.full(mu[part].size, 1.0 / total) if weight is None else weight[part] / total)
                yield (root * spread[part]) ** 2, np.stack([root, root * mu[part], root * p[part]])

        return cls._gather(blocks)

    @classmethod
    def correlated(
        cls, mu: FloatArray, p: FloatArray, covariance: FloatArray, weight: FloatArray | None = None
    ) -> Components:
        """The same for labels whose errors have the given covariance (n, n)."""
        root = np.sqrt(np.full(mu.size, 1.0 / mu.size) if weight is None else weight / np.sum(weight))
        matrix = root[:, None] * covariance * root
        lam, vectors = np.linalg.eigh(matrix)
        rounding = 16 * lam.size * np.finfo(float).eps * (np.diag(matrix) @ vectors**2)
        x = np.stack([root, root * mu, root * p]) @ vectors
        return cls._gather(lambda: iter([(np.where(lam > rounding, lam, 0.0), x)]))

    @classmethod
    def _gather(cls, blocks: Blocks) -> Components:
        """Few components as they are, components of equal variance as three, many by compression."""
        number, least, largest = 0, np.inf, 0.0
        for lam, _ in blocks():
            uncertain = lam[lam > 0]
            number += uncertain.size
            least, largest = min(least, float(uncertain.min(initial=np.inf))), max(largest, float(lam.max()))
        equal = least == largest
        if number > EXACT and not equal:
            return cls._compressed(blocks)
        certain, common = np.empty((0, 3)), np.empty((0, 3))
        single_lam, single_rows = [np.empty(0)], [np.empty((0, 3))]
        for lam, x in blocks():
            certain = _rotated(certain, x[:, lam == 0])
            if equal:
                common = _rotated(common, x[:, lam > 0])
            else:
                single_lam.append(lam[lam > 0])
                single_rows.append(x[:, lam > 0].T)
        lam = np.concatenate([np.zeros(len(certain)), np.full(len(common), largest), *single_lam])
        count = np.ones(lam.size)
        if equal:
            count[-1] += number - len(common)
        return cls(lam, count, np.vstack([certain, common, *single_rows]))

    @classmethod
    def _compressed(cls, blocks: Blocks) -> Components:
        first, second = np.triu_indices(3)

        def products() -> Iterator[tuple[FloatArray, FloatArray]]:
            for lam, x in blocks():
                yield lam, np.vstack([lam > 0, x[first] * x[second]])

        nodes, columns = compress(products)
        gram = np.empty((nodes.size, 3, 3))
        gram[:, first, second] = gram[:, second, first] = columns[1:].T
        return cls(nodes, columns[0], gram)

    def sums(self, f: Numbers) -> Sums:
        """Sums over components weighted by f (j, k)."""
        return Sums(self, f)

    def form(self, f: Numbers, a: Numbers, b: Numbers) -> Numbers:
        """sum f (a . x)(b . x) for f (j, k): (j,)."""
        return Sums(self, f)(a, b)

    def at_zero(self, a: FloatArray, b: FloatArray) -> float:
        """sum (a . x)(b . x)."""
        return float(a @ self.total @ b)

    def draw(self, generator: RNG, shape: tuple[int, ...], a: FloatArray) -> FloatArray:
        """Draws of sum eta^2 and of each a . eta, a (m, 3): (1 + m, *shape). Not for compressed components."""
        out = np.zeros((1 + len(a), *shape))
        for lam, count, x in zip(self.lam, self.count, self.x, strict=True):
            eta = x[1] + math.sqrt(lam) * generator.standard_normal(shape)
            out[0] += eta * eta
            out[1:] += np.multiply.outer(a @ x, eta)
            if count > 1:
                out[0] += lam * generator.chisquare(count - 1, shape)
        return out


class Sums:
    """sum f (a . x)(b . x) over components for one weight f (j, k) and any coefficients a, b, each (3,) or (j, 3)."""

    def __init__(self, components: Components, f: Numbers) -> None:
        self._x = components.x
        self._compressed = components.compressed
        # single components are multiplied first and added later: a . x may be a small difference
        self._f = (f @ self._x.reshape(-1, 9)).reshape(-1, 3, 3) if self._compressed else f

    def __call__(self, a: Numbers, b: Numbers) -> Numbers:
        out: Numbers
        if self._compressed:
            out = np.sum((a[..., :, None] * b[..., None, :]) * self._f, axis=(1, 2))
        else:
            out = np.sum(self._f * ((a @ self._x.T) * (b @ self._x.T)), axis=1)
        return out


class Pairs:
    """The products of u_a . x (u of k rows) and b . x, made once and summed up with many weights f (j, n)."""

    def __init__(self, components: Components, u: FloatArray, b: FloatArray) -> None:
        x, a = components.x, np.vstack([u, b])
        along = None if components.compressed else x @ a.T
        pairs = a @ x @ a.T if along is None else along[:, :, None] * along[:, None, :]
        self._k, self._products = len(u), pairs.reshape(len(x), -1)
        self.squares: FloatArray = pairs[:, range(len(u)), range(len(u))]
        """(u_a . x)^2 of each component: (n, k)."""

    def __call__(self, f: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The sums of f times (u_a . x)(u_b . x), (u_a . x)(b . x) and (b . x)^2: (j, k, k), (j, k) and (j,)."""
        k = self._k
        sums = (f @ self._products).reshape(-1, k + 1, k + 1)
        return sums[:, :k, :k], sums[:, :k, k], sums[:, k, k]


def _rotated(triangle: FloatArray, x: FloatArray) -> FloatArray:
    """At most three rows with the same inner products between their columns as all rows so far."""
    if x.shape[1] == 0:
        return triangle
    return np.asarray(np.linalg.qr(np.vstack([triangle, x.T]), mode="r"))
