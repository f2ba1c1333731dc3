"""Answers of an average over outputs whose labels err independently."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scorebars.answers.base import Answers
from scorebars.answers.intervals import Symmetric
from scorebars.arrays import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.law import Law
from scorebars.laws.samples import SampleLaw
from scorebars.score import Estimate, Interval, UndefinedEstimate

_DRAWS = 20_000
_SEED = 20240517


class AverageAnswers(Answers):
    """Weighted average of several scores; mean and std are exact, the law is drawn."""

    def __init__(self, parts: Sequence[Answers], weights: FloatArray) -> None:
        self.declaration, self.n = parts[0].declaration, parts[0].n
        self._parts, self._weights = list(parts), weights
        self.observed = self._mean([part.observed for part in parts])
        self.expected = self._mean([part.expected for part in parts])

    def why_undefined(self) -> str:
        wild = [part for part in self._parts if not (math.isfinite(part.expected) and math.isfinite(part.std))]
        return wild[0].why_undefined() if wild else super().why_undefined()

    def _mean(self, values: Sequence[float]) -> float:
        return float(np.dot(self._weights, values))

    def _hypot(self, values: Sequence[float]) -> float:
        return math.hypot(*(w * v for w, v in zip(self._weights, values, strict=True)))

    @property
    def std(self) -> float:
        return self._hypot([part.std for part in self._parts])

    def law(self) -> Law:
        rng = np.random.default_rng(_SEED)
        draws = sum(
            w * np.asarray(part.law().rvs(_DRAWS, rng)) for w, part in zip(self._weights, self._parts, strict=True)
        )
        unit = math.ldexp(1.0, math.frexp(max(abs(self.expected), self.std))[1] - 1)  # keeps the variance in range
        law = SampleLaw(np.asarray(draws) / unit, mean=self.expected / unit, var=(self.std / unit) ** 2)
        return law if unit == 1.0 else ScaledLaw(law, unit)

    def _combined(self, estimates: Sequence[Estimate]) -> Estimate:
        value, std = self._mean(estimates), self._hypot([e.std for e in estimates])
        low, high = self.declaration.low, self.declaration.high
        totals = [e._total for e in estimates]
        known = [total for total in totals if total is not None]
        return Estimate(
            value,
            std,
            method=estimates[0].method,
            note=estimates[0].note,
            interval=Symmetric(value, std, low, high),
            total_interval=self._stacked(known, [float(e) for e in estimates]) if len(known) == len(totals) else None,
        )

    def _stacked(self, intervals: Sequence[Callable[[float], Interval]], centres: Sequence[float]) -> Stacked:
        low, high = self.declaration.low, self.declaration.high
        kept = [min(max(centre, low), high) for centre in centres]
        return Stacked(tuple(intervals), tuple(self._weights), self._mean(kept), self._togetherness)

    @cached_property
    def _togetherness(self) -> float:
        """Scatter of the average over that of outputs which all move together, as the items show it; between 0 and 1.

        All outputs belong to the same items. If items hard in one output are hard in all, the factor is 1.
        """
        try:
            rows = np.array([w * part.influences() for w, part in zip(self._weights, self._parts, strict=True)])
        except UndefinedEstimate:
            return 1.0
        rows = rows / (float(np.max(np.abs(rows))) or 1.0)  # squares of extreme units would leave the doubles
        apart = float(np.sum(np.linalg.norm(rows, axis=1)))
        return min(float(np.linalg.norm(rows.sum(axis=0))) / apart, 1.0) if 0 < apart < math.inf else 1.0

    def truth(self) -> Estimate:
        return self._combined([part.truth() for part in self._parts])

    def remeasured(self, repeats: float) -> Estimate:
        return self._combined([part.remeasured(repeats) for part in self._parts])

    def perfect(self) -> Estimate:
        return self._combined([part.perfect() for part in self._parts])

    def noise_share(self) -> float:
        return self._mean([part.noise_share() for part in self._parts])

    def sampling_std(self) -> float:
        return self._togetherness * self._mean([part.sampling_std() for part in self._parts])

    def total_interval(self, level: float) -> Interval:
        centres = [part._centre for part in self._parts]
        return self._stacked([part.total_interval for part in self._parts], centres)(level)


@dataclass(frozen=True)
class Stacked:
    """Average of intervals, end by end, brought nearer to the centre where the averaged scores do not move together."""

    parts: tuple[Callable[[float], Interval], ...]
    weights: tuple[float, ...]
    centre: float
    factor: float

    def __call__(self, level: float) -> Interval:
        low, high = np.dot(self.weights, np.array([part(level) for part in self.parts]))
        return Interval(*(float(self.centre + self.factor * (end - self.centre)) for end in (low, high)))
