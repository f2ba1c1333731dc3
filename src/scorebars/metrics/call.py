"""The way of every regression metric: what the user passes, checked and aligned; the answers; the Score.

A metric is a function that finds its answers from checked data. `regression_metric` makes it public: it takes labels,
predictions, their errors and weights, and finds a score for each output or for all.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scorebars import checks, tables
from scorebars._shared.given_data import take
from scorebars.answers.base import Answers
from scorebars.answers.combined import AverageAnswers
from scorebars.answers.evidence import sums_of
from scorebars.answers.score import Declaration, Score, Scores, UndefinedMomentWarning
from scorebars.answers.together.all_labels_metric import AllLabelsAnswers, AllLabelsMetric
from scorebars.arrays import PLAIN, FloatArray
from scorebars.engines import BadValues
from scorebars.engines.on_device import on_device
from scorebars.errors import ErrorModel, MeasurementError, Normal
from scorebars.errors.measurement_error import LabelErrors, held_labels
from scorebars.errors.normal import error_model
from scorebars.measured import Measured
from scorebars.metrics.registry import Maker, declares, take_over, warn_undefined


def score(
    make: Maker,
    y_true: Any,
    y_pred: Any,
    yerr: Any,
    sample_weight: Any,
    multioutput: Any,
    flatten: bool,
    by_variance: bool,
) -> Score | Scores:
    """A Score, or one for each output.

    With `flatten` a mean over outputs is one mean over all labels. With `by_variance` outputs may be weighted by the
    variance of their labels.
    """
    data = measured(y_true, y_pred, yerr, sample_weight)
    weighted = by_variance and isinstance(multioutput, str) and multioutput == "variance_weighted"
    if len(data) == 1 and (weighted or (isinstance(multioutput, str) and multioutput == "uniform_average")):
        answers, unit = make(data[0]), data[0].unit
        usual = unit is None and math.isfinite(answers.expected) and math.isfinite(answers.std)
        return Score(answers) if usual else scored(answers, unit)
    weights = _label_variances(data) if weighted else output_weights(multioutput, len(data))
    if weights is None:
        return Scores(scored(make(one), one.unit) for one in data)
    joined = _joined(data, weights) if flatten else None
    answers = AverageAnswers([make(one) for one in data], weights) if joined is None else make(joined)
    return scored(answers, data[0].unit)


def regression_declaration(
    name: str,
    title: str,
    degree: int | None,
    low: float = 0.0,
    high: float = math.inf,
    perfect: float = 0.0,
    **more: Any,
) -> Declaration:
    """The declaration of a regression metric: as a rule an error, the smaller the better; a share where 1 is perfect."""
    return Declaration(name, title, perfect == 1.0, "regression", low, high, degree, perfect, **more)


def regression_metric(
    declaration: Declaration, *, flatten: bool = False, by_variance: bool = False
) -> Callable[[Callable[..., Answers]], Callable[..., Score | Scores]]:
    """Make a public metric of a function that finds the answers from checked data and its own options.

    The public function takes what every regression metric takes, and these options. See `score` for the rest.
    """

    def public(make: Callable[..., Answers]) -> Callable[..., Score | Scores]:
        def metric(
            y_true: ArrayLike | None,
            y_pred: ArrayLike,
            *,
            yerr: LabelErrors = None,
            sample_weight: ArrayLike | None = None,
            multioutput: str | ArrayLike = "uniform_average",
            **options: Any,
        ) -> Score | Scores:
            maker = partial(make, **options) if options else make
            return score(maker, y_true, y_pred, yerr, sample_weight, multioutput, flatten, by_variance)

        take_over(metric, make, signature(metric))
        return declares(declaration, make)(metric)

    return public


def one_score(metric: AllLabelsMetric, y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any = None) -> Score:
    """The Score of a metric that takes one output only."""
    data = one_output(y_true, y_pred, yerr, sample_weight, metric.declaration.name)
    return scored(of_all_labels(metric, data), data.unit)


def one_output(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any, name: str) -> Measured:
    """Labels and predictions of one output, checked and aligned."""
    data = measured(y_true, y_pred, yerr, sample_weight)
    if len(data) > 1:
        raise ValueError(f"Multioutput not supported in {name}: y_true has {len(data)} outputs. Pass one at a time.")
    data[0].require_valid()
    return data[0]


def of_all_labels(metric: AllLabelsMetric, data: Measured) -> Answers:
    """The answers of a metric of all labels together."""
    name = metric.declaration.name
    if metric.from_sums is None or data.n < metric.least:  # sums show bad values by themselves
        data.require_valid()
    if data.n < metric.least:
        raise ValueError(
            f"{name} is not defined with {data.n} label(s): it needs at least {metric.least}, since it compares labels "
            "with each other."
        )
    if metric.needs_variation and np.ptp(data.predictions) == 0:
        warn_undefined(f"y_pred does not vary, so {name} is undefined and taken as 0.")
    return AllLabelsAnswers.of(metric, data)


def scored(answers: Answers, unit: Any = None) -> Score:
    """The Score, with a warning where its expected value or its std does not exist."""
    degree = answers.declaration.degree
    if unit is not None and degree:
        answers.unit = unit**degree
    if not (math.isfinite(answers.expected) and math.isfinite(answers.std)):
        warnings.warn(Score(answers).undefined, UndefinedMomentWarning, stacklevel=4)
    return Score(answers)


def measured(y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> list[Measured]:
    """One `Measured` for each output."""
    unit = None
    numbers = type(y_true) is np.ndarray and y_true.dtype.char != "O"
    if not (numbers and type(y_pred) in PLAIN and type(yerr) in PLAIN and type(sample_weight) in PLAIN):
        tables.require_rows(y_true=y_true, y_pred=y_pred, yerr=yerr, sample_weight=sample_weight)
        y_true, y_pred, yerr, unit = take(y_true, y_pred, yerr)
        summed = on_device(y_true, y_pred, yerr, sample_weight)
        if summed is not None:
            return [summed]
    y, p = checks.pair(held_labels(yerr) if y_true is None else y_true, y_pred)
    weight = None if sample_weight is None else _of_ordinary_size(checks.weights(sample_weight, len(y)))
    if y.ndim == 1:
        errors = error_model(yerr, y.shape, copy=len(y) <= Measured.COPIED).for_labels(y)
        return [Measured(y, p, errors, weight, unit=unit, plain=errors.plain_normal).kept()]
    checks.require_finite(y, "y_true")  # here, where the index of row and column is known
    checks.require_finite(p, "y_pred")
    models = _models_of_outputs(yerr, y.shape)
    models = [model.for_labels(y[:, k]) for k, model in enumerate(models)]
    return [Measured(y[:, k], p[:, k], model, weight, unit=unit).kept() for k, model in enumerate(models)]


def _of_ordinary_size(weight: FloatArray | None) -> FloatArray | None:
    """Weights divided by a power of two where their squares would leave the doubles: only ratios count."""
    if weight is None or 1e-70 < float(weight.max()) < 1e70:
        return weight
    return np.asarray(np.ldexp(weight, -math.frexp(float(weight.max()))[1]))


def _models_of_outputs(yerr: Any, shape: tuple[int, ...]) -> list[MeasurementError]:
    outputs, copy = shape[1], shape[0] <= Measured.COPIED
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
    if len(sigmas) < len(data):
        return None
    n = data[0].n
    sigma = np.stack([np.broadcast_to(one, (n,)) for one in sigmas], axis=1)
    own = np.ones(n) if data[0].weight is None else data[0].weight
    weight = np.outer(own, output_weights * len(data)).reshape(-1)
    y, p = (np.stack([getattr(one, name) for one in data], axis=1).reshape(-1) for name in ("y", "p"))
    return Measured(y, p, Normal.trusted(sigma.reshape(-1), kind), weight, outputs=len(data))


def sum_once(data: Measured, labels: bool, tolerance: float | None) -> None:
    """One pass for several metrics: with the sums of the labels' scatter, and of those within a tolerance."""
    if type(data) is Measured and data.plain_normal:
        with suppress(BadValues):  # the metrics say which value is bad
            sums_of(data, labels=labels, tolerance=tolerance)
