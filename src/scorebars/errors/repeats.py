"""Labels that were measured several times, and what the scatter of the repeats tells of their error."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scorebars import checks
from scorebars.arrays import FloatArray, to_host
from scorebars.errors.estimated_sizes import WAYS, EstimatedSizes, sizes_of
from scorebars.errors.measurement_error import check_kind
from scorebars.errors.normal import Normal
from scorebars.errors.parameters import require_common_size, rows_of_numbers, standard_deviations


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
        scatter = _scatter_of(variances, counts, sigma)
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
        scatter = _scatter_of(np.square(spread), counts.astype(np.float64), sigma)
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
    flat = checks.finite_column(values, "values")
    ids = np.asarray(to_host(groups))
    if ids.shape != flat.shape:
        raise ValueError(f"values and groups have inconsistent numbers of samples: {flat.shape} and {ids.shape}.")
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
    checks.refuse("n", "has values that cannot be numbers of repeats", bad, counts, hint)
    return float(counts) if counts.ndim == 0 else checks.column(counts, "n")


def _scatter_of(variances: FloatArray, counts: FloatArray, way: str) -> EstimatedSizes:
    """The error of one repeat of each label from the sample variances of `counts` repeats."""
    if way not in WAYS:
        known = "Known errors: Repeats.from_means(sigma, n)."
        raise ValueError(f"sigma must be 'per_item', 'pooled' or 'shrunk', got {way!r}. {known}")
    if np.all(counts == 1):
        raise ValueError(
            "no label has more than one repeat, so their error cannot be found from repeats. Pass the error of the "
            "instrument instead: Repeats.from_means(sigma=..., n=1) or yerr=sigma."
        )
    if way == "per_item":
        hint = "Use sigma='pooled' or sigma='shrunk', or Repeats.from_means(sigma=..., n=...)."
        what = "has labels with a single repeat, whose own error cannot be found"
        checks.refuse("values", what, counts == 1, counts, hint)
    return sizes_of(variances, counts - 1, way)
