"""Parameters of error models: checked where a model is made, and shown as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scorebars import checks
from scorebars.arrays import BoolArray, FloatArray


def shown_parameter(name: str, value: Any) -> str:
    """A parameter as text: a plain number shown, an array counted.

    >>> shown_parameter("scale", 0.5), shown_parameter("scale", np.ones(3))
    ('scale=0.5', 'scale=<3 values>')
    """
    return f"{name}=<{len(value)} values>" if isinstance(value, np.ndarray) else f"{name}={value:g}"


def non_negative(values: Any, argument: str, meaning: str) -> FloatArray | float:
    """A number or (n,), finite and at least 0; `meaning` says what the parameter is."""
    return _checked(values, argument, lambda x: x < 0, "negative", f"{meaning}: it cannot be below 0.")


def positive_parameter(values: Any, argument: str, meaning: str) -> FloatArray | float:
    """A number or (n,), finite and above 0."""
    return _checked(values, argument, lambda x: x <= 0, "not positive", f"{meaning}: it must be above 0.")


def standard_deviations(values: Any, argument: str) -> FloatArray | float:
    """Standard deviations: a number or (n,), finite and not negative."""
    return non_negative(values, argument, "sigma is a standard deviation (not a variance, not a lower error)")


def _checked(
    values: Any, argument: str, wrong: Callable[[FloatArray], BoolArray], what: str, meaning: str
) -> FloatArray | float:
    array = np.asarray(checks.real_array(values, argument), dtype=np.float64)
    if array.ndim == 0:
        if not np.isfinite(array) or wrong(array):
            raise ValueError(
                f"{argument} = {float(array)} is {what if np.isfinite(array) else 'not finite'}. {meaning}"
            )
        return float(array)
    array = checks.column(array, argument)
    checks.require_finite(array, argument)
    has = "has negative values" if what == "negative" else f"has values that are {what}"
    checks.refuse(argument, has, wrong(array), array, meaning)
    return array


def require_common_size(**parameters: Any) -> None:
    """Refuse parameters that describe different numbers of labels."""
    sizes = {name: len(value) for name, value in parameters.items() if isinstance(value, np.ndarray)}
    if len(set(sizes.values())) > 1:
        names, numbers = " and ".join(sizes), " and ".join(map(str, sizes.values()))
        raise ValueError(f"{names} describe different numbers of labels: {numbers}.")


def rows_of_numbers(values: Any, argument: str, one: str) -> FloatArray:
    """An (n, k) array with one row for each label, short rows filled with NaN; `one` is what a row holds."""
    if isinstance(values, list | tuple) and len({np.size(row) for row in values}) > 1:
        padded = np.full((len(values), max(np.size(row) for row in values)), np.nan)
        for i, row in enumerate(values):
            padded[i, : np.size(row)] = checks.real_array(row, f"{argument}[{i}]").reshape(-1)
        values = padded
    rows = np.asarray(checks.real_array(values, argument), dtype=np.float64)
    if rows.ndim != 2 or not rows.size:
        raise ValueError(
            f"{argument} must have one row of {one}s for each label, shape (n, {one}s), but has shape {rows.shape}."
        )
    checks.refuse(argument, "contains infinity", np.isinf(rows), rows, f"Remove these {one}s or set them to NaN.")
    empty, hint = np.asarray(np.isnan(rows).all(axis=1)), "Each label needs at least one: remove these rows."
    checks.refuse(argument, f"has rows without any {one}", empty, rows[:, 0], hint)
    return rows
