"""A metric of ranked items whose labels are uncertain and whose scores are not: what ROC AUC and average precision share.

Both divide by a random (weighted) number of positive labels, P = sum_i w_i y_i with independent y_i ~ Bernoulli(p_i). For
any quantity S that vanishes where P = 0, 1/P = int_0^inf exp(-s P) ds and 1/P^2 = int_0^inf s exp(-s P) ds give

    E[S / P] = int Phi(s) E_s[S] ds,      E[S / P^2] = int s Phi(s) E_s[S] ds,      Phi(s) = E exp(-s P),

where under E_s the labels are independent with the tilted probabilities p e^{-ws} / (1 - p + p e^{-ws}). No expansion
is involved: the integrals are exact however rare the positives are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.laws.discrete import MetricMoments, Outcomes
from scorebars.laws.law import RNG, Law, NormalLaw
from scorebars.laws.uncertain_labels import LISTED, list_labels

_INTEGRATED = 5_000  # labels: beyond, a nearly linear metric is expanded (delta method)
_NEARLY_LINEAR = 0.02  # std / mean of the number that the metric divides by
_DRAWS = 4000
_STEP = 0.125  # of the double-exponential rule s = exp(v - exp(-v)) / scale


class UncertainRanking(ABC):
    """A metric of items whose label i is positive with probability p_i; items have weights above 0.

    The distribution is listed for few uncertain labels, simulated, or normal for very many.
    """

    p_defined: float = 1.0
    """Probability that the metric is defined; labels that leave it undefined are conditioned away."""

    def __init__(self, p: FloatArray, w: FloatArray) -> None:
        self._p, self._w = p, w
        self._uncertain = int(np.count_nonzero((p > 0) & (p < 1)))

    @abstractmethod
    def _of_labels(self, labels: FloatArray) -> FloatArray:
        """The metric of each row of labels (m, n), nan where it is not defined."""

    @abstractmethod
    def _exact(self) -> tuple[float, float]:
        """Mean and variance."""

    @abstractmethod
    def _delta(self) -> tuple[float, float]:
        """Second-order mean and first-order variance."""

    @abstractmethod
    def _drawn(self, draws: int, rng: RNG) -> FloatArray | None:
        """The metric on drawn labels; None where they are so many that it is normal."""

    def _divisors(self) -> tuple[float, ...]:
        """Expected weights of what the metric divides by."""
        return (float(self._w @ self._p),)

    def moments(self) -> MetricMoments:
        return self._moments

    @cached_property
    def _moments(self) -> MetricMoments:
        if self._uncertain <= LISTED:
            return self._listed.moments()._replace(p_defined=self.p_defined)
        variance = float(np.square(self._w) @ (self._p * (1 - self._p)))
        if self._uncertain > _INTEGRATED and variance < (_NEARLY_LINEAR * min(self._divisors())) ** 2:
            return MetricMoments(*self._delta(), self.p_defined, "delta")
        return MetricMoments(*self._exact(), self.p_defined, "exact")

    def law(self) -> Law:
        if self._uncertain <= LISTED:
            return self._listed.law()
        values = self._drawn(_DRAWS, np.random.default_rng(0))
        if values is None:
            return NormalLaw(self._moments.mean, math.sqrt(self._moments.var), method="delta")
        return Outcomes.of_draws(values, None).law()

    @property
    def _listed(self) -> Outcomes:
        labels, chances = list_labels(np.stack([1 - self._p, self._p], axis=1))
        return Outcomes(self._of_labels(labels.astype(np.float64)), chances, None, "exact")


def tilted_labels(w: FloatArray, p: FloatArray) -> Iterator[tuple[float, float, FloatArray, FloatArray]]:
    """The points that matter, about 60: s, weight, and the tilted probabilities of a positive and of a negative label.

    E[S / P] = sum weight * E_s[S], and E[S / P^2] = sum weight * s * E_s[S].
    """
    present = -math.expm1(log_of_none(p))
    scale = float(np.add.reduce(w * p)) / present  # E[P | P > 0]
    total = 0.0
    for j in range(-30, 800):
        v = _STEP * j
        s = math.exp(v - math.exp(-v)) / scale
        fall = np.exp(-w * s)
        passed = 1 - p * -np.expm1(-w * s)
        if np.any(passed == 0):  # p = 1 and exp(-ws) = 0: Phi is 0 from here on
            return
        tilted = p * fall / passed
        weight = _STEP * s * (1 + math.exp(-v)) * math.exp(float(np.add.reduce(np.log(passed))))
        yield s, weight, tilted, (1 - p) / passed
        size = weight * (scale * s + 1) * float(np.add.reduce(tilted * w)) / scale
        total += size
        if j > 0 and size <= 1e-18 * total:
            return


def log_of_none(p: FloatArray) -> float:
    """log of the probability that all labels are negative."""
    with np.errstate(divide="ignore"):
        return float(np.add.reduce(np.log1p(-p)))
