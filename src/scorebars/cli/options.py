"""The options that several commands share, and how a command gets its labels and metrics from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

import scorebars as sb
from scorebars.cli.column_roles import Roles, assign
from scorebars.cli.console import Failure, note
from scorebars.cli.source import TableSource, opened
from scorebars.cli.table_labels import TableLabels, load_labels


def _column(help: str, metavar: str = "COLUMN") -> Any:
    return typer.Option(help=help, metavar=metavar, rich_help_panel="Columns (guessed where not given)")


FileArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, TSV, Parquet, Feather, FITS, ECSV or NetCDF file, a folder of them, dataset:NAME, or - for standard input.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class ColumnOptions:
    """What the command line says about the input; each field is an option."""

    y: Annotated[str | None, _column("Column of the labels.")] = None
    yerr: Annotated[
        str | None,
        _column(
            "Error of the labels (a standard deviation): COLUMN, LOWER,UPPER (two columns), a number, or none. For "
            "classes the probability that a label is wrong."
        ),
    ] = None
    limits: Annotated[
        str | None, _column("Columns with the ends of each label's 68 % interval, instead of --yerr.", "LOW,HIGH")
    ] = None
    pred: Annotated[
        list[str] | None, _column("Column of a model's predictions, or a pattern such as 'pred_*'; may be repeated.")
    ] = None
    nan_policy: Annotated[
        str, typer.Option(help="Rows with missing values: raise (stop and say where) or omit.", metavar="POLICY")
    ] = "raise"
    format: Annotated[
        str | None,
        typer.Option(
            help="csv, parquet, feather, fits, ecsv or netcdf, where the ending does not tell.", metavar="KIND"
        ),
    ] = None
    weight: ClassVar[str | None] = "none"
    by: ClassVar[str | None] = "none"
    id: ClassVar[str | None] = None
    task: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        for option, value, allowed in (
            ("--task", self.task, (None, "regression", "classification")),
            ("--nan-policy", self.nan_policy, ("raise", "omit")),
        ):
            if value not in allowed:
                raise Failure(f"{option} must be {' or '.join(a for a in allowed if a)}, got {value!r}.")


@dataclass(frozen=True)
class WeightedOptions(ColumnOptions):
    """The same with weights and the task."""

    weight: Annotated[str | None, _column("Column of weights, or none.")] = None  # type: ignore[misc]
    task: Annotated[  # type: ignore[misc]
        str | None, typer.Option(help="regression or classification; guessed from the labels.", metavar="TASK")
    ] = None


@dataclass(frozen=True)
class GroupedOptions(WeightedOptions):
    """The same with groups and names of the labels."""

    by: Annotated[  # type: ignore[misc]
        str | None, _column("Column of groups: scores for each of them too; or none.")
    ] = None
    id: Annotated[str | None, _column("Column of names, for the report.")] = None  # type: ignore[misc]


def with_options(verb: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are groups of options stand for one option for each field of the group."""
    types = get_type_hints(verb, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in types.items() if is_dataclass(kind)}
    parameters = []
    for own in signature(verb).parameters.values():
        if own.name not in groups:
            parameters.append(own.replace(annotation=types[own.name], kind=Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(groups[own.name], include_extras=True)
        for field in fields(groups[own.name]):
            parameters.append(
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
            )

    @wraps(verb)
    def command(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind) if field.name in given})
            for name, kind in groups.items()
        }
        verb(**given, **made)

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {own.name: own.annotation for own in parameters}
    return command


_SHORT = """
    mse mean_squared_error, rmse root_mean_squared_error, mae mean_absolute_error, bias mean_error, r2 r2_score,
    mape mean_absolute_percentage_error, pearson pearson_correlation, spearman spearman_correlation,
    kendall kendall_correlation, chi2 reduced_chi_squared, accuracy accuracy_score, precision precision_score,
    recall recall_score, f1 f1_score, mcc matthews_corrcoef, kappa cohen_kappa_score, auc roc_auc_score,
    brier brier_score_loss"""
SHORT_NAMES = dict(pair.split() for pair in _SHORT.split(","))
"""What people call the common metrics."""
_PROBABILITY_METRICS = ("log_loss", "brier_score_loss", "roc_auc_score", "average_precision_score")
_FROM_COLUMNS = ("yerr", "sample_weight", "multioutput")
"""Options of metrics that the columns of the file give."""


@contextmanager
def source_and_roles(file: str, options: ColumnOptions, quiet: bool) -> Iterator[tuple[TableSource, Roles]]:
    """The opened file and what its columns are; the guess is said on standard error."""
    with opened(file, options.format) as source:
        given = {name: getattr(options, name) for name in ("y", "yerr", "limits", "pred", "weight", "by", "id")}
        roles = assign(source.columns, **given)
        if not quiet:
            note(f"{source.name}: {roles.described()}")
        yield source, roles


def checked_labels(source: TableSource, roles: Roles, options: ColumnOptions, quiet: bool) -> TableLabels:
    """The checked arrays; rows left out are counted on standard error."""
    data = load_labels(source, roles, options.task, options.nan_policy)
    if data.omitted and not quiet:
        note(f"{data.omitted} of {data.n + data.omitted} rows have missing values and were left out, for every model.")
    guessed = options.task is None and data.task == "classification" and not roles.flips
    if guessed and data.y.dtype.kind in "iuf" and not quiet:
        note("Labels and predictions are whole numbers of few values: taken as classes. Say --task regression if not.")
    return data


def _is_metric(name: str) -> bool:
    return name in sb.__all__ and name.islower() and hasattr(getattr(sb, name), "declaration")


def metric_names() -> list[str]:
    """All metrics of the library."""
    return [name for name in sb.__all__ if _is_metric(name)]


def metric_name(given: str) -> str:
    """A metric by its full or usual short name."""
    name = SHORT_NAMES.get(given.lower(), given)
    if _is_metric(name):
        return name
    near = [SHORT_NAMES.get(n, n) for n in get_close_matches(given.lower(), [*SHORT_NAMES, *metric_names()], 3)]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise Failure(f"there is no metric {given!r}.{hint} 'scorebars explain' lists them all.")


AskedMetric = str | Callable[..., Any]


def asked_metric(given: str) -> AskedMetric:
    """What NAME or NAME:OPTION=VALUE,OPTION=VALUE means: the name of a metric, or a function with its options bound.

    >>> asked_metric("rmse")
    'root_mean_squared_error'
    >>> asked_metric("fraction_within:tolerance=0.5").keywords
    {'tolerance': 0.5}
    """
    short, _, texts = given.partition(":")
    name = metric_name(short)
    known = {
        p.name: p.default is Parameter.empty
        for p in signature(getattr(sb, name)).parameters.values()
        if p.kind is Parameter.KEYWORD_ONLY and p.name not in _FROM_COLUMNS
    }
    options = dict(_metric_option(name, text, list(known)) for text in texts.split(",") if text)
    missing = [option for option, needed in known.items() if needed and option not in options]
    if missing:
        raise Failure(f"{name} needs its {' and '.join(missing)}: write --metric {name}:{missing[0]}=VALUE.")
    return partial(getattr(sb, name), **options) if options else name


def _metric_option(name: str, text: str, known: list[str]) -> tuple[str, Any]:
    option, equals, value = text.partition("=")
    if not equals or option not in known:
        listed = ", ".join(known) if known else "none"
        raise Failure(f"{name} has no option {text!r}. Options are written OPTION=VALUE; it has: {listed}.")
    try:
        return option, json.loads(value)
    except json.JSONDecodeError:  # a word
        return option, value


def default_metrics(data: TableLabels) -> list[str] | None:
    """For predicted probabilities the metrics that judge probabilities; None for the library's own."""
    probable = any(p.dtype.kind == "f" for p in data.predictions.values())
    return list(_PROBABILITY_METRICS) if data.task == "classification" and probable else None
