"""Ensembles: several members for each label, runs of a weather model or draws from a posterior."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks
from scorebars.arrays import FloatArray, IntArray, in_one_unit
from scorebars.errors import MeasurementError
from scorebars.forecasts.forecast import EstimatedSpread, Forecast, SeenForecast, check_claims
from scorebars.forecasts.tabulated import rank_in_rows
from scorebars.numerics.special import folded_mean

_BLOCK = 1 << 20
"""Members looked at together."""


class EnsembleForecast(Forecast):
    r"""Members for each label: runs of a model, draws from a posterior, networks of a deep ensemble.

    Parameters
    ----------
    members : (n, m)
        Row i holds the members of label i.
    claims : {"truth", "label"}
        Whether the members speak of the true value behind the label (the default) or of the label with its error.

    Notes
    -----
    The CRPS of members :math:`x_1, \dots, x_m` is

    .. math:: \frac1m\sum_k |x_k - y| - \frac1{2m^2}\sum_{jk}|x_j - x_k| \quad (\text{"plain"}),

    with :math:`m(m-1)` in place of :math:`m^2` for the "fair" one, which does not punish small ensembles. `std` is the
    sample standard deviation, with m - 1.

    References
    ----------
    C. A. T. Ferro, Q. J. R. Meteorol. Soc. 140 (2014) 1917 (fair scores).

    Examples
    --------
    >>> import scorebars as sb
    >>> forecast = sb.EnsembleForecast([[0.8, 1.0, 1.3], [1.9, 2.0, 2.4]])
    >>> forecast.mean.round(3).tolist()
    [1.033, 2.1]
    """

    per_label = ("members",)
    kept = ("mean", "ordered", "_sums")
    members: NDArray[Any]

    def __init__(self, members: ArrayLike, *, claims: str = "truth") -> None:
        self.claims = check_claims(claims)
        (members,), self.unit = in_one_unit(members=members)
        self.members = checks.real_array(members, "members")
        if self.members.ndim != 2 or not self.members.size:
            raise ValueError(
                "members must have one row of members for each label, shape (n, m), but has shape "
                f"{self.members.shape}. Members along the first axis are members.T."
            )
        checks.require_finite(self.members, "members")

    @property
    def size(self) -> int:
        """Number of members."""
        return int(self.members.shape[1])

    def _shown(self) -> str:
        return f"<{len(self)} labels, {self.size} members>"

    def scaled(self, factor: float) -> Self:
        return self._changed(members=self.members * factor)

    def _by_rows(self, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """A number for each label, found from blocks of rows: temporaries stay small."""
        if not len(self):
            return np.zeros(0)
        step = max(1, _BLOCK // self.size)
        rows = (self.members[start : start + step] for start in range(0, len(self), step))
        return np.concatenate([function(np.asarray(part, dtype=np.float64)) for part in rows])

    @cached_property
    def mean(self) -> FloatArray:
        return self._by_rows(lambda rows: rows.mean(axis=1))

    @cached_property
    def std(self) -> FloatArray:
        if self.size < 2:
            return np.zeros(len(self))
        return self._by_rows(lambda rows: rows.std(axis=1, ddof=1))

    @cached_property
    def ordered(self) -> FloatArray:
        """The members of each label in increasing order; for blocks of labels, since it is a copy."""
        return np.sort(np.asarray(self.members, dtype=np.float64), axis=1)

    @cached_property
    def _sums(self) -> FloatArray:
        """Sums (n, m + 1) of the j smallest members less their mean."""
        out = np.zeros((len(self), self.size + 1))
        np.cumsum(self.ordered - self.mean[:, None], axis=1, out=out[:, 1:])
        return out

    def spread(self, estimator: str = "plain") -> FloatArray:
        """Half the mean difference of two members: what the CRPS takes off."""
        m = self.size
        if estimator == "fair" and m < 2:
            raise ValueError("estimator='fair' needs at least 2 members: one has no spread. Use estimator='plain'.")
        rank = 2.0 * np.arange(1, m + 1) - m - 1
        pairs = m * m if estimator == "plain" else m * (m - 1)
        return (self.ordered - self.mean[:, None]) @ rank / pairs

    def count(self, x: FloatArray, below: bool = False) -> IntArray:
        """How many members are at most x (or below it): bisection in each row."""
        x = np.asarray(x, dtype=np.float64)
        return rank_in_rows(self.ordered, x, below)

    def cdf(self, x: FloatArray) -> FloatArray:
        return self.count(x) / self.size

    def below(self, x: FloatArray) -> FloatArray:
        return self.count(x, below=True) / self.size

    def ppf(self, q: FloatArray | float) -> FloatArray:
        """The smallest member with at least the share q at or below it."""
        place = np.clip(np.ceil(np.asarray(q, dtype=np.float64) * self.size - 1e-9).astype(int) - 1, 0, self.size - 1)
        return self.ordered.reshape(-1)[np.arange(len(self)) * self.size + place]

    def knots(self) -> FloatArray:
        return self.ordered.T

    def crps(self, y: FloatArray, estimator: str = "plain") -> FloatArray:
        return self.distance(y) - self.spread(estimator)

    def distance(self, y: FloatArray) -> FloatArray:
        """Mean distance of the members from y."""
        y = np.asarray(y, dtype=np.float64)
        if y.ndim == 1:
            away = self.ordered - y[:, None]
            return np.abs(away, out=away).mean(axis=1)
        m, away = self.size, y - self.mean
        j = self.count(y)
        sums = self._sums.reshape(-1)
        first = np.arange(len(self)) * (m + 1)
        return ((2 * j - m) * away + (sums[first + m] - 2.0 * sums[first + j])) / m

    def no_density(self) -> str:
        return (
            "the members of an ensemble are points: they have no density, so no log score. Score "
            "NormalForecast(members.mean(axis=1), members.std(axis=1, ddof=1)), or forecast.seen_through(yerr), which has one."
        )

    def expectation(self, function: Callable[[FloatArray], FloatArray], knots: FloatArray | None = None) -> FloatArray:
        return np.mean(function(np.asarray(self.members.T, dtype=np.float64)), axis=0)

    def _seen(self, errors: MeasurementError) -> Forecast:
        return SeenForecast(self, errors) if errors.normal is None else DressedEnsemble(self, errors)

    # is it right? ------------------------------------------------------------------------------

    @property
    def error_variance(self) -> FloatArray:
        """Variance of one more member about the mean of these: (1 + 1/m) times that of a member."""
        return np.square(self.std) * (1.0 + 1.0 / self.size)

    @property
    def estimated_spread(self) -> EstimatedSpread | None:
        if self.size < 2:
            return None
        return EstimatedSpread(np.square(self.std), self.size - 1.0, 1.0 + 1.0 / self.size, np.zeros(len(self)))

    def pit(self, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The rank of y among the members, a place drawn inside it: uniform if y is like one more member."""
        return self._ranked(y, lambda member: member, rng)

    def pit_through(self, errors: MeasurementError, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The rank of the label among the members, each with a label error of its own drawn."""
        return self._ranked(y, lambda member: errors.measured_again(member, member, 1, rng)[0], rng)

    def _ranked(self, y: FloatArray, seen: Callable[[FloatArray], FloatArray], rng: np.random.Generator) -> FloatArray:
        below, equal = np.zeros(len(self)), np.ones(len(self))
        for member in self.members.T:
            shown = seen(np.asarray(member, dtype=np.float64))
            below += shown < y
            equal += shown == y
        return (below + rng.random(len(self)) * equal) / (self.size + 1)

    def pit_note(self) -> str:
        return (
            f"the PIT is the rank of the label among the {self.size} members, each with a label error of its own, and a place "
            "drawn inside the rank: the same data give the same draws."
        )


class DressedEnsemble(SeenForecast):
    """Members seen through normal errors: a mixture of normal distributions."""

    forecast: EnsembleForecast

    @property
    def _sigma(self) -> FloatArray:
        errors = self.errors.normal
        assert errors is not None
        return np.broadcast_to(errors.total, (len(self),))

    @cached_property
    def _spread(self) -> FloatArray:
        """Half the mean difference of two draws."""
        x, wide, m = self.forecast.ordered, math.sqrt(2.0) * self._sigma, self.forecast.size
        total = np.zeros(len(self))
        for k in range(1, m):  # members k apart in order
            total += np.sum(folded_mean(x[:, k:] - x[:, :-k], wide[:, None]), axis=1)
        return (2.0 * total + m * folded_mean(np.zeros(len(self)), wide)) / (2.0 * m * m)

    def crps(self, y: FloatArray, estimator: str = "plain") -> FloatArray:
        y = np.asarray(y, dtype=np.float64)
        total = np.zeros(y.shape)
        for member in self.forecast.members.T:
            total += folded_mean(y - member, np.broadcast_to(self._sigma, y.shape))
        return total / self.forecast.size - self._spread
