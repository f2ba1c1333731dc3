"""Answers of the difference of a metric between two models on the same labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorebars.answers.base import BERKSON_NOTE, Answers
from scorebars.answers.intervals import OfLaw, Symmetric
from scorebars.laws.law import Law
from scorebars.laws.normal_law import StudentLaw
from scorebars.score import Declaration, Estimate, Interval, UndefinedEstimate

_NO_PERFECT = "a difference of two models has no perfect value: ask each model's own score."


@dataclass(frozen=True)
class TruthDifference:
    """The difference against the truth: value, its std from label errors, and its two intervals."""

    value: float
    std: float | Callable[[], float]
    interval: Callable[[float], Interval]
    total_interval: Callable[[float], Interval]
    method: str
    note: str = ""


@dataclass(frozen=True)
class Paired:
    """The interval of a - b from the intervals of a and of b, and the correlation of the two estimates.

    With l and u the distances from an estimate to the ends of its own interval, the lower end lies
    sqrt(l_a^2 + u_b^2 - 2 r l_a u_b) below a - b, the upper one sqrt(u_a^2 + l_b^2 - 2 r u_a l_b) above it.
    """

    a: float
    b: float
    first: Callable[[float], Interval]
    second: Callable[[float], Interval]
    correlation: Callable[[], float]

    def __call__(self, level: float) -> Interval:
        (low_a, high_a), (low_b, high_b) = self.first(level), self.second(level)
        value, r = self.a - self.b, self.correlation()
        down = _apart(self.a - low_a, high_b - self.b, r)
        up = _apart(high_a - self.a, self.b - low_b, r)
        return Interval(value - down, value + up)


def _apart(one: float, other: float, correlation: float) -> float:
    one, other = max(one, 0.0), max(other, 0.0)  # an estimate beyond the range of its parameter
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return math.sqrt(max(one * one + other * other - 2.0 * correlation * one * other, 0.0))


class DifferenceAnswers(Answers):
    """metric(a) - metric(b) on `n` items.

    With `sampled` the items are a sample too: Student's law about the observed difference (Berkson error: the expected
    one), whose scale is the standard error over test sets.
    """

    def __init__(
        self,
        declaration: Declaration,
        n: int,
        kind: str,
        repeats: Any,
        observed: float,
        law: Callable[[], Law],
        item_std: Callable[[], float],
        common_std: Callable[[], float],
        truth: Callable[[], TruthDifference],
        *,
        sampled: bool = False,
        undefined: float = 0.0,
    ) -> None:
        self.declaration, self.n, self.observed = declaration, n, observed
        self.kind, self._repeats, self._law_on_these = kind, repeats, law
        self._item_std, self._common_std, self._true_difference = item_std, common_std, truth
        self._sampled, self._undefined = sampled, undefined
        self._law = StudentLaw(self._centre, self._over_test_sets(), self._df) if sampled else law()
        self.expected = float(self._law.mean)

    @property
    def _fixed(self) -> Law:
        """On these items; drawn only where it is asked for."""
        return self._law_on_these()

    @property
    def _centre(self) -> float:
        return float(self._fixed.mean) if self._berkson else self.observed

    def _over_test_sets(self) -> float:
        """Standard error of the difference over test sets."""
        return math.hypot(self._item_std(), self._common_std())

    @property
    def std(self) -> float:
        """With `sampled` the standard error, not the std of Student's law, which is larger for few items."""
        return self._over_test_sets() if self._sampled else float(self._law.std)

    def law(self) -> Law:
        return self._law

    def truth(self) -> Estimate:
        if not self._berkson:
            t = self._true_difference()
            return Estimate(
                t.value, t.std, method=t.method, note=t.note, interval=t.interval, total_interval=t.total_interval
            )
        law = self._fixed
        return Estimate(
            self._centre,
            float(law.std),
            method=law.method,
            note=BERKSON_NOTE,
            interval=OfLaw(law),
            total_interval=Symmetric(self._centre, self._over_test_sets(), df=self._df),
        )

    def _remeasured(self, repeats: float) -> Estimate:
        """The forecast of the difference on labels measured once more in the same way is the observed one."""
        if not np.all(np.equal(self._repeats, repeats)):
            raise UndefinedEstimate(
                "the difference is known for labels of as many repeats as those at hand; for others ask each model's own "
                "score."
            )
        std = math.sqrt(2.0) * float(self._fixed.std)
        return Estimate(self.observed, std, method="unbiased", interval=Symmetric(self.observed, std))

    def perfect(self) -> Estimate:
        raise UndefinedEstimate(_NO_PERFECT)

    def _item_variance(self) -> float:
        return self._item_std() ** 2

    def _label_variance(self) -> float:
        own = max(float(self._fixed.var) - self._common_std() ** 2, 0.0)
        return own if math.isfinite(own) else 0.0

    def total_interval(self, level: float) -> Interval:
        # under Berkson error the next test set has errors of its own, this one was averaged over them
        own = float(self._fixed.var) / 2 if self._berkson else 0.0
        return self._next_test_set(own + self._common_std() ** 2)(level)

    def warnings(self) -> list[str]:
        if not self._undefined:
            return []
        return [
            f"the metric is not defined for {self._undefined:.1%} of the redrawn labels; these draws were left out."
        ]
