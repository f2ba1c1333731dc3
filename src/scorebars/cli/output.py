"""Where results go and how they look: a table for people, JSON, CSV, LaTeX or Markdown, on standard output or in a file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from scorebars._shared.writing import replace_file
from scorebars.cli.console import Failure, colour_on, rendered, width_of

_FORMATS = {"json": "JSON", "csv": "CSV", "latex": "LaTeX", "markdown": "Markdown"}
_FORMAT_OF_ENDING = {".json": "json", ".csv": "csv", ".tex": "latex", ".md": "markdown"}


def _option(*flags: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*flags, help=help, metavar=metavar, rich_help_panel="Output")


@dataclass(frozen=True)
class OutputOptions:
    """Where the result goes and how it is written; each field is an option."""

    json: Annotated[bool, _option("--json", help="JSON instead of a table.")] = False
    csv: Annotated[bool, _option("--csv", help="CSV.")] = False
    output: Annotated[
        Path | None,
        _option(
            "--output",
            "-o",
            help="Write to this file, in one step; its ending (.json .csv .tex .md) chooses the format.",
            metavar="FILE",
        ),
    ] = None
    quiet: Annotated[bool, _option("--quiet", "-q", help="Only the result: no remarks, no legend.")] = False

    def __post_init__(self) -> None:
        asked = [name for name in _FORMATS if getattr(self, name, False)]
        if len(asked) > 1:
            raise Failure(f"--{asked[0]} and --{asked[1]} exclude each other: choose one.")

    @property
    def format(self) -> str:
        """The one format that was asked for, or the one that the name of the output file tells; else a table."""
        ending = "" if self.output is None else self.output.suffix.lower()
        asked = (name for name in _FORMATS if getattr(self, name, False))
        return next(asked, _FORMAT_OF_ENDING.get(ending, "table"))

    def put(self, verb: str, **makers: Callable[[], str]) -> None:
        """Write the result; `makers` holds a function for each format that the verb knows."""
        if self.format not in makers:
            names = ["a table", *(name for key, name in _FORMATS.items() if key in makers)]
            raise Failure(f"{verb} writes {', '.join(names[:-1])} or {names[-1]}.")
        text = makers[self.format]().rstrip("\n") + "\n"
        if self.output is not None:
            write_file(self.output, text)
            return
        # a terminal that cannot show ± gets \xb1 rather than an error
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()

    def screen(self, *parts: Any, meanings: Mapping[str, str] | None = None, widest: int | None = None) -> str:
        """Tables as the terminal shows them, with a legend unless --quiet; in a file without colour."""
        width = width_of(sys.stdout)
        shown = [*parts, *(["", legend(meanings)] if meanings and not self.quiet else [])]
        colour = self.output is None and colour_on(sys.stdout)
        return rendered(*shown, width=min(width, widest or width), colour=colour)


@dataclass(frozen=True)
class PaperOptions(OutputOptions):
    """The same with the formats of papers."""

    latex: Annotated[bool, _option("--latex", help="A LaTeX table (booktabs, siunitx).")] = False
    markdown: Annotated[bool, _option("--markdown", help="A Markdown table.")] = False


def write_file(path: Path, text: str) -> None:
    """Write the file in one step, or say why that cannot be done."""
    try:
        replace_file(path, text)
    except OSError as why:
        raise Failure(f"{path} cannot be written: {(why.strerror or str(why)).lower()}.") from why


def grid(head: Sequence[str], rows: Sequence[Sequence[str | Text]], left: Sequence[str] = ("model",)) -> Table:
    """A table in the style of all commands: two blanks between columns, numbers to the right, long names folded."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for name in head:
        justify: Any = "left" if name in left else "right"
        table.add_column(name, justify=justify, no_wrap=name not in ("model", "group"), overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return table


def legend(meanings: Mapping[str, str], names: str = "dim") -> Table:
    """What each column means."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, meaning in meanings.items():
        table.add_row(Text(name, style=names), Text(meaning, style="dim"))
    return table


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line for each record; what cannot be estimated is empty."""
    sink = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(sink, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if row.get(name) is None else row[name] for name in names} for row in rows)
    return sink.getvalue()
