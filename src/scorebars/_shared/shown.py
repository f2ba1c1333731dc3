"""Results that show themselves: text in a terminal, styled HTML in a notebook, both from one description."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from scorebars._shared.escaping import html_text, printable, printable_lines

Row = TypeVar("Row")
_MOST_ROWS = 60
_LEFT = 'style="text-align:left;padding:.15em .8em"'
_RIGHT = 'style="text-align:right;padding:.15em .8em;white-space:nowrap;font-variant-numeric:tabular-nums"'
_HEAD = 'style="border-bottom:1px solid currentColor"'


class Table(NamedTuple):
    """Texts in columns, of which the first `names` are names and the others numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1


class Printout(NamedTuple):
    """What a result shows: a title, tables, remarks, and warnings."""

    title: str = ""
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()


class Shown(ABC):
    """A result that prints as text, also where a terminal shows its repr, and as HTML in notebooks."""

    @abstractmethod
    def view(self) -> Printout:
        """What is shown."""

    def __str__(self) -> str:
        title, tables, notes, warnings = self.view()
        parts = [aligned(table) for table in tables]
        body = "\n\n".join(parts)
        lines = [*([title] if title else []), *([body] if body else []), *notes, *(f"Warning: {w}" for w in warnings)]
        return printable_lines("\n".join(lines))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        title, tables, notes, warnings = self.view()
        said = [*notes, *(f"Warning: {w}" for w in warnings)]
        head = f"<p><b>{html_text(title)}</b></p>" if title else ""
        tail = "".join(f"<p>{html_text(line)}</p>" for line in said)
        return f'<div class="scorebars">{head}{"".join(map(html_table, tables))}{tail}</div>'


def first_rows(
    rows: Sequence[Row], most: int = _MOST_ROWS, hold: str = "to_frame, to_markdown and to_json"
) -> tuple[Sequence[Row], str]:
    """The rows that are shown, and what is said of the others: what holds all of them."""
    more = len(rows) - most
    return rows[:most], f"... and {more} more row{'s' * (more > 1)}; {hold} hold all" if more > 0 else ""


def aligned(table: Table) -> str:
    """Columns of texts, each as wide as its widest cell; a long table is cut, and says so."""
    rows, more = first_rows(table.rows)
    rows = [list(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(table.header, *rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (table.header, *rows)]
    return "\n".join([*lines, *([more] if more else [])])


def html_table(table: Table, caption: str = "") -> str:
    """A table in HTML that looks right on light and dark grounds; a long one is cut, and says so."""
    rows, more = first_rows(table.rows)

    def line(tag: str, cells: Sequence[str]) -> str:
        sides = [_LEFT] * table.names + [_RIGHT] * (len(cells) - table.names)
        return "".join(f"<{tag} {side}>{html_text(cell)}</{tag}>" for side, cell in zip(sides, cells, strict=True))

    said = " ".join(text for text in (caption, more) if text)
    note = f'<caption style="text-align:left">{html_text(said)}</caption>' if said else ""
    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return (
        f'<div style="overflow-x:auto"><table class="scorebars" style="border-collapse:collapse">{note}'
        f"<thead {_HEAD}><tr>{line('th', table.header)}</tr></thead><tbody>{body}</tbody></table></div>"
    )
