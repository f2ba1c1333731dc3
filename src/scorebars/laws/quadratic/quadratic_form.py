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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.laws.complex_log import Numbers, log
from scorebars.laws.quadratic.label_nodes import compress

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


@dataclass
class QuadraticForms:
    """One form N for each row: `alpha` (j,), `kappa` (m, j) with directions `u` (m, 3), `linear` (j, 3), `constant`."""

    components: Components
    alpha: FloatArray
    kappa: FloatArray
    u: FloatArray
    linear: FloatArray
    constant: FloatArray

    def __post_init__(self) -> None:
        total = self.components.total
        offset = self.u @ total @ THETA
        self.gradient = 2.0 * np.outer(self.alpha, THETA) + self.linear + 2.0 * (self.kappa.T * offset) @ self.u
        self.at_theta = self.alpha * total[1, 1] + self.linear @ total[1] + offset**2 @ self.kappa + self.constant

    def width(self) -> FloatArray:
        """1 / standard deviation of N."""
        c = self.components
        first, second = c.sums(np.stack([c.lam, c.lam**2]))
        trace = self.alpha**2 * float(c.count @ c.lam**2)
        trace += 2.0 * self.alpha * (np.einsum("ma,ab,mb->m", self.u, second, self.u) @ self.kappa)
        trace += np.einsum("aj,ab,bj->j", self.kappa, (self.u @ first @ self.u.T) ** 2, self.kappa)
        steep = np.einsum("ja,ab,jb->j", self.gradient, first, self.gradient)
        out: FloatArray = 1.0 / np.sqrt(2.0 * trace + steep)
        return out

    def tilted(self, t: Numbers) -> tuple[Numbers, Numbers]:
        """K(t) (j,), and S (j, 3, 3), the covariances under the weight exp(tN) of sums with the three columns."""
        c = self.components
        rest = 1.0 - np.multiply.outer(2.0 * t * self.alpha, c.lam)
        s = c.sums(c.lam / rest)
        logarithm = log(rest) @ c.count
        for kappa, u in zip(self.kappa, self.u, strict=True):
            su = s @ u
            pull = 2.0 * t * kappa
            pivot = 1.0 - pull * (su @ u)
            logarithm += log(pivot)
            s = s + (pull / pivot)[:, None, None] * (su[:, :, None] * su[:, None, :])
        steep = np.einsum("ja,jab,jb->j", self.gradient, s, self.gradient)
        return t * self.at_theta - 0.5 * logarithm + 0.5 * t * t * steep, s
