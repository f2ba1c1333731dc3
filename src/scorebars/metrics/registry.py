"""Every metric is declared once, beside its function; tests, docs and command line read the declaration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from scorebars.answers.base import Answers
from scorebars.measured import Measured
from scorebars.metrics.parameter_texts import documented
from scorebars.score import Declaration

Function = TypeVar("Function", bound=Callable[..., Any])
Maker = Callable[[Measured], Answers]


@dataclass(frozen=True)
class Entry:
    """A declared metric: its declaration, its public function, and how its answers are made from checked data.

    `make` is None where the function itself has to see the user's arguments; `make_with` takes the options of a metric
    that has no meaning without them.
    """

    declaration: Declaration
    function: Callable[..., Any]
    make: Maker | None
    make_with: Callable[..., Maker] | None = None


_METRICS: dict[str, Entry] = {}


def declares(
    declaration: Declaration, make: Maker | None = None, make_with: Callable[..., Maker] | None = None
) -> Callable[[Function], Function]:
    """Register a public metric function under its declaration, which it carries as its attribute `declaration`."""

    def register(function: Function) -> Function:
        _METRICS[declaration.name] = Entry(declaration, function, make, make_with)
        function.__dict__["declaration"] = declaration
        function.declaration = declaration  # type: ignore[attr-defined]  # what adapters may ask of sb.<metric>
        return documented(function)

    return register


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
    """A metric by name."""
    if name not in _METRICS:
        _load()
    if name not in _METRICS:
        raise ValueError(f"there is no metric {name!r}. The metrics are: {', '.join(sorted(_METRICS))}.")
    return _METRICS[name]


def function_of(name: str) -> Callable[..., Any]:
    """The public function of a metric."""
    return entry_of(name).function
