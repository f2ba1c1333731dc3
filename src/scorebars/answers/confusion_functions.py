"""Classification metrics as functions of the confusion matrix: small objects, so that scores can be pickled.

Each takes C of shape (..., K, K), rows labels and columns predictions, and gives (...); nan marks 0/0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.moments.binary_metrics import ratio
from scorebars.moments.confusion_metrics import balanced_accuracy, cohen_kappa, hits, matthews

Name = Literal["precision", "recall", "specificity", "f_beta", "jaccard"]
Average = Literal["micro", "macro", "weighted"]
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Share:
    """One of the ratios of right decisions about a class.

    With tp right, `predicted` predicted and `labelled` labelled items of the class among `total`: precision tp /
    predicted, recall tp / labelled, specificity (true negatives) / (total - labelled), F-beta (1 + beta^2) tp /
    (predicted + beta^2 labelled), Jaccard tp / (predicted + labelled - tp).
    """

    name: Name
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
    average: Average
    classes: tuple[int, ...]
    undefined: float

    def __call__(self, c: FloatArray) -> Any:
        keep = list(self.classes)
        tp, predicted, labelled = (x[..., keep] for x in (hits(c), np.sum(c, axis=-2), np.sum(c, axis=-1)))
        total = np.sum(c, axis=(-2, -1))
        if self.average == "micro":
            right, chosen, marked = (np.sum(x, axis=-1) for x in (tp, predicted, labelled))
            pooled = self.share(right, chosen, marked, total * len(keep))
            return np.where(np.isnan(pooled), self.undefined, pooled)
        values = self.share(tp, predicted, labelled, total[..., None])
        values = np.where(np.isnan(values), self.undefined, values)
        defined = ~np.isnan(values)
        weight = defined * (labelled if self.average == "weighted" else 1.0)
        # classes that are all without labels count alike, as in scikit-learn
        weight = np.where(np.sum(weight, axis=-1, keepdims=True) == 0, defined * 1.0, weight)
        return ratio(np.sum(weight * np.nan_to_num(values), axis=-1), np.sum(weight, axis=-1))


@dataclass(frozen=True)
class BalancedAccuracy:
    """Mean recall of the classes present."""

    adjusted: bool = False

    def __call__(self, c: FloatArray) -> Any:
        return balanced_accuracy(c, self.adjusted)


@dataclass(frozen=True)
class Matthews:
    """Correlation of labels and predictions."""

    def __call__(self, c: FloatArray) -> Any:
        return matthews(c)


@dataclass(frozen=True)
class Kappa:
    """Agreement beyond chance among some classes; items outside them do not count."""

    classes: tuple[int, ...]
    weights: Literal["linear", "quadratic"] | None = None

    def __call__(self, c: FloatArray) -> Any:
        keep = list(self.classes)
        return cohen_kappa(c[..., keep, :][..., keep], self.weights)
