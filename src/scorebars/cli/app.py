"""The command ``scorebars``: assembles the verbs, each from its own file."""

from __future__ import annotations

from typing import Annotated

import typer

import scorebars as sb
from scorebars.cli import check, compare, demo, evaluate, explain, plan
from scorebars.cli.failures import Guard

_EPILOG = (
    "Exit codes: 0 done; 1 check found something; 2 the command or a file cannot be used; 3 a library is missing; "
    "4 a bug; 130 Ctrl-C; 141 broken pipe."
)
app = typer.Typer(
    name="scorebars",
    cls=Guard,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"scorebars {sb.__version__}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Scores with error bars: metrics that know how well the labels were measured."""


for verb in (evaluate.evaluate, compare.compare, check.check, plan.plan, explain.explain, demo.demo):
    app.command()(verb)
