"""Error rates that were counted: how well some checked labels tell them."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from scorebars.arrays import FloatArray
from scorebars.numerics import FIXED_SEED

PRIOR = 0.5
"""Added to the number of right ones and, divided among the ways to be wrong, to that of wrong ones, where rates are drawn."""


@dataclass(frozen=True, eq=False)
class CheckedRates:
    """Counts of checked labels, (c, j): c kinds of items, each shown in j ways, of which `right` (c,) is the right one.

    The shares of each row are independent multinomial ones. They serve estimates in two ways: to first order by their
    covariance, and by draws of rates which such counts do not contradict. Draws hold where the covariance says nothing:
    none of 20 checked labels was wrong.
    """

    counts: FloatArray
    right: Any

    @cached_property
    def checked(self) -> FloatArray:
        """How many were checked of each kind."""
        return np.add.reduce(self.counts, axis=1)

    @property
    def source(self) -> str:
        """Where the rates come from, in words."""
        return f"{self.total} checked labels"

    @property
    def total(self) -> int:
        """How many were checked in all."""
        return round(float(np.add.reduce(self.checked)))

    @cached_property
    def rates(self) -> FloatArray:
        """The shares themselves."""
        return np.asarray(self.counts / self.checked[:, None])

    @property
    def all_alike(self) -> bool:
        """Whether all that were checked of some kind were shown alike: their counts show no scatter."""
        return bool(np.any(np.max(self.counts, axis=1) == self.checked))

    @cached_property
    def _scattered(self) -> FloatArray:
        """The rates that give their scatter: the counted ones, or the mean of the draws in a row without scatter."""
        alike = np.max(self.counts, axis=1, keepdims=True) == self.checked[:, None]
        return np.where(alike, self._shape / np.add.reduce(self._shape, axis=1, keepdims=True), self.rates)

    def covariance(self, slopes: FloatArray) -> FloatArray:
        """Covariance (m, m) of m numbers that move by slopes (m, c, j) with the rates: sum (g P g' - g p (g p)') / checked."""
        weighted = slopes * (self._scattered / self.checked[:, None])
        mean = np.add.reduce(slopes * self._scattered, axis=2)
        return np.asarray(np.einsum("acj,bcj->ab", weighted, slopes) - (mean / self.checked) @ mean.T)

    def variance(self, slopes: FloatArray) -> float:
        """Variance of a number that moves by slopes (c, j) with the rates."""
        return float(np.add.reduce(self.variances(slopes) / self.checked))

    def variances(self, slopes: FloatArray) -> FloatArray:
        """What one checked label of each kind would leave of it, (c,); many leave as many times less."""
        centred = slopes - np.add.reduce(slopes * self._scattered, axis=1)[:, None]
        return np.asarray(np.add.reduce(self._scattered * np.square(centred), axis=1))

    @cached_property
    def _shape(self) -> FloatArray:
        """Parameters of the Dirichlet distributions that rates are drawn from."""
        rows, ways = self.counts.shape
        shape = self.counts + PRIOR / max(ways - 1, 1)
        shape[np.arange(rows), self.right] = self.counts[np.arange(rows), self.right] + PRIOR
        return shape

    def draws(self, count: int) -> FloatArray:
        """Rates that go with these counts, (count, c, j): Dirichlet, spread evenly (a Latin hypercube) with a fixed seed."""
        grid = evenly_spread(count, self.counts.size, np.random.default_rng(FIXED_SEED))
        parts = np.maximum(gammaincinv(self._shape.ravel(), grid).reshape(count, *self.counts.shape), 1e-300)
        return np.asarray(parts / np.add.reduce(parts, axis=2, keepdims=True))

    def too_far(self, slopes: FloatArray) -> float:
        """How much farther than errors of independent counts should add up the draws lie from the counted rates.

        Drawn rates are larger than counted ones on average, in each row c by an amount that moves the estimate by b_c. In
        one row that makes the interval lopsided, as it should be. In several rows these add up to sum b_c, while the
        distances to the ends of the rows' intervals belong together as sqrt(sum b_c^2) (Zou and Donner 2008).
        """
        moved = self._shape / np.add.reduce(self._shape, axis=1, keepdims=True) - self.rates
        each = np.add.reduce(slopes * moved, axis=1)
        total = float(np.add.reduce(each))
        return total - math.copysign(min(math.hypot(*each), abs(total)), total)


@dataclass(frozen=True, eq=False)
class DrawnRates:
    """Error rates (c, j) that were estimated from votes, by draws of what these allow; the same questions as `CheckedRates`."""

    rates: FloatArray
    drawn: FloatArray
    """(d, c, j); nan where votes would not tell."""
    source: str
    all_alike: bool = False

    @cached_property
    def _apart(self) -> FloatArray:
        """Deviations of the draws from their mean."""
        known = self.drawn[np.isfinite(self.drawn).all(axis=(1, 2))]
        return np.asarray(known - np.mean(known, axis=0)) if len(known) > 1 else np.zeros((1, *self.rates.shape))

    def covariance(self, slopes: FloatArray) -> FloatArray:
        """Covariance (m, m) of m numbers that move by slopes (m, c, j) with the rates."""
        moved = np.einsum("dcj,acj->da", self._apart, slopes)
        return np.asarray(moved.T @ moved / len(moved))

    def variance(self, slopes: FloatArray) -> float:
        """Variance of a number that moves by slopes (c, j) with the rates."""
        return float(np.mean(np.square(np.einsum("dcj,cj->d", self._apart, slopes))))

    def draws(self, count: int) -> FloatArray:
        """This many of the draws, one after the other."""
        return np.asarray(self.drawn[np.arange(count) % len(self.drawn)])

    def too_far(self, slopes: FloatArray) -> float:
        """Draws scatter about the rates themselves."""
        return 0.0


def evenly_spread(count: int, dimensions: int, rng: np.random.Generator) -> FloatArray:
    """Points (count, dimensions) in the unit cube, each coordinate once in each of `count` equal parts."""
    places = (np.arange(count) + 0.5) / count
    return np.stack([rng.permutation(places) for _ in range(dimensions)], axis=1)


def counted_pair(wrong: Any, checked: Any, what: str = "") -> tuple[float, float]:
    """How many of the checked labels were wrong, refused unless whole and 0 <= wrong <= checked, 1 <= checked."""
    for name, value in (("wrong", wrong), ("checked", checked)):
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
            raise ValueError(f"{name}{what} must be a whole number of checked labels, got {value!r}.")
        if not float(value).is_integer() or value < 0:
            raise ValueError(f"{name}{what} must be a whole number of at least 0, got {value!r}: labels are counted.")
    if not checked:
        raise ValueError(
            f"checked{what} is 0: no label was checked, so nothing is known about how often they are wrong."
        )
    if wrong > checked:
        raise ValueError(f"wrong{what} is {wrong:g} of {checked:g} checked: no more can be wrong than were checked.")
    return float(wrong), float(checked)
