"""Binary metrics as functions of two counts.

When labels are uncertain but predictions are not, `n_pos` predicted positives and `n_neg` predicted negatives are
fixed, and the confusion matrix has two free counts: `tp` positives among the predicted positives and `fn` positives
among the predicted negatives. All functions are vectorised; nan marks a value that is not defined (0/0).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def ratio(numerator: Any, denominator: Any) -> Any:
    """numerator / denominator, nan where the denominator is 0."""
    defined = np.asarray(denominator) != 0
    return np.where(defined, np.asarray(numerator) / np.where(defined, denominator, 1.0), math.nan)


def accuracy(tp: Any, fn: Any, n_pos: float, n_neg: float) -> Any:
    """Correct predictions / all."""
    return ratio(tp + (n_neg - fn), n_pos + n_neg)


def precision(tp: Any, fn: Any, n_pos: float, n_neg: float) -> Any:
    """tp / predicted positives; not defined when nothing is predicted positive."""
    return ratio(tp + 0.0 * fn, n_pos)


def recall(tp: Any, fn: Any, n_pos: float, n_neg: float) -> Any:
    """tp / (tp + fn); not defined without positives."""
    return ratio(tp, tp + fn)


def specificity(tp: Any, fn: Any, n_pos: float, n_neg: float) -> Any:
    """tn / (tn + fp); not defined without negatives."""
    return ratio(n_neg - fn, (n_neg - fn) + (n_pos - tp))


def f_beta(tp: Any, fn: Any, n_pos: float, n_neg: float, beta: float = 1.0) -> Any:
    """(1 + beta^2) tp / ((1 + beta^2) tp + fp + beta^2 fn); not defined when tp = fp = fn = 0."""
    if math.isinf(beta):
        return recall(tp, fn, n_pos, n_neg)
    b2 = beta * beta
    return ratio((1 + b2) * tp, n_pos + b2 * (tp + fn))


def jaccard(tp: Any, fn: Any, n_pos: float, n_neg: float) -> Any:
    """tp / (tp + fp + fn); not defined when tp = fp = fn = 0."""
    return ratio(tp, n_pos + fn)


def balanced_accuracy_of_both(tp: Any, fn: Any, n_pos: float, n_neg: float) -> Any:
    """(recall + specificity) / 2; not defined unless both classes are present."""
    return (recall(tp, fn, n_pos, n_neg) + specificity(tp, fn, n_pos, n_neg)) / 2


def balanced_accuracy(tp: Any, fn: Any, n_pos: float, n_neg: float) -> Any:
    """Mean recall of the classes that are present."""
    positives, negatives = recall(tp, fn, n_pos, n_neg), specificity(tp, fn, n_pos, n_neg)
    both = (positives + negatives) / 2
    return np.where(np.isnan(positives), negatives, np.where(np.isnan(negatives), positives, both))


def matthews(tp: Any, fn: Any, n_pos: float, n_neg: float) -> Any:
    """Correlation of labels and predictions; not defined when either is constant."""
    positives = tp + fn
    negatives = (n_pos + n_neg) - positives
    scale = np.sqrt(positives * 1.0) * np.sqrt(negatives * 1.0) * math.sqrt(n_pos) * math.sqrt(n_neg)
    return np.clip(ratio(tp * (n_neg - fn) - (n_pos - tp) * fn, scale), -1.0, 1.0)


def cohen_kappa(tp: Any, fn: Any, n_pos: float, n_neg: float) -> Any:
    """Agreement beyond chance; not defined when labels and predictions are one and the same class."""
    positives = tp + fn
    negatives = (n_pos + n_neg) - positives
    return ratio(2 * (tp * (n_neg - fn) - (n_pos - tp) * fn), n_pos * negatives + positives * n_neg)
