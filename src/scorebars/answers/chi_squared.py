"""Answers of the reduced chi-squared: the mean square of the pulls, residuals over the errors of their labels.

With z the residuals in units of their errors (whitened where errors are correlated, so that z' z = d' S^-1 d) and every
pull having error 1, the reduced chi-squared is the mean squared error of the pulls. All answers follow from there:
expected = observed + 1, truth = observed - 1, and a perfect model scores chi^2_n / n, mean 1.

Where the errors were estimated from repeats, dividing by them adds scatter. With a label's own error from nu degrees of
freedom the pull of a perfect model follows Student's t, its square F(1, nu) with mean f = nu/(nu - 2) in place of 1; with
one error for all labels the reduced chi-squared follows F(n, nu) and f is nearly 1.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import chdtr, chdtrc

from scorebars import checks
from scorebars.answers.squared import SquaredAnswers
from scorebars.errors import MeasurementError, Normal, SplitNormal, StudentT
from scorebars.errors.base import FloatArray
from scorebars.errors.repeats import Repeats
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import Law
from scorebars.laws.variance_ratio import VarianceRatio, mean_of_ratios, weighted_ratio
from scorebars.measured import Measured
from scorebars.score import Estimate, Score

FEW_REPEATS = (
    "label errors from few repeats make the pulls follow Student's distribution, which has no mean square up to 3 repeats "
    "and no variance of the square up to 5. Use Repeats(..., sigma='pooled'), or read observed and pvalue."
)
_HINT = "Drop labels without error, or give them the error they have."


class ChiSquaredAnswers(SquaredAnswers):
    """Mean of the squared pulls; its data are pulls."""

    @property
    def pvalue(self) -> float:
        """Probability that a perfect model's chi-squared is at least the observed one."""
        return self.pvalues[1]

    @cached_property
    def pvalues(self) -> tuple[float, float]:
        """Probabilities that a perfect model's chi-squared is at most, and at least, the observed one."""
        data = self._scaled_data()
        known = isinstance(data.errors, Normal) and not isinstance(data.errors, Repeats)
        if known and data.weight is None:
            total = data.n * self.observed
            return float(chdtr(float(data.n), total)), float(chdtrc(float(data.n), total))
        law, observed = self.scaled_perfect_law(), self._totals.observed
        return float(law.cdf(observed)), float(law.sf(observed))

    def scaled_perfect_law(self) -> Law:
        data = self._scaled_data()
        errors = data.errors
        if isinstance(errors, StudentT):
            label = _at_label_level(data).errors
            assert isinstance(label, StudentT)
            weight = data.shares * np.square(label.scale)
            return mean_of_ratios(weight, np.broadcast_to(np.asarray(label.df, dtype=np.float64), (data.n,)))
        if isinstance(errors, Repeats) and errors.scatter is not None:
            nu = errors.scatter.pooled_degrees
            law = VarianceRatio(data.n, nu) if data.weight is None else weighted_ratio(data.shares, nu)
            unit = float(np.max(errors.label_variance(np.zeros(data.n)))) * (nu - 2.0) / nu
            return law if unit == 1.0 else ScaledLaw(law, unit)
        return super().scaled_perfect_law()

    def _truth(self, data: Measured) -> Estimate:
        return super()._truth(_at_label_level(data))

    def _remeasured(self, data: Measured, repeats: float) -> Estimate:
        label = _at_label_level(data)
        return super()._remeasured(label, repeats if label is data else repeats / data.errors.repeats)  # type: ignore[arg-type]

    def why_undefined(self) -> str:
        return FEW_REPEATS if isinstance(self._data.errors, StudentT) else super().why_undefined()


def _at_label_level(data: Measured) -> Measured:
    """The same pulls, each as a single measurement: with the errors of the labels at hand."""
    errors, root = data.errors, np.sqrt(data.errors.repeats)
    if isinstance(errors, StudentT):
        label: MeasurementError = StudentT(np.asarray(errors.scale) / root, errors.df, kind=errors.kind)
    elif isinstance(errors, Repeats):
        label = copy(errors)
        label.sigma, label.repeats = errors.sigma / root, 1.0
    else:
        return data
    return Measured(data.y, data.p, label, data.weight)


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
    return _standardised(data, z, _unit_errors(errors, data.n))


def _unit_errors(errors: Normal, n: int) -> MeasurementError:
    """The error of one repeat in units of the errors of the labels at hand."""
    repeats = np.asarray(errors.repeats, dtype=np.float64)
    root: FloatArray | float = 1.0 if np.all(repeats == 1) else np.sqrt(repeats)
    unit: MeasurementError
    if not (isinstance(errors, Repeats) and errors.scatter is not None):
        unit = Normal.trusted(root, errors.kind)
        unit.repeats = errors.repeats
        return unit
    scatter = errors.scatter
    nu = scatter.pooled_degrees
    if scatter.common and nu > 2:
        return errors.in_units_of_their_own(nu / (nu - 2.0))
    unit = StudentT(scatter.stretch * root, scatter.degrees, kind=errors.kind)
    unit.repeats = errors.repeats
    return unit


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
