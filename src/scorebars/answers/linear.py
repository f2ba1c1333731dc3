"""Answers of shift + scale * metric: the zero-one loss from the accuracy, counts from shares, and other units."""

from __future__ import annotations

import math

from scorebars.answers.base import Answers
from scorebars.answers.intervals import Affine, times
from scorebars.arrays import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.law import Law
from scorebars.laws.normal_law import NormalLaw
from scorebars.score import Declaration, Estimate, Interval

TOO_LARGE = "it is above the largest double. Choose another unit for y_true, y_pred and yerr."


class LinearAnswers(Answers):
    """shift + scale * (another metric); a scale of several factors is multiplied one factor after the other."""

    def __init__(
        self,
        declaration: Declaration,
        inner: Answers,
        scale: float | tuple[float, ...],
        shift: float = 0.0,
        observed: float | None = None,
    ) -> None:
        self.declaration, self.n, self.kind = declaration, inner.n, inner.kind
        self.inner, self._shift = inner, shift
        self._factors = scale if isinstance(scale, tuple) else (scale,)
        self.observed = shift + times(inner.observed, self._factors) if observed is None else observed
        moved = inner.expected != inner.observed
        self.expected = shift + times(inner.expected, self._factors) if moved else self.observed

    def _size(self, std: float) -> float:
        return abs(times(std, self._factors))

    @property
    def std(self) -> float:
        return self._size(self.inner.std)

    @property
    def repeats(self) -> FloatArray | float:
        return self.inner.repeats

    def law(self) -> Law:
        scale = times(1.0, self._factors)
        # all of it is 0 where the unit is below the smallest double
        return ScaledLaw(self.inner.law(), scale, self._shift) if scale else NormalLaw(self._shift, 0.0)

    def _carried(self, found: Estimate) -> Estimate:
        total = found._total
        return Estimate(
            self._shift + times(float(found), self._factors),
            self._size(found.std),
            method=found.method,
            note=found.note,
            interval=Affine(found.interval, self._factors, self._shift),
            total_interval=None if total is None else Affine(total, self._factors, self._shift),
        )

    def truth(self) -> Estimate:
        return self._carried(self.inner.truth())

    def remeasured(self, repeats: float) -> Estimate:
        return self._carried(self.inner.remeasured(repeats))

    def perfect(self) -> Estimate:
        return self._carried(self.inner.perfect())

    def influences(self) -> FloatArray:
        found = self.inner.influences()
        for factor in self._factors:
            found = found * factor
        return found

    def noise_share(self) -> float:
        return self.inner.noise_share()

    def sampling_std(self) -> float:
        return self._size(self.inner.sampling_std())

    def total_interval(self, level: float) -> Interval:
        return Affine(self.inner.total_interval, self._factors, self._shift)(level)

    def warnings(self) -> list[str]:
        return self.inner.warnings()

    def why_undefined(self) -> str:
        return TOO_LARGE if math.isfinite(self.inner.expected + self.inner.std) else self.inner.why_undefined()


def in_units(inner: Answers, *factors: float) -> Answers:
    """The answers in the unit of the user, of data that were divided by a power of two."""
    return inner if all(factor == 1.0 for factor in factors) else LinearAnswers(inner.declaration, inner, factors)
