"""How two or many models fare on the same labels, metric by metric."""

from __future__ import annotations

import math
from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np

from scorebars.answers.difference import TruthDifference
from scorebars.errors import Flip, Normal
from scorebars.errors.base import FloatArray
from scorebars.laws.accuracy_difference import accuracy_difference_law
from scorebars.laws.base import Law
from scorebars.laws.normal import NormalLaw
from scorebars.laws.samples import SampleLaw
from scorebars.losses import AbsoluteError, Loss, SignedError, SquaredError
from scorebars.measured import Measured
from scorebars.metrics import inputs
from scorebars.metrics.labels import class_labels, flip_model
from scorebars.metrics.registry import entry_of
from scorebars.moments.correlated import sum_variance
from scorebars.moments.differences import absolute_difference, squared_difference
from scorebars.score import Declaration
from scorebars.studies.contest import SEED, SLOW_DRAWS, Contest, Match
from scorebars.studies.drawn_contests import DrawnClasses, DrawnNumbers

_DRAWS = 20_000
_CELLS = 4_000_000
_DRAWN_UP_TO = 2_000
"""Mean absolute errors of up to so many labels are drawn for their law; above, the normal law is as good."""


class AdditiveContest(Contest):
    """Means of a loss over measured labels; `root` takes the square root of the mean."""

    def __init__(self, declaration: Declaration, loss: Loss, data: Mapping[str, Measured], root: bool = False) -> None:
        self.declaration, self._loss, self._data, self._root = declaration, loss, dict(data), root
        first = next(iter(self._data.values()))
        self.n, self._shares = first.n, first.shares
        self._y, self._errors = np.asarray(first.y, float), first.errors
        if root:
            self.monotone = AdditiveContest(declaration, loss, data)

    def _value(self, mean: FloatArray | float) -> Any:
        return np.sqrt(mean) if self._root else mean

    def _observed(self, name: str) -> float:
        losses = self._loss(self._y, np.asarray(self._data[name].p, float))
        return float(self._value(float(np.sum(self._shares * losses))))

    def match(self, a: str, b: str) -> Match:
        first, second = (np.asarray(self._data[name].p, float) for name in (a, b))
        terms = self._loss(self._y, first) - self._loss(self._y, second)
        observed = self._observed(a) - self._observed(b)
        law = self._law(first, second)
        return Match(
            observed, law, self._truth(first, second), None if self._root else terms, self._shares, self._boot(a, b)
        )

    def _law(self, a: FloatArray, b: FloatArray) -> Law:
        """Exact and normal for squares; closed moments for absolute errors; else drawn."""
        shares, y, errors = self._shares, self._y, self._errors
        if isinstance(self._loss, SquaredError | SignedError) and not self._root:
            gap = b - a
            if isinstance(self._loss, SignedError):
                return NormalLaw(float(np.sum(shares * -gap)), 0.0)
            moments = squared_difference(errors.mean(y), errors.variance(y), a, b)
            mean = float(np.sum(shares * moments.mean))
            return NormalLaw(
                mean, math.sqrt(self._linear_variance(gap)), "exact" if isinstance(errors, Normal) else "delta"
            )
        draws = self._difference_draws(a, b)
        if (
            isinstance(self._loss, AbsoluteError)
            and isinstance(errors, Normal)
            and errors.independent
            and not self._root
        ):
            moments = absolute_difference(y, np.broadcast_to(errors.absolute_sd, y.shape), a, b)
            mean = float(np.sum(shares * moments.mean))
            variance = float(np.sum(np.square(shares) * moments.variance))
            if self.n > _DRAWN_UP_TO or variance == 0:
                return NormalLaw(mean, math.sqrt(variance), "exact" if variance == 0 else "delta")
            return SampleLaw(draws, mean=mean, var=variance)
        return SampleLaw(draws) if float(np.ptp(draws)) > 0 else NormalLaw(float(draws[0]), 0.0)

    def _linear_variance(self, gap: FloatArray, repeats: FloatArray | float = 1.0) -> float:
        """Variance of 2 sum shares_i gap_i e_i."""
        if isinstance(self._errors, Normal):
            return sum_variance(self._errors.averaged(repeats), 2.0 * self._shares * gap)
        return float(np.sum(np.square(2.0 * self._shares * gap) * self._errors.variance_of_mean(self._y, repeats)))

    def _truth(self, a: FloatArray, b: FloatArray) -> TruthDifference | None:
        """Squares: the classical difference is unbiased. Others have no unbiased difference."""
        if not isinstance(self._loss, SquaredError) or self._root:
            return None
        errors, y = self._errors, self._y
        if errors.kind == "berkson":
            law = self._law(a, b)
            return TruthDifference(float(law.mean), float(law.std), "exact", "Berkson error: the expected difference")
        truth = errors.unbiased_label(y)
        value = float(np.sum(self._shares * (b - a) * (2.0 * truth - a - b)))
        return TruthDifference(value, math.sqrt(self._linear_variance(b - a, errors.repeats)), "unbiased")

    def _labels(self, count: int, rng: np.random.Generator) -> FloatArray:
        return self._errors.sample(self._y, count, rng)

    def _difference_draws(self, a: FloatArray, b: FloatArray) -> FloatArray:
        rng = np.random.default_rng(SEED)
        count = _DRAWS if self.n <= 20_000 else SLOW_DRAWS
        out = np.empty(count)
        step = max(1, _CELLS // self.n)
        for start in range(0, count, step):
            labels = self._labels(min(step, count - start), rng)
            values = [self._value(self._loss(labels, p) @ self._shares) for p in (a, b)]
            out[start : start + step] = values[0] - values[1]
        return out

    def _squared_draws(self, predictions: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Mean squared errors up to what all models share: exactly normal, so only (models, models) numbers are drawn."""
        levers = 2.0 * self._shares * (predictions - predictions.mean(axis=0))
        errors = self._errors
        assert isinstance(errors, Normal)
        if errors.cov is not None:
            cov = levers @ errors.cov @ levers.T
        else:
            cov = (levers * np.square(errors.sigma)) @ levers.T
            if errors.shared is not None:
                cov = cov + (levers @ errors.shared.T) @ (errors.shared @ levers.T)
        values, vectors = np.linalg.eigh(cov)
        centre = np.square(self._y - predictions) @ self._shares
        return np.asarray(
            centre - (rng.standard_normal((count, len(centre))) * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        )

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        predictions = [np.asarray(one.p, float) for one in self._data.values()]
        if isinstance(self._loss, SquaredError) and isinstance(self._errors, Normal) and not sampling:
            return self._squared_draws(np.stack(predictions), count, rng)  # the root would not change any rank
        out = np.empty((count, len(predictions)))
        step = max(1, _CELLS // self.n)
        losses = np.stack([self._loss(self._y, p) for p in predictions])
        for start in range(0, count, step):
            block = slice(start, min(start + step, count))
            size = block.stop - start
            if sampling:  # the observed losses of redrawn items hold the label errors already
                times = rng.multinomial(self.n, np.full(self.n, 1.0 / self.n), size) * self._shares
                out[block] = (times @ losses.T) / times.sum(axis=1, keepdims=True)
            else:
                labels = self._labels(size, rng)
                for k, p in enumerate(predictions):
                    out[block, k] = self._loss(labels, p) @ self._shares
        return np.asarray(self._value(out))

    def _boot(self, a: str, b: str) -> float:
        """Standard error of a difference of roots over test sets, by the delta method."""
        if not self._root:
            return math.inf
        losses = [self._loss(self._y, np.asarray(self._data[name].p, float)) for name in (a, b)]
        slopes = [0.5 / max(self._observed(name), 1e-300) for name in (a, b)]
        terms = slopes[0] * losses[0] - slopes[1] * losses[1]
        deviation = self._shares * (terms - float(np.sum(self._shares * terms)))
        return math.sqrt(float(np.sum(np.square(deviation))) * self.n / max(self.n - 1, 1))

    def noisy(self) -> bool:
        sd = np.sqrt(self._errors.label_variance(self._y))
        residuals = [np.abs(self._y - np.asarray(one.p, float)) for one in self._data.values()]
        return bool(np.median(sd) > 0.5 * min(float(np.median(r)) for r in residuals))


class AccuracyContest(Contest):
    """Accuracies on labels that are wrong with known probabilities: exact through the items that differ."""

    def __init__(
        self, declaration: Declaration, y_true: Any, models: Mapping[str, Any], yerr: Any, weight: Any
    ) -> None:
        self.declaration = declaration
        self._sign = 1.0 if declaration.greater_is_better else -1.0
        labels = {name: class_labels(y_true, p, weight) for name, p in models.items()}
        first = next(iter(labels.values()))
        self.n, self._weight, self._y = len(first.y), first.weight, first.y
        self._p = {name: one.p for name, one in labels.items()}
        self._flip: Flip = flip_model(yerr, self.n)
        self._classes = np.unique(np.concatenate([first.y, *self._p.values()]))
        self._others = max(len(self._classes), 2) - 1
        self._shares = np.full(self.n, 1.0 / self.n) if self._weight is None else self._weight / self._weight.sum()
        if self._flip.correlation:
            raise ValueError(
                "compare takes independent flips: errors common to all labels do not help to tell models apart."
            )

    def _agreement(self, name: str) -> FloatArray:
        q = np.asarray(self._flip.q)
        return np.where(self._y == self._p[name], 1.0 - q, q / self._others)

    def match(self, a: str, b: str) -> Match:
        right = {name: np.asarray(self._y == self._p[name], dtype=float) for name in (a, b)}
        terms = right[a] - right[b]
        differ = self._p[a] != self._p[b]
        total = float(self.n) if self._weight is None else float(self._weight.sum())
        weights = None if self._weight is None else self._weight[differ]
        first, second = (a, b) if self._sign > 0 else (b, a)
        law = accuracy_difference_law(self._agreement(first)[differ], self._agreement(second)[differ], total, weights)
        observed = self._sign * float(np.sum(self._shares * terms))
        return Match(observed, law, self._truth(terms), self._sign * terms, self._shares)

    def _truth(self, terms: FloatArray) -> TruthDifference | None:
        """(c_a - c_b) / (1 - q - r) for each item: the flips shrink every difference by the same factor."""
        contrast = np.broadcast_to(1.0 - np.asarray(self._flip.q) * (self._others + 1) / self._others, (self.n,))
        if np.any(np.abs(contrast) < 1e-12):
            return None
        value = self._sign * float(np.sum(self._shares * terms / contrast))
        q = np.asarray(self._flip.q)
        spread = np.sum(np.square(self._shares * terms / contrast) * 4.0 * q * (1.0 - q))
        return TruthDifference(value, math.sqrt(float(spread)), "unbiased")

    def draws(self, count: int, rng: np.random.Generator, sampling: bool) -> FloatArray:
        codes = {name: np.searchsorted(self._classes, p) for name, p in self._p.items()}
        shown = np.searchsorted(self._classes, self._y)
        out = np.empty((count, len(codes)))
        step = max(1, _CELLS // self.n)
        for start in range(0, count, step):
            size = min(step, count - start)
            if sampling:
                times = rng.multinomial(self.n, np.full(self.n, 1.0 / self.n), size) * self._shares
                times = times / times.sum(axis=1, keepdims=True)
                right = np.stack([(shown == c).astype(float) for c in codes.values()])
                out[start : start + size] = times @ right.T
                continue
            wrong = rng.random((size, self.n)) < self._flip.q
            moved = (shown + rng.integers(1, self._others + 1, (size, self.n))) % (self._others + 1)
            labels = np.where(wrong, moved, shown)
            for k, c in enumerate(codes.values()):
                out[start : start + size, k] = (labels == c) @ self._shares
        return out if self._sign > 0 else 1.0 - out


_LOSSES: dict[str, Loss] = {
    "mean_squared_error": SquaredError(),
    "root_mean_squared_error": SquaredError(),
    "mean_absolute_error": AbsoluteError(),
    "mean_error": SignedError(),
}


def _require_callable(metric: str, function: Any, sample_weight: Any) -> None:
    """Refuse metrics that need more than labels and predictions, and weights where the metric takes none."""
    parameters = signature(function).parameters
    needed = [name for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    if needed:
        raise ValueError(
            f"compare does not take {metric}: it needs {', '.join(needed)}, which compare has no place for. Compare by "
            "another metric, or look at each model's own score."
        )
    if sample_weight is not None and "sample_weight" not in parameters:
        raise ValueError(f"{metric} takes no sample_weight. Compare without weights, or by another metric.")


def contest(metric: str, y_true: Any, models: Mapping[str, Any], yerr: Any, sample_weight: Any) -> Contest:
    """The contest of these models under this metric."""
    entry = entry_of(metric)
    declaration = entry.declaration
    _require_callable(metric, entry.function, sample_weight)
    if metric in ("accuracy_score", "zero_one_loss"):
        return AccuracyContest(declaration, y_true, models, yerr, sample_weight)
    if declaration.task != "regression":
        return DrawnClasses(declaration, entry.function, y_true, models, yerr, sample_weight)
    if metric == "mean_error":
        raise ValueError(
            "compare does not take mean_error: of two biases neither sign is better. Use mean_squared_error."
        )
    data = {}
    for name, p in models.items():
        one = inputs.measured(y_true, p, yerr, sample_weight)
        if len(one) > 1:
            raise ValueError("compare takes one output at a time: y_true has several columns.")
        inputs.diagnose(one[0])
        data[name] = one[0]
    scale = max(one.find_scale() for one in data.values()) if declaration.degree else 1.0
    data = {name: one.scaled(scale) for name, one in data.items()}
    found: Contest
    if metric in _LOSSES:
        found = AdditiveContest(declaration, _LOSSES[metric], data, root=metric.startswith("root"))
    else:
        found = DrawnNumbers(declaration, entry.function, data)
    found.units = (scale,) * (declaration.degree or 0) if scale != 1.0 else ()
    return found
