"""The options that several commands share, and how a command gets its labels from them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

import scorebars as sb
from scorebars.cli.columns import assign
from scorebars.cli.console import note
from scorebars.cli.failures import Failure
from scorebars.cli.files import opened
from scorebars.cli.labels import Labels, load
from scorebars.cli.roles import Roles
from scorebars.cli.source import Source

_COLUMNS, _OUTPUT = "Columns (guessed where not given)", "Output"
File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, TSV, Parquet, Feather, FITS, ECSV or NetCDF file, a folder of them, dataset:NAME, or - for standard input.",
        show_default=False,
    ),
]
Y = Annotated[str | None, typer.Option(help="Column of the labels.", metavar="COLUMN", rich_help_panel=_COLUMNS)]
Yerr = Annotated[
    str | None,
    typer.Option(
        help="Error of the labels (a standard deviation): COLUMN, LOWER,UPPER (two columns), a number, or none. For "
        "classes the probability that a label is wrong.",
        metavar="COLUMN",
        rich_help_panel=_COLUMNS,
    ),
]
Limits = Annotated[
    str | None,
    typer.Option(
        help="Columns with the ends of each label's 68 % interval, instead of --yerr.",
        metavar="LOW,HIGH",
        rich_help_panel=_COLUMNS,
    ),
]
Pred = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of a model's predictions, or a pattern such as 'pred_*'; may be repeated.",
        metavar="COLUMN",
        rich_help_panel=_COLUMNS,
    ),
]
Weight = Annotated[
    str | None, typer.Option(help="Column of weights, or none.", metavar="COLUMN", rich_help_panel=_COLUMNS)
]
By = Annotated[
    str | None,
    typer.Option(
        help="Column of groups: scores for each of them too; or none.", metavar="COLUMN", rich_help_panel=_COLUMNS
    ),
]
Id = Annotated[
    str | None, typer.Option(help="Column of names, for the report.", metavar="COLUMN", rich_help_panel=_COLUMNS)
]
Task = Annotated[
    str | None, typer.Option(help="regression or classification; guessed from the labels.", metavar="TASK")
]
NanPolicy = Annotated[
    str, typer.Option(help="Rows with missing values: raise (stop and say where) or omit.", metavar="POLICY")
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, parquet, feather, fits, ecsv or netcdf, where the ending does not tell.",
        metavar="KIND",
    ),
]
Level = Annotated[float, typer.Option(help="Probability of the intervals.", metavar="P")]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of a table.", rich_help_panel=_OUTPUT)]
Csv = Annotated[bool, typer.Option("--csv", help="CSV.", rich_help_panel=_OUTPUT)]
Latex = Annotated[bool, typer.Option("--latex", help="A LaTeX table (booktabs, siunitx).", rich_help_panel=_OUTPUT)]
Markdown = Annotated[bool, typer.Option("--markdown", help="A Markdown table.", rich_help_panel=_OUTPUT)]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write to this file, in one step; its ending (.json .csv .tex .md) chooses the format.",
        metavar="FILE",
        rich_help_panel=_OUTPUT,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Only the result: no remarks, no legend.", rich_help_panel=_OUTPUT)
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="A metric (scorebars explain lists them), or one with options, such as fraction_within:tolerance=0.5; may be "
        "repeated.",
        metavar="NAME",
    ),
]

SHORT = {
    "mse": "mean_squared_error",
    "rmse": "root_mean_squared_error",
    "mae": "mean_absolute_error",
    "bias": "mean_error",
    "r2": "r2_score",
    "mape": "mean_absolute_percentage_error",
    "pearson": "pearson_correlation",
    "spearman": "spearman_correlation",
    "kendall": "kendall_correlation",
    "chi2": "reduced_chi_squared",
    "accuracy": "accuracy_score",
    "precision": "precision_score",
    "recall": "recall_score",
    "f1": "f1_score",
    "mcc": "matthews_corrcoef",
    "kappa": "cohen_kappa_score",
    "auc": "roc_auc_score",
    "brier": "brier_score_loss",
}
"""What people call the common metrics."""
PROBABILITY_METRICS = ("log_loss", "brier_score_loss", "roc_auc_score", "average_precision_score")


@dataclass(frozen=True)
class ColumnOptions:
    """What the command line says about the input."""

    y: str | None = None
    yerr: str | None = None
    limits: str | None = None
    pred: tuple[str, ...] = ()
    weight: str | None = None
    by: str | None = None
    id: str | None = None
    task: str | None = None
    nan_policy: str = "raise"
    kind: str | None = None
    quiet: bool = False

    def __post_init__(self) -> None:
        for option, value, allowed in (
            ("--task", self.task, (None, "regression", "classification")),
            ("--nan-policy", self.nan_policy, ("raise", "omit")),
        ):
            if value not in allowed:
                raise Failure(f"{option} must be {' or '.join(a for a in allowed if a)}, got {value!r}.")


@contextmanager
def source_and_roles(file: str, options: ColumnOptions) -> Iterator[tuple[Source, Roles]]:
    """The opened file and what its columns are; the guess is said on standard error."""
    with opened(file, options.kind) as source:
        roles = assign(
            source.columns,
            y=options.y,
            yerr=options.yerr,
            limits=options.limits,
            pred=options.pred,
            weight=options.weight,
            by=options.by,
            id=options.id,
        )
        if not options.quiet:
            note(f"{source.name}: {roles.described()}")
        yield source, roles


def labels_of(source: Source, roles: Roles, options: ColumnOptions) -> Labels:
    """The checked arrays; rows left out are counted on standard error."""
    data = load(source, roles, task=options.task, nan_policy=options.nan_policy)
    if data.omitted and not options.quiet:
        note(f"{data.omitted} of {data.n + data.omitted} rows have missing values and were left out, for every model.")
    guessed = options.task is None and data.task == "classification" and not roles.flips
    if guessed and data.y.dtype.kind in "iuf" and not options.quiet:
        note("Labels and predictions are whole numbers of few values: taken as classes. Say --task regression if not.")
    return data


def metric_name(given: str) -> str:
    """A metric by its full or usual short name."""
    name = SHORT.get(given.lower(), given)
    if _is_metric(name):
        return name
    near = [SHORT.get(n, n) for n in get_close_matches(given.lower(), [*SHORT, *metric_names()], 3)]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise Failure(f"there is no metric {given!r}.{hint} 'scorebars explain' lists them all.")


def metric_names() -> list[str]:
    """All metrics of the library."""
    return [name for name in sb.__all__ if _is_metric(name)]


def _is_metric(name: str) -> bool:
    return name in sb.__all__ and name.islower() and hasattr(getattr(sb, name), "declaration")


def default_metrics(data: Labels) -> list[str] | None:
    """For predicted probabilities the metrics that judge probabilities; None for the library's own."""
    probable = any(p.dtype.kind == "f" for p in data.predictions.values())
    return list(PROBABILITY_METRICS) if data.task == "classification" and probable else None
