"""Answers of R2 and the explained variance when labels were summarised instead of kept.

Both are V = 1 - L / T with T = sum w (y - mean)^2 and L = sum w (d - m)^2, where d = p - y and m is 0 for R2, the mean of
d for the explained variance. The law is that of the labels themselves. Two standard errors that `JointAnswers` finds by
drawing labels or items again are found here from sums, to first order in 1/n:

    labels move     Var V = sum w^2 [4 s^2 (d - m + r (y - mean))^2 + 2 s^4 (r - 1)^2] / T^2,    r = L / T
    items change    Var V = sum w^2 [r (y - mean)^2 - (d - m)^2]^2 / T^2
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from scorebars.answers import berkson
from scorebars.answers.intervals import OfLaw, Symmetric
from scorebars.answers.mean_loss import PERFECT
from scorebars.answers.simex import COEFFICIENTS, LEVELS
from scorebars.engines.summary import Summary
from scorebars.laws.base import Law
from scorebars.laws.expansion import explained_moments
from scorebars.laws.from_summary import ratio_law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.ratio import ExplainedVarianceLaw, R2Law, RatioLaw
from scorebars.score import Answers, Declaration, Estimate, Interval, UndefinedEstimate

_LEAST = 1e-3
"""The scatter of the truths is not taken below this part of what the labels show."""


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

    # standard errors ---------------------------------------------------------------------------

    def _label_std(self) -> float:
        """When labels move within their errors about the values at hand."""
        if self._total == 0:
            return 0.0
        s, c, m, r = self._sums, self._centre, self._offset, self._lost / self._total
        dd = s.sqvar_w2 - 2.0 * m * s.d_var_w2 + m * m * s.var_w2
        dy = s.y_d_var_w2 - c * s.d_var_w2 - m * (s.y_var_w2 - c * s.var_w2)
        yy = s.y2_var_w2 - 2.0 * c * s.y_var_w2 + c * c * s.var_w2
        moved = 4.0 * (dd + 2.0 * r * dy + r * r * yy) + 2.0 * (r - 1.0) ** 2 * s.var2_w2
        return math.sqrt(max(moved, 0.0)) / self._total

    @cached_property
    def _item_std(self) -> float:
        """Over test sets, label errors included."""
        if self.n < 3:
            return math.inf
        if self._total == 0:
            return 0.0
        assert self._summary.gram is not None
        c, m, r = self._centre, self._offset, self._lost / self._total
        influence = np.array([r * c * c - m * m, 2.0 * m, -2.0 * r * c, -1.0, r])
        square = float(influence @ self._summary.gram @ influence)
        return math.sqrt(max(square, 0.0) * self.n / (self.n - 1)) / self._total

    # against the truth -------------------------------------------------------------------------

    def _error_sums(self) -> tuple[float, float]:
        """sum w s^2, and what the errors add to sum w (y - mean)^2."""
        return self._sums.var, self._sums.var - self._sums.var_w2 / self._sums.w

    def truth(self) -> Estimate:
        low, high, df = self.declaration.low, self.declaration.high, max(self.n - 1, 1)
        if self._kind == "berkson":
            return berkson.truth(self, self.total_interval)
        whole, about_mean = self._error_sums()
        lost = self._lost - (about_mean if self.centred else whole)
        value = _explained(lost, max(self._total - about_mean, _LEAST * self._total))
        std = self._label_std()
        note = "" if low <= value <= high else "outside the metric's range: the label errors are as large as the signal"
        return Estimate(
            value,
            std,
            method="corrected sums",
            note=note,
            interval=Symmetric(value, std, low, high),
            total_interval=Symmetric(value, self._item_std, low, high, df),
        )

    def remeasured(self, repeats: float) -> Estimate:
        if self._kind == "berkson":
            raise UndefinedEstimate(berkson.REMEASURED)
        low, high = self.declaration.low, self.declaration.high
        value, method = self.observed, "unbiased"
        if repeats != 1 and self._sums.var > 0:
            removed = 1.0 - 1.0 / repeats
            values = [float(self._law(level * removed).mean) for level in LEVELS]
            value, method = min(max(float(np.dot(COEFFICIENTS, values)), low), high), "simex"
        std = math.hypot(float(self._law(1.0 / repeats).std), float(self._own_law.std))
        return Estimate(value, std, method=method, interval=Symmetric(value, std, low, high))

    def perfect(self) -> Estimate:
        law = self._law(1.0, perfect=True)
        if self._sums.var == 0:
            return Estimate(self.declaration.perfect, 0.0, method="exact", note=PERFECT, interval=OfLaw(law))
        value = 1.0 if self._total == 0 else 1.0 - self._sums.var / self._total
        std = float(law.std)
        interval = Symmetric(value, std, self.declaration.low, self.declaration.high)
        return Estimate(value, std, method=law.method, note=PERFECT, interval=interval)

    def noise_share(self) -> float:
        lost, observed = (abs(self.declaration.perfect - v) for v in (float(self.perfect()), self.observed))
        if observed == 0:
            return 0.0 if lost == 0 else math.inf
        return lost / observed

    # the test set as a sample ------------------------------------------------------------------

    def sampling_std(self) -> float:
        return math.sqrt(max(self._item_std**2 - self.std**2, 0.0))

    def total_interval(self, level: float) -> Interval:
        total = math.hypot(self.sampling_std(), self.std)
        return Symmetric(self.expected, total, self.declaration.low, self.declaration.high, max(self.n - 1, 1))(level)


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
