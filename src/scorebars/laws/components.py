"""Labels as independent components, for metrics that are ratios of quadratic forms.

With weights w that add up to 1 and labels y ~ N(mu, S), the sums that R2, explained variance, Pearson and
concordance correlation are made of, sum w y^2, sum w y and sum w p y, become

    sum eta_j^2,   sum e_j eta_j,   sum pi_j eta_j,      eta_j independent, N(theta_j, lam_j).

Independent labels: eta = sqrt(w) y, hence e = sqrt(w), theta = sqrt(w) mu, pi = sqrt(w) p, lam = w sigma^2.
Correlated labels: the same rotated by the eigenvectors of the covariance of sqrt(w) y. Everything these laws need
is a sum over components of f(lam) times a product of two linear combinations of x = (e, theta, pi).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scorebars.laws.base import FloatArray
from scorebars.laws.cgf import Numbers
from scorebars.laws.compress import BLOCK, EXACT, compress

E, THETA, PI = np.eye(3)
"""The coefficients that pick e, theta and pi out of x."""


class Components:
    """Components of variance `lam` (k,), `count` (k,) of them, and either their `rows` x (k, 3) or, where many labels
    were compressed into one node, the sum of x x' over them: `gram` (k, 3, 3)."""

    def __init__(
        self, lam: FloatArray, count: FloatArray, rows: FloatArray | None = None, gram: FloatArray | None = None
    ) -> None:
        self.lam, self.count, self.rows, self._gram = lam, count, rows, gram
        if rows is not None:
            self.total: FloatArray = rows.T @ rows
        elif gram is not None:
            self.total = gram.sum(axis=0)

    @classmethod
    def independent(cls, mu: FloatArray, p: FloatArray, sigma: FloatArray | float, weight: FloatArray | None) -> Components:
        """Independent labels of mean `mu`, predicted as `p`; no weight: all equal."""
        n = mu.size
        spread = np.broadcast_to(np.asarray(sigma, dtype=float), (n,))
        total = float(n) if weight is None else float(np.sum(weight))

        def blocks() -> Iterator[tuple[FloatArray, FloatArray]]:
            for start in range(0, n, BLOCK):
                part = slice(start, start + BLOCK)
                root = np.sqrt(np.full(mu[part].size, 1.0 / total) if weight is None else weight[part] / total)
                yield (root * spread[part]) ** 2, np.stack([root, root * mu[part], root * p[part]])

        number, least, largest = 0, np.inf, 0.0
        for lam, _ in blocks():
            uncertain = lam[lam > 0]
            number += uncertain.size
            least, largest = min(least, float(uncertain.min(initial=np.inf))), max(largest, float(lam.max()))
        if number <= EXACT:
            return cls._few(blocks)
        if least == largest:
            return cls._equal(blocks, largest)
        upper = np.triu_indices(3)

        def products() -> Iterator[tuple[FloatArray, FloatArray]]:
            for lam, x in blocks():
                yield lam, np.vstack([lam > 0, x[upper[0]] * x[upper[1]]])

        nodes, columns = compress(products)
        gram = np.empty((nodes.size, 3, 3))
        gram[:, upper[0], upper[1]] = gram[:, upper[1], upper[0]] = columns[1:].T
        return cls(nodes, columns[0], gram=gram)
