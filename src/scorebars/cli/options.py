"""The options that several commands share, and how a command gets its labels and metrics from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

import scorebars as sb
from scorebars._shared.metric_names import SHORT_NAMES, declared_metrics, full_name, needed_options, options_of
from scorebars.cli.output import Failure, note, option_under
from scorebars.files.column_names import ROLE_OPTIONS
from scorebars.files.columns import Roles, role_finder
from scorebars.files.file_labels import TableLabels, understood
from scorebars.files.formats import READING_OPTIONS, Reading, TableSource, opened
from scorebars.files.supposed import SUPPOSED_OPTIONS, Supposed

_column = option_under("Columns (guessed where not given)", "COLUMN")
_supposing = option_under("What if")
_reading = option_under("Reading the file (found where not given)")
FileArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="CSV, TSV or any text table, Excel, OpenDocument, Parquet, Feather, FITS, ECSV, VOTable or NetCDF file, also "
        "zipped; several files or a folder of one kind, dataset:NAME, or - for standard input.",
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
            "Error of the labels (a standard deviation): COLUMN, LOWER,UPPER (two columns), A+B (added in quadrature), a "
            "number, cells (as in 1.23 ± 0.05), or none. For classes the probability that a label is wrong."
        ),
    ] = None
    yerr_percent: Annotated[
        str | None, _column("The same in percent of the label: COLUMN or a number, instead of --yerr.")
    ] = None
    limits: Annotated[
        str | None, _column("Columns with the ends of each label's 68 % interval, instead of --yerr.", "LOW,HIGH")
    ] = None
    cov: Annotated[
        str | None, _column("File with the covariance matrix of the labels (text or .npy), instead of --yerr.", "FILE")
    ] = None
    pred: Annotated[
        list[str] | None, _column("Column of a model's predictions, or a pattern such as 'pred_*'; may be repeated.")
    ] = None
    model: Annotated[
        str | None,
        _column("In a long table, one row for each item and model: the column that names the model; or none."),
    ] = None
    id: Annotated[
        str | None,
        _column("Column that names the items: in a long table, for repeats in rows, for the report; or none."),
    ] = None
    repeats: Annotated[
        list[str] | None,
        _column(
            "Columns of repeated measurements of each label, or a pattern such as 'y_*'; rows: rows of one --id are repeats."
        ),
    ] = None
    votes: Annotated[
        list[str] | None,
        _column(
            "Columns of votes on the label, as 'votes_*': a count for each class, or the class that each rater chose."
        ),
    ] = None
    probabilities: Annotated[
        list[str] | None, _column("Columns with the probability of each class being the true one, as 'p_*'.")
    ] = None
    nan_policy: Annotated[
        str, typer.Option(help="Rows with missing values: raise (stop and say where) or omit.", metavar="POLICY")
    ] = "raise"
    format: Annotated[
        str | None,
        _reading(
            "csv (any text), excel, parquet, feather, fits, ecsv, votable or netcdf, where the ending does not tell.",
            "KIND",
        ),
    ] = None
    decimal: Annotated[str | None, _reading("Decimal mark of a text file: . or ,", "MARK")] = None
    delimiter: Annotated[
        str | None, _reading("What parts the cells of a text file: a character, tab or space.", "CHAR")
    ] = None
    encoding: Annotated[str | None, _reading("Encoding of a text file, such as utf-8, latin-1, utf-16.", "NAME")] = None
    sheet: Annotated[str | None, _reading("Sheet of a workbook, by name or number.", "SHEET")] = None
    skip_rows: Annotated[int | None, _reading("Lines to skip at the top of the file.", "N")] = None
    resolution: Annotated[
        float | None, _supposing("Labels are rounded to this step of the instrument, instead of --yerr.", "STEP")
    ] = None
    checked: Annotated[
        str | None,
        _supposing(
            "How many of the labels that were checked were wrong, instead of --yerr; for each class as CLASS=WRONG/CHECKED,...",
            "WRONG/CHECKED",
        ),
    ] = None
    error_kind: Annotated[
        str | None,
        _supposing(
            "classical: labels were measured; berkson: they were set, and the truth scatters around them.", "KIND"
        ),
    ] = None
    measurements: Annotated[
        int | None,
        _supposing("Each label is the mean of this many measurements, and its error that of a single one.", "N"),
    ] = None
    scale_errors: Annotated[float | None, _supposing("Multiply all label errors by this.", "FACTOR")] = None
    systematic: Annotated[
        float | None, _supposing("Add an error that all labels share, with this standard deviation.", "S")
    ] = None
    cut: Annotated[
        float | None, _supposing("Score the classes above and below this value instead of the numbers.", "VALUE")
    ] = None
    exclude: Annotated[
        list[str] | None, _supposing("Leave out the rows with this value; may be repeated.", "COLUMN=VALUE")
    ] = None
    std: ClassVar[list[str] | None] = ["none"]
    members: ClassVar[list[str] | None] = ["none"]
    gold: ClassVar[str | None] = "none"
    gold_probability: ClassVar[str | None] = "none"
    weight: ClassVar[str | None] = "none"
    by: ClassVar[str | None] = "none"
    groups: ClassVar[str | None] = None
    task: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        for option, value, allowed in (
            ("--task", self.task, (None, "regression", "classification")),
            ("--nan-policy", self.nan_policy, ("raise", "omit")),
        ):
            if value not in allowed:
                raise Failure(f"{option} must be {' or '.join(a for a in allowed if a)}, got {value!r}.")

    @property
    def supposed(self) -> Supposed:
        """What is said of labels and errors that no column says."""
        return Supposed(**self.given(SUPPOSED_OPTIONS))

    def given(self, names: Sequence[str]) -> dict[str, Any]:
        """What these options say."""
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class WeightedOptions(ColumnOptions):
    """What the command line says about the input, with weights, gold labels and the task."""

    weight: Annotated[str | None, _column("Column of weights, or none.")] = None  # type: ignore[misc]
    groups: Annotated[  # type: ignore[misc]
        str | None,
        _column("Column that says which items belong together (series, scenes, patients): other groups may follow."),
    ] = None
    gold: Annotated[  # type: ignore[misc]
        str | None,
        _column("Column of better labels of the items that were checked, empty elsewhere, instead of --yerr; or none."),
    ] = None
    gold_probability: Annotated[  # type: ignore[misc]
        str | None,
        _column(
            "Column with the probability with which each item was chosen to be checked (default: by lot); or none."
        ),
    ] = None
    task: Annotated[  # type: ignore[misc]
        str | None, typer.Option(help="regression or classification; guessed from the labels.", metavar="TASK")
    ] = None


@dataclass(frozen=True)
class _ForecastColumns:
    """What makes forecasts of predictions."""

    std: Annotated[
        list[str] | None,
        _column(
            "Column with the spread of a model's predictions, which makes them forecasts: one for each --pred, in their order; "
            "or none."
        ),
    ] = None
    members: Annotated[
        list[str] | None,
        _column(
            "Columns with the members of an ensemble, as 'pred_x_*'; may be repeated, one for each model; or none."
        ),
    ] = None


@dataclass(frozen=True)
class ForecastOptions(_ForecastColumns, ColumnOptions):
    """What the command line says about the input, forecasts included."""


@dataclass(frozen=True)
class ComparedOptions(_ForecastColumns, WeightedOptions):
    """What the command line says about the input, with forecasts, weights and the task."""


@dataclass(frozen=True)
class GroupedOptions(ComparedOptions):
    """What the command line says about the input, with scores for each of several groups of rows."""

    by: Annotated[  # type: ignore[misc]
        str | None, _column("Column of groups: scores for each of them too; or none.")
    ] = None


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


@contextmanager
def source_and_roles(file: Sequence[str], options: ColumnOptions, quiet: bool) -> Iterator[tuple[TableSource, Roles]]:
    """The opened file and what its columns are; the guess is said on standard error."""
    named = options.supposed.without_columns(options.given(ROLE_OPTIONS))
    with opened(file, Reading(**options.given(READING_OPTIONS))) as source:
        roles = role_finder(source)(**named)
        if not quiet:
            note(understood(source, roles))
        yield source, roles


def labels_in(file: Sequence[str], options: ColumnOptions, quiet: bool, task: str | None = None) -> TableLabels:
    """The checked labels of a file, and what belongs to them."""
    with source_and_roles(file, options, quiet) as (source, roles):
        return checked_labels(source, roles, options, quiet, task)


def checked_labels(
    source: TableSource, roles: Roles, options: ColumnOptions, quiet: bool, task: str | None
) -> TableLabels:
    """The checked arrays, of this task unless an option says another; what was understood is said on standard error."""
    supposed = options.supposed
    data = supposed.labels(source, roles, options.task or supposed.task or task, options.nan_policy)
    if data.omitted and not quiet:
        note_omitted(data.omitted, data.n)
    for remark in () if quiet else data.remarks:
        note(f"{remark[0].upper()}{remark[1:]}.")
    return data


def in_python(file: Sequence[str], roles: Roles, options: ColumnOptions) -> dict[str, Any]:
    """For the report: the file, and the keywords by which `sb.evaluate` reads the same data from it."""
    known = {**roles.keywords(), **options.given(READING_OPTIONS), **options.given(SUPPOSED_OPTIONS)}
    known |= {} if options.nan_policy == "raise" else {"nan_policy": options.nan_policy}
    return {"source": ", ".join(file), "columns": known if len(file) == 1 and file[0] != "-" else None}


def note_omitted(omitted: int, kept: int) -> None:
    """Say how many rows were left out."""
    verbs = "has missing values and was" if omitted == 1 else "have missing values and were"
    note(f"{omitted} of {kept + omitted} rows {verbs} left out, for every model.")


def metric_names() -> list[str]:
    """All metrics of the library."""
    return list(declared_metrics(sb))


def metric_name(given: str) -> str:
    """A metric by its full or usual short name."""
    return full_name(given, metric_names(), "'scorebars explain' lists them all.")


def metrics_beginning(incomplete: str) -> list[str]:
    """For completion in the shell: the names that begin so, short ones too."""
    return [name for name in (*SHORT_NAMES, *metric_names()) if name.startswith(incomplete)]


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
    function = getattr(sb, name)
    known = list(options_of(function))
    options = dict(_metric_option(name, text, known) for text in texts.split(",") if text)
    missing = [option for option in needed_options(function) if option not in options]
    if missing:
        raise Failure(f"{name} needs its {' and '.join(missing)}: write --metric {name}:{missing[0]}=VALUE.")
    return partial(function, **options) if options else name


def _metric_option(name: str, text: str, known: list[str]) -> tuple[str, Any]:
    option, equals, value = text.partition("=")
    if not equals or option not in known:
        listed = ", ".join(known) if known else "none"
        raise Failure(f"{name} has no option {text!r}. Options are written OPTION=VALUE; it has: {listed}.")
    try:
        return option, json.loads(value)
    except json.JSONDecodeError:  # a word
        return option, value


def asked_task(metrics: Sequence[AskedMetric] | None) -> str | None:
    """What the first of the metrics that were asked for says about the labels."""
    if not metrics:
        return None
    function: Any = metrics[0].func if isinstance(metrics[0], partial) else getattr(sb, str(metrics[0]))
    return str(function.declaration.task)
