"""Answers of a classification metric: what all of them share.

A metric of class labels is a function of label indicators (n, K). A subclass says what the metric is at expected
indicators, its slope in each, and its law under label probabilities; the questions are answered here from those.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Protocol

import numpy as np

from scorebars.answers import berkson
from scorebars.answers.intervals import OfLaw, Symmetric
from scorebars.answers.labelled import Labelled
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.laws.discrete import DiscreteLaw
from scorebars.laws.mixture import MixtureLaw
from scorebars.laws.normal import NormalLaw
from scorebars.laws.outcomes import MetricMoments
from scorebars.score import Answers, Declaration, Estimate, Interval, UndefinedEstimate

INVERTED = "the metric of the label counts carried back through the label errors"
PERFECT = "expected score of a model that always knows the true class, the shown labels taken as the true ones"


class Spread(Protocol):
    """A metric under independent labels with known probabilities."""

    def moments(self) -> MetricMoments: ...

    def law(self) -> Law: ...


class ClassAnswers(Answers):
    """Answers of a metric of class labels with errors."""

    def __init__(self, declaration: Declaration, data: Labelled, observed: float) -> None:
        self.declaration, self.n, self.data = declaration, data.n, data
        self.observed = observed
        self._chances = [1.0]
        self._parts: list[Spread] = []
        self.expected, self._std = observed, 0.0
        if not data.exact and self._possible_values(data.probabilities):
            cases = data.mixture()
            self._chances = [chance for chance, _ in cases]
            self._parts = [self._spread(p) for _, p in cases]
            self.expected, self._std = self._mixed([part.moments() for part in self._parts])

    def _mixed(self, moments: list[MetricMoments]) -> tuple[float, float]:
        mean = math.fsum(c * m.mean for c, m in zip(self._chances, moments, strict=True))
        var = math.fsum(c * (m.var + (m.mean - mean) ** 2) for c, m in zip(self._chances, moments, strict=True))
        return mean, math.sqrt(max(var, 0.0))

    def _possible_values(self, p: FloatArray) -> bool:
        """Whether labels with probabilities p leave the metric a value at all."""
        return True

    # what a metric has to say ------------------------------------------------------------------

    @abstractmethod
    def _spread(self, p: FloatArray) -> Spread:
        """The metric under independent labels with probabilities p (n, K)."""

    @abstractmethod
    def _perfect_spread(self) -> Spread:
        """The same for a perfect model, under the errors of the labels at hand."""

    @abstractmethod
    def _at(self, indicators: FloatArray) -> float:
        """The metric with label indicators replaced by these expectations."""

    @abstractmethod
    def _slopes(self, indicators: FloatArray) -> FloatArray:
        """Its derivative with respect to each indicator, (n, K)."""

    @abstractmethod
    def _influence(self, indicators: FloatArray) -> FloatArray:
        """How much each item moves the metric when the test set is drawn anew, (n,)."""

    # the score when labels move ----------------------------------------------------------------

    @property
    def std(self) -> float:
        return self._std

    def law(self) -> Law:
        if not self._parts:
            return _constant(self.observed)
        laws = [part.law() for part in self._parts]
        return laws[0] if len(laws) == 1 else MixtureLaw(laws, self._chances)

    # against the truth -------------------------------------------------------------------------

    def truth(self) -> Estimate:
        df = max(self.n - 1, 1)
        low, high = self.declaration.low, self.declaration.high
        if self.data.kind == "berkson":
            common = self.std if self.data.common_step is not None else 0.0
            std = math.hypot(self.sampling_std(), common)
            return berkson.truth(self, Symmetric(self.expected, std, low, high, df))
        if self.data.exact and self.data.same_process(1):
            total = Symmetric(self.observed, self.sampling_std(), low, high, df)
            law = _constant(self.observed)
            return Estimate(
                self.observed,
                0.0,
                method="exact",
                note="labels without error",
                interval=OfLaw(law),
                total_interval=total,
            )
        value, note = self._true_value()
        std, common = self._truth_std()
        scatter = math.hypot(self._scatter(self._influence(self.data.indicators)), common)
        if not low - 1e-12 <= value <= high + 1e-12:
            note = f"outside [{low:g}, {high:g}]: the label errors are larger than these labels can support"
        return Estimate(
            value,
            std,
            method=self._truth_method,
            note=note,
            interval=Symmetric(value, std, low, high),
            total_interval=Symmetric(value, scatter, low, high, df),
        )

    _truth_method = "delta"

    def _true_value(self) -> tuple[float, str]:
        value = self._at(self.data.indicators)
        if not math.isfinite(value):
            raise UndefinedEstimate(
                f"{self.declaration.name} is not defined at the label counts carried back through the label errors: too "
                "few labels for errors as large as these."
            )
        return value, INVERTED

    def _truth_std(self) -> tuple[float, float]:
        """Standard error given the true classes, and the part of it that all labels share.

        The estimated covariance of one item's indicators a is a a' - diag(a), whatever the transition.
        """
        a = self.data.indicators
        slopes = self._slopes(a)
        own = np.square(np.add.reduce(slopes * a, axis=1)) - np.add.reduce(a * np.square(slopes), axis=1)
        common = self._common(slopes)
        return math.sqrt(max(self.data.total(own), 0.0) + common), math.sqrt(common)

    def _common(self, slopes: FloatArray) -> float:
        """Variance that correlated flips add to the estimate against the truth."""
        step = self.data.common_step
        if step is None:
            return 0.0
        moved = np.add.reduce(slopes * step, axis=1)
        extra = float(np.add.reduce(moved)) ** 2 - float(np.add.reduce(np.square(moved)))
        return max(self.data.common_correlation * extra, 0.0)

    # labels measured afresh --------------------------------------------------------------------

    def remeasured(self, repeats: float) -> Estimate:
        """Labels by majority of `repeats` fresh votes; for the same label process the observed score is the forecast."""
        data = self.data
        if data.kind == "berkson":
            raise UndefinedEstimate(berkson.REMEASURED)
        if math.isinf(repeats):
            return self.truth()
        if data.same_process(repeats):
            self._require_observed()
            again = self._spread(data.own_probabilities).moments().var if not data.exact else 0.0
            std = math.sqrt(2.0 * max(again, self.std**2 if repeats == 1 else 0.0))
            return self._forecast(self.observed, std, "unbiased")
        fresh = data.fresh(repeats)
        votes = isinstance(data.model.repeats, np.ndarray)
        if not votes:
            self._true_value()  # raises where the labels cannot be carried back
        possible = np.clip(fresh, 0.0, 1.0)
        new = self._spread(possible / np.add.reduce(possible, axis=1)[:, None]).moments()
        if votes:  # from the votes at hand
            share = repeats / float(np.mean(np.asarray(data.model.repeats)))
            return self._forecast(new.mean, math.sqrt(new.var * (1.0 + share)), new.method)
        return self._forecast(self._at(fresh), math.hypot(math.sqrt(new.var), self._truth_std()[0]), "delta")

    def _forecast(self, value: float, std: float, method: str) -> Estimate:
        low, high = self.declaration.low, self.declaration.high
        return Estimate(value, std, method=method, note="", interval=Symmetric(value, std, low, high))

    # a perfect model ---------------------------------------------------------------------------

    _perfect_note = PERFECT

    def perfect(self) -> Estimate:
        if self.data.exact and self.data.same_process(1):
            law: Law = _constant(self.declaration.perfect)
            return Estimate(
                self.declaration.perfect, 0.0, method="exact", note="labels without error", interval=OfLaw(law)
            )
        spread = self._perfect_spread()
        moments, law = spread.moments(), spread.law()
        return Estimate(
            moments.mean, math.sqrt(moments.var), method=law.method, note=self._perfect_note, interval=OfLaw(law)
        )

    def _require_observed(self) -> None:
        if math.isnan(self.observed):
            raise UndefinedEstimate(f"{self.declaration.name} is not defined on the labels that are shown.")

    def noise_share(self) -> float:
        self._require_observed()
        ideal = self.declaration.perfect
        lost, observed = abs(ideal - float(self.perfect())), abs(ideal - self.observed)
        if observed == 0:
            return 0.0 if lost == 0 else math.inf
        return lost / observed

    # the test set as a sample ------------------------------------------------------------------

    def _scatter(self, influence: FloatArray) -> float:
        if self.n < 2:
            return math.inf
        centred = influence - self.data.total(influence) / self.n
        return math.sqrt(self.data.total(np.square(centred)) * self.n / (self.n - 1))

    def sampling_std(self) -> float:
        return self._scatter(self._influence(self.data.probabilities))

    def total_interval(self, level: float) -> Interval:
        """This test set and the next one are both samples: the sampling variance counts twice."""
        std = math.hypot(math.sqrt(2.0) * self.sampling_std(), self.std)
        return Symmetric(self.expected, std, self.declaration.low, self.declaration.high, max(self.n - 1, 1))(level)

    def warnings(self) -> list[str]:
        found = []
        if not self.data.exact:
            low, high = self.perfect().interval(0.99)
            if self.observed > high if self.declaration.greater_is_better else self.observed < low:
                found.append(
                    "the score is better than what a perfect model would reach on labels as wrong as this: the label "
                    "errors are overstated, or predictions and labels share their errors."
                )
            if np.any(self.data.probabilities[np.arange(len(self.data.shown)), self.data.shown] < 0.5):
                found.append("some labels are more often wrong than right.")
        return found


def _constant(value: float) -> Law:
    if math.isnan(value):
        return NormalLaw(value, 0.0)
    return DiscreteLaw(np.array([value]), np.ones(1))
