"""Labels that were measured several times."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np

from scorebars import checks
from scorebars.arrays import to_host
from scorebars.errors.base import FloatArray, check_kind, picked
from scorebars.errors.normal import Normal, standard_deviations
from scorebars.errors.repeat_scatter import WAYS, RepeatScatter, scatter_of


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
    scatter: RepeatScatter | None
    """What the repeats tell of the error; None where the error is known."""

    def __init__(self, values: Any, groups: Any = None, *, sigma: str = "per_item", kind: str = "classical") -> None:
        if sigma not in WAYS:
            raise ValueError(
                f"sigma must be 'per_item', 'pooled' or 'shrunk', got {sigma!r}. Known errors: Repeats.from_means(sigma, n)."
            )
        rows = _rows(values) if groups is None else _long_form(values, groups)
        means, variances, counts = _statistics(rows)
        scatter = scatter_of(variances, counts, sigma)
        self._settle(means, counts, scatter.sigma, scatter, kind)

    @classmethod
    def from_means(cls, *, sigma: Any, n: Any, kind: str = "classical") -> Self:
        """Labels given as means of `n` repeats, each of known error `sigma`."""
        model = cls.__new__(cls)
        model._settle(None, _counts(n), standard_deviations(sigma, "sigma"), None, kind)
        return model

    @classmethod
    def from_summary(cls, *, sd: Any, n: Any, sigma: str = "per_item", kind: str = "classical") -> Self:
        """Labels given as means of `n` repeats with sample standard deviation `sd` (divisor n - 1)."""
        if sigma not in WAYS:
            raise ValueError(f"sigma must be 'per_item', 'pooled' or 'shrunk', got {sigma!r}.")
        counts = np.atleast_1d(_counts(n))
        spread = np.broadcast_to(
            np.atleast_1d(standard_deviations(sd, "sd")), np.broadcast_shapes(np.shape(sd), counts.shape)
        )
        counts = np.broadcast_to(counts, spread.shape).astype(np.float64)
        model = cls.__new__(cls)
        scatter = scatter_of(np.square(spread), counts, sigma)
        model._settle(None, counts, scatter.sigma, scatter, kind)
        return model

    def _settle(
        self,
        labels: FloatArray | None,
        counts: FloatArray | float,
        sigma: FloatArray | float,
        scatter: RepeatScatter | None,
        kind: str,
    ) -> None:
        self.kind, self.cov, self.shared = check_kind(kind), None, None
        self.means, self.repeats, self.sigma, self.scatter = labels, counts, sigma, scatter
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
        """sigma for |.|: sample standard deviations are low on average (by c4), and are raised by as much."""
        return self.sigma if self.scatter is None else self.sigma * self.scatter.absolute

    @property
    def estimated(self) -> bool:
        """Whether the errors come from the repeats themselves, so that they are uncertain too."""
        return self.scatter is not None

    def truth_variance(self, shares: FloatArray, residual: FloatArray) -> float:
        """Variance of sum a_i (d_i^2 - s_i^2), s_i^2 estimated from repeats; never below that of zero residuals.

        Var d^2 = 4 D^2 s^2 + 2 s^4 is estimated by 4 d^2 s^2 - 2 s^4; the scatter of the s_i^2 themselves comes on top.
        A label's own s^4 is too large on average, by 1 + 2/nu.
        """
        s2 = np.broadcast_to(np.square(self.sigma) / self.repeats, residual.shape)
        fourth, extra = np.square(s2), 0.0
        if self.scatter is not None:
            nu, weight = self.scatter.nu, self.scatter.weight
            fourth = fourth * np.where(weight > 0, nu / (nu + 2.0 * np.square(weight)), 1.0)
            extra = self.scatter.variance_of_sum(shares / self.repeats)
        a2 = np.square(shares)
        own = float(np.sum(a2 * (4.0 * np.square(residual) * s2 - 2.0 * fourth)))
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

    def _part(self, index: Any) -> Self:
        part = type(self).__new__(type(self))
        labels = None if self.means is None else self.means[index]
        scatter = None if self.scatter is None else self.scatter.picked(index)
        part._settle(labels, picked(self.repeats, index), picked(self.sigma, index), scatter, self.kind)
        return part

    def scaled(self, factor: float) -> Self:
        part = type(self).__new__(type(self))
        labels = None if self.means is None else self.means * factor
        scatter = None if self.scatter is None else self.scatter.scaled(factor)
        part._settle(labels, self.repeats, self.sigma * factor, scatter, self.kind)
        return part

    def in_units_of_their_own(self, variance: float) -> Self:
        """One error for all labels, divided by itself so that each label has the error variance `variance`."""
        assert self.scatter is not None and self.scatter.common
        one = float(self.scatter.sigma[0])
        root = np.sqrt(np.broadcast_to(self.repeats, self.scatter.sigma.shape))
        part = type(self).__new__(type(self))
        pooled = self.scatter.pooled_variance / one**4 * variance**2
        scatter = replace(self.scatter, sigma=root, pooled_variance=pooled)
        part._settle(None, self.repeats, root * math.sqrt(variance), scatter, self.kind)
        return part

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
