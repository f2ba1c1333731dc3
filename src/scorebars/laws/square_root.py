"""The distribution of a square root, from that of the square: P(sqrt Q <= x) = P(Q <= x^2).

With mu = E Q and the deficit sqrt(mu) - E sqrt(Q) >= 0, Var sqrt(Q) = deficit (2 sqrt(mu) - deficit). So a distribution
that finds this deficit without cancellation has mean and variance of its root, however small the label errors are.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property

from scorebars.laws.law import Law

_LOWEST = 1e-50  # of the root of the mean: the density is that at this place for all that is smaller


class LawWithRoot(Law):
    """A distribution of values that are nowhere negative."""

    @abstractmethod
    def root_deficit(self) -> float:
        """sqrt(E Q) - E sqrt(Q) of the value Q."""

    def root(self) -> SquareRoot:
        """The distribution of the square root."""
        return SquareRoot(self)


class SquareRoot(Law):
    """Distribution of sqrt(Q), given that of Q."""

    def __init__(self, square: LawWithRoot) -> None:
        self.square, self.method = square, square.method
        low, high = square.support
        self.support = (math.sqrt(max(low, 0.0)), math.sqrt(high))

    @property
    def error(self) -> float:
        """By how much probabilities may err, if the square says it."""
        return self.square.error  # type: ignore[attr-defined]

    @cached_property
    def _moments(self) -> tuple[float, float]:
        size, deficit = math.sqrt(self.square.mean), self.square.root_deficit()
        return size - deficit, deficit * (2.0 * size - deficit)

    def _cdf(self, x: float) -> float:
        return float(self.square.cdf(x * x))

    def _sf(self, x: float) -> float:
        return float(self.square.sf(x * x))

    def _pdf(self, x: float) -> float:
        if self.support[0] == self.support[1]:
            return math.inf
        x = max(x, _LOWEST * math.sqrt(self.square.mean))
        return 2.0 * x * float(self.square.pdf(x * x))

    def _ppf(self, q: float) -> float:
        return math.sqrt(self.square.ppf(q))
