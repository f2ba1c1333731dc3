"""How well labels and predictions agree over all classes: balanced accuracy, Matthews correlation, Cohen's kappa."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.confusion import ConfusionAnswers
from scorebars.answers.confusion_functions import BalancedAccuracy, Kappa, Matthews
from scorebars.answers.labelled import Labelled
from scorebars.metrics.class_options import given_labels
from scorebars.metrics.labels import labelled
from scorebars.metrics.registry import declares
from scorebars.metrics.undefined import warn_undefined
from scorebars.score import Declaration, Score

_BALANCED = Declaration(
    "balanced_accuracy_score", "Balanced accuracy", True, "classification", low=0.0, high=1.0, degree=None, perfect=1.0
)
_ADJUSTED = Declaration(
    "balanced_accuracy_score", "Balanced accuracy", True, "classification", low=-1.0, high=1.0, degree=None, perfect=1.0
)
_MATTHEWS = Declaration(
    "matthews_corrcoef",
    "Matthews correlation",
    True,
    "classification",
    low=-1.0,
    high=1.0,
    degree=None,
    perfect=1.0,
)
_KAPPA = Declaration(
    "cohen_kappa_score", "Cohen's kappa", True, "classification", low=-1.0, high=1.0, degree=None, perfect=1.0
)


@declares(_BALANCED)
def balanced_accuracy_score(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, adjusted: bool = False
) -> Score:
    r"""What share of each class is recognised, averaged over classes, when some labels are wrong?

    .. math::
        \frac{1}{K} \sum_k \frac{C_{kk}}{\sum_l C_{kl}}

    over the K classes that have labels, also inside the expectation. Two classes without weights: exact.

    Parameters
    ----------
    y_true, y_pred : (n,)
        Shown labels and predicted classes. `y_true` may be None where the error model holds the labels.
    yerr : number, (n,) or error model of class labels, optional
        Probability that a label is wrong, or a model.
    sample_weight : (n,), optional
        How much each item counts.
    adjusted : bool
        Rescale so that chance scores 0.

    Examples
    --------
    >>> import scorebars as sb
    >>> labels, predictions = [1] * 40 + [0] * 60, [1] * 30 + [0] * 60 + [1] * 10
    >>> s = sb.balanced_accuracy_score(labels, predictions, yerr=0.05)
    >>> print(round(s.observed, 3), s, s.truth)
    0.792 0.761 ± 0.022 0.827 ± 0.026
    """
    data, present = labelled(y_true, y_pred, yerr, sample_weight)
    if len(present) > len(np.unique(data.shown)):
        warnings.warn("y_pred contains classes not in y_true", UserWarning, stacklevel=2)
    return Score(ConfusionAnswers(_ADJUSTED if adjusted else _BALANCED, data, BalancedAccuracy(bool(adjusted)), None))


@declares(_MATTHEWS)
def matthews_corrcoef(y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None) -> Score:
    r"""How strongly are labels and predictions correlated, when some labels are wrong?

    .. math::
        \frac{s \sum_k C_{kk} - \sum_k t_k p_k}{\sqrt{(s^2 - \sum_k p_k^2)(s^2 - \sum_k t_k^2)}}

    with :math:`t_k` labelled and :math:`p_k` predicted items of class k among s; 0 where labels or predictions are all
    of one class, also inside the expectation. Two classes without weights: exact.

    Parameters
    ----------
    y_true, y_pred : (n,)
        Shown labels and predicted classes. `y_true` may be None where the error model holds the labels.
    yerr : number, (n,) or error model of class labels, optional
        Probability that a label is wrong, or a model.
    sample_weight : (n,), optional
        How much each item counts.

    Examples
    --------
    >>> import scorebars as sb
    >>> labels, predictions = [1] * 40 + [0] * 60, [1] * 30 + [0] * 60 + [1] * 10
    >>> s = sb.matthews_corrcoef(labels, predictions, yerr=0.05)
    >>> print(round(s.observed, 3), s, s.truth)
    0.583 0.523 ± 0.044 0.651 ± 0.050
    """
    data, _ = labelled(y_true, y_pred, yerr, sample_weight)
    return Score(ConfusionAnswers(_MATTHEWS, data, Matthews(), 0.0))


@declares(_KAPPA)
def cohen_kappa_score(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    labels: Any = None,
    weights: Any = None,
    sample_weight: Any = None,
    replace_undefined_by: Any = math.nan,
) -> Score:
    r"""How far do labels and predictions agree beyond chance, when some labels are wrong?

    .. math::
        \kappa = 1 - \frac{s \sum_{kl} w_{kl} C_{kl}}{\sum_{kl} w_{kl} t_k p_l}

    with the cost :math:`w_{kl}` of predicting l for k: 1 for any two classes, or their distance or squared distance in
    the order of the classes. The labels are the first argument, since they have errors and predictions do not.

    Parameters
    ----------
    y_true, y_pred : (n,)
        Shown labels and predicted classes. `y_true` may be None where the error model holds the labels.
    yerr : number, (n,) or error model of class labels, optional
        Probability that a label is wrong, or a model.
    labels : sequence of classes, optional
        The classes that count, in this order; items of other classes are left out. All classes unless given.
    weights : {None, "linear", "quadratic"}
        The cost of a disagreement.
    sample_weight : (n,), optional
        How much each item counts.
    replace_undefined_by : number
        What stands for 0/0, also inside the expectation; with nan the score is conditional on being defined.

    Examples
    --------
    >>> import scorebars as sb
    >>> labels, predictions = [1] * 40 + [0] * 60, [1] * 30 + [0] * 60 + [1] * 10
    >>> s = sb.cohen_kappa_score(labels, predictions, yerr=0.05)
    >>> print(round(s.observed, 3), s, s.truth)
    0.583 0.523 ± 0.045 0.651 ± 0.050
    """
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"weights must be None, 'linear' or 'quadratic', got {weights!r}.")
    number = isinstance(replace_undefined_by, numbers.Real)
    undefined = float(replace_undefined_by) if number else math.inf
    if not (math.isnan(undefined) or -1 <= undefined <= 1):
        raise ValueError(
            f"replace_undefined_by must be nan or a number between -1 and 1, got {replace_undefined_by!r}."
        )
    named = given_labels(labels)
    data, _ = labelled(y_true, y_pred, yerr, sample_weight, named)
    if named is not None and not np.any(np.isin(data.names, named)):
        raise ValueError("At least one label in `labels` must be present in y_true.")
    keep = np.arange(data.k) if named is None else np.searchsorted(data.classes, named)
    _warn_if_no_chance(data, keep)
    metric = Kappa(tuple(int(k) for k in keep), weights)
    return Score(ConfusionAnswers(_KAPPA, data, metric, None if math.isnan(undefined) else undefined))


def _warn_if_no_chance(data: Labelled, keep: NDArray[np.intp]) -> None:
    """Warn where agreement by chance is certain, or nothing is left to agree on: kappa is 0/0."""
    assert data.predicted is not None
    inside = np.isin(data.shown, keep) & np.isin(data.predicted, keep)
    if not inside.any():
        warn_undefined("`y2` contains no labels that are present in both `y1` and `labels`. Kappa is undefined.")
    elif len(np.union1d(data.shown[inside], data.predicted[inside])) == 1:
        warn_undefined("`y1`, `y2` and `labels` have only one label in common. Kappa is undefined.")
