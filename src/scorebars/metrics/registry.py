"""Every metric is declared once, beside its function; tests, docs and command line read the declaration."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from importlib import import_module
from inspect import Signature, signature
from pkgutil import iter_modules
from typing import Any, TypeVar

from scorebars._shared.metric_names import SHORT_NAMES, full_name
from scorebars.answers.base import Answers
from scorebars.answers.score import Declaration
from scorebars.checks import warn
from scorebars.measured import Measured
from scorebars.metrics.parameter_texts import documented

Function = TypeVar("Function", bound=Callable[..., Any])
Maker = Callable[[Measured], Answers]


@dataclass(frozen=True)
class Entry:
    """A declared metric: its declaration, its public function, and how its answers are made from checked data.

    `make` takes the data and the options of the metric; None where the function has to see what the user passes.
    """

    declaration: Declaration
    function: Callable[..., Any]
    make: Callable[..., Answers] | None


_METRICS: dict[str, Entry] = {}


def declares(declaration: Declaration, make: Callable[..., Answers] | None = None) -> Callable[[Function], Function]:
    """Register a public metric function under its declaration, which it carries as its attribute `declaration`.

    `make` finds its answers from checked data and its options; None where the function has to see what the user passes.
    """

    def register(function: Function) -> Function:
        _METRICS[declaration.name] = Entry(declaration, function, make)
        function.declaration = declaration  # type: ignore[attr-defined]  # what adapters may ask of sb.<metric>
        function.make = make  # type: ignore[attr-defined]
        return documented(function)

    return register


def take_over(function: Callable[..., Any], described: Callable[..., Any], shown: Signature) -> None:
    """Give a public function the name and docstring of `described`, and its options in place of ``**options``."""
    usual = [one for one in shown.parameters.values() if one.kind is not one.VAR_KEYWORD]
    own = [one for one in signature(described).parameters.values() if one.kind is one.KEYWORD_ONLY]
    update_wrapper(function, described, ("__module__", "__name__", "__qualname__", "__doc__"), ())
    function.__signature__ = shown.replace(parameters=[*usual, *own])  # type: ignore[attr-defined]
    # doctest runs the examples of functions that a module defines itself, and of those named here
    described.__globals__.setdefault("__test__", {})[described.__name__] = function


def _load() -> None:
    """Import every module of metrics, so that all are declared; they are loaded lazily otherwise."""
    from scorebars import metrics

    for module in iter_modules(metrics.__path__):
        import_module(f"scorebars.metrics.{module.name}")


def declarations() -> dict[str, Declaration]:
    """All declared metrics by name."""
    _load()
    return {name: entry.declaration for name, entry in _METRICS.items()}


def entry_of(name: str) -> Entry:
    """A metric by its full or short name."""
    name = SHORT_NAMES.get(name, name)
    if name not in _METRICS:
        _load()
        name = full_name(name, _METRICS, f"The metrics are: {', '.join(sorted(_METRICS))}.")
    return _METRICS[name]


def warn_undefined(message: str) -> None:
    """Warn by scikit-learn's `UndefinedMetricWarning` where it is loaded, so that its filters work; else by a UserWarning."""
    theirs = sys.modules.get("sklearn.exceptions")
    warn(message, getattr(theirs, "UndefinedMetricWarning", UserWarning))
