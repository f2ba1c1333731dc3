"""From values and their probabilities to moments and a law, with values that may be undefined (0/0).

Recall has no value when no label is positive. Two conventions: put a given value in its place, or condition on the
metric being defined. Either way the probability of being defined is reported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scorebars.laws.base import FloatArray, Law
from scorebars.laws.discrete import DiscreteLaw


class MetricMoments(NamedTuple):
    """Mean and variance of a metric, the probability that it is defined, and how they were found.

    `mean_error` is the standard error of a simulated mean, 0 otherwise.
    """

    mean: float
    var: float
    p_defined: float
    method: str
    mean_error: float = 0.0


class MetricLaw(NamedTuple):
    """The law of a metric and the probability that it is defined."""

    law: Law
    p_defined: float


class Outcomes:
    """Values of a metric with their probabilities; nan marks an undefined one.

    Undefined values are replaced by `undefined`, or left out (conditioned away) when that is None.
    """

    def __init__(self, values: FloatArray, chances: FloatArray, undefined: float | None, method: str) -> None:
        missing = np.isnan(values)
        self.method, self.p_defined = method, 1.0
        if np.any(missing):
            self.p_defined = float(np.add.reduce(chances[~missing]) / np.add.reduce(chances))
            if undefined is not None:
                values = np.where(missing, undefined, values)
            elif self.p_defined == 0:
                raise ValueError("the metric is undefined (0/0) for all labels that these probabilities allow")
            else:
                values, chances = values[~missing], chances[~missing]
        self.values, self.chances = values, chances

    @classmethod
    def of_draws(cls, values: FloatArray, undefined: float | None) -> Outcomes:
        """Simulated values, all equally likely."""
        return cls(values, np.full(values.shape, 1 / values.size), undefined, "simulation")

    def moments(self) -> MetricMoments:
        total = np.add.reduce(self.chances)
        mean = float(np.add.reduce(self.chances * self.values) / total)
        var = float(np.add.reduce(self.chances * (self.values - mean) ** 2) / total)
        error = (var / self.values.size) ** 0.5 if self.method == "simulation" else 0.0
        return MetricMoments(mean, var, self.p_defined, self.method, error)

    def law(self) -> MetricLaw:
        return MetricLaw(DiscreteLaw(self.values, self.chances, self.method), self.p_defined)
