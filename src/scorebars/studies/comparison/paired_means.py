"""Models compared by means over items, which have formulas; and the way from a user's arguments to a comparison."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars import checks
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.difference import TruthDifference
from scorebars.answers.intervals import Symmetric
from scorebars.answers.means.mean_loss import MeanLoss
from scorebars.arrays import FloatArray, to_host
from scorebars.errors import Normal
from scorebars.laws.counts.accuracy_difference import accuracy_difference_law
from scorebars.laws.law import Law
from scorebars.laws.mixture import MixtureLaw
from scorebars.laws.normal_law import NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.losses import AbsoluteError, Loss, SquaredError
from scorebars.measured import Measured
from scorebars.metrics import call
from scorebars.metrics.class_inputs import all_classes, class_array, class_model, labels_of
from scorebars.moments import label_moments
from scorebars.moments.closed_forms import absolute_difference, squared_difference
from scorebars.studies.comparison.compared_metric import ComparedMetric, with_all_classes
from scorebars.studies.comparison.models_on_same_labels import (
    ComparedClasses,
    ComparedNumbers,
    ModelsOnSameLabels,
    once,
    rows_at_a_time,
)

_DRAWS = 20_000
_SLOW_DRAWS = 2_000
_DRAWN_UP_TO = 2_000
"""Mean absolute errors of up to so many labels are drawn for their law; above, the normal law is as good."""


class PairedMeans(ModelsOnSameLabels):
    """A metric that is a mean over items, or the root of one."""

    root = False

    @abstractmethod
    def items(self, rows: NDArray[Any], name: str) -> FloatArray:
        """What each item adds to the mean, for each row of labels."""

    @abstractmethod
    def expected_items(self, name: str) -> FloatArray:
        """The same on average over redrawn labels, (n,)."""

    def _of_mean(self, mean: Any) -> Any:
        return np.sqrt(mean) if self.root else mean

    @property
    def draws_of_law(self) -> int:  # type: ignore[override]
        return _DRAWS if self.n <= 20_000 else _SLOW_DRAWS

    def values(self, rows: NDArray[Any], name: str) -> FloatArray:
        return np.asarray(self._of_mean(self.items(rows, name) @ self.shares))

    def _shown_items(self, name: str) -> FloatArray:
        """What each item adds on the labels at hand; under Berkson error on average."""
        return self.expected_items(name) if self.kind == "berkson" else self.items(self.labels.shown[None], name)[0]

    @once
    def influences(self, name: str) -> FloatArray:
        """Deviations from the mean, exactly what leaving out single items gives for equal weights."""
        return np.full(1, math.inf) if self.n < 2 else self._deviations(self._shown_items(name))

    def _deviations(self, terms: FloatArray) -> FloatArray:
        mean = float(np.sum(self.shares * terms))
        slope = 0.5 / math.sqrt(max(mean, 1e-300)) if self.root else 1.0
        return np.asarray(slope * math.sqrt(self.n / (self.n - 1)) * self.shares * (terms - mean))

    def _total(self, value: float, terms: FloatArray, common: float) -> Symmetric:
        """Where the mean of `terms` lies in the population."""
        if self.n < 2:
            return Symmetric(value, math.inf)
        items = math.sqrt(float(np.sum(np.square(self._deviations(terms)))))
        return Symmetric(value, math.hypot(items, common), df=self.n - 1)

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        if not sampling:
            return super().draws(count, rng, sampling)
        out = np.empty((count, len(self.predictions)))
        step = rows_at_a_time(self.n)
        terms = np.stack([self._shown_items(name) for name in self.predictions])
        for start in range(0, count, step):
            size = min(step, count - start)
            times = rng.multinomial(self.n, np.full(self.n, 1.0 / self.n), size) * self.shares
            out[start : start + size] = (times @ terms.T) / times.sum(axis=1, keepdims=True)
        return np.asarray(self._of_mean(out)) + self._shifts_in_common(count, rng)


class PairedLosses(PairedMeans):
    """Means of a loss of measured numbers."""

    labels: ComparedNumbers

    def __init__(self, loss: Loss, root: bool, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.loss, self.root = loss, root
        if root:
            self.same_order = PairedLosses(loss, False, *arguments)

    def items(self, rows: NDArray[Any], name: str) -> FloatArray:
        with np.errstate(all="ignore"):
            return self.loss(rows, self.predictions[name])

    def expected_items(self, name: str) -> FloatArray:
        y = self.labels.shown
        return np.asarray(label_moments(self.loss, self.labels.errors, y, self.predictions[name]).mean)

    @property
    def _squares(self) -> bool:
        return isinstance(self.loss, SquaredError) and not self.root

    @once
    def law(self, a: str, b: str) -> Law:
        """Exact and normal for squares; closed moments for absolute errors; else drawn."""
        first, second = self.predictions[a], self.predictions[b]
        shares, y, errors = self.shares, self.labels.shown, self.labels.errors
        if self._squares:
            moments = squared_difference(errors.mean(y), errors.variance(y), first, second)
            method = "delta" if errors.normal is None else "exact"
            return NormalLaw(float(shares @ moments.mean), math.sqrt(self._variance(second - first)), method)
        if not isinstance(self.loss, AbsoluteError) or not errors.plain_normal or self.labels.exact:
            return super().law(a, b)
        sd = np.sqrt(self.labels.model.absolute_level().variance(y))
        moments = absolute_difference(y, sd, first, second)
        mean, variance = float(shares @ moments.mean), float(np.square(shares) @ moments.variance)
        if self.n > _DRAWN_UP_TO or variance == 0:
            return NormalLaw(mean, math.sqrt(variance), "exact" if variance == 0 else "delta")
        return SampleLaw(self.redrawn(a) - self.redrawn(b), mean=mean, var=variance)

    def _variance(self, gap: FloatArray) -> float:
        """Variance of 2 sum shares_i gap_i e_i."""
        return self.labels.errors.variance_of_sum(self.labels.shown, 2.0 * self.shares * gap)

    def common_std(self, a: str, b: str) -> float:
        if not self._squares:
            return super().common_std(a, b)
        rows = self.labels.common
        if rows is None:
            return 0.0
        return float(np.linalg.norm(rows @ (2.0 * self.shares * (self.predictions[b] - self.predictions[a]))))

    def truth(self, a: str, b: str) -> TruthDifference:
        """Squares: the difference is linear in the labels, so unbiased labels give an unbiased difference."""
        if not self._squares:
            return super().truth(a, b)
        first, second = self.predictions[a], self.predictions[b]
        gap = second - first
        truth = self.labels.errors.unbiased_label(self.labels.shown)
        terms = gap * (2.0 * truth - first - second)
        value, std = float(np.sum(self.shares * terms)), math.sqrt(self._variance(gap))
        total = self._total(value, terms, self.common_std(a, b))
        return TruthDifference(value, std, Symmetric(value, std), total, "unbiased")

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        normal = self.labels.errors.normal
        if isinstance(self.loss, SquaredError) and normal is not None and not sampling:
            return self._squared_draws(normal, count, rng)  # the root would not change any rank
        return super().draws(count, rng, sampling)

    def _squared_draws(self, errors: Normal, count: int, rng: np.random.Generator) -> FloatArray:
        """Mean squared errors up to what all models share: exactly normal, so only (models, models) numbers are drawn."""
        predictions = np.stack(list(self.predictions.values()))
        levers = 2.0 * self.shares * (predictions - predictions.mean(axis=0))
        if errors.cov is not None:
            cov = levers @ errors.cov @ levers.T
        else:
            cov = (levers * np.square(errors.sigma)) @ levers.T
            if errors.shared is not None:
                cov = cov + (levers @ errors.shared.T) @ (errors.shared @ levers.T)
        values, vectors = np.linalg.eigh(cov)
        centre = np.square(self.labels.shown - predictions) @ self.shares
        return np.asarray(
            centre - (rng.standard_normal((count, len(centre))) * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        )

    def noisy(self) -> bool:
        sd = np.sqrt(self.labels.errors.variance(self.labels.shown))
        residuals = [np.abs(self.labels.shown - p) for p in self.predictions.values()]
        return bool(np.median(sd) > 0.5 * min(float(np.median(r)) for r in residuals))


class PairedAccuracies(PairedMeans):
    """Shares of labels that the prediction meets, or misses: exact through the items on which two models differ."""

    labels: ComparedClasses

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._sign = 1.0 if self.declaration.greater_is_better else -1.0
        self._codes = {name: np.searchsorted(self.labels.data.classes, p) for name, p in self.predictions.items()}

    def items(self, rows: NDArray[Any], name: str) -> FloatArray:
        met = (rows == self.predictions[name]).astype(np.float64)
        return met if self._sign > 0 else 1.0 - met

    def _met(self, table: FloatArray, name: str) -> FloatArray:
        """The entry of each item's row that belongs to its prediction."""
        return np.asarray(table[np.arange(self.n), self._codes[name]])

    def expected_items(self, name: str) -> FloatArray:
        met = sum(chance * self._met(p, name) for chance, p in self.labels.cases)
        return np.asarray(met if self._sign > 0 else 1.0 - met)

    @once
    def law(self, a: str, b: str) -> Law:
        differ = self._codes[a] != self._codes[b]
        total = float(self.n) if self.weight is None else float(self.weight.sum())
        weights = None if self.weight is None else self.weight[differ]
        first, second = (a, b) if self._sign > 0 else (b, a)
        laws = [
            accuracy_difference_law(self._met(p, first)[differ], self._met(p, second)[differ], total, weights)
            for _, p in self.labels.cases
        ]
        return laws[0] if len(laws) == 1 else MixtureLaw(laws, [chance for chance, _ in self.labels.cases])

    def common_std(self, a: str, b: str) -> float:
        means = [float(np.sum(self.shares * (self._met(p, a) - self._met(p, b)))) for _, p in self.labels.cases]
        chances = np.array([chance for chance, _ in self.labels.cases])
        centre = float(chances @ means)
        return math.sqrt(float(chances @ np.square(np.array(means) - centre)))

    def truth(self, a: str, b: str) -> TruthDifference:
        """U_i = 1[true class is a's] - 1[... b's], each by its unbiased estimate from the label.

        Given the truth its variance is E U_i^2 - E 1[...] - E 1[...] on items where the predictions differ, which U_i and
        the indicators themselves estimate without bias.
        """
        data = self.labels.data
        indicators = data.indicators
        first, second = self._met(indicators, a), self._met(indicators, b)
        differ = self._codes[a] != self._codes[b]
        terms = np.where(differ, first - second, 0.0)
        own = np.where(differ, np.square(terms) - first - second, 0.0)
        variance, common = max(float(np.sum(np.square(self.shares) * own)), 0.0), 0.0
        step = data.shared_step(of_truth=True)
        if step is not None:
            moved = self.shares * (self._met(step, a) - self._met(step, b))
            off = float(np.sum(moved)) ** 2 - float(np.sum(np.square(moved)))
            common = max(data.shared_correlation * off, 0.0)
        value, std = self._sign * float(np.sum(self.shares * terms)), math.sqrt(variance + common)
        total = self._total(value, self._sign * terms, math.sqrt(common))
        return TruthDifference(value, std, Symmetric(value, std, -1.0, 1.0), total, "unbiased")


def models_on_same_labels(
    metric: ComparedMetric, y_true: Any, models: Mapping[str, Any], yerr: Any, sample_weight: Any
) -> ModelsOnSameLabels:
    """These models under this metric."""
    if sample_weight is not None and "sample_weight" not in signature(metric.function).parameters:
        raise ValueError(
            f"{metric.declaration.name} takes no sample_weight. Compare without weights, or by another metric."
        )
    make = _with_classes if metric.declaration.task == "classification" else _with_numbers
    found = make(metric, y_true, models, yerr, sample_weight)
    found.check()
    return found


def _with_numbers(
    metric: ComparedMetric, y_true: Any, models: Mapping[str, Any], yerr: Any, sample_weight: Any
) -> ModelsOnSameLabels:
    declaration = metric.declaration
    data: dict[str, Measured] = {}
    for name, p in models.items():
        one = call.measured(y_true, p, yerr, sample_weight)
        if len(one) > 1:
            raise ValueError("compare takes one output at a time: y_true has several columns.")
        one[0].require_valid()
        data[name] = one[0]
    scale = max(one.find_scale() for one in data.values()) if declaration.degree else 1.0
    data = {name: one.scaled(scale) for name, one in data.items()}
    first = next(iter(data.values()))
    arguments = (
        metric,
        ComparedNumbers(first.y, first.errors),
        {name: np.asarray(one.p, float) for name, one in data.items()},
        first.weight,
        (scale,) * (declaration.degree or 0) if scale != 1.0 else (),
    )
    if declaration.name == "root_mean_squared_error":
        return PairedLosses(SquaredError(), True, *arguments)
    if metric.needs_errors:
        return ModelsOnSameLabels(*arguments)
    answers = metric.score(first.y, first.p, None, first.weight)._answers
    if isinstance(answers, MeanLoss):
        return PairedLosses(answers.loss, False, *arguments)
    return ModelsOnSameLabels(*arguments)


def _with_classes(
    metric: ComparedMetric, y_true: Any, models: Mapping[str, Any], yerr: Any, sample_weight: Any
) -> ModelsOnSameLabels:
    y = class_array(labels_of(y_true, yerr), "y_true")
    n = len(y)
    of_classes = "y_pred" in signature(metric.function).parameters
    predictions = {
        name: class_array(p, "y_pred") if of_classes else np.asarray(to_host(p), dtype=np.float64)
        for name, p in models.items()
    }
    for name, p in predictions.items():
        if len(p) != n:
            raise ValueError(
                f"y_true and y_pred[{name!r}] have inconsistent numbers of samples: {n} and {len(p)}. Each label needs its "
                "own prediction."
            )
    weight = checks.weights(sample_weight, n)
    model = class_model(yerr, n)
    model.check_labels(y)
    named = metric.options.get("labels")
    shown = [y, *([] if named is None else [np.asarray(named)]), *(predictions.values() if of_classes else ())]
    classes = all_classes(model, *shown)
    data = Labelled(classes, np.searchsorted(classes, y), None, model, weight)
    first = next(iter(predictions.values()))
    arguments = (with_all_classes(metric, classes, first), ComparedClasses(data), predictions, weight)
    if metric.declaration.name in ("accuracy_score", "zero_one_loss") and not metric.options:
        return PairedAccuracies(*arguments)
    return ModelsOnSameLabels(*arguments)
