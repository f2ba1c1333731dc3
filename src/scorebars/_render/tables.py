"""Evaluations as tables: plain, Markdown, LaTeX, HTML and rich."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

from scorebars._render import text

if TYPE_CHECKING:
    from scorebars.score import Score
    from scorebars.studies.evaluate import Evaluation


def header(evaluation: Evaluation) -> list[str]:
    group = [] if evaluation.groups == [None] else ["group"]
    return ["model", *group, "metric", "observed", "expected ± std", "truth", "perfect", "noise share"]


def cells(evaluation: Evaluation) -> list[list[str]]:
    """One row of texts for each score; what cannot be had is a dash."""
    grouped = evaluation.groups != [None]
    rows = []
    for (model, metric, group), score in evaluation.scores.items():
        first = [model, *(["all" if group is None else str(group)] if grouped else []), metric]
        rows.append([*first, text.number(score.observed), str(score), *_estimates(score)])
    return rows


def _estimates(score: Score) -> list[str]:
    truth, perfect, share = (text.answer(score, name) for name in ("truth", "perfect", "noise_share"))
    return ["-" if v is None else str(v) for v in (truth, perfect)] + [text.number(share, 3)]


def plain(evaluation: Evaluation) -> str:
    """Aligned columns, and below them how many rows were left out."""
    rows = [header(evaluation), *cells(evaluation)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, *([text.left_out(evaluation.omitted)] if evaluation.omitted else [])])


def markdown(evaluation: Evaluation) -> str:
    """A GitHub table; vertical bars in names are escaped."""
    head = header(evaluation)
    lines = [head, ["---"] * len(head), *cells(evaluation)]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


_LATEX = {
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


def _latex_text(value: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in value)


def _latex_number(shown: str) -> str:
    """``value ± std`` as siunitx reads it."""
    if shown == "-":
        return "{--}"
    factor = ""
    if shown.startswith("("):
        shown, _, exponent = shown[1:].partition(")e")
        factor = f"e{int(exponent)}"
    return rf"\num{{{shown.replace(' ± ', ' +- ')}{' ' + factor if factor else ''}}}"


def latex(evaluation: Evaluation) -> str:
    """A booktabs table for siunitx."""
    head = header(evaluation)
    names = head.index("metric") + 1
    lines = [r"\begin{tabular}{" + "l" * names + "r" * (len(head) - names) + "}", r"\toprule"]
    lines.append(" & ".join(_latex_text(name).replace("±", r"$\pm$") for name in head) + r" \\")
    lines.append(r"\midrule")
    for row in cells(evaluation):
        texts = [_latex_text(cell) for cell in row[:names]] + [_latex_number(cell) for cell in row[names:]]
        lines.append(" & ".join(texts) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def html(evaluation: Evaluation) -> str:
    """An HTML table; every text is escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header(evaluation))
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells(evaluation))
    note = f"<caption>{text.left_out(evaluation.omitted)}</caption>" if evaluation.omitted else ""
    return f'<table class="scorebars">{note}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def rich_table(evaluation: Evaluation) -> Any:
    """A table for the terminal, as rich shows it."""
    from rich.table import Table

    note = f"; {text.left_out(evaluation.omitted)}" if evaluation.omitted else ""
    table = Table(caption=f"n = {evaluation.n}{note}")
    head = header(evaluation)
    for name in head:
        table.add_column(name, justify="left" if name in ("model", "group", "metric") else "right")
    for row in cells(evaluation):
        table.add_row(*row)
    return table


def json_safe(value: Any) -> Any:
    """Infinities as texts, which strict JSON can hold."""
    if isinstance(value, dict):
        return {key: json_safe(v) for key, v in value.items()}
    if isinstance(value, list):
        return [json_safe(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    return value
