"""Evaluations as tables: plain and HTML, Markdown, LaTeX and rich."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scorebars._shared.escaping import latex_text, markdown_text, printable
from scorebars._shared.score_views import answers_of, left_out, number, percent
from scorebars._shared.shown import Printout, Table

if TYPE_CHECKING:
    from scorebars.evaluation.scoring import Evaluation

_SHOWN = ("observed", "expected", "truth", "perfect", "noise_share")


def header(evaluation: Evaluation) -> list[str]:
    """The names of the columns."""
    group = [] if evaluation.groups == [None] else ["group"]
    errors = ("expected ± labels", "truth ± labels ± sample", "perfect ± labels")
    return ["model", *group, "metric", "observed", *errors, "noise share"]


def cells(evaluation: Evaluation) -> list[list[str]]:
    """One row of texts for each score, the best model by the first metric first; a dash for what cannot be estimated."""
    grouped = evaluation.groups != [None]
    place = {model: k for k, model in enumerate(evaluation.ranked())}
    rows = []
    for (model, metric, group), score in sorted(evaluation.scores.items(), key=lambda item: place[item[0][0]]):
        first = [model, *(["all" if group is None else str(group)] if grouped else []), metric]
        observed, expected, truth, perfect, share = answers_of(score, _SHOWN).values()
        texts = [expected.labels_only, truth.cell, perfect.labels_only]
        rows.append([*first, number(observed.value), *texts, "-" if share.value is None else percent(share.value)])
    return rows


def view(evaluation: Evaluation) -> Printout:
    """The scores as a table, what was left out, and what was assumed."""
    head = header(evaluation)
    notes = [left_out(evaluation.omitted)] if evaluation.omitted else []
    notes += [f"Note: {evaluation.assumed}."] if evaluation.assumed else []
    return Printout(tables=[Table(head, cells(evaluation), head.index("metric") + 1)], notes=notes)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A GitHub table."""
    head, *body = [list(map(markdown_text, line)) for line in (header, *rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))


def _latex_number(shown: str) -> str:
    """``value ± std`` as siunitx reads it; two errors as a formula, a single one with its name where it has one."""
    if shown == "-":
        return "{--}"
    if shown.endswith(" %"):
        return shown.replace(" %", r"\,\%")
    name = next((f" ({one})" for one in ("labels", "sample") if f" ({one})" in shown), "")
    shown, factor = shown.replace(name, ""), ""
    if shown.startswith("("):
        shown, _, exponent = shown[1:].partition(")e")
        factor = f" e{int(exponent)}"
    if shown.count("±") < 2:
        return rf"\num{{{shown.replace(' ± ', ' +- ')}{factor}}}{name}"
    return "$" + r" \pm ".join(rf"\num{{{number}{factor}}}" for number in shown.split(" ± ")) + "$"


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


def rich_table(evaluation: Evaluation) -> Any:
    """A table for the terminal, as rich shows it."""
    from rich.table import Table as RichTable
    from rich.text import Text

    note = f"; {left_out(evaluation.omitted)}" if evaluation.omitted else ""
    table = RichTable(caption=f"n = {evaluation.n}{note}")
    for name in header(evaluation):
        table.add_column(name, justify="left" if name in ("model", "group", "metric") else "right")
    for row in cells(evaluation):
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
