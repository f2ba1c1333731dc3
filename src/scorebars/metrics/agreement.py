"""How well labels and predictions agree over all classes: balanced accuracy, Matthews correlation, Cohen's kappa."""

from __future__ import annotations

import math
import numbers
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.confusion_answers import BalancedAccuracy, ConfusionAnswers, Kappa, Matthews
from scorebars.answers.classes.labelled import Labelled
from scorebars.metrics.class_inputs import class_declaration, given_labels, labelled
from scorebars.metrics.registry import declares
from scorebars.metrics.undefined import warn_undefined
from scorebars.score import Score

_BALANCED = class_declaration("balanced_accuracy_score", "Balanced accuracy")
_MATTHEWS = class_declaration("matthews_corrcoef", "Matthews correlation", low=-1.0)
_KAPPA = class_declaration("cohen_kappa_score", "Cohen's kappa", low=-1.0)


@declares(_BALANCED)
def balanced_accuracy_score(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, adjusted: bool = False
) -> Score:
    r"""What share of each class is recognised, averaged over classes, when some labels are wrong?

    .. math::
        \frac{1}{K} \sum_k \frac{C_{kk}}{\sum_l C_{kl}}

    over the K classes that have labels, also inside the expectation.

    Parameters
    ----------
    $classes
    $sample_weight
    adjusted : bool
        Rescale so that chance scores 0.

    $score

    $matrix_notes

    References
    ----------
    K. H. Brodersen, C. S. Ong, K. E. Stephan, J. M. Buhmann, The balanced accuracy and its posterior distribution,
    International Conference on Pattern Recognition (2010).

    Examples
    --------
    $cifar
    >>> s = sb.balanced_accuracy_score(cifar.y, predicted, yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.9294 0.92443 ± 0.00071 0.93441 ± 0.00072
    """
    data, present = labelled(y_true, y_pred, yerr, sample_weight)
    if len(present) > len(np.unique(data.shown)):
        warnings.warn("y_pred contains classes not in y_true", UserWarning, stacklevel=2)
    declaration = replace(_BALANCED, low=-1.0) if adjusted else _BALANCED
    return Score(ConfusionAnswers(declaration, data, BalancedAccuracy(bool(adjusted)), math.nan))


@declares(_MATTHEWS)
def matthews_corrcoef(y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None) -> Score:
    r"""How strongly are labels and predictions correlated, when some labels are wrong?

    .. math::
        \frac{s \sum_k C_{kk} - \sum_k t_k p_k}{\sqrt{(s^2 - \sum_k p_k^2)(s^2 - \sum_k t_k^2)}}

    with :math:`t_k` labelled and :math:`p_k` predicted items of class k among s; 0 where labels or predictions are all
    of one class, also inside the expectation.

    Parameters
    ----------
    $classes
    $sample_weight

    $score

    $matrix_notes

    References
    ----------
    B. W. Matthews, Comparison of the predicted and observed secondary structure of T4 phage lysozyme, Biochimica et
    Biophysica Acta 405, 442 (1975).

    Examples
    --------
    $cifar
    >>> s = sb.matthews_corrcoef(cifar.y, predicted, yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.9216 0.91605 ± 0.00079 0.92714 ± 0.00079
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
    $classes
    labels : sequence of classes, optional
        The classes that count, in this order; items of other classes are left out. All classes unless given.
    weights : {None, "linear", "quadratic"}
        The cost of a disagreement.
    $sample_weight
    replace_undefined_by : number
        What stands for 0/0, also inside the expectation; with nan the score is conditional on being defined.

    $score

    $matrix_notes

    References
    ----------
    J. Cohen, A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20, 37 (1960).

    Examples
    --------
    $cifar
    >>> s = sb.cohen_kappa_score(cifar.y, predicted, yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.9216 0.91603 ± 0.00079 0.92712 ± 0.00079
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
    return Score(ConfusionAnswers(_KAPPA, data, metric, undefined))


def _warn_if_no_chance(data: Labelled, keep: NDArray[np.intp]) -> None:
    """Warn where agreement by chance is certain, or nothing is left to agree on: kappa is 0/0."""
    assert data.predicted is not None
    inside = np.isin(data.shown, keep) & np.isin(data.predicted, keep)
    if not inside.any():
        warn_undefined("`y2` contains no labels that are present in both `y1` and `labels`. Kappa is undefined.")
    elif len(np.union1d(data.shown[inside], data.predicted[inside])) == 1:
        warn_undefined("`y1`, `y2` and `labels` have only one label in common. Kappa is undefined.")
