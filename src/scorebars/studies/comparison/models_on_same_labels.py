"""Models on the same labels, under one metric.

A comparison asks how well *these* labels are known: a label that is the mean of 16 repeats is redrawn with sigma / 4, one
that is the majority of five votes errs as the majority does. All that is said about a pair of models comes from three
quantities, each found once for every model on the same draws:

- *redrawn*: the metric on labels redrawn from their error bars: the distribution of the difference on these items;
- *influences*: what each item (or group of items) adds to the metric; the squares of their differences sum to the variance
  over test sets. Label errors of single items are in them already;
- *common*: what errors shared by several labels do, which the scatter between items does not show.

Metrics that are means over items have formulas for some of these (see `paired_means`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property, partial, wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.difference import Paired, TruthDifference
from scorebars.answers.together.all_labels_metric import AllLabelsAnswers
from scorebars.arrays import FloatArray
from scorebars.errors import MeasurementError
from scorebars.laws.law import Law
from scorebars.laws.normal_law import NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.score import Declaration, Estimate, Score, UndefinedEstimate
from scorebars.studies.comparison.compared_metric import ComparedMetric

_SEED = 20240517
_GROUPS = 100
"""Items are left out one by one, or beyond so many in groups."""
_HALVES = 200
_FEW_ITEMS_DECIDE = ("median_absolute_error", "max_error")
"""Leaving out single items tells nothing about the variance of these metrics; leaving out halves does."""
_PAIRED = "the interval joins those of the two truths by the correlation of the metric on common draws of the labels"
_COMMON_DRAWS = 400
_NOISIER_DRAWS = 400
_BERKSON_ROWS = 4
_ENLARGED = 1.5
"""Few labels make correlations of estimates against the truth look larger than they are: the variance of a difference of
equally well known truths is taken larger by this factor (measured: docs/theory/comparison.md)."""

_Index = NDArray[np.intp] | NDArray[np.bool_]
_Method = TypeVar("_Method", bound=Callable[..., Any])


def rows_at_a_time(n: int) -> int:
    """Rows of n labels that are drawn at a time."""
    return max(1, 4_000_000 // n)


def once(method: _Method) -> _Method:
    """Keep what a method finds about the models of the given names."""

    @wraps(method)
    def found(self: ModelsOnSameLabels, *names: str) -> Any:
        key = (method.__qualname__, *names)
        if key not in self.found:
            self.found[key] = method(self, *names)
        return self.found[key]

    return cast(_Method, found)


class ComparedLabels(ABC):
    """Labels with their errors. Draws have shape (count, n)."""

    kind: str
    shown: NDArray[Any]
    """The labels as the metric takes them."""
    repeats: Any
    """How many repeats, or votes, each label is made of."""
    exact: bool
    """Whether no label has an error."""

    @property
    def n(self) -> int:
        return len(self.shown)

    @abstractmethod
    def draw(self, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """The labels redrawn from their error bars."""

    @abstractmethod
    def draw_common(self, count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
        """What errors common to several labels do; None where errors are independent.

        Rows of labels, and the state of the common cause in each row: the mean of a metric over the rows of one state
        shows what this state does to it.
        """

    def draw_noisier(self, count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Two draws about labels that were made noisier once: what a further error does to them. None for classes."""
        return None

    @abstractmethod
    def errors_of(self, index: _Index) -> Any:
        """The error model of some of the labels, as a metric takes it."""


class ComparedNumbers(ComparedLabels):
    """Measured numbers."""

    def __init__(self, y: NDArray[Any], errors: MeasurementError) -> None:
        self.shown, self.kind, self.repeats = np.asarray(y, dtype=np.float64), errors.kind, errors.repeats
        self.model = errors
        self.errors = errors.label_level()
        """Of the labels at hand, means of their repeats."""
        self.exact = self.errors.error_free(self.shown)
        self.common = self.errors.common_shifts()
        """Rows of shifts that several labels share, (k, n); None where errors are independent."""

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        return self.errors.sample(self.shown, count, rng)

    def draw_common(self, count: int, rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.intp]] | None:
        if self.common is None:
            return None
        moved = np.asarray(self.shown + rng.standard_normal((count, len(self.common))) @ self.common)
        return moved, np.arange(count)

    def draw_noisier(self, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        before, first, second = (self.draw(count, rng) for _ in range(3))
        return before + (first - self.shown), before + (second - self.shown)

    def errors_of(self, index: _Index) -> MeasurementError:
        return self.model[index]


class ComparedClasses(ComparedLabels):
    """Class labels: `data` knows their errors, and predictions of classes are indices into `data.classes`."""

    def __init__(self, data: Labelled) -> None:
        self.data, self.kind, self.shown, self.repeats = data, data.kind, data.names, data.model.repeats
        self.cases = self._cases()
        """Label probabilities (n, K) of independent labels, with the chance of each case: two for correlated flips."""
        self.exact = all(bool(np.all(p[np.arange(self.n), data.shown] == 1.0)) for _, p in self.cases)

    def _cases(self) -> list[tuple[float, FloatArray]]:
        if self.kind == "classical" and not isinstance(self.repeats, int):
            try:
                return [(1.0, self.data.own_probabilities)]
            except UndefinedEstimate:  # votes that do not tell how often one is wrong: take them one by one
                pass
        return self.data.mixture()

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[Any]:
        return self._by_state(count, rng)[0]

    def draw_common(self, count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
        return self._by_state(count, rng) if len(self.cases) > 1 else None

    def _by_state(self, count: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.intp]]:
        chances = np.array([chance for chance, _ in self.cases])
        state = rng.choice(len(chances), count, p=chances / chances.sum())
        picked = np.empty((count, self.n), dtype=np.intp)
        for k, (_, p) in enumerate(self.cases):
            here = np.flatnonzero(state == k)
            u = rng.random((len(here), self.n))
            found = np.zeros((len(here), self.n), dtype=np.intp)
            for edge in np.cumsum(p, axis=1)[:, :-1].T:
                found += u > edge
            picked[here] = found
        return np.asarray(self.data.classes[picked]), state

    def errors_of(self, index: _Index) -> Any:
        return self.data.model[index]


class ModelsOnSameLabels:
    """All models on the same labels under one metric."""

    draws_of_law = 1_000
    same_order: ModelsOnSameLabels | None = None
    """Another metric that orders the models in the same way and has an exact distribution."""

    def __init__(
        self,
        metric: ComparedMetric,
        labels: ComparedLabels,
        predictions: Mapping[str, NDArray[Any]],
        weight: FloatArray | None,
        units: tuple[float, ...] = (),
    ) -> None:
        self.metric, self.labels, self.predictions, self.weight = metric, labels, dict(predictions), weight
        self.units = units
        """What differences of the metric are still to be multiplied by, one after the other, to be in the user's unit."""
        self.n, self.kind = labels.n, labels.kind
        self.found: dict[tuple[Any, ...], Any] = {}

    @property
    def declaration(self) -> Declaration:
        return self.metric.declaration

    @cached_property
    def shares(self) -> FloatArray:
        """Weights that sum to 1."""
        return np.full(self.n, 1.0 / self.n) if self.weight is None else self.weight / self.weight.sum()

    def check(self) -> None:
        """Let the metric refuse what it cannot take, in its own words."""
        yerr = self.labels.errors_of(np.arange(self.n)) if self.metric.needs_errors else None
        for p in self.predictions.values():
            self.metric.score(self.labels.shown, p, yerr, self.weight)

    # one model ---------------------------------------------------------------------------------

    def values(self, rows: NDArray[Any], name: str) -> FloatArray:
        """The classical metric of one model on each row of labels; nan where it is not defined."""
        p, answers = self.predictions[name], self._answers(name)
        if isinstance(answers, AllLabelsAnswers):  # all rows at once
            with np.errstate(all="ignore"):
                return np.asarray(answers.metric.values(rows, p, self.weight), dtype=np.float64)
        yerr = self.labels.errors_of(np.arange(self.n)) if self.metric.needs_errors else None
        return np.array([self.metric.classical(row, p, yerr, self.weight) for row in rows])

    @once
    def _answers(self, name: str) -> Any:
        """Those of exact labels; None where the metric cannot do without errors."""
        if self.metric.needs_errors or self.declaration.task == "classification":
            return None
        return self.metric.score(self.labels.shown, self.predictions[name], None, self.weight)._answers

    def value_of(self, row: NDArray[Any], name: str, index: Any) -> float:
        """The classical metric of one model on some of the items."""
        yerr = self.labels.errors_of(index) if self.metric.needs_errors else None
        weight = None if self.weight is None else self.weight[index]
        return self.metric.classical(row[index], self.predictions[name][index], yerr, weight)

    @once
    def score(self, name: str) -> Score:
        """All that the metric says about one model."""
        yerr = self.labels.errors_of(np.arange(self.n))
        return self.metric.score(self.labels.shown, self.predictions[name], yerr, self.weight)

    @once
    def observed(self, name: str) -> float:
        return float(self.values(self.labels.shown[None], name)[0])

    @once
    def redrawn(self, name: str) -> FloatArray:
        """The metric on redrawn labels, the same for all models."""
        rng = np.random.default_rng(_SEED)
        step = rows_at_a_time(self.n)
        sizes = [min(step, self.draws_of_law - start) for start in range(0, self.draws_of_law, step)]
        return np.concatenate([self.values(self.labels.draw(size, rng), name) for size in sizes])

    # the test set as a sample ------------------------------------------------------------------

    @once
    def influences(self, name: str) -> FloatArray:
        """What items add to the metric: squares sum to its variance over test sets, products of two models to a covariance.

        Items, or groups of them, are left out in turn (jackknife). Under Berkson error labels are drawn first.
        """
        if self.n < 2:
            return np.full(1, math.inf)
        if self.kind == "berkson" and not self.labels.exact:
            rows = self.labels.draw(_BERKSON_ROWS, np.random.default_rng(_SEED))
            return np.concatenate([self._jackknife(row, name) for row in rows]) / math.sqrt(len(rows))
        return self._jackknife(self.labels.shown, name)

    def _jackknife(self, row: NDArray[Any], name: str) -> FloatArray:
        parts, factor, about_mean = self._parts
        values = np.array([self.value_of(row, name, index) for index in parts])
        centre = (
            float(np.nanmean(values)) if about_mean and np.isfinite(values).any() else self.value_of(row, name, ...)
        )
        return np.asarray(math.sqrt(factor) * (values - centre))

    @cached_property
    def _parts(self) -> tuple[list[NDArray[np.intp]], float, bool]:
        """Items to keep in each round, and the factor of the squared deviations."""
        rng = np.random.default_rng(_SEED)
        if self.declaration.name in _FEW_ITEMS_DECIDE and self.n > 3:
            half = self.n // 2
            kept = [np.sort(rng.permutation(self.n)[:half]) for _ in range(_HALVES)]
            return kept, half / (self.n - half) / _HALVES, False
        count = min(self.n, _GROUPS)
        group = rng.permutation(np.arange(self.n) % count)
        return [np.flatnonzero(group != g) for g in range(count)], (count - 1) / count, True

    def item_std(self, a: str, b: str) -> float:
        """Standard error of the difference over test sets."""
        if self.n < 2:
            return math.inf
        return math.sqrt(_product(self.influences(a) - self.influences(b)))

    # errors that several labels share ----------------------------------------------------------

    @once
    def common(self, name: str) -> FloatArray:
        """How far errors that several labels share move the metric: draws, the same for all models."""
        drawn = self._labels_in_common
        if drawn is None:
            return np.zeros(1)
        values, state = self.values(drawn[0], name), drawn[1]
        sums = np.bincount(state, np.nan_to_num(values)) / np.maximum(np.bincount(state, np.isfinite(values)), 1)
        means = sums[state]
        return np.asarray(means - means.mean())

    @cached_property
    def _labels_in_common(self) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
        return self.labels.draw_common(_COMMON_DRAWS, np.random.default_rng(_SEED + 1))

    def common_std(self, a: str, b: str) -> float:
        return float(np.std(self.common(a) - self.common(b)))

    # pairs -------------------------------------------------------------------------------------

    @once
    def law(self, a: str, b: str) -> Law:
        """The distribution of metric(a) - metric(b) on redrawn labels."""
        if self.labels.exact:
            return NormalLaw(self.observed(a) - self.observed(b), 0.0)
        difference = self.redrawn(a) - self.redrawn(b)
        defined = difference[np.isfinite(difference)]
        if defined.size < 2:
            raise UndefinedEstimate(
                f"{self.declaration.name} is not defined for labels redrawn from these error bars, so models cannot be "
                "compared by it."
            )
        return SampleLaw(defined) if np.ptp(defined) > 0 else NormalLaw(float(defined[0]), 0.0)

    def undefined_share(self, a: str, b: str) -> float:
        """Share of the redrawn labels for which the metric is not defined."""
        if self.labels.exact or ("ModelsOnSameLabels.redrawn", a) not in self.found:
            return 0.0
        return float(np.mean(~np.isfinite(self.redrawn(a) - self.redrawn(b))))

    def truth(self, a: str, b: str) -> TruthDifference:
        """The difference of the two truths; what both estimates share cancels.

        The intervals of the two truths are put together by their correlation, which the metric on common draws shows
        (Zou and Donner 2008, for dependent estimates).
        """
        first, second = self.score(a).truth, self.score(b).truth
        value = float(first) - float(second)
        if not math.isfinite(value):
            raise UndefinedEstimate(
                f"{self.declaration.name} against the truth is {first} and {second}: they have no difference."
            )
        notes = dict.fromkeys(note for note in (first.note, second.note) if note)
        methods = dict.fromkeys((first.method, second.method))
        labels = partial(self._correlation, a, b)
        return TruthDifference(
            value,
            partial(_std_of_difference, first, second, labels),
            Paired(first.value, second.value, first.interval, second.interval, labels),
            Paired(
                first.value,
                second.value,
                first.total_interval,
                second.total_interval,
                partial(self._item_correlation, a, b),
            ),
            " and ".join(methods),
            "; ".join([*notes, _PAIRED]),
        )

    def _correlation(self, a: str, b: str) -> float:
        """Correlation of the two estimates when labels err about the true values.

        Labels redrawn about labels carry the error twice, which makes models look more alike. Labels redrawn about
        noisier labels carry it three times; from both follows what once would give.
        """
        if self.labels.exact:
            return 0.0
        twice = _moments(self.redrawn(a), self.redrawn(b))
        if self._labels_made_noisier is None:
            return _correlation_of(twice)
        thrice = 0.5 * _moments(self._gap(a), self._gap(b), centred=False)
        once = 2.0 * twice - thrice
        sure = np.all(np.diagonal(once) > 0.25 * np.diagonal(twice))
        found = _correlation_of(once if sure else twice)
        return max(1.0 - _ENLARGED * (1.0 - found), min(found, 0.0))

    @cached_property
    def _labels_made_noisier(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        count = min(_NOISIER_DRAWS, max(rows_at_a_time(self.n), 50))
        return self.labels.draw_noisier(count, np.random.default_rng(_SEED + 2))

    @once
    def _gap(self, name: str) -> FloatArray:
        pair = self._labels_made_noisier
        assert pair is not None
        return self.values(pair[0], name) - self.values(pair[1], name)

    def _item_correlation(self, a: str, b: str) -> float:
        if self.n < 3:
            return 0.0
        first, second = self.influences(a), self.influences(b)
        both = _moments(first, second, centred=False) * len(first)
        if self._labels_in_common is not None:
            both = both + _moments(self.common(a), self.common(b))
        return _correlation_of(both)

    # many models -------------------------------------------------------------------------------

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        """Joint draws, shape (count, models), that order the models as their scores do; with `sampling` of items too."""
        count = min(count, self.draws_of_law)
        names = list(self.predictions)
        out = np.empty((count, len(names)))
        if not sampling:
            step = rows_at_a_time(self.n)
            for start in range(0, count, step):
                rows = self.labels.draw(min(step, count - start), rng)
                out[start : start + step] = np.stack([self.values(rows, name) for name in names], axis=1)
            return out
        for k, index in enumerate(rng.integers(0, self.n, (count, self.n))):
            row = self.labels.draw(1, rng)[0] if self.kind == "berkson" else self.labels.shown
            out[k] = [self.value_of(row, name, index) for name in names]
        return out + self._shifts_in_common(count, rng)

    def _shifts_in_common(self, count: int, rng: np.random.Generator) -> FloatArray:
        """What shared errors add to each model, shape (count, models): the scatter of items does not hold it."""
        moved = np.stack([self.common(name) for name in self.predictions], axis=1)
        return np.asarray(moved[rng.integers(0, len(moved), count)])

    def noisy(self) -> bool:
        """Whether label errors are large against the residuals."""
        return False


def _product(values: FloatArray) -> float:
    """Sum of squares; what is not defined counts as the others do on average."""
    defined = values[np.isfinite(values)]
    return float(np.sum(np.square(defined))) * values.size / defined.size if defined.size > 1 else math.inf


def _moments(a: FloatArray, b: FloatArray, *, centred: bool = True) -> FloatArray:
    """Covariances (2, 2) of two series of draws."""
    both = np.stack([a, b])
    both = both[:, np.all(np.isfinite(both), axis=0)]
    if both.shape[1] < 2:
        return np.full((2, 2), math.nan)
    if centred:
        both = both - both.mean(axis=1, keepdims=True)
    return np.asarray(both @ both.T / both.shape[1])


def _correlation_of(moments: FloatArray) -> float:
    size = math.sqrt(max(float(moments[0, 0] * moments[1, 1]), 0.0))
    return min(max(float(moments[0, 1]) / size, -1.0), 1.0) if size > 0 else 0.0


def _std_of_difference(a: Estimate, b: Estimate, correlation: Callable[[], float]) -> float:
    if not (math.isfinite(a.std) and math.isfinite(b.std)):
        return math.inf
    return math.sqrt(max(a.std**2 + b.std**2 - 2.0 * correlation() * a.std * b.std, 0.0))
