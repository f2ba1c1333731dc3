"""The way of every regression metric: what the user passes, checked and aligned; the answers; the Score.

A metric is a function that finds its answers from checked data. `regression_metric` makes it public: it takes labels,
predictions, their errors and weights, and finds a score for each output or for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from inspect import signature
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from scorebars import checks, tables
from scorebars._shared.given_data import take
from scorebars.answers.base import Answers
from scorebars.answers.clustered import grouped
from scorebars.answers.combined import AverageAnswers, with_prediction_errors
from scorebars.answers.evidence import sums_of
from scorebars.answers.score import Declaration, Score, Scores, UndefinedMomentWarning
from scorebars.answers.together.all_labels_metric import WithoutValue
from scorebars.arrays import PLAIN, FloatArray
from scorebars.engines import BadValues
from scorebars.engines.on_device import on_device
from scorebars.errors import ErrorModel, MeasurementError, Normal, Verified
from scorebars.errors.label_and_prediction import LabelAndPrediction
from scorebars.errors.measurement_error import LabelErrors, held_labels
from scorebars.errors.normal import error_model
from scorebars.measured import Measured, near_one
from scorebars.metrics.registry import Maker, declares, take_over
from scorebars.metrics.verified_labels import verified_numbers

Found = TypeVar("Found")


Outputs = Literal["pooled", "averaged", "by variance", "one"]
"""What a metric does with labels of several outputs: a mean over all labels ("pooled"); an average over the outputs, which
may be weighted by the variance of their labels ("by variance"); or it takes one output only ("one")."""


def score(
    make: Maker,
    declaration: Declaration,
    outputs: Outputs,
    y_true: Any,
    y_pred: Any,
    yerr: Any,
    prederr: Any,
    sample_weight: Any,
    multioutput: Any,
) -> Score | Scores:
    """A Score, or one for each output."""
    if isinstance(yerr, Verified):
        require_no_prederr(prederr)

        def plain(y: Any, errors: Any) -> Score | Scores:
            return score(make, declaration, outputs, y, y_pred, errors, None, sample_weight, multioutput)

        return verified_numbers(plain, y_true, yerr, sample_weight)
    data = measured(y_true, y_pred, yerr, sample_weight, prederr)
    if outputs == "one":
        _require_one(data, declaration.name)
    named = multioutput if isinstance(multioutput, str) else None
    by_variance = named == "variance_weighted" and outputs == "by variance"
    if len(data) == 1 and (by_variance or named == "uniform_average"):
        return of_one_output(make, data[0])
    weights = _label_variances(data) if by_variance else output_weights(multioutput, len(data))
    if weights is None:
        return Scores(of_one_output(make, one) for one in data)
    joined = _joined(data, weights) if outputs == "pooled" else None
    if joined is not None:
        return scored(make(joined), data[0].unit)
    parts = [with_prediction_errors(make, one) for one in data]
    return scored(WithoutValue.average(parts, weights) or AverageAnswers(parts, weights), data[0].unit)


def regression_declaration(
    name: str,
    title: str,
    degree: int | None,
    low: float = 0.0,
    high: float = math.inf,
    perfect: float = 0.0,
    task: str = "regression",
    **more: Any,
) -> Declaration:
    """The declaration of a metric of numbers: as a rule an error, the smaller the better; a share where 1 is perfect."""
    return Declaration(name, title, perfect == 1.0, task, low, high, degree, perfect, **more)


def regression_metric(
    declaration: Declaration,
    *,
    outputs: Outputs = "pooled",
    of_forecast: Callable[..., Score | None] | None = None,
) -> Callable[[Callable[..., Answers]], Callable[..., Any]]:
    """Make a public metric of a function that finds the answers from checked data and its own options.

    The public function takes what every regression metric takes, and these options; weights where the declaration says so.
    Predictions that `of_forecast` knows as a forecast it scores itself.
    """
    not_taken = {*(() if declaration.weights else ("sample_weight",)), *(("multioutput",) if outputs == "one" else ())}

    def public(make: Callable[..., Answers]) -> Callable[..., Any]:
        def metric(
            y_true: ArrayLike | None,
            y_pred: ArrayLike,
            *,
            yerr: LabelErrors = None,
            prederr: ArrayLike | None = None,
            sample_weight: ArrayLike | None = None,
            multioutput: str | ArrayLike = "uniform_average",
            groups: ArrayLike | None = None,
            **options: Any,
        ) -> Score | Scores:
            if of_forecast is not None:
                several = of_forecast(y_true, y_pred, yerr, sample_weight, **options)
                if several is not None:
                    if prederr is not None:
                        raise ValueError("y_pred is a forecast, which has its own spread: leave prederr out.")
                    return in_groups(several, groups, sample_weight, y_true)
            if not_taken:
                _require_default(declaration.name, not_taken, sample_weight=sample_weight, multioutput=multioutput)
            maker = partial(make, **options) if options else make
            found = score(maker, declaration, outputs, y_true, y_pred, yerr, prederr, sample_weight, multioutput)
            return found if groups is None else in_groups(found, groups, sample_weight, y_true)

        shown = signature(metric)
        if outputs == "one":
            taken = [one for name, one in shown.parameters.items() if name not in not_taken]
            shown = shown.replace(parameters=taken, return_annotation="Score")
        take_over(metric, make, shown)
        whole = outputs == "one" or of_forecast is not None  # the function has to see what the user passes
        return declares(declaration, None if whole else make)(metric)

    return public


_DEFAULTS = {"sample_weight": None, "multioutput": "uniform_average"}


def _require_default(name: str, not_taken: Collection[str], **given: Any) -> None:
    """Refuse arguments that this metric does not have, as Python does."""
    for argument in not_taken:
        if given[argument] is not _DEFAULTS[argument]:
            raise TypeError(f"{name}() got an unexpected keyword argument {argument!r}")


def in_groups(found: Found, groups: Any, sample_weight: Any, y_true: Any) -> Found:
    """The scores; where their items come in groups, in the rows of the labels, these are what test sets are drawn from."""
    if groups is None:
        return found
    tables.require_rows(y_true=y_true, groups=groups)
    result: Found = grouped(found, groups, sample_weight)
    return result


def one_output(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any, name: str, prederr: Any = None) -> Measured:
    """Labels and predictions of one output, checked and aligned."""
    data = measured(y_true, y_pred, yerr, sample_weight, prederr)
    _require_one(data, name)
    data[0].require_valid()
    return data[0]


def _require_one(data: list[Measured], name: str) -> None:
    if len(data) > 1:
        raise ValueError(f"Multioutput not supported in {name}: y_true has {len(data)} outputs. Pass one at a time.")


def of_one_output(make: Maker, data: Measured) -> Score:
    """The Score of checked data."""
    answers = make(data) if data.plain_normal else with_prediction_errors(make, data)
    usual = data.unit is None and math.isfinite(answers.expected) and math.isfinite(answers.std)
    return Score(answers) if usual else scored(answers, data.unit)


def scored(answers: Answers, unit: Any = None) -> Score:
    """The Score, with a warning where its expected value or its std does not exist."""
    if unit is not None and (degree := answers.declaration.degree):
        answers.unit = unit**degree
    finite = math.isfinite(answers.expected) and math.isfinite(answers.std)
    if not finite and not isinstance(answers, WithoutValue):  # those have warned
        checks.warn(Score(answers).undefined, UndefinedMomentWarning)
    return Score(answers)


def measured(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any, prederr: Any = None) -> list[Measured]:
    """One `Measured` for each output."""
    unit = None
    numbers = type(y_true) is np.ndarray and y_true.dtype.char != "O"
    numbers = numbers and type(y_pred) in PLAIN and type(yerr) in PLAIN and type(sample_weight) in PLAIN
    if not numbers or prederr is not None or (type(y_pred) is np.ndarray and y_pred.dtype.char == "O"):
        summed = on_device(y_true, y_pred, yerr, sample_weight) if prederr is None else None
        if summed is not None:
            return [summed]
        given = {"y_true": y_true, "y_pred": y_pred, "yerr": yerr, "prederr": prederr, "sample_weight": sample_weight}
        tables.require_rows(**given)
        y_true, y_pred, yerr, unit, prederr = take(y_true, y_pred, yerr, prederr)
    y, p = checks.pair(held_labels(yerr) if y_true is None else y_true, y_pred)
    weight = None if sample_weight is None else of_ordinary_size(checks.weights(sample_weight, len(y)))
    copy = len(y) <= Measured.COPIED or prederr is not None
    if y.ndim == 1:
        columns = [(y, p, error_model(yerr, y.shape, copy=copy))]
    else:
        checks.require_finite(y, "y_true")  # here, where the index of row and column is known
        checks.require_finite(p, "y_pred")
        columns = [(y[:, k], p[:, k], model) for k, model in enumerate(_models_of_outputs(yerr, y.shape, copy))]
    found = []
    for k, (y_k, p_k, model) in enumerate(columns):
        errors = model.for_labels(y_k)
        if prederr is not None:
            errors = _with_those_of_predictions(errors, prediction_errors(prederr, y.shape).reshape(len(y), -1)[:, k])
        found.append(Measured(y_k, p_k, errors, weight, unit=unit).kept())
    return found


def _with_those_of_predictions(errors: MeasurementError, sd: FloatArray) -> MeasurementError:
    if not np.any(sd):
        return errors
    if errors.limited:
        raise ValueError(
            "of labels that are limits (Censored) only intrinsic_scatter takes prederr. Leave it out for other metrics."
        )
    return LabelAndPrediction(errors, sd)


def require_no_prederr(prederr: Any) -> None:
    """Refuse errors of predictions together with gold labels."""
    if prederr is not None:
        raise ValueError("prederr is not taken together with gold labels (Verified): leave it out.")


def prediction_errors(prederr: Any, shape: tuple[int, ...]) -> FloatArray:
    """One standard deviation for each prediction: from a number, or one for each item, or for each item and output."""
    values = np.array(checks.real_array(prederr, "prederr"), dtype=np.float64)
    n = shape[0]
    if values.shape == (n, 1):
        values = values[:, 0]
    if values.shape not in ((), (n,), shape):
        each = "" if len(shape) == 1 else f", or shape {shape}"
        raise ValueError(
            f"prederr has shape {values.shape} but there are {n} predictions. Give a number, or one standard deviation for "
            f"each prediction{each}."
        )
    checks.require_finite(values, "prederr")
    checks.require_non_negative(values, "prederr", "prederr is a standard deviation: it cannot be below 0.")
    return np.broadcast_to(values[:, None] if values.shape == (n,) and len(shape) == 2 else values, shape)


def of_ordinary_size(weight: FloatArray | None) -> FloatArray | None:
    """Weights divided by a power of two where their squares may leave the doubles: only ratios count."""
    unit = 1.0 if weight is None else near_one(float(weight.max()))
    return weight if weight is None or unit == 1.0 else weight / unit


def _models_of_outputs(yerr: Any, shape: tuple[int, ...], copy: bool) -> list[MeasurementError]:
    outputs = shape[1]
    if isinstance(yerr, list | tuple) and len(yerr) == outputs and all(isinstance(m, ErrorModel) for m in yerr):
        return [error_model(model, shape[:1], copy) for model in yerr]
    if yerr is None or np.ndim(yerr) == 0:
        return [error_model(yerr, shape[:1], copy)] * outputs
    values = checks.real_array(yerr, "yerr")
    if values.shape in ((shape[0],), (shape[0], 1)):
        return [error_model(values.reshape(-1), shape[:1], copy)] * outputs
    if values.shape in (shape, (2, *shape)):
        return [error_model(values[..., k], shape[:1], copy) for k in range(outputs)]
    raise ValueError(
        f"yerr has shape {values.shape} but y_true has shape {shape}. Give a number, shape {shape[:1]} or {shape}, "
        f"{(2, *shape)} for lower and upper errors, or a list of {outputs} error models."
    )


def output_weights(multioutput: Any, outputs: int) -> FloatArray | None:
    """Weights of the outputs that sum to 1; None for raw values."""
    if isinstance(multioutput, str):
        if multioutput == "raw_values":
            return None
        if multioutput == "uniform_average":
            return np.full(outputs, 1.0 / outputs)
        raise ValueError(
            f"Allowed 'multioutput' string values are 'raw_values' and 'uniform_average'. You provided {multioutput!r}."
        )
    if multioutput is None or np.ndim(multioutput) == 0:
        raise ValueError(
            f"multioutput must be 'raw_values', 'uniform_average' or one weight for each output, got {multioutput!r}."
        )
    values = np.asarray(checks.column(multioutput, "multioutput"), dtype=np.float64)
    if outputs == 1:
        raise ValueError("Custom weights are useful only in multi-output cases: y_true has one output.")
    if len(values) != outputs:
        raise ValueError(f"There must be equally many custom weights ({len(values)}) as outputs ({outputs}).")
    checks.require_finite(values, "multioutput")
    checks.require_non_negative(values, "multioutput", "An output's weight cannot be below 0.")
    if not values.sum() > 0:
        raise ValueError("multioutput weights are all zero: at least one output must count.")
    return np.asarray(values / values.sum())


def _label_variances(data: list[Measured]) -> FloatArray:
    """Weights of the outputs by the scatter of their labels; equal where no output varies."""
    scatter = np.array([np.sum(x.shares * np.square(x.labels - np.sum(x.shares * x.labels))) for x in data])
    return scatter / scatter.sum() if scatter.any() else np.full(len(data), 1.0 / len(data))


def _joined(data: list[Measured], output_weights: Any) -> Measured | None:
    """All outputs as one row of labels, item by item; None where errors are not plain independent normals."""
    if len(data) == 1:
        return data[0]
    kind = data[0].errors.kind
    models = [one.errors.normal for one in data if one.plain_normal and one.kind == kind and not one.errors.estimated]
    sigmas = [model.sigma for model in models if model is not None and np.all(np.equal(model.repeats, 1.0))]
    scales = {one.errors.common_scale for one in data}
    if len(sigmas) < len(data) or len(scales) > 1:
        return None
    n = data[0].n
    sigma = np.stack([np.broadcast_to(one, (n,)) for one in sigmas], axis=1)
    own = np.ones(n) if data[0].weight is None else data[0].weight
    weight = np.outer(own, output_weights * len(data)).reshape(-1)
    y, p = (np.stack([getattr(one, name) for one in data], axis=1).reshape(-1) for name in ("y", "p"))
    errors = Normal.trusted(sigma.reshape(-1), kind)
    errors.common_scale = scales.pop()
    return Measured(y, p, errors, weight, outputs=len(data))


def sum_once(data: Measured, labels: bool, tolerance: float | None) -> None:
    """One pass for several metrics: with the sums of the labels' scatter, and of those within a tolerance."""
    if type(data) is Measured and data.plain_normal:
        with suppress(BadValues):  # the metrics say which value is bad
            sums_of(data, labels=labels, tolerance=tolerance)
