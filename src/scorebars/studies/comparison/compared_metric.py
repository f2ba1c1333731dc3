"""The metric of a comparison: a name, a function, or a function with its options."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, signature
from typing import Any

from numpy.typing import NDArray

from scorebars.arrays import FloatArray
from scorebars.metrics.registry import entry_of
from scorebars.score import Declaration, Score

_OF_THE_DATA = ("yerr", "sample_weight", "multioutput")
"""Arguments that are no options: they come with the data."""


@dataclass(frozen=True)
class ComparedMetric:
    """A metric function with its options."""

    function: Callable[..., Any]
    declaration: Declaration
    options: Mapping[str, Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Options that follow from the data: the classes that redrawn labels may lack."""

    @property
    def name(self) -> str:
        """With the options that were given."""
        given = ", ".join(f"{option}={value!r}" for option, value in self.options.items())
        return f"{self.declaration.name}({given})" if given else self.declaration.name

    @property
    def needs_errors(self) -> bool:
        """Whether the classical metric itself takes the errors: reduced chi-squared."""
        return signature(self.function).parameters["yerr"].default is Parameter.empty

    def score(self, y: Any, p: Any, yerr: Any, weight: FloatArray | None) -> Score:
        """The Score of one model."""
        given = {} if weight is None else {"sample_weight": weight}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a drawn class is missing, or that a moment does not exist
            found = self.function(y, p, yerr=yerr, **given, **{**self.fixed, **self.options})
        if not isinstance(found, Score):
            raise ValueError(
                f"{self.name} gives {type(found).__name__}, not one number, so models cannot be compared by it. Choose "
                "an average over classes or outputs."
            )
        return found

    def classical(self, y: NDArray[Any], p: NDArray[Any], yerr: Any, weight: FloatArray | None) -> float:
        """The observed metric; nan where it is not defined for these labels."""
        try:
            return self.score(y, p, yerr if self.needs_errors else None, weight).observed
        except (ValueError, ZeroDivisionError, OverflowError):
            return float("nan")


def compared_metric(metric: Any, options: Mapping[str, Any]) -> ComparedMetric:
    """The metric that a user means; refuses unknown options, and those that are missing."""
    bound: dict[str, Any] = {}
    while isinstance(metric, partial):
        if metric.args:
            raise ValueError("metric: bind options by name, functools.partial(sb.fbeta_score, beta=2).")
        bound, metric = {**metric.keywords, **bound}, metric.func
    function = entry_of(metric).function if isinstance(metric, str) else metric
    declaration = getattr(function, "declaration", None)
    if not callable(function) or not isinstance(declaration, Declaration):
        raise ValueError(
            f"metric must be the name of a metric, a metric function of scorebars, or what sb.metric(loss) made, got "
            f"{metric!r}."
        )
    if not declaration.scored:
        raise ValueError(f"compare does not take {declaration.name}: it is no single number with a direction.")
    if declaration.name == "mean_error":
        raise ValueError(
            "compare does not take mean_error: of two biases neither sign is better. Use mean_squared_error."
        )
    given = {**bound, **options}
    known = {
        name: one.default is Parameter.empty
        for name, one in signature(function).parameters.items()
        if one.kind is Parameter.KEYWORD_ONLY and name not in _OF_THE_DATA
    }
    for option in given:
        if option not in known:
            listed = ", ".join(known) if known else "none"
            raise ValueError(f"{declaration.name} has no option {option!r}. It has: {listed}.")
    missing = [option for option, needed in known.items() if needed and option not in given]
    if missing:
        raise ValueError(
            f"{declaration.name} needs its {' and '.join(missing)}: compare(..., metric={declaration.name!r}, "
            f"{missing[0]}=...)."
        )
    return ComparedMetric(function, declaration, given)


def with_all_classes(metric: ComparedMetric, classes: NDArray[Any], prediction: NDArray[Any]) -> ComparedMetric:
    """The same metric, told of all classes: redrawn labels need not show each of them."""
    parameters = signature(metric.function).parameters
    given, fixed = metric.options, {}
    of_classes = "y_pred" in parameters
    default = parameters["average"].default if "average" in parameters else None
    binary = of_classes and given.get("average", default) == "binary"
    by_columns = not of_classes and (prediction.ndim == 2 or metric.declaration.name == "log_loss")
    if "labels" in parameters and "labels" not in given and not binary and (of_classes or by_columns):
        fixed["labels"] = classes
    if not of_classes and prediction.ndim == 1 and "pos_label" in parameters and "pos_label" not in given:
        fixed["pos_label"] = classes[-1]
    return ComparedMetric(metric.function, metric.declaration, given, fixed)
