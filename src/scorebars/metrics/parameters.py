"""Options of metrics that are single numbers."""

from __future__ import annotations

import math
import numbers
from typing import Any


def fraction(value: Any, argument: str) -> float:
    """A number between 0 and 1, both allowed."""
    if not _is_number(value) or not 0 <= float(value) <= 1:
        raise ValueError(f"{argument} must be a number between 0 and 1, got {value!r}.")
    return float(value)


def above_zero(value: Any, argument: str) -> float:
    """A finite number above 0."""
    if not _is_number(value) or not 0 < float(value) < math.inf:
        raise ValueError(f"{argument} must be a positive number, got {value!r}.")
    return float(value)


def at_least_zero(value: Any, argument: str) -> float:
    """A finite number of at least 0."""
    if not _is_number(value) or not 0 <= float(value) < math.inf:
        raise ValueError(f"{argument} must be a number of at least 0, got {value!r}.")
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
