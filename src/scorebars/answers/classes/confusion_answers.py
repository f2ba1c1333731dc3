"""Metrics of the confusion matrix and their answers: precision, recall, F1, balanced accuracy, Matthews, kappa.

A metric takes C of shape (..., K, K), rows labels and columns predictions, counts or sums of weights, and gives (...);
nan marks 0/0. Metrics are small objects, so that scores can be pickled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.class_answers import INVERTED, ClassAnswers, Spread
from scorebars.answers.classes.labelled import Indices, Labelled
from scorebars.answers.score import Declaration, UndefinedEstimate
from scorebars.arrays import FloatArray
from scorebars.laws.counts.confusion_law import UncertainConfusion
from scorebars.moments.confusion_moments import ConfusionMetric

CONSTRAINED = "of the most likely true label counts: carried back directly, some of them would be negative"
KNOWS_TRUTH = "expected score of a model that always knows the true class"
_ROUNDING = 1e-13


def ratio(numerator: Any, denominator: Any) -> Any:
    """numerator / denominator, nan where the denominator is 0."""
    defined = np.asarray(denominator) != 0
    return np.where(defined, np.asarray(numerator) / np.where(defined, denominator, 1.0), math.nan)


# the metrics --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Share:
    """One of the ratios of right decisions about a class.

    With tp right, `predicted` predicted and `labelled` labelled items of the class among `total`: precision tp /
    predicted, recall tp / labelled, specificity (true negatives) / (total - labelled), F-beta (1 + beta^2) tp /
    (predicted + beta^2 labelled), Jaccard tp / (predicted + labelled - tp).
    """

    name: Literal["precision", "recall", "specificity", "f_beta", "jaccard"]
    beta: float = 1.0

    def __call__(self, tp: Any, predicted: Any, labelled: Any, total: Any) -> Any:
        if self.name == "precision" or (self.name == "f_beta" and self.beta == 0):
            return ratio(tp, predicted)
        if self.name == "recall" or (self.name == "f_beta" and math.isinf(self.beta)):
            return ratio(tp, labelled)
        if self.name == "specificity":
            # differences of sums of weights: what is left by rounding alone is nothing
            negatives, right = (
                np.where(np.abs(x) <= _ROUNDING * np.abs(total), 0.0, x)
                for x in (total - labelled, total - labelled - (predicted - tp))
            )
            return ratio(right, negatives)
        if self.name == "jaccard":
            return ratio(tp, predicted + labelled - tp)
        b2 = self.beta * self.beta
        return ratio((1 + b2) * tp, predicted + b2 * labelled)


@dataclass(frozen=True)
class OfPositives:
    """A share of the second of two classes."""

    share: Share

    def __call__(self, c: FloatArray) -> Any:
        tp = c[..., 1, 1]
        return self.share(tp, c[..., 0, 1] + tp, c[..., 1, 0] + tp, np.sum(c, axis=(-2, -1)))


@dataclass(frozen=True)
class Averaged:
    """A share over several classes: of all decisions pooled, as a plain mean, or weighted by the labels of each class.

    Undefined classes count as `undefined`; with nan they are left out.
    """

    share: Share
    average: Literal["micro", "macro", "weighted"]
    classes: tuple[int, ...]
    undefined: float

    def __call__(self, c: FloatArray) -> Any:
        tp, predicted, labelled = (x[..., list(self.classes)] for x in of_classes(c))
        total = np.sum(c, axis=(-2, -1))
        if self.average == "micro":
            right, chosen, marked = (np.sum(x, axis=-1) for x in (tp, predicted, labelled))
            pooled = self.share(right, chosen, marked, total * len(self.classes))
            return np.where(np.isnan(pooled), self.undefined, pooled)
        values = self.share(tp, predicted, labelled, total[..., None])
        values = np.where(np.isnan(values), self.undefined, values)
        return average_of(values, shares_of_classes(values, labelled, self.average == "weighted", left_out=True))


def shares_of_classes(values: FloatArray, support: FloatArray, weighted: bool, left_out: bool) -> FloatArray:
    """How much each class counts in an average (..., K): by its labels if `weighted`, nothing if its value is `left_out` (nan).

    Classes that are all without labels count alike, as in scikit-learn.
    """
    plain = np.where(np.isnan(values), 0.0, 1.0) if left_out else np.ones(values.shape)
    weight = plain * support if weighted else plain
    total = np.add.reduce(weight, axis=-1)[..., None]
    alike = plain / np.maximum(np.add.reduce(plain, axis=-1), 1.0)[..., None]
    return np.where(total != 0, weight / np.where(total != 0, total, 1.0), alike)


def average_of(values: FloatArray, shares: FloatArray) -> FloatArray:
    """The average of values (..., K); nan where no class counts."""
    counted = shares != 0
    found = np.add.reduce(shares * np.where(counted, values, 0.0), axis=-1)
    return np.where(np.any(counted, axis=-1), found, math.nan)


def of_classes(c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Right, predicted and labelled items of each class, (..., K)."""
    return np.diagonal(c, axis1=-2, axis2=-1), np.sum(c, axis=-2), np.sum(c, axis=-1)


@dataclass(frozen=True)
class BalancedAccuracy:
    """Mean recall of the classes present; adjusted: rescaled so that chance is 0."""

    adjusted: bool = False

    def __call__(self, c: FloatArray) -> Any:
        right, _, labelled = of_classes(c)
        recall = ratio(right, labelled)
        present = np.sum(~np.isnan(recall), axis=-1)
        mean = ratio(np.nansum(recall, axis=-1), present)
        if not self.adjusted:
            return mean
        chance = ratio(1.0, present)
        return ratio(mean - chance, 1 - chance)


@dataclass(frozen=True)
class Matthews:
    """Correlation of labels and predictions, 0 when either is constant (as in scikit-learn)."""

    def __call__(self, c: FloatArray) -> Any:
        right, predicted, labelled = of_classes(c)
        covariance = np.sum(right, axis=-1) * np.sum(labelled, axis=-1) - np.sum(labelled * predicted, axis=-1)
        # sums over pairs of different classes: exactly 0 when one class has it all, without a difference of squares
        different = 1.0 - np.eye(c.shape[-1])
        scale = [np.sqrt(np.sum(counts @ different * counts, axis=-1)) for counts in (labelled, predicted)]
        return np.clip(np.nan_to_num(ratio(covariance, scale[0] * scale[1])), -1.0, 1.0)


@dataclass(frozen=True)
class Kappa:
    """Agreement beyond chance among some classes; items outside them do not count."""

    classes: tuple[int, ...]
    weights: Literal["linear", "quadratic"] | None = None

    def __call__(self, c: FloatArray) -> Any:
        c = c[..., list(self.classes), :][..., list(self.classes)]
        place = np.arange(len(self.classes))
        distance = np.abs(place[:, None] - place).astype(float)
        cost = {None: (distance > 0) * 1.0, "linear": distance, "quadratic": distance**2}[self.weights]
        _, predicted, labelled = of_classes(c)
        chance = np.einsum("...k,kl,...l->...", labelled, cost, predicted)
        return 1 - ratio(np.sum(cost * c, axis=(-2, -1)) * np.sum(c, axis=(-2, -1)), chance)


@dataclass(frozen=True)
class Swapped:
    """A metric of matrices whose rows are predictions and whose columns are labels."""

    metric: ConfusionMetric

    def __call__(self, c: FloatArray) -> Any:
        return self.metric(np.swapaxes(c, -1, -2))


def cell_gradient(f: ConfusionMetric, c: FloatArray, step: float = 1e-4) -> FloatArray:
    """The derivative of f with respect to each cell of c (K, K), by central differences.

    The step is a small part of the row or column that the cell belongs to, whichever is smaller: ratios of a rare class
    bend on that scale. Rows without labels hold no items, and f may jump there: 0. Metrics are ratios, so the step is
    the same part of the matrix whatever its unit.
    """
    k = c.shape[0]
    rows, columns = np.add.reduce(c, axis=1), np.add.reduce(c, axis=0)
    total = float(np.add.reduce(rows))
    sizes = np.where(columns > 0, np.minimum(rows[:, None], np.where(columns > 0, columns, total)), rows[:, None])
    cells = np.argwhere(sizes > 1e-12 * total)
    out = np.zeros((k, k))
    block = max(1, 500_000 // (k * k))
    for start in range(0, len(cells), block):
        row, column = cells[start : start + block].T
        h = step * sizes[row, column]
        moved = np.zeros((len(row), k, k))
        moved[np.arange(len(row)), row, column] = h
        with np.errstate(invalid="ignore", divide="ignore"):
            up, down = np.asarray(f(np.stack([c + moved, c - moved])))
            change = (up - down) / (2 * h)
        out[row, column] = np.where(np.isfinite(change), change, 0.0)
    return out


# their answers ------------------------------------------------------------------------------------


def confusion(indicators: FloatArray, predicted: Indices, weights: FloatArray) -> FloatArray:
    """The matrix (K, K) of label indicators (n, K) and predictions, weighted."""
    k = indicators.shape[1]
    return np.stack([np.bincount(predicted, column * weights, minlength=k) for column in indicators.T])


class ConfusionAnswers(ClassAnswers):
    """A metric of the confusion matrix. Where it is 0/0 it takes the value `undefined`; with nan it is left out."""

    _values_at_once = True

    def __init__(self, declaration: Declaration, data: Labelled, metric: ConfusionMetric, undefined: float) -> None:
        assert data.predicted is not None
        self._metric, self._predicted = metric, data.predicted
        self._conditional = math.isnan(undefined)
        self._undefined = None if self._conditional else undefined
        observed = self._of(confusion(data.one_hot, data.predicted, data.masses))
        self.observed_undefined = math.isnan(observed)
        super().__init__(declaration, data, undefined if self.observed_undefined else observed)

    def _of(self, c: FloatArray) -> float:
        with np.errstate(invalid="ignore"):
            return float(np.asarray(self._metric(c)))

    def _possible_values(self, p: FloatArray) -> bool:
        """Whether the metric can be defined: precision is not, for whatever labels, where nothing is predicted."""
        if not (self._conditional and self.observed_undefined):
            return True
        return not math.isnan(self._of(confusion(p, self._predicted, np.ones(len(p)))))

    def _spread(self, p: FloatArray) -> Spread:
        data, predicted, count = self.data, self._predicted, self.data.count
        if p is data.probabilities and data.rows is not None and data.weight is None:
            # items of one label and one prediction are alike: K^2 of them, however many labels there are
            cell = np.bincount(data.shown * data.k + predicted, count, minlength=data.k**2)
            shown, predicted = np.divmod(np.flatnonzero(cell), data.k)
            p, count = data.rows[shown], cell[cell > 0].astype(np.float64)
        return UncertainConfusion(self._metric, p, predicted, data.weight, count, self._undefined)

    def _perfect_model(self) -> ClassAnswers:
        undefined = math.nan if self._undefined is None else self._undefined
        return ConfusionAnswers(self.declaration, self.data.predicting_shown(), self._metric, undefined)

    def _perfect_cases(self) -> tuple[list[tuple[float, Spread, float]], str]:
        try:
            return [(chance, *self._behind(data)) for chance, data in self.data.cases_of_truth()], KNOWS_TRUTH
        except (
            UndefinedEstimate
        ):  # the labels do not tell the shares of the true classes: those shown are taken for them
            return super()._perfect_cases()

    def _behind(self, data: Labelled) -> tuple[Spread, float]:
        """The labels at hand against the true classes behind them, and the variance of what is estimated for that."""
        metric, chances = Swapped(self._metric), data.truth_given_label
        c = confusion(chances, data.shown, data.masses)
        more = data.variance_behind(cell_gradient(metric, c).T[data.shown] * data.weights[:, None])
        shown, count = data.shown, data.count
        if data.alike_by_class:
            shown, first = np.unique(shown, return_index=True)
            chances, count = chances[first], np.bincount(data.shown, count, minlength=data.k)[shown].astype(np.float64)
        return UncertainConfusion(metric, chances, shown, data.weight, count, self._undefined), more

    def values(self, y: FloatArray) -> FloatArray:
        """The metric of several sets of labels (d, n) of two classes; nan where it is 0/0 and conditioned away."""
        return self._of_labels(y)

    def _with_undefined(self, values: Any) -> FloatArray:
        """Values of the metric, with the one that stands for 0/0."""
        found = np.asarray(values, dtype=np.float64)
        return found if self._undefined is None else np.where(np.isnan(found), self._undefined, found)

    def of_rows(self, rows: NDArray[Any], predictions: NDArray[Any]) -> FloatArray:
        return self._of_labels(rows, self.data.classes)

    def _of_labels(self, labels: NDArray[Any], classes: NDArray[Any] | None = None) -> FloatArray:
        """By counting all sets at once; labels are indices unless these are their classes."""
        kind = np.float64 if self.data.weight is not None or self.data.n >= 1 << 24 else np.float32  # counts are exact
        predicted = (self._predicted[:, None] == np.arange(self.data.k)) * self.data.weights[:, None]
        predicted = predicted.astype(kind)
        names = np.arange(self.data.k) if classes is None else classes
        c = np.stack([(labels == name).astype(kind) @ predicted for name in names], axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._with_undefined(self._metric(c.astype(np.float64)))

    def _matrix(self, indicators: FloatArray) -> FloatArray:
        return confusion(indicators, self._predicted, self.data.masses)

    def _at(self, indicators: FloatArray) -> float:
        return float(self._with_undefined(self._of(self._matrix(indicators))))

    @cached_property
    def _most_likely(self) -> FloatArray:
        """Cells that the search has nearly emptied are empty: a ratio of such remains would mean nothing."""
        c = self.data.most_likely_confusion()
        return np.where(c > 1e-6 * np.add.reduce(c, axis=None), c, 0.0)

    def _true_value(self) -> tuple[float, str]:
        c = self._matrix(self.data.indicators)
        value = self._of(c)
        inside = self.declaration.low - 1e-12 <= value <= self.declaration.high + 1e-12
        if inside and np.all(np.add.reduce(c, axis=1) >= 0):
            return value, INVERTED
        value = self._of(self._most_likely)
        if math.isnan(value):
            raise UndefinedEstimate(
                f"{self.declaration.name} is not defined (0/0) at the most likely true label counts: its denominator "
                "cannot be told from 0."
            )
        return value, CONSTRAINED

    def _influences(self, indicators: FloatArray) -> FloatArray:
        """The derivatives. A ratio of sums over items does not change when all weights grow by one factor."""
        c = self._matrix(indicators)
        if c.min() < -1e-9 * c.sum():  # indicators of true classes: take the most likely matrix
            c = self._most_likely
        return np.asarray(cell_gradient(self._metric, c).T[self._predicted] * self.data.weights[:, None])

    def _values_by(self, rows: FloatArray) -> FloatArray:
        """A matrix with a class of fewer than no labels, or a value outside the range, is taken without what is below 0."""
        low, high = self._range
        with np.errstate(all="ignore"):
            c = self.data.confusions_by(rows, self._predicted, self.data.k)
            values = np.asarray(self._metric(c), dtype=np.float64)
            odd = ~(np.all(np.add.reduce(c, axis=2) >= 0, axis=1) & (values >= low) & (values <= high))
            values[odd] = self._metric(np.maximum(c[odd], 0.0))
        return self._with_undefined(values)

    def warnings(self) -> list[str]:
        found = super().warnings()
        if self.observed_undefined:
            found.append(f"the observed score is 0/0, for which {self.observed:g} stands.")
        return found
