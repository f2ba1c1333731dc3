"""Answers of the reduced chi-squared: the mean square of the pulls, residuals over the errors of their labels.

With z the residuals in units of their errors (whitened where errors are correlated, so that z' z = d' S^-1 d) and every
pull having error 1, the reduced chi-squared is the mean squared error of the pulls. All answers follow from there:
expected = observed + 1, truth = observed - 1, and a perfect model scores chi^2_n / n, mean 1.

Where the errors were estimated from repeats, dividing by them adds scatter. With a label's own error from nu degrees of
freedom the pull of a perfect model follows Student's t, its square F(1, nu) with mean f = nu/(nu - 2) in place of 1; with
one error for all labels the reduced chi-squared follows F(n, nu) and f is nearly 1.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import chdtr, chdtrc

from scorebars import checks
from scorebars.answers.base import Answers
from scorebars.answers.evidence import Evidence
from scorebars.answers.level import PERFECT, Level
from scorebars.answers.linear import LinearAnswers
from scorebars.answers.means.squared import SquaredAnswers
from scorebars.arrays import FloatArray
from scorebars.errors import Normal, StudentT
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.law import Law
from scorebars.laws.variance_ratio import VarianceRatio, mean_of_ratios, weighted_ratio
from scorebars.measured import Measured
from scorebars.score import Estimate, Score

FEW_REPEATS = (
    "label errors from few repeats make the pulls follow Student's distribution, which has no mean square up to 3 repeats "
    "and no variance of the square up to 5. Use Repeats(..., sigma='pooled'), or read observed and pvalue."
)
_HINT = "Drop labels without error, or give them the error they have."


class ChiSquaredAnswers(SquaredAnswers):
    """Mean of the squared pulls; its labels are pulls."""

    @cached_property
    def pvalues(self) -> tuple[float, float]:
        """Probabilities that a perfect model's chi-squared is at most, and at least, the observed one."""
        known = not self._store.kept or (self._store.plain and not self._labels().errors.estimated)
        if known and self._store.unweighted:
            size = float(np.max(self._labels().errors.label_variance(np.zeros(self.n)))) if self._store.kept else 1.0
            total = self.n * self.observed / size if size > 0 else math.inf
            return float(chdtr(float(self.n), total)), float(chdtrc(float(self.n), total))
        return float(self._perfect_law.cdf(self.observed)), float(self._perfect_law.sf(self.observed))

    def _forward(self, level: Level) -> Law:
        if level is not PERFECT or not self._store.kept:
            return super()._forward(level)
        data = self._labels()
        errors = data.errors
        if isinstance(errors, StudentT):
            label = errors.as_single_measurements()
            weight = data.shares * np.square(label.scale)
            return mean_of_ratios(weight, np.broadcast_to(np.asarray(label.df, dtype=np.float64), (data.n,)))
        scatter = None if errors.normal is None else errors.normal.scatter
        if scatter is None:
            return super()._forward(level)
        nu = scatter.pooled_degrees
        law = VarianceRatio(data.n, nu) if data.weight is None else weighted_ratio(data.shares, nu)
        unit = float(np.max(errors.label_variance(np.zeros(data.n)))) * (nu - 2.0) / nu
        return law if unit == 1.0 else ScaledLaw(law, unit)

    def _back(self, level: Level) -> Estimate:
        """The pulls of labels that are means of repeats are those of single measurements with the labels' errors."""
        if not self._store.kept or (single := (data := self._labels()).errors.as_single_measurements()) is data.errors:
            return super()._back(level)
        answers = SquaredAnswers(self.declaration, self.loss, Evidence(Measured(data.y, data.p, single, data.weight)))
        return answers._back(level if level.repeats is None else Level(level.name, level.repeats / data.errors.repeats))

    def why_undefined(self) -> str:
        return FEW_REPEATS if isinstance(self._labels().errors, StudentT) else super().why_undefined()


class ChiSquaredScore(Score):
    """A reduced chi-squared, with the p-value of a perfect model."""

    @property
    def pvalue(self) -> float:
        """Probability that a perfect model's chi-squared is at least the observed one, with these label errors."""
        return pvalues_of(self._answers)[1]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return ChiSquaredScore, (self._answers,)


def pvalues_of(answers: Answers) -> tuple[float, float]:
    """Probabilities that a perfect model's chi-squared is at most, and at least, the observed one."""
    found = answers.inner if isinstance(answers, LinearAnswers) else answers
    assert isinstance(found, ChiSquaredAnswers)
    return found.pvalues


def pulls(data: Measured) -> Measured:
    """Residuals in units of the errors of their labels, with the errors that this leaves them."""
    own = data.errors.in_units_of_labels(data.n)
    if own is None:
        raise ValueError(
            f"reduced chi-squared needs normal errors, not {type(data.errors).__name__}: its distribution is that of "
            "squares of normals. Pass Normal(sigma) with the standard deviation of each label."
        )
    label = data.errors.label_level().normal
    sigma = data.errors.error_bar(data.labels) if label is None else np.broadcast_to(label.sigma, (data.n,))
    require_positive(sigma)
    with np.errstate(over="ignore"):
        z = data.residual / sigma
    if label is not None and not label.independent:
        if data.weight is not None:
            raise ValueError(
                "sample_weight has no meaning in d' S^-1 d, where errors are correlated: leave it out, or pass sigma."
            )
        z = _whitened_shared(z, label.shared / sigma) if label.shared is not None else _whitened(data.residual, label)
    if not np.all(np.isfinite(z)):
        raise OverflowError("a residual is so many errors large that the ratio leaves the range of doubles.")
    return Measured(z, np.zeros(data.n), own, data.weight)


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
