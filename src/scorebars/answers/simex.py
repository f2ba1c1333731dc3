"""The score against the truth of a kinked loss, by extrapolation from more noise to none (SIMEX in closed form).

The mean loss with extra label noise of variance lam * s^2 is known in closed form for lam >= 0. A parabola through
lam = 0, 0.5, 1, 1.5, 2, read at lam = -1 (no label error at all), estimates the loss against the truth. It is linear in
the five values, so it is a mean of per-label terms.
"""

from __future__ import annotations

import math

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.special import folded_mean

LEVELS = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(12)
_NODE_WEIGHTS = _NODE_WEIGHTS / math.sqrt(2 * math.pi)


def _coefficients() -> FloatArray:
    """What each level contributes to the least-squares parabola at lam = -1."""
    powers = np.vander(LEVELS, 3)
    at_minus_one = np.array([1.0, -1.0, 1.0])
    return np.asarray(at_minus_one @ np.linalg.pinv(powers), dtype=np.float64)


COEFFICIENTS = _coefficients()


def folded_at(residual: FloatArray, tau2: FloatArray) -> FloatArray:
    """E|residual + error| of each label at error variance tau2; where tau2 < 0, extrapolated to less error."""
    smooth = folded_mean(residual, np.sqrt(np.maximum(tau2, 0.0)))
    if not np.any(tau2 < 0):
        return smooth
    s = np.sqrt(np.maximum(-tau2, 0.0))
    extrapolated = np.zeros_like(smooth)
    for level, coefficient in zip(LEVELS, COEFFICIENTS, strict=True):
        extrapolated += coefficient * folded_mean(residual, math.sqrt(level) * s)
    return np.where(tau2 < 0, extrapolated, smooth)


def term_variance(residual: FloatArray, tau2: FloatArray, sd: FloatArray) -> FloatArray:
    """Variance of each label's term when its residual moves by errors of standard deviation sd."""
    first, second = np.zeros_like(residual), np.zeros_like(residual)
    centre = folded_at(residual, tau2)
    for node, weight in zip(_NODES, _NODE_WEIGHTS, strict=True):
        change = folded_at(residual + node * sd, tau2) - centre
        first += weight * change
        second += weight * change * change
    return np.maximum(second - first * first, 0.0)
