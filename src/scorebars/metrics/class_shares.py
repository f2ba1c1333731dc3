"""Shares of right decisions about a class: precision, recall, specificity."""

from __future__ import annotations

from typing import Any

from scorebars.answers.confusion_functions import Share
from scorebars.metrics.class_options import class_share
from scorebars.metrics.registry import declares
from scorebars.score import Declaration, Score, Scores


def _declared(name: str, title: str) -> Declaration:
    return Declaration(name, title, True, "classification", low=0.0, high=1.0, degree=None, perfect=1.0)


_PRECISION = _declared("precision_score", "Precision")
_RECALL = _declared("recall_score", "Recall")
_SPECIFICITY = _declared("specificity_score", "Specificity")


@declares(_PRECISION)
def precision_score(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    labels: Any = None,
    pos_label: Any = 1,
    average: Any = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Score | Scores:
    r"""Of the items predicted positive, what share is positive, when some labels are wrong?

    .. math::
        \mathrm{precision} = \frac{TP}{TP + FP}.

    The predictions are fixed, so precision is linear in the labels: its expectation is the mean of the probabilities
    that the labels of the predicted positives are positive.

    Parameters
    ----------
    y_true, y_pred : (n,) or (n, L)
        Shown labels and predicted classes, or 0 and 1 for each of L labels an item. `y_true` may be None where the
        error model holds the labels.
    yerr : number, (n,), (L,), (n, L) or error model of class labels, optional
        Probability that a label is wrong, or `Flip`, `ClassFlip`, `Transition`, `LabelProbabilities`, `Votes`,
        `Thresholded`.
    labels : sequence of classes, optional
        The classes that an average runs over, in this order; those of `y_true` and `y_pred` unless given.
    pos_label : class
        The class that counts as positive for ``average="binary"``.
    average : {"binary", "micro", "macro", "samples", "weighted", None}
        One class of two; all decisions pooled; the mean over classes; the mean over items with several labels each;
        weighted by the labels of each class; or (None) a score for each class.
    sample_weight : (n,), optional
        How much each item counts.
    zero_division : {"warn", 0.0, 1.0, np.nan}
        What stands for 0/0, also inside the expectation; "warn" is 0. With ``np.nan`` such values are left out:
        the score is conditional on being defined.

    Notes
    -----
    Two classes, or one class against the rest, without weights: the law is exact, that of two independent
    Poisson-binomial counts. Averages over more classes: exact for few uncertain labels, else by the delta method or
    simulated with a fixed seed; `method` says which. `truth` is the score of the label counts carried back through the
    label errors, with a delta-method error.

    Examples
    --------
    >>> import scorebars as sb
    >>> labels, predictions = [1] * 40 + [0] * 60, [1] * 30 + [0] * 60 + [1] * 10
    >>> s = sb.precision_score(labels, predictions, yerr=0.05)
    >>> print(s.observed, s, s.truth)
    0.75 0.725 ± 0.034 0.778 ± 0.038
    """
    return class_share(
        _PRECISION, Share("precision"), y_true, y_pred, yerr, labels, pos_label, average, sample_weight, zero_division
    )


@declares(_RECALL)
def recall_score(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    labels: Any = None,
    pos_label: Any = 1,
    average: Any = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Score | Scores:
    r"""Of the positive items, what share is found, when some labels are wrong?

    .. math::
        \mathrm{recall} = \frac{TP}{TP + FN}.

    Wrong labels change numerator and denominator: of a rare class most labels may be wrong ones, which no model can
    find.

    Parameters
    ----------
    y_true, y_pred : (n,) or (n, L)
        Shown labels and predicted classes, or 0 and 1 for each of L labels an item. `y_true` may be None where the
        error model holds the labels.
    yerr : number, (n,), (L,), (n, L) or error model of class labels, optional
        Probability that a label is wrong, or `Flip`, `ClassFlip`, `Transition`, `LabelProbabilities`, `Votes`,
        `Thresholded`.
    labels : sequence of classes, optional
        The classes that an average runs over, in this order; those of `y_true` and `y_pred` unless given.
    pos_label : class
        The class that counts as positive for ``average="binary"``.
    average : {"binary", "micro", "macro", "samples", "weighted", None}
        One class of two; all decisions pooled; the mean over classes; the mean over items with several labels each;
        weighted by the labels of each class; or (None) a score for each class.
    sample_weight : (n,), optional
        How much each item counts.
    zero_division : {"warn", 0.0, 1.0, np.nan}
        What stands for 0/0, also inside the expectation; "warn" is 0. With ``np.nan`` such values are left out:
        the score is conditional on being defined.

    Notes
    -----
    Two classes, or one class against the rest, without weights: the law is exact, that of two independent
    Poisson-binomial counts. Averages over more classes: exact for few uncertain labels, else by the delta method or
    simulated with a fixed seed; `method` says which. `truth` is the score of the label counts carried back through the
    label errors, with a delta-method error.

    Examples
    --------
    >>> import scorebars as sb
    >>> labels, predictions = [1] * 40 + [0] * 60, [1] * 30 + [0] * 60 + [1] * 10
    >>> s = sb.recall_score(labels, predictions, yerr=0.05)
    >>> print(s.observed, s, s.truth)
    0.75 0.708 ± 0.031 0.800 ± 0.039
    """
    return class_share(
        _RECALL, Share("recall"), y_true, y_pred, yerr, labels, pos_label, average, sample_weight, zero_division
    )


@declares(_SPECIFICITY)
def specificity_score(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    labels: Any = None,
    pos_label: Any = 1,
    average: Any = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Score | Scores:
    r"""Of the negative items, what share is recognised as negative, when some labels are wrong?

    .. math::
        \mathrm{specificity} = \frac{TN}{TN + FP}.

    Parameters
    ----------
    y_true, y_pred : (n,) or (n, L)
        Shown labels and predicted classes, or 0 and 1 for each of L labels an item. `y_true` may be None where the
        error model holds the labels.
    yerr : number, (n,), (L,), (n, L) or error model of class labels, optional
        Probability that a label is wrong, or `Flip`, `ClassFlip`, `Transition`, `LabelProbabilities`, `Votes`,
        `Thresholded`.
    labels : sequence of classes, optional
        The classes that an average runs over, in this order; those of `y_true` and `y_pred` unless given.
    pos_label : class
        The class that counts as positive for ``average="binary"``.
    average : {"binary", "micro", "macro", "samples", "weighted", None}
        One class of two; all decisions pooled; the mean over classes; the mean over items with several labels each;
        weighted by the labels of each class; or (None) a score for each class.
    sample_weight : (n,), optional
        How much each item counts.
    zero_division : {"warn", 0.0, 1.0, np.nan}
        What stands for 0/0, also inside the expectation; "warn" is 0. With ``np.nan`` such values are left out:
        the score is conditional on being defined.

    Notes
    -----
    Two classes, or one class against the rest, without weights: the law is exact, that of two independent
    Poisson-binomial counts. Averages over more classes: exact for few uncertain labels, else by the delta method or
    simulated with a fixed seed; `method` says which. `truth` is the score of the label counts carried back through the
    label errors, with a delta-method error.

    Examples
    --------
    >>> import scorebars as sb
    >>> labels, predictions = [1] * 40 + [0] * 60, [1] * 30 + [0] * 60 + [1] * 10
    >>> s = sb.specificity_score(labels, predictions, yerr=0.05)
    >>> print(s.observed, s, s.truth)
    0.8333333333333334 0.814 ± 0.020 0.855 ± 0.022
    """
    return class_share(
        _SPECIFICITY,
        Share("specificity"),
        y_true,
        y_pred,
        yerr,
        labels,
        pos_label,
        average,
        sample_weight,
        zero_division,
    )
