"""Any metric of independent binary labels: all outcomes listed where few labels are uncertain, else drawn.

Draws carry simulation noise. Where the metric's slopes are known, its linear part is taken out of the draws and put back
exactly, so that only what is not linear is noisy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from itertools import product

import numpy as np

from scorebars.laws.base import FloatArray, Law
from scorebars.laws.outcomes import MetricMoments, Outcomes
from scorebars.laws.samples import SampleLaw

LISTED = 12
"""So many uncertain labels have all their outcomes listed."""
MOST_DRAWS, LEAST_DRAWS = 4000, 500
WORK = 10_000_000
BLOCK = 2_000_000

Values = Callable[[FloatArray], FloatArray]


class BinaryLabels:
    """The metric `values` of N labels, label i positive with probability p_i.

    `values` takes labels (d, N) and gives (d,), nan where the metric is not defined: such labels are conditioned away.
    `slopes` (N,) are its derivatives at p, or None.
    """

    def __init__(self, values: Values, p: FloatArray, slopes: FloatArray | None = None) -> None:
        self._values, self._p, self._slopes = values, p, slopes
        self._uncertain = np.flatnonzero((p > 0) & (p < 1))

    @cached_property
    def _found(self) -> tuple[Outcomes, FloatArray | None]:
        """The outcomes, and the linear part of the metric in each draw."""
        open_labels = self._uncertain
        if open_labels.size <= LISTED:
            labels = np.repeat((self._p >= 1)[None].astype(np.float64), 1 << open_labels.size, axis=0)
            labels[:, open_labels] = np.array(list(product((0.0, 1.0), repeat=open_labels.size)))
            p = self._p[open_labels]
            chances = np.prod(np.where(labels[:, open_labels] > 0, p, 1.0 - p), axis=1)
            return Outcomes(self._values(labels), chances, None, "exact"), None
        rng = np.random.default_rng(0)
        number = int(np.clip(WORK // self._p.size, LEAST_DRAWS, MOST_DRAWS))
        block = max(1, BLOCK // self._p.size)
        found, linear = np.empty(number), np.zeros(number)
        for start in range(0, number, block):
            part = slice(start, min(start + block, number))
            labels = (rng.random((part.stop - start, self._p.size)) < self._p).astype(np.float64)
            found[part] = self._values(labels)
            if self._slopes is not None:
                linear[part] = (labels - self._p) @ self._slopes
        return Outcomes.of_draws(found, None), linear

    @cached_property
    def _moments(self) -> MetricMoments:
        outcomes, linear = self._found
        plain = outcomes.moments()
        if linear is None or self._slopes is None or plain.p_defined < 1:
            return plain
        rest = outcomes.values - linear
        exact = float(np.add.reduce(np.square(self._slopes) * self._p * (1.0 - self._p)))
        var = plain.var + exact - float(np.var(linear))
        error = float(np.std(rest)) / math.sqrt(rest.size)
        return MetricMoments(float(np.mean(rest)), var if var > 0 else plain.var, 1.0, "simulation", error)

    def moments(self) -> MetricMoments:
        return self._moments

    def law(self) -> Law:
        outcomes = self._found[0]
        if outcomes.method == "exact":
            return outcomes.law().law
        return SampleLaw(outcomes.values, mean=self._moments.mean, var=self._moments.var)
