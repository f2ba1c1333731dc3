"""Evaluations as tables: plain, Markdown, LaTeX, HTML and rich."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from scorebars._shared.score_views import answers_of, left_out, number

if TYPE_CHECKING:
    from scorebars.evaluation.scoring import Evaluation

_SHOWN = ("observed", "expected", "truth", "perfect", "noise_share")


def header(evaluation: Evaluation) -> list[str]:
    group = [] if evaluation.groups == [None] else ["group"]
    return ["model", *group, "metric", "observed", "expected ± std", "truth", "perfect", "noise share"]


def cells(evaluation: Evaluation) -> list[list[str]]:
    """One row of texts for each score; a dash stands for what cannot be estimated."""
    grouped = evaluation.groups != [None]
    rows = []
    for (model, metric, group), score in evaluation.scores.items():
        first = [model, *(["all" if group is None else str(group)] if grouped else []), metric]
        observed, *others, share = answers_of(score, _SHOWN).values()
        texts = ["-" if answer.value is None else answer.text for answer in others]
        rows.append([*first, number(observed.value), *texts, number(share.value, 3)])
    return rows


def plain(evaluation: Evaluation) -> str:
    """Aligned columns, and below them how many rows were left out."""
    table = aligned([header(evaluation), *cells(evaluation)])
    return "\n".join([table, *([left_out(evaluation.omitted)] if evaluation.omitted else [])])


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of texts, each as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A GitHub table; vertical bars in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


_LATEX = {letter: "\\" + letter for letter in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "±": r"$\pm$",
}


def latex_text(text: str) -> str:
    """The text with the letters that LaTeX would obey escaped."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _latex_number(shown: str) -> str:
    """``value ± std`` as siunitx reads it."""
    if shown == "-":
        return "{--}"
    factor = ""
    if shown.startswith("("):
        shown, _, exponent = shown[1:].partition(")e")
        factor = f" e{int(exponent)}"
    return rf"\num{{{shown.replace(' ± ', ' +- ')}{factor}}}"


def booktabs(header: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> str:
    """A booktabs table of LaTeX cells whose first `texts` columns are left-aligned."""
    lines = [rf"\begin{{tabular}}{{{'l' * texts}{'r' * (len(header) - texts)}}}", r"\toprule"]
    lines.append(" & ".join(map(latex_text, header)) + r" \\")
    return "\n".join(
        [*lines, r"\midrule", *(" & ".join(row) + r" \\" for row in rows), r"\bottomrule", r"\end{tabular}"]
    )


def latex(evaluation: Evaluation) -> str:
    """A booktabs table for siunitx."""
    head = header(evaluation)
    names = head.index("metric") + 1
    rows = [[*map(latex_text, row[:names]), *map(_latex_number, row[names:])] for row in cells(evaluation)]
    return booktabs(head, rows, names)


def html(evaluation: Evaluation) -> str:
    """An HTML table; every text is escaped."""
    return html_table(header(evaluation), cells(evaluation), left_out(evaluation.omitted) if evaluation.omitted else "")


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """An HTML table of texts."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    note = f"<caption>{caption}</caption>" if caption else ""
    return f'<table class="scorebars">{note}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def rich_table(evaluation: Evaluation) -> Any:
    """A table for the terminal, as rich shows it."""
    from rich.table import Table

    note = f"; {left_out(evaluation.omitted)}" if evaluation.omitted else ""
    table = Table(caption=f"n = {evaluation.n}{note}")
    for name in header(evaluation):
        table.add_column(name, justify="left" if name in ("model", "group", "metric") else "right")
    for row in cells(evaluation):
        table.add_row(*row)
    return table
