"""Which of two classifiers has the higher accuracy on the same uncertain labels?

Only items on which they differ count. Such an item moves the difference of correct counts by +1 with probability a
(the label is A's prediction), by -1 with probability b (it is B's), and with K > 2 classes by 0 otherwise. With two
classes a + b = 1, and the difference is 2 PB(a) - n: a Poisson-binomial count.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BarycentricInterpolator

from scorebars.arrays import FloatArray
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.poisson_binomial import PoissonBinomial, convolve, invert_phi
from scorebars.laws.counts.weighted_bernoulli import BernoulliSum
from scorebars.laws.discrete import AtomicLaw, Atoms
from scorebars.laws.law import Law
from scorebars.laws.normal_law import NormalLaw

_CONVOLVED = 1000  # items


def accuracy_difference_law(p_a: ArrayLike, p_b: ArrayLike, total: float, weights: ArrayLike | None = None) -> Law:
    """The distribution of accuracy(A) - accuracy(B).

    `p_a`, `p_b`: for each item on which A and B differ, the probability that the label is A's or B's prediction;
    `total`: number of all items; with sample weights of the differing items, the total weight of all items. Exact
    without weights and for two classes; normal for weighted items of more classes.
    """
    a, b = np.asarray(p_a, dtype=float).ravel(), np.asarray(p_b, dtype=float).ravel()
    two_classes = bool(np.all(np.abs(a + b - 1) <= 1e-15))
    if weights is None:
        if two_classes:
            return ScaledLaw(PoissonBinomial(a), 2 / total, -a.size / total)
        return ScaledLaw(TrinomialSum(a, b), 1 / total)
    share = np.asarray(weights, dtype=float).ravel() / total
    if two_classes:
        return BernoulliSum(2 * share, a, shift=-float(np.add.reduce(share)))
    mean = float(np.add.reduce(share * (a - b)))
    return NormalLaw(mean, math.sqrt(float(np.add.reduce(share**2 * _variances(a, b)))), method="delta")


def _variances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Variance of a step of +1 with probability a and -1 with probability b, without cancellation."""
    stay = np.maximum(1 - a - b, 0.0)
    return stay * (a + b) + 4 * a * b


class TrinomialSum(AtomicLaw):
    """Sum of independent steps: +1 with probability a_i, -1 with probability b_i, else 0."""

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        self._a, self._b = np.asarray(a, dtype=float).ravel(), np.asarray(b, dtype=float).ravel()
        self._stay = np.maximum(1 - self._a - self._b, 0.0)
        low = np.count_nonzero(self._a == 1) - np.count_nonzero(self._b > 0)
        high = np.count_nonzero(self._a > 0) - np.count_nonzero(self._b == 1)
        self.support = (float(low), float(high))

    def _mean(self) -> float:
        return float(np.add.reduce(self._a - self._b))

    def _var(self) -> float:
        return float(np.add.reduce(_variances(self._a, self._b)))

    @cached_property
    def atoms(self) -> Atoms:
        if self._a.size <= _CONVOLVED:
            first, pmf = convolve((-1, row) for row in np.stack([self._b, self._stay, self._a], axis=1))
        else:
            first, pmf = invert_phi(self._mean(), self._var(), self.support, self._centred_log_phi, self._decay, 2.0)
        return Atoms.of(first + np.arange(pmf.size, dtype=float), pmf)

    def _decay(self, t: FloatArray) -> FloatArray:
        """A lower bound of -log |phi(t)|, from |phi_i|^2 = 1 - 2 [c (a + b)(1 - cos t) + a b (1 - cos 2t)]."""
        single, double = float(self._stay @ (self._a + self._b)), float(self._a @ self._b)
        return 2 * single * np.sin(t / 2) ** 2 + 2 * double * np.sin(t) ** 2

    def _centred_log_phi(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """At all frequencies from a few: log phi is analytic up to |t| = pi/2, where a factor may vanish."""
        last = float(t[-1])
        distance = math.pi / max(last, 1e-9) - 1  # of that point from the middle of [0, last], in half its length
        few = 2 + math.ceil(42 / math.log(distance + math.sqrt(distance * distance - 1))) if distance > 2 else t.size
        if few >= t.size:
            return self._summed_log_phi(t)
        nodes = last * np.sin(math.pi / 2 * np.arange(few) / (few - 1)) ** 2
        found = BarycentricInterpolator(nodes, np.stack(self._summed_log_phi(nodes), axis=1))(t)
        return found[:, 0], found[:, 1]

    def _summed_log_phi(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log |phi(t)| and arg phi(t) - t mean, item by item."""
        step, moves = self._a - self._b, self._a + self._b
        log_size, phase = np.empty(t.size), np.empty(t.size)
        for j, (sine, versine) in enumerate(zip(np.sin(t), 2 * np.sin(t / 2) ** 2, strict=True)):
            real, imaginary = 1 - moves * versine, step * sine
            with np.errstate(divide="ignore"):  # a factor of exactly 0
                log_size[j] = 0.5 * np.add.reduce(np.log(real * real + imaginary * imaginary))
            phase[j] = np.add.reduce(np.arctan2(imaginary, real) - t[j] * step)
        return log_size, phase
