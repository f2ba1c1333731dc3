"""Parameters of the error families: a number, or one for each label, checked with a message that says what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorebars import checks
from scorebars.errors.base import FloatArray


def non_negative(values: Any, argument: str, meaning: str) -> FloatArray | float:
    """A number or (n,), finite and at least 0; `meaning` says what the parameter is."""
    array = _finite(values, argument, meaning)
    if array.ndim == 0:
        if array < 0:
            raise ValueError(f"{argument} = {float(array)} is negative. {meaning}: it cannot be below 0.")
        return float(array)
    checks.require_non_negative(array, argument, f"{meaning}: it cannot be below 0.")
    return array


def positive(values: Any, argument: str, meaning: str) -> FloatArray | float:
    """A number or (n,), finite and above 0."""
    array = _finite(values, argument, meaning)
    bad = array <= 0
    if array.ndim == 0:
        if bad:
            raise ValueError(f"{argument} = {float(array)} is not positive. {meaning}: it must be above 0.")
        return float(array)
    if bad.any():
        raise checks.complain(
            argument, "has values that are not positive", bad, array, f"{meaning}: it must be above 0."
        )
    return array


def _finite(values: Any, argument: str, meaning: str) -> FloatArray:
    array = np.asarray(checks.real_array(values, argument), dtype=np.float64)
    if array.ndim == 0:
        if not np.isfinite(array):
            raise ValueError(f"{argument} = {float(array)} is not finite. {meaning}.")
        return array
    array = checks.column(array, argument)
    checks.require_finite(array, argument)
    return array


def common_size(**parameters: FloatArray | float) -> int | None:
    """How many labels these parameters describe; None if they are all plain numbers."""
    sizes = {name: len(value) for name, value in parameters.items() if isinstance(value, np.ndarray)}
    if len(set(sizes.values())) > 1:
        names, numbers = " and ".join(sizes), " and ".join(map(str, sizes.values()))
        raise ValueError(f"{names} describe different numbers of labels: {numbers}.")
    return next(iter(sizes.values()), None)


def described(name: str, kind: str, **parameters: FloatArray | float) -> str:
    """A model as text: plain numbers shown, arrays counted.

    >>> described("Laplace", "berkson", scale=0.5)
    "Laplace(scale=0.5, kind='berkson')"
    """
    parts = [
        f"{key}=<{len(value)} values>" if isinstance(value, np.ndarray) else f"{key}={value:g}"
        for key, value in parameters.items()
    ]
    return f"{name}({', '.join(parts + ([] if kind == 'classical' else [f'kind={kind!r}']))})"
