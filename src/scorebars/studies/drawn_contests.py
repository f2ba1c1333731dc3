"""Contests under metrics whose differences have no law of their own: by their functions, on common draws of the labels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars import checks
from scorebars.arrays import to_host
from scorebars.errors.base import FloatArray
from scorebars.laws.base import Law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.measured import Measured
from scorebars.metrics.labels import class_model
from scorebars.score import Declaration
from scorebars.studies.contest import SEED, SLOW_DRAWS, Contest, Match


class DrawnContest(Contest):
    """Labels, what each model predicts, weights, and how much each label counts."""

    _most = SLOW_DRAWS

    def __init__(
        self,
        declaration: Declaration,
        function: Any,
        labels: NDArray[Any],
        predictions: Mapping[str, NDArray[Any]],
        weight: FloatArray | None,
        shares: FloatArray,
    ) -> None:
        self.declaration, self._function, self.n = declaration, function, len(labels)
        self._labels, self._predictions, self._weight, self._shares = labels, dict(predictions), weight, shares

    @abstractmethod
    def _drawn(self, rng: np.random.Generator) -> NDArray[Any]:
        """The labels once more, within their errors."""

    def _score(self, labels: NDArray[Any], p: NDArray[Any], weight: FloatArray | None) -> float:
        options = {} if weight is None else {"sample_weight": weight}
        return float(self._function(labels, p, **options).observed)

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        count = min(count, self._most)
        out = np.empty((count, len(self._predictions)))
        for i in range(count):
            index = rng.integers(0, self.n, self.n) if sampling else slice(None)
            labels = self._labels[index] if sampling else self._drawn(rng)
            weight = None if self._weight is None else self._weight[index]
            out[i] = [self._score(labels, p[index], weight) for p in self._predictions.values()]
        return out

    def match(self, a: str, b: str) -> Match:
        names = list(self._predictions)
        first, second = names.index(a), names.index(b)
        values = self.draws(SLOW_DRAWS, np.random.default_rng(SEED), False)
        difference = values[:, first] - values[:, second]
        observed = [self._score(self._labels, self._predictions[name], self._weight) for name in (a, b)]
        law: Law = SampleLaw(difference) if np.ptp(difference) > 0 else NormalLaw(float(difference[0]), 0.0)
        resampled = self.draws(SLOW_DRAWS // 4, np.random.default_rng(SEED), True)
        spread = float(np.std(resampled[:, first] - resampled[:, second], ddof=1))
        return Match(observed[0] - observed[1], law, None, None, self._shares, spread)


class DrawnNumbers(DrawnContest):
    """Under a regression metric."""

    def __init__(self, declaration: Declaration, function: Any, data: Mapping[str, Measured]) -> None:
        first = next(iter(data.values()))
        predictions = {name: one.p for name, one in data.items()}
        super().__init__(declaration, function, np.asarray(first.y, float), predictions, first.weight, first.shares)
        self._errors = first.errors

    def _drawn(self, rng: np.random.Generator) -> NDArray[Any]:
        return self._errors.sample(self._labels, 1, rng)[0]


class DrawnClasses(DrawnContest):
    """Under a classification metric."""

    _most = SLOW_DRAWS // 2

    def __init__(
        self, declaration: Declaration, function: Any, y_true: Any, models: Mapping[str, Any], yerr: Any, weight: Any
    ) -> None:
        labels = np.asarray(to_host(y_true))
        predictions = {name: np.asarray(to_host(p)) for name, p in models.items()}
        n = len(labels)
        super().__init__(declaration, function, labels, predictions, checks.weights(weight, n), np.full(n, 1.0 / n))
        self._classes = np.unique(labels)
        self._cumulated = np.cumsum(class_model(yerr, n).label_probabilities(labels, self._classes), axis=1)

    def _drawn(self, rng: np.random.Generator) -> NDArray[Any]:
        picked = (rng.random(self.n)[:, None] > self._cumulated).sum(axis=1)
        drawn: NDArray[Any] = self._classes[picked.clip(max=len(self._classes) - 1)]
        return drawn
