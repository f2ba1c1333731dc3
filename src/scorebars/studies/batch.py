"""What batches of numbers and of classes have in common on their way into an accumulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scorebars.errors.base import FloatArray
from scorebars.studies.gather import named_predictions

KEPT = 65_536
"""Up to so many labels an accumulator keeps them as they are, and its result is that of `evaluate`."""
ON_ARRAYS = "Use scorebars.evaluate on arrays for this."


def named(y_true: Any, y_pred: Any) -> dict[str, Any]:
    """Predictions by model, after a look at whether labels and predictions have entries at all."""
    if y_true is None:
        raise ValueError(
            "y_true is missing: an accumulator takes the labels themselves. Where the error model holds them, "
            "pass y_true=yerr.labels(), or use scorebars.evaluate on arrays."
        )
    models = named_predictions(y_pred)
    for argument, values in {"y_true": y_true, **prefixed(models)}.items():
        flat = values.ndim == 0 if hasattr(values, "ndim") else not hasattr(values, "__len__")
        if flat or isinstance(values, str | bytes):
            raise ValueError(
                f"{argument} is a {type(values).__name__}, not an array: give one entry for each label (of a generator, "
                "list(...))."
            )
    return models


def argument_of(name: str, models: Mapping[str, Any]) -> str:
    """What the predictions of a model are called in messages."""
    return "y_pred" if len(models) == 1 else f"y_pred[{name!r}]"


def prefixed(models: Mapping[str, Any]) -> dict[str, Any]:
    """The predictions by what they are called in messages."""
    return {argument_of(name, models): values for name, values in models.items()}


def one_or_each(values: Sequence[FloatArray | float], sizes: Sequence[int]) -> FloatArray | float:
    """One number where it serves all batches, else one for each label."""
    numbers = {value for value in values if isinstance(value, float)}
    if len(numbers) == 1 and all(isinstance(value, float) for value in values):
        return numbers.pop()
    return np.concatenate([np.broadcast_to(value, (n,)) for value, n in zip(values, sizes, strict=True)])
