"""What a study is about: labels, predictions by model, errors and groups, from arrays or from columns of a table."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorebars import checks, tables
from scorebars._shared.given_data import named_predictions
from scorebars.arrays import PLAIN, library_of, to_host
from scorebars.cells import reads_as_number
from scorebars.errors import ErrorModel, MeasurementError, Verified
from scorebars.forecasts import Forecast, forecast_of
from scorebars.forecasts.given_forecast import is_forecast

_FEW = 20
"""Whole numbers may be classes if they take at most this many different values."""
TASKS = ("regression", "classification")
SAID = (
    "labels and predictions are whole numbers of few values and were taken as classes, so yerr is the probability that a "
    'label is wrong. For measured numbers say task="regression"'
)
_SAID_OF_PROBABILITIES = (
    "labels are 0 and 1 and predictions lie between: they were scored as measured numbers. For probabilities of class 1 say "
    'task="classification", with metrics of probabilities such as log_loss'
)


def guess_task(labels: Any, yerr: Any = None, predictions: Sequence[Any] = ()) -> str:
    """Are these labels classes or measured numbers?

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

    Notes
    -----
    The error model decides where it is one. Otherwise texts and booleans are classes. So are whole numbers of at most 20
    different values if predictions are such numbers too, at least half of them equal to some label, and `yerr`, where it
    is given, can be a probability of being wrong: at most 1, and at most 1/2 on average.

    References
    ----------
    S. S. Stevens, Science 103 (1946) 677 (scales of measurement: names of classes, and numbers).

    Examples
    --------
    >>> import scorebars as sb
    >>> sb.guess_task([0, 1, 1, 0], predictions=[[0, 1, 0, 0]]), sb.guess_task([0, 1, 1, 0], predictions=[[0.2, 0.9, 0.4, 0.1]])
    ('classification', 'regression')
    """
    if isinstance(yerr, Verified):
        yerr = None  # it holds for numbers and for classes
    if isinstance(yerr, ErrorModel):
        return "regression" if isinstance(yerr, MeasurementError) else "classification"
    if _is_tensor(labels):  # perhaps on a device: its type tells, and no label is copied
        return "classification" if "bool" in str(labels.dtype) else "regression"
    array = checks.any_array(labels, "y_true")
    predictions = [p if _is_tensor(p) else checks.any_array(p, "y_pred") for p in predictions]
    if array.dtype.kind in "bUS" or (array.dtype.kind == "O" and (not array.size or _holds_texts(array))):
        return "classification"
    counted = bool(predictions) and all(_is_counted(values) for values in (array, *predictions))
    counted = counted and all(np.isin(values, array).mean() >= 0.5 for values in predictions if len(values))
    return "classification" if counted and _may_be_probability(yerr) else "regression"


def assumed_task(task: str | None, labels: Any, yerr: Any, predictions: Sequence[Any]) -> tuple[str, str]:
    """The task, said by the user or guessed, and a sentence where whole numbers were taken as classes."""
    if task is not None:
        if task not in TASKS:
            raise ValueError(f"task must be 'regression' or 'classification', got {task!r}.")
        return task, ""
    found = guess_task(labels, yerr, predictions)
    said = isinstance(yerr, ErrorModel) or _is_tensor(labels)  # of tensors only booleans are classes
    numbers = found == "classification" and not said and np.asarray(labels).dtype.kind in "iuf"
    if found == "regression" and not said and are_probabilities(labels, predictions):
        return found, _SAID_OF_PROBABILITIES
    return found, SAID if numbers else ""


def are_probabilities(labels: Any, predictions: Sequence[Any]) -> bool:
    """Whether labels are 0 and 1, both, and all predictions lie between."""
    array = np.asarray(labels)
    if array.dtype.kind not in "iuf" or not predictions or set(np.unique(array).tolist()) != {0, 1}:
        return False
    values = [np.asarray(p) for p in predictions if not _is_tensor(p)]
    return len(values) == len(predictions) and all(
        p.dtype.kind in "iuf" and p.ndim == 1 and bool(np.all((p >= 0) & (p <= 1) | np.isnan(p))) for p in values
    )


def _is_tensor(values: Any) -> bool:
    """Whether this is an array of torch, JAX or CuPy."""
    return type(values) not in PLAIN and library_of(values) is not None


def _holds_texts(array: NDArray[Any]) -> bool:
    """Whether objects are classes; one number with a typing error among numbers does not make them so."""
    texts = [value for value in array.flat if isinstance(value, str)]
    if texts:
        return sum(map(reads_as_number, texts)) < len(texts) / 2
    return bool(array.size) and isinstance(array.flat[0], bool | np.bool_)


def _is_counted(values: Any) -> bool:
    """Whether these are integers of few different values; whole numbers written as floats are measured."""
    if _is_tensor(values):
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
    except (TypeError, ValueError, OverflowError):  # the metrics say what is wrong with it
        return False
    return values.ndim < 2 and bool(np.all((values >= 0) & (values <= 1))) and bool(np.mean(values) <= 0.5)


class StudyData(NamedTuple):
    """Arguments that belong to the same rows, and how many rows were left out for a missing value."""

    y_true: Any
    models: dict[str, Any]
    yerr: Any
    sample_weight: Any
    by: Any = None
    omitted: int = 0
    prederr: Mapping[str, Any] = MappingProxyType({})
    """Standard errors of the predictions, of the models that have any."""
    groups: Any = None
    """Which items belong together."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(next(iter(self.models.values())))

    @property
    def labels(self) -> Any:
        """The labels, or those that the error model holds where none are given."""
        return self.yerr.labels() if self.y_true is None and hasattr(self.yerr, "labels") else self.y_true

    def rows(self, index: NDArray[np.intp]) -> StudyData:
        """Some of the rows."""
        models = {name: rows(p, index) for name, p in self.models.items()}
        yerr, weight = errors_of(self.yerr, index, self.n), rows(self.sample_weight, index)
        prederr = {name: rows(errors, index) for name, errors in self.prederr.items()}
        by, groups = rows(self.by, index), rows(self.groups, index)
        return StudyData(rows(self.y_true, index), models, yerr, weight, by, self.omitted, prederr, groups)


def study_data(
    y_true: Any,
    y_pred: Any,
    *,
    nan_policy: str,
    y: Hashable | None = None,
    pred: Any = None,
    yerr: Any = None,
    sample_weight: Any = None,
    by: Any = None,
    prederr: Any = None,
    groups: Any = None,
) -> StudyData:
    """Arrays as they are, or the columns of the table `y_true` that the other arguments name.

    Rows must belong together: pandas arguments with different row labels are refused. Missing values are refused too, or,
    with ``nan_policy="omit"``, their rows left out of all arguments, so that all models are scored on the same labels.
    """
    if nan_policy not in ("raise", "omit"):
        raise ValueError(f"nan_policy must be 'raise' or 'omit', got {nan_policy!r}.")
    table = y_true
    if y is not None or pred is not None:
        if isinstance(groups, str):
            groups = tables.select(y_true, {"groups": groups})["groups"]
        y_true, models, yerr, sample_weight, by = _from_table(y_true, y_pred, y, pred, yerr, sample_weight, by)
    else:
        table, models = None, named_predictions(y_pred)
    models = {name: _with_forecast(p, y_true, yerr) for name, p in models.items()}
    of_predictions = errors_of_predictions(prederr, models, table)
    if by is not None or nan_policy == "omit":  # rows are picked on the host
        y_true, yerr, sample_weight, by, groups = map(to_host, (y_true, yerr, sample_weight, by, groups))
        models = {name: to_host(p) for name, p in models.items()}
        of_predictions = {name: to_host(errors) for name, errors in of_predictions.items()}
    arguments = {"y_true": y_true, **{f"y_pred[{name!r}]": p for name, p in models.items()}}
    arguments |= {"yerr": yerr, "sample_weight": sample_weight, "by": by, "groups": groups}
    arguments |= {f"prederr[{name!r}]": errors for name, errors in of_predictions.items()}
    data = StudyData(y_true, models, yerr, sample_weight, by, prederr=of_predictions, groups=groups)
    omit = nan_policy == "omit"
    if not omit and by is None and groups is None and all(type(value) in PLAIN for value in arguments.values()):
        return data  # the metrics look in their one pass
    tables.same_rows(**arguments)
    missing = _missing_rows(arguments, omit)
    if not missing.any():
        return data
    if missing.all():
        raise nothing_left(len(missing))
    return data.rows(np.flatnonzero(~missing))._replace(omitted=int(missing.sum()))


def _missing_rows(arguments: Mapping[str, Any], omit: bool) -> NDArray[np.bool_]:
    """Which rows miss a value in any argument; refuses these unless they are to be left out."""
    missing, y_true = np.array(False), arguments["y_true"]
    for argument, value in arguments.items():
        if value is None or isinstance(value, ErrorModel):
            continue
        if isinstance(value, list | tuple):
            checks.any_array(value, argument)
        if np.ndim(value) == 0:
            continue
        if not omit and argument not in ("by", "groups") and not any(map(tables.has_index, (value, y_true))):
            continue  # the metrics look in their one pass
        across = argument == "yerr" and not hasattr(value, "isna") and np.ndim(value) == 2 and np.shape(value)[0] == 2
        bad = tables.missing_rows(np.transpose(np.asanyarray(value)) if across else value)
        if bad.any() and not omit:
            raise tables.missing_values(argument, y_true if tables.has_index(y_true) else value, bad)
        if missing.ndim and missing.shape != bad.shape:
            raise ValueError(
                f"{argument} and y_true have inconsistent numbers of samples: {len(bad)} and {len(missing)}. Each label needs "
                "its own entry in both."
            )
        missing = missing | bad if omit else missing
    return missing


def nothing_left(rows: int) -> ValueError:
    """The complaint where every row misses a value."""
    return ValueError(
        f"every one of the {rows} rows misses a value: nothing is left with nan_policy='omit'. Fill in the values, or name "
        "other columns."
    )


def _with_forecast(given: Any, y_true: Any, yerr: Any) -> Any:
    """What is meant as a forecast as one of as many labels as there are; other predictions as they are."""
    if type(given) in PLAIN or not is_forecast(given):
        return given
    held = yerr.labels() if y_true is None and isinstance(yerr, ErrorModel) else y_true
    return forecast_of(given, None if held is None else len(held))


PREDERR_OF_FILES = (
    "prederr is taken together with arrays or a table in memory: read the file into a table, then pass the names of its "
    "columns, evaluate(table, y=..., pred=..., prederr=...). For data that do not fit in memory feed an Accumulator."
)


def errors_of_predictions(prederr: Any, models: Mapping[str, Any], table: Any = None) -> dict[str, Any]:
    """Standard errors of the predictions by model: what was given for all, or by name; names of columns of the `table`."""
    if prederr is None:
        return {}
    if not isinstance(prederr, Mapping):
        given = dict.fromkeys(models, prederr)
    else:
        given = {str(name): errors for name, errors in prederr.items() if errors is not None}
        unknown = [name for name in given if name not in models]
        if unknown:
            raise ValueError(
                f"prederr names a model {unknown[0]!r} that has no predictions. The models are: {', '.join(models)}."
            )
    named = {f"prederr[{name!r}]": column for name, column in given.items() if isinstance(column, str)}
    if named and table is None:
        raise ValueError(
            f"prederr is the text {next(iter(named.values()))!r}: give numbers, or the name of a column together with a table, "
            "evaluate(table, y=, pred=, prederr=)."
        )
    found = tables.select(table, dict(named)) if named else {}
    return {name: found.get(f"prederr[{name!r}]", errors) for name, errors in given.items()}


def _from_table(
    table: Any, y_pred: Any, y: Hashable | None, pred: Any, yerr: Any, sample_weight: Any, by: Any
) -> tuple[Any, dict[str, Any], Any, Any, Any]:
    """The columns that the arguments name; anything else stays as it is."""
    if y_pred is not None:
        raise ValueError("give predictions either as y_pred or, for a table, as the names of its columns in pred.")
    if pred is None:
        raise ValueError("pred is missing: name the column, or the list of columns, that holds the predictions.")
    if y is None and not isinstance(yerr, ErrorModel):
        raise ValueError("y is missing: name the column that holds the labels.")
    chosen, arguments = predicted_columns(pred, tables.column_names(table))
    names: dict[str, Hashable] = {} if y is None else {"y": y}
    for argument, given in zip(arguments, chosen.values(), strict=True):
        names |= columns_named(argument, given)
    pair = error_columns(yerr)
    if pair:
        names |= {"yerr[0]": pair[0], "yerr[1]": pair[1]}
    for argument, value in (("yerr", yerr), ("sample_weight", sample_weight), ("by", by)):
        if isinstance(value, str):
            names[argument] = value
    found = tables.select(table, names)
    models = {
        model: put_together(given, [found[one] for one in columns_named(argument, given)])
        for (model, given), argument in zip(chosen.items(), arguments, strict=True)
    }
    if pair:
        yerr = np.stack([_numbers(found[f"yerr[{k}]"]) for k in (0, 1)])
    weight = found.get("sample_weight", sample_weight)
    return found.get("y"), models, found.get("yerr", yerr), weight, found.get("by", by)


class SeveralColumns(NamedTuple):
    """The columns of one model that predicts more than a number: (mean, std), or members or quantiles."""

    names: tuple[Hashable, ...]
    pair: bool
    """Whether they are mean and standard deviation."""

    def __str__(self) -> str:
        return ", ".join(map(str, self.names))


def predicted_columns(pred: Any, known: Collection[Any] | None = None) -> tuple[dict[str, Any], list[str]]:
    """The column of each model (of one name, a list of names, or a mapping from model to name), as messages call it.

    In a mapping a model may have several columns, as its predictions may be in memory: a list of members or quantiles, or the
    pair (mean, std). A tuple among the `known` columns is a name.
    """
    if isinstance(pred, Mapping):
        chosen = {str(model): _of_model(given, known or ()) for model, given in pred.items()}
    else:
        chosen = {str(name): name for name in (pred if isinstance(pred, list | tuple) else [pred])}
    if not chosen:
        raise ValueError("pred is empty: name the columns that hold the predictions.")
    for name in chosen.values():
        if not isinstance(name, Hashable):
            raise ValueError(
                f"pred holds a {type(name).__name__}: give the name of a column, a list of names, or a mapping from model to "
                "name, or to the names of several columns: {model: (mean, std)}, {model: [q10, q50, q90]}. Predictions that "
                "are not a column of the table go with the labels: evaluate(y_true, y_pred)."
            )
    return chosen, [f"pred[{key!r}]" for key in (chosen if isinstance(pred, Mapping) else range(len(chosen)))]


def _of_model(given: Any, known: Collection[Any]) -> Any:
    pair = isinstance(given, tuple) and given not in known and len(given) == 2
    if not pair and not (isinstance(given, list) and given):
        return given
    return SeveralColumns(tuple(given), pair) if all(isinstance(name, Hashable) for name in given) else given


def columns_named(argument: str, given: Any) -> dict[str, Any]:
    """The columns of one model, each by what messages call it."""
    if not isinstance(given, SeveralColumns):
        return {argument: given}
    return {f"{argument}[{k}]": name for k, name in enumerate(given.names)}


def put_together(given: Any, columns: Sequence[Any]) -> Any:
    """The columns of one model as its predictions are passed in memory: a column, the pair (mean, std), or (n, k)."""
    if not isinstance(given, SeveralColumns):
        return columns[0]
    return tuple(columns) if given.pair else np.stack([_numbers(column) for column in columns], axis=1)


def error_columns(yerr: Any) -> tuple[str, str] | None:
    """The columns of lower and upper errors, where `yerr` is a pair of names."""
    pair = isinstance(yerr, list | tuple) and len(yerr) == 2 and all(isinstance(name, str) for name in yerr)
    return (yerr[0], yerr[1]) if pair else None


def _numbers(column: Any) -> Any:
    """A column as floats, NaN where pandas knows no value; a unit stays."""
    return column.to_numpy(dtype=np.float64, na_value=np.nan) if tables.has_index(column) else np.asanyarray(column)


def rows(value: Any, index: NDArray[np.intp]) -> Any:
    """Some rows of an argument that has an entry for each label, with their row labels, masks and units."""
    if value is None or np.ndim(value) == 0:
        return value
    if isinstance(value, Forecast):
        return value[index]
    return value.iloc[index] if tables.has_index(value) else np.asanyarray(value)[index]


def errors_of(yerr: Any, index: NDArray[np.intp], n: int) -> Any:
    """The errors of some of the n labels: of a model, of an array, or of lower and upper errors."""
    if isinstance(yerr, ErrorModel):
        return yerr if yerr.size is None else yerr[index]
    if tables.has_index(yerr) or np.ndim(yerr) < 2:
        return rows(yerr, index)
    array = np.asanyarray(yerr)
    return array[..., index] if array.shape[-1] == n else array[index]
