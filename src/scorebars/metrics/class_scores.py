"""Metrics of predicted probabilities and scores: log loss, Brier score, ROC AUC, average precision, top-k accuracy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars.answers.base import Answers
from scorebars.answers.classes.column_average import PairwiseAuc, RankingAverage
from scorebars.answers.classes.item_average import ItemRanking
from scorebars.answers.classes.label_loss import LabelLossAnswers
from scorebars.answers.classes.labelled import Labelled, LabelMatrix
from scorebars.answers.classes.ranking_answers import ranking_answers
from scorebars.answers.combined import LinearAnswers
from scorebars.answers.score import Declaration, Score, Scores
from scorebars.arrays import FloatArray
from scorebars.errors import ClassError
from scorebars.metrics import probability_inputs as inputs
from scorebars.metrics.class_inputs import Given, class_declaration, class_metric, indicator_matrix, is_number
from scorebars.metrics.registry import warn_undefined

_LOG_LOSS = class_declaration("log_loss", "Log loss", high=math.inf, perfect=0.0, takes="probabilities")
_BRIER = class_declaration("brier_score_loss", "Brier score", high=2.0, perfect=0.0, takes="probabilities")


def _log_costs(p: FloatArray) -> FloatArray:
    """-log of the probability of each class, kept away from 0 as in scikit-learn."""
    smallest = float(np.finfo(p.dtype).eps) if p.dtype.kind == "f" else float(np.finfo(np.float64).eps)
    costs = -np.log(np.clip(p, smallest, 1.0 - smallest))
    return np.asarray(costs, dtype=np.float64)


def _brier_costs(p: FloatArray) -> FloatArray:
    """sum_j (1[j = k] - p_j)^2 for each class k."""
    squares = np.add.reduce(np.square(p), axis=1)[:, None]
    others = squares - np.square(p)
    return np.asarray(np.maximum(others, 0.0) + np.square(1.0 - p))


@class_metric(_LOG_LOSS, old_name="y_pred")
def log_loss(given: Given, *, normalize: bool = True, labels: ArrayLike | None = None) -> Score:
    r"""How surprising are the labels to predicted probabilities, when some labels are wrong?

    Parameters
    ----------
    y_proba : (n,) or (n, K)
        Predicted probabilities: of the larger of two classes, or of all classes in sorted order.
    normalize : bool
        Mean (True) or sum (False) over the items.
    $columns_parameters

    Notes
    -----
    With :math:`P_i(k)` the probability that label i is class k and :math:`p_{ik}` the predicted one:

    .. math:: \mathrm{expected} = -\frac{1}{M} \sum_i \sum_k P_i(k) \log p_{ik}.

    Linear in the label: mean, variance and the estimate against the truth are exact; the distribution is exact for two
    classes up to rounding. A perfect model knows the true class and says how labels err: its loss is the entropy of the
    labels.

    References
    ----------
    I. J. Good, Rational decisions, Journal of the Royal Statistical Society B 14, 107 (1952).

    $right
    >>> s = sb.log_loss(right, cifar.columns["p_pred"], yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.1809 0.2249 ± 0.0086 (labels) 0.1365 ± 0.0087 (labels) ± 0.0064 (sample)
    """
    found = _matrix(given, labels)
    if found is not None:
        cells, p = found
        total = 1.0 if normalize else float(np.add.reduce(cells.item_weights))
        return _cost_of_cells(_LOG_LOSS, cells, *_log_tables(cells, p), total)
    data, p = inputs.probability_columns(given, labels)
    answers: Answers = LabelLossAnswers(_LOG_LOSS, data, _log_costs(p), _own_costs(data, _log_costs))
    if not normalize:
        total = float(np.add.reduce(data.weights))
        answers = LinearAnswers(_LOG_LOSS, answers, total)
    return Score(answers)


@class_metric(_BRIER)
def brier_score_loss(
    given: Given, *, pos_label: Any = None, labels: ArrayLike | None = None, scale_by_half: bool | str = "auto"
) -> Score:
    r"""How far are predicted probabilities from the labels, squared, when some labels are wrong?

    Parameters
    ----------
    y_proba : (n,) or (n, K)
        Predicted probabilities: of the positive class, or of all classes in sorted order.
    pos_label : class, optional
        The class whose probability `y_proba` of shape (n,) is; the larger of two unless given.
    scale_by_half : bool or "auto"
        Halve the score, so that it lies between 0 and 1; "auto" halves it for two classes.
    $columns_parameters

    Notes
    -----
    .. math:: \mathrm{expected} = \frac{1}{M} \sum_i \sum_k P_i(k) \sum_j (1[j=k] - p_{ij})^2

    with :math:`P_i(k)` the probability that label i is class k, halved for two classes. Linear in the label: mean,
    variance and the estimate against the truth are exact.

    References
    ----------
    G. W. Brier, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78, 1 (1950).

    $right
    >>> s = sb.brier_score_loss(right, cifar.columns["p_pred"], yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.0507 0.0553 ± 0.0007 (labels) ± 0.0016 (sample) 0.0461 ± 0.0007 (labels) ± 0.0017 (sample)
    """
    if scale_by_half != "auto" and not isinstance(scale_by_half, bool | np.bool_):
        raise ValueError(f"scale_by_half must be True, False or 'auto', got {scale_by_half!r}.")
    found = None if np.ndim(given.predicted) < 2 else _matrix(given, labels)
    data: Labelled
    if found is not None:
        data, p = found
    elif np.ndim(given.predicted) == 1 or np.shape(given.predicted)[1:] == (1,):
        data, p = inputs.two_class_probabilities(given, pos_label)
    else:
        data, p = inputs.probability_columns(given, labels)
    classes = data.outputs if isinstance(data, LabelMatrix) else data.k
    half = classes < 3 if isinstance(scale_by_half, str) else bool(scale_by_half)
    factor = 0.5 if half else 1.0
    if isinstance(data, LabelMatrix):
        own = None if data.own is None else _square_tables(data.own_probabilities[:, 1])
        declaration = replace(_BRIER, high=factor * classes)
        return _cost_of_cells(declaration, data, _square_tables(p.ravel()), own, factor)
    perfect = _own_costs(data, _brier_costs)
    table = factor * _brier_costs(np.asarray(p, dtype=np.float64))
    declaration = replace(_BRIER, high=2.0 * factor)
    return Score(LabelLossAnswers(declaration, data, table, None if perfect is None else factor * perfect))


def _matrix(given: Given, labels: Any) -> tuple[LabelMatrix, NDArray[Any]] | None:
    """Multilabel data with a probability for each label; None where y_true is something else."""
    if indicator_matrix(given.y_true, "y_true") is None:
        return None
    p = inputs.columns(given.predicted, "y_proba")
    inputs.require_probabilities(p, "y_proba")
    found = inputs.matrix_with_scores(given, "y_proba")
    assert found is not None
    if labels is not None:
        raise ValueError("labels name classes of one label an item; columns of multilabel targets need no names.")
    inputs.warn_unless_rows_sum_to_one(p)
    return found[0], p


def _cost_of_cells(
    declaration: Declaration, cells: LabelMatrix, table: FloatArray, best: FloatArray | None, factor: float
) -> Score:
    """The mean over items of the sum of what its labels cost, times `factor`."""
    mean = LabelLossAnswers(declaration, cells, table, best)
    return Score(LinearAnswers(declaration, mean, factor * cells.outputs))


def _log_tables(cells: LabelMatrix, p: NDArray[Any]) -> tuple[FloatArray, FloatArray | None]:
    """Costs of both values of each label: as in scikit-learn only positive ones cost something.

    Probabilities of an item that sum to 1 do best in proportion to the chance that each label is positive.
    """
    best = None
    if cells.own is not None:
        own = cells.matrix(cells.own_probabilities[:, 1])
        total = np.add.reduce(own, axis=1)[:, None]
        best = _positive_costs(np.where(total > 0, own / np.where(total > 0, total, 1.0), 1.0 / cells.outputs))
    return _positive_costs(p), best


def _positive_costs(p: NDArray[Any]) -> FloatArray:
    costs = _log_costs(p).ravel()
    return np.stack([np.zeros(len(costs)), costs], axis=1)


def _square_tables(p: NDArray[Any]) -> FloatArray:
    """The squared error of the probability of a positive label, for both values of each label."""
    values = np.asarray(p, dtype=np.float64)
    return _brier_costs(np.stack([1.0 - values, values], axis=1)) / 2


def _own_costs(data: Labelled, costs: Any) -> FloatArray | None:
    """The cost table of a model that predicts how the labels at hand err; None where that is not known."""
    return None if data.own is None else costs(np.asarray(data.own_probabilities))


_AUC = class_declaration("roc_auc_score", "ROC AUC", takes="scores")
_PRECISION = class_declaration("average_precision_score", "Average precision", takes="scores")
_ONE_CLASS = "Only one class is present in y_true. ROC AUC score is not defined in that case."
_NO_POSITIVE = "No positive class found in y_true, recall is set to one for all thresholds."
_MORE_CLASSES = "`y_score` needs to be of shape `(n_samples, n_classes)`: y_true has more than two classes."
_AVERAGES = ("micro", "macro", "samples", "weighted", None)


@class_metric(_AUC)
def roc_auc_score(
    given: Given,
    *,
    average: str | None = "macro",
    max_fpr: float | None = None,
    multi_class: str = "raise",
    labels: ArrayLike | None = None,
) -> Score | Scores:
    r"""How often does a positive item score higher than a negative one, when some labels are wrong?

    Parameters
    ----------
    y_score : (n,) or (n, K)
        Scores of the larger of two classes, of all classes in sorted order (each row then sums to 1), or of each label of
        multilabel data.
    max_fpr : number in (0, 1], optional
        The area under the curve up to this false positive rate, standardised to 0.5 for a coin and 1 for a perfect ranking
        (McClish 1989). For two classes and for multilabel data.
    multi_class : {"raise", "ovr", "ovo"}
        For more than two classes: each against the rest, or all pairs.
    $column_labels
    $ranking_parameters

    Notes
    -----
    With P positive among M labels :math:`y_i` and mid-ranks :math:`R_i` of the scores:

    .. math:: \mathrm{AUC} = \frac{\sum_i y_i R_i - P(P+1)/2}{P (M - P)},

    given that both classes are present.

    $ranking_notes

    References
    ----------
    D. J. Hand and R. J. Till, A simple generalisation of the area under the ROC curve for multiple class classification
    problems, Machine Learning 45, 171 (2001). D. K. McClish, Analyzing a portion of the ROC curve, Medical Decision
    Making 9, 190 (1989).

    $right
    >>> s = sb.roc_auc_score(right[:1000], cifar.columns["p_pred"][:1000], yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.9360 0.908 ± 0.014 (labels) 0.968 ± 0.018 (labels) ± 0.008 (sample)
    """
    limit = 1.0 if max_fpr is None else max_fpr
    if not is_number(limit) or not 0 < limit <= 1:
        raise ValueError(f"Expected max_fpr in range (0, 1], got: {max_fpr!r}.")
    cells = inputs.matrix_with_scores(given, "y_score")
    if cells is not None:
        return _ranked_cells(_AUC, *cells, average, limit)
    scores, y, model = inputs.scored_labels(given, "y_score")
    if scores.ndim == 2 and scores.shape[1] == 2 and len(np.unique(y)) <= 2:
        raise ValueError("y_score should be a 1d array for two classes: pass the scores of the larger one, [:, 1].")
    if scores.ndim == 1:
        classes = np.unique(y)
        if len(classes) > 2:
            raise ValueError(f"{_MORE_CLASSES} Give multi_class, too.")
        data, _ = inputs.two_classes(y, model, given.sample_weight, classes[-1].item())
        if len(classes) < 2:
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
    if multi_class == "ovo" and given.sample_weight is not None:
        raise ValueError(
            "sample_weight is not supported for multiclass one-vs-one ROC AUC, 'sample_weight' must be None in this case."
        )
    data, scores = _multiclass(y, model, scores, labels, given.sample_weight)
    if multi_class == "ovr":
        return _averaged_ranking(_AUC, 1.0, data, scores, average)
    if average is None:  # scikit-learn raises the same
        raise NotImplementedError("average=None is not implemented for multi_class='ovo'. Use 'macro' or 'weighted'.")
    return Score(PairwiseAuc(_AUC, data, scores, weighted=average == "weighted"))


@class_metric(_PRECISION)
def average_precision_score(given: Given, *, average: str | None = "macro", pos_label: Any = 1) -> Score | Scores:
    r"""What precision is reached on average as more and more positives are found, when some labels are wrong?

    Parameters
    ----------
    y_score : (n,) or (n, K)
        Scores of the positive class, or of all classes in sorted order.
    pos_label : class
        The positive one of two classes.
    $ranking_parameters

    Notes
    -----
    .. math:: \mathrm{AP} = \sum_n (R_n - R_{n-1}) P_n

    with recall :math:`R_n` and precision :math:`P_n` at each threshold of the score; 0 without positive labels, also
    inside the expectation.

    $ranking_notes

    References
    ----------
    J. Davis and M. Goadrich, The relationship between precision-recall and ROC curves, International Conference on Machine
    Learning (2006).

    $right
    >>> s = sb.average_precision_score(right[:1000], cifar.columns["p_pred"][:1000], yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s)
    0.9946 0.9893 ± 0.0032 (labels)
    """
    cells = inputs.matrix_with_scores(given, "y_score")
    if cells is not None:
        if pos_label != 1:
            raise ValueError(
                "Parameter pos_label is fixed to 1 for multilabel-indicator y_true. Do not set pos_label or set pos_label "
                "to 1."
            )
        return _ranked_cells(_PRECISION, *cells, average, None)
    scores, y, model = inputs.scored_labels(given, "y_score")
    if scores.ndim == 1:
        if len(np.unique(y)) > 2:
            raise ValueError(_MORE_CLASSES)
        data, positive = inputs.two_classes(y, model, given.sample_weight, pos_label)
        if positive not in data.shown:
            warn_undefined(_NO_POSITIVE)
        return Score(ranking_answers(_PRECISION, data.column(positive), scores, None))
    if average not in _AVERAGES:
        raise ValueError(f"average has to be one of {_AVERAGES}, got {average!r}.")
    if pos_label != 1:
        raise ValueError(
            "Parameter pos_label is fixed to 1 for multiclass y_true. Do not set pos_label or set pos_label to 1."
        )
    data, scores = _multiclass(y, model, scores, None, given.sample_weight)
    if average == "samples":
        own = None if data.own is None else _precision_table(data.own_probabilities)
        return Score(LabelLossAnswers(_PRECISION, data, _precision_table(scores), own))
    return _averaged_ranking(_PRECISION, None, data, scores, average)


def _ranked_cells(
    declaration: Declaration, cells: LabelMatrix, scores: FloatArray, average: Any, max_fpr: float | None
) -> Score | Scores:
    """A ranking metric of multilabel data: ROC AUC up to `max_fpr`, or average precision (None)."""
    if average not in _AVERAGES:
        raise ValueError(f"average has to be one of {_AVERAGES}, got {average!r}.")
    positive = cells.matrix(cells.shown).mean(axis=None if average == "micro" else 1 if average == "samples" else 0)
    if np.any(positive == 0) or (max_fpr is not None and np.any(positive == 1)):
        warn_undefined(_NO_POSITIVE if max_fpr is None else _ONE_CLASS)
    if average == "micro":
        return Score(ranking_answers(declaration, cells, scores.ravel(), max_fpr))
    if average == "samples":
        return Score(ItemRanking(declaration, cells, scores, max_fpr))
    return _averaged_ranking(declaration, max_fpr, cells, scores, average)


def _precision_table(scores: FloatArray) -> FloatArray:
    """The average precision of an item's scores if its label is class k: 1 / (how many score as high)."""
    return np.asarray(1.0 / np.add.reduce(scores[:, None, :] >= scores[:, :, None], axis=2))


def _multiclass(
    y: NDArray[Any], model: ClassError, scores: NDArray[Any], labels: Any, sample_weight: Any
) -> tuple[Labelled, FloatArray]:
    inputs.require_ordered(labels)
    classes = inputs.column_classes(y, model, labels, scores.shape[1], "y_score")
    return inputs.data_of(y, model, classes, sample_weight), np.asarray(scores, dtype=np.float64)


def _averaged_ranking(
    declaration: Declaration, max_fpr: float | None, data: Labelled, scores: FloatArray, average: Any
) -> Score | Scores:
    if average is None:
        each = [ranking_answers(declaration, data.column(k), scores[:, k], max_fpr) for k in range(scores.shape[1])]
        return Scores(map(Score, each))
    return Score(RankingAverage(declaration, data, scores, average, max_fpr))


_TOP_K = class_declaration("top_k_accuracy_score", "Top-k accuracy", takes="scores")


@class_metric(_TOP_K)
def top_k_accuracy_score(given: Given, *, k: int = 2, normalize: bool = True, labels: ArrayLike | None = None) -> Score:
    r"""How often is the label among the k classes of highest score, when some labels are wrong?

    Parameters
    ----------
    y_score : (n,) or (n, K)
        Scores of the classes in sorted order; for two classes that of the larger one.
    k : int
        How many classes count as a hit. Of equal scores the later class comes first, as in scikit-learn.
    normalize : bool
        A share (True) or a count (False).
    $columns_parameters

    Notes
    -----
    With :math:`h_i` the k best classes of item i and :math:`P_i(c)` the probability that its label is c:

    .. math:: \mathrm{expected} = \frac{1}{M} \sum_i \sum_{c \in h_i} P_i(c).

    Linear in the label: the number of hits is Poisson-binomial, the estimate against the truth unbiased. A perfect
    model knows the true class and how labels err, and ranks the classes by the probability of being shown. With two
    classes only k = 1 is of use.

    References
    ----------
    O. Russakovsky et al., ImageNet large scale visual recognition challenge, International Journal of Computer Vision
    115, 211 (2015).

    $right
    >>> s = sb.top_k_accuracy_score(right, cifar.columns["p_pred"], yerr=0.0054, k=1)
    >>> print(s.observed, s, s.truth)
    0.9313 0.9266 ± 0.0007 (labels) ± 0.0024 (sample) 0.9360 ± 0.0007 (labels) ± 0.0024 (sample)
    """
    if not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, got {k!r}.")
    scores, y, model = inputs.scored_labels(given, "y_score")
    if scores.ndim == 1 and len(np.unique(y)) > 2:
        raise ValueError(_MORE_CLASSES)
    inputs.require_ordered(labels)
    classes = inputs.column_classes(y, model, labels, 2 if scores.ndim == 1 else scores.shape[1], "y_score")
    if k >= len(classes):
        warn_undefined(
            f"'k' ({k}) greater than or equal to 'n_classes' ({len(classes)}) will result in a perfect score and is "
            "therefore meaningless."
        )
    data = inputs.data_of(y, model, classes, given.sample_weight)
    table = _two_class_top(scores, int(k)) if scores.ndim == 1 else _top(scores, int(k))
    perfect = None if data.own is None else _top(data.own_probabilities, int(k))
    answers = LabelLossAnswers(_TOP_K, data, table, perfect)
    if normalize:
        return Score(answers)
    total = float(np.add.reduce(data.weights))
    hits = float(np.add.reduce(data.weights * table[np.arange(data.n), data.shown]))
    return Score(LinearAnswers(replace(_TOP_K, high=total, perfect=total), answers, total, observed=hits))


def _top(scores: NDArray[Any], k: int) -> FloatArray:
    """1 for the k best classes of each item."""
    best = np.argsort(scores, axis=1, kind="stable")[:, ::-1][:, :k]
    out = np.zeros(scores.shape)
    np.put_along_axis(out, best, 1.0, axis=1)
    return out


def _two_class_top(scores: NDArray[Any], k: int) -> FloatArray:
    if k > 1:
        return np.ones((len(scores), 2))
    cut = 0.5 if scores.min() >= 0 and scores.max() <= 1 else 0.0
    return np.eye(2)[(scores > cut).astype(np.intp)]
