"""Metrics that are mean costs of class labels, of models on the same labels: accuracy, top-k accuracy, log loss, Brier score.

What a label costs a model is a table with a row for each item and a column for each class. The difference of two models
is the mean of the difference of their tables, so only items that cost them differently tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars import checks
from scorebars.answers.classes.label_loss import LabelLossAnswers, LossSpread
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.classes.over_rates import OverRates, said_of_rates
from scorebars.answers.intervals import Symmetric
from scorebars.answers.score import Estimate
from scorebars.arrays import FloatArray, to_host
from scorebars.errors.measurement_error import held_labels
from scorebars.evaluation.study_data import StudyData
from scorebars.laws.counts.accuracy_difference import accuracy_difference_law
from scorebars.laws.law import Law
from scorebars.laws.mixture import MixtureLaw
from scorebars.metrics.class_inputs import all_classes, class_array, class_model
from scorebars.numerics.covariances import covariance_root
from scorebars.studies.comparison.compared_data import ComparedClasses, ComparedMetric
from scorebars.studies.comparison.models_on_same_labels import ModelsOnSameLabels, once, rows_at_a_time
from scorebars.studies.comparison.paired_means import PairedMeans

_SKEW = 0.05
"""Mean costs of this skewness at most are drawn as normal numbers: probabilities of ranks then err by 0.003 at most."""
_FEW_KINDS = 64
"""Up to this many kinds of items, the numbers in each class are drawn instead of the items."""
_DIGITS = 12
"""Decimals of drawn mean costs: models of equal costs are equal however the costs are added up."""
_RATES = 1000
"""How many sets of error rates are drawn where they were counted."""


class PairedCosts(PairedMeans):
    """Mean costs of class labels; `tables` (n, K) holds what each class would cost each model."""

    labels: ComparedClasses

    def __init__(self, tables: Mapping[str, FloatArray], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._tables = tables

    def items(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
        shown = np.searchsorted(self.labels.data.classes, rows)
        return np.asarray(self._tables[name][np.arange(self.n), shown])

    def expected_items(self, name: str) -> FloatArray:
        return np.asarray(sum(chance * np.sum(p * self._tables[name], axis=1) for chance, p in self.labels.cases))

    def _gained(self, a: str, b: str) -> FloatArray:
        """What each class of each item adds to metric(a) - metric(b)."""
        return np.asarray(self._tables[a] - self._tables[b])

    @once
    def law(self, a: str, b: str) -> Law:
        """Exact for hits and misses, and for two classes; else by the same method as the mean cost of one model."""
        gained = self._gained(a, b)
        differ = np.any(gained != 0, axis=1)
        cases = [(chance, p[differ]) for chance, p in self.labels.cases]
        gained, shares = gained[differ], self.shares[differ]
        if np.all((gained == 0) | (np.abs(gained) == 1)):
            total = float(self.n) if self.weight is None else float(self.weight.sum())
            weights = None if self.weight is None else self.weight[differ]
            laws = [
                accuracy_difference_law(np.sum(p * (gained > 0), 1), np.sum(p * (gained < 0), 1), total, weights)
                for _, p in cases
            ]
        else:
            laws = [LossSpread(gained, p, shares, equal=False).law() for _, p in cases]
        return laws[0] if len(laws) == 1 else MixtureLaw(laws, [chance for chance, _ in cases])

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        if sampling:
            return super().draws(count, rng, sampling)
        costs = np.stack(list(self._tables.values()))
        costs = costs - costs.mean(axis=0)
        differ = np.any(costs != 0, axis=(0, 2))
        chances = np.array([chance for chance, _ in self.labels.cases])
        numbers = rng.multinomial(count, chances / chances.sum())
        return np.concatenate(
            [
                _drawn_costs(costs[:, differ], p[differ], self.shares[differ], number, rng)
                for (_, p), number in zip(self.labels.cases, numbers, strict=True)
            ]
        )

    def common_std(self, a: str, b: str) -> float:
        gained = self.shares[:, None] * self._gained(a, b)
        means = np.array([np.sum(p * gained) for _, p in self.labels.cases])
        chances = np.array([chance for chance, _ in self.labels.cases])
        return math.sqrt(float(chances @ np.square(means - chances @ means)))

    def truth(self, a: str, b: str) -> Estimate:
        """The gain of each item's true class, by the unbiased indicators u_k of that class from its label.

        Its estimate sum_k u_k D_k has, given the truth, the variance E (sum_k u_k D_k)^2 - D_true^2. Both are estimated
        without bias: the first by itself, the second by sum_k u_k D_k^2.
        """
        data = self.labels.data
        gained = self._gained(a, b)
        terms = np.sum(data.indicators * gained, axis=1)
        own = np.square(terms) - np.sum(data.indicators * np.square(gained), axis=1)
        variance, common = max(float(np.sum(np.square(self.shares) * own)), 0.0), 0.0
        step = data.shared_step(of_truth=True)
        if step is not None:
            moved = self.shares * np.sum(step * gained, axis=1)
            off = float(np.sum(moved)) ** 2 - float(np.sum(np.square(moved)))
            common = max(data.shared_correlation * off, 0.0)
        value, std = float(np.sum(self.shares * terms)), math.sqrt(variance + common)
        total = self._total(value, terms, math.sqrt(common))
        if data.checked is not None:
            return self._over_rates(gained, value, variance, total)
        interval = Symmetric(value, std, -self._span, self._span)
        return Estimate(value, std, method="unbiased", interval=interval, total_interval=total)

    @property
    def _span(self) -> float:
        """The largest difference that the range of the metric allows."""
        return self.declaration.high - self.declaration.low

    def _over_rates(self, gained: FloatArray, value: float, variance: float, total: Symmetric) -> Estimate:
        """The difference where the error rates were counted: a wrong rate moves both models, so part of it cancels."""
        data = self.labels.data
        assert data.checked is not None
        slopes = self.shares[:, None] * gained
        by_rate = data.rate_slopes(slopes)
        rows = data.drawn_rows(_RATES)
        values = data.sums_by(rows, slopes)
        rates = data.checked.variance(by_rate)
        # labels that are wrong more often than the counted ones scatter more: where none was, these do not scatter at all
        fixed = np.maximum(
            variance + data.variances_by(rows, slopes) - data.variances_by(data.counted_rows[None], slopes), 0.0
        )
        interval = OverRates(value, values, fixed, by_rate, data.checked, 0.0, -self._span, self._span)
        return Estimate(
            value,
            math.sqrt(variance + rates),
            method="unbiased",
            note=said_of_rates(data.checked, rates, variance + rates),
            interval=interval,
            total_interval=replace(interval, fixed=np.full(_RATES, total.std**2), df=max(total.df, 1)),
        )


def _drawn_costs(
    costs: FloatArray, p: FloatArray, shares: FloatArray, count: int, rng: np.random.Generator
) -> FloatArray:
    """Mean costs (count, models) of labels with chances p (n, K), for costs (models, n, K).

    Many are normal together. Else items that cost the models the same, with the same chances, are drawn by their number.
    """
    mean = np.sum(p * costs, axis=2)
    away, weighed = costs - mean[:, :, None], np.square(shares)[:, None] * p
    covariance = np.einsum("aik,bik,ik->ab", away, away, weighed, optimize=True)
    third = np.einsum("aik,ik->a", away**3, shares[:, None] * weighed)
    if np.all(np.abs(third) <= _SKEW * np.diagonal(covariance) ** 1.5):
        return np.asarray(mean @ shares + rng.standard_normal((count, len(costs))) @ covariance_root(covariance).T)
    rows = np.column_stack([p, shares, *costs])
    _, first, number = np.unique(rows, axis=0, return_index=True, return_counts=True)
    if first.size <= _FEW_KINDS:
        of_kind = (shares[:, None] * costs)[:, first]
        chances = p[first] / p[first].sum(axis=1, keepdims=True)
        out = np.zeros((count, len(costs)))
        for kind, (times, chance) in enumerate(zip(number, chances, strict=True)):
            out += rng.multinomial(times, chance, count) @ of_kind[:, kind].T
        return np.round(out, _DIGITS)
    edges, parts, step = np.cumsum(p, axis=1)[:, :-1].T, [], rows_at_a_time(shares.size)
    gained = shares[:, None] * np.diff(costs, axis=2)
    for start in range(0, count, step):
        u = rng.random((min(step, count - start), shares.size))
        parts.append(sum(((u > edge) @ gained[:, :, k].T for k, edge in enumerate(edges)), costs[:, :, 0] @ shares))
    return np.round(np.concatenate(parts), _DIGITS)


def models_of_classes(metric: ComparedMetric, given: StudyData) -> ModelsOnSameLabels:
    """Predicted classes, or probabilities of them; by tables of costs where the metric is a mean cost of labels."""
    y = class_array(held_labels(given.yerr) if given.y_true is None else given.y_true, "y_true")
    n = len(y)
    of_classes = "y_pred" in metric.parameters
    predictions = {
        name: class_array(p, "y_pred") if of_classes else np.asarray(to_host(p), dtype=np.float64)
        for name, p in given.models.items()
    }
    for name, p in predictions.items():
        checks.same_length(y, p, "y_true", f"y_pred[{name!r}]")
    weight = checks.weights(given.sample_weight, n)
    model = class_model(given.yerr, n)
    model.check_labels(y)
    named = metric.options.get("labels")
    shown = [y, *([] if named is None else [np.asarray(named)]), *(predictions.values() if of_classes else ())]
    classes = all_classes(model, *shown)
    data = Labelled(classes, np.searchsorted(classes, y), None, model, weight)
    first = next(iter(predictions.values()))
    arguments = (metric.with_all_classes(classes, first), ComparedClasses(data), predictions, weight)
    if metric.declaration.name in ("accuracy_score", "zero_one_loss") and not metric.options:
        met = {name: np.eye(data.k)[np.searchsorted(classes, p)] for name, p in predictions.items()}
        hits = metric.declaration.name == "accuracy_score"
        return PairedCosts(met if hits else {name: 1.0 - table for name, table in met.items()}, *arguments)
    found = ModelsOnSameLabels(*arguments)
    answers = {name: found._answers(name) for name in predictions}
    costs = {name: one.costs for name, one in answers.items() if isinstance(one, LabelLossAnswers)}
    tables = {name: table for name, table in costs.items() if table is not None}
    return PairedCosts(tables, *arguments) if len(tables) == len(predictions) else found
