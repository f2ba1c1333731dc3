"""Answers found for data divided by a power of two, given back in the unit of the user."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import Law
from scorebars.laws.normal import NormalLaw
from scorebars.score import Answers, Estimate, Interval

TOO_LARGE = "it is above the largest double. Choose another unit for y_true, y_pred and yerr."


class Rescaled(Answers):
    """The answers of a metric whose values are multiplied by each of `factors`.

    They are multiplied one after the other: the product alone may leave the doubles where the value does not.
    """

    def __init__(self, inner: Answers, factors: tuple[float, ...]) -> None:
        self.declaration, self.n = inner.declaration, inner.n
        self._inner, self._factors = inner, factors
        self.observed, self.expected = self._back(inner.observed), self._back(inner.expected)

    def _back(self, value: float) -> float:
        for factor in self._factors:
            value *= factor
        return value

    def _estimate(self, found: Estimate) -> Estimate:
        total = found._total
        return Estimate(
            self._back(found.value),
            self._back(found.std),
            method=found.method,
            note=found.note,
            interval=InUnits(found.interval, self._factors),
            total_interval=None if total is None else InUnits(total, self._factors),
        )

    @property
    def std(self) -> float:
        return self._back(self._inner.std)

    def law(self) -> Law:
        return law_in_units(self._inner.law(), self._back(1.0))

    def truth(self) -> Estimate:
        return self._estimate(self._inner.truth())

    def remeasured(self, repeats: float) -> Estimate:
        return self._estimate(self._inner.remeasured(repeats))

    def perfect(self) -> Estimate:
        return self._estimate(self._inner.perfect())

    def noise_share(self) -> float:
        return self._inner.noise_share()

    def sampling_std(self) -> float:
        return self._back(self._inner.sampling_std())

    def total_interval(self, level: float) -> Interval:
        return InUnits(self._inner.total_interval, self._factors)(level)

    def warnings(self) -> list[str]:
        return self._inner.warnings()

    def why_undefined(self) -> str:
        return TOO_LARGE if math.isfinite(self._inner.expected + self._inner.std) else self._inner.why_undefined()


@dataclass(frozen=True)
class InUnits:
    """An interval whose ends are multiplied by each of `factors`, all above 0."""

    inner: Callable[[float], Interval]
    factors: tuple[float, ...]

    def __call__(self, level: float) -> Interval:
        low, high = self.inner(level)
        for factor in self.factors:
            low, high = low * factor, high * factor
        return Interval(low, high)


def law_in_units(law: Law, unit: float) -> Law:
    """The law of `unit` times the metric; where that is below the smallest double, all of it is 0.

    >>> law_in_units(NormalLaw(1.0, 0.5), 0.0).cdf([-1.0, 0.0]).tolist()
    [0.0, 1.0]
    """
    if unit == 1.0:
        return law
    return ScaledLaw(law, unit) if unit > 0 else NormalLaw(0.0, 0.0)
