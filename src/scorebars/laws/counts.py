"""Laws on consecutive whole numbers, given by their probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len

from scorebars.laws.base import FloatArray
from scorebars.laws.discrete import AtomicLaw, Atoms


class CountLaw(AtomicLaw):
    """The law of a count that takes the values first, first + 1, ... with the given probabilities."""

    def __init__(self, first: int, pmf: ArrayLike, method: str = "exact") -> None:
        self.method = method
        self._first = first
        self._pmf = np.asarray(pmf, dtype=float) / np.add.reduce(np.asarray(pmf, dtype=float))
        possible = np.flatnonzero(self._pmf)
        self.support = (float(first + possible[0]), float(first + possible[-1]))

    @cached_property
    def atoms(self) -> Atoms:
        return Atoms.of(self._first + np.arange(self._pmf.size, dtype=float), self._pmf)

    @cached_property
    def _moments(self) -> tuple[float, float]:
        k = np.arange(self._pmf.size, dtype=float)
        mean = float(np.add.reduce(self._pmf * k))
        return self._first + mean, float(np.add.reduce(self._pmf * (k - mean) ** 2))

    def _mean(self) -> float:
        return self._moments[0]

    def _var(self) -> float:
        return self._moments[1]


def mix_counts(laws: Sequence[AtomicLaw], weights: ArrayLike) -> CountLaw:
    """The mixture of laws of counts: law j holds with probability weights[j]."""
    first = min(int(law.atoms.values[0]) for law in laws)
    last = max(int(law.atoms.values[-1]) for law in laws)
    pmf: FloatArray = np.zeros(last - first + 1)
    for law, weight in zip(laws, np.asarray(weights, dtype=float), strict=True):
        start = int(law.atoms.values[0]) - first
        pmf[start : start + law.atoms.pmf.size] += weight * law.atoms.pmf
    mixed = CountLaw(first, pmf)
    mixed.support = (min(law.support[0] for law in laws), max(law.support[1] for law in laws))
    return mixed


def bernstein_halfwidth(variance: float, largest_step: float = 1.0, log_mass: float = 42.0) -> float:
    """Distance from the mean that a sum of independent bounded steps exceeds with probability below exp(-log_mass).

    Bernstein: P(S - E S >= x) <= exp(-x^2 / (2 (variance + step x / 3))), and likewise below.
    """
    linear = log_mass * largest_step / 3
    return linear + math.sqrt(linear * linear + 2 * log_mass * variance)


def invert_on_window(
    mean: float,
    variance: float,
    low: int,
    high: int,
    centred_log_phi: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    decay: Callable[[FloatArray], FloatArray],
    largest_step: float = 1.0,
) -> tuple[int, FloatArray]:
    """First count and the probabilities from it on, from the characteristic function phi of a count in [low, high].

    The window around the mean leaves out less than 1e-17 of the mass. `decay(t)` is a lower bound of -log |phi(t)|:
    only frequencies that it does not silence are asked of `centred_log_phi`, which gives log |phi(t)| and
    arg phi(t) - t mean.
    """
    reach = bernstein_halfwidth(variance, largest_step)
    first = max(low, math.floor(mean - reach))
    last = min(high, math.ceil(mean + reach))
    period = next_fast_len(last - first + 1, real=True)
    t = 2 * math.pi / period * np.arange(period // 2 + 1, dtype=float)
    heard = decay(t) < 40.0
    log_size, phase = centred_log_phi(t[heard])
    phi = np.zeros(t.size, dtype=complex)
    # irfft sums exp(+i t k), the inversion formula exp(-i t k): hence the conjugate
    phi[heard] = np.exp(log_size - 1j * (phase + t[heard] * (mean - first)))
    pmf = np.maximum(irfft(phi, period)[: last - first + 1], 0.0)
    return first, pmf / np.add.reduce(pmf)
