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
from scorebars.answers.intervals import OfLaw, ScoreInterval, Symmetric
from scorebars.answers.labelled import Labelled
from scorebars.answers.population import next_share, next_test_set
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
            self._parts = [self._spread(p) for _, p in cases]
            moments = [part.moments() for part in self._parts]
            self._chances, self.expected, var = self._mixed([chance for chance, _ in cases], moments)
            self._std = math.sqrt(var)
            self._own_variance = math.fsum(c * m.var for c, m in zip(self._chances, moments, strict=True))

    def _mixed(self, chances: list[float], moments: list[MetricMoments]) -> tuple[list[float], float, float]:
        """Chances, mean and variance over cases; given a defined metric, a case counts by how often it defines it."""
        if self._conditional:
            chances = [c * m.p_defined for c, m in zip(chances, moments, strict=True)]
        whole = math.fsum(chances)
        chances = [c / whole for c in chances]
        cases = list(zip(chances, moments, strict=True))
        mean = math.fsum(c * m.mean for c, m in cases)
        return chances, mean, max(math.fsum(c * (m.var + (m.mean - mean) ** 2) for c, m in cases), 0.0)

    _conditional = False
    """Whether the metric is conditional on being defined."""
    _own_variance = 0.0
    """The variance that the labels give which err independently; what they share is not in it."""

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
    def _slopes(self, indicators: FloatArray) -> FloatArray:
        """Its derivative with respect to each indicator, (n, K)."""

    @abstractmethod
    def _influences(self, indicators: FloatArray) -> FloatArray:
        """How much each item would move the metric as one of each class when the test set is drawn anew, (n, K)."""

    _counts_items = False
    """Whether the metric is a plain share of all items, whose scatter is known without being estimated."""

    # the score when labels move ----------------------------------------------------------------

    @property
    def std(self) -> float:
        return self._std

    def law(self) -> Law:
        if not self._parts:
            return _constant(self.observed)
        return _mixture([part.law() for part in self._parts], self._chances)

    # against the truth -------------------------------------------------------------------------

    def truth(self) -> Estimate:
        low, high = self.declaration.low, self.declaration.high
        if self.data.kind == "berkson":
            self._require(self.expected)
            common = self.std if self.data.common_step is not None else 0.0
            std = math.hypot(self._scatter_of_terms(), common)
            return berkson.truth(self, Symmetric(self.expected, std, low, high, self._df))
        if self.data.exact and self.data.same_process(1):
            self._require(self.observed)
            law = _constant(self.observed)
            return Estimate(
                self.observed,
                0.0,
                method="exact",
                note="labels without error",
                interval=OfLaw(law),
                total_interval=self._population(self.observed, 0.0, self.data.one_hot),
            )
        value, note = self._true_value()
        own, common = self._truth_variance()
        if not low - 1e-12 <= value <= high + 1e-12:
            note = f"outside [{low:g}, {high:g}]: the label errors are larger than these labels can support"
        variance = max(own + common, 0.0)
        require_some_knowledge(math.sqrt(variance), self.declaration, self.observed)
        return Estimate(
            value,
            math.sqrt(variance),
            method=self._truth_method,
            note=note,
            interval=self._of_these_items(value, variance),
            total_interval=self._population(value, own + max(common, 0.0), self.data.posterior),
        )

    def _of_these_items(self, value: float, variance: float) -> ScoreInterval:
        """The interval of an estimate whose variance does not depend on where it lies."""
        return ScoreInterval(value, variance, 0.0, self.declaration.low, self.declaration.high)

    def _population(self, value: float, label_variance: float, classes: FloatArray) -> ScoreInterval:
        """The interval of the population's score, for items of these (chances of) true classes."""
        low, high = self.declaration.low, self.declaration.high
        return ScoreInterval(value, label_variance, self._curve(classes), low, high, self._df)

    _truth_method = "delta"

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
        step = self.data.common_step
        if step is None:
            return self.data.label_variance(slopes), 0.0
        return self.data.label_variance(slopes), self._common(slopes, step)

    def _common(self, slopes: FloatArray, step: FloatArray) -> float:
        """Variance that correlated flips add, which move the labels by `step`; negative where they cancel."""
        moved = np.add.reduce(slopes * step, axis=1)
        extra = float(np.add.reduce(moved)) ** 2 - float(np.add.reduce(np.square(moved)))
        return self.data.common_correlation * extra

    # labels measured afresh --------------------------------------------------------------------

    def remeasured(self, repeats: float) -> Estimate:
        """Labels by majority of `repeats` fresh votes; for the same label process the observed score is the forecast."""
        data = self.data
        if data.kind == "berkson":
            raise UndefinedEstimate(berkson.REMEASURED)
        if math.isinf(repeats):
            return self.truth()
        if data.same_process(repeats):
            self._require(self.observed)
            variance = self.std**2 if repeats == 1 else self._own_label_variance()
            return self._forecast(self.observed, math.sqrt(2.0 * variance), "unbiased")
        fresh = data.fresh(repeats)
        votes = isinstance(data.model.repeats, np.ndarray)
        if not votes:
            self._true_value()  # raises where the labels cannot be carried back
        possible = np.clip(fresh, 0.0, 1.0)
        try:
            new = self._spread(possible / np.add.reduce(possible, axis=1)[:, None]).moments()
        except ValueError as why:  # no label that is possible gives the metric a value
            raise UndefinedEstimate(str(why)) from None
        if votes:  # from the votes at hand
            share = repeats / float(np.mean(np.asarray(data.model.repeats)))
            return self._forecast(new.mean, math.sqrt(new.var * (1.0 + share)), new.method)
        variance = new.var + max(sum(self._truth_variance()), 0.0)
        return self._forecast(self._at(fresh), math.sqrt(variance), "delta")

    def _forecast(self, value: float, std: float, method: str) -> Estimate:
        return Estimate(value, std, method=method, note="", interval=self._of_these_items(value, std**2))

    # a perfect model ---------------------------------------------------------------------------

    _perfect_note = PERFECT

    def perfect(self) -> Estimate:
        if self.data.exact and self.data.same_process(1):
            law: Law = _constant(self.declaration.perfect)
            return Estimate(
                self.declaration.perfect, 0.0, method="exact", note="labels without error", interval=OfLaw(law)
            )
        cases = self.data.own_mixture()
        parts = [self._perfect_spread(p) for _, p in cases]
        chances, mean, var = self._mixed([chance for chance, _ in cases], [part.moments() for part in parts])
        law = _mixture([part.law() for part in parts], chances)
        return Estimate(mean, math.sqrt(var), method=law.method, note=self._perfect_note, interval=OfLaw(law, mean))

    def _require(self, value: float) -> None:
        if math.isnan(value):
            raise UndefinedEstimate(f"{self.declaration.name} is not defined on the labels that are shown.")

    def noise_share(self) -> float:
        self._require(self.observed)
        ideal = self.declaration.perfect
        lost, observed = abs(ideal - float(self.perfect())), abs(ideal - self.observed)
        if observed == 0:
            return 0.0 if lost == 0 else math.inf
        return lost / observed

    # the test set as a sample ------------------------------------------------------------------

    @property
    def _df(self) -> float:
        return math.inf if self._counts_items else max(self.n - 1, 1)

    def _sampled(self, classes: FloatArray) -> float:
        """Variance over test sets whose items are of these (chances of) classes."""
        if self.n < 2:
            return math.inf
        moved = self._influences(classes)
        mean = self.data.total(np.add.reduce(classes * moved, axis=1)) / self.n
        square = self.data.total(np.add.reduce(classes * np.square(moved - mean), axis=1))
        return square * self.n / (self.n - 1)

    def _scatter_of_terms(self) -> float:
        """Berkson: standard deviation over test sets of the expected metric; one item at least may be otherwise."""
        if self.n < 2:
            return math.inf
        p = self.data.probabilities
        moved = np.add.reduce(p * self._influences(p), axis=1)
        square = self.data.total(np.square(moved - self.data.total(moved) / self.n))
        width = self.declaration.high - self.declaration.low
        least = width / self.n if math.isfinite(width) else 0.0
        return max(math.sqrt(square * self.n / (self.n - 1)), least)

    def _curve(self, classes: FloatArray) -> float:
        """One over the number of items of a share that would scatter as this metric does: variance over x (1 - x).

        Variance and value are taken after two labels or so were exchanged at random, which counts for little among many.
        Where no item is wrong there is no scatter to see, but some of exchanged ones. A loss without upper end is taken
        as a sum of rare large ones, whose variance grows with x.
        """
        size = self.data.effective_size
        exchanged = 2.0 / (size + 4.0)
        masses = self.data.masses
        mean = (masses @ classes) / np.add.reduce(masses)
        mixed = (1.0 - exchanged) * classes + exchanged * mean
        width = self.declaration.high - self.declaration.low
        bounded = math.isfinite(width)
        width = width if bounded else 1.0
        value, variance = (self._at(mixed) - self.declaration.low) / width, self._sampled(mixed) / width**2
        shape = value * (1.0 - value) if bounded else value
        if not (shape > 0 and 0 < variance < math.inf):
            return 1.0 / size
        if self._counts_items:
            variance *= (self.n - 1) / self.n
        return variance / shape

    def _own_label_variance(self) -> float:
        """Variance of the score from the errors of the labels at hand, which may be majorities of several votes."""
        if self.data.own is None or self.data.own is self.data.model:
            return self._own_variance
        return self._spread(self.data.own_probabilities).moments().var

    def sampling_std(self) -> float:
        """The scatter of items; that of shown labels holds the labels' own variance too, which is taken off."""
        if self.data.kind == "berkson":
            return self._scatter_of_terms()
        return math.sqrt(max(self._sampled(self.data.one_hot) - self._own_label_variance(), 0.0))

    def total_interval(self, level: float) -> Interval:
        if self.data.kind == "berkson":
            self._require(self.expected)
            # expected terms do not scatter by the errors of labels, which the next set has and this one has not
            scatter, labels = self._scatter_of_terms(), self.std / math.sqrt(2.0)
            return next_test_set(self.expected, scatter, self.declaration, self.n, labels)(level)
        self._require(self.observed)
        curve = self._curve(self.data.one_hot)
        return next_share(self.observed, curve, self.declaration, self._shared_variance(), self._df)(level)

    def _shared_variance(self) -> float:
        """Variance of the observed score from what all labels have in common; their scatter does not show it."""
        step = self.data.shared_flips
        return 0.0 if step is None else max(self._common(self._slopes(self.data.one_hot), step), 0.0)

    def _beyond_perfect(self) -> bool:
        """Whether the score is better than a perfect model's; not known where the labels do not tell how they err."""
        try:
            low, high = self.perfect().interval(0.99)
        except UndefinedEstimate:
            return False
        return self.observed > high if self.declaration.greater_is_better else self.observed < low

    def warnings(self) -> list[str]:
        found = []
        if not self.data.exact:
            if self._beyond_perfect():
                found.append(
                    "the score is better than what a perfect model would reach on labels as wrong as this: the label "
                    "errors are overstated, or predictions and labels share their errors."
                )
            if np.any(self.data.probabilities[np.arange(len(self.data.shown)), self.data.shown] < 0.5):
                found.append("some labels are more often wrong than right.")
        return found


def require_some_knowledge(std: float, declaration: Declaration, observed: float) -> None:
    """Refuse an estimate that is nothing but noise: its standard error ten times the range of the metric."""
    width = declaration.high - declaration.low
    if not std <= 10.0 * (width if math.isfinite(width) else max(observed, 1.0)):
        raise UndefinedEstimate(
            f"the score against the truth would have a standard error of {std:.2g}: with errors as large as these the "
            "labels say next to nothing about the true classes."
        )


def _mixture(laws: list[Law], chances: list[float]) -> Law:
    return laws[0] if len(laws) == 1 else MixtureLaw(laws, chances)


def _constant(value: float) -> Law:
    if math.isnan(value):
        return NormalLaw(value, 0.0)
    return DiscreteLaw(np.array([value]), np.ones(1))
