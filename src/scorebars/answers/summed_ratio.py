"""Answers of R2 and the explained variance when labels were summarised instead of kept.

Both are V = 1 - X/Y with Y = sum w (y - mean)^2 and X = sum w (d - m)^2, where d = p - y and m is 0 for R2, the mean of d
for the explained variance. All answers are those of `ratio_of_sums`, which only needs sums over the labels: what their
errors add to X and Y, the covariance of X and Y when labels move, and their scatter over items.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from scorebars.answers import berkson
from scorebars.answers.intervals import OfLaw
from scorebars.answers.mean_loss import PERFECT
from scorebars.answers.population import next_test_set
from scorebars.answers.ratio_of_sums import (
    LostToNoise,
    OnItsScale,
    TwoSums,
    degrees_of_squares,
    measured_afresh,
    of_two_sums,
)
from scorebars.engines.summary import Summary
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.laws.expansion import explained_moments
from scorebars.laws.from_summary import ratio_law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.ratio import ExplainedVarianceLaw, R2Law, RatioLaw
from scorebars.moments.label_noise import positive
from scorebars.score import Answers, Declaration, Estimate, Interval, UndefinedEstimate


class SummedRatio(Answers):
    """1 - L / T of summarised labels with independent normal errors."""

    ratio_law: type[RatioLaw]
    centred: bool
    """Whether residuals are taken about their mean."""

    def __init__(self, declaration: Declaration, summary: Summary, kind: str) -> None:
        s = summary.sums
        self.declaration, self.n = declaration, s.n
        self._summary, self._sums, self._kind = summary, s, kind
        self._centre = s.y1 / s.w
        self._offset = s.d / s.w if self.centred else 0.0
        self._total = max(s.y2 - self._centre * s.y1, 0.0)
        self._lost = max(s.sq - self._offset * s.d, 0.0) if self.centred else s.sq
        self.observed = _explained(self._lost, self._total)
        _, mean, self._std = explained_moments(s, self.centred) or (0.0, *self._moments())
        self.expected = self.observed if s.var == 0 else mean

    def _law(self, factor: float, perfect: bool = False) -> Law:
        """The law when the error variances are multiplied by `factor`."""
        if self._sums.var == 0 or factor == 0:
            return NormalLaw(1.0 if perfect else self.observed, 0.0)
        return ratio_law(self.ratio_law, self._summary, factor, perfect)

    @cached_property
    def _own_law(self) -> Law:
        return self._law(1.0)

    def _moments(self) -> tuple[float, float]:
        return float(self._own_law.mean), float(self._own_law.std)

    @property
    def std(self) -> float:
        return self._std

    def law(self) -> Law:
        return self._own_law

    # both sums and how they scatter ------------------------------------------------------------

    def _two(self, x: float, y: float, covariance: FloatArray, df: float = math.inf) -> TwoSums:
        return TwoSums("lost", x, y, covariance, self.declaration.low, self.declaration.high, df)

    def _added(self) -> FloatArray:
        """What label errors add to X and Y on average."""
        s = self._sums
        about_mean = s.var - s.var_w2 / s.w
        return np.array([about_mean if self.centred else s.var, about_mean])

    def _traces(self) -> FloatArray:
        """tr(Q S Q S) of X and Y; with unequal weights the small part that comes from the mean is rounded."""
        s = self._sums
        mean_weight = s.w / s.n
        once = s.var2_w2 * mean_weight / s.w
        twice = (s.var_w2 / s.w) ** 2
        both, one, none = s.var2_w2 - 2.0 * once + twice, s.var2_w2 - once, s.var2_w2
        return np.array([[both, both], [both, both]]) if self.centred else np.array([[none, one], [one, both]])

    @cached_property
    def _moved(self) -> tuple[FloatArray, FloatArray]:
        """4 h' S h of X and Y, with h half their slopes at the labels; and tr(Q S Q S)."""
        s, c, m = self._sums, self._centre, self._offset
        dd = s.sqvar_w2 - 2.0 * m * s.d_var_w2 + m * m * s.var_w2
        dy = s.y_d_var_w2 - c * s.d_var_w2 - m * (s.y_var_w2 - c * s.var_w2)
        yy = s.y2_var_w2 - 2.0 * c * s.y_var_w2 + c * c * s.var_w2
        return 4.0 * np.array([[dd, -dy], [-dy, yy]]), self._traces()

    def _label_covariance(self, fresh: float = 1.0) -> FloatArray:
        """Covariance of X and Y under errors of `fresh` times the variance of those in the labels."""
        sloped, trace = self._moved
        return 2.0 * fresh * fresh * trace + positive(fresh * (sloped - 4.0 * trace))

    def _item_covariance(self, corrected: bool) -> FloatArray:
        """Covariance of X and Y over test sets, label errors included; of the corrected sums, or of the classical ones."""
        assert self._summary.gram is not None
        s, c, m = self._sums, self._centre, self._offset
        products = np.zeros((6, 6))
        products[:5, :5] = self._summary.gram
        products[5, :] = products[:, 5] = [s.var_w2, s.d_var_w2, s.y_var_w2, s.sqvar_w2, s.y2_var_w2, s.var2_w2]
        off = 1.0 if corrected else 0.0
        rows = np.array([[m * m, -2.0 * m, 0.0, 1.0, 0.0, -off], [c * c, 0.0, -2.0 * c, 0.0, 1.0, -off]])
        rows[:, 0] -= (np.array([self._lost, self._total]) - off * s.var) / s.w  # about the mean of the items
        return np.asarray(rows @ products @ rows.T * (self.n / max(self.n - 1, 1)))

    @cached_property
    def _corrected(self) -> FloatArray:
        return np.array([self._lost, self._total]) - self._added()

    @cached_property
    def _item_std(self) -> float:
        """Of the classical metric over test sets."""
        if self.n < 3:
            return math.inf
        return self._two(self._lost, self._total, self._item_covariance(False)).std

    # the answers -------------------------------------------------------------------------------

    def truth(self) -> Estimate:
        if self._kind == "berkson":
            return berkson.truth(self, self.total_interval)
        x, y = self._corrected
        labels = self._two(x, y, self._label_covariance())
        items = self._two(x, y, self._item_covariance(True), degrees_of_squares(self.n))
        return of_two_sums(labels, items)

    def remeasured(self, repeats: float) -> Estimate:
        if self._kind == "berkson":
            raise UndefinedEstimate(berkson.REMEASURED)
        x, y = self._corrected + self._added() / repeats
        found = self._two(x, y, self._label_covariance() + self._label_covariance(1.0 / repeats))
        return measured_afresh(found)

    def perfect(self) -> Estimate:
        if self._sums.var == 0:
            law = NormalLaw(self.declaration.perfect, 0.0)
            return Estimate(self.declaration.perfect, 0.0, method="exact", note=PERFECT, interval=OfLaw(law))
        lost = LostToNoise(float(self._added()[0]), 2.0 * float(self._traces()[0, 0]), self._total)
        return Estimate(lost.value, lost.std, method="corrected sums", note=PERFECT, interval=lost)

    def noise_share(self) -> float:
        lost, observed = (abs(self.declaration.perfect - v) for v in (float(self.perfect()), self.observed))
        if observed == 0:
            return 0.0 if lost == 0 else math.inf
        return lost / observed

    # the test set as a sample ------------------------------------------------------------------

    def sampling_std(self) -> float:
        own = 0.0 if self._kind == "berkson" else self._two(self._lost, self._total, self._label_covariance()).std
        return math.sqrt(max(self._item_std**2 - own**2, 0.0))

    def total_interval(self, level: float) -> Interval:
        low, high, df = self.declaration.low, self.declaration.high, degrees_of_squares(self.n)
        berkson_error = self._kind == "berkson"
        centre, more = (self.expected, self.std / math.sqrt(2.0)) if berkson_error else (self.observed, 0.0)
        spread = next_test_set(centre, self._item_std, self.declaration, self.n, more)
        return OnItsScale("lost", centre, spread.std, low, high, df)(level)


class SummedR2(SummedRatio):
    """The coefficient of determination."""

    ratio_law, centred = R2Law, False


class SummedExplainedVariance(SummedRatio):
    """The explained variance."""

    ratio_law, centred = ExplainedVarianceLaw, True


def _explained(lost: float, total: float) -> float:
    """1 - lost / total; 1 where nothing is lost, 0 where labels do not vary but something is (as scikit-learn)."""
    if total > 0:
        return 1.0 - lost / total
    return 1.0 if lost == 0 else 0.0
