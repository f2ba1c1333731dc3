"""Are labels classes or measured numbers? One guess for all studies and for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.arrays import library_of
from scorebars.errors import ErrorModel, MeasurementError

_FEW = 20
"""Whole numbers of at most so many different values may be classes."""
TASKS = ("regression", "classification")
SAID = (
    "labels and predictions are whole numbers of few values and were taken as classes, so yerr is the probability that a "
    'label is wrong. For measured numbers say task="regression"'
)


def guess_task(labels: Any, yerr: Any = None, predictions: Sequence[Any] = ()) -> str:
    """Are these labels classes or measured numbers?

    The error model decides where it is one. Else texts and booleans are classes, and so are whole numbers of at most 20
    different values if every prediction is one of such values too and, where `yerr` is given, it can be a probability.

    Parameters
    ----------
    labels : (n,)
        The labels.
    yerr : as in every metric
        Their errors.
    predictions : sequence of (n,)
        Predictions of one or several models; without any, whole numbers are taken as measured.

    Returns
    -------
    "regression" or "classification"

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.guess_task([0, 1, 1, 0], predictions=[[0, 1, 0, 0]]), sb.guess_task([0, 1, 1, 0], predictions=[[0.2, 0.9, 0.4, 0.1]])
    ('classification', 'regression')
    """
    if isinstance(yerr, ErrorModel):
        return "regression" if isinstance(yerr, MeasurementError) else "classification"
    if library_of(labels) is not None:  # perhaps on a device: its type tells, and no label is copied
        return "classification" if "bool" in str(labels.dtype) else "regression"
    array = np.asarray(labels)
    if array.dtype.kind in "bUS" or (array.dtype.kind == "O" and (not array.size or _holds_texts(array))):
        return "classification"
    counted = bool(predictions) and all(_is_counted(values) for values in (array, *predictions))
    return "classification" if counted and _may_be_probability(yerr) else "regression"


def assumed_task(task: str | None, labels: Any, yerr: Any, predictions: Sequence[Any]) -> tuple[str, str]:
    """The task, said by the user or guessed, and a sentence where whole numbers were taken as classes."""
    if task is not None:
        if task not in TASKS:
            raise ValueError(f"task must be 'regression' or 'classification', got {task!r}.")
        return task, ""
    found = guess_task(labels, yerr, predictions)
    said = isinstance(yerr, ErrorModel) or library_of(labels) is not None  # of tensors only booleans are classes
    numbers = found == "classification" and not said and np.asarray(labels).dtype.kind in "iuf"
    return found, SAID if numbers else ""


def _holds_texts(array: NDArray[Any]) -> bool:
    """Whether objects are classes; one number with a typing error among numbers does not make them so."""
    texts = [value for value in array.flat if isinstance(value, str)]
    if texts:
        return sum(map(_is_number, texts)) < len(texts) / 2
    return bool(array.size) and isinstance(array.flat[0], bool | np.bool_)


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_counted(values: Any) -> bool:
    """Whether these are integers of few different values; whole numbers written as floats are measured."""
    if library_of(values) is not None:
        return False
    array = np.asarray(values)
    if array.dtype.kind == "O":  # nullable integers
        array = np.asarray([value if isinstance(value, int | np.integer) else 0.5 for value in array.flat])
    return array.dtype.kind in "iub" and array.ndim == 1 and len(np.unique(array)) <= _FEW


def _may_be_probability(yerr: Any) -> bool:
    if yerr is None:
        return True
    try:
        values = np.asarray(yerr, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return values.ndim < 2 and bool(np.all((values >= 0) & (values <= 1)))
