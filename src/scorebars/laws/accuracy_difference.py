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

from scorebars.laws.affine import ScaledLaw
from scorebars.laws.base import FloatArray, Law
from scorebars.laws.counts import invert_on_window
from scorebars.laws.discrete import AtomicLaw, Atoms
from scorebars.laws.normal import NormalLaw
from scorebars.laws.poisson_binomial import PoissonBinomial, trim
from scorebars.laws.weighted_bernoulli import BernoulliSum

DIRECT_LIMIT = 1000
SUMMED_ONE_BY_ONE = 100_000


def accuracy_difference_law(p_a: ArrayLike, p_b: ArrayLike, total: float, weights: ArrayLike | None = None) -> Law:
    """The law of accuracy(A) - accuracy(B).

    `p_a`, `p_b`: for each item on which A and B differ, the probability that the label is A's or B's prediction;
    `total`: number of all items; with sample weights of the differing items, the total weight of all items. Exact
    without weights and for two classes; the normal law for weighted items of more classes.
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
    return NormalLaw(mean, math.sqrt(float(np.add.reduce(share**2 * variances(a, b)))), method="delta")


def variances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Variance of a step of +1 with probability a and -1 with probability b, without cancellation."""
    stay = np.maximum(1 - a - b, 0.0)
    return stay * (a + b) + 4 * a * b


class TrinomialSum(AtomicLaw):
    """Sum of independent steps: +1 with probability a_i, -1 with probability b_i, else 0."""

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        self._a, self._b = np.asarray(a, dtype=float).ravel(), np.asarray(b, dtype=float).ravel()
        low = np.count_nonzero(self._a == 1) - np.count_nonzero(self._b > 0)
        high = np.count_nonzero(self._a > 0) - np.count_nonzero(self._b == 1)
        self.support = (float(low), float(high))

    def _mean(self) -> float:
        return float(np.add.reduce(self._a - self._b))

    def _var(self) -> float:
        return float(np.add.reduce(variances(self._a, self._b)))

    @cached_property
    def atoms(self) -> Atoms:
        if self._a.size <= DIRECT_LIMIT:
            first, pmf = self._convolved()
        else:
            low, high = self.support
            first, pmf = invert_on_window(
                self._mean(), self._var(), int(low), int(high), self._centred_log_phi, self._decay, largest_step=2.0
            )
        return Atoms.of(first + np.arange(pmf.size, dtype=float), pmf)

    def _convolved(self) -> tuple[int, FloatArray]:
        """Direct convolution in pairs of neighbours: relative accuracy in both tails."""
        stay = np.maximum(1 - self._a - self._b, 0.0)
        parts = [trim(-1, row) for row in np.stack([self._b, stay, self._a], axis=1)] or [(0, np.ones(1))]
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            merged = [trim(i + j, np.convolve(x, y)) for (i, x), (j, y) in pairs]
            parts = merged + parts[2 * len(merged) :]
        return parts[0]

    def _decay(self, t: FloatArray) -> FloatArray:
        """A lower bound of -log |phi(t)|, from |phi_i|^2 = 1 - 2 [c (a + b)(1 - cos t) + a b (1 - cos 2t)]."""
        stay = np.maximum(1 - self._a - self._b, 0.0)
        single = float(np.add.reduce(stay * (self._a + self._b)))
        double = float(np.add.reduce(self._a * self._b))
        return 2 * single * np.sin(t / 2) ** 2 + 2 * double * np.sin(t) ** 2

    def _centred_log_phi(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log |phi(t)| and arg phi(t) - t mean."""
        if self._a.size > SUMMED_ONE_BY_ONE and t[-1] < 0.3:
            return self._cumulant_series(t)
        step, moves = self._a - self._b, self._a + self._b
        log_size, phase = np.empty(t.size), np.empty(t.size)
        for j, (sine, versine) in enumerate(zip(np.sin(t), 2 * np.sin(t / 2) ** 2, strict=True)):
            real, imaginary = 1 - moves * versine, step * sine
            with np.errstate(divide="ignore"):  # a factor of exactly 0
                log_size[j] = 0.5 * np.add.reduce(np.log(real * real + imaginary * imaginary))
            phase[j] = np.add.reduce(np.arctan2(imaginary, real) - t[j] * step)
        return log_size, phase

    def _cumulant_series(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same for very many items from their cumulants 2 to 6; odd raw moments are a - b, even ones a + b."""
        m, s = self._a - self._b, self._a + self._b
        k2 = variances(self._a, self._b)
        m2, s2 = m * m, s * s
        k3 = m * (1 - 3 * s + 2 * m2)
        k4 = s - 4 * m2 - 3 * s2 + 12 * s * m2 - 6 * m2 * m2
        k5 = m * (1 - 15 * s + 20 * m2 + 30 * s2 - 60 * s * m2 + 24 * m2 * m2)
        k6 = s - 15 * s2 + 30 * s * s2 - m2 * (16 - 150 * s + 270 * s2 + m2 * (120 - 360 * s + 120 * m2))
        c2, c3, c4, c5, c6 = (float(np.add.reduce(k)) for k in (k2, k3, k4, k5, k6))
        return -c2 * t**2 / 2 + c4 * t**4 / 24 - c6 * t**6 / 720, -c3 * t**3 / 6 + c5 * t**5 / 120
