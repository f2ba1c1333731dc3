"""Exact laws of binary metrics under uncertain labels: two independent counts on a grid.

With fixed predictions the label errors of the predicted positives and of the predicted negatives are independent, so
every metric of the confusion matrix is a function f(TP, FN) of two independent Poisson-binomial counts. Mean, variance
and law follow from the grid of their joint probabilities, from which less than 1e-16 of the mass is cut.

Millions of labels make the grid too large. There both probability functions are smooth on the scale of many counts,
and a coarser grid of evenly spaced counts integrates them with an error that falls as exp(-2 pi^2 (std/spacing)^2).
The count that moves the metric more keeps the finer spacing; the result is then called "quadrature".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scorebars.laws.base import FloatArray
from scorebars.laws.outcomes import MetricLaw, MetricMoments, Outcomes
from scorebars.laws.poisson_binomial import PoissonBinomial, counted_trials

CUT = 1e-17  # mass left out at each end of each count
MOST_CELLS = 400_000
COARSE_POINTS = 128  # 7 points per standard deviation: more than a smooth probability function needs

BinaryMetric = Callable[[Any, Any, float, float], Any]


@dataclass(frozen=True)
class Axis:
    """Counts and their probabilities."""

    counts: FloatArray
    pmf: FloatArray

    @classmethod
    def of(cls, law: PoissonBinomial) -> Axis:
        atoms = law.atoms
        kept = (atoms.cdf > CUT) & (atoms.sf + atoms.pmf > CUT)
        return cls(atoms.values[kept], atoms.pmf[kept])

    def coarser(self, points: int) -> Axis:
        """At most that many multiples of one number, their probabilities scaled to a sum of 1.

        Multiples, so that the grid does not hang on the last digits of what is cut at the ends.
        """
        spacing = -(-self.counts.size // points)
        kept = slice(int(-self.counts[0] % spacing), None, spacing)
        return Axis(self.counts[kept], self.pmf[kept] / np.add.reduce(self.pmf[kept]))

    @property
    def spread(self) -> tuple[float, float]:
        """Mean minus and plus one standard deviation."""
        mean = float(np.add.reduce(self.pmf * self.counts))
        std = math.sqrt(float(np.add.reduce(self.pmf * (self.counts - mean) ** 2)))
        return mean - std, mean + std


class BinaryCounts:
    """True positives among predicted positives and among predicted negatives, as independent random counts.

    `p_predicted_positive` and `p_predicted_negative` are the probabilities that the label is positive, for the items
    that are predicted positive and negative; `count_...` are multiplicities, as in `counted_trials`.
    """

    def __init__(
        self,
        p_predicted_positive: ArrayLike,
        p_predicted_negative: ArrayLike,
        count_predicted_positive: ArrayLike | None = None,
        count_predicted_negative: ArrayLike | None = None,
    ) -> None:
        self.tp = _trials(p_predicted_positive, count_predicted_positive)
        self.fn = _trials(p_predicted_negative, count_predicted_negative)
        self.n_pos = float(self.tp.trials)
        self.n_neg = float(self.fn.trials)

    def _axes(self, f: BinaryMetric) -> tuple[Axis, Axis, str]:
        tp, fn = Axis.of(self.tp), Axis.of(self.fn)
        if tp.counts.size * fn.counts.size <= MOST_CELLS:
            return tp, fn, "exact"
        moved_by_tp, moved_by_fn = self._influence(f, tp, fn)
        if moved_by_tp >= moved_by_fn:
            fn = fn.coarser(COARSE_POINTS)
            tp = tp.coarser(MOST_CELLS // fn.counts.size)
        else:
            tp = tp.coarser(COARSE_POINTS)
            fn = fn.coarser(MOST_CELLS // tp.counts.size)
        return tp, fn, "quadrature"

    def _influence(self, f: BinaryMetric, tp: Axis, fn: Axis) -> tuple[float, float]:
        """How far one standard deviation of each count moves the metric."""
        (tp_low, tp_high), (fn_low, fn_high) = tp.spread, fn.spread
        corners = f(
            np.array([tp_low, tp_high, (tp_low + tp_high) / 2, (tp_low + tp_high) / 2]),
            np.array([(fn_low + fn_high) / 2, (fn_low + fn_high) / 2, fn_low, fn_high]),
            self.n_pos,
            self.n_neg,
        )
        moved = np.nan_to_num(np.abs(np.diff(np.asarray(corners, dtype=float))))
        return float(moved[0]), float(moved[2])

    def _outcomes(self, f: BinaryMetric, undefined: float | None) -> Outcomes:
        """Values of f on the grid with their probabilities."""
        tp, fn, method = self._axes(f)
        values = np.asarray(f(tp.counts[:, None], fn.counts[None, :], self.n_pos, self.n_neg), dtype=float)
        chances = tp.pmf[:, None] * fn.pmf[None, :]
        return Outcomes(np.broadcast_to(values, chances.shape).ravel(), chances.ravel(), undefined, method)

    def moments_of(self, f: BinaryMetric, undefined: float | None = None) -> MetricMoments:
        """Mean and variance of f(tp, fn, n_pos, n_neg).

        Where f is nan it takes the value `undefined`, or with None the moments are conditional on f being defined.
        """
        return self._outcomes(f, undefined).moments()

    def law_of(self, f: BinaryMetric, undefined: float | None = None) -> MetricLaw:
        """The law of f(tp, fn, n_pos, n_neg), with `undefined` as in `moments_of`."""
        return self._outcomes(f, undefined).law()


def _trials(p: ArrayLike, count: ArrayLike | None) -> PoissonBinomial:
    if count is None:
        return PoissonBinomial(p)
    return counted_trials(np.asarray(p, dtype=np.float64), np.asarray(count, dtype=np.float64))
