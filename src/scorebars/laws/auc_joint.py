"""Joint moments of a count of labels and a sum linear in the same labels.

Labels y_i ~ Bernoulli(p_i) are counted from their likeliest values: D = sum_i b_i (y_i - likely_i) and P = sum_i y_i.
Both functions give, for each value k of P: k, P(P = k), E[D; P = k] and E[D^2; P = k].
"""

from __future__ import annotations

import math

import numpy as np
from scipy.fft import irfft, next_fast_len

from scorebars.laws.base import FloatArray
from scorebars.laws.counts import bernstein_halfwidth

Joint = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def joint_by_adding(b: FloatArray, p: FloatArray) -> Joint:
    """Exact to rounding, also in relative terms, label after label: O(n^2)."""
    likely = p > 0.5
    rare = np.where(likely, 1 - p, p)
    down, up = np.flatnonzero(likely & (rare > 0)), np.flatnonzero(~likely & (rare > 0))
    joint = np.zeros((3, down.size + up.size + 1))
    joint[0, down.size] = 1.0
    low = high = down.size  # the range of P reached so far
    for i, step in [(i, -1) for i in down] + [(i, 1) for i in up]:
        reached = joint[:, low : high + 1]
        change = step * b[i]
        f, first, second = reached
        moved = rare[i] * np.stack([f, first + change * f, second + change * (2 * first + change * f)])
        reached *= 1 - rare[i]
        low, high = min(low, low + step), max(high, high + step)
        joint[:, low + (step > 0) : high + (step > 0)] += moved
    count = float(np.count_nonzero(likely)) - down.size + np.arange(joint.shape[1], dtype=float)
    return count, joint[0], joint[1], joint[2]


def joint_by_inversion(b: FloatArray, p: FloatArray) -> Joint:
    """From the characteristic function on a window that holds all but 1e-17 of the mass: O(n) at ~50 frequencies."""
    likely = p > 0.5
    rare = np.where(likely, 1 - p, p)
    step = np.where(likely, -1.0, 1.0)
    open_labels = rare > 0
    certain = float(np.count_nonzero(likely))
    rare, step, change = rare[open_labels], step[open_labels], (step * b)[open_labels]
    mean, variance = float(np.add.reduce(step * rare)), float(np.add.reduce(rare * (1 - rare)))
    reach = bernstein_halfwidth(variance)
    first = math.floor(max(-float(np.count_nonzero(step < 0)), mean - reach))
    last = math.ceil(min(float(np.count_nonzero(step > 0)), mean + reach))
    period = next_fast_len(last - first + 1, real=True)
    period += 1 - period % 2  # an odd period never asks at z = -1, where a label with p = 1/2 divides by zero
    t = 2 * math.pi / period * np.arange(period // 2 + 1, dtype=float)
    transforms = np.zeros((3, t.size), dtype=complex)
    squares = change * change
    for j in np.flatnonzero(2 * variance * np.sin(t / 2) ** 2 < 40.0):
        z = np.exp(1j * t[j] * step)
        factor = 1 + rare * (z - 1)
        share = rare * z / factor
        phi = np.exp(np.add.reduce(np.log(factor)))
        linear = np.add.reduce(change * share)
        transforms[:, j] = phi, phi * linear, phi * (linear**2 + np.add.reduce(squares * share * (1 - share)))
    shifted = np.conj(transforms * np.exp(-1j * t * first))
    f, one, two = irfft(shifted, period, axis=1)[:, : last - first + 1]
    return certain + first + np.arange(f.size, dtype=float), np.maximum(f, 0.0), one, np.maximum(two, 0.0)
