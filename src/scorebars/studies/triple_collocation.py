"""How large are the errors of three independent measurements of the same quantity?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scorebars import checks, tables
from scorebars._shared.score_views import counted
from scorebars._shared.shown import Printout, Shown, Table
from scorebars.answers.intervals import half_width_in_std, root_of
from scorebars.answers.score import Estimate, Interval, UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.errors import Normal
from scorebars.measured import near_one
from scorebars.numerics import FIXED_SEED

_NAMES = ("a", "b", "c")
_FEWEST = 5
"""Fewer items show no covariance."""
_MOST = 2_000
"""With more items the bootstrap is no better than the normal distribution."""
_DRAWS = 1_000
_CELLS = 500_000
"""Draws times items that are looked at in one go."""
_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
_NEGATIVE = "negative: an error this small cannot be told from none with so few items"
_BELOW = "no error is seen: the variance is estimated as {:.3g}, and a standard deviation cannot be below 0"

Triple = tuple[Estimate, Estimate, Estimate]


@dataclass(frozen=True, repr=False)
class TripleCollocation(Shown):
    """Errors of three measurements, each in its own unit; every entry is an `Estimate` with `std` and `interval`.

    Attributes
    ----------
    n
        Number of items.
    variance
        The error variances of a, b and c as they are estimated: unbiased for many items, and at times negative.
    sigma
        Their standard deviations, at least 0; each can be passed as ``yerr``.
    yerr
        Error models with these sigmas that also know how uncertain they are.

    Examples
    --------
    >>> import numpy as np
    >>> import scorebars as sb
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))  # the truths, and three errors of each
    >>> found = sb.triple_collocation(*(5.0 * draws[0] + draws[1:] * [[1.0], [1.5], [0.5]]))
    >>> [round(float(sigma), 1) for sigma in found.sigma]
    [0.9, 1.5, 0.4]
    """

    n: int
    variance: Triple
    sigma: Triple

    @property
    def yerr(self) -> tuple[Normal, Normal, Normal]:
        """Error models of a, b and c that also say how well sigma is known: ``yerr=found.yerr[0]``.

        The degrees of freedom are those of a variance estimate with the same relative standard error.
        """
        return tuple(_known_so_well(*both) for both in zip(self.variance, self.sigma, strict=True))  # type: ignore[return-value]

    def view(self) -> Printout:
        """What printing and notebooks show."""
        rows = []
        for name, variance, sigma in zip(_NAMES, self.variance, self.sigma, strict=True):
            low, high = sigma.interval(0.95)
            rows.append([name, f"{variance:.4g}", f"{sigma:.4g}", f"{low:.4g} to {high:.4g}"])
        header = ["measurement", "error variance", "sigma", "95 % interval of sigma"]
        notes = [f"Warning: {name}: {s.note}." for name, s in zip(_NAMES, self.sigma, strict=True) if s.note]
        return Printout(f"errors of three measurements of {counted(self.n, 'item')}", [Table(header, rows)], notes)


def triple_collocation(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> TripleCollocation:
    r"""How large are the errors of three independent measurements of the same quantity?

    None of the three needs to be the truth, and none of the errors needs to be known. Each may have its own offset and its
    own unit. What is needed: the errors of the three are independent of each other and of the quantity, and each
    measurement follows the quantity linearly.

    Parameters
    ----------
    a, b, c : (n,)
        Three measurements of the same items: two instruments and a model, three laboratories, three satellites.

    Returns
    -------
    TripleCollocation
        `variance`, the error variances as estimated, and `sigma`, the standard deviations, at least 0. ``sigma[0]`` is
        that of `a`, in the unit of `a`, and can be passed as `yerr` to every metric with labels `a`; ``yerr[0]`` says in
        addition how well it is known, so that intervals of `truth` hold that as well.

    Notes
    -----
    With the sample covariances :math:`C` (divisor n - 1),

    .. math:: \sigma_a^2 = C_{aa} - \frac{C_{ab}\,C_{ac}}{C_{bc}},

    and likewise for b and c. Few items or small errors make an estimate fall below 0 by chance; `variance` keeps it as it
    is, so that its mean over many studies is right, and `sigma` is 0 there.

    Standard errors come from the influence of each item. An interval reaches as many of them as the studentised bootstrap
    over items says (1000 draws, always the same), never fewer than Student's t. Errors that two of the three share are
    counted as part of the quantity: both then look better than they are.

    References
    ----------
    A. Stoffelen, Toward the true near-surface wind speed: Error modeling and calibration using triple collocation, Journal
    of Geophysical Research 103, 7755 (1998). B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (Chapman &
    Hall, 1993), chapter 12.

    Examples
    --------
    >>> import numpy as np
    >>> import scorebars as sb
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(20.0, 5.0, 400)
    >>> a = truth + rng.normal(0.0, 1.0, 400)
    >>> b = 1.8 * truth + 32.0 + rng.normal(0.0, 3.6, 400)
    >>> c = truth + rng.normal(0.0, 0.5, 400)
    >>> found = sb.triple_collocation(a, b, c)
    >>> [round(float(s), 2) for s in found.sigma], [round(x, 2) for x in found.sigma[0].interval(0.95)]
    ([0.99, 3.39, 0.47], [0.86, 1.12])
    >>> print(sb.mean_squared_error(a, truth, yerr=found.sigma[0]).truth)
    0.031 ± 0.071 (labels)
    >>> print(sb.mean_squared_error(a, truth, yerr=found.yerr[0]).truth)
    0.03 ± 0.15 (labels)
    """
    rows = _rows(a, b, c)
    units = [near_one(float(np.max(np.abs(row)))) for row in rows]
    sums = Covariances(np.stack([row / unit for row, unit in zip(rows, units, strict=True)]))
    variance = tuple(_variance(sums, k, unit * unit) for k, unit in enumerate(units))
    sigma = tuple(_sigma(sums, k, unit) for k, unit in enumerate(units))
    return TripleCollocation(sums.n, variance, sigma)  # type: ignore[arg-type]


def _rows(*given: ArrayLike) -> list[FloatArray]:
    """The three measurements, checked, about their means."""
    tables.require_rows(**dict(zip(_NAMES, given, strict=True)))
    columns = [np.asarray(checks.column(x, name), dtype=np.float64) for x, name in zip(given, _NAMES, strict=True)]
    for name, column in zip(_NAMES, columns, strict=True):
        checks.same_length(columns[0], column, "a", name)
    n = len(columns[0])
    if n < _FEWEST:
        raise ValueError(f"triple_collocation needs at least {_FEWEST} items to see how they vary together, got {n}.")
    for name, column in zip(_NAMES, columns, strict=True):
        checks.require_finite(column, name)
        if np.ptp(column) == 0:
            raise ValueError(f"{name} does not vary: all {n} values are {column[0]:g}, so nothing can be compared.")
    return [column - column.mean() for column in columns]


class Covariances:
    """Sample covariances of three rows of numbers (3, n) with mean 0, and the error variances that follow."""

    def __init__(self, rows: FloatArray) -> None:
        self.rows, self.n = rows, rows.shape[1]
        self.products = np.stack([rows[i] * rows[j] for i, j in _PAIRS])
        self.values = self.products.sum(axis=1) / (self.n - 1)
        size = np.sqrt(self.values[:3])
        correlations = self.values[3:] / [size[0] * size[1], size[0] * size[2], size[1] * size[2]]
        if not float(np.prod(correlations)) > 0:
            shown = ", ".join(f"{pair} {r:.2g}" for pair, r in zip(("ab", "ac", "bc"), correlations, strict=True))
            raise UndefinedEstimate(
                f"the three do not vary together as measurements of one quantity do (correlations {shown}): their errors "
                "cannot be told apart. More items, or a third measurement that follows the quantity, would help."
            )
        self.variance = _error_variances(self.values)
        self.std = np.sqrt(np.sum(np.square(self.influences), axis=1) / (self.n * (self.n - 1)))

    @property
    def influences(self) -> FloatArray:
        """How far each item moves each error variance, to first order, times n: (3, n)."""
        return np.asarray(_slopes(self.values) @ (self.products - self.values[:, None]))

    @cached_property
    def studentised(self) -> FloatArray | None:
        """(drawn - estimated) / (drawn standard error) of each error variance, items drawn again; None for very many."""
        if self.n > _MOST:
            return None
        rng, n, found = np.random.default_rng(FIXED_SEED), self.n, []
        step = max(1, _CELLS // n)
        for start in range(0, _DRAWS, step):
            times = rng.multinomial(n, np.full(n, 1.0 / n), min(step, _DRAWS - start)) / n
            found.append(self._drawn(times))
        drawn = np.concatenate(found)
        return np.asarray(np.where(np.isfinite(drawn), drawn, 0.0))

    def _drawn(self, times: FloatArray) -> FloatArray:
        """Standardised deviations (draws, 3) for some draws, each a row of shares of the items (draws, n)."""
        mean = times @ self.rows.T
        i, j = np.array(_PAIRS).T
        values = (times @ self.products.T - mean[:, i] * mean[:, j]) * (self.n / (self.n - 1))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slopes = _slopes(values.T)  # (3, 6, draws)
            moved = np.zeros((3, *times.shape))
            for k, (first, second) in enumerate(_PAIRS):
                about = (self.rows[first] - mean[:, [first]]) * (self.rows[second] - mean[:, [second]])
                moved += slopes[:, k, :, None] * (about - values[:, [k]])
            std = np.sqrt(np.sum(times * np.square(moved), axis=2) / (self.n - 1))
            return np.asarray((_error_variances(values.T) - self.variance[:, None]) / std).T

    def interval(self, k: int, level: float) -> Interval:
        """The interval of the k-th error variance."""
        least = half_width_in_std(level, self.n - 1)
        below = above = least
        if self.studentised is not None:
            low, high = np.quantile(self.studentised[:, k], [(1.0 - level) / 2, (1.0 + level) / 2])
            below, above = max(float(high), least), max(float(-low), least)
        value, std = float(self.variance[k]), float(self.std[k])
        return Interval(value - below * std, value + above * std)


def _error_variances(cov: FloatArray) -> FloatArray:
    """C_aa - C_ab C_ac / C_bc and so on, from the covariances in the order of the pairs, (6, ...)."""
    aa, bb, cc, ab, ac, bc = cov
    return np.stack([aa - ab * ac / bc, bb - ab * bc / ac, cc - ac * bc / ab])


def _slopes(cov: FloatArray) -> FloatArray:
    """Derivatives of the three error variances by the six covariances, (3, 6, ...)."""
    _, _, _, ab, ac, bc = cov
    one, zero = np.ones_like(ab), np.zeros_like(ab)
    return np.stack(
        [
            np.stack([one, zero, zero, -ac / bc, -ab / bc, ab * ac / np.square(bc)]),
            np.stack([zero, one, zero, -bc / ac, ab * bc / np.square(ac), -ab / ac]),
            np.stack([zero, zero, one, ac * bc / np.square(ab), -bc / ab, -ac / ab]),
        ]
    )


def _variance(sums: Covariances, k: int, unit: float) -> Estimate:
    interval = partial(_in_unit, partial(sums.interval, k), unit)
    value, note = float(sums.variance[k]) * unit, "" if sums.variance[k] >= 0 else _NEGATIVE
    std = float(sums.std[k]) * unit
    return Estimate(value, std, method="triple collocation", note=note, **_both(interval))


def _sigma(sums: Covariances, k: int, unit: float) -> Estimate:
    variance, std = float(sums.variance[k]), float(sums.std[k])
    value = math.sqrt(max(variance, 0.0))
    note = "" if variance >= 0 else _BELOW.format(variance * unit * unit)
    interval = partial(_in_unit, partial(root_of, partial(sums.interval, k)), unit)
    # std / (2 sigma), levelling off where the variance is not above its error
    own = std / (2.0 * math.sqrt(max(variance, std / 4.0))) if std > 0 else 0.0
    return Estimate(value * unit, own * unit, method="triple collocation", note=note, **_both(interval))


def _known_so_well(variance: Estimate, sigma: Estimate) -> Normal:
    if float(sigma) == 0 or variance.std == 0:
        return Normal(float(sigma))
    return Normal(float(sigma), dof=max(2.0 * (float(sigma) / variance.std * float(sigma)) ** 2, 1.0))


def _both(interval: Any) -> dict[str, Any]:
    """The items are a sample in every interval."""
    return {"interval": interval, "total_interval": interval, "sampled": True}


def _in_unit(interval: Any, unit: float, level: float) -> Interval:
    low, high = interval(level)
    return Interval(low * unit, high * unit)
