"""A mixture: one of several distributions, each with its probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scorebars.arrays import FloatArray
from scorebars.laws.law import RNG, Law, shape_of_draws

_METHODS = ("simulation", "delta", "saddlepoint", "quadrature", "exact")


class MixtureLaw(Law):
    """The distribution of X_k where k is drawn with the given weights, which sum to 1."""

    def __init__(self, laws: Sequence[Law], weights: ArrayLike, method: str | None = None) -> None:
        self.laws = list(laws)
        self.weights: FloatArray = np.asarray(weights, dtype=np.float64)
        self.discrete = any(law.discrete for law in self.laws)
        self.method = method or min((law.method for law in self.laws), key=_METHODS.index)
        self.support = (min(law.support[0] for law in self.laws), max(law.support[1] for law in self.laws))

    def _mixed(self, values: Sequence[Any]) -> float:
        return math.fsum(w * float(value) for w, value in zip(self.weights, values, strict=True))

    def _mean(self) -> float:
        return self._mixed([law.mean for law in self.laws])

    def _var(self) -> float:
        centre = self._mean()
        return self._mixed([law.var + (law.mean - centre) ** 2 for law in self.laws])

    def _cdf(self, x: float) -> float:
        return self._mixed([law.cdf(x) for law in self.laws])

    def _sf(self, x: float) -> float:
        return self._mixed([law.sf(x) for law in self.laws])

    def _pdf(self, x: float) -> float:
        if not self.discrete:
            return self._mixed([law.pdf(x) for law in self.laws])
        return self._mixed([law.pmf(x) if law.discrete else 0.0 for law in self.laws])

    def _ppf(self, q: float) -> float:
        """Where the mixture has jumps, bisection between the smallest and the largest quantile of the parts."""
        if not self.discrete:
            return super()._ppf(q)
        ends = [float(law.ppf(q)) for law in self.laws]
        low, high = min(ends), max(ends)
        while low < (middle := 0.5 * (low + high)) < high:
            low, high = (low, middle) if self._cdf(middle) >= q else (middle, high)
        return high

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws: first which part, then from it."""
        generator = np.random.default_rng(rng)
        part = generator.choice(len(self.laws), shape_of_draws(size), p=self.weights)
        out = np.empty(np.shape(part))
        for k, law in enumerate(self.laws):
            here = np.asarray(part == k)
            out[here] = law.rvs(int(here.sum()), generator)
        return float(out) if out.ndim == 0 else out
