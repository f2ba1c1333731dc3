"""A weighted sum of so many comparable trials that its law is smooth: the Fourier series of its density.

log phi(t) = sum_i log(1 - p_i + p_i exp(i w_i t)) is needed at some fifty frequencies. Trials whose weight is small
against the spread of the sum enter through their summed cumulants, so only the others cost a term per frequency.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorebars.laws.base import FloatArray, Law
from scorebars.laws.counts import bernstein_halfwidth
from scorebars.laws.fourier import FourierLaw

MOST_EVALUATIONS = 30_000_000
SILENT = 38.0  # -log |phi| at which a frequency no longer counts
LIGHT = 0.2  # weight * frequency below which eight cumulants replace log phi


def smooth_law(w: FloatArray, p: FloatArray, mean: float, std: float) -> Law | None:
    """The Fourier series of the density, where the characteristic function dies out soon enough."""
    highest = last_frequency(w, p)
    if highest is None:
        return None
    reach = bernstein_halfwidth(std * std)
    total = float(np.add.reduce(w))
    low = max(0.0, mean - reach)
    period = min(total, mean + reach) - low
    number = math.ceil(period * highest / (2 * math.pi))
    heavy = w * highest > LIGHT
    if number * (np.count_nonzero(heavy) + 50) > MOST_EVALUATIONS:
        return None
    t = 2 * math.pi / period * np.arange(1.0, number + 1)
    log_phi = cumulant_series(w[~heavy], p[~heavy], t)
    w, p = w[heavy], p[heavy]
    if w.size:
        for j, frequency in enumerate(t):
            angle = w * frequency
            with np.errstate(divide="ignore"):  # p = 1/2 at angle pi: phi is exactly 0
                log_size = 0.5 * np.log1p(-4 * p * (1 - p) * np.sin(angle / 2) ** 2)
            phase = np.arctan2(p * np.sin(angle), 1 - 2 * p * np.sin(angle / 2) ** 2) - p * angle
            log_phi[j] += np.add.reduce(log_size) + 1j * np.add.reduce(phase)
    phi = np.exp(log_phi + 1j * t * (mean - low))
    return FourierLaw(mean, std, low, period, phi, (0.0, total))


def last_frequency(w: FloatArray, p: FloatArray) -> float | None:
    """A frequency beyond which |phi| < exp(-SILENT), or None.

    For w t <= pi each trial gives |factor| <= exp(-2 p (1 - p) (w t / pi)^2); heavier trials give at most 1.
    """
    order = np.argsort(w)
    variance = np.cumsum((w * w * p * (1 - p))[order])
    t = math.pi / w[order]
    silent = 2 * (t / math.pi) ** 2 * variance >= SILENT
    if not np.any(silent):
        return None
    return math.pi * math.sqrt(SILENT / (2 * float(variance[silent][-1])))


def cumulant_series(w: FloatArray, p: FloatArray, t: FloatArray) -> Any:
    """log phi(t) - i t mean of light trials from their cumulants of order 2 to 8."""
    x, s = p * (1 - p), 1 - 2 * p
    shapes = (
        np.ones(p.size),
        s,
        1 - 6 * x,
        s * (1 - 12 * x),
        1 - x * (30 - 120 * x),
        s * (1 - x * (60 - 360 * x)),
        1 - x * (126 - x * (1680 - 5040 * x)),
    )
    power = w * w * x
    total = np.zeros(t.size, dtype=np.complex128)
    for order, shape in enumerate(shapes, start=2):
        total += complex(np.add.reduce(power * shape) * 1j**order / math.factorial(order)) * t**order
        power = power * w
    return total
