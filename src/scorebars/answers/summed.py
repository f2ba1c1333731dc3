"""Answers of mean losses whose labels were summarised instead of kept: squared, absolute and signed error.

Everything that is a sum over labels, or a law of such a sum, is as good as from the labels themselves. What needs all
labels at once says so when it is asked for.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from scorebars.answers import berkson
from scorebars.answers.all_labels import ALL_LABELS
from scorebars.answers.intervals import OfLaw, Symmetric
from scorebars.answers.mean_loss import PERFECT, MeanLoss
from scorebars.engines.summary import Summary
from scorebars.engines.totals import from_sums
from scorebars.errors.base import FloatArray
from scorebars.laws import from_summary
from scorebars.laws.base import Law
from scorebars.laws.compress import compress
from scorebars.laws.expansion import root_moments
from scorebars.laws.invert import interval_from_nodes
from scorebars.laws.normal import NormalLaw
from scorebars.losses import AbsoluteError, Loss, SignedError, SquaredError
from scorebars.measured import Measured
from scorebars.score import Declaration, Estimate, Interval, UndefinedEstimate

_NORMAL = 1e-10
"""Relative error below which the truth's estimate is normal: its skewness is of this order."""


class Summed(MeanLoss):
    """Mean of a loss over summarised labels with independent normal errors."""

    loss: Loss

    def __init__(self, declaration: Declaration, summary: Summary, kind: str) -> None:
        self.declaration, self.n, self.kind = declaration, summary.sums.n, kind
        self._summary, self._sums, self._totals = summary, summary.sums, from_sums(self.loss, summary.sums)
        self.observed, self.expected = self._totals.observed, self._totals.expected

    def in_scaled_units(self) -> Self:
        return self

    def _law(self, data: Measured) -> Law:
        return self.law()

    def _truth(self, data: Measured) -> Estimate:
        return self.truth()

    def _remeasured(self, data: Measured, repeats: float) -> Estimate:
        return self.remeasured(repeats)

    def _scatter(self, square: float, single: float, centre: float) -> float:
        """Variance over test sets of a mean with sum w^2 x^2 = square and sum w^2 x = single, about `centre`."""
        s = self._sums
        if s.n < 2:
            return math.inf
        around = square - 2.0 * centre * single + centre * centre * s.w2
        return max(around, 0.0) / s.w**2 * s.n / (s.n - 1)

    @abstractmethod
    def _expected_sums(self) -> tuple[float, float]:
        """sum w^2 x^2 and sum w^2 x of the labels' expected losses x."""

    @abstractmethod
    def _observed_sums(self) -> tuple[float, float]:
        """The same of the observed losses."""

    @abstractmethod
    def _own_part(self) -> float:
        """What the label errors add to the variance of the observed score."""

    def _expected_scatter(self) -> float:
        return math.sqrt(self._scatter(*self._expected_sums(), self.expected))

    def _observed_variance(self) -> float:
        return self._scatter(*self._observed_sums(), self.observed)

    def _label_variances(self) -> tuple[float, float]:
        return self._own_part(), 0.0

    def _shared_part(self) -> float:
        return 0.0

    def _population_interval(self) -> Symmetric:
        return self._around_expected(self._expected_scatter())

    def _require_classical(self) -> None:
        if self.kind == "berkson":
            raise UndefinedEstimate(berkson.REMEASURED)

    def root_exists(self) -> bool:
        return True

    def why_undefined(self) -> str:
        return "it is above the largest double. Choose another unit for y_true, y_pred and yerr."


class SummedSigned(Summed):
    """Mean of p - y."""

    loss = SignedError()

    def law(self) -> Law:
        return NormalLaw(self.expected, self.std)

    def _expected_sums(self) -> tuple[float, float]:
        return self._sums.loss2_d, self._sums.lossw_d

    _observed_sums = _expected_sums

    def _own_part(self) -> float:
        return self.std**2

    def truth(self) -> Estimate:
        if self.kind == "berkson":
            return self._berkson_truth()
        total = Symmetric(self.observed, math.sqrt(self._observed_variance()), df=max(self.n - 1, 1))
        note = "a bias common to all labels cannot be told from a bias of the model"
        interval = Symmetric(self.observed, self.std)
        return self._estimate(self.observed, self.std, "unbiased", interval, total, note)

    def remeasured(self, repeats: float) -> Estimate:
        self._require_classical()
        std = self.std * math.sqrt(1.0 + 1.0 / repeats)
        return self._estimate(self.observed, std, "unbiased", Symmetric(self.observed, std))

    def perfect(self) -> Estimate:
        return self._estimate(0.0, self.std, "exact", OfLaw(NormalLaw(0.0, self.std)), note=PERFECT)

    def noise_share(self) -> float:
        if self.observed == 0:
            return 0.0 if self.std == 0 else math.inf
        return min(self.std / abs(self.observed), math.inf)

    def warnings(self) -> list[str]:
        low, high = self.perfect().interval(0.95)
        if self.std > 0 and low <= self.observed <= high:
            return ["the label errors alone would give a perfect model a bias as large as this one."]
        return []


class SummedAbsolute(Summed):
    """Mean of |y - p|."""

    loss = AbsoluteError()

    def law(self) -> Law:
        return from_summary.absolute_law(self._summary)

    def _expected_sums(self) -> tuple[float, float]:
        return self._sums.loss2_abs, self._sums.lossw_abs

    def _observed_sums(self) -> tuple[float, float]:
        return self._sums.sq_w2, self._summary.abs_w2

    def _own_part(self) -> float:
        return from_summary.absolute_label_part(self._summary)

    def truth(self) -> Estimate:
        if self.kind == "berkson":
            return self._berkson_truth()
        raise UndefinedEstimate(ALL_LABELS.format(what="the mean absolute error against the truth"))

    def remeasured(self, repeats: float) -> Estimate:
        self._require_classical()
        if repeats != 1:
            raise UndefinedEstimate(ALL_LABELS.format(what="the mean absolute error of labels with less error"))
        std = math.sqrt(2.0) * self.std
        return self._estimate(self.observed, std, "unbiased", Symmetric(self.observed, std, 0.0))

    def perfect(self) -> Estimate:
        law = from_summary.absolute_law(self._summary, perfect=True)
        return self._estimate(float(law.mean), float(law.std), law.method, OfLaw(law), note=PERFECT)


class SummedSquared(Summed):
    """Mean of (y - p)^2."""

    loss = SquaredError()
    length_unit = 1.0

    @property
    def scaled_observed(self) -> float:
        return self.observed

    def law(self) -> Law:
        return from_summary.squared_law(self._summary)

    scaled_law = law

    def root_moments(self) -> tuple[float, float] | None:
        """Mean and std of the root where labels are so many that the sums tell them; None where the law has to."""
        return root_moments(self._sums)

    def scaled_perfect_law(self) -> Law:
        """The law of a perfect model's score."""
        return from_summary.squared_law(self._summary, perfect=True)

    def _expected_sums(self) -> tuple[float, float]:
        return self._sums.loss2_sq, self._sums.lossw_sq

    def _observed_sums(self) -> tuple[float, float]:
        return self._sums.fourth_w2, self._sums.sq_w2

    def _own_part(self) -> float:
        return self._truth_variance()

    def _truth_variance(self) -> float:
        s = self._sums
        return max(4.0 * s.sqvar_w2 - 2.0 * s.var2_w2, 2.0 * s.var2_w2) / s.w**2

    def truth(self) -> Estimate:
        if self.kind == "berkson":
            return self._berkson_truth()
        s = self._sums
        value, std = (s.sq - s.var) / s.w, math.sqrt(self._truth_variance())
        sampled = self._scatter(s.fourth_w2 - 2.0 * s.sqvar_w2 + s.var2_w2, s.sq_w2 - s.var_w2, value)
        total = Symmetric(value, math.sqrt(sampled), 0.0, math.inf, max(self.n - 1, 1))
        note = "" if value >= 0 else "negative: the observed error is below the noise floor"
        interval: Callable[[float], Interval] = Symmetric(value, std, 0.0)
        if std > _NORMAL * value:
            interval = noncentral(self._summary)
        return self._estimate(value, std, "unbiased", interval, total, note)

    def remeasured(self, repeats: float) -> Estimate:
        self._require_classical()
        s = self._sums
        value = self.observed + (1.0 / repeats - 1.0) * s.var / s.w
        least = 2.0 * s.var2_w2 / repeats**2
        new = least + 4.0 * (s.sqvar_w2 - s.var2_w2) / repeats
        std = math.sqrt(max(new, least) / s.w**2 + self._truth_variance())
        return self._estimate(value, std, "unbiased", Symmetric(value, std, 0.0))

    def perfect(self) -> Estimate:
        law = self.scaled_perfect_law()
        return self._estimate(self._sums.var / self._sums.w, float(law.std), law.method, OfLaw(law), note=PERFECT)


def noncentral(of: Summary) -> NodesInterval:
    """The interval of the true MSE, as `squared.noncentral` finds it from the labels themselves."""
    assert of.squares is not None and of.certain is not None
    v, (count, w, wdd, spread_term, *_) = of.squares.nodes()
    total = float(np.sum(w))
    share, known = total / of.sums.w, float(of.certain[2]) / of.sums.w
    lam, a, d2 = v / total, w / total, wdd / total
    x = lam / float(np.sum(a * lam)) - 1.0
    spread, excess = float(np.sum(a * x * x)), float(np.sum(d2 - count * lam))
    tilt = 0.0
    if spread >= 1e-12:
        variance = max(float(np.sum(x * x * lam * spread_term)) / total, 0.0)
        lean = float(np.sum(x * (d2 - count * lam))) + math.sqrt(variance)
        tilt = min(max(lean / (excess * spread) if excess > 0 else 1.0, 0.0), 1.0)
    columns = np.stack([count, a * (1.0 + tilt * x)])
    nodes, columns = compress(lambda: iter([(lam, columns)]))
    return NodesInterval(float(np.sum(d2)), nodes, columns, share, known)


@dataclass(frozen=True, eq=False)
class NodesInterval:
    """Interval of the true MSE by inverting the law of the observed one."""

    observed: float
    nodes: FloatArray
    columns: FloatArray
    share: float
    known: float

    def __call__(self, level: float) -> Interval:
        low, high = interval_from_nodes(self.observed, self.nodes, *self.columns, fixed=0.0, level=level)
        return Interval(self.known + self.share * low, self.known + self.share * high)
