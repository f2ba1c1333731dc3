"""Precision and recall in one number: F scores and the Jaccard index."""

from __future__ import annotations

from typing import Any

from scorebars.answers.confusion_functions import Share
from scorebars.metrics.class_options import class_share, require_number
from scorebars.metrics.registry import declares
from scorebars.score import Declaration, Score, Scores


def _declared(name: str, title: str) -> Declaration:
    return Declaration(name, title, True, "classification", low=0.0, high=1.0, degree=None, perfect=1.0)


_F1 = _declared("f1_score", "F1 score")
_FBETA = _declared("fbeta_score", "F-beta score")
_JACCARD = _declared("jaccard_score", "Jaccard index")


@declares(_F1)
def f1_score(
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
    r"""How good are the decisions about a class, precision and recall taken together, when some labels are wrong?

    .. math::
        F_1 = \frac{2\,TP}{2\,TP + FP + FN}.

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
    >>> s = sb.f1_score(labels, predictions, yerr=0.05)
    >>> print(s.observed, s, s.truth)
    0.75 0.716 ± 0.027 0.789 ± 0.030
    """
    return class_share(
        _F1, Share("f_beta"), y_true, y_pred, yerr, labels, pos_label, average, sample_weight, zero_division
    )


@declares(_FBETA)
def fbeta_score(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    beta: float,
    labels: Any = None,
    pos_label: Any = 1,
    average: Any = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Score | Scores:
    r"""How good are the decisions about a class, with recall beta times as important as precision?

    .. math::
        F_\beta = \frac{(1+\beta^2)\,TP}{(1+\beta^2)\,TP + FP + \beta^2 FN}.

    Parameters
    ----------
    y_true, y_pred : (n,) or (n, L)
        Shown labels and predicted classes, or 0 and 1 for each of L labels an item. `y_true` may be None where the
        error model holds the labels.
    yerr : number, (n,), (L,), (n, L) or error model of class labels, optional
        Probability that a label is wrong, or `Flip`, `ClassFlip`, `Transition`, `LabelProbabilities`, `Votes`,
        `Thresholded`.
    beta : number of at least 0
        How much recall counts against precision; infinity gives recall.
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
    >>> s = sb.fbeta_score(labels, predictions, yerr=0.05, beta=2)
    >>> print(s.observed, s, s.truth)
    0.75 0.711 ± 0.028 0.795 ± 0.034
    """
    return class_share(
        _FBETA,
        Share("f_beta", require_number(beta, "beta", 0.0)),
        y_true,
        y_pred,
        yerr,
        labels,
        pos_label,
        average,
        sample_weight,
        zero_division,
    )


@declares(_JACCARD)
def jaccard_score(
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
    r"""How far do the predicted and the labelled items of a class overlap, when some labels are wrong?

    .. math::
        J = \frac{TP}{TP + FP + FN}.

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
    zero_division : {"warn", 0.0, 1.0}
        What stands for 0/0, also inside the expectation; "warn" is 0.

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
    >>> s = sb.jaccard_score(labels, predictions, yerr=0.05)
    >>> print(s.observed, s, s.truth)
    0.6 0.558 ± 0.032 0.651 ± 0.041
    """
    return class_share(
        _JACCARD,
        Share("jaccard"),
        y_true,
        y_pred,
        yerr,
        labels,
        pos_label,
        average,
        sample_weight,
        zero_division,
        allow_nan=False,
    )
