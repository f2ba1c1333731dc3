"""Answers of the difference of a metric between two models on the same labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scorebars.answers.intervals import Symmetric
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.score import Answers, Declaration, Estimate, Interval, UndefinedEstimate

_NO_PERFECT = "a difference of two models has no perfect value: ask each model's own score."


@dataclass(frozen=True)
class TruthDifference:
    """The difference against the truth: value, its std from label errors, and the terms whose scatter samples it."""

    value: float
    std: float
    method: str
    note: str = ""


class DifferenceAnswers(Answers):
    """metric(a) - metric(b). `terms` are the items' own differences, None where the metric is not a mean over items."""

    def __init__(
        self,
        declaration: Declaration,
        n: int,
        observed: float,
        law: Law,
        truth: TruthDifference | None,
        terms: FloatArray | None,
        shares: FloatArray,
        *,
        sampled: bool = False,
    ) -> None:
        self.declaration, self.n = declaration, n
        self.observed, self.expected = observed, float(law.mean)
        self._law, self._truth, self._terms, self._shares = law, truth, terms, shares
        self._sampled = sampled

    @property
    def std(self) -> float:
        return float(self._law.std)

    def law(self) -> Law:
        return self._law

    def truth(self) -> Estimate:
        if self._truth is None:
            raise UndefinedEstimate(
                f"the difference of {self.declaration.name} against the truth cannot be found from these labels."
            )
        t = self._truth
        total = Symmetric(t.value, self._item_std(), df=max(self.n - 1, 1))
        return Estimate(
            t.value, t.std, method=t.method, note=t.note, interval=Symmetric(t.value, t.std), total_interval=total
        )

    def remeasured(self, repeats: float) -> Estimate:
        """The forecast of the observed difference on labels measured once more is the observed one."""
        if repeats != 1:
            raise UndefinedEstimate("the difference on labels of several repeats: ask each model's own score.")
        std = math.sqrt(2.0) * self.std if not self._sampled else self.std
        return Estimate(self.observed, std, method="unbiased", interval=Symmetric(self.observed, std))

    def perfect(self) -> Estimate:
        raise UndefinedEstimate(_NO_PERFECT)

    def noise_share(self) -> float:
        raise UndefinedEstimate(_NO_PERFECT)

    def _item_std(self) -> float:
        """Standard error of the difference over test sets, from the scatter of the items' observed differences.

        These hold the label errors already, so nothing is added.
        """
        if self._terms is None or self.n < 2:
            return math.inf
        deviation = self._shares * (self._terms - float(np.sum(self._shares * self._terms)))
        return math.sqrt(float(np.sum(np.square(deviation))) * self.n / (self.n - 1))

    def sampling_std(self) -> float:
        return math.sqrt(max(self._item_std() ** 2 - (0.0 if self._sampled else self.std**2), 0.0))

    def total_interval(self, level: float) -> Interval:
        return Symmetric(self.observed, self._item_std(), df=max(self.n - 1, 1))(level)
