"""Any metric of independent binary labels: all outcomes listed where few labels are uncertain, else drawn.

Draws carry simulation noise. Where the metric's slopes are known, its linear part is taken out of the draws and put back
exactly, so that only what is not linear is noisy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import product

import numpy as np

from scorebars.arrays import FloatArray
from scorebars.laws.discrete import MetricMoments, Outcomes
from scorebars.laws.law import Law
from scorebars.laws.samples import SampleLaw

LISTED = 12
"""So many uncertain labels have all their outcomes listed."""
_MOST_DRAWS, _LEAST_DRAWS = 4000, 500
_WORK = 10_000_000  # labels in all draws
_BLOCK = 2_000_000  # labels drawn at a time


def list_labels(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """All possible labels (m, n) with their probabilities (m,) when label i is positive with probability p_i."""
    uncertain = np.flatnonzero((p > 0) & (p < 1))
    labels = np.repeat((p >= 1)[None].astype(np.float64), 1 << uncertain.size, axis=0)
    labels[:, uncertain] = np.array(list(product((0.0, 1.0), repeat=uncertain.size)))
    return labels, np.prod(np.where(labels[:, uncertain] > 0, p[uncertain], 1.0 - p[uncertain]), axis=1)


class BinaryLabels:
    """The metric `values` of N labels, label i positive with probability p_i.

    `values` takes labels (d, N) and gives (d,), nan where the metric is not defined: such labels are conditioned away.
    `slopes` (N,) are its derivatives at p, or None.
    """

    def __init__(
        self, values: Callable[[FloatArray], FloatArray], p: FloatArray, slopes: FloatArray | None = None
    ) -> None:
        self._values, self._p, self._slopes = values, p, slopes

    @cached_property
    def _found(self) -> tuple[Outcomes, MetricMoments]:
        p, slopes = self._p, self._slopes
        if np.count_nonzero((p > 0) & (p < 1)) <= LISTED:
            labels, chances = list_labels(p)
            listed = Outcomes(self._values(labels), chances, None, "exact")
            return listed, listed.moments()
        rng = np.random.default_rng(0)
        number = int(np.clip(_WORK // p.size, _LEAST_DRAWS, _MOST_DRAWS))
        block = max(1, _BLOCK // p.size)
        found, linear = np.empty(number), np.zeros(number)
        for start in range(0, number, block):
            part = slice(start, min(start + block, number))
            labels = (rng.random((part.stop - start, p.size)) < p).astype(np.float64)
            found[part] = self._values(labels)
            if slopes is not None:
                linear[part] = (labels - p) @ slopes
        drawn = Outcomes.of_draws(found, None)
        if slopes is None:
            return drawn, drawn.moments()
        return drawn, drawn.moments_beside(linear, float(np.square(slopes) @ (p * (1.0 - p))))

    def moments(self) -> MetricMoments:
        return self._found[1]

    def law(self) -> Law:
        outcomes, moments = self._found
        if outcomes.method == "exact":
            return outcomes.law().law
        return SampleLaw(outcomes.values, mean=moments.mean, var=moments.var)
