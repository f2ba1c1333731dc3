"""Models on the same labels under one metric: what every kind of contest tells."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from scorebars.answers.difference import TruthDifference
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.score import Declaration

SLOW_DRAWS = 2_000
"""Where each takes long."""
SEED = 20240517


@dataclass(frozen=True)
class Match:
    """One pair of models: metric(a) - metric(b)."""

    observed: float
    law: Law
    truth: TruthDifference | None
    terms: FloatArray | None
    shares: FloatArray
    sampled_std: float = math.inf


class Contest(ABC):
    """All models on the same labels under one metric."""

    declaration: Declaration
    n: int
    units: tuple[float, ...] = ()
    """What differences of the metric are still to be multiplied by, one after the other, to be in the user's unit."""
    monotone: Contest | None = None
    """A contest that orders the models in the same way and has an exact law."""

    @abstractmethod
    def match(self, a: str, b: str) -> Match: ...

    @abstractmethod
    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        """Joint draws, shape (count, models), that order the models as their scores do; with `sampling` of items too."""

    def noisy(self) -> bool:
        """Whether label errors are large against the residuals."""
        return False
