"""``scorebars demo``: the library on real data, without a file of your own."""

from __future__ import annotations

from typing import Annotated

import typer

import scorebars as sb
from scorebars.cli.evaluate_command import evaluate
from scorebars.cli.options import GroupedOptions
from scorebars.cli.output import PaperOptions, ReportOption, note
from scorebars.files.formats import PREFIX


def demo(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the result: no remarks.")] = False,
    report: ReportOption = None,
) -> None:
    """Seven nuclear mass models on 2149 measured masses, each with its published error."""
    if not quiet:
        about = sb.datasets.load_nuclear_masses()
        note(f"{about.description}, in {about.units}; {about.citation}")
        note("This is: scorebars evaluate dataset:nuclear_masses --metric rmse --metric bias\n")
    masses = f"{PREFIX}nuclear_masses"
    evaluate([masses], GroupedOptions(), PaperOptions(quiet=quiet), metric=["rmse", "bias"], report=report)
    if not quiet:
        note(
            "\nNext: scorebars compare dataset:nuclear_masses  which model is really better?"
            "\n      scorebars check dataset:nuclear_masses    are the errors believable?"
            "\n      scorebars explain rmse                    what does a metric mean?"
            "\n      scorebars datasets                        which other data are there?"
            "\n      scorebars evaluate YOUR_FILE.csv"
        )
