"""Scores of predicted class probabilities: log loss and Brier score."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.base import Answers
from scorebars.answers.classes.label_loss import LabelLossAnswers
from scorebars.answers.classes.labelled import Labelled
from scorebars.answers.classes.multilabel import LabelMatrix
from scorebars.answers.linear import LinearAnswers
from scorebars.arrays import FloatArray
from scorebars.metrics.class_inputs import class_declaration, indicator_matrix, matrix_with_scores
from scorebars.metrics.registry import declares
from scorebars.metrics.score_columns import (
    columns,
    probability_columns,
    require_probabilities,
    two_class_probabilities,
    warn_unless_rows_sum_to_one,
)
from scorebars.score import Declaration, Score

_LOG_LOSS = class_declaration("log_loss", "Log loss", False, high=math.inf, perfect=0.0, takes="probabilities")
_BRIER = class_declaration("brier_score_loss", "Brier score", False, high=2.0, perfect=0.0, takes="probabilities")


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


@declares(_LOG_LOSS)
def log_loss(
    y_true: Any,
    y_proba: Any,
    *,
    yerr: Any = None,
    normalize: bool = True,
    sample_weight: Any = None,
    labels: Any = None,
) -> Score:
    r"""How surprising are the labels to predicted probabilities, when some labels are wrong?

    With :math:`P_i(k)` the probability that label i is class k and :math:`p_{ik}` the predicted one:

    .. math::
        \mathrm{expected} = -\frac{1}{M} \sum_i \sum_k P_i(k) \log p_{ik}.

    Parameters
    ----------
    $labels_only
    y_proba : (n,) or (n, K)
        Predicted probabilities: of the larger of two classes, or of all classes in sorted order.
    $yerr
    normalize : bool
        Mean (True) or sum (False) over the items.
    $sample_weight
    $columns

    $score

    Notes
    -----
    Linear in the label: mean, variance and the estimate against the truth are exact; the distribution is exact for two
    classes up to rounding. A perfect model knows the true class and says how labels err: its loss is the entropy of the
    labels.

    References
    ----------
    I. J. Good, Rational decisions, Journal of the Royal Statistical Society B 14, 107 (1952).

    Examples
    --------
    How well does a model know when it is right, against labels of which at least 54 are wrong?

    $right
    >>> s = sb.log_loss(right, cifar.columns["p_pred"], yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.1809 0.2249 ± 0.0086 0.1365 ± 0.0087
    """
    found = _cells(y_true, y_proba, yerr, sample_weight, labels)
    if found is not None:
        cells, p = found
        total = 1.0 if normalize else float(np.add.reduce(cells.item_weights))
        return _of_cells(_LOG_LOSS, cells, *_log_tables(cells, p), total)
    data, p = probability_columns(y_true, y_proba, yerr, sample_weight, labels)
    answers: Answers = LabelLossAnswers(_LOG_LOSS, data, _log_costs(p), _own(data, _log_costs))
    if not normalize:
        total = float(np.add.reduce(data.weights))
        answers = LinearAnswers(_LOG_LOSS, answers, total)
    return Score(answers)


@declares(_BRIER)
def brier_score_loss(
    y_true: Any,
    y_proba: Any,
    *,
    yerr: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    labels: Any = None,
    scale_by_half: Any = "auto",
) -> Score:
    r"""How far are predicted probabilities from the labels, squared, when some labels are wrong?

    .. math::
        \mathrm{expected} = \frac{1}{M} \sum_i \sum_k P_i(k) \sum_j (1[j=k] - p_{ij})^2,

    halved for two classes.

    Parameters
    ----------
    $labels_only
    y_proba : (n,) or (n, K)
        Predicted probabilities: of the positive class, or of all classes in sorted order.
    $yerr
    $sample_weight
    pos_label : class, optional
        The class whose probability `y_proba` of shape (n,) is; the larger of two unless given.
    $columns
    scale_by_half : bool or "auto"
        Halve the score, so that it lies between 0 and 1; "auto" halves it for two classes.

    $score

    Notes
    -----
    Linear in the label: mean, variance and the estimate against the truth are exact.

    References
    ----------
    G. W. Brier, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78, 1 (1950).

    Examples
    --------
    $right
    >>> s = sb.brier_score_loss(right, cifar.columns["p_pred"], yerr=0.0054)
    >>> print(f"{s.observed:.4f}", s, s.truth)
    0.0507 0.05525 ± 0.00069 0.04607 ± 0.00070
    """
    if scale_by_half != "auto" and not isinstance(scale_by_half, bool | np.bool_):
        raise ValueError(f"scale_by_half must be True, False or 'auto', got {scale_by_half!r}.")
    found = None if np.ndim(y_proba) < 2 else _cells(y_true, y_proba, yerr, sample_weight, labels)
    data: Labelled
    if found is not None:
        data, p = found
    elif np.ndim(y_proba) == 1 or np.shape(y_proba)[1:] == (1,):
        data, p = two_class_probabilities(y_true, y_proba, yerr, sample_weight, pos_label)
    else:
        data, p = probability_columns(y_true, y_proba, yerr, sample_weight, labels)
    classes = data.outputs if isinstance(data, LabelMatrix) else data.k
    half = classes < 3 if isinstance(scale_by_half, str) else bool(scale_by_half)
    factor = 0.5 if half else 1.0
    if isinstance(data, LabelMatrix):
        own = None if data.own is None else _square_tables(data.own_probabilities[:, 1])
        declaration = replace(_BRIER, high=factor * classes)
        return _of_cells(declaration, data, _square_tables(p.ravel()), own, factor)
    perfect = _own(data, _brier_costs)
    table = factor * _brier_costs(np.asarray(p, dtype=np.float64))
    declaration = replace(_BRIER, high=2.0 * factor)
    return Score(LabelLossAnswers(declaration, data, table, None if perfect is None else factor * perfect))


def _cells(
    y_true: Any, y_proba: Any, yerr: Any, sample_weight: Any, labels: Any
) -> tuple[LabelMatrix, NDArray[Any]] | None:
    """Multilabel data with a probability for each label; None where y_true is something else."""
    if indicator_matrix(y_true, "y_true") is None:
        return None
    p = columns(y_proba, "y_proba")
    require_probabilities(p, "y_proba")
    found = matrix_with_scores(y_true, p, yerr, sample_weight, "y_proba")
    assert found is not None
    if labels is not None:
        raise ValueError(
            "labels name the classes of one label an item; the columns of multilabel targets need no names."
        )
    warn_unless_rows_sum_to_one(p)
    return found[0], p


def _of_cells(
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
    values = np.asarray(p, dtype=np.float64)
    return np.stack([np.square(values), np.square(1.0 - values)], axis=1)


def _own(data: Labelled, costs: Any) -> FloatArray | None:
    """The cost table of a model that predicts how the labels at hand err; None where that is not known."""
    return None if data.own is None else costs(np.asarray(data.own_probabilities))
