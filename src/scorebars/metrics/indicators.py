"""From what a user passes to a matrix of yes-or-no labels: the border of multilabel classification."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars import checks, tables
from scorebars.answers.cells import Cells
from scorebars.arrays import to_host
from scorebars.errors import ClassError, ClassFlip, ErrorModel, Flip, Transition
from scorebars.errors.base import FloatArray

MULTILABEL = "multilabel-indicator"


def indicator_matrix(values: Any, argument: str) -> NDArray[np.int8] | None:
    """A matrix (n, L) of 0 and 1 for L labels an item, L > 1; None where `values` are something else.

    SciPy's sparse matrices are taken too. A matrix of other values is refused: no metric takes several classes an item.
    """
    if values is None or (type(values) is np.ndarray and values.ndim < 2):
        return None
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        values = values.toarray()
        if min(values.shape) < 2 and values.shape[1] < 2:
            raise TypeError("Sparse input is only supported when targets are of multilabel type")
    try:
        array = np.asarray(to_host(values))
    except ValueError:
        return None  # rows of unequal length: said by the border of plain classes
    if array.ndim != 2 or array.shape[1] < 2 or not array.size:
        return None
    if isinstance(values, np.ma.MaskedArray):
        checks.real_array(values, argument)
    if array.dtype.kind == "f":
        checks.require_finite(array, argument)
    if array.dtype.kind not in "biuf" or not np.all((array == 0) | (array == 1)):
        whole = array.dtype.kind in "biuOU" or (array.dtype.kind == "f" and np.all(array == np.floor(array)))
        kind = "multiclass-multioutput" if whole else "continuous-multioutput"
        raise ValueError(
            f"{kind} is not supported: {argument} has shape {array.shape} and other values than 0 and 1. Labels of several "
            "yes-or-no questions are a matrix of 0 and 1; score outputs with more classes one at a time."
        )
    return array.astype(np.int8)


def cells_of(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> Cells | None:
    """Labels and predictions of multilabel data with their errors; None where neither is multilabel."""
    if type(y_true) is np.ndarray and y_true.ndim == 1 and type(y_pred) is np.ndarray and y_pred.ndim == 1:
        return None
    y, p = indicator_matrix(y_true, "y_true"), indicator_matrix(y_pred, "y_pred")
    if y is None and p is None:
        return None
    tables.require_rows(y_true=y_true, y_pred=y_pred, yerr=yerr, sample_weight=sample_weight)
    if y is None or p is None:
        other = y_pred if p is None else y_true
        if len(y if y is not None else p) != np.shape(other)[0]:  # type: ignore[arg-type]
            raise ValueError(f"y_true and y_pred have inconsistent numbers of samples: {_lengths(y_true, y_pred)}.")
        one = _plain_type(other)
        names = (MULTILABEL, one) if p is None else (one, MULTILABEL)
        raise ValueError(f"Classification metrics can't handle a mix of {names[0]} and {names[1]} targets.")
    checks.same_length(y, p, "y_true", "y_pred")
    if y.shape != p.shape:
        raise ValueError(
            f"y_true and y_pred have different numbers of labels an item: shapes {y.shape} and {p.shape}. Multi-label binary "
            "indicator input with different numbers of labels."
        )
    return Cells(y, p, *_errors_and_weights(yerr, y, sample_weight))


def cells_with_scores(
    y_true: Any, scores: Any, yerr: Any, sample_weight: Any, argument: str
) -> tuple[Cells, FloatArray] | None:
    """Labels of multilabel data with their errors, and a finite score for each; None where y_true is something else."""
    y = indicator_matrix(y_true, "y_true")
    if y is None:
        return None
    tables.require_rows(**{"y_true": y_true, argument: scores, "yerr": yerr, "sample_weight": sample_weight})
    columns = checks.outputs(scores, argument)
    checks.require_finite(columns, argument)
    checks.same_length(y, columns, "y_true", argument)
    if y.shape != columns.shape:
        raise ValueError(
            f"{argument} has shape {columns.shape} but y_true has shape {y.shape}. Give a score for each label of each item."
        )
    return Cells(y, None, *_errors_and_weights(yerr, y, sample_weight)), np.asarray(columns, dtype=np.float64)


def _lengths(*values: Any) -> str:
    return " and ".join(str(np.shape(v)[0]) for v in values)


def _plain_type(values: Any) -> str:
    found = np.asarray(to_host(values))
    if found.dtype.kind == "f" and not np.all(found == np.floor(found)):
        return "continuous"
    return "multiclass" if len(np.unique(found)) > 2 else "binary"


def _errors_and_weights(yerr: Any, y: NDArray[np.int8], sample_weight: Any) -> tuple[ClassError, FloatArray | None]:
    weight = checks.weights(sample_weight, len(y))
    model = cell_model(yerr, y.shape)
    model.check_labels(y.ravel())
    return model, None if weight is None else weight.copy()


def cell_model(yerr: Any, shape: tuple[int, ...]) -> ClassError:
    """The errors of all cells, row after row: a probability, one for each output (L,) or cell (n, L), or a model."""
    if yerr is None:
        return Flip(0.0)
    if isinstance(yerr, ErrorModel):
        if isinstance(yerr, ClassFlip | Transition):
            return yerr
        if not isinstance(yerr, Flip):
            raise ValueError(
                f"yerr is {type(yerr).__name__}, which describes one label an item. Several labels an item need the "
                f"probability that each is wrong: a number, one for each output, shape {shape[1:]}, or for each label, "
                f"{shape}; or Flip, ClassFlip or Transition for every label alike."
            )
        if yerr.correlation:
            raise ValueError("yerr has a correlation, but the labels of multilabel data must err independently.")
        return Flip(_each_cell(np.asarray(yerr.q), shape), kind=yerr.kind)
    q = np.asarray(checks.real_array(yerr, "yerr"), dtype=np.float64)
    return Flip(_each_cell(q, shape))


def _each_cell(q: FloatArray, shape: tuple[int, ...]) -> FloatArray | float:
    if q.ndim == 0:
        return float(q)
    try:
        return np.broadcast_to(q, shape).ravel()
    except ValueError:
        raise ValueError(
            f"yerr has shape {q.shape} but y_true has shape {shape}. Give a number, one for each output, shape {shape[1:]}, "
            f"for each item, {(shape[0], 1)}, or for each label, {shape}."
        ) from None
