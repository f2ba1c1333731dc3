"""Labels that were measured several times."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from scipy.special import gammaln, polygamma, psi

from scorebars import checks
from scorebars.arrays import to_host
from scorebars.errors.base import FloatArray, check_kind, picked
from scorebars.errors.normal import Normal, standard_deviations

_WAYS = ("per_item", "pooled", "shrunk")


def c4(degrees: FloatArray | float) -> FloatArray | float:
    """E(sample standard deviation) / sigma for a sample of `degrees` + 1 normal values; 1 for known errors.

    >>> round(float(c4(1.0)), 6)
    0.797885
    """
    nu = np.asarray(degrees, dtype=np.float64)
    finite = np.where(np.isfinite(nu), np.maximum(nu, 1e-300), 1.0)
    ratio = np.exp(gammaln((finite + 1) / 2) - gammaln(finite / 2)) * np.sqrt(2 / finite)
    out = np.where(np.isfinite(nu), ratio, 1.0)
    return float(out) if out.ndim == 0 else out


class Repeats(Normal):
    r"""Labels that are means of repeats; the error comes from the scatter of the repeats.

    Parameters
    ----------
    values : (n, k) array, or (N,) with `groups`
        One row of repeats for each label, NaN where there are fewer; or all measurements in long form.
    groups : (N,), optional
        Which label each measurement of the long form belongs to. Labels are ordered as they first occur.
    sigma : {"per_item", "pooled", "shrunk"}
        The error of a single repeat: from each label's own repeats; one for all; or each label's own drawn towards the
        common one by empirical Bayes (the posterior mean of the variance).
    kind : {"classical", "berkson"}
        Whether label = truth + error or truth = label + error.

    Attributes
    ----------
    means : (n,)
        The means of the repeats; a metric takes them as labels where ``y_true=None``.
    repeats : (n,)
        Number of repeats n_i. A label's own error is sigma_i / sqrt(n_i): it enters `truth` and `perfect`, while
        `expected` asks for a single fresh repeat and uses sigma_i.

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

    means: FloatArray | None
    common: bool
    """Whether one error was found for all labels together."""
    degrees: FloatArray | float
    """Degrees of freedom behind each sigma; infinite where sigma is known."""

    def __init__(self, values: Any, groups: Any = None, *, sigma: str = "per_item", kind: str = "classical") -> None:
        if sigma not in _WAYS:
            raise ValueError(
                f"sigma must be 'per_item', 'pooled' or 'shrunk', got {sigma!r}. Known errors: Repeats.from_means(sigma, n)."
            )
        rows = _rows(values) if groups is None else _long_form(values, groups)
        means, variances, counts = _statistics(rows)
        self._settle(means, counts, *_error_of_one_repeat(variances, counts, sigma), kind, common=sigma == "pooled")

    @classmethod
    def from_means(cls, *, sigma: Any, n: Any, kind: str = "classical") -> Self:
        """Labels given as means of `n` repeats, each of known error `sigma`."""
        model = cls.__new__(cls)
        model._settle(None, _counts(n), standard_deviations(sigma, "sigma"), math.inf, kind)
        return model

    @classmethod
    def from_summary(cls, *, sd: Any, n: Any, sigma: str = "per_item", kind: str = "classical") -> Self:
        """Labels given as means of `n` repeats with sample standard deviation `sd` (divisor n - 1)."""
        if sigma not in _WAYS:
            raise ValueError(f"sigma must be 'per_item', 'pooled' or 'shrunk', got {sigma!r}.")
        counts = np.atleast_1d(_counts(n))
        spread = np.broadcast_to(
            np.atleast_1d(standard_deviations(sd, "sd")), np.broadcast_shapes(np.shape(sd), counts.shape)
        )
        counts = np.broadcast_to(counts, spread.shape).astype(np.float64)
        model = cls.__new__(cls)
        found = _error_of_one_repeat(np.square(spread), counts, sigma)
        model._settle(None, counts, *found, kind, common=sigma == "pooled")
        return model

    def _settle(
        self,
        labels: FloatArray | None,
        counts: FloatArray | float,
        sigma: FloatArray | float,
        degrees: FloatArray | float,
        kind: str,
        common: bool = False,
    ) -> None:
        self.common = common
        self.kind, self.cov, self.shared = check_kind(kind), None, None
        self.means, self.repeats, self.sigma, self.degrees = labels, counts, sigma, degrees
        sizes = {len(v) for v in (labels, counts, sigma) if isinstance(v, np.ndarray)}
        if len(sizes) > 1:
            raise ValueError(f"sigma and n describe different numbers of labels: {sorted(sizes)}.")

    @property
    def size(self) -> int | None:
        for values in (self.means, self.repeats, self.sigma):
            if isinstance(values, np.ndarray):
                return len(values)
        return None

    def labels(self) -> FloatArray | None:
        return self.means

    @property
    def absolute_sd(self) -> FloatArray | float:
        """sigma for |.|: a sample standard deviation is low by c4 on average, and is divided by it."""
        return self.sigma / c4(self.degrees)

    @property
    def estimated(self) -> bool:
        """Whether the errors come from the repeats themselves, so that they are uncertain too."""
        return bool(np.any(np.isfinite(self.degrees)))

    def truth_variance(self, shares: FloatArray, residual: FloatArray) -> float:
        """Variance of sum shares_i (d_i^2 - s_i^2), s_i^2 estimated: unbiased, never below that of zero residuals.

        Errors of their own: sum a^2 [4 d^2 s^2 + s^4 (nu/(nu+2)) (2/nu - 2)]. One error for all: the uncertainty of s^2 is
        common to all labels, 2 (sum a s^2)^2 / nu.
        """
        s2 = np.broadcast_to(np.square(self.sigma) / self.repeats, residual.shape)
        nu = np.broadcast_to(np.asarray(self.degrees, dtype=np.float64), residual.shape)
        a2 = np.square(shares)
        if self.common:
            own = np.sum(a2 * (4.0 * np.square(residual) * s2 - 2.0 * np.square(s2)))
            extra = 2.0 * float(np.sum(shares * s2)) ** 2 / float(nu[0])
            return max(float(own), 2.0 * float(np.sum(a2 * np.square(s2)))) + extra
        with np.errstate(invalid="ignore"):
            factor = np.where(np.isfinite(nu), nu / (nu + 2.0) * (2.0 / nu - 2.0), -2.0)
        terms = float(np.sum(a2 * (4.0 * np.square(residual) * s2 + np.square(s2) * factor)))
        return max(terms, 2.0 * float(np.sum(a2 * np.square(s2))))

    @property
    def reliability(self) -> float:
        """Share of the variance of a single repeat that is not measurement error (intraclass correlation)."""
        if self.means is None or len(self.means) < 2:
            raise ValueError("reliability needs the repeats of at least two labels: Repeats(values).")
        error = float(np.mean(np.square(self.sigma)))
        between = float(np.var(self.means, ddof=1) - np.mean(np.square(self.sigma) / self.repeats))
        total = max(between, 0.0) + error
        return max(between, 0.0) / total if total > 0 else 1.0

    def _copied(self, sigma: FloatArray | float, labels: FloatArray | None, index: Any = slice(None)) -> Self:
        part = type(self).__new__(type(self))
        part._settle(labels, picked(self.repeats, index), sigma, picked(self.degrees, index), self.kind, self.common)
        return part

    def _part(self, index: Any) -> Self:
        labels = None if self.means is None else self.means[index]
        return self._copied(picked(self.sigma, index), labels, index)

    def scaled(self, factor: float) -> Self:
        return self._copied(self.sigma * factor, None if self.means is None else self.means * factor)

    def __repr__(self) -> str:
        size = "any number of" if self.size is None else self.size
        return f"Repeats({size} labels, {np.min(self.repeats):g} to {np.max(self.repeats):g} repeats each)"


def _rows(values: Any) -> FloatArray:
    try:
        rows = np.asarray(checks.real_array(values, "values"), dtype=np.float64)
    except ValueError:
        if not isinstance(values, list | tuple):
            raise
        longest = max((np.size(row) for row in values), default=0)
        rows = np.full((len(values), longest), np.nan)
        for i, row in enumerate(values):
            rows[i, : np.size(row)] = checks.real_array(row, f"values[{i}]")
    if rows.ndim != 2 or not rows.size:
        raise ValueError(
            f"values must have one row of repeats for each label, shape (n, k), but has shape {rows.shape}."
        )
    bad = np.isinf(rows)
    if bad.any():
        raise checks.complain(
            "values", "contains infinity", bad, rows, "Remove these measurements (NaN for a missing one)."
        )
    empty = np.asarray(np.isnan(rows).all(axis=1))
    if empty.any():
        raise checks.complain("values", "has labels without any repeat", empty, rows[:, 0], "Remove these rows.")
    return rows


def _long_form(values: Any, groups: Any) -> FloatArray:
    flat = np.asarray(checks.column(values, "values"), dtype=np.float64)
    ids = np.asarray(to_host(groups))
    if ids.shape != flat.shape:
        raise ValueError(f"values and groups have inconsistent numbers of samples: {flat.shape} and {ids.shape}.")
    checks.require_finite(flat, "values")
    _, first, label = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    label = order[label]
    rows = np.full((len(first), int(np.bincount(label).max())), np.nan)
    seen = np.zeros(len(first), dtype=int)
    for value, k in zip(flat, label, strict=True):
        rows[k, seen[k]] = value
        seen[k] += 1
    return rows


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
    if bad.any():
        if counts.ndim == 0:
            raise ValueError(f"n = {float(counts):g} is not a number of repeats. Give whole numbers of at least 1.")
        raise checks.complain(
            "n",
            "has values that are no number of repeats",
            np.asarray(bad),
            counts,
            "Give whole numbers of at least 1.",
        )
    return float(counts) if counts.ndim == 0 else checks.column(counts, "n")


def _error_of_one_repeat(variances: FloatArray, counts: FloatArray, way: str) -> tuple[FloatArray, FloatArray | float]:
    """Standard deviation of a single repeat of each label, and the degrees of freedom behind it."""
    nu = counts - 1
    if nu.sum() == 0:
        raise ValueError(
            "no label has more than one repeat, so their error cannot be found from repeats. Pass the error of the "
            "instrument instead: Repeats.from_means(sigma=..., n=1) or yerr=sigma."
        )
    if way == "per_item":
        single = nu == 0
        if single.any():
            raise checks.complain(
                "values",
                "has labels with a single repeat, whose own error cannot be found",
                single,
                counts,
                "Use sigma='pooled' or sigma='shrunk', or Repeats.from_means(sigma=..., n=...).",
            )
        return np.sqrt(variances), nu
    pooled = float(np.sum(nu * variances) / np.sum(nu))
    if way == "pooled":
        return np.full(len(nu), math.sqrt(pooled)), np.full(len(nu), float(nu.sum()))
    prior_degrees, prior_variance = shrinkage_prior(variances, nu)
    if math.isinf(prior_degrees):
        return np.full(len(nu), math.sqrt(pooled)), np.full(len(nu), float(nu.sum()))
    behind = prior_degrees + nu
    if np.any(behind <= 2):
        raise ValueError(
            f"the scatter of the repeats differs too much between labels for sigma='shrunk' (prior degrees of freedom "
            f"{prior_degrees:.2g}): the posterior mean of a variance does not exist. Use 'per_item' or 'pooled'."
        )
    return np.sqrt((prior_degrees * prior_variance + nu * variances) / (behind - 2)), behind


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
    degrees = 2 * _inverse_trigamma(excess)
    return degrees, math.exp(centre + float(psi(degrees / 2)) - math.log(degrees / 2))


def _inverse_trigamma(value: float) -> float:
    """x > 0 with trigamma(x) = value, by Newton's method on 1 / trigamma, which is convex and nearly straight."""
    x = 0.5 + 1.0 / value
    for _ in range(60):
        now = float(polygamma(1, x))
        step = now * (1.0 - now / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-14 * x:
            break
    return x
