"""The distribution of a sum of many independent whole steps: by convolution, or from its characteristic function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from scipy.fft import irfft, next_fast_len

from scorebars.arrays import FloatArray

_NEGLIGIBLE = 1e-290  # smaller probabilities are dropped at the ends: denormal numbers are slow and say nothing
_SILENT = 40.0  # -log |phi| at which a frequency no longer counts


def convolve(steps: Iterable[tuple[int, FloatArray]]) -> tuple[int, FloatArray]:
    """First value and the probabilities from it on, of the sum of steps given in the same way.

    Neighbours are convolved in pairs. Every term is positive, so each probability keeps its relative accuracy far into
    both tails.
    """
    parts = [_trimmed(*step) for step in steps] or [(0, np.ones(1))]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        merged = [_trimmed(i + j, np.convolve(a, b)) for (i, a), (j, b) in pairs]
        parts = merged + parts[2 * len(merged) :]
    return parts[0]


def _trimmed(first: int, pmf: FloatArray) -> tuple[int, FloatArray]:
    kept = np.flatnonzero(pmf > _NEGLIGIBLE)
    return first + int(kept[0]), pmf[kept[0] : kept[-1] + 1]


def bernstein_halfwidth(variance: float, largest_step: float = 1.0, log_mass: float = 42.0) -> float:
    """Distance from the mean that a sum of independent bounded steps exceeds with probability below exp(-log_mass).

    Bernstein: P(S - E S >= x) <= exp(-x^2 / (2 (variance + step x / 3))), and likewise below.
    """
    linear = log_mass * largest_step / 3
    return linear + math.sqrt(linear * linear + 2 * log_mass * variance)


def invert_phi(
    mean: float,
    variance: float,
    support: tuple[float, float],
    centred_log_phi: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    decay: Callable[[FloatArray], FloatArray],
    largest_step: float = 1.0,
) -> tuple[int, FloatArray]:
    """First value and the probabilities from it on, from the characteristic function phi of the sum.

    The window around the mean leaves out less than 1e-17 of the mass. `decay(t)` is a lower bound of -log |phi(t)|: some
    fifty frequencies matter at any number of steps. `centred_log_phi` gives log |phi(t)| and arg phi(t) - t mean there;
    with the mean taken out of each step no large phase is ever formed.
    """
    reach = bernstein_halfwidth(variance, largest_step)
    first, last = max(int(support[0]), math.floor(mean - reach)), min(int(support[1]), math.ceil(mean + reach))
    period = next_fast_len(last - first + 1, real=True)
    t = 2 * math.pi / period * np.arange(period // 2 + 1, dtype=float)
    heard = decay(t) < _SILENT
    log_size, phase = centred_log_phi(t[heard])
    phi = np.zeros(t.size, dtype=complex)
    # irfft sums exp(+i t k), the inversion formula exp(-i t k): hence the conjugate
    phi[heard] = np.exp(log_size - 1j * (phase + t[heard] * (mean - first)))
    pmf = np.maximum(irfft(phi, period)[: last - first + 1], 0.0)
    return first, pmf / np.add.reduce(pmf)
