"""Scores of predicted class probabilities: log loss and Brier score."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.cells import Cells, PooledLoss
from scorebars.answers.label_loss import LabelLossAnswers
from scorebars.answers.labelled import Labelled
from scorebars.answers.linear import LinearAnswers
from scorebars.errors.base import FloatArray
from scorebars.metrics.indicators import cells_with_scores, indicator_matrix
from scorebars.metrics.registry import declares
from scorebars.metrics.score_columns import (
    columns,
    probability_columns,
    require_probabilities,
    two_class_probabilities,
    warn_unless_rows_sum_to_one,
)
from scorebars.score import Answers, Declaration, Score

_LOG_LOSS = Declaration(
    "log_loss", "Log loss", False, "classification", low=0.0, high=float("inf"), degree=None, perfect=0.0
)
_BRIER = Declaration(
    "brier_score_loss", "Brier score", False, "classification", low=0.0, high=2.0, degree=None, perfect=0.0
)
_HALF_BRIER = replace(_BRIER, high=1.0)


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

    Linear in the label: mean, variance and the estimate against the truth are exact; the law is exact for two classes
    up to rounding. A perfect model knows the true class and says how labels err: its loss is the entropy of the labels.

    Parameters
    ----------
    y_true : (n,) or None
        Shown labels; None where the error model holds them.
    y_proba : (n,) or (n, K)
        Predicted probabilities: of the larger of two classes, or of all classes in sorted order.
    yerr : number, (n,) or error model of class labels, optional
        Probability that a label is wrong, or a model.
    normalize : bool
        Mean (True) or sum (False) over the items.
    sample_weight : (n,), optional
        How much each item counts.
    labels : sequence of classes, optional
        The classes of the columns, needed where `y_true` does not show them all.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.log_loss([1, 0, 1, 1], [0.9, 0.2, 0.6, 0.7], yerr=0.05)
    >>> print(round(s.observed, 4), s)
    0.299 0.36 ± 0.15
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

    halved for two classes. Linear in the label: mean, variance and the estimate against the truth are exact.

    Parameters
    ----------
    y_true : (n,) or None
        Shown labels; None where the error model holds them.
    y_proba : (n,) or (n, K)
        Predicted probabilities: of the positive class, or of all classes in sorted order.
    yerr : number, (n,) or error model of class labels, optional
        Probability that a label is wrong, or a model.
    sample_weight : (n,), optional
        How much each item counts.
    pos_label : class, optional
        The class whose probability `y_proba` of shape (n,) is; the larger of two unless given.
    labels : sequence of classes, optional
        The classes of the columns, needed where `y_true` does not show them all.
    scale_by_half : bool or "auto"
        Halve the score, so that it lies between 0 and 1; "auto" halves it for two classes.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.brier_score_loss([1, 0, 1, 1], [0.9, 0.2, 0.6, 0.7], yerr=0.05)
    >>> print(round(s.observed, 4), s)
    0.075 0.100 ± 0.060
    """
    if scale_by_half != "auto" and not isinstance(scale_by_half, bool | np.bool_):
        raise ValueError(f"scale_by_half must be True, False or 'auto', got {scale_by_half!r}.")
    found = None if np.ndim(y_proba) < 2 else _cells(y_true, y_proba, yerr, sample_weight, labels)
    if found is not None:
        cells, p = found
        half = cells.outputs < 3 if isinstance(scale_by_half, str) else bool(scale_by_half)
        factor = 0.5 if half else 1.0
        own = None if cells.own is None else _square_tables(cells.own_probabilities[:, 1])
        declaration = replace(_BRIER, high=factor * cells.outputs)
        return _of_cells(declaration, cells, _square_tables(p.ravel()), own, factor)
    if np.ndim(y_proba) == 1 or np.shape(y_proba)[1:] == (1,):
        data, p = two_class_probabilities(y_true, y_proba, yerr, sample_weight, pos_label)
    else:
        data, p = probability_columns(y_true, y_proba, yerr, sample_weight, labels)
    half = data.k < 3 if isinstance(scale_by_half, str) else bool(scale_by_half)
    factor = 0.5 if half else 1.0
    perfect = _own(data, _brier_costs)
    table = factor * _brier_costs(np.asarray(p, dtype=np.float64))
    return Score(
        LabelLossAnswers(_HALF_BRIER if half else _BRIER, data, table, None if perfect is None else factor * perfect)
    )


def _cells(y_true: Any, y_proba: Any, yerr: Any, sample_weight: Any, labels: Any) -> tuple[Cells, NDArray[Any]] | None:
    """Multilabel data with a probability for each label; None where y_true is something else."""
    if indicator_matrix(y_true, "y_true") is None:
        return None
    p = columns(y_proba, "y_proba")
    require_probabilities(p, "y_proba")
    found = cells_with_scores(y_true, p, yerr, sample_weight, "y_proba")
    assert found is not None
    if labels is not None:
        raise ValueError(
            "labels name the classes of one label an item; the columns of multilabel targets need no names."
        )
    warn_unless_rows_sum_to_one(p)
    return found[0], p


def _of_cells(
    declaration: Declaration, cells: Cells, table: FloatArray, best: FloatArray | None, factor: float
) -> Score:
    """The mean over items of the sum of what its labels cost, times `factor`."""
    mean = PooledLoss(declaration, cells, table, best)
    return Score(LinearAnswers(declaration, mean, factor * cells.outputs))


def _log_tables(cells: Cells, p: NDArray[Any]) -> tuple[FloatArray, FloatArray | None]:
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
