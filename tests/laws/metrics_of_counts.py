"""Metrics of K x K matrices, for tests of their distributions."""

import numpy as np

from scorebars.answers.classes.confusion_answers import (
    Averaged,
    BalancedAccuracy,
    Kappa,
    Matthews,
    OfPositives,
    Share,
    ratio,
)

precision, recall, specificity, jaccard, f_beta = (
    OfPositives(Share(name)) for name in ("precision", "recall", "specificity", "jaccard", "f_beta")
)
balanced_accuracy, matthews, cohen_kappa = BalancedAccuracy(), Matthews(), Kappa((0, 1))


def balanced_accuracy_of_both(c):
    """Not defined unless both classes are present."""
    return (recall(c) + specificity(c)) / 2


def matthews_of_both(c):
    """Not defined where labels or predictions are of one class."""
    (tn, fp), (fn, tp) = c[..., 0, :].T, c[..., 1, :].T
    scale = np.sqrt((tp + fn) * (tn + fp)) * np.sqrt((tp + fp) * (tn + fn))
    return np.clip(ratio(tp * tn - fp * fn, scale), -1.0, 1.0).T


def accuracy(c):
    return ratio(np.trace(c, axis1=-2, axis2=-1), np.sum(c, axis=(-2, -1)))


def macro_f1(c):
    return Averaged(Share("f_beta"), "macro", tuple(range(c.shape[-1])), 0.0)(c)


def kappa_or_zero(c):
    return np.nan_to_num(Kappa(tuple(range(c.shape[-1])))(c))


def both_chances(p):
    """Chances of the classes 0 and 1 from those of class 1."""
    return np.stack([1 - np.asarray(p, dtype=float), p], axis=1)


def items_of(shown, transition):
    """Label probabilities, predictions and numbers of items from counts by shown class and prediction."""
    number = np.asarray(shown)
    label, column = np.nonzero(number)
    return np.asarray(transition)[label], column, None, number[label, column]
