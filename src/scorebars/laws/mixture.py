"""A mixture of laws: one of several, each with its probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from scorebars.laws.base import RNG, FloatArray, Law

_METHODS = ("simulation", "delta", "saddlepoint", "quadrature", "exact")


class MixtureLaw(Law):
    """The law of X_k where k is drawn with the given weights, which sum to 1."""

    def __init__(self, laws: Sequence[Law], weights: ArrayLike, method: str | None = None) -> None:
        self.laws = list(laws)
        self.weights: FloatArray = np.asarray(weights, dtype=np.float64)
        self.discrete = all(law.discrete for law in self.laws)
        self.method = method or min((law.method for law in self.laws), key=_METHODS.index)
        self.support = (min(law.support[0] for law in self.laws), max(law.support[1] for law in self.laws))

    def _mixed(self, name: str, x: float) -> float:
        return math.fsum(w * float(getattr(law, name)(x)) for w, law in zip(self.weights, self.laws, strict=True))

    def _mean(self) -> float:
        return math.fsum(w * float(law.mean) for w, law in zip(self.weights, self.laws, strict=True))

    def _var(self) -> float:
        centre = self._mean()
        return math.fsum(
            w * (float(law.var) + (float(law.mean) - centre) ** 2)
            for w, law in zip(self.weights, self.laws, strict=True)
        )

    def _cdf(self, x: float) -> float:
        return self._mixed("cdf", x)

    def _sf(self, x: float) -> float:
        return self._mixed("sf", x)

    def _pdf(self, x: float) -> float:
        return self._mixed("pmf" if self.discrete else "pdf", x)

    def _ppf(self, q: float) -> float:
        """Bisection between the smallest and largest quantile of the parts where the law has jumps."""
        if not self.discrete:
            return self._newton(q)
        ends = [float(law.ppf(q)) for law in self.laws]
        low, high = min(ends), max(ends)
        for _ in range(200):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (low, middle) if self._cdf(middle) >= q else (middle, high)
        return high

    def _newton(self, q: float) -> float:
        """From the normal quantile: few steps, which matters where each part is costly; Brent where they do not settle."""
        low, high = self.support
        x = float(self._mean() + self._std() * ndtri(q))
        for _ in range(12):
            if not low < x < high:
                break
            density = self._pdf(x)
            miss = self._cdf(x) - q if q <= 0.5 else (1.0 - q) - self._sf(x)
            if not abs(miss) < 2.0 * self._std() * density < math.inf:
                break
            x -= miss / density
            if abs(miss) <= 1e-7 * min(q, 1.0 - q):  # the next miss is about the square of this one
                return min(max(x, low), high)
        return super()._ppf(q)

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: RNG | int | None = None) -> Any:
        """Draws: first which part, then from it."""
        generator = np.random.default_rng(rng)
        part = generator.choice(len(self.laws), size, p=self.weights)
        out = np.empty(np.shape(part))
        for k, law in enumerate(self.laws):
            here = np.asarray(part == k)
            out[here] = law.rvs(int(here.sum()), generator)
        return float(out) if out.ndim == 0 else out
