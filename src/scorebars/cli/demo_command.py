"""``scorebars demo``: the library on real data, without a file of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

import scorebars as sb
from scorebars.cli.console import note
from scorebars.cli.evaluate_command import evaluate
from scorebars.cli.options import GroupedOptions
from scorebars.cli.output import PaperOptions
from scorebars.cli.source import PREFIX, shipped_names


def demo(quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the result: no remarks.")] = False) -> None:
    """Seven nuclear mass models on 2149 measured masses, each with its published error."""
    if not quiet:
        masses = sb.datasets.load_nuclear_masses()
        note(f"{masses.description}, in {masses.units}; {masses.citation}")
        note("This is: scorebars evaluate dataset:nuclear_masses --metric rmse --metric bias\n")
    evaluate(f"{PREFIX}nuclear_masses", GroupedOptions(), PaperOptions(quiet=quiet), metric=["rmse", "bias"])
    if not quiet:
        others = ", ".join(name for name in shipped_names() if name != "nuclear_masses")
        note(
            "\nNext: scorebars compare dataset:nuclear_masses          which model is really better?"
            "\n      scorebars check dataset:nuclear_masses            are the errors believable?"
            "\n      scorebars explain rmse                            what does a metric mean?"
            "\n      scorebars evaluate YOUR_FILE.csv"
            f"\nOther data sets: {others}."
        )
