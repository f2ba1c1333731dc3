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
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial, wraps
from inspect import Parameter, signature
from operator import methodcaller
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.confusion_answers import ConfusionAnswers
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.classes.over_rates import OverRates
from scorebars.answers.clustered import grouped
from scorebars.answers.intervals import IntervalAt, Symmetric
from scorebars.answers.limited import best_label
from scorebars.answers.score import Declaration, Estimate, Interval, Score, UndefinedEstimate
from scorebars.answers.size_errors import SizeError, halved_change, widened
from scorebars.answers.together.all_labels_metric import AllLabelsAnswers
from scorebars.arrays import FloatArray
from scorebars.errors import Censored, MeasurementError, Normal
from scorebars.evaluation.scoring import ChosenMetric, chosen_metric
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.fourier import FourierLaw
from scorebars.laws.law import Law, NormalLaw, StudentLaw
from scorebars.laws.loss_nodes import has_nodes, loss_nodes
from scorebars.laws.mean_loss_law import mean_law
from scorebars.laws.samples import SampleLaw
from scorebars.losses import AbsoluteError, ItsLabel, Loss, LossDifference, SquaredError
from scorebars.moments import label_moments
from scorebars.moments.closed_forms import absolute_difference, squared_difference

_UNKNOWN = (
    "metric must be the name of a metric, a metric function of scorebars, or what sb.metric(loss) made, got {!r}."
)
_SEED = 20240517
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
_DRAWS = 20_000
_SLOW_DRAWS = 2_000
_FORECAST_DRAWS = 5_000
_DRAWN_UP_TO = 2_000
"""Up to so many labels differences of mean absolute errors are found by quadrature, and those of mean squares with
predictions that err are drawn; above, the normal law is as good."""
_FEW_DRAWN = 64
"""Differences of mean absolute errors of at most this many labels are drawn: each label adds steps to their distribution."""
_TOGETHER = 1_024
"""Labels whose values are listed together."""

_Common = tuple[NDArray[Any], NDArray[np.intp]]
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


# the metric --------------------------------------------------------------------------------------


class ComparedMetric(ChosenMetric):
    """A declared metric with its options."""

    @cached_property
    def declaration(self) -> Declaration:
        return cast(Declaration, super().declaration)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The arguments of the metric's function."""
        return signature(self.function).parameters

    @property
    def needs_errors(self) -> bool:
        """Whether the classical metric itself takes the errors: reduced chi-squared."""
        return self.parameters["yerr"].default is Parameter.empty

    def score(self, y: Any, p: Any, yerr: Any, weight: FloatArray | None, prederr: Any = None) -> Score:
        """The Score of one model."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a drawn class is missing, or that a moment does not exist
            found = self(y, p, yerr, weight, prederr)
        if isinstance(found, Score):
            return found
        what = f"{self.name} gives {type(found).__name__}, not one number"
        raise ValueError(f"{what}, so models cannot be compared by it. Choose an average over classes or outputs.")

    def classical(
        self, y: NDArray[Any], p: NDArray[Any], yerr: Any, weight: FloatArray | None, prederr: Any = None
    ) -> float:
        """The observed metric; nan where it is not defined for these labels."""
        try:
            errors = (yerr, weight, prederr) if self.needs_errors else (None, weight)
            return self.score(y, p, *errors).observed
        except (ValueError, ZeroDivisionError, OverflowError):
            return float("nan")

    def with_all_classes(self, classes: NDArray[Any], prediction: NDArray[Any]) -> ComparedMetric:
        """The same metric, told of all classes: redrawn labels need not show each of them."""
        known, fixed = self.parameters, {}
        if "y_pred" in known:
            by_class = self.options.get("average", known["average"].default if "average" in known else None) != "binary"
        else:
            by_class = prediction.ndim == 2 or self.name == "log_loss"
            fixed = {"pos_label": classes[-1]} if prediction.ndim == 1 and "pos_label" in known else {}
        fixed |= {"labels": classes} if "labels" in known and by_class else {}
        return ComparedMetric(self.function, {**fixed, **self.options})


def compared_metric(metric: Any, options: Mapping[str, Any]) -> ComparedMetric:
    """The metric that a user means; refuses unknown options, and those that are missing."""
    found = chosen_metric(metric, options) if isinstance(metric, str) or callable(metric) else None
    if found is None or found.declaration is None:
        raise ValueError(_UNKNOWN.format(metric))
    if not found.declaration.scored:
        raise ValueError(f"compare does not take {found.name}: it is no single number with a direction.")
    if found.name == "mean_error":
        raise ValueError(
            "compare does not take mean_error: of two biases neither sign is better. Use mean_squared_error."
        )
    own = "level" in found.known_options  # which is one of compare, too
    found.require_options(
        "compare(..., metric=functools.partial(sb.{name}, {option}=...))"
        if own
        else "compare(..., metric={name!r}, {option}=...)"
    )
    return ComparedMetric(found.function, found.options)


# the labels --------------------------------------------------------------------------------------


class ComparedNumbers:
    """Measured numbers with their errors. Draws have shape (count, n)."""

    def __init__(self, y: NDArray[Any], errors: MeasurementError) -> None:
        self.shown, self.n, self.model = np.asarray(y, dtype=np.float64), len(y), errors
        self.kind, self.repeats = errors.kind, errors.repeats
        self.errors = errors.label_level()
        """Of the labels at hand, means of their repeats."""
        self.scale = errors.common_scale
        """How well the one factor of all error sizes is known; None where it is."""
        self.exact = self.errors.error_free(self.shown)
        normal = self.errors.normal
        self.batches = normal if normal is not None and normal.batch is not None else None
        """The errors, where those of labels in one batch have a part in common."""
        self.common = None if self.batches is not None else self.errors.common_shifts()
        """Rows of shifts that several labels share, (k, n); None where errors are independent, or shared in batches."""

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """The labels redrawn from their error bars, which are of some possible size where that is not known well."""
        rows = self.errors.sample(self.shown, count, rng)
        if self.scale is None:
            return rows
        return self.shown + self.scale.factors(count, rng)[:, None] * (rows - self.shown)

    def draw_common(self, count: int, rng: np.random.Generator) -> _Common | None:
        """Rows of labels moved by the errors that several of them share, and the state of the common cause in each row.

        The mean of a metric over the rows of one state shows what this state does to it. None for independent errors.
        """
        if self.batches is not None:
            only = self.batches._changed(sigma=0.0)
            return only.sample(self.shown, count, rng), np.arange(count)
        if self.common is None:
            return None
        return self.shown + rng.standard_normal((count, len(self.common))) @ self.common, np.arange(count)

    def draw_noisier(self, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray] | None:
        """Two draws about labels that were made noisier once: what a further error does to them."""
        before, first, second = (self.draw(count, rng) for _ in range(3))
        return before + (first - self.shown), before + (second - self.shown)


class ComparedClasses:
    """Class labels: `data` knows their errors, and predictions of classes are indices into `data.classes`."""

    def __init__(self, data: Labelled) -> None:
        self.data, self.kind, self.shown, self.n = data, data.kind, data.names, len(data.names)
        self.model, self.repeats = data.model, data.model.repeats
        self.cases = self._cases()
        """Label probabilities (n, K) of independent labels, with the chance of each case: two for correlated flips."""
        self.exact = all(bool(np.all(p[np.arange(self.n), data.shown] == 1.0)) for _, p in self.cases)

    def _cases(self) -> list[tuple[float, FloatArray]]:
        if self.kind == "classical" and not isinstance(self.repeats, int):
            with suppress(UndefinedEstimate):  # votes that do not tell how often one is wrong: take them one by one
                return [(1.0, self.data.own_probabilities)]
        return self.data.mixture()

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[Any]:
        """The labels redrawn from their error bars."""
        return self._by_case(count, rng)[0]

    def draw_common(self, count: int, rng: np.random.Generator) -> _Common | None:
        """As for numbers: rows of labels, and which case each row is drawn from."""
        return self._by_case(count, rng) if len(self.cases) > 1 else None

    def draw_noisier(self, count: int, rng: np.random.Generator) -> None:
        """No class is noisier than another draw of it."""

    def _by_case(self, count: int, rng: np.random.Generator) -> _Common:
        chances = np.array([chance for chance, _ in self.cases])
        case = rng.choice(len(chances), count, p=chances / chances.sum())
        picked = np.zeros((count, self.n), dtype=np.intp)
        for k, (_, p) in enumerate(self.cases):
            here = np.flatnonzero(case == k)
            u = rng.random((len(here), self.n))
            edges = np.cumsum(p, axis=1)[:, :-1].T
            picked[here] = sum((u > edge for edge in edges), np.zeros(u.shape, dtype=np.intp))
        return np.asarray(self.data.classes[picked]), case


class PredictionErrors:
    """Standard errors of the predictions of some models: independent of each other, or all from one source (`shared`)."""

    def __init__(self, sd: Mapping[str, FloatArray] | None = None, shared: bool = False) -> None:
        self.sd = {name: q for name, q in (sd or {}).items() if np.any(q > 0)}
        self.correlation = 1.0 if shared else 0.0
        """Of the errors of two models on one item."""

    def of(self, name: str) -> FloatArray | float:
        """Standard errors of a model's predictions."""
        return self.sd.get(name, 0.0)

    def draw(self, p: FloatArray, name: str, count: int, seed: tuple[int, ...]) -> FloatArray:
        """Predictions redrawn, (count, n), the same for the same seed; p itself where they have no error."""
        if name not in self.sd:
            return p
        own = 1 if self.correlation else 1 + list(self.sd).index(name)  # not 0, which would not change a seed
        return p + self.sd[name] * np.random.default_rng((*seed, own)).standard_normal((count, len(p)))


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
        self.found: dict[tuple[Any, ...], Any] = {}
        self.exact = labels.exact and not self.prederr.sd
        """Whether nothing that is redrawn changes."""

    @cached_property
    def shares(self) -> FloatArray:
        """Weights that sum to 1."""
        return np.full(self.n, 1.0 / self.n) if self.weight is None else self.weight / self.weight.sum()

    def with_groups(self, codes: NDArray[np.intp]) -> Self:
        """Items that come in groups."""
        if self.weight is not None:  # a group whose items do not count is none
            codes = np.where(self.weight > 0, codes, codes[int(np.argmax(self.weight > 0))])
        self.groups = np.unique(codes, return_inverse=True)[1].reshape(-1)
        if self.same_order is not None:
            self.same_order.with_groups(codes)
        return self

    @property
    def group_count(self) -> int | None:
        """How many groups the items come in; None where they are independent."""
        return None if self.groups is None else len(np.unique(self.groups))

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
        """Those of some predictions, for a metric that cannot do without; else none."""
        found = self.prederr.sd.get(name) if self.metric.needs_errors else None
        return None if found is None else found[index]

    def _errors(self, index: Any = None) -> Any:
        """Those of some labels, or of all, for a metric that cannot do without; else none."""
        if not self.metric.needs_errors:
            return None
        return self.labels.model[np.arange(self.n) if index is None or index is ... else index]

    # one model ---------------------------------------------------------------------------------

    def values(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        """The classical metric of one model on each row of labels, and of `redrawn` predictions; nan where not defined."""
        p, answers = self.predictions[name] if redrawn is None else redrawn, self._answers(name)
        if isinstance(answers, AllLabelsAnswers):  # all rows at once
            with np.errstate(all="ignore"):
                return np.asarray(answers.metric.values(rows, p, self.weight), dtype=np.float64)
        if isinstance(answers, ConfusionAnswers) and isinstance(self.labels, ComparedClasses):
            return answers.of_rows(rows)
        yerr, prederr = self._errors(), self._prederr(name)
        if p.ndim == rows.ndim == 2 and self.declaration.task == "regression":
            return np.array(
                [self.metric.classical(row, q, yerr, self.weight, prederr) for row, q in zip(rows, p, strict=True)]
            )
        return np.array([self.metric.classical(row, p, yerr, self.weight, prederr) for row in rows])

    @once
    def _answers(self, name: str) -> Any:
        """Those of exact labels; None where the metric cannot do without errors, or needs to see which classes there are."""
        if self.metric.needs_errors or (self.declaration.task == "classification" and self.predictions[name].ndim > 1):
            return None
        try:
            answers = self.metric.score(self.labels.shown, self.predictions[name], None, self.weight)._answers
        except ValueError:  # a metric that these labels do not define may be defined for others
            return None
        if isinstance(self.labels, ComparedClasses):
            known = isinstance(answers, ConfusionAnswers) and np.array_equal(
                answers.data.classes, self.labels.data.classes
            )
            return answers if known else None
        return answers

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
        return self._redrawn[name]

    @cached_property
    def _redrawn(self) -> dict[str, FloatArray]:
        """The same for all models, from one set of draws."""
        parts: dict[str, list[FloatArray]] = {name: [] for name in self.predictions}
        for k, rows in enumerate(self._drawn(self.draws_of_law, np.random.default_rng(_SEED))):
            for name, part in parts.items():
                part.append(self._values(rows, name, (_SEED, k)))
        return {name: np.concatenate(part) for name, part in parts.items()}

    def _values(self, rows: NDArray[Any], name: str, seed: tuple[int, ...]) -> FloatArray:
        """The classical metric of one model on each row of labels, its predictions redrawn too where they err."""
        if name not in self.prederr.sd:
            return self.values(rows, name)
        return self.values(rows, name, self.prederr.draw(self.predictions[name], name, len(rows), seed))

    def _drawn(self, count: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
        """Redrawn labels, some rows at a time."""
        for start in range(0, count, rows_at_a_time(self.n)):
            yield self.labels.draw(min(rows_at_a_time(self.n), count - start), rng)

    # the test set as a sample ------------------------------------------------------------------

    @once
    def influences(self, name: str) -> FloatArray:
        """What items add to the metric: squares sum to its variance over test sets, products of two models to a covariance.

        Items, or groups of them, are left out in turn (jackknife). Under Berkson error labels are drawn first.
        """
        if self._sample_size < 2:
            return np.full(1, math.inf)
        if self.kind == "berkson" and not self.labels.exact:
            rows = self.labels.draw(_BERKSON_ROWS, np.random.default_rng(_SEED))
            return np.concatenate([self._jackknife(row, name) for row in rows]) / math.sqrt(len(rows))
        return self._jackknife(self.labels.shown, name)

    def _jackknife(self, row: NDArray[Any], name: str) -> FloatArray:
        parts, factor, about_mean = self._parts
        values = np.array([self.value_of(row, name, index) for index in parts])
        about_mean = about_mean and bool(np.isfinite(values).any())
        centre = float(np.nanmean(values)) if about_mean else self.value_of(row, name, ...)
        return np.asarray(math.sqrt(factor) * (values - centre))

    @cached_property
    def _parts(self) -> tuple[list[NDArray[np.intp]], float, bool]:
        """Items to keep in each round, and the factor of the squared deviations."""
        rng = np.random.default_rng(_SEED)
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
        both = partial(_paired, first, second)
        if isinstance(first._interval, OverRates) and isinstance(second._interval, OverRates):
            return _over_common_rates(first, second, labels, items, "; ".join(notes))
        return Estimate(
            value,
            lambda: _apart(first.std, second.std, labels),
            method=" and ".join(methods),
            note="; ".join([*notes, _PAIRED]),
            interval=partial(both, labels, (first.interval, second.interval)),
            total_interval=partial(both, items, (first.total_interval, second.total_interval)),
        )

    @cached_property
    def with_known_scale(self) -> ModelsOnSameLabels:
        """The same models on the same labels, with the common factor of all errors taken as known."""
        other = object.__new__(type(self))
        other.__dict__.update({**self.__dict__, "found": {}})
        for drawn in ("_redrawn", "_joint"):
            other.__dict__.pop(drawn, None)
        assert isinstance(self.labels, ComparedNumbers)
        other.labels = ComparedNumbers(self.labels.shown, self.labels.model.with_known_scale())
        return other

    def _correlation(self, a: str, b: str) -> float:
        """Correlation of the two estimates when labels err about the true values.

        Labels redrawn about labels carry the error twice, which makes models look more alike. Labels redrawn about
        noisier labels carry it three times; from both follows what once would give.
        """
        if self.exact:
            return 0.0
        twice = self._moments_of(a, b)
        if self._labels_made_noisier is None:
            return _correlation_of(twice)
        thrice = 0.5 * _moments(self._gap(a), self._gap(b), centred=False)
        once = 2.0 * twice - thrice
        sure = np.all(np.diagonal(once) > 0.25 * np.diagonal(twice))
        found = _correlation_of(once if sure else twice)
        return max(1.0 - _ENLARGED * (1.0 - found), min(found, 0.0))

    def _moments_of(self, a: str, b: str) -> FloatArray:
        """The covariance matrix of two models on redrawn labels."""
        return _moments(self.redrawn(a), self.redrawn(b))

    @cached_property
    def _labels_made_noisier(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        count = min(_NOISIER_DRAWS, max(rows_at_a_time(self.n), 50))
        return self.labels.draw_noisier(count, np.random.default_rng(_SEED + 2))

    @once
    def _gap(self, name: str) -> FloatArray:
        pair, errors = self._labels_made_noisier, self.prederr
        assert pair is not None
        if name not in errors.sd:
            return self.values(pair[0], name) - self.values(pair[1], name)
        p, count = self.predictions[name], len(pair[0])
        before = errors.draw(p, name, count, (_SEED, 2, 0))
        first, second = (
            self.values(pair[k], name, before - p + errors.draw(p, name, count, (_SEED, 2, k + 1))) for k in (0, 1)
        )
        return first - second

    def _item_correlation(self, a: str, b: str) -> float:
        if self._sample_size < 3:
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
        if not sampling:
            drawn, seed = self._drawn(count, rng), int(rng.integers(2**31)) if self.prederr.sd else 0
            return np.concatenate(
                [
                    np.stack([self._values(rows, name, (seed, k)) for name in names], axis=1)
                    for k, rows in enumerate(drawn)
                ]
            )
        out = []
        for index in self._items_drawn_again(count, rng):
            row = self.labels.draw(1, rng)[0] if self.kind == "berkson" else self.labels.shown
            out.append([self.value_of(row, name, index) for name in names])
        return np.array(out) + self._shifts_in_common(count, rng)

    def _items_drawn_again(self, count: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
        """Items, or whole groups of them, drawn with replacement."""
        if self.groups is None:
            yield from rng.integers(0, self.n, (count, self.n))
            return
        members = np.split(np.argsort(self.groups, kind="stable"), np.cumsum(np.bincount(self.groups))[:-1])
        for drawn in rng.integers(0, len(members), (count, len(members))):
            yield np.concatenate([members[g] for g in drawn])

    def _shifts_in_common(self, count: int, rng: np.random.Generator) -> FloatArray:
        """What shared errors add to each model, shape (count, models): the scatter of items does not hold it."""
        moved = np.stack([self.common(name) for name in self.predictions], axis=1)
        return np.asarray(moved[rng.integers(0, len(moved), count)])


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


def _paired(
    first: Estimate,
    second: Estimate,
    correlation: Callable[[], float],
    intervals: tuple[IntervalAt, IntervalAt],
    level: float,
) -> Interval:
    """The interval of first - second from the `intervals` of both, and the correlation of the two estimates.

    With l and u the distances from an estimate to the ends of its own interval, the lower end lies
    sqrt(l_a^2 + u_b^2 - 2 r l_a u_b) below a - b, the upper one sqrt(u_a^2 + l_b^2 - 2 r u_a l_b) above it.
    """
    (low_a, high_a), (low_b, high_b) = (interval(level) for interval in intervals)
    a, b = float(first), float(second)
    below, above = _apart(a - low_a, high_b - b, correlation), _apart(high_a - a, b - low_b, correlation)
    return Interval(a - b - below, a - b + above)


def _over_common_rates(
    first: Estimate, second: Estimate, labels: Callable[[], float], items: Callable[[], float], note: str
) -> Estimate:
    """The difference of two truths whose error rates were counted: both are found with the same rates, drawn in turn."""
    a, b, total_a, total_b = (
        cast(OverRates, one) for one in (first._interval, second._interval, first._total, second._total)
    )
    both = _less(a, b, labels())
    rates = [over.checked.variance(over.slopes) for over in (a, b, both)]
    own = [math.sqrt(max(one.std**2 - part, 0.0)) for one, part in zip((first, second), rates, strict=False)]
    return Estimate(
        float(first) - float(second),
        math.hypot(_apart(own[0], own[1], labels), math.sqrt(rates[2])),
        method=" and ".join(dict.fromkeys((first.method, second.method))),
        note=note,
        interval=both,
        total_interval=_less(total_a, total_b, items()),
    )


def _less(first: OverRates, second: OverRates, correlation: float) -> OverRates:
    """The first estimate less the second, whose label errors are correlated, with each of the rates."""
    a, b = first.variances(), second.variances()
    fixed = np.maximum(a + b - 2.0 * correlation * np.sqrt(a * b), 0.0)
    value, values, slopes = first.value - second.value, first.values - second.values, first.slopes - second.slopes
    return OverRates(value, values, fixed, slopes, first.checked, df=first.df)


def _apart(one: float, other: float, correlation: Callable[[], float]) -> float:
    """The error of a difference whose parts have these errors; an estimate beyond the range of its parameter has none."""
    one, other = max(one, 0.0), max(other, 0.0)
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return math.sqrt(max(one * one + other * other - 2.0 * correlation() * one * other, 0.0))


# means over items --------------------------------------------------------------------------------


class PairedMeans(ModelsOnSameLabels):
    """A metric that is a mean over items, or the root of one."""

    root = False

    @abstractmethod
    def items(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        """What each item adds to the mean, for each row of labels (and of redrawn predictions)."""

    @abstractmethod
    def expected_items(self, name: str) -> FloatArray:
        """The same on average over redrawn labels, (n,)."""

    def _of_mean(self, mean: Any) -> Any:
        return np.sqrt(mean) if self.root else mean

    @property
    def draws_of_law(self) -> int:  # type: ignore[override]
        if self.declaration.task == "forecast":  # a score of a distribution costs more
            return _FORECAST_DRAWS if self.n <= 2_000 else _SLOW_DRAWS
        return _DRAWS if self.n <= 20_000 else _SLOW_DRAWS

    def values(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        return np.asarray(self._of_mean(self.items(rows, name, redrawn) @ self.shares))

    def _shown_items(self, name: str) -> FloatArray:
        """What each item adds on the labels at hand; under Berkson error on average."""
        return self.expected_items(name) if self.kind == "berkson" else self.items(self.labels.shown[None], name)[0]

    @once
    def influences(self, name: str) -> FloatArray:
        """Deviations from the mean, exactly what leaving out single items gives for equal weights."""
        return np.full(1, math.inf) if self._sample_size < 2 else self._deviations(self._shown_items(name))

    def _deviations(self, terms: FloatArray) -> FloatArray:
        """What each item moves the mean by, or each group of them: its items together."""
        mean, size = float(np.sum(self.shares * terms)), self._sample_size
        slope = 0.5 / math.sqrt(max(mean, 1e-300)) if self.root else 1.0
        each = np.asarray(slope * math.sqrt(size / (size - 1)) * self.shares * (terms - mean))
        return each if self.groups is None else np.asarray(np.bincount(self.groups, each), dtype=np.float64)

    def _total(self, value: float, terms: FloatArray, common: float) -> Symmetric:
        """Where the mean of `terms` lies in the population."""
        if self._sample_size < 2:
            return Symmetric(value, math.inf)
        items = math.sqrt(float(np.sum(np.square(self._deviations(terms)))))
        return Symmetric(value, math.hypot(items, common), df=self._sample_size - 1)

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        if not sampling:
            return super().draws(count, rng, sampling)
        if self._sample_size > _FEW_DRAWN:  # means of many items are normal together
            moved = np.stack([self.influences(name) for name in self.predictions])
            values, vectors = np.linalg.eigh(moved @ moved.T)
            mean = self._of_mean(np.array([self.shares @ self._shown_items(name) for name in self.predictions]))
            drawn = rng.standard_normal((count, len(mean))) * np.sqrt(np.maximum(values, 0.0))
            return np.asarray(mean + drawn @ vectors.T + self._shifts_in_common(count, rng))
        out = np.empty((count, len(self.predictions)))
        step = rows_at_a_time(self.n)
        terms = np.stack([self._shown_items(name) for name in self.predictions])
        for start in range(0, count, step):
            size = min(step, count - start)
            drawn = rng.multinomial(self._sample_size, np.full(self._sample_size, 1.0 / self._sample_size), size)
            times = (drawn if self.groups is None else drawn[:, self.groups]) * self.shares
            out[start : start + size] = (times @ terms.T) / times.sum(axis=1, keepdims=True)
        return np.asarray(self._of_mean(out)) + self._shifts_in_common(count, rng)


class PairedLosses(PairedMeans):
    """Means of a loss of measured numbers."""

    labels: ComparedNumbers

    def __init__(self, loss: Loss, root: bool, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.loss, self.root, self._squares = loss, root, isinstance(loss, SquaredError) and not root
        if root:
            self.same_order = PairedLosses(loss, False, *arguments)

    def items(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        with np.errstate(all="ignore"):
            return self.loss(rows, self.predictions[name] if redrawn is None else redrawn)

    def expected_items(self, name: str) -> FloatArray:
        y = self.labels.shown
        return np.asarray(label_moments(self.loss, self.labels.errors, y, self.predictions[name]).mean)

    @once
    def law(self, a: str, b: str) -> Law:
        """Exact and normal for squares; for labels that err independently by quadrature; else drawn."""
        if isinstance(turned := self.found.get(("PairedLosses.law", b, a)), FourierLaw):
            return ScaledLaw(turned, -1.0)
        first, second = self.predictions[a], self.predictions[b]
        shares, y, errors = self.shares, self.labels.shown, self.labels.errors
        if self._squares and self.prederr.sd:
            return self._squares_of_both(a, b)
        if self._squares:
            moments = squared_difference(errors.mean(y), errors.variance(y), first, second)
            method = "delta" if errors.normal is None else "exact"
            if self.labels.scale is not None:
                return StudentLaw(float(shares @ moments.mean), self._label_std(a, b), self.labels.scale.degrees)
            return NormalLaw(float(shares @ moments.mean), self._label_std(a, b), method)
        if not self._sums_of_independent or (self.root and self.n <= _DRAWN_UP_TO):
            return super().law(a, b)
        if self.root:
            names, drawn = (
                list(self.predictions),
                self._of_mean(self._normal_draws(_DRAWS, np.random.default_rng(_SEED))),
            )
            return SampleLaw(drawn[:, names.index(a)] - drawn[:, names.index(b)])
        mean = variance = None
        both = np.stack([first, second], axis=1)
        if isinstance(self.loss, AbsoluteError) and errors.plain_normal:
            sd = np.sqrt(self.labels.model.absolute_level().variance(y))
            moments, errors = absolute_difference(y, sd, first, second), Normal.trusted(sd)
            mean, variance = float(shares @ moments.mean), float(np.square(shares) @ moments.variance)
            if self.n > _DRAWN_UP_TO or variance == 0:
                return NormalLaw(mean, math.sqrt(variance), "exact" if variance == 0 else "delta")
        law = mean_law(LossDifference(self.loss), errors, y, both, shares, mean, variance)
        few = (
            mean is not None and isinstance(law, FourierLaw) and self.n <= _FEW_DRAWN
        )  # steps, which waves do not show
        return SampleLaw(self.redrawn(a) - self.redrawn(b), mean=mean, var=variance) if few else law

    @property
    def _sums_of_independent(self) -> bool:
        """Whether the mean loss is a sum over labels that err independently, with values that can be listed."""
        drawn = self.exact or bool(self.prederr.sd) or self.labels.scale is not None
        single = has_nodes(self.labels.errors) and self.labels.errors.independent
        return not drawn and single and self.loss.continuous and not self.loss.of_forecast

    def _squares_of_both(self, a: str, b: str) -> Law:
        """The difference of two mean squares where predictions err too: mean and variance closed, the rest drawn."""
        y, errors = self.labels.shown, self.labels.errors
        added = np.square(self.prederr.of(a)) - np.square(self.prederr.of(b))
        moments = squared_difference(errors.mean(y), errors.variance(y), self.predictions[a], self.predictions[b])
        mean, (sloped, curved) = float(self.shares @ (moments.mean + added)), self._prediction_part(a, b)
        variance = self._label_std(a, b) ** 2 + sloped + curved
        if self.n > _DRAWN_UP_TO or variance == 0:
            return NormalLaw(mean, math.sqrt(variance), "exact" if variance == 0 else "delta")
        return SampleLaw(self.redrawn(a) - self.redrawn(b), mean=mean, var=variance)

    def _prediction_part(self, a: str, b: str) -> tuple[float, float]:
        """What errors of the predictions add to the variance of the difference: with residuals d and r the correlation

        4 (da^2 qa^2 + db^2 qb^2 - 2 r da db qa qb), and 4 s^2 (qa^2 + qb^2 - 2 r qa qb) + 2 (qa^4 + qb^4 - 2 r^2 qa^2 qb^2).
        """
        qa, qb, r = self.prederr.of(a), self.prederr.of(b), self.prederr.correlation
        y, errors, a2 = self.labels.shown, self.labels.errors, np.square(self.shares)
        da, db = (errors.mean(y) - self.predictions[name] for name in (a, b))
        sloped = 4.0 * (np.square(da * qa) + np.square(db * qb) - 2.0 * r * da * db * qa * qb)
        both = np.square(qa) + np.square(qb) - 2.0 * r * qa * qb
        fourth = np.square(np.square(qa)) + np.square(np.square(qb)) - 2.0 * np.square(r * qa * qb)
        return float(a2 @ sloped), float(a2 @ (4.0 * errors.variance(y) * both + 2.0 * fourth))

    def _levers(self, a: str, b: str) -> FloatArray:
        """How far the difference of two mean squares moves with each label."""
        return 2.0 * self.shares * (self.predictions[b] - self.predictions[a])

    def _label_std(self, a: str, b: str) -> float:
        """Standard deviation of the difference of two mean squares when labels err."""
        return math.sqrt(self.labels.errors.variance_of_sum(self.labels.shown, self._levers(a, b)))

    def common_std(self, a: str, b: str) -> float:
        if not self._squares:
            return super().common_std(a, b)
        if self.labels.batches is not None:
            return float(np.linalg.norm(self.labels.batches.batch_sums(self._levers(a, b))))
        rows = self.labels.common
        return 0.0 if rows is None else float(np.linalg.norm(rows @ self._levers(a, b)))

    def truth(self, a: str, b: str) -> Estimate:
        """Squares: the difference is linear in the labels, so unbiased labels give an unbiased difference."""
        if not self._squares:
            return super().truth(a, b)
        first, second = self.predictions[a], self.predictions[b]
        truth = self.labels.errors.unbiased_label(self.labels.shown)
        terms = (second - first) * (2.0 * truth - first - second)
        std = self._label_std(a, b)
        if self.prederr.sd:  # residuals hold the errors already: their part is taken off, and never below that at none
            terms = terms - np.square(self.prederr.of(a)) + np.square(self.prederr.of(b))
            sloped, curved = self._prediction_part(a, b)
            std = math.sqrt(max(std**2 + sloped - curved, curved))
        value = float(np.sum(self.shares * terms))
        total = self._total(value, terms, self.common_std(a, b))
        interval = Symmetric(value, std, df=math.inf if self.labels.scale is None else self.labels.scale.degrees)
        return Estimate(value, std, method="unbiased", interval=interval, total_interval=total)

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        normal = self.labels.errors.normal
        plain = normal is not None and not self.prederr.sd and self.labels.scale is None
        if isinstance(self.loss, SquaredError) and plain and normal is not None and not sampling:
            return self._squared_draws(normal, count, rng)  # the root would not change any rank
        if self.n > _FEW_DRAWN and not sampling and self._sums_of_independent:
            return self._of_mean(self._normal_draws(count, rng))
        return super().draws(count, rng, sampling)

    def _normal_draws(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Mean losses of many labels are normal together."""
        mean, covariance = self._joint
        values, vectors = np.linalg.eigh(covariance)
        return mean + (rng.standard_normal((count, len(mean))) * np.sqrt(np.maximum(values, 0.0))) @ vectors.T

    @cached_property
    def _joint(self) -> tuple[FloatArray, FloatArray]:
        """Means and covariance of the mean losses of all models, from the values that each label may take."""
        y, errors, names = self.labels.shown, self.labels.errors, list(self.predictions)
        covariance, mean = np.zeros((len(names), len(names))), np.zeros(len(names))
        for start in range(0, self.n, _TOGETHER):
            part = slice(start, start + _TOGETHER)
            nodes = loss_nodes(ItsLabel(), errors[part], y[part], y[part])
            label, first = nodes.label, nodes.start[:-1]
            found = np.stack([self.loss(nodes.value, self.predictions[name][part][label]) for name in names])
            each = np.add.reduceat(nodes.mass * found, first, axis=1)
            found -= each[:, label]
            covariance += (found * (nodes.mass * np.square(self.shares[part])[label])) @ found.T
            mean += each @ self.shares[part]
        return mean, covariance

    def _moments_of(self, a: str, b: str) -> FloatArray:
        if self.root or not self._sums_of_independent:
            return super()._moments_of(a, b)
        names = list(self.predictions)
        pick = [names.index(a), names.index(b)]
        return np.asarray(self._joint[1][np.ix_(pick, pick)])

    def _squared_draws(self, errors: Normal, count: int, rng: np.random.Generator) -> FloatArray:
        """Mean squared errors up to what all models share: exactly normal, so only (models, models) numbers are drawn."""
        predictions = np.stack(list(self.predictions.values()))
        levers = 2.0 * self.shares * (predictions - predictions.mean(axis=0))
        values, vectors = np.linalg.eigh(errors.covariance_of_sums(levers))
        centre = np.square(self.labels.shown - predictions) @ self.shares
        drawn = rng.standard_normal((count, len(centre))) * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(centre - drawn @ vectors.T)

    def noisy(self) -> bool:
        """Whether label errors are large against the residuals."""
        sd = np.sqrt(self.labels.errors.variance(self.labels.shown))
        residuals = [np.abs(self.labels.shown - p) for p in self.predictions.values()]
        return bool(np.median(sd) > 0.5 * min(float(np.median(r)) for r in residuals))


class PairedLimits(PairedLosses):
    """Means of a loss of the residual where some labels are limits: these count by the value nearest to the prediction."""

    def __init__(self, limits: Censored, loss: Loss, root: bool, *arguments: Any) -> None:
        super().__init__(loss, root, *arguments)
        self._limits, self._squares = limits, False
        self.same_order = PairedLimits(limits, loss, False, *arguments) if root else None

    def items(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        nearest = self._limits.nearest(best_label(self.loss, self.predictions[name]))
        return super().items(np.where(self._limits.limits, nearest, rows), name)

    def law(self, a: str, b: str) -> Law:
        return ModelsOnSameLabels.law(self, a, b)


class ModelsOnLimits(ModelsOnSameLabels):
    """A metric of all labels together, the median error or one of the order, where some labels are limits."""

    draws_of_law = 400

    def __init__(self, limits: Censored, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._limits = limits

    def values(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        return np.array([self.value_of(row, name, ...) for row in rows])

    def value_of(self, row: NDArray[Any], name: str, index: Any) -> float:
        """On numbers that were redrawn, and the limits as they are."""
        low, high = (np.where(self._limits.limits, end, row)[index] for end in (self._limits.lower, self._limits.upper))
        weight = None if self.weight is None else self.weight[index]
        return float(self.metric.score(None, self.predictions[name][index], Censored(low, high), weight).observed)
