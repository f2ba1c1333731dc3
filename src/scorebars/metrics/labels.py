"""From what a user passes to class labels: the border of the classification metrics."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars import checks, tables
from scorebars.answers.counted import CountedLabels
from scorebars.answers.labelled import Labelled
from scorebars.arrays import to_host
from scorebars.engines.class_counts import ClassCounts, classes_in
from scorebars.errors import ClassError, ErrorModel, Flip, MeasurementError
from scorebars.errors.base import FloatArray
from scorebars.laws.correlated_flips import conditional_flip_probabilities


@dataclass(frozen=True)
class Counted:
    """Shown and predicted classes that were counted instead of kept, and the kind of their errors."""

    counts: ClassCounts
    kind: str


@dataclass(frozen=True)
class ClassLabels:
    """Shown labels and predicted classes, aligned, with the classes that occur in either."""

    y: NDArray[Any]
    p: NDArray[Any]
    classes: NDArray[Any]
    weight: FloatArray | None

    @property
    def n_classes(self) -> int:
        """Number of classes, at least 2: a label that is wrong has another class to be."""
        return max(len(self.classes), 2)


def class_array(values: Any, argument: str) -> NDArray[Any]:
    """Class labels, one for each item: whole numbers, booleans or texts."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        checks.real_array(values, argument)
    try:
        array = np.asarray(to_host(values))
        if array.dtype.kind == "U" and not hasattr(values, "dtype"):
            array = np.array(values, dtype=object)  # NumPy has turned the numbers of a mixed list into texts
    except ValueError as why:
        raise ValueError(
            f"{argument} cannot be read as an array of classes ({why}). Give one class for each item."
        ) from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{argument} must hold one class for each item, shape (n,), but has shape {array.shape}.")
    if not array.size:
        raise ValueError(f"{argument} is empty: at least one label is needed (found array with 0 sample(s)).")
    if array.dtype.kind == "O":
        array = _of_one_type(array, argument)
    if array.dtype.kind == "S":
        raise ValueError(f"{argument} holds bytes; {_CLASSES}. Decode them first.")
    if array.dtype.kind not in "biufU":
        raise ValueError(f"{argument} holds {array.dtype}; {_CLASSES}.")
    if array.dtype.kind == "f":
        _require_whole(array, argument)
    return array


_CLASSES = "classes are whole numbers, booleans or texts"


def _require_whole(array: NDArray[Any], argument: str) -> None:
    checks.require_finite(array, argument)
    broken = array != np.floor(array)
    if broken.any():
        raise checks.complain(
            argument,
            "holds continuous values, which is not supported",
            broken,
            array,
            "Classification metrics need classes: threshold or round the values first.",
        )


def _of_one_type(array: NDArray[Any], argument: str) -> NDArray[Any]:
    """Objects as an array of texts or of numbers; missing and mixed labels are refused."""

    def where(holds: Callable[[Any], bool]) -> NDArray[np.bool_]:
        return np.asarray(np.frompyfunc(holds, 1, 1)(array), dtype=bool)

    missing = where(tables.is_missing)
    if missing.any():
        raise checks.complain(argument, "has missing labels", missing, array, "Drop these items or label them.")
    texts = where(lambda v: isinstance(v, str))
    if texts.any() and not texts.all():
        raise checks.complain(
            argument,
            "mixes texts with other labels",
            texts,
            array,
            "These are the texts: use one type for all classes.",
        )
    strange = where(lambda v: not isinstance(v, str | numbers.Real | np.bool_))
    if strange.any():
        names = ", ".join(sorted({type(v).__name__ for v in array[strange]}))
        raise checks.complain(argument, f"holds values of type {names}", strange, array, f"As a rule {_CLASSES}.")
    return np.array(array.tolist())


def class_labels(y_true: Any, y_pred: Any, sample_weight: Any = None) -> ClassLabels:
    """Labels and predictions as classes of one type, aligned."""
    tables.require_rows(y_true=y_true, y_pred=y_pred, sample_weight=sample_weight)
    y, p = class_array(y_true, "y_true"), class_array(y_pred, "y_pred")
    checks.same_length(y, p, "y_true", "y_pred")
    if (y.dtype.kind == "U") != (p.dtype.kind == "U"):
        raise ValueError(
            f"Labels in y_true and y_pred should be of the same type: y_true holds {y.dtype}, y_pred holds {p.dtype}. "
            "Convert one of them."
        )
    classes = classes_in(y, p)
    weight = checks.weights(sample_weight, len(y))
    return ClassLabels(y, p, classes, None if weight is None else weight.copy())


def flip_model(yerr: Any, n: int) -> Flip:
    """The flips that `yerr` means: None, a probability, one for each label, or `Flip` itself."""
    model = class_model(yerr, n)
    if not isinstance(model, Flip):
        raise ValueError(
            f"yerr is {type(model).__name__}, which cannot be used here. Give the probability that a label is wrong."
        )
    return model


def class_model(yerr: Any, n: int) -> ClassError:
    """The error model that `yerr` means: None, a probability, one for each label, or a model of class labels."""
    if yerr is None:
        return Flip(0.0)
    if isinstance(yerr, MeasurementError):
        raise ValueError(
            f"yerr is {type(yerr).__name__}, which describes measured numbers. Class labels need the probability that "
            "a label is wrong: a number, one for each label, or Flip(q)."
        )
    if isinstance(yerr, ErrorModel):
        if not isinstance(yerr, ClassError):
            raise ValueError(f"yerr is {type(yerr).__name__}, which this metric cannot use.")
        model = yerr
        if isinstance(model, Flip) and np.ndim(model.q) > 1:
            raise ValueError(
                f"yerr has shape {np.shape(model.q)}, which is for items with several labels. Give one probability for each "
                "label."
            )
    else:
        q = checks.probabilities(yerr, "yerr", "For classes, yerr is the probability that a label is wrong.")
        flip = Flip.trusted(q)
        flip.require_size(n)
        return flip
    model.require_size(n)
    if isinstance(model, Flip) and model.correlation:
        conditional_flip_probabilities(model.q, model.correlation)  # refuses a correlation that no flips can have
    return model[np.arange(n)]  # the score must not change when the user's array does


def labels_of(y_true: Any, yerr: Any) -> Any:
    """y_true, or the labels that the error model holds where it is None."""
    if y_true is not None:
        return y_true
    held = yerr.labels() if isinstance(yerr, ClassError) else None
    if held is None:
        raise ValueError(
            "y_true is None, which is allowed only with an error model that holds the labels: LabelProbabilities, Votes "
            "or Thresholded."
        )
    return held


def all_classes(model: ClassError, *parts: NDArray[Any]) -> NDArray[Any]:
    """The sorted classes of labels, predictions, options and model, at least 2: a wrong label is of another class."""
    named = model.classes()
    found = [part for part in (*parts, *([] if named is None else [named])) if part.size]
    kinds = {part.dtype.kind == "U" for part in found}
    if len(kinds) > 1:
        raise ValueError(
            "classes mix texts and numbers: y_true, y_pred, labels and the classes of the error model must be of one type."
        )
    classes = classes_in(*found)
    if len(classes) > 1:
        return classes
    only = classes[0]
    if classes.dtype.kind == "U":
        return np.sort(np.array([str(only), f"not {only}"]))
    other = 1 - int(only) if int(only) in (0, 1) else int(only) + 1 if int(only) != -1 else 1
    return np.sort(np.array([only, other]))


def labelled(
    y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any, options: NDArray[Any] | None = None
) -> tuple[Labelled, NDArray[Any]]:
    """Labels, predicted classes and errors, checked and aligned, and the sorted classes of labels and predictions.

    `options` are classes that the caller named besides. Labels that an accumulator has counted come in place of y_true.
    """
    if isinstance(y_true, Counted):
        parts = [y_true.counts.classes] if options is None else [y_true.counts.classes, options]
        return CountedLabels(y_true.counts, y_true.kind, all_classes(Flip(0.0), *parts)), y_true.counts.classes
    tables.require_rows(y_true=y_true, y_pred=y_pred, yerr=yerr)
    found = class_labels(labels_of(y_true, yerr), y_pred, sample_weight)
    model = class_model(yerr, len(found.y))
    model.check_labels(found.y)
    extra = [] if options is None else [options]
    classes = all_classes(model, found.classes, *extra)
    shown, predicted = np.searchsorted(classes, found.y), np.searchsorted(classes, found.p)
    return Labelled(classes, shown, predicted, model, found.weight), found.classes
