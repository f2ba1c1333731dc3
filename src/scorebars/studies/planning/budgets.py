"""How the variance of an estimate falls with the numbers of labels, repeats and checks, and which numbers are cheapest."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scorebars._shared.score_views import counted
from scorebars.arrays import FloatArray
from scorebars.moments.majority_error import majority_error

_MOST_REPEATS = 10_000


class Costs(NamedTuple):
    """What a label costs once, each of its repeats, and checking one."""

    label: float
    repeat: float
    check: float

    def of(self, labels: int, repeats: int, checks: int | None) -> float:
        return labels * (self.label + repeats * self.repeat) + (checks or 0) * self.check


class Budget(ABC):
    """The variance of an estimate from M labels of n repeats each, and where labels are checked from m checks."""

    allocation: FloatArray | None = None
    """Shares of the repeats (or checks) that each label of the pilot (or each class) should get; None where all are alike."""

    @property
    def checking(self) -> float:
        """The variance that one check would leave; many leave as many times less."""
        return 0.0

    @abstractmethod
    def per_label(self, repeats: float) -> float:
        """The variance that one label would leave beside the checks; many leave as many times less."""

    def _left_by(self, checks: float | None) -> float:
        """The variance that remains however many labels there are."""
        return self.checking / checks if checks else 0.0

    def variance(self, labels: float, repeats: float, checks: float | None) -> float:
        """With this many labels, repeats of each, and checks."""
        return self.per_label(repeats) / labels + self._left_by(checks)

    def labels_for(self, target: float, repeats: float, checks: float | None) -> float:
        """How many labels bring the variance to `target` with these repeats and checks; infinite where none do."""
        left = target - self._left_by(checks)
        return self.per_label(repeats) / left if left > 0 else math.inf

    def candidates(self, costs: Costs) -> range:
        """Whole numbers of repeats among which the cheapest is found."""
        return range(1, 2)

    def best_repeats(self, costs: Costs) -> float | None:
        """The best number of repeats before rounding; None where only the candidates make sense."""
        return None

    def cheapest(self, target: float, costs: Costs) -> tuple[int, int, int | None]:
        """Labels, repeats and checks that bring the variance to `target`."""
        found = [(_at_least_one(self.per_label(n) / target), n, None) for n in self.candidates(costs)]
        return min(found, key=lambda numbers: costs.of(*numbers))


@dataclass(frozen=True)
class RepeatingBudget(Budget):
    """Measured labels of n repeats each: a series in 1/n.

    sampling + measurement/n + curvature/n^2 + kurtosis/n^3.
    """

    sampling: float
    measurement: float
    curvature: float = 0.0
    kurtosis: float = 0.0
    allocation: FloatArray | None = None

    def per_label(self, repeats: float) -> float:
        found = self.sampling + self.measurement / repeats + self.curvature / repeats**2 + self.kurtosis / repeats**3
        return max(found, 0.0)

    def best_repeats(self, costs: Costs) -> float:
        """n* = sqrt(V_m c_label / (V_s c_repeat)); infinite where items do not scatter or repeats are free."""
        below = self.sampling * costs.repeat
        return math.sqrt(self.measurement * costs.label / below) if below > 0 else math.inf

    def candidates(self, costs: Costs) -> range:
        if self.curvature or self.kurtosis:
            return range(1, 201)
        best = self.best_repeats(costs)
        if not math.isfinite(best):
            return range(1, 101) if self.measurement > 0 else range(1, 2)
        return range(max(1, math.floor(best) - 1), min(math.ceil(best) + 2, _MOST_REPEATS) + 1)


@dataclass(frozen=True)
class VotingBudget(Budget):
    """The difference of two accuracies, in units of the true difference, with n raters for each item.

    Where the two predictions differ the label meets one of them: with probability 1 - q + r where one is right, 2 r where
    both are wrong, r = q / (K - 1).
    """

    one_right: float
    """Share of items on which the two differ and one is right."""
    both_wrong: float
    """Share of items on which they differ and neither is right; 0 for two classes."""
    q: float
    difference: float
    classes: int = 2
    clustering: float = 1.0
    """How much more a mean scatters because items come in groups than it would for as many independent items."""

    def per_label(self, repeats: float) -> float:
        wrong = float(majority_error(self.q, int(repeats), self.classes))
        other = wrong / (self.classes - 1)
        met = self.one_right * (1.0 - wrong + other) + self.both_wrong * 2.0 * other
        return self.clustering * max(met / (1.0 - wrong - other) ** 2 - self.difference**2, 0.0)

    def candidates(self, costs: Costs) -> range:
        """Odd numbers of raters, which have a majority."""
        return range(1, 52, 2)


@dataclass(frozen=True)
class CheckingBudget(Budget):
    """An accuracy (or a difference) with M labels, and m checked ones that tell how often labels are wrong.

    sampling / M + checking / m, where the checks are spread over the classes in proportion to `each`.
    """

    sampling: float
    each: FloatArray
    """Root of the variance that one checked label of each class leaves."""

    @property
    def checking(self) -> float:
        return float(np.add.reduce(self.each)) ** 2

    @property
    def allocation(self) -> FloatArray | None:  # type: ignore[override]
        return self.each / np.add.reduce(self.each) if self.checking > 0 else None

    def per_label(self, repeats: float) -> float:
        return self.sampling

    def cheapest(self, target: float, costs: Costs) -> tuple[int, int, int | None]:
        each = costs.of(1, 1, None)
        if not (each > 0 and costs.check > 0):
            raise ValueError(
                "judging a label and checking one must both cost something: with one of them free use all there is."
            )
        labels, checks = map(_at_least_one, self._best_numbers(target, math.sqrt(costs.check / each)))
        return labels, 1, checks

    def _best_numbers(self, target: float, ratio: float) -> tuple[float, float]:
        """Labels and checks at which the variance is `target`, so that neither is better spent on the other.

        `ratio` is the root of what a check costs in units of a label.
        """
        both = math.sqrt(self.sampling * self.checking)
        return (self.sampling + both * ratio) / target, (self.checking + both / ratio) / target

    def said_of(self, checks: int) -> str:
        """So many checks, in words."""
        return f"{counted(checks, 'check')} of how often labels are wrong"


class GoldBudget(CheckingBudget):
    """A mean over M items with labels, of which m have gold labels too: at most all of them."""

    allocation = None

    def _best_numbers(self, target: float, ratio: float) -> tuple[float, float]:
        labels, checks = super()._best_numbers(target, ratio)
        every = (self.sampling + self.checking) / target
        return (labels, checks) if checks <= labels else (every, every)

    def said_of(self, checks: int) -> str:
        return f"{checks} of them checked"


def _at_least_one(number: float) -> int:
    """The next whole number, where rounding errors do not count."""
    return max(math.ceil(number * (1 - 1e-12)), 1)
