"""Answers of an average over outputs whose labels err independently."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scorebars.answers.intervals import Symmetric
from scorebars.errors.base import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import Law
from scorebars.laws.samples import SampleLaw
from scorebars.score import Answers, Estimate, Interval

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
        return Estimate(
            value,
            std,
            method=estimates[0].method,
            note=estimates[0].note,
            interval=Symmetric(value, std, low, high),
            total_interval=Stacked(tuple(e.total_interval for e in estimates), tuple(self._weights)),
        )

    def truth(self) -> Estimate:
        return self._combined([part.truth() for part in self._parts])

    def remeasured(self, repeats: float) -> Estimate:
        return self._combined([part.remeasured(repeats) for part in self._parts])

    def perfect(self) -> Estimate:
        return self._combined([part.perfect() for part in self._parts])

    def noise_share(self) -> float:
        return self._mean([part.noise_share() for part in self._parts])

    def sampling_std(self) -> float:
        """The outputs belong to the same items, so their scatter is added as if fully correlated: an upper bound."""
        return self._mean([part.sampling_std() for part in self._parts])

    def total_interval(self, level: float) -> Interval:
        return Stacked(tuple(part.total_interval for part in self._parts), tuple(self._weights))(level)


@dataclass(frozen=True)
class Stacked:
    """Average of intervals, end by end."""

    parts: tuple[Callable[[float], Interval], ...]
    weights: tuple[float, ...]

    def __call__(self, level: float) -> Interval:
        ends = np.array([part(level) for part in self.parts])
        low, high = np.dot(self.weights, ends)
        return Interval(float(low), float(high))
