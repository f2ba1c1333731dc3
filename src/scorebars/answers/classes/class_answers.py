"""Answers of a classification metric: what all of them share.

A metric of class labels is a function of label indicators (n, K). A subclass says what the metric is at expected
indicators, its slope in each, and its distribution under label probabilities; the questions are answered here from
those, with the arrays that `Labelled` has for each noise level.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import Answers
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.classes.over_rates import OverRates, said_of_rates
from scorebars.answers.intervals import OfLaw, ScoreInterval, Symmetric, next_share
from scorebars.answers.score import Declaration, Estimate, Interval, UndefinedEstimate
from scorebars.arrays import FloatArray, IntArray
from scorebars.errors import Votes
from scorebars.laws.discrete import DiscreteLaw, MetricMoments
from scorebars.laws.law import Law, NormalLaw
from scorebars.laws.mixture import MixtureLaw

INVERTED = "the metric of the label counts carried back through the label errors"
PERFECT = "expected score of a model that always knows the true class, the shown labels taken as the true ones"
_MOST_RATES, _LEAST_RATES, _WORK = 400, 200, 20_000_000
"""How many error rates are drawn where they were counted, and the work that this may take."""
ENTROPY = "expected score of a model that knows the true class and how labels err, and says so in its probabilities"


class Spread(Protocol):
    """A metric under independent labels with known probabilities."""

    def moments(self) -> MetricMoments: ...

    def law(self) -> Law: ...


class Redrawn(NamedTuple):
    """A metric of class labels that are redrawn from their errors."""

    parts: list[Spread]
    """In each case of independent labels; empty where redrawing changes nothing."""
    chances: list[float]
    """Of the cases."""
    mean: float
    variance: float
    of_independent: float
    """The part of the variance that errors which labels do not share make."""


class ClassAnswers(Answers):
    """Answers of a metric of class labels with errors."""

    _conditional = False
    """Whether the metric is conditional on being defined."""
    _counts_items = False
    """Whether the metric is a plain share of all items, whose scatter is known without being estimated."""
    _truth_method = "delta"
    _useless = 10.0
    """An estimate against the truth says nothing if its error is this many times the range of the metric."""
    _perfect_note = PERFECT

    def __init__(self, declaration: Declaration, data: Labelled, observed: float) -> None:
        self.declaration, self.n, self.kind, self.data = declaration, data.items, data.kind, data
        self.observed, self.rates_counted = observed, data.checked is not None

    @cached_property
    def _redrawn(self) -> Redrawn:
        """The metric if every label were redrawn from its errors."""
        if self.data.exact or not self._possible_values(self.data.probabilities):
            return Redrawn([], [1.0], self.observed, 0.0, 0.0)
        cases = self.data.mixture()
        parts = [self._spread(p) for _, p in cases]
        moments = [part.moments() for part in parts]
        chances, mean, variance = self._mixed(cases, moments)
        independent = math.fsum(c * m.var for c, m in zip(chances, moments, strict=True))
        return Redrawn(parts, chances, mean, variance, independent)

    @cached_property
    def expected(self) -> float:  # type: ignore[override]
        return self._redrawn.mean

    def _mixed(
        self, cases: Sequence[tuple[float, Any]], moments: list[MetricMoments]
    ) -> tuple[list[float], float, float]:
        """Chances, mean and variance over cases. A conditional metric weighs a case by how often it is defined there."""
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
    def _perfect_model(self) -> ClassAnswers:
        """The answers of a perfect model, which takes the shown classes as the true ones."""

    @abstractmethod
    def _at(self, indicators: FloatArray) -> float:
        """The metric with label indicators replaced by these expectations."""

    @abstractmethod
    def _influences(self, indicators: FloatArray) -> FloatArray:
        """How much each item would move the metric as one of each class when the test set is drawn again, (n, K)."""

    def _slopes(self, indicators: FloatArray) -> FloatArray:
        """The derivatives with respect to the indicators, up to a number for each item: its indicators sum to 1."""
        return self._influences(indicators)

    def knows(self, classes: NDArray[Any]) -> bool:
        """Whether these are the classes that it was computed with."""
        return np.array_equal(self.data.given_classes, classes)

    def of_rows(self, rows: NDArray[Any], predictions: NDArray[Any]) -> FloatArray | None:
        return self._of_labels(self.data.places(rows))

    def _of_labels(self, labels: IntArray) -> FloatArray:
        """The metric of several sets of labels (d, n), given as indices of classes."""
        classes = np.eye(self.data.k)
        return np.array([self._at(classes[row]) for row in labels])

    # labels redrawn from their errors ------------------------------------------------------------

    @property
    def std(self) -> float:
        return math.sqrt(self._redrawn.variance)

    def law(self) -> Law:
        redrawn = self._redrawn
        return _mixture(redrawn.parts, redrawn.chances) if redrawn.parts else _constant(self.observed)

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
        curve = self._curve(classes)
        population = ScoreInterval(value, own + max(common, 0.0), curve, low, high, self._df)
        found = of_share(value, max(own + common, 0.0), method, (low, high))
        return self._over_rates(found._changed(note=note, total_interval=population), curve=curve, df=self._df)

    def truth(self) -> Estimate:
        found = super().truth()
        if not (self._berkson and self.rates_counted):
            return found
        return self._over_rates(found, self._item_variance() + self._shared_variance(), df=max(self.n - 1, 1))

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

    # error rates that were counted ---------------------------------------------------------------

    def _over_rates(
        self, found: Estimate, spread: float | None = None, curve: float = 0.0, df: float = math.inf
    ) -> Estimate:
        """The estimate, less certain where its error rates were counted from checked labels.

        If the rates were known, its variance over test sets would be `spread`, or that of the labels plus that of a share
        with `curve`.
        """
        checked, berkson = self.data.checked, self._berkson
        if checked is None:
            return found
        indicators = self.data.probabilities if berkson else self.data.indicators
        slopes = self._slopes(indicators)
        by_rate = self.data.rate_slopes(slopes)
        rates = checked.variance(by_rate)
        variance = found.std**2 + rates
        if not berkson:
            require_some_knowledge(math.sqrt(variance), self.declaration, self.observed, self._useless)
        rows = self.data.drawn_rows(self._number_of_rates())
        values, fixed, third = self._values_by(rows), np.full(len(rows), found.std**2), 0.0
        if berkson:
            values = float(found) + values - self._at(indicators)
        else:
            own = self.data.variances_by(rows, slopes)
            now = self.data.variances_by(self.data.counted_rows[None], slopes)  # at the counted rates
            fixed = np.maximum(fixed + own - now, 0.0)
            third = self.data.label_third(slopes)
        low, high = self._range
        said = [found.note, said_of_rates(checked, rates, variance)]
        said += [getattr(self.data.own, name, "") for name in ("doubt", "caveat")]
        note = "; ".join(part for part in said if part)
        interval = OverRates(float(found), values, fixed, by_rate, checked, 0.0, low, high, third=third)
        over_sets = fixed if spread is None else np.full(len(rows), spread)
        population = replace(interval, fixed=over_sets, curve=curve, df=df)
        return found._changed(std=math.sqrt(variance), note=note, interval=interval, total_interval=population)

    _values_at_once = False
    """Whether `_values_by` takes all sets of rows together."""

    def _number_of_rates(self) -> int:
        """How many error rates to draw: fewer where each takes long."""
        if self._values_at_once and self.data.k <= 30:
            return 1000
        return int(np.clip(_WORK // max(self.data.one_hot.size, self.data.k**3), _LEAST_RATES, _MOST_RATES))

    def _values_by(self, rows: FloatArray) -> FloatArray:
        """The metric with the indicators that several sets of rows (d, K, K) give the labels; nan where it has no value."""
        with np.errstate(all="ignore"):
            return np.array(
                [self._at(self.data.carried_by(one)) if one[0, 0] == one[0, 0] else math.nan for one in rows]
            )

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
            return of_share(self._defined(self.observed), 2.0 * variance, "unbiased", self._range)
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
            return of_share(new.mean, new.var * (1.0 + share), new.method, self._range)
        carried = max(sum(self._truth_variance()), 0.0)
        if data.checked is not None:
            carried += data.checked.variance(data.rate_slopes(self._slopes(data.indicators)))
        return of_share(self._at(fresh), new.var + carried, "delta", self._range)

    def perfect(self) -> Estimate:
        if self.data.without_error:
            best = self.declaration.perfect
            return Estimate(best, 0.0, method="exact", note="labels without error", interval=OfLaw(_constant(best)))
        cases, note = self._perfect_cases()
        parts = [part for _, part, _ in cases]
        chances, mean, var = self._mixed([case[:2] for case in cases], [part.moments() for part in parts])
        more = math.fsum(chance * variance for chance, (*_, variance) in zip(chances, cases, strict=True))
        if more > 0:
            return of_share(mean, var + more, "delta", self._range)._changed(note=note)
        law = _mixture(parts, chances)
        return Estimate(mean, math.sqrt(var), method=law.method, note=note, interval=OfLaw(law, mean))

    def _perfect_cases(self) -> tuple[list[tuple[float, Spread, float]], str]:
        """What a perfect model scores: the chance of each case, the metric in it, and variance to add to that. Then a note."""
        best, cases = self._perfect_model(), self.data.own_mixture()
        more = (
            0.0
            if self.data.checked is None
            else self.data.variance_of_errors(best._slopes(self.data.own_probabilities))
        )
        return [(chance, best._spread(p), more) for chance, p in cases], self._perfect_note

    def _ideal(self) -> float:
        self._defined(self.observed)
        return self.declaration.perfect

    # the test set as a sample ------------------------------------------------------------------

    @property
    def _df(self) -> float:
        return math.inf if self._counts_items else max(self.n - 1, 1)

    def influences(self) -> FloatArray:
        self._defined(self._centre)
        if self.data.count is not None:
            return super().influences()
        classes = self.data.probabilities if self._berkson else self.data.one_hot
        moved = np.add.reduce(classes * self._influences(classes), axis=1)
        if len(moved) != self.n:  # several labels an item
            moved = np.add.reduce(moved.reshape(self.n, -1), axis=1)
        return np.asarray(moved - np.mean(moved))

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
            return self._redrawn.of_independent
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
        """How fast the metric scatters: its variance over x (1 - x), which for a share of n items is 1/n.

        About two labels are exchanged at random first. That changes little among many, and it shows a scatter where no item
        is wrong. A loss without upper end counts as a sum of rare large ones, whose variance grows with x.
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
        if self._better_than_perfect():
            found.append(
                "the score is better than what a perfect model would reach on labels as wrong as this: the label "
                "errors are overstated, or predictions and labels share their errors."
            )
        if np.any(self.data.chance_kept() < 0.5):
            voted = isinstance(self.data.model, Votes)
            found.append(
                f"some labels {'have less than half of the votes' if voted else 'are more often wrong than right'}."
            )
        doubt = getattr(self.data.own, "doubt", "")
        return [*found, f"{doubt}."] if doubt else found


def require_some_knowledge(std: float, declaration: Declaration, observed: float, useless: float = 10.0) -> None:
    """Refuse an estimate that is nothing but noise: its standard error is many times the range of the metric."""
    width = declaration.high - declaration.low
    if not std <= useless * (width if math.isfinite(width) else max(observed, 1.0)):
        raise UndefinedEstimate(
            f"the score against the truth would have a standard error of {std:.2g}: with errors as large as these the "
            "labels say next to nothing about the true classes."
        )


def of_share(value: float, variance: float, method: str, limits: tuple[float, float]) -> Estimate:
    """An estimate of this variance, with the interval of a share that cannot leave these limits."""
    return Estimate(value, math.sqrt(variance), method=method, interval=ScoreInterval(value, variance, 0.0, *limits))


def _mixture(parts: list[Spread], chances: list[float]) -> Law:
    laws = [part.law() for part in parts]
    return laws[0] if len(laws) == 1 else MixtureLaw(laws, chances)


def _constant(value: float) -> Law:
    if math.isnan(value):
        return NormalLaw(value, 0.0)
    return DiscreteLaw(np.array([value]), np.ones(1))
