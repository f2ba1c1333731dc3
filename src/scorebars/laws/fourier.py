"""A smooth law from its characteristic function at evenly spaced frequencies.

When all but a negligible part of the mass lies in a window of length L, the density there is the Fourier series

    f(x) = (1/L) [1 + 2 sum_j Re phi(t_j) exp(-i t_j (x - low))],      t_j = 2 pi j / L,

with phi the characteristic function of X - low. The error is the mass outside the window plus the terms left out, and
the characteristic function of a sum of many terms falls off so fast that some fifty terms give all digits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from scorebars.laws.base import FloatArray, Law


class FourierLaw(Law):
    """The law with characteristic function phi[j - 1] of X - low at t_j = 2 pi j / period, j = 1, 2, ..."""

    method = "quadrature"

    def __init__(
        self,
        mean: float,
        std: float,
        low: float,
        period: float,
        phi: NDArray[np.complex128],
        support: tuple[float, float],
    ) -> None:
        self._centre, self._spread = mean, std
        self._low, self._period, self._phi = low, period, phi
        self._t: FloatArray = 2 * math.pi / period * np.arange(1.0, phi.size + 1)
        self.support = support

    def _mean(self) -> float:
        return self._centre

    def _std(self) -> float:
        return self._spread

    def _var(self) -> float:
        return self._spread * self._spread

    def _cdf(self, x: float) -> float:
        y = x - self._low
        if not 0 < y < self._period:
            return 0.0 if y <= 0 else 1.0
        waves = (self._phi * (1 - np.exp(-1j * self._t * y))).imag / self._t
        return min(max(y / self._period + 2 / self._period * float(np.add.reduce(waves)), 0.0), 1.0)

    def _pdf(self, x: float) -> float:
        y = x - self._low
        if not 0 <= y <= self._period:
            return 0.0
        waves = (self._phi * np.exp(-1j * self._t * y)).real
        return max((1 + 2 * float(np.add.reduce(waves))) / self._period, 0.0)
