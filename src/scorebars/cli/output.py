"""Where results go and how they look: a table for people, JSON, CSV, LaTeX or Markdown, on a terminal or in a file.

Results go to standard output, everything said about them to standard error, so that a pipe gets the result alone. Nothing that
a file holds is obeyed by the terminal. A command ends with one of the exit codes below.
"""

from __future__ import annotations

import csv
import io
import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

import scorebars as sb
from scorebars._shared.escaping import csv_cell, printable_lines, printable_rows
from scorebars._shared.shown import first_rows
from scorebars._shared.writing import require_apart, write_text
from scorebars.files.file_labels import TableLabels

FOUND, BAD_INPUT, MISSING_LIBRARY, UNEXPECTED, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 4, 130, 141
EXIT_CODES = (
    "Exit codes: 0 done; 1 check found something; 2 the command or a file cannot be used; 3 a library is missing; "
    "4 a bug; 130 Ctrl-C; 141 broken pipe."
)
_PIPE_WIDTH = 120
"""Width of a table that does not go to a terminal (unless COLUMNS says otherwise)."""
_FORMATS = {"json": "JSON", "csv": "CSV", "latex": "LaTeX", "markdown": "Markdown", "sentence": "a sentence"}
_FORMAT_OF_ENDING = {".json": "json", ".csv": "csv", ".tex": "latex", ".md": "markdown"}
_NAMES = ("model", "group")
"""Columns that every part of a table starts with."""
_MOST_ROWS = 24
"""Longer tables are cut in a terminal, and say so."""


class Failure(Exception):
    """Something the user can put right; the text is the whole message."""


# the terminal ---------------------------------------------------------------------------------------


def width_of(stream: Any) -> int:
    """Columns of the terminal behind the stream; COLUMNS, or a fixed width, where there is none."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return _PIPE_WIDTH


def colour_on(stream: Any) -> bool:
    """Colours only on a terminal, and not where NO_COLOR asks for none."""
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def rendered(*parts: Any, width: int, colour: bool = False) -> str:
    """Tables and texts as they look on a terminal of this width; a plain string is shown as it is."""
    sink = io.StringIO()
    console = Console(
        file=sink,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for part in parts:
        console.print(part)
    text = sink.getvalue()
    return text if colour else "\n".join(line.rstrip() for line in text.split("\n"))


def note(text: str, style: str = "dim") -> None:
    """A remark about the work, on standard error."""
    safe = Text(printable_lines(text), style=style)
    sys.stderr.write(rendered(safe, width=width_of(sys.stderr), colour=colour_on(sys.stderr)))
    sys.stderr.flush()


def note_warning(text: str) -> None:
    """A warning, on standard error."""
    note(f"Warning: {text}", style="yellow")


def stand_in_for_closed_streams() -> None:
    """A process may be started without its streams: remarks then go nowhere, and a result has to go to a file."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull)  # noqa: SIM115 - for reading: what is written to it fails, and that is said


def write_nowhere(stream: Any) -> None:
    """Discard what a stream still holds: Python flushes it once more at exit, and that must not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# results --------------------------------------------------------------------------------------------


def option_under(heading: str | None, metavar: str | None = None) -> Callable[..., Any]:
    """What declares the options that the help of a command lists under this heading."""

    def option(help: str, metavar: str | None = metavar, flags: Sequence[str] = ()) -> Any:
        return typer.Option(*flags, help=help, metavar=metavar, rich_help_panel=heading)

    return option


_option = option_under("Output")


@dataclass(frozen=True)
class OutputOptions:
    """Where the result goes and how it is written; each field is an option."""

    json: Annotated[bool, _option("JSON instead of a table.", flags=["--json"])] = False
    csv: Annotated[bool, _option("CSV.", flags=["--csv"])] = False
    output: Annotated[
        Path | None,
        _option(
            "Write to this file, in one step; its ending (.json .csv .tex .md) chooses the format.",
            "FILE",
            ["--output", "-o"],
        ),
    ] = None
    quiet: Annotated[bool, _option("Only the result: no remarks, no legend.", flags=["--quiet", "-q"])] = False

    def __post_init__(self) -> None:
        asked = self._asked_formats()
        if len(asked) > 1:
            raise Failure(f"--{asked[0]} and --{asked[1]} exclude each other: choose one.")

    def _asked_formats(self) -> list[str]:
        return [name for name in _FORMATS if getattr(self, name, False)]

    def put(self, verb: str, **makers: Callable[[], str]) -> None:
        """Write the result in the format that was asked for, else by the ending of the output file, else as a table.

        `makers` holds a function for each format that the verb knows.
        """
        ending = "" if self.output is None else self.output.suffix.lower()
        chosen = next(iter(self._asked_formats()), _FORMAT_OF_ENDING.get(ending, "table"))
        if chosen not in makers:
            names = ["a table", *(name for key, name in _FORMATS.items() if key in makers)]
            raise Failure(f"{verb} writes {', '.join(names[:-1])} or {names[-1]}.")
        text = makers[chosen]().rstrip("\n") + "\n"
        if self.output is not None:
            write_file(self.output, text, self.quiet)
            return
        # a terminal that cannot show ± gets \xb1 rather than an error
        encoding = sys.stdout.encoding or "utf-8"
        try:
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as why:
            write_nowhere(sys.stdout)
            raise Failure(f"standard output cannot be written: {(why.strerror or str(why)).lower()}.") from why

    def screen(self, *parts: Any, meanings: Mapping[str, str] | None = None, widest: int | None = None) -> str:
        """Tables as the terminal shows them, with a legend unless --quiet; in a file without colour."""
        width = width_of(sys.stdout)
        shown = [*parts, *(["", legend(meanings)] if meanings and not self.quiet else [])]
        colour = self.output is None and colour_on(sys.stdout)
        return rendered(*shown, width=min(width, widest or width), colour=colour)


@dataclass(frozen=True)
class PaperOptions(OutputOptions):
    """Where results go and how they look, formats of papers included."""

    latex: Annotated[bool, _option("A LaTeX table (booktabs, siunitx).", flags=["--latex"])] = False
    markdown: Annotated[bool, _option("A Markdown table.", flags=["--markdown"])] = False
    sentence: Annotated[bool, _option("Sentences for a paper, ready to paste.", flags=["--sentence"])] = False


ReportOption = Annotated[Path | None, _option("Also write an HTML page with figures.", "PAGE.html", ["--report"])]


def keep_apart(sources: Iterable[str | None], out: OutputOptions, report: Path | None = None) -> None:
    """Refuse an output that is a file the data come from, before anything is computed. Two outputs need two files."""
    for option, path in (("--output", out.output), ("--report", report)):
        if path is not None and path.is_dir():
            raise Failure(f"{option} {path} is a folder: give the name of a file.")
        if path is not None and not path.parent.exists():
            raise Failure(f"{option} {path} cannot be written: there is no folder {path.parent}. Make it first.")
    for file in sources:
        require_apart(out.output, file, "--output")
        require_apart(report, file, "--report")
    if out.output is not None and report is not None and out.output.resolve() == report.resolve():
        raise Failure("--output and --report are the same file: give two names.")


def write_report(path: Path, data: TableLabels, quiet: bool, **options: Any) -> None:
    """The page about these labels and models, in a file."""
    options |= {"title": data.source, "command": shlex.join(["scorebars", *sys.argv[1:]])}
    write_file(path, sb.report.build(data.y, data.models, **data.report_options, **options), quiet)
    if not quiet:
        note(f"report: {path}")


def write_file(path: Path, text: str, quiet: bool) -> None:
    """Write the file in one step, or say why that cannot be done; say when an older one was replaced."""
    try:
        if write_text(path, text) and not quiet:
            note(f"{path}: an older file was replaced.")
    except OSError as why:
        raise Failure(f"{path} cannot be written: {(why.strerror or str(why)).lower()}.") from why


def grid(head: Sequence[str], rows: Sequence[Sequence[str | Text]], left: Sequence[str] = ("model",)) -> list[Any]:
    """Tables in the style of all commands: two blanks between columns, numbers to the right.

    Columns that do not fit beside each other stand in further tables below; long ones are cut, and say so.
    """
    more = ""
    if len(rows) > _MOST_ROWS:
        rows, more = first_rows(rows, _MOST_ROWS, "--csv and --json")
    head = [name.replace(" ± ", "\n± ", 1) for name in head]
    columns = [[line for cell in column for line in str(cell).split("\n")] for column in zip(head, *rows, strict=True)]
    widths = [max(map(cell_len, column)) + 2 for column in columns]
    names = [k for k, name in enumerate(head) if name in _NAMES]
    room = width_of(sys.stdout) + 2 - min(sum(widths[k] for k in names), width_of(sys.stdout) // 3)
    others = range(len(names), len(head))
    count = len(_side_by_side(others, widths, room))
    least = sum(widths[k] for k in others) // count
    # as few tables as possible, none wider than needed
    parts = next(p for p in (_side_by_side(others, widths, r) for r in range(least, room + 1)) if len(p) == count)
    wrapped = {name for name, width in zip(head, widths, strict=True) if name in _NAMES or width > room}
    rows = printable_rows(rows)
    shown: list[Any] = []
    for part in parts:
        chosen = [*names, *part]
        table = _table([head[k] for k in chosen], [[row[k] for k in chosen] for row in rows], left, wrapped)
        shown += ["", table] if shown else [table]
    return [*shown, Text(more, style="dim")] if more else shown


def _side_by_side(columns: Iterable[int], widths: Sequence[int], room: int) -> list[list[int]]:
    """The columns in as many parts as this room makes necessary."""
    parts: list[list[int]] = [[]]
    for k in columns:
        if parts[-1] and sum(widths[j] for j in parts[-1]) + widths[k] > room:
            parts.append([])
        parts[-1].append(k)
    return parts


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str | Text]], left: Sequence[str], wrapped: Collection[str]
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for name in head:
        justify: Any = "left" if name in left else "right"
        table.add_column(name, justify=justify, no_wrap=name not in wrapped, overflow="fold", vertical="bottom")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def said_of(warnings: Mapping[str, Sequence[str]]) -> list[str]:
    """The warnings about all models, each once; one that concerns only some models begins with their names."""
    models: dict[str, list[str]] = {}
    for model, said in warnings.items():
        for warning in said:
            models.setdefault(warning, []).append(model)
    return [
        warning if len(whom) == len(warnings) else f"{', '.join(whom)}: {warning}" for warning, whom in models.items()
    ]


def note_doubts(data: TableLabels, quiet: bool) -> dict[str, sb.ErrorCheck]:
    """Say what makes the scores of a model mislead: errors in another unit, labels that it has seen; the checks made."""
    if quiet or data.task == "classification" or data.yerr is None:
        return {}
    checks: dict[str, sb.ErrorCheck] = {}
    for model, p in data.predictions.items():
        with suppress(ValueError):  # errors that are all zero; what cannot be scored the score says
            checks[model] = sb.check_errors(data.y, p, yerr=data.yerr)
    for doubt in said_of({model: checks[model].doubts if model in checks else [] for model in data.predictions}):
        note_warning(doubt)
    return checks


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
    writer.writerow({name: csv_cell(name) for name in names})
    writer.writerows({name: csv_cell(row.get(name)) for name in names} for row in rows)
    return sink.getvalue()
