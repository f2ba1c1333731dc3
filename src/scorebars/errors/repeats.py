"""Labels that were measured several times, and what the scatter of the repeats tells of their error."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import polygamma, psi

from scorebars import checks
from scorebars.arrays import FloatArray, to_host
from scorebars.errors.estimated_sizes import EstimatedSizes, c4
from scorebars.errors.measurement_error import check_kind
from scorebars.errors.normal import Normal
from scorebars.errors.parameters import require_common_size, rows_of_numbers, standard_deviations

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

    per_label = ("means", "repeats", "sigma")

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
        return super().scaled(factor)._changed(means=means)

    def as_single_measurements(self) -> Self:
        return self._changed(sigma=self.sigma / np.sqrt(self.repeats), repeats=1.0)

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
        raise checks.complain("n", "has values that cannot be numbers of repeats", bad, counts, hint)
    return float(counts) if counts.ndim == 0 else checks.column(counts, "n")


def scatter_of(variances: FloatArray, counts: FloatArray, way: str) -> EstimatedSizes:
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
    return EstimatedSizes(sigma, variances, nu, weight, degrees, stretch, absolute, everything, pooled_variance)


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
