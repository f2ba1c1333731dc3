"""Metrics as they are written after ``--metric``: NAME, or NAME:OPTION=VALUE,OPTION=VALUE."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from inspect import Parameter, signature
from typing import Any

import scorebars as sb
from scorebars.cli.failures import Failure
from scorebars.cli.options import metric_name

_DATA = ("yerr", "sample_weight", "multioutput")
"""Options that the columns of the file give."""

Metric = str | Callable[..., Any]


def metric(given: str) -> Metric:
    """The metric that `given` means: a name, or a function with its options bound.

    >>> metric("rmse")
    'root_mean_squared_error'
    >>> metric("fraction_within:tolerance=0.5").keywords
    {'tolerance': 0.5}
    """
    short, _, texts = given.partition(":")
    name = metric_name(short)
    known = {
        p.name: p.default is Parameter.empty
        for p in signature(getattr(sb, name)).parameters.values()
        if p.kind is Parameter.KEYWORD_ONLY and p.name not in _DATA
    }
    options = dict(_option(name, text, list(known)) for text in texts.split(",") if text)
    missing = [option for option, needed in known.items() if needed and option not in options]
    if missing:
        raise Failure(f"{name} needs its {' and '.join(missing)}: write --metric {name}:{missing[0]}=VALUE.")
    return partial(getattr(sb, name), **options) if options else name


def name_of(chosen: Metric) -> str:
    """The name of a metric, options or not."""
    return chosen if isinstance(chosen, str) else str(getattr(chosen, "func", chosen).__name__)


def _option(name: str, text: str, known: list[str]) -> tuple[str, Any]:
    option, equals, value = text.partition("=")
    if not equals or option not in known:
        listed = ", ".join(known) if known else "none"
        raise Failure(f"{name} has no option {text!r}. Options are written OPTION=VALUE; it has: {listed}.")
    try:
        return option, json.loads(value)
    except json.JSONDecodeError:  # a word
        return option, value
