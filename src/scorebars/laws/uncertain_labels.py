"""Any metric of independent labels: all outcomes listed where few labels are uncertain, else drawn.

Draws carry simulation noise. Where the metric's slopes are known, its linear part is taken out of the draws and put back
exactly, so that only what is not linear is noisy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from scorebars.arrays import FloatArray, IntArray
from scorebars.laws.discrete import MetricMoments, Outcomes
from scorebars.laws.law import RNG, Law
from scorebars.laws.samples import SampleLaw

LISTED = 12
"""So many uncertain labels of two classes have all their outcomes listed."""
_MOST_DRAWS, _LEAST_DRAWS = 4000, 500
_WORK = 10_000_000  # labels in all draws
_BLOCK = 2_000_000  # labels drawn at a time


def few_outcomes(p: FloatArray, most: int = 1 << LISTED) -> bool:
    """Whether labels with probabilities p (n, K) have at most so many outcomes."""
    return float(np.add.reduce(np.log(np.add.reduce(p > 0, axis=1)))) <= math.log(most) + 1e-9


def list_labels(p: FloatArray) -> tuple[IntArray, FloatArray]:
    """All possible labels (m, n) with their probabilities (m,) when label i is class k with probability p[i, k]."""
    possible = p > 0
    free = np.flatnonzero(np.add.reduce(possible, axis=1) > 1)
    listed = np.array(list(product(*(np.flatnonzero(row) for row in possible[free]))), dtype=np.int64)
    labels = np.repeat(np.argmax(p, axis=1)[None], len(listed), axis=0)
    labels[:, free] = listed
    return labels, np.prod(np.take_along_axis(p[free], listed.T, axis=1), axis=0)


def label_changes(leave: FloatArray, draws: int, rng: RNG, at_least_one: bool = False) -> tuple[IntArray, IntArray]:
    """Pairs (item, draw), one for each change: item i changes in a draw with probability leave[i], independently.

    A Poisson process of rate -log(1 - leave) per item and draw has a point there with exactly that probability. With
    `at_least_one` every draw is conditioned to have a change: its first changed item is drawn from the distribution of
    the first, and the items after it as before.
    """
    rates = -np.log1p(-leave)
    item = np.repeat(np.arange(leave.size), rng.poisson(rates * draws))
    # an item changes once in a draw, however many points it has there
    pair = np.sort(item * draws + rng.integers(draws, size=item.size))
    item, draw = np.divmod(pair[np.diff(pair, prepend=-1) > 0], draws)
    if not at_least_one:
        return item, draw
    # P(first change at or before item i) = 1 - exp(-ends_i), given that there is one
    ends = np.cumsum(rates)
    u = rng.random(draws) * -np.expm1(-ends[-1])
    first = np.minimum(np.searchsorted(-np.expm1(-ends), u, side="right"), leave.size - 1)
    later = item > first[draw]
    return np.concatenate([first, item[later]]), np.concatenate([np.arange(draws), draw[later]])


class UncertainLabels:
    """The metric `values` of n labels, label i of class k with probability p[i, k].

    `values` takes labels (d, n) and gives (d,), nan where the metric is not defined: such labels are conditioned away.
    `slopes` (n, K) are its derivatives at p, or None. Draws have a fixed seed; `mean` replaces theirs where it is known.
    """

    def __init__(
        self,
        values: Callable[[Any], FloatArray],
        p: FloatArray,
        slopes: FloatArray | None = None,
        mean: float | None = None,
        draws: int | None = None,
    ) -> None:
        self._values, self._p, self._slopes, self._mean = values, p, slopes, mean
        self._draws = draws or int(np.clip(_WORK // len(p), _LEAST_DRAWS, _MOST_DRAWS))

    @cached_property
    def _found(self) -> tuple[Outcomes, MetricMoments]:
        p, slopes = self._p, self._slopes
        if few_outcomes(p):
            labels, chances = list_labels(p)
            listed = Outcomes(self._values(labels), chances, None, "exact")
            return listed, listed.moments()
        rng, ends = np.random.default_rng(0), np.cumsum(p, axis=1)[:, :-1]
        block = max(1, _BLOCK // len(p))
        found, linear = np.empty(self._draws), np.zeros(self._draws)
        centre = 0.0 if slopes is None else float(np.add.reduce(p * slopes, axis=None))
        for start in range(0, self._draws, block):
            part = slice(start, min(start + block, self._draws))
            u = rng.random((part.stop - start, len(p)))
            labels = np.add.reduce([u >= end for end in ends.T], axis=0, dtype=np.int64)
            found[part] = self._values(labels)
            if slopes is not None:
                linear[part] = np.add.reduce(slopes[np.arange(len(p)), labels], axis=1) - centre
        drawn = Outcomes.of_draws(found, None)
        if slopes is None:
            moments = drawn.moments()
            return drawn, moments if self._mean is None else moments._replace(mean=self._mean)
        variance = np.add.reduce(p * np.square(slopes), axis=1) - np.square(np.add.reduce(p * slopes, axis=1))
        return drawn, drawn.moments_beside(linear, float(np.add.reduce(variance)))

    def moments(self) -> MetricMoments:
        return self._found[1]

    def law(self) -> Law:
        outcomes, moments = self._found
        if outcomes.method == "exact":
            return outcomes.law()
        return SampleLaw(outcomes.values, mean=moments.mean, var=moments.var)
