"""Labels that were measured several times, and what the scatter of the repeats tells of their error."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import poch, polygamma, psi

from scorebars import checks
from scorebars.arrays import FloatArray, to_host
from scorebars.errors.continuous import StudentT
from scorebars.errors.measurement_error import (
    MeasurementError,
    check_kind,
    require_common_size,
    rows_of_numbers,
    standard_deviations,
)
from scorebars.errors.normal import Normal

_WAYS = ("per_item", "pooled", "shrunk")


class Repeats(Normal):
    r"""Labels that are means of repeats; the error comes from the scatter of the repeats.

    Parameters
    ----------
    values : (n, k) array, or (N,) with `groups`
        One row of repeats for each label, NaN where there are fewer; or all measurements in long form.
    groups : (N,), optional
        Which label each measurement of the long form belongs to. Labels are ordered as they first occur.
    sigma : {"per_item", "pooled", "shrunk"}
        The error of a single repeat: from each label's own repeats; one for all; or each label's own variance drawn
        towards the common one, the more so the less they differ (the posterior mean of empirical Bayes). The mean
        variance of labels with equally many repeats is the same in all three.
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Attributes
    ----------
    means : (n,)
        The means of the repeats; a metric takes them as labels where ``y_true=None``.
    repeats : (n,)
        Number of repeats n_i. A label's own error is sigma_i / sqrt(n_i): it enters `truth` and `perfect`, while
        `expected` asks for a single fresh repeat and uses sigma_i.

    Notes
    -----
    ``"per_item"`` takes the sample variance :math:`s_i^2` of each label, ``"pooled"`` the mean
    :math:`\sum \nu_i s_i^2 / \sum \nu_i` with :math:`\nu_i = n_i - 1`, ``"shrunk"`` a mixture of both.

    References
    ----------
    G. K. Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004) 3, for ``"shrunk"``.

    Examples
    --------
    >>> import numpy as np
    >>> import scorebars as sb
    >>> r = sb.Repeats([[1.0, 1.2, 1.1], [2.0, 2.4, np.nan]])
    >>> r.means, r.repeats
    (array([1.1, 2.2]), array([3., 2.]))
    >>> r.sigma.round(4)
    array([0.1   , 0.2828])
    """

    per_label = ("means", "repeats", "sigma", "scatter")

    means: FloatArray | None = None

    def __init__(
        self, values: ArrayLike, groups: ArrayLike | None = None, *, sigma: str = "per_item", kind: str = "classical"
    ) -> None:
        rows = rows_of_numbers(values, "values", "repeat") if groups is None else _long_form(values, groups)
        means, variances, counts = _statistics(rows)
        scatter = scatter_of(variances, counts, sigma)
        super().__init__(scatter.sigma, kind=kind)
        self.means, self.repeats, self.scatter = means, counts, scatter

    @classmethod
    def from_means(cls, *, sigma: ArrayLike, n: ArrayLike, kind: str = "classical") -> Self:
        """Labels given as means of `n` repeats, each of known error `sigma`."""
        model = cls.trusted(standard_deviations(sigma, "sigma"), check_kind(kind))
        model.repeats = _counts(n)
        require_common_size(sigma=model.sigma, n=model.repeats)
        return model

    @classmethod
    def from_summary(cls, *, sd: ArrayLike, n: ArrayLike, sigma: str = "per_item", kind: str = "classical") -> Self:
        """Labels given as means of `n` repeats with sample standard deviation `sd` (divisor n - 1)."""
        spread, counts = np.broadcast_arrays(np.atleast_1d(standard_deviations(sd, "sd")), np.atleast_1d(_counts(n)))
        scatter = scatter_of(np.square(spread), counts.astype(np.float64), sigma)
        model = cls.trusted(scatter.sigma, check_kind(kind))
        model.repeats, model.scatter = counts.astype(np.float64), scatter
        return model

    def labels(self) -> FloatArray | None:
        return self.means

    @property
    def absolute_sd(self) -> FloatArray | float:
        """sigma for |.|: sample standard deviations are low on average (by c4), and are raised by as much."""
        return self.sigma if self.scatter is None else self.sigma * self.scatter.absolute

    @property
    def estimated(self) -> bool:
        return self.scatter is not None

    def truth_variance(self, y: FloatArray, p: FloatArray, a: FloatArray) -> float:
        """Variance of sum a_i (d_i^2 - s_i^2), s_i^2 estimated from repeats; never below that of zero residuals.

        Var d^2 = 4 D^2 s^2 + 2 s^4 is estimated by 4 d^2 s^2 - 2 s^4; the scatter of the s_i^2 themselves comes on top.
        A label's own s^4 is too large on average, by 1 + 2/nu.
        """
        if self.scatter is None:
            return super().truth_variance(y, p, a)
        s2 = np.broadcast_to(np.square(self.sigma) / self.repeats, y.shape)
        nu, weight = self.scatter.nu, self.scatter.weight
        fourth = np.square(s2) * np.where(weight > 0, nu / (nu + 2.0 * np.square(weight)), 1.0)
        extra = self.scatter.variance_of_sum(a / self.repeats)
        a2 = np.square(a)
        own = float(np.sum(a2 * (4.0 * np.square(np.subtract(y, p, dtype=np.float64)) * s2 - 2.0 * fourth)))
        return max(own, 2.0 * float(np.sum(a2 * fourth))) + extra

    @property
    def reliability(self) -> float:
        """Share of the variance of a single repeat that is not measurement error (intraclass correlation)."""
        if self.means is None or len(self.means) < 2:
            raise ValueError("reliability needs the repeats of at least two labels: Repeats(values).")
        error = float(np.mean(np.square(self.sigma)))
        between = float(np.var(self.means, ddof=1) - np.mean(np.square(self.sigma) / self.repeats))
        total = max(between, 0.0) + error
        return max(between, 0.0) / total if total > 0 else 1.0

    def scaled(self, factor: float) -> Self:
        means = None if self.means is None else self.means * factor
        scatter = None if self.scatter is None else self.scatter.scaled(factor)
        return self._changed(means=means, sigma=self.sigma * factor, scatter=scatter)

    def as_single_measurements(self) -> Self:
        return self._changed(sigma=self.sigma / np.sqrt(self.repeats), repeats=1.0)

    def in_units_of_labels(self, n: int) -> MeasurementError:
        """Divided by errors that were estimated themselves: Student's t, or for one error for all nearly normal."""
        if self.scatter is None:
            return super().in_units_of_labels(n)
        nu = self.scatter.pooled_degrees
        if self.scatter.common and nu > 2:
            return self._in_units_of_one(nu / (nu - 2.0))
        unit = StudentT(self.scatter.stretch * np.sqrt(self.repeats), self.scatter.degrees, kind=self.kind)
        unit.repeats = self.repeats
        return unit

    def _in_units_of_one(self, variance: float) -> Self:
        """One error for all labels, divided by itself so that each label has the error variance `variance`."""
        assert self.scatter is not None and self.scatter.common
        one = float(self.scatter.sigma[0])
        root = np.sqrt(np.broadcast_to(self.repeats, self.scatter.sigma.shape))
        pooled = self.scatter.pooled_variance / one**4 * variance**2
        scatter = replace(self.scatter, sigma=root, pooled_variance=pooled)
        return self._changed(means=None, sigma=root * math.sqrt(variance), scatter=scatter)

    def __repr__(self) -> str:
        size = "any number of" if self.size is None else self.size
        return self._text(f"{size} labels", f"{np.min(self.repeats):g} to {np.max(self.repeats):g} repeats each")


def _long_form(values: Any, groups: Any) -> FloatArray:
    flat = np.asarray(checks.column(values, "values"), dtype=np.float64)
    ids = np.asarray(to_host(groups))
    if ids.shape != flat.shape:
        raise ValueError(f"values and groups have inconsistent numbers of samples: {flat.shape} and {ids.shape}.")
    checks.require_finite(flat, "values")
    _, first, label = np.unique(ids, return_index=True, return_inverse=True)
    label = np.argsort(np.argsort(first))[label]
    rows = np.split(flat[np.argsort(label, kind="stable")], np.cumsum(np.bincount(label))[:-1])
    return rows_of_numbers(rows, "values", "repeat")


def _statistics(rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, sample variance (0 for a single repeat) and number of repeats of each row."""
    there = ~np.isnan(rows)
    counts = there.sum(axis=1).astype(np.float64)
    means = np.where(there, rows, 0.0).sum(axis=1) / counts
    squares = np.where(there, np.square(rows - means[:, None]), 0.0).sum(axis=1)
    return means, squares / np.maximum(counts - 1, 1), counts


def _counts(n: Any) -> FloatArray | float:
    counts = np.asarray(checks.real_array(n, "n"), dtype=np.float64)
    bad = np.asarray(~(np.isfinite(counts) & (counts >= 1) & (counts % 1 == 0)))
    hint = "Give whole numbers of at least 1."
    if bad.any() and counts.ndim == 0:
        raise ValueError(f"n = {float(counts):g} is not a number of repeats. {hint}")
    if bad.any():
        raise checks.complain("n", "has values that are no number of repeats", bad, counts, hint)
    return float(counts) if counts.ndim == 0 else checks.column(counts, "n")


def c4(degrees: FloatArray | float) -> FloatArray | float:
    """E(sample standard deviation) / sigma for a sample of `degrees` + 1 normal values; 1 for known errors.

    >>> round(float(c4(1.0)), 6)
    0.797885
    """
    half = np.where(np.isfinite(degrees), np.maximum(degrees, 1e-300), 1.0) / 2
    return np.where(np.isfinite(degrees), poch(half, 0.5) / np.sqrt(half), 1.0)[()]


@dataclass(frozen=True)
class RepeatScatter:
    """The error of one repeat of each label, found from the repeats.

    The variance of label i is a mixture of its own sample variance and of the pooled one,
    ``weight * own + (1 - weight) * pooled``: weight 1 is "per_item", 0 is "pooled".
    """

    sigma: FloatArray
    """Standard deviation of one repeat of each label."""
    own: FloatArray
    """Sample variance of each label's own repeats; 0 for a single one."""
    nu: FloatArray
    """Degrees of freedom of `own`."""
    weight: FloatArray
    """Share of `own` in the variance."""
    degrees: FloatArray
    """Degrees of freedom of the Student distribution that a perfect model's residuals over their errors follow."""
    stretch: FloatArray
    """... and the scale of that distribution."""
    absolute: FloatArray
    """Factor from `sigma` to the standard deviation whose mean over the labels is unbiased."""
    pooled_degrees: float
    pooled_variance: float
    """Variance of the pooled variance."""

    @property
    def common(self) -> bool:
        """Whether one error was found for all labels together."""
        return not np.any(self.weight)

    def __getitem__(self, index: Any) -> RepeatScatter:
        """The scatter of a subset of the labels."""
        each = {name: value[index] for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return replace(self, **each)

    def scaled(self, factor: float) -> RepeatScatter:
        """The scatter in another unit."""
        f2 = factor * factor
        return replace(
            self, sigma=self.sigma * factor, own=self.own * f2, pooled_variance=self.pooled_variance * f2 * f2
        )

    def variance_of_sum(self, b: FloatArray) -> float:
        """Variance of sum b_i sigma_i^2 over the scatter of the repeats.

        A sample variance v with nu degrees of freedom has variance 2 sigma^4 / nu, for which 2 v^2 / (nu + 2) is unbiased.
        """
        there = self.nu > 0
        each = np.where(there, 2.0 * np.square(self.own) / (self.nu + 2.0), 0.0)
        alone, together = b * self.weight, float(np.sum(b * (1.0 - self.weight)))
        shared = together * float(np.sum(alone * self.nu * each)) / self.pooled_degrees
        return float(np.sum(np.square(alone) * each)) + 2.0 * shared + together**2 * self.pooled_variance


def scatter_of(variances: FloatArray, counts: FloatArray, way: str) -> RepeatScatter:
    """The error of one repeat of each label from the sample variances of `counts` repeats."""
    if way not in _WAYS:
        known = "Known errors: Repeats.from_means(sigma, n)."
        raise ValueError(f"sigma must be 'per_item', 'pooled' or 'shrunk', got {way!r}. {known}")
    nu = counts - 1
    if nu.sum() == 0:
        raise ValueError(
            "no label has more than one repeat, so their error cannot be found from repeats. Pass the error of the "
            "instrument instead: Repeats.from_means(sigma=..., n=1) or yerr=sigma."
        )
    single = nu == 0
    if way == "per_item" and single.any():
        hint = "Use sigma='pooled' or sigma='shrunk', or Repeats.from_means(sigma=..., n=...)."
        what = "has labels with a single repeat, whose own error cannot be found"
        raise checks.complain("values", what, single, counts, hint)
    everything = float(nu.sum())
    pooled = float(np.sum(nu * variances) / everything)
    # from the labels' own variances, as they may differ, but never below what equal errors give
    scattered = float(np.sum(np.square(nu * variances) * 2.0 / (nu + 2.0))) / everything**2
    pooled_variance = max(scattered, 2.0 * pooled**2 / everything)
    prior_degrees, prior_variance = shrinkage_prior(variances, nu) if way == "shrunk" else (math.inf, pooled)
    ones = np.ones(len(nu))
    if way == "per_item":
        weight, degrees, stretch, absolute = ones, nu, ones, ones / c4(nu)
        sigma = np.sqrt(variances)
    elif math.isinf(prior_degrees):
        weight, degrees, stretch = 0.0 * ones, everything * ones, ones
        sigma, absolute = math.sqrt(pooled) * ones, ones / c4(everything)
    else:
        prior = max(prior_degrees - 2.0, 0.0)
        weight = np.where(single, 0.0, nu / np.where(single, 1.0, prior + nu))
        variance = weight * variances + (1.0 - weight) * pooled
        degrees = prior_degrees + nu
        moderated = (prior_degrees * prior_variance + nu * variances) / degrees
        stretch = np.sqrt(moderated / np.where(variance > 0, variance, 1.0))
        if prior == 0:  # errors that differ this much have no common mean: each label's own, as "per_item"
            degrees, stretch = np.where(single, degrees, nu), np.where(single, stretch, 1.0)
        sigma, there = np.sqrt(variance), ~single
        unbiased = float(np.sum(np.sqrt(variances[there]) / c4(nu[there])))
        absolute = ones * unbiased / (float(np.sum(sigma[there])) or 1.0)
    return RepeatScatter(sigma, variances, nu, weight, degrees, stretch, absolute, everything, pooled_variance)


def shrinkage_prior(variances: FloatArray, nu: FloatArray) -> tuple[float, float]:
    """Scaled inverse chi-square prior of the variances by the moments of their logarithms (Smyth 2004).

    Returns its degrees of freedom (infinite where the variances scatter no more than chance makes them) and variance.
    """
    use = (nu > 0) & (variances > 0)
    if use.sum() < 2:
        return math.inf, float(np.sum(nu * variances) / np.sum(nu))
    v, k = variances[use], nu[use]
    e = np.log(v) - psi(k / 2) + np.log(k / 2)
    count, centre = len(e), float(np.mean(e))
    excess = float(np.mean(np.square(e - centre) * count / (count - 1) - polygamma(1, k / 2)))
    if excess <= 0:
        return math.inf, math.exp(centre)
    # trigamma(x) lies between 1/x + 1/(2 x^2) and 1/x + 1/x^2
    most = 1.5 / excess + 1.0 / math.sqrt(excess)
    degrees = 2 * float(brentq(lambda x: polygamma(1, x) - excess, 1.0 / excess, most))
    return degrees, math.exp(centre + float(psi(degrees / 2)) - math.log(degrees / 2))
