"""What people call the common metrics, what they may have meant by another name, and which options a metric has."""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import lru_cache
from inspect import Parameter, isfunction, signature
from typing import Any

_SHORT = """
    mse mean_squared_error, rmse root_mean_squared_error, mae mean_absolute_error, bias mean_error, r2 r2_score,
    medae median_absolute_error, mape mean_absolute_percentage_error, smape symmetric_mean_absolute_percentage_error,
    msle mean_squared_log_error, rmsle root_mean_squared_log_error, huber huber_loss, pearson pearson_correlation,
    spearman spearman_correlation, kendall kendall_correlation, ccc concordance_correlation,
    c_index concordance_index, chi2 reduced_chi_squared,
    accuracy accuracy_score, precision precision_score, recall recall_score, f1 f1_score, mcc matthews_corrcoef,
    kappa cohen_kappa_score, auc roc_auc_score, brier brier_score_loss"""
SHORT_NAMES = dict(pair.split() for pair in _SHORT.split(","))
"""Short name: name."""


def full_name(given: str, known: Collection[str], listed: str = "") -> str:
    """A metric by its full or short name; `listed` says where those that are known stand.

    >>> full_name("RMSE", ["root_mean_squared_error"])
    'root_mean_squared_error'
    """
    name = SHORT_NAMES.get(given.lower(), given)
    if name in known:
        return name
    near = get_close_matches(given.lower(), [*SHORT_NAMES, *known], 3)
    meant = " or ".join(dict.fromkeys(SHORT_NAMES.get(one, one) for one in near))
    raise ValueError(f"there is no metric {given!r}.{f' Did you mean {meant}?' if meant else ''} {listed}".rstrip())


_OF_THE_DATA = ("yerr", "prederr", "sample_weight", "multioutput", "groups")
"""Arguments that are not options: they come with the data."""
NEEDED = Parameter.empty
"""Stands for the default of an option that has none."""


@lru_cache(1024)
def options_of(metric: Callable[..., Any]) -> dict[str, Any]:
    """The options of a metric with their defaults, `NEEDED` where there is none."""
    return {
        name: one.default
        for name, one in signature(metric).parameters.items()
        if one.kind is Parameter.KEYWORD_ONLY and name not in _OF_THE_DATA
    }


@lru_cache(1024)
def needed_options(metric: Callable[..., Any]) -> list[str]:
    """The options that a metric cannot do without."""
    return [name for name, default in options_of(metric).items() if default is NEEDED]


def declared_metrics(package: Any) -> dict[str, Any]:
    """The metrics among the public names of a package, each with its declaration."""
    functions = {name: getattr(package, name) for name in package.__all__ if name.islower()}
    return {
        name: function.declaration
        for name, function in functions.items()
        if isfunction(function) and hasattr(function, "declaration")
    }
