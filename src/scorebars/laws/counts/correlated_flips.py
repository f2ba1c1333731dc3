"""Labels that are wrong together: flips with one common pairwise correlation.

A shared cause (one annotator, one batch, one calibration) makes labels wrong together. Model: one hidden two-point
variable h with mean 0 and variance 1, equal to sqrt((1-pi)/pi) with probability pi and else -sqrt(pi/(1-pi)). Given h
the flips are independent with probability

    r_i = q_i + sqrt(rho q_i (1 - q_i)) h,

so flip i keeps its probability q_i and every pair its correlation rho. All r_i lie in [0, 1] when the odds of pi lie
between rho * (largest odds of q) and (smallest odds of q) / rho; the odds of the mean q are taken, or the nearest end
of that range. Labels with q = 0 or 1 never vary and set no limit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from scorebars.arrays import FloatArray


def conditional_flip_probabilities(q: ArrayLike, rho: float) -> tuple[FloatArray, FloatArray]:
    """Weights (2,) of the two states of the shared cause, and the flip probabilities (2, n) in each of them."""
    flip = np.asarray(q, dtype=float).ravel()
    varying = flip[(flip > 0) & (flip < 1)]
    odds = varying / (1 - varying)
    if odds.size == 0 or rho == 0:
        return np.array([0.5, 0.5]), np.stack([flip, flip])
    lowest, highest = rho * float(np.max(odds)), float(np.min(odds)) / rho
    if lowest > highest * (1 + 1e-12):
        raise ValueError(
            f"correlation={rho:g} cannot be shared by flip probabilities between {np.min(varying):g} and "
            f"{np.max(varying):g}: at most {math.sqrt(float(np.min(odds) / np.max(odds))):.6g} is possible. "
            "Lower the correlation or make the flip probabilities more alike."
        )
    mean = float(np.mean(varying))
    shared = min(max(mean / (1 - mean), lowest), highest)
    scale = np.sqrt(rho * flip * (1 - flip))
    r = np.stack([flip + scale / math.sqrt(shared), flip - scale * math.sqrt(shared)])
    # rounding at the ends of the feasible range: a certain flip is exactly certain
    r = np.where(r > 1 - 8e-16, 1.0, np.where(r < 8e-16 * flip, 0.0, r))
    pi = shared / (1 + shared)
    return np.array([pi, 1 - pi]), r
