"""The law of a root mean squared error: the square root of a generalised chi-square Q.

P(sqrt Q <= x) = P(Q <= x^2). With mu = E Q the mean follows from

    sqrt(mu) - E sqrt(Q) = 1 / (2 sqrt(pi)) int_0^inf (E exp(-t Q) - exp(-t mu)) t^(-3/2) dt,

whose integrand is positive, and Var sqrt(Q) = (sqrt(mu) - E)(sqrt(mu) + E): nothing cancels, however small or
large the label errors are.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from scorebars.laws.base import RNG, FloatArray, Law
from scorebars.laws.cgf import CGF
from scorebars.laws.chisquare import GeneralizedChiSquare

_STEP = 0.22  # of log t: error exp(-pi^2 / step) = 3e-20
_BLOCK = 48


class SquareRoot(Law):
    """Law of sqrt(Q), given the law of Q."""

    method = "exact"

    def __init__(self, square: GeneralizedChiSquare) -> None:
        self.square = square
        low, high = square.support
        self.support = (math.sqrt(low), math.sqrt(high))

    @cached_property
    def _deficit(self) -> float:
        """sqrt(mu) - E sqrt(Q) by the trapezoid rule in log t, from t = 1 / mu outwards."""
        cgf = self.square.cgf
        if cgf is None:
            return 0.0
        total = 0.0
        for direction in (1, -1):
            start = 0 if direction == 1 else 1
            while True:
                part = self._terms(cgf, direction * np.arange(float(start), start + _BLOCK))
                total += float(np.sum(part))
                if part[-1] <= 1e-19 * total:
                    break
                start += _BLOCK
        return total * _STEP / (2.0 * math.sqrt(math.pi))

    def _terms(self, cgf: CGF, index: FloatArray) -> FloatArray:
        mean = float(self.square.mean)
        t = np.exp(_STEP * index) / mean
        excess = cgf.centred(-t)
        small = excess < 1.0
        difference = np.empty_like(t)
        difference[small] = np.exp(-t[small] * mean) * np.expm1(excess[small])
        large = t[~small]
        difference[~small] = np.exp(cgf.value(-large) - large * self.square.floor) - np.exp(-large * mean)
        return difference / np.sqrt(t)

    def _mean(self) -> float:
        return math.sqrt(self.square.mean) - self._deficit

    def _var(self) -> float:
        return self._deficit * (2.0 * math.sqrt(self.square.mean) - self._deficit)

    def _cdf(self, x: float) -> float:
        return float(self.square.cdf(x * x))

    def _sf(self, x: float) -> float:
        return float(self.square.sf(x * x))

    def _pdf(self, x: float) -> float:
        if self.square.cgf is None:
            return math.inf
        if x > self.support[0]:
            return 2.0 * x * float(self.square.pdf(x * x))
        freedom, log_constant = self.square.edge()
        if self.square.floor == 0 and freedom == 1:  # a folded normal: the factor x cancels the pole of the density
            return 2.0 * math.exp(log_constant)
        return 2.0 * x * float(self.square.pdf(self.square.floor)) if x > 0 else 0.0

    def _ppf(self, q: float) -> float:
        return math.sqrt(self.square.ppf(q))

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws from the law; `rng` is a seed or a Generator, and the same seed gives the same draws."""
        return np.sqrt(self.square.rvs(size, rng)) if size is not None else math.sqrt(self.square.rvs(None, rng))
