"""From what a user passes to probabilities and scores of classes, with the labels that they are about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars import checks, tables
from scorebars.answers.classes.labelled import Labelled, LabelMatrix
from scorebars.arrays import FloatArray
from scorebars.errors import ClassError
from scorebars.errors.measurement_error import held_labels
from scorebars.metrics.class_inputs import (
    Given,
    all_classes,
    class_array,
    class_model,
    errors_and_weights,
    given_labels,
    indicator_matrix,
    own_weights,
)


def scored_labels(given: Given, argument: str) -> tuple[NDArray[Any], NDArray[Any], ClassError]:
    """Scores or probabilities, (n,) or (n, K), labels as classes and their error model, all aligned."""
    y_true, values, yerr, sample_weight = given
    tables.require_rows(**{"y_true": y_true, argument: values, "yerr": yerr, "sample_weight": sample_weight})
    array = columns(values, argument)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    y = class_array(held_labels(yerr) if y_true is None else y_true, "y_true")
    checks.same_length(y, array, "y_true", argument)
    model = class_model(yerr, len(y))
    model.check_labels(y)
    return array, y, model


def columns(values: Any, argument: str) -> NDArray[Any]:
    """Finite numbers of shape (n,) or (n, K)."""
    array = checks.outputs(values, argument)
    checks.require_finite(array, argument)
    return array


def data_of(y: NDArray[Any], model: ClassError, classes: NDArray[Any], sample_weight: Any) -> Labelled:
    """Labels without predicted classes; every label and every class of the model must have its column."""
    missing = ~np.isin(y, classes)
    if missing.any():
        raise checks.complain("'y_true'", "contains labels not in parameter 'labels'", missing, y, "Name all classes.")
    named = model.classes()
    if named is not None and not np.all(np.isin(named, classes)):
        extra = np.setdiff1d(named, classes)[0]
        raise ValueError(f"{type(model).__name__} has a class {extra!r} without a column. Name all columns in labels.")
    return Labelled(classes, np.searchsorted(classes, y), None, model, own_weights(sample_weight, len(y)))


def require_probabilities(p: NDArray[Any], argument: str) -> None:
    """Refuse values outside [0, 1]."""
    bad = (p < 0) | (p > 1)
    if bad.any():
        raise checks.complain(argument, "has values outside [0, 1]", bad, p, "Predictions are probabilities here.")


def warn_unless_rows_sum_to_one(p: NDArray[Any]) -> None:
    """Probabilities of all classes sum to 1; scikit-learn goes on where they do not, and so do we."""
    off = np.abs(np.add.reduce(p, axis=1) - 1) > np.sqrt(np.finfo(p.dtype).eps)
    if off.any():
        checks.warn(
            f"The y_prob values do not sum to one. Make sure to pass probabilities: y_proba has {int(off.sum())} such rows, "
            f"the first at {int(np.argmax(off))}."
        )


def column_classes(y: NDArray[Any], model: ClassError, labels: Any, number: int, argument: str) -> NDArray[Any]:
    """The sorted classes of the columns: `labels`, or those of y_true and the model."""
    named = given_labels(labels)
    classes = np.unique(y) if named is None else np.sort(named)
    if named is not None and not np.array_equal(classes, named):
        checks.warn(
            f"Labels passed were {named.tolist()}. But this function assumes labels are ordered lexicographically. Pass the "
            f"ordered labels={classes.tolist()} and ensure that the columns of {argument} correspond to this ordering."
        )
    if named is None and model.classes() is not None:
        classes = all_classes(model, y)
    if named is None and len(classes) == 1:
        raise ValueError(
            f"y_true contains only one label ({classes[0]}). Please provide the list of all expected class labels "
            "explicitly through the labels argument."
        )
    if named is not None and len(classes) == 1:
        raise ValueError("The labels array needs to contain at least two labels, got one.")
    if len(classes) != number and argument == "y_score":
        whose = "Number of classes in y_true" if named is None else f"Number of given labels, {len(classes)},"
        raise ValueError(
            f"{whose} not equal to the number of columns in 'y_score', {number}. Provide the classes of the columns explicitly "
            f"through the labels argument; those found are {classes}."
        )
    if len(classes) != number:
        whose = "y_true" if named is None else "labels"
        raise ValueError(
            f"{whose} and {argument} contain different number of classes: {len(classes)} and {number}. Provide the "
            "classes of the columns explicitly through the labels argument."
        )
    return classes


def require_ordered(labels: Any) -> None:
    """Refuse classes of columns that are not each there once, in order."""
    if labels is None:
        return
    named = np.asarray(labels)
    ordered = np.unique(named)
    if len(ordered) != len(named):
        raise ValueError("Parameter 'labels' must be unique: each class has one column.")
    if not np.array_equal(ordered, named):
        raise ValueError("Parameter 'labels' must be ordered, and the columns of y_score with them.")


def probability_columns(given: Given, labels: Any) -> tuple[Labelled, NDArray[Any]]:
    """Labels and a probability for each class, (n, K); a single column belongs to the larger of two classes."""
    p, y, model = scored_labels(given, "y_proba")
    require_probabilities(p, "y_proba")
    if p.ndim == 1:
        p = np.stack([1 - p, p], axis=1)
    warn_unless_rows_sum_to_one(p)
    classes = column_classes(y, model, labels, p.shape[1], "y_proba")
    return data_of(y, model, classes, given.sample_weight), p


def two_class_probabilities(given: Given, pos_label: Any) -> tuple[Labelled, NDArray[Any]]:
    """Labels of two classes and the probability of the positive one, as two columns in the order of the classes."""
    p, y, model = scored_labels(given, "y_proba")
    require_probabilities(p, "y_proba")
    data, positive = two_classes(y, model, given.sample_weight, pos_label)
    return data, np.stack([1 - p, p] if positive == 1 else [p, 1 - p], axis=1)


def two_classes(y: NDArray[Any], model: ClassError, sample_weight: Any, pos_label: Any) -> tuple[Labelled, int]:
    """Labels of two classes, and which of them is positive: `pos_label`, or 1, or the larger."""
    present = np.unique(y)
    if len(present) > 2:
        raise ValueError(f"y_true has {len(present)} classes; two are supported here. Only binary classification.")
    if pos_label is None:
        if present.dtype.kind == "U":
            raise ValueError(
                f"y_true takes value in {{{', '.join(map(repr, present.tolist()))}}} and pos_label is not specified: either "
                "make y_true take value in {0, 1} or {-1, 1} or pass pos_label explicitly."
            )
        pos_label = 1 if set(present.tolist()) <= {-1, 0, 1} else present[-1].item()
    elif len(present) == 2 and pos_label not in present:
        raise ValueError(f"pos_label={pos_label!r} is not a valid label. It should be one of {present}.")
    classes = all_classes(model, y, class_array([pos_label], "pos_label"))
    if len(classes) > 2:
        raise ValueError(f"the error model has {len(classes)} classes, but this metric needs two.")
    return data_of(y, model, classes, sample_weight), int(np.searchsorted(classes, pos_label))


def matrix_with_scores(given: Given, argument: str) -> tuple[LabelMatrix, FloatArray] | None:
    """Labels of multilabel data with their errors, and a finite score for each; None where y_true is something else."""
    y_true, scores, yerr, sample_weight = given
    y = indicator_matrix(y_true, "y_true")
    if y is None:
        return None
    tables.require_rows(**{"y_true": y_true, argument: scores, "yerr": yerr, "sample_weight": sample_weight})
    array = columns(scores, argument)
    checks.same_length(y, array, "y_true", argument)
    if y.shape != array.shape:
        raise ValueError(
            f"{argument} has shape {array.shape} but y_true has shape {y.shape}. Give a score for each label of each item."
        )
    return LabelMatrix(y, None, *errors_and_weights(yerr, y, sample_weight)), np.asarray(array, dtype=np.float64)
