"""Expectations with a random weighted count in the denominator.

Let P = sum_i w_i y_i with independent labels y_i ~ Bernoulli(p_i), and S any quantity that vanishes where P = 0. From
1/P = int_0^inf exp(-s P) ds and 1/P^2 = int_0^inf s exp(-s P) ds,

    E[S / P] = int Phi(s) E_s[S] ds,      E[S / P^2] = int s Phi(s) E_s[S] ds,      Phi(s) = E exp(-s P),

where under E_s the labels are independent with the tilted probabilities p e^{-ws} / (1 - p + p e^{-ws}). No expansion
is involved: the integrals are exact however rare the positives are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scorebars.laws.base import FloatArray

STEP = 0.075  # of the double-exponential rule s = exp(v - exp(-v)) / scale


class Node(NamedTuple):
    """One point of the rule: sum weight * E_s[S] for E[S / P], sum weight * s * E_s[S] for E[S / P^2].

    `p` and `not_p` are the tilted probabilities of a positive and of a negative label, each with its own digits.
    """

    s: float
    weight: float
    p: FloatArray
    not_p: FloatArray


def tilted_labels(w: FloatArray, p: FloatArray) -> Iterator[Node]:
    """The points that matter: about 110, more where the weights are very different."""
    present = -math.expm1(log_of_none(p))
    scale = float(np.add.reduce(w * p)) / present  # E[P | P > 0]
    total = 0.0
    for j in range(-50, 1300):
        v = STEP * j
        s = math.exp(v - math.exp(-v)) / scale
        fall = np.exp(-w * s)
        passed = 1 - p * -np.expm1(-w * s)
        certain = passed == 0  # p = 1 and exp(-ws) = 0: Phi is 0 from here on
        if np.any(certain):
            return
        tilted = p * fall / passed
        weight = STEP * s * (1 + math.exp(-v)) * math.exp(float(np.add.reduce(np.log(passed))))
        yield Node(s, weight, tilted, (1 - p) / passed)
        size = weight * (scale * s + 1) * float(np.add.reduce(tilted * w)) / scale
        total += size
        if j > 0 and size <= 1e-18 * total:
            return


def log_of_none(p: FloatArray) -> float:
    """log of the probability that all labels are negative."""
    with np.errstate(divide="ignore"):
        return float(np.add.reduce(np.log1p(-p)))
