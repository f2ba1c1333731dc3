"""From what a user passes to class labels and predicted classes: the border of the classification metrics.

The border of metrics that take probabilities and scores goes on in `probability_inputs`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorebars import checks, tables
from scorebars.answers.classes.labelled import Labelled, LabelMatrix
from scorebars.answers.clustered import grouped
from scorebars.answers.score import Declaration
from scorebars.arrays import PLAIN, FloatArray, classes_in, to_host
from scorebars.engines.class_counts import ClassCounts
from scorebars.engines.device_classes import device_class_counts
from scorebars.errors import ClassError, ClassFlip, ErrorModel, Flip, MeasurementError, Transition, Verified
from scorebars.errors.measurement_error import LabelErrors, held_labels
from scorebars.errors.named_classes import named_classes
from scorebars.laws.counts.correlated_flips import conditional_flip_probabilities
from scorebars.metrics.registry import declares, take_over
from scorebars.metrics.verified_labels import verified_classes

_MULTILABEL = "multilabel-indicator"
_CLASSES = "classes are whole numbers, booleans or texts"
_PROBABILITY = "For classes, yerr is the probability that a label is wrong."


class Given(NamedTuple):
    """What a user passes to every classification metric."""

    y_true: Any
    predicted: Any
    yerr: Any = None
    sample_weight: Any = None


def class_declaration(
    name: str, title: str, low: float = 0.0, high: float = 1.0, perfect: float = 1.0, **more: Any
) -> Declaration:
    """The declaration of a classification metric: as a rule a share, the larger the better; a loss where 0 is perfect."""
    return Declaration(name, title, perfect == 1.0, "classification", low, high, None, perfect, **more)


def class_metric(
    declaration: Declaration, old_name: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a public metric of a function that finds the score from what every metric takes, and from its own options.

    `old_name` is what scikit-learn called the predictions before; it still works, with scikit-learn's warning.
    """
    name = {"labels": "y_pred", "probabilities": "y_proba", "scores": "y_score"}[declaration.takes]

    def public(score: Callable[..., Any]) -> Callable[..., Any]:
        def metric(
            y_true: ArrayLike | None,
            *predicted: ArrayLike,
            yerr: LabelErrors = None,
            sample_weight: ArrayLike | None = None,
            groups: ArrayLike | None = None,
            **options: Any,
        ) -> Any:
            if old_name is not None and old_name in options:
                predicted = (_by_old_name(old_name, name, predicted, options),)
            if len(predicted) != 1:  # passed by name; else the usual TypeError
                shown.bind(y_true, *predicted, **options)
                predicted = (options.pop(name),)
            if isinstance(yerr, Verified):

                def exact(model: ClassError, weight: Any) -> Any:
                    return score(Given(y_true, predicted[0], model, weight), **options)

                found = verified_classes(exact, y_true, yerr, sample_weight)
            else:
                given = Given(y_true, predicted[0], yerr, sample_weight)
                if not _PLAIN_ARRAY & {type(y_true), type(predicted[0])} and declaration.keeps and groups is None:
                    given = _counted_where_they_are(given, declaration, options)
                found = score(given, **options)
            if groups is None:
                return found
            tables.require_rows(y_true=y_true, groups=groups)
            return grouped(found, groups, sample_weight)

        shown, place = signature(metric), Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation="ArrayLike")
        usual = [place if one.name == "predicted" else one for one in shown.parameters.values()]
        usual = [one for one in usual if declaration.scored or one.name != "groups"]
        result = signature(score).return_annotation
        take_over(metric, score, shown.replace(parameters=usual, return_annotation=result))
        shown = signature(metric)
        return declares(declaration)(metric)

    return public


def _by_old_name(old_name: str, name: str, predicted: tuple[ArrayLike, ...], options: dict[str, Any]) -> Any:
    """The predictions that were passed under the name that scikit-learn gave up."""
    if predicted or name in options:
        raise ValueError(f"Cannot use both `{old_name}` and `{name}`. `{old_name}` is deprecated, use `{name}` only.")
    checks.warn(
        f"`{old_name}` was renamed to `{name}` in version 1.9 and will be removed in version 1.11 of scikit-learn: write "
        f"`{name}`.",
        FutureWarning,
    )
    return options.pop(old_name)


_PLAIN_ARRAY = {np.ndarray, list}


def _counted_where_they_are(given: Given, declaration: Declaration, options: Mapping[str, Any]) -> Given:
    """Labels and predictions on a device as counts, where these are all that the metric needs; else as they are."""
    y_true, predicted, yerr, weight = given
    kind, q = "classical", yerr
    if isinstance(yerr, Flip) and yerr.checked is None and not yerr.correlation:
        kind, q = yerr.kind, yerr.q
    if weight is not None or options.get("threshold") is not None or not (q is None or _is_one_number(q)):
        return given
    chance = 0.0 if q is None else float(checks.probabilities(q, "yerr", _PROBABILITY))
    counts = device_class_counts(y_true, predicted, chance, declaration.keeps == "pairs")
    return given if counts is None else Given(Counted(counts, kind), None)


def _is_one_number(q: Any) -> bool:
    return is_number(q) or (isinstance(q, np.ndarray) and q.ndim == 0)


def is_number(value: Any) -> bool:
    """Whether an option is a number, and not True or False."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def value_of_undefined(zero_division: Any, allow_nan: bool = True) -> float:
    """The number that stands for 0/0; nan leaves such values out."""
    if isinstance(zero_division, str) and zero_division == "warn":
        return 0.0
    if is_number(zero_division):
        value = float(zero_division)
        if value in (0.0, 1.0) or (allow_nan and math.isnan(value)):
            return value
    allowed = "0.0, 1.0 or np.nan" if allow_nan else "0.0 or 1.0"
    raise ValueError(f"zero_division must be 'warn', {allowed}, got {zero_division!r}.")


def given_labels(labels: Any) -> NDArray[Any] | None:
    """The classes that a caller named, each once, in the order given."""
    if labels is None:
        return None
    if np.size(labels) == 0:
        raise ValueError("'labels' should contain at least one label: name the classes, or leave it out.")
    found = class_array(labels, "labels")
    return named_classes(found, len(found))


@dataclass(frozen=True)
class Counted:
    """Shown and predicted classes that were counted instead of kept, and the kind of their errors."""

    counts: ClassCounts
    kind: str


class ClassLabels(NamedTuple):
    """Shown labels and predicted classes, aligned, with the classes that occur in either."""

    y: NDArray[Any]
    p: NDArray[Any]
    classes: NDArray[Any]
    weight: FloatArray | None


def class_array(values: Any, argument: str) -> NDArray[Any]:
    """Class labels, one for each item: whole numbers, booleans or texts."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        checks.real_array(values, argument)  # refuses it
    try:
        array = values if type(values) is np.ndarray else np.asarray(to_host(values))
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
        large = (
            ". Whole numbers beyond 64 bits are none of them: name the classes by texts"
            if array.dtype == object
            else ""
        )
        raise ValueError(f"{argument} holds {array.dtype}; {_CLASSES}{large}.")
    if array.dtype.kind == "f":
        _require_whole(array, argument)
    return array


def _require_whole(array: NDArray[Any], argument: str) -> None:
    checks.require_finite(array, argument)
    broken = array != np.floor(array)
    if broken.any():
        hint = "Classification metrics need classes: threshold or round the values first."
        raise checks.complain(argument, "holds continuous values, which is not supported", broken, array, hint)


def _of_one_type(array: NDArray[Any], argument: str) -> NDArray[Any]:
    """Objects as an array of texts or of numbers; missing and mixed labels are refused."""

    def where(holds: Callable[[Any], bool]) -> NDArray[np.bool_]:
        return np.asarray(np.frompyfunc(holds, 1, 1)(array), dtype=bool)

    missing = tables.missing_entries(array)
    if missing.any():
        raise checks.complain(argument, "has missing labels", missing, array, "Drop these items or label them.")
    texts = where(lambda v: isinstance(v, str))
    if texts.any() and not texts.all():
        hint = "These are the texts: use one type for all classes."
        raise checks.complain(argument, "mixes texts with other labels", texts, array, hint)
    strange = where(lambda v: not isinstance(v, str | numbers.Real | np.bool_))
    if strange.any():
        names = ", ".join(sorted({type(v).__name__ for v in array[strange]}))
        raise checks.complain(argument, f"holds values of type {names}", strange, array, f"As a rule {_CLASSES}.")
    return np.array(array.tolist())


def class_labels(given: Given) -> ClassLabels:
    """Labels and predictions as classes of one type, aligned."""
    y_true, y_pred, yerr, sample_weight = given
    if y_true is None:
        y_true = held_labels(yerr)
    if not {type(y_true), type(y_pred), type(sample_weight), type(yerr)} <= PLAIN:
        tables.require_rows(y_true=y_true, y_pred=y_pred, sample_weight=sample_weight, yerr=yerr)
    y, p = class_array(y_true, "y_true"), class_array(y_pred, "y_pred")
    checks.same_length(y, p, "y_true", "y_pred")
    if (y.dtype.kind == "U") != (p.dtype.kind == "U"):
        raise ValueError(
            f"Labels in y_true and y_pred should be of the same type: y_true holds {y.dtype}, y_pred holds {p.dtype}. "
            "Convert one of them."
        )
    return ClassLabels(y, p, classes_in(y, p), own_weights(sample_weight, len(y)))


def classes_above(threshold: float, given: Given) -> NDArray[Any]:
    """The classes that the probabilities of the larger of two classes predict: this one from the threshold on."""
    least = checks.probability(threshold, "threshold")
    y_true, predicted, yerr, _ = given
    tables.require_rows(y_true=y_true, y_pred=predicted, yerr=yerr)
    p = checks.probabilities(
        predicted, "y_pred", "With a threshold, y_pred holds the probability of the larger of the two classes."
    )
    model = class_model(yerr, max(p.size, 1)) if isinstance(yerr, ClassError) else Flip.trusted(np.asarray(0.0))
    classes = all_classes(model, class_array(held_labels(yerr) if y_true is None else y_true, "y_true"))
    if len(classes) > 2:
        raise ValueError(
            f"threshold is for two classes, but there are {len(classes)}: {', '.join(map(str, classes[:5]))}. Give the "
            "predicted classes instead of probabilities."
        )
    return np.asarray(classes[(p >= least).astype(np.intp)])


def own_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """The checked weights, copied: the score must not change when the user's array does."""
    weight = checks.weights(sample_weight, n)
    return None if weight is None else weight.copy()


def flip_model(yerr: Any, n: int) -> Flip:
    """The flips that `yerr` means: None, a probability, one for each label, or `Flip` itself."""
    model = class_model(yerr, n)
    if not isinstance(model, Flip):
        raise ValueError(f"yerr is {type(model).__name__}. Give the probability that a label is wrong instead.")
    return model


def class_model(yerr: Any, n: int) -> ClassError:
    """The error model that `yerr` means: None, a probability, one for each label, or a model of class labels."""
    if not isinstance(yerr, ErrorModel):
        none = np.asarray(0.0)
        if isinstance(yerr, list | tuple):
            yerr = checks.any_array(yerr, "yerr", "probabilities")
        if np.ndim(yerr) == 2 and np.shape(yerr)[0] == np.shape(yerr)[1] > 1:
            raise ValueError(
                f"yerr has shape {np.shape(yerr)}. How often each class is shown as another is "
                "yerr=sb.Transition(matrix, labels)."
            )
        checks.no_flags(yerr, "yerr", "says how probable it is that a label is wrong")
        q = none if yerr is None else checks.probabilities(yerr, "yerr", _PROBABILITY)
        if q.ndim and len(q) != n:
            Flip.trusted(q).require_size(n)
        return Flip.trusted(q)
    if isinstance(yerr, MeasurementError):
        raise ValueError(
            f"yerr is {type(yerr).__name__}, which describes measured numbers. Class labels need the probability that "
            "a label is wrong: a number, one for each label, or Flip(q)."
        )
    if isinstance(yerr, Verified):
        raise ValueError(yerr.only_metrics)
    if not isinstance(yerr, ClassError):
        raise ValueError(f"yerr is {type(yerr).__name__}, which this metric cannot use.")
    if isinstance(yerr, Flip) and np.ndim(yerr.q) > 1:
        raise ValueError(f"yerr has shape {np.shape(yerr.q)}, for several labels an item. Give one for each label.")
    yerr.require_size(n)
    if isinstance(yerr, Flip) and yerr.correlation:
        conditional_flip_probabilities(yerr.q, yerr.correlation)  # refuses a correlation that no flips can have
    return yerr[np.arange(n)]  # the score must not change when the user's array does


def all_classes(model: ClassError, *parts: NDArray[Any]) -> NDArray[Any]:
    """The sorted classes of labels, predictions, options and model, at least 2: a wrong label is of another class."""
    named = None if isinstance(model, Flip) else model.classes()
    found = [part for part in (*parts, *([] if named is None else [named])) if part.size]
    if len({part.dtype.kind == "U" for part in found}) > 1:
        raise ValueError("classes mix texts and numbers: use one type in y_true, y_pred, labels and error model.")
    classes = classes_in(*found)
    if len(classes) > 1:
        return classes
    only = classes[0]
    if classes.dtype.kind == "U":
        return np.sort(np.array([str(only), f"not {only}"]))
    other = 1 - int(only) if int(only) in (0, 1) else int(only) + 1 if int(only) != -1 else 1
    return np.sort(np.array([only, other]))


def aligned_labels(given: Given, options: NDArray[Any] | None = None) -> tuple[Labelled, NDArray[Any]]:
    """Labels, predicted classes and errors, checked and aligned, and the sorted classes of labels and predictions.

    `options` are classes that the caller named besides. Labels that an accumulator has counted come in place of y_true.
    """
    extra = [] if options is None else [options]
    if isinstance(given.y_true, Counted):
        counts = given.y_true.counts
        classes = all_classes(Flip.trusted(np.asarray(0.0)), counts.classes, *extra)
        return Labelled.counted(counts, given.y_true.kind, classes), counts.classes
    found = class_labels(given)
    model = class_model(given.yerr, len(found.y))
    if not isinstance(model, Flip):  # which serves any classes
        model.check_labels(found.y)
    enough = isinstance(model, Flip) and not extra and len(found.classes) > 1
    classes = found.classes if enough else all_classes(model, found.classes, *extra)
    shown, predicted = np.searchsorted(classes, found.y), np.searchsorted(classes, found.p)
    return Labelled(classes, shown, predicted, model, found.weight), found.classes


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


def label_matrix(given: Given) -> LabelMatrix | None:
    """Labels and predictions of multilabel data with their errors; None where neither is multilabel."""
    y_true, y_pred, yerr, sample_weight = given
    if type(y_true) is np.ndarray and y_true.ndim == 1 and type(y_pred) is np.ndarray and y_pred.ndim == 1:
        return None
    y, p = indicator_matrix(y_true, "y_true"), indicator_matrix(y_pred, "y_pred")
    if y is None and p is None:
        return None
    tables.require_rows(y_true=y_true, y_pred=y_pred, yerr=yerr, sample_weight=sample_weight)
    if y is None or p is None:
        other = y_pred if p is None else y_true
        if len(y if y is not None else p) != np.shape(other)[0]:  # type: ignore[arg-type]
            sizes = f"{np.shape(y_true)[0]} and {np.shape(y_pred)[0]}"
            raise ValueError(f"y_true and y_pred have inconsistent numbers of samples: {sizes}.")
        one = _plain_type(other)
        names = (_MULTILABEL, one) if p is None else (one, _MULTILABEL)
        raise ValueError(f"Classification metrics can't handle a mix of {names[0]} and {names[1]} targets.")
    checks.same_length(y, p, "y_true", "y_pred")
    if y.shape != p.shape:
        raise ValueError(
            f"y_true and y_pred have different numbers of labels an item: shapes {y.shape} and {p.shape}. Multi-label binary "
            "indicator input with different numbers of labels."
        )
    return LabelMatrix(y, p, *errors_and_weights(yerr, y, sample_weight))


def _plain_type(values: Any) -> str:
    found = np.asarray(to_host(values))
    if found.dtype.kind == "f" and not np.all(found == np.floor(found)):
        return "continuous"
    return "multiclass" if len(np.unique(found)) > 2 else "binary"


def errors_and_weights(yerr: Any, y: NDArray[np.int8], sample_weight: Any) -> tuple[ClassError, FloatArray | None]:
    """The errors of all cells of multilabel data, and the weights of the items, both checked."""
    model = matrix_model(yerr, y.shape)
    model.check_labels(y.ravel())
    return model, own_weights(sample_weight, len(y))


def matrix_model(yerr: Any, shape: tuple[int, ...]) -> ClassError:
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
        if yerr.checked is not None:
            return yerr
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
