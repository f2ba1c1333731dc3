"""Names from data are never markup: one escaping for each output, all of them here.

Models, groups, columns, classes, units and files are named by whoever made the data. What is shown of them is text: no
terminal, browser, typesetter or spreadsheet obeys it.

    plain text, terminal   printable          a rich table takes Text(printable(name))
    HTML                   html_text          notebooks; the report's templates escape by themselves
    Markdown               markdown_text
    LaTeX                  latex_text
    CSV                    csv_cell
    JSON                   json_text          and json.dumps does the rest
    figures                figure_text
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

_OBEYED = ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp")
"""Categories of characters that a terminal obeys or cannot show: control, direction, unassigned."""


def printable(text: object) -> str:
    r"""The text with control, direction and unassigned characters escaped, so that a terminal shows and never obeys it.

    >>> print(printable("y\x1b[31m\nred"))
    y\x1b[31m\nred
    """
    safe = str(text)
    if safe.isascii() and safe.isprintable():
        return safe
    letters = (c.encode("unicode_escape").decode("ascii") if unicodedata.category(c) in _OBEYED else c for c in safe)
    return "".join(letters)


def printable_lines(text: object) -> str:
    r"""The same for a text of several lines, which stay apart.

    >>> print(printable_lines("one\ntwo\x07"))
    one
    two\x07
    """
    return "\n".join(map(printable, str(text).split("\n")))


def printable_rows(rows: Iterable[Iterable[Any]]) -> list[list[Any]]:
    """The texts in the cells of a table made printable; other cells stay.

    >>> printable_rows([["a\\x07", 1]])
    [['a\\\\x07', 1]]
    """
    return [[printable(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]


def html_text(text: object) -> str:
    """The text for HTML, between tags and in quoted attributes.

    >>> html_text("<b>lgbm</b> & co")
    '&lt;b&gt;lgbm&lt;/b&gt; &amp; co'
    """
    return html.escape(printable_lines(text))


_MARKDOWN = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
"""What Markdown obeys in a cell of a table; an underscore only where no letters stand on both sides."""


def markdown_text(text: object) -> str:
    r"""The text for a cell of a Markdown table: no markup, no link, no HTML.

    >>> print(markdown_text("lgbm[v2](javascript:x)|<b>"), markdown_text("mean_error"))
    lgbm\[v2\](javascript:x)\|&lt;b&gt; mean_error
    """
    return _MARKDOWN.sub(r"\\\g<0>", html.escape(printable(text), quote=False))


_LATEX = {letter: "\\" + letter for letter in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # a row that begins with it would be taken for the height of the row before
    "]": "{]}",
    "*": "{*}",
    "±": r"$\pm$",
}


def latex_text(text: object) -> str:
    r"""The text with the letters that LaTeX would obey escaped.

    >>> print(latex_text("lgbm[v2] 50%"))
    lgbm{[}v2{]} 50\%
    """
    return "".join(_LATEX.get(letter, letter) for letter in printable(text))


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take for the beginning of a formula."""


def csv_cell(value: Any) -> Any:
    """A cell of a CSV file: a text that a spreadsheet would run as a formula has an apostrophe before it; numbers stay.

    >>> csv_cell("=HYPERLINK(1)"), csv_cell("lgbm"), csv_cell(-1.5), csv_cell(None)
    ("'=HYPERLINK(1)", 'lgbm', -1.5, '')
    """
    if not isinstance(value, str):
        return "" if value is None else value
    text = printable_lines(value)
    return f"'{text}" if value.startswith(_FORMULA) else text


def json_text(text: str) -> str:
    r"""The text as all readers of JSON take it: half a pair of UTF-16, which no text has, is written out.

    >>> print(json_text("a\ud800"))
    a\ud800
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def figure_text(text: object) -> str:
    r"""The text for a figure of matplotlib: dollars are dollars and begin no formula, and no name hides from the legend.

    >>> print(figure_text("$x^2$"))
    \$x^2\$
    """
    shown = printable_lines(text).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
