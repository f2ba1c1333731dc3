"""How well scores rank the items of a class: ROC AUC and average precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.classes.column_average import PairwiseAuc, RankingAverage
from scorebars.answers.classes.item_average import ItemRanking
from scorebars.answers.classes.label_loss import LabelLossAnswers
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.classes.multilabel import LabelMatrix
from scorebars.answers.classes.ranking_answers import ranking_answers
from scorebars.arrays import FloatArray
from scorebars.errors import ClassError
from scorebars.metrics.class_inputs import all_classes, class_declaration, is_number, matrix_with_scores
from scorebars.metrics.registry import declares
from scorebars.metrics.score_columns import column_classes, data_of, require_ordered, scored_labels, two_classes
from scorebars.metrics.undefined import warn_undefined
from scorebars.score import Declaration, Score, Scores

_AUC = class_declaration("roc_auc_score", "ROC AUC", takes="scores")
_PRECISION = class_declaration("average_precision_score", "Average precision", takes="scores")
_ONE_CLASS = "Only one class is present in y_true. ROC AUC score is not defined in that case."
_NO_POSITIVE = "No positive class found in y_true, recall is set to one for all thresholds."
_AVERAGES = ("micro", "macro", "samples", "weighted", None)


@declares(_AUC)
def roc_auc_score(
    y_true: Any,
    y_score: Any,
    *,
    yerr: Any = None,
    average: Any = "macro",
    sample_weight: Any = None,
    max_fpr: Any = None,
    multi_class: str = "raise",
    labels: Any = None,
) -> Score | Scores:
    r"""How often does a positive item score higher than a negative one, when some labels are wrong?

    With P positive among M labels :math:`y_i` and mid-ranks :math:`R_i` of the scores:

    .. math::
        \mathrm{AUC} = \frac{\sum_i y_i R_i - P(P+1)/2}{P (M - P)},

    given that both classes are present.

    Parameters
    ----------
    y_true : (n,), (n, L) or None
        Shown labels, or L yes-or-no labels for each item; None where the error model holds them.
    y_score : (n,) or (n, K)
        Scores of the larger of two classes, of all classes in sorted order (each row then sums to 1), or of each label of
        multilabel data.
    $yerr
    $ranking_average
    $sample_weight
    max_fpr : number in (0, 1], optional
        The area under the curve up to this false positive rate, standardised to 0.5 for a coin and 1 for a perfect ranking
        (McClish 1989). For two classes and for multilabel data.
    multi_class : {"raise", "ovr", "ovo"}
        For more than two classes: each against the rest, or all pairs.
    $columns

    $scores

    $ranking_notes

    References
    ----------
    D. J. Hand and R. J. Till, A simple generalisation of the area under the ROC curve for multiple class classification
    problems, Machine Learning 45, 171 (2001). D. K. McClish, Analyzing a portion of the ROC curve, Medical Decision
    Making 9, 190 (1989).

    Examples
    --------
    How well does a model's confidence tell its right answers from its mistakes?

    $right
    >>> s = sb.roc_auc_score(right[:1000], cifar.columns["p_pred"][:1000], yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.9360 0.908 ± 0.014 0.968 ± 0.018
    """
    limit = _false_positive_rate(max_fpr)
    cells = matrix_with_scores(y_true, y_score, yerr, sample_weight, "y_score")
    if cells is not None:
        _warn_one_class(*cells, average)
        return _of_cells(_AUC, *cells, average, limit)
    scores, y, model = scored_labels(y_true, y_score, yerr, sample_weight, "y_score")
    if scores.ndim == 2 and scores.shape[1] == 2 and len(np.unique(y)) <= 2:
        raise ValueError("y_score should be a 1d array for two classes: pass the scores of the larger one, [:, 1].")
    if scores.ndim == 1:
        data = _binary_data(y, model, sample_weight)
        if len(np.unique(y)) < 2:
            warn_undefined(_ONE_CLASS)
        return Score(ranking_answers(_AUC, data, scores, limit))
    if limit != 1:
        raise ValueError(
            "Partial AUC computation not available in multiclass setting, 'max_fpr' must be set to `None`, received "
            f"`max_fpr={max_fpr}` instead: score each class against the rest."
        )
    if multi_class not in ("ovr", "ovo"):
        raise ValueError(f"multi_class must be in ('ovo', 'ovr') for more than two classes, got {multi_class!r}.")
    allowed = ("macro", "weighted", None) if multi_class == "ovo" else ("micro", "macro", "weighted", None)
    if average not in allowed:
        raise ValueError(f"average must be one of {allowed} for multiclass problems, got {average!r}.")
    if np.any(np.abs(np.add.reduce(scores, axis=1) - 1) > 1e-5):
        raise ValueError(
            "Target scores need to be probabilities for multiclass roc_auc, i.e. they should sum up to 1.0 over classes."
        )
    if multi_class == "ovo" and sample_weight is not None:
        raise ValueError(
            "sample_weight is not supported for multiclass one-vs-one ROC AUC, 'sample_weight' must be None in this case."
        )
    data, scores = _multiclass(y, model, scores, labels, sample_weight)
    if multi_class == "ovr":
        return _averaged(_AUC, 1.0, data, scores, average)
    if average is None:
        raise NotImplementedError("average=None is not implemented for multi_class='ovo'. Use 'macro' or 'weighted'.")
    return Score(PairwiseAuc(_AUC, data, scores, weighted=average == "weighted"))


@declares(_PRECISION)
def average_precision_score(
    y_true: Any,
    y_score: Any,
    *,
    yerr: Any = None,
    average: Any = "macro",
    pos_label: Any = 1,
    sample_weight: Any = None,
) -> Score | Scores:
    r"""What precision is reached on average as more and more positives are found, when some labels are wrong?

    .. math::
        \mathrm{AP} = \sum_n (R_n - R_{n-1}) P_n

    with recall :math:`R_n` and precision :math:`P_n` at each threshold of the score; 0 without positive labels, also
    inside the expectation.

    Parameters
    ----------
    y_true : (n,), (n, L) or None
        Shown labels, or L yes-or-no labels for each item; None where the error model holds them.
    y_score : (n,) or (n, K)
        Scores of the positive class, or of all classes in sorted order.
    $yerr
    $ranking_average
    pos_label : class
        The positive one of two classes.
    $sample_weight

    $scores

    $ranking_notes

    References
    ----------
    J. Davis and M. Goadrich, The relationship between precision-recall and ROC curves, International Conference on Machine
    Learning (2006).

    Examples
    --------
    $right
    >>> s = sb.average_precision_score(right[:1000], cifar.columns["p_pred"][:1000], yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s)
    0.9946 0.9893 ± 0.0032
    """
    cells = matrix_with_scores(y_true, y_score, yerr, sample_weight, "y_score")
    if cells is not None:
        if pos_label != 1:
            raise ValueError(
                "Parameter pos_label is fixed to 1 for multilabel-indicator y_true. Do not set pos_label or set pos_label "
                "to 1."
            )
        _warn_no_positive(*cells, average)
        return _of_cells(_PRECISION, *cells, average, None)
    scores, y, model = scored_labels(y_true, y_score, yerr, sample_weight, "y_score")
    if scores.ndim == 1:
        if len(np.unique(y)) > 2:
            raise ValueError(
                "`y_score` needs to be of shape `(n_samples, n_classes)`: y_true has more than two classes."
            )
        data, positive = two_classes(y, model, sample_weight, pos_label)
        if positive not in data.shown:
            warn_undefined(_NO_POSITIVE)
        return Score(ranking_answers(_PRECISION, data.column(positive), scores, None))
    if average not in _AVERAGES:
        raise ValueError(f"average has to be one of {_AVERAGES}, got {average!r}.")
    if pos_label != 1:
        raise ValueError(
            "Parameter pos_label is fixed to 1 for multiclass y_true. Do not set pos_label or set pos_label to 1."
        )
    data, scores = _multiclass(y, model, scores, None, sample_weight)
    if average == "samples":
        own = None if data.own is None else _precision_table(data.own_probabilities)
        return Score(LabelLossAnswers(_PRECISION, data, _precision_table(scores), own))
    return _averaged(_PRECISION, None, data, scores, average)


def _false_positive_rate(max_fpr: Any) -> float:
    """Up to where the curve counts: 1 for all of it."""
    if max_fpr is None:
        return 1.0
    if not is_number(max_fpr) or not 0 < float(max_fpr) <= 1:
        raise ValueError(f"Expected max_fpr in range (0, 1], got: {max_fpr!r}.")
    return float(max_fpr)


def _of_cells(
    declaration: Declaration, cells: LabelMatrix, scores: FloatArray, average: Any, max_fpr: float | None
) -> Score | Scores:
    """A ranking metric of multilabel data: ROC AUC up to `max_fpr`, or average precision (None)."""
    if average not in _AVERAGES:
        raise ValueError(f"average has to be one of {_AVERAGES}, got {average!r}.")
    if average is None:
        each = [ranking_answers(declaration, cells.column(k), scores[:, k], max_fpr) for k in range(cells.outputs)]
        return Scores(map(Score, each))
    if average == "micro":
        return Score(ranking_answers(declaration, cells, scores.ravel(), max_fpr))
    if average == "samples":
        return Score(ItemRanking(declaration, cells, scores, max_fpr))
    return Score(RankingAverage(declaration, cells, scores, average, max_fpr))


def _positives(cells: LabelMatrix, average: Any) -> tuple[NDArray[Any], int]:
    """The number of positive labels in everything that is ranked, and how many are ranked."""
    shown = cells.matrix(cells.shown)
    if average == "micro":
        return np.array([shown.sum()]), shown.size
    return shown.sum(axis=1 if average == "samples" else 0), shown.shape[1 if average == "samples" else 0]


def _warn_one_class(cells: LabelMatrix, scores: FloatArray, average: Any) -> None:
    found, ranked = _positives(cells, average)
    if np.any((found == 0) | (found == ranked)):
        warn_undefined(_ONE_CLASS)


def _warn_no_positive(cells: LabelMatrix, scores: FloatArray, average: Any) -> None:
    if np.any(_positives(cells, average)[0] == 0):
        warn_undefined(_NO_POSITIVE)


def _precision_table(scores: FloatArray) -> FloatArray:
    """The average precision of an item's scores if its label is class k: 1 / (how many score as high)."""
    return np.asarray(1.0 / np.add.reduce(scores[:, None, :] >= scores[:, :, None], axis=2))


def _binary_data(y: NDArray[Any], model: ClassError, sample_weight: Any) -> Labelled:
    """Labels of two classes, the larger one positive."""
    if len(np.unique(y)) > 2:
        raise ValueError(
            f"`y_score` needs to be of shape `(n_samples, n_classes)`: y_true has {len(np.unique(y))} classes. Give a score "
            "for each class, and multi_class."
        )
    classes = all_classes(model, y)
    if len(classes) > 2:
        raise ValueError(f"{type(model).__name__} has {len(classes)} classes but y_score one column.")
    return data_of(y, model, classes, sample_weight)


def _multiclass(
    y: NDArray[Any], model: ClassError, scores: NDArray[Any], labels: Any, sample_weight: Any
) -> tuple[Labelled, FloatArray]:
    require_ordered(labels)
    classes = column_classes(y, model, labels, scores.shape[1], "y_score")
    return data_of(y, model, classes, sample_weight), np.asarray(scores, dtype=np.float64)


def _averaged(
    declaration: Declaration, max_fpr: float | None, data: Labelled, scores: FloatArray, average: Any
) -> Score | Scores:
    if average is None:
        each = [ranking_answers(declaration, data.column(k), scores[:, k], max_fpr) for k in range(data.k)]
        return Scores(map(Score, each))
    return Score(RankingAverage(declaration, data, scores, average, max_fpr))
