"""Variance of a weighted sum of squared residuals, with any structure of the errors.

For Q = sum a_i (d_i + e_i)^2 with e ~ N(0, S), W = diag(a) and u = W d:

    Var Q = 2 tr((W S)^2) + 4 u' S u

and if d itself is measured with the same errors, 4 u' S u - 2 tr((W S)^2) is unbiased for that variance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scorebars.errors import Normal
from scorebars.errors.base import FloatArray


class QuadraticTerms(NamedTuple):
    """tr((W S)^2) and u' S u."""

    trace: float
    form: float

    @property
    def variance(self) -> float:
        """Var Q with the residuals taken as true means."""
        return 2.0 * self.trace + 4.0 * self.form

    @property
    def unbiased(self) -> float:
        """Unbiased estimate of Var Q when the residuals carry these errors, never below that of zero residuals."""
        return max(4.0 * self.form - 2.0 * self.trace, 2.0 * self.trace)


def diagonal_terms(sigma: FloatArray | float, a: FloatArray, d: FloatArray) -> QuadraticTerms:
    """Independent errors."""
    v = np.square(a * sigma)
    return QuadraticTerms(float(np.sum(v * np.square(sigma))), float(np.sum(v * np.square(d))))


def quadratic_terms(errors: Normal, a: FloatArray, d: FloatArray) -> QuadraticTerms:
    """Independent errors, full covariance or shared shifts."""
    u = a * d
    if errors.cov is not None:
        return QuadraticTerms(float(a @ np.square(errors.cov) @ a), float(u @ errors.cov @ u))
    terms = diagonal_terms(errors.sigma, a, d)
    if errors.shared is None:
        return terms
    s = errors.shared
    inner = (s * a) @ s.T
    cross = float(np.sum(np.square(a * errors.sigma) * np.square(s).sum(axis=0)))
    return QuadraticTerms(
        terms.trace + 2.0 * cross + float(np.sum(np.square(inner))), terms.form + float(np.sum(np.square(s @ u)))
    )
