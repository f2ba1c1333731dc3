"""Share of right predictions, and its complement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import Answers
from scorebars.answers.classes.accuracy_answers import AccuracyAnswers
from scorebars.answers.classes.item_average import SubsetAccuracy
from scorebars.answers.classes.label_loss import LabelLossAnswers
from scorebars.answers.linear import LinearAnswers
from scorebars.arrays import FloatArray
from scorebars.errors import Flip
from scorebars.metrics.class_inputs import (
    class_declaration,
    class_labels,
    class_model,
    label_matrix,
    labelled,
    labels_of,
)
from scorebars.metrics.registry import declares
from scorebars.score import Score

_ACCURACY = class_declaration("accuracy_score", "Accuracy")
_ZERO_ONE = class_declaration("zero_one_loss", "Zero-one loss", greater_is_better=False, perfect=0.0)


def _accuracy(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> tuple[Answers, float, float]:
    """The answers, with the total weight and that of the right predictions."""
    cells = label_matrix(y_true, y_pred, yerr, sample_weight)
    if cells is not None:
        subset = SubsetAccuracy(_ACCURACY, cells)
        return subset, *_hits(subset.data.shown == 1, cells.item_weight)
    labels = class_labels(labels_of(y_true, yerr), y_pred, sample_weight, yerr)
    model, right = class_model(yerr, len(labels.y)), np.asarray(labels.y == labels.p)
    if isinstance(model, Flip):  # one probability for all wrong classes: right or wrong is all there is to know
        answers: Answers = AccuracyAnswers(_ACCURACY, right, model, labels.n_classes, labels.weight)
    else:
        data, _ = labelled(y_true, y_pred, yerr, sample_weight)
        answers = LabelLossAnswers(_ACCURACY, data, np.eye(data.k)[data.predicted])
    return answers, *_hits(right, labels.weight)


def _hits(right: NDArray[np.bool_], weight: FloatArray | None) -> tuple[float, float]:
    """The total weight, and that of the right predictions."""
    if weight is None:
        return float(len(right)), float(np.count_nonzero(right))
    return float(np.add.reduce(weight)), float(np.add.reduce(weight[right]))


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

    $accuracy

    Notes
    -----
    With a model :math:`p_i` is the probability that label i is the predicted class. Several labels an item, (n, L): the
    share of items whose labels are all predicted right.

    References
    ----------
    W. J. Rogan and B. Gladen, Estimating prevalence from the results of a screening test, American Journal of
    Epidemiology 107, 71 (1978). C. Northcutt, A. Athalye, J. Mueller, Pervasive label errors in test sets destabilize
    machine learning benchmarks, NeurIPS Datasets and Benchmarks (2021).

    Examples
    --------
    At least 54 of the 10,000 labels of this test set are wrong:

    $cifar
    >>> s = sb.accuracy_score(cifar.y, predicted, yerr=0.0054)
    >>> print(s.observed, s, s.truth)
    0.9294 0.92442 ± 0.00071 0.93441 ± 0.00072
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

    One minus `accuracy_score`, in every answer.

    $accuracy

    Notes
    -----
    As for `accuracy_score`: expected loss, variance and distribution follow from the number of agreements.

    References
    ----------
    See `accuracy_score`.

    Examples
    --------
    $cifar
    >>> print(sb.zero_one_loss(cifar.y, predicted, yerr=0.0054))
    0.07558 ± 0.00071
    """
    answers, total, hits = _accuracy(y_true, y_pred, yerr, sample_weight)
    if normalize:
        return Score(LinearAnswers(_ZERO_ONE, answers, -1.0, 1.0))
    return Score(LinearAnswers(replace(_ZERO_ONE, high=total), answers, -total, total, observed=total - hits))
