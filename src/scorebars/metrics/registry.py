"""Every metric is declared once, beside its function; tests, docs and command line read the declaration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from scorebars.score import Declaration

Function = TypeVar("Function", bound=Callable[..., Any])

_METRICS: dict[str, tuple[Declaration, Callable[..., Any]]] = {}


def declares(declaration: Declaration) -> Callable[[Function], Function]:
    """Register a public metric function under its declaration."""

    def register(function: Function) -> Function:
        _METRICS[declaration.name] = (declaration, function)
        return function

    return register


def declarations() -> dict[str, Declaration]:
    """All declared metrics by name."""
    return {name: declaration for name, (declaration, _) in _METRICS.items()}


def function_of(name: str) -> Callable[..., Any]:
    """The public function of a metric."""
    if name not in _METRICS:
        raise ValueError(f"there is no metric {name!r}. The metrics are: {', '.join(sorted(_METRICS))}.")
    return _METRICS[name][1]
