"""The common way of all additive regression metrics: data, one pass, answers, Score."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from scorebars.answers.average import AverageAnswers
from scorebars.answers.mean_loss import MeanLoss
from scorebars.errors import Normal
from scorebars.losses import Loss
from scorebars.measured import Measured
from scorebars.metrics import inputs
from scorebars.score import Answers, Declaration, Score, Scores, UndefinedMomentWarning

Maker = Callable[[Measured], Answers]


def mean_loss(declaration: Declaration, loss: Loss, answers: type[MeanLoss]) -> Maker:
    """How the answers of a mean loss are made from data."""

    def make(data: Measured) -> MeanLoss:
        return answers(declaration, loss, data, inputs.measured_totals(loss, data))

    return make


def score(
    make: Maker,
    y_true: Any,
    y_pred: Any,
    yerr: Any,
    sample_weight: Any,
    multioutput: Any = "uniform_average",
    flatten: bool = True,
) -> Score | Scores:
    """A Score, or one for each output. A mean over outputs is one mean over all labels where `flatten` says so."""
    data = inputs.measured(y_true, y_pred, yerr, sample_weight)
    if len(data) == 1 and isinstance(multioutput, str) and multioutput == "uniform_average":
        return scored(make(data[0]), data[0].unit)
    weights = inputs.output_weights(multioutput, len(data))
    if weights is None:
        return Scores(scored(make(one), one.unit) for one in data)
    joined = _joined(data, weights) if flatten else None
    if joined is not None:
        return scored(make(joined), data[0].unit)
    return scored(AverageAnswers([make(one) for one in data], weights), data[0].unit)


def scored(answers: Answers, unit: Any = None) -> Score:
    """The Score, with a warning where its expected value or its std does not exist."""
    degree = answers.declaration.degree
    if unit is not None and degree:
        answers.unit = unit**degree
    warn_of_infinite(answers, stacklevel=5)
    return Score(answers)


def warn_of_infinite(answers: Answers, stacklevel: int = 3) -> None:
    """Say where the expected value or the std does not exist, and what to use instead."""
    what = "expected value" if not math.isfinite(answers.expected) else "std" if not math.isfinite(answers.std) else ""
    if what:
        warnings.warn(
            f"the {what} of {answers.declaration.name} is infinite: {answers.why_undefined()}",
            UndefinedMomentWarning,
            stacklevel=stacklevel,
        )


def _joined(data: list[Measured], output_weights: Any) -> Measured | None:
    """All outputs as one row of labels, item by item; None where errors are not plain independent normals."""
    if len(data) == 1:
        return data[0]
    kind = data[0].errors.kind
    if not all(type(e) is Normal and e.independent and e.kind == kind for e in (one.errors for one in data)):
        return None
    n = data[0].n
    sigma = np.stack([np.broadcast_to(one.errors.sigma, (n,)) for one in data], axis=1)  # type: ignore[attr-defined]
    own = np.ones(n) if data[0].weight is None else data[0].weight
    weight = np.outer(own, output_weights * len(data)).reshape(-1)
    y, p = (np.stack([getattr(one, name) for one in data], axis=1).reshape(-1) for name in ("y", "p"))
    return Measured(y, p, Normal.trusted(sigma.reshape(-1), kind), weight, outputs=len(data))
