"""Options of classification metrics, with the meaning they have in scikit-learn."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.answers.cells import Cells, PooledShare
from scorebars.answers.confusion import ConfusionAnswers
from scorebars.answers.confusion_functions import Averaged, OfPositives, Share
from scorebars.answers.labelled import Labelled
from scorebars.answers.output_average import ShareAverage
from scorebars.answers.sample_average import share_of_items
from scorebars.errors.class_error import named_classes
from scorebars.metrics.indicators import cells_of
from scorebars.metrics.labels import class_array, labelled
from scorebars.metrics.undefined import warn_if_share_of_cells_undefined, warn_if_share_undefined
from scorebars.score import Declaration, Score, Scores

AVERAGES = ("binary", "micro", "macro", "samples", "weighted", None)


def value_of_undefined(zero_division: Any, allow_nan: bool = True) -> float:
    """The number that stands for 0/0; nan leaves such values out."""
    if isinstance(zero_division, str) and zero_division == "warn":
        return 0.0
    if _is_number(zero_division):
        value = float(zero_division)
        if value in (0.0, 1.0) or (allow_nan and math.isnan(value)):
            return value
    allowed = "0.0, 1.0 or np.nan" if allow_nan else "0.0 or 1.0"
    raise ValueError(f"zero_division must be 'warn', {allowed}, got {zero_division!r}.")


def given_labels(labels: Any) -> NDArray[Any] | None:
    """The classes a caller named, each once, in his order."""
    if labels is None:
        return None
    if np.size(labels) == 0:
        raise ValueError("'labels' should contain at least one label: name the classes, or leave it out.")
    found = class_array(labels, "labels")
    return named_classes(found, len(found))


def class_share(
    declaration: Declaration,
    share: Share,
    y_true: Any,
    y_pred: Any,
    yerr: Any,
    labels: Any,
    pos_label: Any,
    average: Any,
    sample_weight: Any,
    zero_division: Any,
    allow_nan: bool = True,
) -> Score | Scores:
    """The score of a share (precision, recall, ...) of one class, of each class, or averaged over classes."""
    if average not in AVERAGES:
        raise ValueError(f"average has to be one of {AVERAGES}, got {average!r}.")
    undefined = value_of_undefined(zero_division, allow_nan)
    named = given_labels(labels)
    if average != "binary" and pos_label is not None and pos_label != 1:
        warnings.warn(
            f"Note that pos_label (set to {pos_label!r}) is ignored when average != 'binary' (got {average!r}). You may use "
            "labels=[pos_label] to specify a single positive class.",
            UserWarning,
            stacklevel=3,
        )
    cells = cells_of(y_true, y_pred, yerr, sample_weight)
    if cells is not None:
        return _share_of_cells(declaration, share, cells, named, average, zero_division, undefined)
    data, present = labelled(y_true, y_pred, yerr, sample_weight, None if average == "binary" else named)
    if average == "samples":
        raise ValueError(
            "Samplewise metrics are not available outside of multilabel classification: average='samples' needs several "
            "labels for each item, y_true and y_pred of shape (n, labels)."
        )
    if average == "binary":
        data = _with_positive(data, present, pos_label, y_true, y_pred, yerr, sample_weight)
        positive = np.searchsorted(data.classes, [pos_label])
        if zero_division == "warn":
            warn_if_share_undefined(share, data, positive, pooled=False)
        return _one(declaration, share, data, int(positive[0]), undefined)
    keep = np.searchsorted(data.classes, present if named is None else named)
    if zero_division == "warn":
        warn_if_share_undefined(share, data, keep, pooled=average == "micro")
    if average is None:
        return Scores(_one(declaration, share, data, int(k), undefined) for k in keep)
    metric = Averaged(share, average, tuple(int(k) for k in keep), undefined)
    return Score(ConfusionAnswers(declaration, data, metric, None if math.isnan(undefined) else undefined))


def _share_of_cells(
    declaration: Declaration,
    share: Share,
    cells: Cells,
    named: NDArray[Any] | None,
    average: Any,
    zero_division: Any,
    undefined: float,
) -> Score | Scores:
    """The score of a share of multilabel data: of each output, of all cells pooled, or averaged over outputs or items."""
    if average == "binary":
        raise ValueError(
            "Target is multilabel-indicator but average='binary'. Please choose another average setting, one of "
            "[None, 'micro', 'macro', 'weighted', 'samples']."
        )
    if named is not None:
        cells = cells.columns(_output_numbers(named, cells.outputs))
    if zero_division == "warn":
        warn_if_share_of_cells_undefined(share, cells, average)
    if average is None:
        return Scores(_one(declaration, share, cells.output(k), 1, undefined) for k in range(cells.outputs))
    if average == "micro":
        metric = OfPositives(share)
        return Score(PooledShare(declaration, cells, metric, None if math.isnan(undefined) else undefined))
    if average == "samples":
        return Score(share_of_items(declaration, cells, share, undefined))
    return Score(ShareAverage(declaration, cells, share, average, undefined))


def _output_numbers(named: NDArray[Any], outputs: int) -> NDArray[np.intp]:
    """`labels` of multilabel data: the numbers of the columns."""
    if named.dtype.kind not in "biu":
        raise ValueError("labels of multilabel targets are the numbers of columns, whole numbers from 0.")
    if named.max() >= outputs:
        raise ValueError(
            f"All labels must be in [0, n labels) for multilabel targets. Got {named.max()} > {outputs - 1}."
        )
    if named.min() < 0:
        raise ValueError(f"All labels must be in [0, n labels) for multilabel targets. Got {named.min()} < 0.")
    return named.astype(np.intp)


def _with_positive(
    data: Labelled, present: NDArray[Any], pos_label: Any, y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any
) -> Labelled:
    """The data with pos_label among its classes; refused where two others are present."""
    if len(present) > 2:
        raise ValueError(
            "Target is multiclass but average='binary'. Please choose another average setting, one of "
            "[None, 'micro', 'macro', 'weighted']."
        )
    if pos_label in present:
        return data
    if len(present) == 2 or isinstance(pos_label, str) != (present.dtype.kind == "U"):
        raise ValueError(f"pos_label={pos_label!r} is not a valid label. It should be one of {present}.")
    return labelled(y_true, y_pred, yerr, sample_weight, np.array([pos_label]))[0]


def _one(declaration: Declaration, share: Share, data: Labelled, index: int, undefined: float) -> Score:
    answers = ConfusionAnswers(
        declaration, data.against_rest(index), OfPositives(share), None if math.isnan(undefined) else undefined
    )
    return Score(answers)


def require_number(value: Any, argument: str, low: float) -> float:
    """A number of at least `low`, infinity allowed."""
    if not _is_number(value) or not float(value) >= low:
        raise ValueError(f"{argument} must be a number of at least {low:g}, got {value!r}.")
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
