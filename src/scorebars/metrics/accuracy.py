"""Share of right predictions, and its complement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from scorebars import tables
from scorebars.answers.accuracy import AccuracyAnswers
from scorebars.answers.label_loss import LabelLossAnswers
from scorebars.answers.linear import LinearAnswers
from scorebars.answers.sample_average import SubsetAccuracy
from scorebars.errors import Flip
from scorebars.metrics.indicators import cells_of
from scorebars.metrics.labels import class_labels, class_model, labelled, labels_of
from scorebars.metrics.registry import declares
from scorebars.score import Answers, Declaration, Score

_ACCURACY = Declaration(
    "accuracy_score", "Accuracy", True, "classification", low=0.0, high=1.0, degree=None, perfect=1.0
)
_ZERO_ONE = Declaration(
    "zero_one_loss", "Zero-one loss", False, "classification", low=0.0, high=1.0, degree=None, perfect=0.0
)


def _accuracy(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> tuple[Answers, float, float]:
    """The answers, with the total weight and that of the right predictions."""
    cells = cells_of(y_true, y_pred, yerr, sample_weight)
    if cells is not None:
        subset = SubsetAccuracy(_ACCURACY, cells)
        w = cells.item_weights
        return subset, float(np.add.reduce(w)), float(np.add.reduce(w[subset.data.shown == 1]))
    tables.require_rows(y_true=y_true, y_pred=y_pred, yerr=yerr)
    labels = class_labels(labels_of(y_true, yerr), y_pred, sample_weight)
    model = class_model(yerr, len(labels.y))
    right = np.asarray(labels.y == labels.p)
    if labels.weight is None:
        total, hits = float(len(right)), float(np.count_nonzero(right))
    else:
        total, hits = float(np.add.reduce(labels.weight)), float(np.add.reduce(labels.weight[right]))
    if isinstance(model, Flip):  # one probability for all wrong classes: right or wrong is all there is to know
        return AccuracyAnswers(_ACCURACY, right, model, labels.n_classes, labels.weight), total, hits
    data, _ = labelled(y_true, y_pred, yerr, sample_weight)
    return LabelLossAnswers(_ACCURACY, data, np.eye(data.k)[data.predicted]), total, hits


@declares(_ACCURACY)
def accuracy_score(
    y_true: Any, y_pred: Any, *, yerr: Any = None, normalize: bool = True, sample_weight: Any = None
) -> Score:
    r"""What share of the predictions is right, when some labels are wrong?

    With q the probability that a label is wrong (then any of the other K - 1 classes), a the observed accuracy:

    .. math::
        \mathrm{expected} = a(1-q) + (1-a)\frac{q}{K-1}, \qquad
        \mathrm{variance} = \frac{1}{M^2}\sum p_i(1-p_i),

    for two classes :math:`a + q(1-2a)` and :math:`q(1-q)/M`. The number of agreements is Poisson-binomial. The score
    against the truth is :math:`(a - r)/(1 - q - r)` with :math:`r = q/(K-1)`.

    Parameters
    ----------
    y_true, y_pred : (n,)
        Shown labels and predicted classes: whole numbers, booleans or texts. `y_true` may be None where the error model
        holds the labels.
    yerr : number, (n,) or error model of class labels, optional
        Probability that a label is wrong, or `Flip`, `ClassFlip`, `Transition`, `LabelProbabilities`, `Votes`,
        `Thresholded`. With a model :math:`p_i` is the probability that label i is the predicted class.
    normalize : bool
        A share (True) or a count (False).
    sample_weight : (n,), optional
        How much each item counts.

    Examples
    --------
    >>> import scorebars as sb
    >>> labels, predictions = [1] * 100, [1] * 85 + [0] * 15
    >>> s = sb.accuracy_score(labels, predictions, yerr=0.05)
    >>> print(s.observed, s, s.truth)
    0.85 0.815 ± 0.022 0.889 ± 0.024
    """
    answers, total, hits = _accuracy(y_true, y_pred, yerr, sample_weight)
    if normalize:
        return Score(answers)
    counted = replace(_ACCURACY, high=total, perfect=total)
    return Score(LinearAnswers(counted, answers, total, observed=hits))


@declares(_ZERO_ONE)
def zero_one_loss(
    y_true: Any, y_pred: Any, *, yerr: Any = None, normalize: bool = True, sample_weight: Any = None
) -> Score:
    r"""What share of the predictions is wrong, when some labels are wrong themselves?

    One minus `accuracy_score`, in every answer. Parameters are those of `accuracy_score`.

    Examples
    --------
    >>> import scorebars as sb
    >>> print(sb.zero_one_loss([1, 1, 0, 0], [1, 0, 0, 0], yerr=0.1))
    0.30 ± 0.15
    """
    answers, total, hits = _accuracy(y_true, y_pred, yerr, sample_weight)
    if normalize:
        return Score(LinearAnswers(_ZERO_ONE, answers, -1.0, 1.0))
    return Score(LinearAnswers(replace(_ZERO_ONE, high=total), answers, -total, total, observed=total - hits))
