"""Metrics of two counts and of K x K matrices, for tests of their distributions."""

import math

import numpy as np

from scorebars.answers.classes.confusion_answers import (
    Averaged,
    BalancedAccuracy,
    Kappa,
    Matthews,
    OfPositives,
    OnCounts,
    Share,
    ratio,
)


class TwoCounts:
    """f(tp, fn, n_pos, n_neg): positives among the predicted positives and negatives, of which there are so many."""

    precision, recall, specificity, jaccard = (
        OnCounts(OfPositives(Share(name))) for name in ("precision", "recall", "specificity", "jaccard")
    )
    balanced_accuracy, cohen_kappa = OnCounts(BalancedAccuracy()), OnCounts(Kappa((0, 1)))

    @staticmethod
    def accuracy(tp, fn, n_pos, n_neg):
        return ratio(tp + (n_neg - fn), n_pos + n_neg)

    @staticmethod
    def f_beta(tp, fn, n_pos, n_neg, beta=1.0):
        return OnCounts(OfPositives(Share("f_beta", beta)))(tp, fn, n_pos, n_neg)

    @staticmethod
    def balanced_accuracy_of_both(tp, fn, n_pos, n_neg):
        """Not defined unless both classes are present."""
        return (TwoCounts.recall(tp, fn, n_pos, n_neg) + TwoCounts.specificity(tp, fn, n_pos, n_neg)) / 2

    @staticmethod
    def matthews(tp, fn, n_pos, n_neg):
        """Not defined where labels or predictions are of one class."""
        positives = tp + fn
        scale = np.sqrt(positives * (n_pos + n_neg - positives)) * math.sqrt(n_pos * n_neg)
        return np.clip(ratio(tp * (n_neg - fn) - (n_pos - tp) * fn, scale), -1.0, 1.0)


def accuracy(c):
    return ratio(np.trace(c, axis1=-2, axis2=-1), np.sum(c, axis=(-2, -1)))


def macro_f1(c):
    return Averaged(Share("f_beta"), "macro", tuple(range(c.shape[-1])), 0.0)(c)


def kappa_or_zero(c):
    return np.nan_to_num(Kappa(tuple(range(c.shape[-1])))(c))


balanced_accuracy, matthews = BalancedAccuracy(), Matthews()
