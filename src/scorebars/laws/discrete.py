"""Distributions on finitely many values: tables, looked up by binary search.

Accuracy, F1 and every other metric of labels that may be wrong take finitely many values. Once the probability of
each is known, all questions are answered from sorted columns: the values, their probabilities, and the two tails.
The tails are summed from their own ends, so that neither loses its digits.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scorebars.arrays import FloatArray
from scorebars.laws.law import Law, numbers_in

# Two numbers this close are the same value reached by different roundings (k/M against k*(1/M), say).
ROUNDING = 8 * np.finfo(float).eps


@dataclass(frozen=True)
class ProbabilityTable:
    """Ascending values with their probabilities, P(X <= value) and P(X > value)."""

    values: FloatArray
    pmf: FloatArray
    cdf: FloatArray
    sf: FloatArray

    @classmethod
    def of(cls, values: FloatArray, pmf: FloatArray) -> ProbabilityTable:
        below = np.cumsum(pmf)
        above = np.append(np.cumsum(pmf[:0:-1])[::-1], 0.0)
        lower_half = below <= 0.5
        # each half takes the tail that was summed over it; the running extremes remove a last-digit step in between
        cdf = np.maximum.accumulate(np.minimum(np.where(lower_half, below, 1.0 - above), 1.0))
        sf = np.minimum.accumulate(np.maximum(np.where(lower_half, 1.0 - below, above), 0.0))
        return cls(values, pmf, cdf, sf)


def as_given(values: FloatArray, like: ArrayLike) -> Any:
    """A float for a scalar question, an array for an array of questions."""
    return float(values) if np.ndim(like) == 0 else values


class ListedLaw(Law):
    """A distribution on the values listed in `table`; subclasses build that table when it is first needed.

    A question about x means the listed value that lies within a few roundings of it, if one does.
    """

    discrete = True

    @cached_property
    @abstractmethod
    def table(self) -> ProbabilityTable: ...

    def _slack(self, x: FloatArray) -> FloatArray:
        """How far from x a listed value may lie and still be the one that is meant."""
        return ROUNDING * np.abs(np.where(np.isfinite(x), x, 0.0))

    def _cdf(self, x: float) -> float:
        return float(self.cdf(x))

    def _sf(self, x: float) -> float:
        return float(self.sf(x))

    def _rank(self, x: FloatArray, side: int = 1) -> Any:
        """How many values lie at or below x (side = 1), or below x (side = -1)."""
        return np.searchsorted(self.table.values, x + side * self._slack(x), side="right" if side > 0 else "left")

    def _tail(self, column: FloatArray, start: float, x: ArrayLike, side: int) -> Any:
        x = numbers_in(x, "x")
        rank = self._rank(x, side)
        return as_given(np.where(np.isnan(x), math.nan, np.where(rank > 0, column[rank - 1], start)), x)

    def cdf(self, x: ArrayLike) -> Any:
        """P(value <= x)."""
        return self._tail(self.table.cdf, 0.0, x, 1)

    def sf(self, x: ArrayLike) -> Any:
        """P(value > x)."""
        return self._tail(self.table.sf, 1.0, x, 1)

    def below(self, x: ArrayLike) -> Any:
        """P(value < x)."""
        return self._tail(self.table.cdf, 0.0, x, -1)

    def at_least(self, x: ArrayLike) -> Any:
        """P(value >= x)."""
        return self._tail(self.table.sf, 1.0, x, -1)

    def pmf(self, x: ArrayLike) -> Any:
        """Probability of the value x."""
        x = numbers_in(x, "x")
        place = np.maximum(self._rank(x) - 1, 0)
        with np.errstate(invalid="ignore"):
            hit = np.abs(self.table.values[place] - x) <= self._slack(x)
        return as_given(np.where(np.isnan(x), math.nan, np.where(hit, self.table.pmf[place], 0.0)), x)

    def ppf(self, q: ArrayLike) -> Any:
        """The smallest value v with P(value <= v) >= q."""
        q = valid_probabilities(q)
        place = np.minimum(np.searchsorted(self.table.cdf, q, side="left"), self.table.values.size - 1)
        return as_given(
            np.where(q == 0, self.support[0], np.where(q == 1, self.support[1], self.table.values[place])), q
        )

    def upper_ppf(self, q: ArrayLike) -> Any:
        """The largest value v with P(value >= v) >= q: the quantile counted from the top, exact for small q."""
        q = valid_probabilities(q)
        at_least = np.append(self.table.sf[:-1][::-1], 1.0)  # P(value >= this one), from the highest down
        place = self.table.values.size - 1 - np.searchsorted(at_least, q, side="left")
        return as_given(
            np.where(q == 0, self.support[1], np.where(q == 1, self.support[0], self.table.values[place])), q
        )

    def snap(self, x: FloatArray, tolerance: FloatArray) -> FloatArray:
        """The listed value nearest to x where one lies within the tolerance, else x itself."""
        values = self.table.values
        right = np.clip(np.searchsorted(values, x), 0, values.size - 1)
        left = np.maximum(right - 1, 0)
        with np.errstate(invalid="ignore"):
            nearest = np.where(np.abs(values[left] - x) < np.abs(values[right] - x), values[left], values[right])
            return np.where(np.abs(nearest - x) <= tolerance, nearest, x)


def valid_probabilities(q: ArrayLike) -> FloatArray:
    """q as an array, or an error that names the first entry that is not a probability."""
    values = numbers_in(q, "q")
    good = (values >= 0) & (values <= 1)
    if not np.all(good):
        raise ValueError(f"q must be a probability between 0 and 1, got {values[~good].flat[0]}")
    return values


class DiscreteLaw(ListedLaw):
    """The given probabilities on the given values, in any order; equal values are merged.

    The probabilities are divided by their sum. Values that differ by a few roundings count as equal.
    """

    def __init__(self, values: ArrayLike, probabilities: ArrayLike, method: str = "exact") -> None:
        value = np.asarray(values, dtype=float).ravel()
        weight = np.asarray(probabilities, dtype=float).ravel()
        value, weight = value[weight > 0], weight[weight > 0]
        order = np.argsort(value)
        value, weight = value[order], weight[order]
        new = np.append(True, np.diff(value) > ROUNDING * np.abs(value[1:]))
        starts = np.flatnonzero(new)
        self.method = method
        self._values = value[starts]
        self._pmf = np.add.reduceat(weight, starts) / np.add.reduce(weight)
        self.support = (float(self._values[0]), float(self._values[-1]))

    @cached_property
    def table(self) -> ProbabilityTable:
        return ProbabilityTable.of(self._values, self._pmf)

    @cached_property
    def _mean_and_std(self) -> tuple[float, float]:
        """Found about the middle and in units of the range: no overflow, no cancellation."""
        low, high = self.support
        half_range = high / 2 - low / 2
        if half_range == 0:
            return low, 0.0
        middle = low / 2 + high / 2
        u = self._values / half_range - middle / half_range
        mean = float(np.add.reduce(self._pmf * u))
        spread = math.sqrt(float(np.add.reduce(self._pmf * (u - mean) ** 2)))
        return min(max(middle + half_range * mean, low), high), half_range * spread

    def _mean(self) -> float:
        return self._mean_and_std[0]

    def _std(self) -> float:
        return self._mean_and_std[1]

    def _var(self) -> float:
        return self._std() ** 2


# metrics that may be undefined (0/0) -------------------------------------------------------------------


class MetricMoments(NamedTuple):
    """Mean and variance of a metric, the probability that it is defined, and how they were found."""

    mean: float
    var: float
    p_defined: float
    method: str


class Outcomes:
    """Values of a metric with their probabilities; nan marks an undefined one.

    Undefined values are replaced by `undefined`, or left out (conditioned away) when that is None.
    """

    def __init__(self, values: FloatArray, chances: FloatArray, undefined: float | None, method: str) -> None:
        missing = np.isnan(values)
        self.method, self.p_defined = method, 1.0
        if np.any(missing):
            self.p_defined = float(np.add.reduce(chances[~missing]) / np.add.reduce(chances))
            if undefined is not None:
                values = np.where(missing, undefined, values)
            elif self.p_defined == 0:
                raise ValueError("the metric is undefined (0/0) for all labels that these probabilities allow")
            else:
                values, chances = values[~missing], chances[~missing]
        self.values, self.chances = values, chances

    @classmethod
    def of_draws(cls, values: FloatArray, undefined: float | None) -> Outcomes:
        """Simulated values, all equally likely."""
        return cls(values, np.full(values.shape, 1 / values.size), undefined, "simulation")

    def moments(self) -> MetricMoments:
        total = np.add.reduce(self.chances)
        mean = float(np.add.reduce(self.chances * self.values) / total)
        var = float(np.add.reduce(self.chances * (self.values - mean) ** 2) / total)
        return MetricMoments(mean, var, self.p_defined, self.method)

    def moments_beside(self, linear: FloatArray, linear_variance: float) -> MetricMoments:
        """The same from draws whose linear part, of mean 0 and known variance, is taken out and put back exactly."""
        plain = self.moments()
        if plain.p_defined < 1:
            return plain
        var = linear_variance + plain.var - float(np.var(linear))
        return plain._replace(mean=float(np.mean(self.values - linear)), var=var if var > 0 else plain.var)

    def law(self) -> DiscreteLaw:
        return DiscreteLaw(self.values, self.chances, self.method)
