"""Answers of a classification metric: what all of them share.

A metric of class labels is a function of label indicators (n, K). A subclass says what the metric is at expected
indicators, its slope in each, and its distribution under label probabilities; the questions are answered here from
those, with the arrays that `Labelled` has for each noise level.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np

from scorebars.answers.base import Answers
from scorebars.answers.classes.labelled import Cases, Labelled
from scorebars.answers.intervals import OfLaw, ScoreInterval, Symmetric, next_share
from scorebars.answers.score import Declaration, Estimate, Interval, UndefinedEstimate
from scorebars.arrays import FloatArray, IntArray
from scorebars.laws.discrete import DiscreteLaw, MetricMoments
from scorebars.laws.law import Law, NormalLaw
from scorebars.laws.mixture import MixtureLaw

INVERTED = "the metric of the label counts carried back through the label errors"
PERFECT = "expected score of a model that always knows the true class, the shown labels taken as the true ones"
ENTROPY = "expected score of a model that knows the true class and how labels err, and says so in its probabilities"


class Spread(Protocol):
    """A metric under independent labels with known probabilities."""

    def moments(self) -> MetricMoments: ...

    def law(self) -> Law: ...


class ClassAnswers(Answers):
    """Answers of a metric of class labels with errors."""

    _conditional = False
    """Whether the metric is conditional on being defined."""
    _counts_items = False
    """Whether the metric is a plain share of all items, whose scatter is known without being estimated."""
    _truth_method = "delta"
    _useless = 10.0
    """An estimate against the truth with an error of so many ranges of the metric says nothing."""
    _perfect_note = PERFECT

    def __init__(self, declaration: Declaration, data: Labelled, observed: float) -> None:
        self.declaration, self.n, self.kind, self.data = declaration, data.items, data.kind, data
        self.observed = observed

    @cached_property
    def _redrawn(self) -> tuple[list[Spread], list[float], float, float, float]:
        """Labels redrawn from their errors: cases, their chances, mean, variance, and that of independent errors."""
        if self.data.exact or not self._possible_values(self.data.probabilities):
            return [], [1.0], self.observed, 0.0, 0.0
        cases = self.data.mixture()
        parts = [self._spread(p) for _, p in cases]
        moments = [part.moments() for part in parts]
        chances, mean, var = self._mixed(cases, moments)
        return parts, chances, mean, var, math.fsum(c * m.var for c, m in zip(chances, moments, strict=True))

    @cached_property
    def expected(self) -> float:  # type: ignore[override]
        return self._redrawn[2]

    def _mixed(self, cases: Cases, moments: list[MetricMoments]) -> tuple[list[float], float, float]:
        """Chances, mean and variance over cases; given a defined metric, a case counts by how often it defines it."""
        pairs = [(c * m.p_defined if self._conditional else c, m) for (c, _), m in zip(cases, moments, strict=True)]
        total = math.fsum(c for c, _ in pairs)
        chances = [c / total for c, _ in pairs]
        mean = math.fsum(c * m.mean for c, m in zip(chances, moments, strict=True))
        var = math.fsum(c * (m.var + (m.mean - mean) ** 2) for c, m in zip(chances, moments, strict=True))
        return chances, mean, max(var, 0.0)

    def _possible_values(self, p: FloatArray) -> bool:
        """Whether labels with probabilities p leave the metric a value at all."""
        return True

    # what a metric has to say ------------------------------------------------------------------

    @abstractmethod
    def _spread(self, p: FloatArray) -> Spread:
        """The metric under independent labels with probabilities p (n, K)."""

    @abstractmethod
    def _perfect_spread(self, p: FloatArray) -> Spread:
        """The same for a perfect model, under the errors of the labels at hand."""

    @abstractmethod
    def _at(self, indicators: FloatArray) -> float:
        """The metric with label indicators replaced by these expectations."""

    @abstractmethod
    def _influences(self, indicators: FloatArray) -> FloatArray:
        """How much each item would move the metric as one of each class when the test set is drawn anew, (n, K)."""

    def _slopes(self, indicators: FloatArray) -> FloatArray:
        """The derivatives with respect to the indicators, up to a number for each item: its indicators sum to 1."""
        return self._influences(indicators)

    def _of_labels(self, labels: IntArray) -> FloatArray:
        """The metric of several sets of labels (d, n), given as indices of classes."""
        classes = np.eye(self.data.k)
        return np.array([self._at(classes[row]) for row in labels])

    # labels redrawn from their errors ------------------------------------------------------------

    @property
    def std(self) -> float:
        return math.sqrt(self._redrawn[3])

    def law(self) -> Law:
        parts, chances = self._redrawn[:2]
        return _mixture(parts, chances) if parts else _constant(self.observed)

    # against the truth -------------------------------------------------------------------------

    def _truth(self) -> Estimate:
        low, high = self._range
        if self.data.without_error:
            value, note, method, own, common = self._defined(self.observed), "labels without error", "exact", 0.0, 0.0
            classes = self.data.one_hot
        else:
            (value, note), method = self._true_value(), self._truth_method
            own, common = self._truth_variance()
            classes = self.data.posterior
            if not low - 1e-12 <= value <= high + 1e-12:
                note = f"outside [{low:g}, {high:g}]: the label errors are larger than these labels can support"
            require_some_knowledge(math.sqrt(max(own + common, 0.0)), self.declaration, self.observed, self._useless)
        variance = max(own + common, 0.0)
        return Estimate(
            value,
            math.sqrt(variance),
            method=method,
            note=note,
            interval=ScoreInterval(value, variance, 0.0, low, high),
            total_interval=ScoreInterval(value, own + max(common, 0.0), self._curve(classes), low, high, self._df),
        )

    def _true_value(self) -> tuple[float, str]:
        value = self._at(self.data.indicators)
        if not math.isfinite(value):
            raise UndefinedEstimate(
                f"{self.declaration.name} is not defined at the label counts carried back through the label errors: too "
                "few labels for errors as large as these."
            )
        return value, INVERTED

    def _truth_variance(self) -> tuple[float, float]:
        """Variance of the estimate given the true classes: that of independent labels, and what correlated ones add."""
        slopes = self._slopes(self.data.indicators)
        return self.data.label_variance(slopes), self._common(slopes, self.data.shared_step(of_truth=True))

    def _common(self, slopes: FloatArray, step: FloatArray | None) -> float:
        """Variance that correlated flips add, which move the labels by `step`; negative where they cancel."""
        if step is None:
            return 0.0
        moved = np.add.reduce(slopes * step, axis=1)
        extra = float(np.add.reduce(moved)) ** 2 - float(np.add.reduce(np.square(moved)))
        return self.data.shared_correlation * extra

    def _defined(self, value: float) -> float:
        if math.isnan(value):
            raise UndefinedEstimate(f"{self.declaration.name} is not defined on the labels that are shown.")
        return value

    # labels measured afresh, and a perfect model --------------------------------------------------

    def _remeasured(self, repeats: float) -> Estimate:
        """Labels by majority of `repeats` fresh votes; for the same label process the observed score is the forecast."""
        data = self.data
        if math.isinf(repeats):
            return self._truth()
        if data.same_process(repeats):
            variance = self.std**2 if repeats == 1 else self._label_variance()
            return self._forecast(self._defined(self.observed), 2.0 * variance, "unbiased")
        fresh = data.fresh(repeats)
        votes = not isinstance(data.model.repeats, int)
        if not votes:
            self._true_value()  # raises where the labels cannot be carried back
        possible = np.clip(fresh, 0.0, 1.0)
        try:
            new = self._spread(possible / np.add.reduce(possible, axis=1)[:, None]).moments()
        except ValueError as why:  # no label that is possible gives the metric a value
            raise UndefinedEstimate(str(why)) from None
        if votes:  # from the votes at hand
            share = repeats / float(np.mean(np.asarray(data.model.repeats)))
            return self._forecast(new.mean, new.var * (1.0 + share), new.method)
        return self._forecast(self._at(fresh), new.var + max(sum(self._truth_variance()), 0.0), "delta")

    def _forecast(self, value: float, variance: float, method: str) -> Estimate:
        interval = ScoreInterval(value, variance, 0.0, *self._range)
        return Estimate(value, math.sqrt(variance), method=method, note="", interval=interval)

    def perfect(self) -> Estimate:
        if self.data.without_error:
            best = self.declaration.perfect
            return Estimate(best, 0.0, method="exact", note="labels without error", interval=OfLaw(_constant(best)))
        cases = self.data.own_mixture()
        parts = [self._perfect_spread(p) for _, p in cases]
        chances, mean, var = self._mixed(cases, [part.moments() for part in parts])
        law = _mixture(parts, chances)
        return Estimate(mean, math.sqrt(var), method=law.method, note=self._perfect_note, interval=OfLaw(law, mean))

    def _ideal(self) -> float:
        self._defined(self.observed)
        return self.declaration.perfect

    # the test set as a sample ------------------------------------------------------------------

    @property
    def _df(self) -> float:
        return math.inf if self._counts_items else max(self.n - 1, 1)

    def _sampled(self, classes: FloatArray) -> float:
        """Variance over test sets whose items are of these (chances of) classes."""
        if self.n < 2:
            return math.inf
        return self.data.scatter(classes, self._influences(classes)) * self.n / (self.n - 1)

    def _item_variance(self) -> float:
        if not self._berkson:
            return self._sampled(self.data.one_hot)
        self._defined(self.expected)
        if self.n < 2:
            return math.inf
        p = self.data.probabilities
        square = self.data.scatter_of_means(np.add.reduce(p * self._influences(p), axis=1))
        least = (self.declaration.high - self.declaration.low) / self.n  # one item at least may be otherwise
        return max(square * self.n / (self.n - 1), least**2 if math.isfinite(least) else 0.0)

    def _label_variance(self) -> float:
        """Variance of the score from the errors of the labels at hand, which may be majorities of several votes."""
        if self.data.own is None or self.data.own is self.data.model:
            return self._redrawn[4]
        return self._spread(self.data.own_probabilities).moments().var

    def _shared_variance(self) -> float:
        step = self.data.shared_step(of_truth=False)
        if self._berkson:
            return 0.0 if step is None else self.std**2
        return max(self._common(self._slopes(self.data.one_hot), step), 0.0) if step is not None else 0.0

    def _next_test_set(self, more: float) -> Callable[[float], Interval]:
        if self._berkson:
            spread = math.sqrt(2.0 * (self._item_variance() + more))
            return Symmetric(self.expected, spread, *self._range, max(self.n - 1, 1))
        curve = self._curve(self.data.one_hot)
        return next_share(self._defined(self.observed), curve, self.declaration, more, self._df)

    def _curve(self, classes: FloatArray) -> float:
        """One over the number of items of a share that would scatter as this metric does: variance over x (1 - x).

        Variance and value are taken after two labels or so were exchanged at random, which counts for little among many.
        Where no item is wrong there is no scatter to see, but some of exchanged ones. A loss without upper end is taken
        as a sum of rare large ones, whose variance grows with x.
        """
        size, masses = self.data.effective_size, self.data.masses
        exchanged = 2.0 / (size + 4.0)
        mixed = (1.0 - exchanged) * classes + exchanged * (masses @ classes) / np.add.reduce(masses)
        width = self.declaration.high - self.declaration.low
        bounded = math.isfinite(width)
        width = width if bounded else 1.0
        value, variance = (self._at(mixed) - self.declaration.low) / width, self._sampled(mixed) / width**2
        shape = value * (1.0 - value) if bounded else value
        if not (shape > 0 and 0 < variance < math.inf):
            return 1.0 / size
        return variance / shape * ((self.n - 1) / self.n if self._counts_items else 1.0)

    def warnings(self) -> list[str]:
        found: list[str] = []
        if self.data.exact:
            return found
        try:
            low, high = self.perfect().interval(0.99)
        except UndefinedEstimate:  # the labels do not tell how they err
            low, high = -math.inf, math.inf
        if self.observed > high if self.declaration.greater_is_better else self.observed < low:
            found.append(
                "the score is better than what a perfect model would reach on labels as wrong as this: the label "
                "errors are overstated, or predictions and labels share their errors."
            )
        if np.any(self.data.chance_kept() < 0.5):
            found.append("some labels are more often wrong than right.")
        return found


def require_some_knowledge(std: float, declaration: Declaration, observed: float, useless: float = 10.0) -> None:
    """Refuse an estimate that is nothing but noise: its standard error so many times the range of the metric."""
    width = declaration.high - declaration.low
    if not std <= useless * (width if math.isfinite(width) else max(observed, 1.0)):
        raise UndefinedEstimate(
            f"the score against the truth would have a standard error of {std:.2g}: with errors as large as these the "
            "labels say next to nothing about the true classes."
        )


def _mixture(parts: list[Spread], chances: list[float]) -> Law:
    laws = [part.law() for part in parts]
    return laws[0] if len(laws) == 1 else MixtureLaw(laws, chances)


def _constant(value: float) -> Law:
    if math.isnan(value):
        return NormalLaw(value, 0.0)
    return DiscreteLaw(np.array([value]), np.ones(1))
