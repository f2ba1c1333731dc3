"""Weighted sum of trials: the weights rounded to a fine lattice.

Each trial has a likely outcome and a rare one of odds r = P(rare)/P(likely). On a cyclic lattice long enough for all
the mass, with the step d_i of trial i rounded to k_i lattice units,

    log phi(t) = sum_i [-log(1 + r_i) + sum_m (-1)^(m+1) r_i^m / m exp(i m k_i t)],

so one Fourier transform of a histogram of the multiples m k_i gives log phi at all frequencies at once. Rounding moves
a value by at most half a unit for each trial that goes against expectation, and by nothing where none does. Where too
many trials are open for that, the heaviest are treated so and the sum of the lighter ones as normal.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.fft import irfft, rfft

from scorebars.laws.base import FloatArray
from scorebars.laws.counts import bernstein_halfwidth
from scorebars.laws.discrete import AtomicLaw, Atoms

POINTS = 1 << 18
SERIES_ODDS = 0.25  # larger odds converge slowly: those trials are convolved one by one
MOST_SINGLE = 400
MOST_DEVIATIONS = 1000.0


class RoundedLaw(AtomicLaw):
    """A law on lattice points base + k * unit whose true atoms lie within about half a unit of them."""

    method = "quadrature"

    def __init__(self, base: float, unit: float, first: int, pmf: FloatArray, mean: float, std: float) -> None:
        self._base, self._unit, self._first, self._pmf = base, unit, first, pmf
        self._centre, self._spread = mean, std
        self.support = (base + first * unit, base + (first + pmf.size - 1) * unit)

    @classmethod
    def of_trials(cls, w: FloatArray, p: FloatArray) -> RoundedLaw:
        """The law of sum w_i B_i with weights w > 0 and 0 < p < 1."""
        order = np.argsort(w)[::-1]
        w, p = w[order], p[order]
        likely = p > 0.5
        rare = np.where(likely, 1 - p, p)
        step = np.where(likely, -w, w)
        odds = rare / (1 - rare)
        mean, variance = float(np.add.reduce(step * rare)), float(np.add.reduce(step * step * rare * (1 - rare)))
        reach = bernstein_halfwidth(variance, float(w[0]))
        low = max(float(np.add.reduce(np.minimum(step, 0.0))), mean - reach)
        high = min(float(np.add.reduce(np.maximum(step, 0.0))), mean + reach)
        unit = (high - low) / (POINTS - 4)
        first = math.floor(low / unit) - 1
        k = np.rint(step / unit).astype(np.int64)
        single = odds > SERIES_ODDS
        own = (np.cumsum(single) <= MOST_SINGLE) & (np.cumsum(rare) <= MOST_DEVIATIONS)
        single, series, lumped = single & own, ~single & own, ~own
        shares = rare[lumped] * step[lumped] / unit
        pmf = cyclic_pmf(
            k[series],
            odds[series],
            float(np.add.reduce(shares)),
            float(np.add.reduce(shares * (step[lumped] / unit) * (1 - rare[lumped]))),
        )
        for jump, prob in zip(k[single], rare[single], strict=True):
            pmf = (1 - prob) * pmf + prob * np.roll(pmf, int(jump))
        pmf = np.maximum(np.roll(pmf, -first), 0.0)
        base = float(np.add.reduce(w[likely]))
        return cls(base, unit, first, pmf / np.add.reduce(pmf), base + mean, math.sqrt(variance))

    def _slack(self, x: FloatArray) -> FloatArray:
        return np.full(np.shape(x), 0.5 * self._unit)

    @cached_property
    def atoms(self) -> Atoms:
        return Atoms.of(self._base + self._unit * (self._first + np.arange(self._pmf.size, dtype=float)), self._pmf)

    def _mean(self) -> float:
        return self._centre

    def _std(self) -> float:
        return self._spread

    def _var(self) -> float:
        return self._spread * self._spread


def cyclic_pmf(k: FloatArray, odds: FloatArray, mean: float, variance: float) -> FloatArray:
    """Probabilities on POINTS lattice points, cyclically, of the sum of k_i over the trials that deviate.

    A normal variable of the given mean and variance is added, or its rounded mean where it is narrower than a unit.
    """
    histogram = np.zeros(POINTS)
    power, m = odds.copy(), 1
    while power.size and float(np.add.reduce(power)) / m > 1e-18:
        sign = 1.0 if m % 2 else -1.0
        histogram += np.bincount(m * k % POINTS, sign / m * power, minlength=POINTS)
        power = power * odds
        m += 1
    log_phi = rfft(histogram) - float(np.add.reduce(np.log1p(odds)))
    if mean != 0 or variance > 0:
        t = 2 * math.pi / POINTS * np.arange(log_phi.size, dtype=float)
        log_phi -= 1j * t * round(mean) if variance < 1 else 1j * t * mean + variance * t**2 / 2
    return np.asarray(irfft(np.exp(log_phi), POINTS))
