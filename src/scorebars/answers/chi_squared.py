"""Answers of the reduced chi-squared: the mean square of the pulls, residuals over the errors of their labels.

With z the residuals in units of their errors (whitened where errors are correlated, so that z' z = d' S^-1 d) and every
pull having error 1, the reduced chi-squared is the mean squared error of the pulls. All answers follow from there:
expected = observed + 1, truth = observed - 1, and a perfect model scores chi^2_n / n, mean 1.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import chdtrc

from scorebars import checks
from scorebars.answers.squared import SquaredAnswers, squared_law
from scorebars.errors import MeasurementError, Normal, SplitNormal
from scorebars.errors.base import FloatArray
from scorebars.measured import Measured
from scorebars.score import Score

_HINT = "Drop labels without error, or give them the error they have."


class ChiSquaredAnswers(SquaredAnswers):
    """Mean of the squared pulls; its data are pulls."""

    @cached_property
    def pvalue(self) -> float:
        """Probability that a perfect model's chi-squared is at least the observed one."""
        data = self._scaled_data()
        errors = data.errors
        if isinstance(errors, Normal) and data.weight is None:
            return float(chdtrc(float(data.n), data.n * self.observed))
        at_hand = errors.label_level() if isinstance(errors, Normal) else errors
        return float(squared_law(data, at_hand, np.zeros(data.n)).sf(self._totals.observed))


class ChiSquaredScore(Score):
    """A reduced chi-squared, with the p-value of a perfect model."""

    _answers: ChiSquaredAnswers

    @property
    def pvalue(self) -> float:
        """Probability that a perfect model's chi-squared is at least the observed one, with these label errors."""
        return self._answers.pvalue

    def __reduce_ex__(self, protocol: Any) -> Any:
        return ChiSquaredScore, (self._answers,)


def pulls(data: Measured) -> Measured:
    """Residuals in units of the errors of their labels, with the errors that this leaves them."""
    errors = data.errors
    if isinstance(errors, SplitNormal):
        mean = np.broadcast_to((np.asarray(errors.lower) + errors.upper) / 2, (data.n,))
        require_positive(mean)
        own: MeasurementError = SplitNormal(errors.lower / mean, errors.upper / mean, kind=errors.kind)
        return _standardised(data, data.residual / mean, own)
    if not isinstance(errors, Normal):
        raise ValueError(
            f"reduced chi-squared needs normal errors, not {type(errors).__name__}: its law is that of squares of "
            "normals. Pass Normal(sigma) with the standard deviation of each label."
        )
    label = errors.label_level()
    sigma = np.broadcast_to(np.asarray(label.sigma, dtype=np.float64), (data.n,))
    require_positive(sigma)
    with np.errstate(over="ignore"):
        z = data.residual / sigma
    if not label.independent:
        if data.weight is not None:
            raise ValueError(
                "sample_weight has no meaning in d' S^-1 d, where errors are correlated: leave it out, or pass sigma."
            )
        z = _whitened_shared(z, label.shared / sigma) if label.shared is not None else _whitened(data.residual, label)
    repeats = np.asarray(errors.repeats, dtype=np.float64)
    unit = Normal.trusted(1.0 if np.all(repeats == 1) else np.sqrt(repeats), errors.kind)
    unit.repeats = errors.repeats
    return _standardised(data, z, unit)


def _standardised(data: Measured, z: FloatArray, errors: MeasurementError) -> Measured:
    if not np.all(np.isfinite(z)):
        raise OverflowError("a residual is so many errors large that the ratio leaves the range of doubles.")
    return Measured(z, np.zeros(data.n), errors, data.weight)


def require_positive(sigma: FloatArray) -> None:
    """Refuse labels without error, which have no pull."""
    bad = ~(sigma > 0)
    if bad.any():
        what = "has zeros, but reduced chi-squared needs a positive error for each label"
        raise checks.complain("yerr", what, bad, sigma, _HINT)


def _whitened(d: FloatArray, errors: Normal) -> FloatArray:
    """C^-1 d with S = C C': as many independent unit normals as there are labels."""
    assert errors.cov is not None
    scale = np.broadcast_to(np.asarray(errors.sigma, dtype=np.float64), d.shape)
    correlation = errors.cov / np.outer(scale, scale)
    smallest = float(linalg.eigvalsh(correlation, subset_by_index=(0, 0))[0])
    if smallest <= 1e-13 * len(d):
        raise ValueError(
            f"cov is singular (smallest eigenvalue of the correlations {smallest:.1e}), but reduced chi-squared needs "
            "its inverse: some combination of the labels would be known without error."
        )
    return np.asarray(linalg.solve_triangular(linalg.cholesky(correlation, lower=True), d / scale, lower=True))


def _whitened_shared(z: FloatArray, shifts: FloatArray) -> FloatArray:
    """(I + V V')^(-1/2) z with V the shared shifts in units of the labels' own errors, (k, n); cost O(k^2 n)."""
    values, vectors = np.linalg.eigh(shifts @ shifts.T)
    keep = values > 1e-14 * max(float(values[-1]), 1e-300)
    directions = (vectors[:, keep].T @ shifts) / np.sqrt(values[keep])[:, None]
    along = directions @ z
    return np.asarray(z - directions.T @ ((1.0 - 1.0 / np.sqrt(1.0 + values[keep])) * along)) if keep.any() else z
