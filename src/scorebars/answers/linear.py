"""Answers of shift + scale * metric: the zero-one loss from the accuracy, counts from shares."""

from __future__ import annotations

from scorebars.answers.intervals import Affine
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import Law
from scorebars.score import Answers, Declaration, Estimate, Interval


class LinearAnswers(Answers):
    """shift + scale * (another metric)."""

    def __init__(
        self, declaration: Declaration, inner: Answers, scale: float, shift: float = 0.0, observed: float | None = None
    ) -> None:
        self.declaration, self.n = declaration, inner.n
        self._inner, self._scale, self._shift = inner, scale, shift
        self.observed = shift + scale * inner.observed if observed is None else observed
        moved = inner.expected != inner.observed
        self.expected = shift + scale * inner.expected if moved else self.observed

    @property
    def std(self) -> float:
        return abs(self._scale) * self._inner.std

    def law(self) -> Law:
        return ScaledLaw(self._inner.law(), self._scale, self._shift)

    def _carried(self, estimate: Estimate) -> Estimate:
        return Estimate(
            self._shift + self._scale * float(estimate),
            abs(self._scale) * estimate.std,
            method=estimate.method,
            note=estimate.note,
            interval=Affine(estimate.interval, self._scale, self._shift),
            total_interval=Affine(estimate.total_interval, self._scale, self._shift),
        )

    def truth(self) -> Estimate:
        return self._carried(self._inner.truth())

    def remeasured(self, repeats: float) -> Estimate:
        return self._carried(self._inner.remeasured(repeats))

    def perfect(self) -> Estimate:
        return self._carried(self._inner.perfect())

    def noise_share(self) -> float:
        return self._inner.noise_share()

    def sampling_std(self) -> float:
        return abs(self._scale) * self._inner.sampling_std()

    def total_interval(self, level: float) -> Interval:
        return Affine(self._inner.total_interval, self._scale, self._shift)(level)

    def warnings(self) -> list[str]:
        return self._inner.warnings()
