"""Models on the same labels, under one metric.

A comparison asks how well *these* labels are known: a label that is the mean of 16 repeats is redrawn with sigma / 4, one
that is the majority of five votes errs as the majority does. All that is said about a pair of models comes from three
quantities, each found once for every model on the same draws:

- *redrawn*: the metric on labels redrawn from their error bars: the distribution of the difference on these items;
- *influences*: what each item (or group of items) adds to the metric; the squares of their differences sum to the variance
  over test sets. Label errors of single items are in them already;
- *common*: what errors shared by several labels do, which the scatter between items does not show.

Metrics that are means over items have formulas for some of these (`PairedMeans`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial, wraps
from operator import methodcaller
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import Answers
from scorebars.answers.classes.class_answers import ClassAnswers
from scorebars.answers.classes.over_rates import OverRates
from scorebars.answers.clustered import grouped, unequal_groups
from scorebars.answers.score import Estimate, Score, UndefinedEstimate
from scorebars.answers.size_errors import SizeError, halved_change, widened
from scorebars.arrays import FloatArray
from scorebars.errors import Censored
from scorebars.errors.per_label import changed
from scorebars.laws.law import Law, NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.numerics import FIXED_SEED
from scorebars.numerics.covariances import covariance_root
from scorebars.studies.comparison.compared_data import (
    ComparedClasses,
    ComparedMetric,
    ComparedNumbers,
    PredictionErrors,
)
from scorebars.studies.comparison.paired_estimates import (
    error_of_difference,
    over_common_rates,
    paired_interval,
    widened_by_items,
)

_GROUPS = 100
"""Up to this many items are left out one by one; more are left out in groups."""
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

_Method = TypeVar("_Method", bound=Callable[..., Any])


def rows_at_a_time(n: int) -> int:
    """Rows of n labels that are drawn at a time."""
    return max(1, 4_000_000 // n)


def once(method: _Method) -> _Method:
    """Keep what a method finds about the models of the given names."""

    @wraps(method)
    def found(self: ModelsOnSameLabels, *names: str) -> Any:
        key = (method.__qualname__, *names)
        if key not in self.kept:
            self.kept[key] = method(self, *names)
        return self.kept[key]

    return cast(_Method, found)


# the models --------------------------------------------------------------------------------------


class ModelsOnSameLabels:
    """All models on the same labels under one metric."""

    draws_of_law = 1_000
    same_order: ModelsOnSameLabels | None = None
    """Another metric that orders the models in the same way and has an exact distribution."""

    def __init__(
        self,
        metric: ComparedMetric,
        labels: ComparedNumbers | ComparedClasses,
        predictions: Mapping[str, NDArray[Any]],
        weight: FloatArray | None,
        units: tuple[float, ...] = (),
        prederr: PredictionErrors | None = None,
    ) -> None:
        self.metric, self.labels, self.predictions, self.weight = metric, labels, dict(predictions), weight
        self.prederr = PredictionErrors() if prederr is None else prederr
        self.declaration, self.units = metric.declaration, units
        """What differences of the metric are still to be multiplied by, one after the other, to be in the user's unit."""
        self.n, self.kind = labels.n, labels.kind
        self.groups: NDArray[np.intp] | None = None
        """The number of the group that each item belongs to; None where items are independent."""
        self.kept: dict[tuple[Any, ...], Any] = {}
        self.exact = labels.exact and not self.prederr.sd
        """Whether redrawing changes nothing."""

    @cached_property
    def shares(self) -> FloatArray:
        """Weights that sum to 1."""
        return np.full(self.n, 1.0 / self.n) if self.weight is None else self.weight / self.weight.sum()

    def with_groups(self, codes: NDArray[np.intp]) -> Self:
        """Items that come in groups."""
        if self.weight is not None:  # a group whose items have no weight does not count
            codes = np.where(self.weight > 0, codes, codes[int(np.argmax(self.weight > 0))])
        self.groups = np.unique(codes, return_inverse=True)[1].reshape(-1)
        if self.same_order is not None:
            self.same_order.with_groups(codes)
        return self

    @property
    def _sample_size(self) -> int:
        """How many items, or groups of them, the test set is a sample of."""
        return self.n if self.groups is None else len(np.unique(self.groups))

    def checked(self) -> Self:
        """Let the metric refuse what it cannot take, in its own words."""
        for name, p in self.predictions.items():
            if self._answers(name) is None:  # else scoring has found them
                self.metric.score(self.labels.shown, p, self._errors(), self.weight, self._prederr(name))
        return self

    def _prederr(self, name: str, index: Any = ...) -> FloatArray | None:
        """The errors of some predictions, where the metric needs them; else none."""
        found = self.prederr.sd.get(name) if self.metric.needs_errors else None
        return None if found is None else found[index]

    def _errors(self, index: Any = None) -> Any:
        """The errors of some labels, or of all, where the metric needs them; else none."""
        if not self.metric.needs_errors:
            return None
        return self.labels.model[np.arange(self.n) if index is None or index is ... else index]

    # one model ---------------------------------------------------------------------------------

    def values(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        """The classical metric of one model on each row of labels, and of `redrawn` predictions; nan where not defined."""
        p, answers = self.predictions[name] if redrawn is None else redrawn, self._answers(name)
        with np.errstate(all="ignore"):
            at_once = None if answers is None else answers.of_rows(rows, p)
        if at_once is not None:
            return at_once
        yerr, prederr = self._errors(), self._prederr(name)
        if p.ndim == rows.ndim == 2 and self.declaration.task == "regression":
            return np.array(
                [self.metric.classical(row, q, yerr, self.weight, prederr) for row, q in zip(rows, p, strict=True)]
            )
        return np.array([self.metric.classical(row, p, yerr, self.weight, prederr) for row in rows])

    @once
    def _answers(self, name: str) -> Answers | None:
        """The answers for exact labels; None where the metric needs errors, or was not told of all classes."""
        if self.metric.needs_errors:
            return None
        try:
            answers = self.metric.score(self.labels.shown, self.predictions[name], None, self.weight)._answers
        except ValueError:  # a metric that these labels do not define may be defined for others
            return None
        if isinstance(self.labels, ComparedNumbers):
            return answers
        classes = self.labels.data.classes
        return answers if isinstance(answers, ClassAnswers) and answers.knows(classes) else None

    def value_of(self, row: NDArray[Any], name: str, index: Any) -> float:
        """The classical metric of one model on some of the items."""
        weight = None if self.weight is None else self.weight[index]
        errors = self._errors(index), weight, self._prederr(name, index)
        return self.metric.classical(row[index], self.predictions[name][index], *errors)

    @once
    def score(self, name: str) -> Score:
        """All that the metric says about one model."""
        yerr = self.labels.model[np.arange(self.n)]
        prederr = self.prederr.sd.get(name)
        found = self.metric.score(self.labels.shown, self.predictions[name], yerr, self.weight, prederr)
        return found if self.groups is None else cast(Score, grouped(found, self.groups, self.weight))

    @once
    def size_step(self, name: str) -> float:
        """How far the score against the truth moves with one standard deviation of the common factor of all errors."""
        assert isinstance(self.labels, ComparedNumbers) and self.labels.scale is not None
        return halved_change(self.score(name)._answers, self.labels.scale.error, methodcaller("_with_known_sizes"))

    @once
    def observed(self, name: str) -> float:
        return float(self.values(self.labels.shown[None], name)[0])

    def redrawn(self, name: str) -> FloatArray:
        """The metric on redrawn labels, the same for all models."""
        return self._redrawn[:, list(self.predictions).index(name)]

    @cached_property
    def _redrawn(self) -> FloatArray:
        return self._on_redrawn_labels(self.draws_of_law, np.random.default_rng(FIXED_SEED), FIXED_SEED)

    def _on_redrawn_labels(self, count: int, rng: np.random.Generator, seed: int) -> FloatArray:
        """The metric of all models on the same redrawn labels, (count, models); predictions are redrawn where they err."""
        step, parts = rows_at_a_time(self.n), []
        for k, start in enumerate(range(0, count, step)):
            rows = self.labels.draw(min(step, count - start), rng)
            predictions = {
                name: self.prederr.draw(p, name, len(rows), (seed, k)) for name, p in self.predictions.items()
            }
            parts.append(np.stack([self.values(rows, name, p) for name, p in predictions.items()], axis=1))
        return np.concatenate(parts)

    # the test set as a sample ------------------------------------------------------------------

    @once
    def influences(self, name: str) -> FloatArray:
        """What each item adds to the metric: the squares sum to its variance over test sets, products of two to a covariance.

        Items, or groups of them, are left out in turn (jackknife). Under Berkson error labels are drawn first.
        """
        if self._sample_size < 2:
            return np.full(1, math.inf)
        if self.kind == "berkson" and not self.labels.exact:
            rows = self.labels.draw(_BERKSON_ROWS, np.random.default_rng(FIXED_SEED))
            return np.concatenate([self._jackknife(row, name) for row in rows]) / math.sqrt(len(rows))
        return self._jackknife(self.labels.shown, name)

    def _jackknife(self, row: NDArray[Any], name: str) -> FloatArray:
        parts, factor, about_mean = self._jackknife_parts
        values = np.array([self.value_of(row, name, index) for index in parts])
        about_mean = about_mean and bool(np.isfinite(values).any())
        centre = float(np.nanmean(values)) if about_mean else self.value_of(row, name, ...)
        return np.asarray(math.sqrt(factor) * (values - centre))

    @cached_property
    def _jackknife_parts(self) -> tuple[list[NDArray[np.intp]], float, bool]:
        """Items to keep in each round, and the factor of the squared deviations."""
        rng = np.random.default_rng(FIXED_SEED)
        if self.groups is not None:
            count = min(self._sample_size, _GROUPS)
            group = (rng.permutation(self._sample_size) % count)[self.groups]
            return [np.flatnonzero(group != g) for g in range(count)], (count - 1) / count, True
        if self.declaration.name in _FEW_ITEMS_DECIDE and self.n > 3:
            half = self.n // 2
            kept = [np.sort(rng.permutation(self.n)[:half]) for _ in range(_HALVES)]
            return kept, half / (self.n - half) / _HALVES, False
        count = min(self.n, _GROUPS)
        group = rng.permutation(np.arange(self.n) % count)
        return [np.flatnonzero(group != g) for g in range(count)], (count - 1) / count, True

    def item_std(self, a: str, b: str) -> float:
        """Standard error of the difference over test sets."""
        if self._sample_size < 2:
            return math.inf
        return math.sqrt(_sum_of_squares(self.influences(a) - self.influences(b)))

    @once
    def item_df(self, a: str, b: str) -> float:
        """Degrees of freedom of `item_std`: one less than there are items or groups, fewer where groups are unequal."""
        if self.groups is not None and self._sample_size > 1:
            first, second = self._item_moves(a), self._item_moves(b)
            if len(first) == len(second) == self.n:
                return unequal_groups(first - second, self.shares, self.groups)[1]
        return max(self._sample_size - 1, 1)

    @once
    def _item_moves(self, name: str) -> FloatArray:
        """What each item moves the metric by; empty where the metric does not know."""
        try:
            return self.score(name)._answers.influences()
        except UndefinedEstimate:
            return np.zeros(0)

    # errors that several labels share ----------------------------------------------------------

    @once
    def common(self, name: str) -> FloatArray:
        """How far errors that several labels share move the metric, in draws that are the same for all models."""
        drawn = self._labels_in_common
        if drawn is None:
            return np.zeros(1)
        values, state = self.values(drawn[0], name), drawn[1]
        sums = np.bincount(state, np.nan_to_num(values)) / np.maximum(np.bincount(state, np.isfinite(values)), 1)
        means = sums[state]
        return np.asarray(means - means.mean())

    @cached_property
    def _labels_in_common(self) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
        return self.labels.draw_common(_COMMON_DRAWS, np.random.default_rng(FIXED_SEED + 1))

    def common_std(self, a: str, b: str) -> float:
        return float(np.std(self.common(a) - self.common(b)))

    # pairs -------------------------------------------------------------------------------------

    @once
    def law(self, a: str, b: str) -> Law:
        """The distribution of metric(a) - metric(b) on redrawn labels."""
        if self.exact:
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
        if self.exact or "_redrawn" not in self.__dict__:
            return 0.0
        return float(np.mean(~np.isfinite(self.redrawn(a) - self.redrawn(b))))

    def truth(self, a: str, b: str) -> Estimate:
        """The difference of the two truths; what both estimates share cancels.

        The intervals of the two truths are put together by their correlation, which the metric on common draws shows
        (Zou and Donner 2008, for dependent estimates).
        """
        scale = getattr(self.labels, "scale", None)
        if scale is not None:
            step = self.size_step(a) - self.size_step(b)
            return widened(self.with_known_scale.truth(a, b), SizeError(step, scale, 0.0), (-math.inf, math.inf))
        first, second = self.score(a).truth, self.score(b).truth
        value = float(first) - float(second)
        if not math.isfinite(value):
            raise UndefinedEstimate(
                f"{self.declaration.name} against the truth is {first} and {second}: they have no difference."
            )
        notes = dict.fromkeys(note for note in (first.note, second.note) if note)
        methods = dict.fromkeys((first.method, second.method))
        labels, items = partial(self._correlation, a, b), partial(self._item_correlation, a, b)
        both = partial(paired_interval, first, second)
        if isinstance(first._interval, OverRates) and isinstance(second._interval, OverRates):
            return over_common_rates(first, second, labels, items, "; ".join(notes))
        alone = partial(both, labels, (first.interval, second.interval))
        total = partial(both, items, (first.total_interval, second.total_interval))
        if self._labels_in_common is not None and first._total is not None:
            total = partial(widened_by_items, value, alone, partial(self.item_std, a, b), self.item_df(a, b))
        return Estimate(
            value,
            lambda: error_of_difference(first.std, second.std, labels),
            method=" and ".join(methods),
            note="; ".join([*notes, _PAIRED]),
            interval=alone,
            total_interval=total,
        )

    @cached_property
    def with_known_scale(self) -> ModelsOnSameLabels:
        """The same models on the same labels, with the common factor of all errors taken as known."""
        assert isinstance(self.labels, ComparedNumbers)
        labels = ComparedNumbers(self.labels.shown, self.labels.model.with_known_scale())
        return changed(self, labels=labels, kept={})

    def _correlation(self, a: str, b: str) -> float:
        """Correlation of the two estimates when labels err about the true values.

        Labels redrawn about labels carry the error twice, which makes models look more alike. Labels redrawn about
        noisier labels carry it three times; from both follows what once would give.
        """
        if self.exact:
            return 0.0
        twice = self._covariances_of(a, b)
        if self._labels_made_noisier is None:
            return _correlation_of(twice)
        thrice = 0.5 * _covariances(self._further_error(a), self._further_error(b), centred=False)
        alone = 2.0 * twice - thrice
        sure = np.all(np.diagonal(alone) > 0.25 * np.diagonal(twice))
        found = _correlation_of(alone if sure else twice)
        return max(1.0 - _ENLARGED * (1.0 - found), min(found, 0.0))

    def _covariances_of(self, a: str, b: str) -> FloatArray:
        """The covariance matrix of two models on redrawn labels."""
        return _covariances(self.redrawn(a), self.redrawn(b))

    @cached_property
    def _labels_made_noisier(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        count = min(_NOISIER_DRAWS, max(rows_at_a_time(self.n), 50))
        return self.labels.draw_noisier(count, np.random.default_rng(FIXED_SEED + 2))

    @once
    def _further_error(self, name: str) -> FloatArray:
        """How far one more error of the labels (and predictions) moves the metric: differences of two draws of it.

        They are nan where it has no value, such as logarithms of labels below -1.
        """
        pair, errors = self._labels_made_noisier, self.prederr
        assert pair is not None
        if name not in errors.sd:
            first, second = (self.values(rows, name) for rows in pair)
        else:
            p, count = self.predictions[name], len(pair[0])
            before = errors.draw(p, name, count, (FIXED_SEED, 2, 0))
            first, second = (
                self.values(rows, name, before - p + errors.draw(p, name, count, (FIXED_SEED, 2, k)))
                for k, rows in enumerate(pair, 1)
            )
        with np.errstate(invalid="ignore"):
            return np.asarray(first - second)

    def _item_correlation(self, a: str, b: str) -> float:
        if self._sample_size < 3:
            return 0.0
        return _correlation_of(_covariances(self.influences(a), self.influences(b), centred=False))

    # many models -------------------------------------------------------------------------------

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        """Joint draws, shape (count, models), that order the models as their scores do; with `sampling` of items too.

        As many of labels alone as the differences are made of are those same draws.
        """
        count = min(count, self.draws_of_law)
        if not sampling and count == self.draws_of_law:
            return self._redrawn
        if not sampling:
            return self._on_redrawn_labels(count, rng, int(rng.integers(2**31)) if self.prederr.sd else 0)
        if self.groups is not None:
            return self._drawn_in_groups(count, rng)
        out = []
        for index in rng.integers(0, self.n, (count, self.n)):
            row = self.labels.draw(1, rng)[0] if self.kind == "berkson" else self.labels.shown
            out.append([self.value_of(row, name, index) for name in self.predictions])
        return np.array(out) + self._shifts_in_common(count, rng)

    def _drawn_in_groups(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of Student's distribution, of which the differences of two models are those of `difference`.

        Its degrees of freedom are the fewest that a model has against the mean of all; of two models both have those of
        their difference.
        """
        names = list(self.predictions)
        if self._sample_size < 2:  # one group shows no scatter of groups: any order is as likely
            return rng.standard_normal((count, len(names)))
        moved = np.nan_to_num(np.stack([self._moves_of_groups(name) for name in names]))
        drawn = rng.standard_normal((count, len(names))) @ covariance_root(moved @ moved.T).T
        df = self._fewest_degrees(names)
        drawn /= np.sqrt(rng.chisquare(df, count) / df)[:, None]
        return np.asarray(self._centres + drawn + self._shifts_in_common(count, rng))

    @property
    def _centres(self) -> FloatArray:
        """The metric of all models; under Berkson error on average over redrawn labels."""
        if self.kind != "berkson":
            return np.array([self.observed(name) for name in self.predictions])
        return np.array([np.nanmean(self.redrawn(name)) for name in self.predictions])

    def _moves_of_groups(self, name: str) -> FloatArray:
        """What leaving out groups moves the metric by: squares of differences sum to `item_std` squared."""
        return self.influences(name)

    def _fewest_degrees(self, names: Sequence[str]) -> float:
        moves = [self._item_moves(name) for name in names]
        assert self.groups is not None
        if any(len(one) != self.n for one in moves):
            return max(self._sample_size - 1, 1)
        mean = np.mean(moves, axis=0)
        return min(unequal_groups(one - mean, self.shares, self.groups)[1] for one in moves)

    def _shifts_in_common(self, count: int, rng: np.random.Generator) -> FloatArray:
        """What shared errors add to each model, shape (count, models): the scatter of items does not hold it."""
        moved = np.stack([self.common(name) for name in self.predictions], axis=1)
        return np.asarray(moved[rng.integers(0, len(moved), count)])


def _sum_of_squares(values: FloatArray) -> float:
    """Sum of squares; what is not defined counts as the others do on average."""
    defined = values[np.isfinite(values)]
    return float(np.sum(np.square(defined))) * values.size / defined.size if defined.size > 1 else math.inf


def _covariances(a: FloatArray, b: FloatArray, *, centred: bool = True) -> FloatArray:
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


class ModelsOnLimits(ModelsOnSameLabels):
    """A metric of all labels together, the median error or one of the order, where some labels are limits."""

    draws_of_law = 400

    def __init__(self, limits: Censored, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.limits = limits

    def values(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        return np.array([self.value_of(row, name, ...) for row in rows])

    def value_of(self, row: NDArray[Any], name: str, index: Any) -> float:
        """Numbers are redrawn, limits stay as they are."""
        low, high = (np.where(self.limits.limits, end, row)[index] for end in (self.limits.lower, self.limits.upper))
        weight = None if self.weight is None else self.weight[index]
        return float(self.metric.score(None, self.predictions[name][index], Censored(low, high), weight).observed)
