"""``scorebars explain NAME``: what a metric means, its formula and its caveats."""

from __future__ import annotations

import inspect
import math
import re
import sys
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import scorebars as sb
from scorebars.cli import options as opt
from scorebars.cli.console import width_of
from scorebars.cli.output import put, screen
from scorebars.cli.show import direction
from scorebars.cli.tex import readable

ANSWERS = {
    "observed": "What does the classical metric say? The labels are taken as exact.",
    "expected": "What does the metric become when the labels move within their errors, the label values taken as the true "
    "means? A label that is a single measurement already carries its error inside `observed`; `expected` counts it again, "
    "so it is not the error against the truth.",
    "std": "How far does the metric move when the labels move within their errors? Also as an interval.",
    "truth": "How far is the model from the true values behind the labels? The label errors are taken out.",
    "remeasured": "What will the metric be on labels measured afresh in the same way?",
    "perfect": "What would a perfect model score on these labels? The noise floor of an error, the ceiling of a score.",
    "noise": "How much of the observed error is label error? Near 100 %, better labels would tell more than a better model.",
}
UNDECLARED = ("confusion_matrix", "intrinsic_scatter", "metric")
"""Functions that return something else than a score, and so carry no declaration."""


def explain(
    name: Annotated[
        str | None, typer.Argument(help="A metric, or one of the answers; all are listed without it.")
    ] = None,
) -> None:
    """What does a metric mean? Its formula, its caveats, and what each of the answers says."""
    width = width_of(sys.stdout)
    if name is None:
        parts = _list()
    elif name in ANSWERS:
        parts = [Text(name, style="bold"), "", Text(ANSWERS[name])]
    else:
        parts = _metric(name if name in UNDECLARED else opt.metric_name(name))
    put(screen(*parts, output=None, width=min(width, 100)), None)


def _list() -> list[Any]:
    parts: list[Any] = []
    short = {full: alias for alias, full in opt.SHORT.items()}
    for task in ("regression", "classification"):
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for metric in opt.metric_names():
            declared = getattr(sb, metric).declaration
            if declared.task == task:
                table.add_row(
                    Text(metric), Text(short.get(metric, ""), style="cyan"), Text(declared.title, style="dim")
                )
        parts += [Text(f"Metrics of {task}", style="bold"), Padding(table, (0, 0, 1, 2))]
    parts += [Text("Other answers", style="bold"), Text(f"  {', '.join(UNDECLARED)}", style="dim"), ""]
    answers = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, meaning in ANSWERS.items():
        answers.add_row(Text(name), Text(meaning[: meaning.index("?") + 1], style="dim"))
    return [*parts, Text("What every score answers", style="bold"), Padding(answers, (0, 0, 0, 2))]


def _facts(name: str, declared: Any) -> list[Any]:
    """What is true of the metric whatever the data."""
    scale = {None: "", 0: ", no unit", 1: ", in the unit of the labels"}.get(
        declared.degree, f", in the unit of the labels to the power {declared.degree}"
    )
    facts = (
        f"{declared.task}; {direction(declared)}; between {_bound(declared.low)} and {_bound(declared.high)}, "
        f"a perfect model on exact labels has {declared.perfect:g}{scale}"
    )
    return [Text.assemble((declared.title, "bold"), f"  scorebars.{name}"), Text(facts, style="dim"), ""]


def _metric(name: str) -> list[Any]:
    function = getattr(sb, name)
    plain = name in UNDECLARED
    parts = [Text(f"scorebars.{name}", style="bold"), ""] if plain else _facts(name, function.declaration)
    for kind, text in sections(inspect.getdoc(function) or ""):
        if kind == "formula":
            parts.append(Padding(Text(text, style="cyan"), (0, 0, 0, 4)))
        elif kind == "heading":
            parts += [*([""] if parts[-1] != "" else []), Text(text, style="bold")]
        elif kind == "code":
            parts.append(Padding(Text(text, style="green", no_wrap=True), (0, 0, 0, 4)))
        elif kind == "item":
            head, _, rest = text.partition("\n")
            parts += [Padding(Text(head, style="italic"), (0, 0, 0, 2)), Padding(Text(rest), (0, 0, 0, 6))]
            continue
        else:
            parts.append(Text(text))
        parts.append("")
    return parts[:-1]


def _bound(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else ("-∞" if value < 0 else "∞")


def sections(doc: str) -> list[tuple[str, str]]:
    """The docstring in pieces: ("text" | "formula" | "heading" | "item" | "code", what to show).

    >>> sections("How large?\\n\\n.. math:: s = \\\\sigma^2\\n\\nExamples\\n--------\\n>>> 1 + 1\\n2")
    [('text', 'How large?'), ('formula', 's = σ²'), ('heading', 'Examples'), ('code', '>>> 1 + 1\\n2')]
    """
    out: list[tuple[str, str]] = []
    doc = re.sub(r"(?m)^([A-Z]\w+)\n-{3,}\n", r"\n\1\n-----\n\n", doc)
    under = ""
    for block in re.split(r"\n\s*\n", doc.strip("\n")):
        lines = [line for line in block.split("\n") if line.strip()]
        if not lines:
            continue
        if len(lines) == 2 and set(lines[1]) == {"-"}:
            under = lines[0]
            out.append(("heading", under))
        elif lines[0].lstrip().startswith(".. math::"):
            formula = " ".join(line.strip() for line in lines).removeprefix(".. math::").strip()
            out += [("formula", readable(part)) for part in re.split(r",?\s*\\qquad\s*", formula) if part]
        elif lines[0].lstrip().startswith(">>>"):
            out.append(("code", "\n".join(lines)))
        elif under == "Parameters":
            out += [("item", readable(item)) for item in _items(lines)]
        else:
            out.append(("text", readable(_paragraph(lines))))
    return out


def _items(lines: list[str]) -> list[str]:
    """Parameters: a line with the name, then the indented description as one line."""
    items: list[str] = []
    for line in lines:
        if not line.startswith(" "):
            items.append(line)
        else:
            items[-1] += ("\n" if "\n" not in items[-1] else " ") + line.strip()
    return items


def _paragraph(lines: list[str]) -> str:
    """Lines joined, list items kept apart."""
    text = lines[0].strip()
    for line in lines[1:]:
        text += ("\n" if line.lstrip().startswith(("- ", "* ", "==")) else " ") + line.strip()
    return text
