"""Accuracies of models on the same labels: only the items that they judge differently tell them apart."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.over_rates import OverRates, said_of_rates
from scorebars.answers.intervals import Symmetric
from scorebars.answers.score import Estimate
from scorebars.arrays import FloatArray
from scorebars.laws.counts.accuracy_difference import accuracy_difference_law
from scorebars.laws.law import Law
from scorebars.laws.mixture import MixtureLaw
from scorebars.studies.comparison.models_on_same_labels import ComparedClasses, PairedMeans, once


class PairedAccuracies(PairedMeans):
    """Shares of labels that the prediction meets, or misses: exact through the items on which two models differ."""

    labels: ComparedClasses

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._sign = 1.0 if self.declaration.greater_is_better else -1.0
        self._codes = {name: np.searchsorted(self.labels.data.classes, p) for name, p in self.predictions.items()}

    def items(self, rows: NDArray[Any], name: str, redrawn: FloatArray | None = None) -> FloatArray:
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
        means = np.array([np.sum(self.shares * (self._met(p, a) - self._met(p, b))) for _, p in self.labels.cases])
        chances = np.array([chance for chance, _ in self.labels.cases])
        return math.sqrt(float(chances @ np.square(means - chances @ means)))

    def truth(self, a: str, b: str) -> Estimate:
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
        if data.checked is not None:
            return self._over_rates(a, b, value, variance, total.std)
        interval = Symmetric(value, std, -1.0, 1.0)
        return Estimate(value, std, method="unbiased", interval=interval, total_interval=total)

    def _over_rates(self, a: str, b: str, value: float, variance: float, total: float) -> Estimate:
        """The same where the error rates were counted: they move both models, and a difference by what they leave of it."""
        data = self.labels.data
        assert data.checked is not None
        one_hot = np.eye(data.k)
        slopes = self._sign * self.shares[:, None] * (one_hot[self._codes[a]] - one_hot[self._codes[b]])
        by_rate = data.rate_slopes(slopes)
        values = data.sums_by(data.drawn_rows(1000), slopes)
        rates = data.checked.variance(by_rate)
        interval = OverRates(value, values, np.full(1000, variance), by_rate, data.checked, 0.0, -1.0, 1.0)
        return Estimate(
            value,
            math.sqrt(variance + rates),
            method="unbiased",
            note=said_of_rates(data.checked, rates, variance + rates),
            interval=interval,
            total_interval=replace(interval, fixed=np.full(1000, total**2), df=max(self.n - 1, 1)),
        )
