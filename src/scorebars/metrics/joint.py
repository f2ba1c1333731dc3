"""The common way of metrics of all labels together: data, answers, Score."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorebars.answers.average import AverageAnswers
from scorebars.answers.joint import MANY, JointAnswers, JointMetric
from scorebars.answers.rescaled import Rescaled
from scorebars.engines import BadValues
from scorebars.errors.base import FloatArray
from scorebars.measured import Measured, between
from scorebars.metrics import inputs
from scorebars.metrics.additive import Maker, scored
from scorebars.metrics.undefined import warn_undefined
from scorebars.score import Answers, Score, Scores


def joint(metric: JointMetric, least: int = 1) -> Maker:
    """How the answers of a metric of all labels together are made from data; it needs `least` labels."""

    def make(data: Measured) -> Answers:
        by_sums = metric.from_sums is not None and data.n >= MANY and data.plain_normal
        if not by_sums:  # sums show bad values by themselves
            inputs.diagnose(data)
        if data.n < least:
            raise ValueError(
                f"{metric.declaration.name} is not defined with {data.n} label(s): it needs at least {least}, since it "
                "compares labels with each other."
            )
        if metric.needs_variation and np.ptp(np.asarray(data.p, dtype=np.float64)) == 0:
            warn_undefined(f"y_pred does not vary, so {metric.declaration.name} is undefined and taken as 0.")
        if metric.declaration.degree == 1:
            return _in_any_unit(metric, data)
        try:
            return JointAnswers(metric, data)
        except BadValues:
            inputs.diagnose(data)
            raise

    return make


def _in_any_unit(metric: JointMetric, data: Measured) -> Answers:
    """Answers in the unit of the labels, found in one in which the squares of values and errors are in range."""
    y, p = np.asarray(data.y, dtype=np.float64), np.asarray(data.p, dtype=np.float64)
    with np.errstate(over="ignore"):  # residuals may be larger than the largest double
        observed = float(metric.values(y[None], p, data.weight)[0])
    scale = between(observed, data.errors.largest(y))
    if scale == 1.0:
        return JointAnswers(metric, data, observed)
    return Rescaled(JointAnswers(metric, data.scaled(scale)), (scale,))


def joint_score(
    metric: JointMetric,
    y_true: Any,
    y_pred: Any,
    yerr: Any,
    sample_weight: Any,
    multioutput: Any = "uniform_average",
    least: int = 1,
) -> Score | Scores:
    """A Score, or one for each output; `least` is the number of labels that the metric needs."""
    data = inputs.measured(y_true, y_pred, yerr, sample_weight)
    make = joint(metric, least)
    if len(data) == 1 and isinstance(multioutput, str) and multioutput in ("uniform_average", "variance_weighted"):
        return scored(make(data[0]), data[0].unit)
    if isinstance(multioutput, str) and multioutput == "variance_weighted":
        return _averaged(make, data, _label_variances(data))
    weights = inputs.output_weights(multioutput, len(data))
    if weights is None:
        return Scores(scored(make(one), one.unit) for one in data)
    return _averaged(make, data, weights)


def _averaged(make: Maker, data: list[Measured], weights: FloatArray) -> Score:
    return scored(AverageAnswers([make(one) for one in data], weights), data[0].unit)


def _label_variances(data: list[Measured]) -> FloatArray:
    """Weights of the outputs by the scatter of their labels; equal where no output varies."""
    scatter = []
    for one in data:
        y = np.asarray(one.y, dtype=np.float64)
        scatter.append(float(np.sum(one.shares * np.square(y - np.sum(one.shares * y)))))
    total = sum(scatter)
    return np.full(len(data), 1.0 / len(data)) if total == 0 else np.array(scatter) / total
