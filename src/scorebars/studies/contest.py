"""Models on the same labels under one metric.

Everything about a pair of models comes from three joint quantities, each found once for every model on the same draws:

- *redrawn*: the metric on labels redrawn within their errors: the distribution of the difference on these items;
- *influences*: what each item (or group of items) adds to the metric; the squares of their differences sum to the variance
  over test sets. Label errors of single items are in them already;
- *common*: what errors shared by several labels do, which the scatter between items does not show.

Metrics with formulas of their own override one or the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.difference import Paired, TruthDifference
from scorebars.answers.joint import JointAnswers
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.score import Answers, Declaration, Estimate, Score, UndefinedEstimate
from scorebars.studies.contest_labels import ContestLabels
from scorebars.studies.contest_metric import ContestMetric

SEED = 20240517
CELLS = 4_000_000
"""Labels that are drawn at a time."""
_GROUPS = 100
"""Items are left out one by one, or beyond so many in groups."""
_HALVES = 200
_ROUGH = ("median_absolute_error", "max_error")
"""Metrics that hang on one or two items: leaving out single items tells nothing about their variance, halves do."""
_PAIRED = "the interval joins those of the two truths by the correlation of the metric on common draws of the labels"
_COMMON_DRAWS = 400
_NOISIER_DRAWS = 400
_BERKSON_ROWS = 4
_ENLARGED = 1.5
"""Few labels make correlations of estimates against the truth look larger than they are: the variance of a difference of
equally well known truths is taken larger by this factor (measured: docs/theory/comparison.md)."""


@dataclass(frozen=True)
class Match:
    """One pair of models: metric(a) - metric(b)."""

    observed: float
    law: Callable[[], Law]
    """When labels are redrawn within their errors."""
    item_std: Callable[[], float]
    """Standard error over test sets, label errors included."""
    common_std: Callable[[], float]
    """What errors shared by several labels add."""
    truth: Callable[[], TruthDifference]


class Contest:
    """All models on the same labels under one metric."""

    draws_of_law = 1_000
    monotone: Contest | None = None
    """A contest that orders the models in the same way and has an exact law."""

    def __init__(
        self,
        metric: ContestMetric,
        labels: ContestLabels,
        predictions: Mapping[str, NDArray[Any]],
        weight: FloatArray | None,
        units: tuple[float, ...] = (),
    ) -> None:
        self.metric, self.labels, self.predictions, self.weight = metric, labels, dict(predictions), weight
        self.units = units
        """What differences of the metric are still to be multiplied by, one after the other, to be in the user's unit."""
        self.n, self.kind = labels.n, labels.kind
        self._found: dict[tuple[str, str], Any] = {}

    @property
    def declaration(self) -> Declaration:
        return self.metric.declaration

    @cached_property
    def shares(self) -> FloatArray:
        """Weights that sum to 1."""
        return np.full(self.n, 1.0 / self.n) if self.weight is None else self.weight / self.weight.sum()

    def _once(self, what: str, name: str, compute: Callable[[str], Any]) -> Any:
        if (what, name) not in self._found:
            self._found[what, name] = compute(name)
        return self._found[what, name]

    def check(self) -> None:
        """Let the metric refuse what it cannot take, in its own words."""
        yerr = self.labels.errors_of(np.arange(self.n)) if self.metric.needs_errors else None
        for p in self.predictions.values():
            self.metric.score(self.labels.shown, p, yerr, self.weight)

    # one model ---------------------------------------------------------------------------------

    def values(self, rows: NDArray[Any], name: str) -> FloatArray:
        """The classical metric of one model on each row of labels; nan where it is not defined."""
        answers = self._once("answers", name, self._answers)
        if isinstance(answers, JointAnswers):  # all rows at once
            with np.errstate(all="ignore"):
                return np.asarray(answers._metric.values(rows, self.predictions[name], self.weight), dtype=np.float64)
        yerr = self.labels.errors_of(np.arange(self.n)) if self.metric.needs_errors else None
        p = self.predictions[name]
        return np.array([self.metric.classical(row, p, yerr, self.weight) for row in rows])

    def _answers(self, name: str) -> Answers | None:
        """Those of exact labels; None where the metric cannot do without errors."""
        if self.metric.needs_errors or self.declaration.task == "classification":
            return None
        return self.metric.score(self.labels.shown, self.predictions[name], None, self.weight)._answers

    def value_of(self, row: NDArray[Any], name: str, index: Any) -> float:
        """The classical metric of one model on some of the items."""
        yerr = self.labels.errors_of(index) if self.metric.needs_errors else None
        weight = None if self.weight is None else self.weight[index]
        return self.metric.classical(row[index], self.predictions[name][index], yerr, weight)

    def score(self, name: str) -> Score:
        """All that the metric says about one model."""

        def compute(name: str) -> Score:
            yerr = self.labels.errors_of(np.arange(self.n))
            return self.metric.score(self.labels.shown, self.predictions[name], yerr, self.weight)

        found: Score = self._once("score", name, compute)
        return found

    def observed(self, name: str) -> float:
        return float(self._once("observed", name, lambda n: self.values(self.labels.shown[None], n)[0]))

    def redrawn(self, name: str) -> FloatArray:
        """The metric on redrawn labels, the same for all models."""
        return self._drawn("redrawn", name, self._labels_redrawn)

    def _drawn(self, what: str, name: str, rows: Callable[[], Iterator[NDArray[Any]]]) -> FloatArray:
        def compute(name: str) -> FloatArray:
            return np.concatenate([self.values(block, name) for block in rows()])

        found: FloatArray = self._once(what, name, compute)
        return found

    def _labels_redrawn(self) -> Iterator[NDArray[Any]]:
        rng = np.random.default_rng(SEED)
        left, step = self.draws_of_law, max(1, CELLS // self.n)
        while left > 0:
            yield self.labels.draw(min(step, left), rng)
            left -= step

    # the test set as a sample ------------------------------------------------------------------

    def influences(self, name: str) -> FloatArray:
        """What items add to the metric: squares sum to its variance over test sets, products of two models to a covariance.

        Items, or groups of them, are left out in turn (jackknife). Under Berkson error labels are drawn first.
        """
        found: FloatArray = self._once("influences", name, self._influences)
        return found

    def _influences(self, name: str) -> FloatArray:
        if self.n < 2:
            return np.full(1, math.inf)
        if self.kind == "berkson" and not self.labels.exact:
            rows = self.labels.draw(_BERKSON_ROWS, np.random.default_rng(SEED))
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
        rng = np.random.default_rng(SEED)
        if self.declaration.name in _ROUGH and self.n > 3:
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

    def common(self, name: str) -> FloatArray:
        """How far errors that several labels share move the metric: draws, the same for all models."""
        found: FloatArray = self._once("common", name, self._common)
        return found

    def _common(self, name: str) -> FloatArray:
        drawn = self._labels_in_common
        if drawn is None:
            return np.zeros(1)
        values, state = self.values(drawn[0], name), drawn[1]
        sums = np.bincount(state, np.nan_to_num(values)) / np.maximum(np.bincount(state, np.isfinite(values)), 1)
        means = sums[state]
        return np.asarray(means - means.mean())

    @cached_property
    def _labels_in_common(self) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
        return self.labels.draw_common(_COMMON_DRAWS, np.random.default_rng(SEED + 1))

    def common_std(self, a: str, b: str) -> float:
        return float(np.std(self.common(a) - self.common(b)))

    # pairs -------------------------------------------------------------------------------------

    def match(self, a: str, b: str) -> Match:
        return Match(
            self.observed(a) - self.observed(b),
            partial(self._law_once, a, b),
            partial(self.item_std, a, b),
            partial(self.common_std, a, b),
            partial(self.truth, a, b),
        )

    def _law_once(self, a: str, b: str) -> Law:
        found: Law = self._once(f"law of the difference from {b}", a, lambda name: self.law(name, b))
        return found

    def law(self, a: str, b: str) -> Law:
        """metric(a) - metric(b) on redrawn labels."""
        if self.labels.exact:
            return NormalLaw(self.observed(a) - self.observed(b), 0.0)
        difference = self.redrawn(a) - self.redrawn(b)
        defined = difference[np.isfinite(difference)]
        if defined.size < 2:
            raise UndefinedEstimate(
                f"{self.declaration.name} is not defined for labels redrawn within these errors, so models cannot be "
                "compared by it."
            )
        return SampleLaw(defined) if np.ptp(defined) > 0 else NormalLaw(float(defined[0]), 0.0)

    def undefined_share(self, a: str, b: str) -> float:
        """Share of the redrawn labels for which the metric is not defined."""
        if self.labels.exact or ("redrawn", a) not in self._found:
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

        Labels redrawn about labels carry the error twice, which makes models look more alike. Labels redrawn about labels
        that were made noisier carry it three times; from both follows what once would give.
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
        count = int(min(_NOISIER_DRAWS, max(CELLS // self.n, 50)))
        return self.labels.draw_noisier(count, np.random.default_rng(SEED + 2))

    def _gap(self, name: str) -> FloatArray:
        def compute(name: str) -> FloatArray:
            pair = self._labels_made_noisier
            assert pair is not None
            return self.values(pair[0], name) - self.values(pair[1], name)

        found: FloatArray = self._once("gap", name, compute)
        return found

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
            step = max(1, CELLS // self.n)
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
