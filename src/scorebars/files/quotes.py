"""Cells in quotes: does each end where it should?

Readers of text files take all up to the next quote for one cell, line ends and rows and all. So a quote that is never closed
swallows the rows below it without a word, and has to be found before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np

_LONGEST = 1 << 20
"""A cell of more bytes has lost its closing quote."""


@dataclass(frozen=True)
class Quotes:
    """What the quotes of a text do."""

    over_lines: bool = False
    """Whether a cell holds line ends, and is closed."""
    open_in: int | None = None
    """The line of a quote that is not closed where a cell ends; None if all are."""


def _each_in_its_line(text: bytes, delimiter: str) -> bool:
    """Whether quotes come in pairs, each about a whole cell of one line: so it is nearly always, and quick to see."""
    letters = np.frombuffer(text + b"\n", np.uint8)
    quotes, lines = np.flatnonzero(letters == ord('"')), np.flatnonzero(letters == ord("\n"))
    first, last = quotes[::2], quotes[1::2]
    if len(first) != len(last):
        return False
    ends = np.zeros(256, bool)
    ends[[*delimiter.encode(), *b"\r\n"]] = True
    # at the first letter of all, index -1 is the last one, a line end
    alone = ends[letters[first - 1]].all() and ends[letters[last + 1]].all()
    return bool(alone and np.array_equal(np.searchsorted(lines, first), np.searchsorted(lines, last)))


def _holds_rows(cell: bytes, delimiter: str, columns: int) -> bool:
    """Whether each whole line inside a cell looks like a row of the table: then two cells have lost a quote each."""

    def is_number(word: bytes) -> bool:
        try:
            float(word)
        except ValueError:
            return False
        return True

    rows = [line.split(delimiter.encode()) for line in cell.splitlines()[1:-1]]
    return len(rows) > 0 and all(len(row) == columns and any(map(is_number, row)) for row in rows)


def quotes_of(blocks: Iterable[bytes], delimiter: str, columns: int) -> Quotes:
    """Look for cells in quotes that run over the end of their line; `blocks` are the bytes of a text of so many columns."""
    ends = re.escape(delimiter.encode()) + rb"\r\n"
    opened = rb'"(?:(?<=\A")|(?<=[' + ends + rb']"))'  # a quote inside a cell is a letter like others
    cell = re.compile(opened + rb'(?:[^"]|"")*+(?P<closed>"(?=[ \t]*(?:[' + ends + rb"]|\Z)))?")
    text, line, over_lines = b"", 1, False
    for block in chain(blocks, [b""]):
        text += block
        if b'"' not in text:
            line += text[:-1].count(b"\n")
            text = text[-1:]  # tells whether a cell starts next
            continue
        done = end = text.rfind(b"\n") + 1 if block else len(text)
        for found in () if _each_in_its_line(text[:end], delimiter) else cell.finditer(text, 0, end):
            broken, is_open = b"\n" in found[0] or b"\r" in found[0], found.end() == end and not found["closed"]
            if is_open and block and end - found.start() < _LONGEST:
                done = found.start()  # goes on in the next block
            elif is_open or (broken and (not found["closed"] or _holds_rows(found[0], delimiter, columns))):
                return Quotes(over_lines, line + text.count(b"\n", 0, found.start()))
            else:
                over_lines |= broken
        line += text.count(b"\n", 0, done)
        text = text[done:]
    return Quotes(over_lines)
