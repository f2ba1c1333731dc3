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
from scorebars.laws.discrete import MetricLaw, MetricMoments, Outcomes
from scorebars.laws.law import RNG
from scorebars.laws.normal_law import NormalLaw
from scorebars.laws.ranking.binary_labels import LISTED, list_labels

_INTEGRATED = 5_000  # labels: beyond, a nearly linear metric is expanded (delta method)
_NEARLY_LINEAR = 0.02  # std / mean of the number that the metric divides by
_DRAWS = 4000
_STEP = 0.125  # of the double-exponential rule s = exp(v - exp(-v)) / scale


class UncertainRanking(ABC):
    """A metric of items whose label i is positive with probability p_i; items have weights above 0.

    The distribution is listed for few uncertain labels, simulated, or normal for very many. Where the metric is not defined
    it takes the value `undefined`, or with None that case is conditioned away.
    """

    _refusal: str  # what is said where no labels give the metric a value

    def __init__(self, p: FloatArray, w: FloatArray) -> None:
        self._p, self._w = p, w
        self._found: dict[float | None, MetricMoments] = {}
        self._uncertain = int(np.count_nonzero((p > 0) & (p < 1)))

    @cached_property
    @abstractmethod
    def p_defined(self) -> float:
        """Probability that the metric is defined."""

    @abstractmethod
    def _of_labels(self, labels: FloatArray) -> FloatArray:
        """The metric of each row of labels (m, n), nan where it is not defined."""

    @abstractmethod
    def _exact(self) -> tuple[float, float]:
        """E[metric; defined] and its variance given that it is defined, the mean divided by `p_defined`."""

    @abstractmethod
    def _delta(self) -> tuple[float, float]:
        """Second-order mean and first-order variance."""

    @abstractmethod
    def _drawn(self, draws: int, rng: RNG, given_defined: bool) -> FloatArray | None:
        """The metric on drawn labels; None where they are so many that it is normal."""

    def _divisors(self) -> tuple[float, ...]:
        """Expected weights of what the metric divides by."""
        return (float(self._w @ self._p),)

    def _nearly_linear(self) -> bool:
        variance = float(np.square(self._w) @ (self._p * (1 - self._p)))
        return variance < (_NEARLY_LINEAR * min(self._divisors())) ** 2

    def moments(self, undefined: float | None = None) -> MetricMoments:
        """Mean and variance."""
        if undefined not in self._found:
            self._found[undefined] = self._moments(undefined)
        return self._found[undefined]

    def _moments(self, undefined: float | None) -> MetricMoments:
        if self.p_defined == 0 and undefined is None:
            raise ValueError(self._refusal)
        if self._uncertain <= LISTED:
            return self._listed(undefined).moments()._replace(p_defined=self.p_defined)
        if self._uncertain > _INTEGRATED and self._nearly_linear():
            return MetricMoments(*self._delta(), self.p_defined, "delta")
        mean, variance = self._exact()
        if undefined is not None and self.p_defined < 1:
            present, missing = self.p_defined, 1 - self.p_defined
            variance = present * variance + present * missing * (mean - undefined) ** 2
            mean = present * mean + missing * undefined
        return MetricMoments(mean, variance, self.p_defined, "exact")

    def law(self, undefined: float | None = None, draws: int = _DRAWS, rng: RNG | int | None = 0) -> MetricLaw:
        """The distribution."""
        if self._uncertain <= LISTED:
            return self._listed(undefined).law()._replace(p_defined=self.p_defined)
        values = self._drawn(draws, np.random.default_rng(rng), undefined is None)
        if values is None:
            moments = self.moments(undefined)
            return MetricLaw(NormalLaw(moments.mean, math.sqrt(moments.var), method="delta"), self.p_defined)
        return Outcomes.of_draws(values, undefined).law()._replace(p_defined=self.p_defined)

    def _listed(self, undefined: float | None) -> Outcomes:
        labels, chances = list_labels(self._p)
        return Outcomes(self._of_labels(labels), chances, undefined, "exact")


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
