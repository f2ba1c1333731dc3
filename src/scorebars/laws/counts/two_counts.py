"""Exact distributions of binary metrics under uncertain labels: two independent counts on a grid.

With fixed predictions the label errors of the predicted positives and of the predicted negatives are independent, so
every metric of the confusion matrix is a function f(TP, FN) of two independent Poisson-binomial counts. Mean, variance
and distribution follow from the grid of their joint probabilities, from which less than 1e-16 of the mass is cut.

Millions of labels make the grid too large. There both probability functions are smooth on the scale of many counts,
and a coarser grid of evenly spaced counts integrates them with an error that falls as exp(-2 pi^2 (std/spacing)^2).
The count that moves the metric more keeps the finer spacing; the result is then called "quadrature".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scorebars.arrays import FloatArray
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.discrete import MetricLaw, MetricMoments, Outcomes

_CUT = 1e-17  # mass left out at each end of each count
_MOST_CELLS = 400_000
_COARSE_POINTS = 128  # 7 points per standard deviation: more than a smooth probability function needs

BinaryMetric = Callable[[Any, Any, float, float], Any]
CountTable = tuple[FloatArray, FloatArray]


class BinaryCounts:
    """True positives among predicted positives and among predicted negatives, as independent random counts.

    `p_predicted_positive` and `p_predicted_negative` are the probabilities that the label is positive, for the items
    that are predicted positive and negative; `count_...` are multiplicities, as in `PoissonBinomial`.
    """

    def __init__(
        self,
        p_predicted_positive: ArrayLike,
        p_predicted_negative: ArrayLike,
        count_predicted_positive: ArrayLike | None = None,
        count_predicted_negative: ArrayLike | None = None,
    ) -> None:
        self.tp = PoissonBinomial(p_predicted_positive, count_predicted_positive)
        self.fn = PoissonBinomial(p_predicted_negative, count_predicted_negative)
        self.n_pos = float(self.tp.trials)
        self.n_neg = float(self.fn.trials)

    def _axes(self, f: BinaryMetric) -> tuple[CountTable, CountTable, str]:
        tp, fn = counts_and_chances(self.tp), counts_and_chances(self.fn)
        if tp[0].size * fn[0].size <= _MOST_CELLS:
            return tp, fn, "exact"
        if self._moved(f, self.tp.std, 0.0) >= self._moved(f, 0.0, self.fn.std):
            fn = coarser(fn, _COARSE_POINTS)
            return coarser(tp, _MOST_CELLS // fn[0].size), fn, "quadrature"
        tp = coarser(tp, _COARSE_POINTS)
        return tp, coarser(fn, _MOST_CELLS // tp[0].size), "quadrature"

    def _moved(self, f: BinaryMetric, by_tp: float, by_fn: float) -> float:
        """How far these steps of the counts, down and up from their means, move the metric."""
        side = np.array([-1.0, 1.0])
        ends = f(float(self.tp.mean) + by_tp * side, float(self.fn.mean) + by_fn * side, self.n_pos, self.n_neg)
        return float(np.nan_to_num(np.abs(np.diff(np.asarray(ends, dtype=float))))[0])

    def _outcomes(self, f: BinaryMetric, undefined: float | None) -> Outcomes:
        """Values of f on the grid with their probabilities."""
        tp, fn, method = self._axes(f)
        values = np.asarray(f(tp[0][:, None], fn[0][None, :], self.n_pos, self.n_neg), dtype=float)
        chances = tp[1][:, None] * fn[1][None, :]
        return Outcomes(np.broadcast_to(values, chances.shape).ravel(), chances.ravel(), undefined, method)

    def moments_of(self, f: BinaryMetric, undefined: float | None = None) -> MetricMoments:
        """Mean and variance of f(tp, fn, n_pos, n_neg).

        Where f is nan it takes the value `undefined`, or with None the moments are conditional on f being defined.
        """
        return self._outcomes(f, undefined).moments()

    def law_of(self, f: BinaryMetric, undefined: float | None = None) -> MetricLaw:
        """The distribution of f(tp, fn, n_pos, n_neg), with `undefined` as in `moments_of`."""
        return self._outcomes(f, undefined).law()


def counts_and_chances(law: PoissonBinomial) -> CountTable:
    """The counts that matter, and their probabilities."""
    atoms = law.atoms
    kept = (atoms.cdf > _CUT) & (atoms.sf + atoms.pmf > _CUT)
    return atoms.values[kept], atoms.pmf[kept]


def coarser(table: CountTable, points: int) -> CountTable:
    """At most that many multiples of one number, their probabilities scaled to a sum of 1.

    Multiples, so that the grid does not hang on the last digits of what is cut at the ends.
    """
    counts, pmf = table
    spacing = -(-counts.size // points)
    kept = slice(int(-counts[0] % spacing), None, spacing)
    return counts[kept], pmf[kept] / np.add.reduce(pmf[kept])
