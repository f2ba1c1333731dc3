"""Tables in text files: how a text is laid out, and the reader of such files.

The first lines tell encoding, delimiter, titles, names, units and decimal mark. Options override what was found, and a remark
says it where it is not the plain case: a header, commas, decimal points, UTF-8.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from scorebars._shared.score_views import counted
from scorebars.cells import (
    MISSING_MARKS,
    decimal_mark,
    is_missing_mark,
    is_unit,
    missing_marks,
    read_cells,
    without_brackets,
)
from scorebars.files.formats import (
    COMPRESSIONS,
    STREAM_ABOVE,
    ArrowFile,
    Column,
    Reading,
    arrow_problems,
    column_values,
    load_arrow,
    reads,
    require_one_of_each,
)
from scorebars.files.problem import TableProblem
from scorebars.files.quotes import Quotes, quotes_of

_HEAD = 1 << 18
"""So many bytes at the start of a file tell how it is laid out."""
_BLOCK = 1 << 20
"""Bytes that are read at a time."""
_SAMPLE = 400
"""The layout is found from so many first lines."""
_BLANKS, _BLANK_RUNS = " ", "  "
"""Delimiters: any white space; two or more blanks."""
_DELIMITERS = ("\t", ";", "|", ",", _BLANK_RUNS, _BLANKS)
_CALLED = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas", _BLANKS: "blanks", _BLANK_RUNS: "blanks"}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SPREAD = re.compile(r"\s*(±|\+/-|\\pm)\s*")


@dataclass(frozen=True)
class TableHead:
    """Where a table starts: what its columns are called and where the first row of values is."""

    names: list[str]
    first: int
    """Index of the first row of values among the rows given."""
    units: dict[str, str] = field(default_factory=dict)
    titles: int = 0
    """Rows above the names that are not part of the table."""
    numeric: bool = True
    """Whether any column holds numbers."""


@dataclass(frozen=True)
class TextLayout:
    """How a text file is read."""

    names: list[str]
    skip: int
    """Lines before the first row of values."""
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str | None = None
    """"," or "."; None where the first lines show no decimals; "?" where they leave it open."""
    units: dict[str, str] = field(default_factory=dict)
    titles: int = 0
    comments: bool = False
    """Whether comments stand between the rows."""
    sample: dict[str, list[str]] = field(default_factory=dict)
    """The first cells of every column."""

    @property
    def plain(self) -> bool:
        """Whether the rows can be left to a fast reader of delimited text."""
        return self.delimiter not in (_BLANKS, _BLANK_RUNS) and not self.comments

    def remarks(self) -> list[str]:
        """What is out of the ordinary, in words."""
        said = []
        if self.encoding not in ("utf-8", "utf-8-sig"):
            said.append({"cp1252": "Latin-1", "latin-1": "Latin-1"}.get(self.encoding, self.encoding.upper()))
        if self.delimiter not in (",", "\t"):
            said.append(f"separated by {_CALLED.get(self.delimiter, repr(self.delimiter))}")
        if self.decimal == ",":
            said.append("decimal commas")
        if self.titles:
            said.append(f"{counted(self.titles, 'title line')} skipped")
        return said


def text_layout(head: bytes, name: str, options: Reading) -> TextLayout:
    """How the text that begins with `head` is laid out; options override what is found."""
    encoding, delimiter = options.encoding or _encoding_of(head), options.delimiter
    lines = list(io.StringIO(_decoded(head, encoding, name), newline=""))
    if len(head) >= _HEAD and len(lines) > 1:
        lines.pop()  # may be cut
    skipped = options.skip_rows or 0
    lines = lines[:skipped] + lines[skipped : skipped + _SAMPLE]
    if not any(line.strip() for line in lines[skipped:]):
        raise _no_table(name)
    tried = [_delimiter(delimiter)] if delimiter else _DELIMITERS
    fits = [_fit(lines, one, skipped) for one in tried]
    best = max(fits, key=lambda fit: fit.rank)
    start = best.head
    if start is None:
        start, best = _as_it_says(lines, skipped, delimiter, name)
    rows = best.rows[start.first :]
    line = best.lines[start.first] if rows else len(lines)
    after = [text for text in lines[line:] if text.lstrip().startswith("#")]
    columns = {key: [row[k] for row in rows if len(row) > k] for k, key in enumerate(start.names)}
    mark = options.decimal or decimal_mark([cell for cells in columns.values() for cell in cells])
    titles = 0 if options.skip_rows is not None else start.titles
    found: dict[str, Any] = {"units": start.units, "titles": titles, "comments": bool(after), "sample": columns}
    return TextLayout(start.names, line, best.delimiter, encoding, mark, **found)


def _no_table(name: str) -> TableProblem:
    return TableProblem(f"{name} is empty: it needs a line of column names and at least one row.")


# encoding ------------------------------------------------------------------------------------------


def _encoding_of(head: bytes) -> str:
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) > len(head) / 8:
        return "utf-16-le" if odd > even else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
        return "utf-8"
    except UnicodeDecodeError:
        return latin_of(head)


def latin_of(head: bytes) -> str:
    """The encoding of a text that is not UTF-8: what Windows writes, else plain Latin-1, in which every byte is a letter."""
    try:
        head.decode("cp1252")
        return "cp1252"
    except UnicodeDecodeError:
        return "latin-1"


def _decoded(head: bytes, encoding: str, name: str) -> str:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except LookupError:
        raise TableProblem(f"--encoding {encoding!r} is not known. Common ones: utf-8, latin-1, utf-16.") from None
    except UnicodeDecodeError as why:
        raise TableProblem(
            f"{name} is not a text in {encoding}: byte {why.start} does not fit. Name the encoding with --encoding NAME."
        ) from why
    if "\0" in text:
        raise TableProblem(
            f"{name} cannot be read as a text: it holds bytes of 0. Name its kind with --format KIND, or its "
            "encoding with --encoding NAME."
        )
    return text


# delimiter and header ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fit:
    """The lines cut at one delimiter."""

    delimiter: str
    rows: list[list[str]]
    lines: list[int]
    head: TableHead | None
    steady: float
    """Share of rows that have as many cells as there are names."""

    @property
    def rank(self) -> tuple[bool, bool, float, int]:
        usual = -_DELIMITERS.index(self.delimiter) if self.delimiter in _DELIMITERS else 0
        return self.head is not None, self.head is not None and self.head.numeric, round(self.steady, 1), usual


_NAMED_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"} | dict.fromkeys(
    ("space", "blank", "whitespace"), _BLANKS
)


def _delimiter(given: str) -> str:
    found = _NAMED_DELIMITERS.get(given.lower(), given)
    if len(found) != 1:
        raise TableProblem(f"--delimiter must be one character, or tab or space, got {given!r}.")
    return found


def _rows(lines: Iterable[str], delimiter: str, skip: int, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Rows cut at the delimiter, with the line number of each (from 1); blank lines and comments are left out.

    Where it is `strict` a quote that is not closed is an error: lines that are the first of many may end inside one.
    """
    counted = enumerate(lines, 1)
    for _ in range(skip):
        next(counted, None)
    if delimiter in (_BLANKS, _BLANK_RUNS):
        for number, line in counted:
            text = _SPREAD.sub(r"\1", line.strip())
            if text and not text.startswith("#"):
                yield number, _cut_at_blanks(text, delimiter)
        return
    number = skip

    def uncommented() -> Iterator[str]:
        nonlocal number
        for number, line in counted:  # noqa: B007
            if not line.lstrip().startswith("#"):
                yield line

    for row in csv.reader(uncommented(), delimiter=delimiter, skipinitialspace=True, strict=strict):
        if any(cell.strip() for cell in row):
            yield number, row


def _cut_at_blanks(text: str, delimiter: str) -> list[str]:
    if delimiter == _BLANK_RUNS:
        return re.split(r"\s{2,}|\t", text)
    if '"' in text:
        return next(csv.reader([text.replace("\t", " ")], delimiter=" ", skipinitialspace=True))
    return text.split()


def _fit(lines: Sequence[str], delimiter: str, skip: int) -> _Fit:
    numbered = list(_rows(lines, delimiter, skip))
    rows = [row for _, row in numbered]
    counts = Counter(len(row) for row in rows if len(row) > 1)
    starts = [number - 1 - sum(cell.count("\n") for cell in row) for number, row in numbered]
    if not counts:
        return _Fit(delimiter, rows, starts, None, 0.0)
    width = max(counts, key=lambda count: (counts[count], count))
    head = table_head(rows, width)
    if head is None and delimiter == _BLANKS:  # row names, as R writes them, have no name of their own
        shifted = table_head([["", *row] if len(row) == width - 1 else row for row in rows], width)
        if shifted is not None and len(rows[shifted.first - 1]) == width - 1 and _all_differ(rows[shifted.first :]):
            head = shifted
    if head is None and (names := _names_in_comment(lines, starts[0], delimiter, width)):
        head = TableHead(names, 0)
    values = rows[head.first :] if head else rows
    steady = sum(len(row) == width for row in values) / len(values) if values else 1.0
    return _Fit(delimiter, rows, starts, head, steady)


def _all_differ(rows: Sequence[Sequence[str]]) -> bool:
    """Whether every row starts with another text."""
    return len({row[0] for row in rows}) == len(rows)


def _names_in_comment(lines: Sequence[str], first: int, delimiter: str, width: int) -> list[str] | None:
    """Names in the last comment above the values, as in ``# y  y_err  pred``."""
    above = [line for line in lines[:first] if line.strip()]
    if not above or not above[-1].lstrip().startswith("#"):
        return None
    text = above[-1].strip().lstrip("#").strip()
    for cut in (delimiter, _BLANKS):
        cells = next(iter(_rows([text], cut, 0)), (0, []))[1]
        if len(cells) == width and not any(_looks_numeric(cell) for cell in cells):
            return [cell.strip() for cell in cells]
    return None


def table_head(rows: Sequence[Sequence[Any]], width: int) -> TableHead | None:
    """Names, units and first row of a table whose rows have `width` cells; None where no row holds names.

    Values start at the first row that is numeric where most rows are. What stands right above them are names, or units
    with names above; anything else above is a title.
    """
    full = [k for k, row in enumerate(rows) if len(row) == width]
    later = [rows[k] for k in full[len(full) // 2 :]]
    numeric = [j for j in range(width) if sum(_looks_numeric(row[j]) for row in later) * 2 > len(later)]
    if numeric:
        first = next((k for k in full if _is_row_of_values(rows[k], numeric)), None)
        above = [k for k in full if first is None or k < first]
        if not above or (first is not None and above[-1] != first - 1):
            return None
    else:  # nothing but texts: the first row names them
        above, first = full[:1], full[0] + 1
    last = above[-1]
    units: Sequence[Any] = ()
    if len(above) > 1 and above[-2] == last - 1 and _are_units(rows[last]):
        units, last = rows[last], above[-2]
    names = [str(cell).strip() for cell in rows[last]]
    kept = {
        name: without_brackets(str(cell)) for name, cell in zip(names, units, strict=False) if str(cell).strip(" -")
    }
    titles = sum(any(map(_filled, row)) for row in rows[:last])
    return TableHead(names, len(rows) if first is None else first, kept, titles, bool(numeric))


def _filled(cell: Any) -> bool:
    return bool(str(cell).strip())


def _looks_numeric(cell: Any) -> bool:
    if not isinstance(cell, str):
        return isinstance(cell, int | float) and not isinstance(cell, bool)
    try:
        return float(cell) == float(cell)
    except ValueError:
        pass
    if not any(letter.isdigit() for letter in cell):
        return False
    found = read_cells([cell])
    return bool(found.limits[0] or found.values[0] == found.values[0])


def _is_row_of_values(row: Sequence[Any], numeric: Sequence[int]) -> bool:
    cells = [row[j] for j in numeric]
    numbers, gone = sum(map(_looks_numeric, cells)), missing_marks(cells)
    return (numbers > 0 or gone == len(cells)) and 2 * (numbers + gone) >= len(cells)


def _are_units(row: Sequence[Any]) -> bool:
    cells = [str(cell).strip() for cell in row if str(cell).strip(" -")]
    return bool(cells) and all(is_unit(without_brackets(cell)) or cell != without_brackets(cell) for cell in cells)


def _as_it_says(lines: Sequence[str], skip: int, delimiter: str | None, name: str) -> tuple[TableHead, _Fit]:
    """Where nothing looks like a table, take the first line as names, cut at its most frequent delimiter.

    Rows that do not fit are complained about when they are read.
    """
    first = next((line for line in lines[skip:] if line.strip() and not line.lstrip().startswith("#")), "")
    cut = _delimiter(delimiter) if delimiter else max("\t;,", key=first.count)
    fit = _fit(lines, cut, skip)
    if not fit.rows:
        raise _no_table(name)
    names = [cell.strip() for cell in fit.rows[0]]
    if all(_looks_numeric(cell) for cell in names):
        raise TableProblem(
            f"{name} starts with numbers, not with column names. Add a first line such as y,y_err,pred_model; if one "
            "follows further down, skip the lines above it with --skip-rows N."
        )
    return TableHead(names, 1), fit


def opened_text(stream: BinaryIO, encoding: str) -> io.TextIOWrapper:
    """The text of a file, without the mark of its encoding."""
    return io.TextIOWrapper(stream, encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="")


# the reader ------------------------------------------------------------------------------------------


@reads("csv", ".csv", ".tsv", ".txt", ".dat", ".tab", ".asc")
class TextFile(ArrowFile):
    """A table in a text file: pyarrow reads it, told how it is laid out; rows cut at blanks are handed to it with tabs."""

    def __init__(self, path: Path, options: Reading, name: str | None = None) -> None:
        self.path, self.kind, self.name = path, "csv", name or path.name
        self.size, self._options = path.stat().st_size, options
        with self._raw() as raw:
            self.layout = text_layout(raw.read(_HEAD), self.name, options)
        self.columns, self.streams = self.layout.names, self.layout.plain
        self.decimal, self.decimal_is_given = self.layout.decimal, options.decimal is not None
        self.delimiter, self.empty = self.layout.delimiter, not any(self.layout.sample.values())

    @contextmanager
    def _raw(self) -> Iterator[Any]:
        """The bytes of the file, decompressed."""
        with (
            arrow_problems(self.name),
            load_arrow("pyarrow").input_stream(str(self.path), compression="detect") as raw,
        ):
            yield raw

    def bytes_held(self, columns: int, most: int = STREAM_ABOVE) -> int:
        """Of a compressed file as much as `most` is decompressed to count: the size that it states may be wrong."""
        if self.size > most or self.path.suffix.lower() not in COMPRESSIONS:
            return self.size
        held = 0
        with self._raw() as raw:
            while held <= most and (read := len(raw.read(_BLOCK))):
                held += read
        return held

    @cached_property
    def _quotes(self) -> Quotes:
        """What the quotes of the file do; refuses one that is not closed, which would swallow the rows below it."""
        with self._raw() as raw:
            if not any(b'"' in block for block in iter(lambda: raw.read(_BLOCK), b"")):
                return Quotes()
        encoding = codecs.lookup(self.layout.encoding).name
        with self._raw() as raw:
            blocks: Iterator[bytes] = iter(lambda: raw.read(_BLOCK), b"")
            if encoding.startswith(("utf-16", "utf-32")):
                blocks = (text.encode() for text in codecs.iterdecode(blocks, encoding))
            found = quotes_of(blocks, self.layout.delimiter, len(self.layout.names))
        if found.open_in is not None:
            raise TableProblem(
                f"line {found.open_in} of {self.name} opens a quote that is not closed where a cell ends, so rows below it "
                "would count as part of its text. Close the quote, remove it, or write it twice where it belongs to the text."
            )
        return found

    def with_decimal(self, mark: str) -> TextFile:
        """The same file, its numbers written with this decimal mark."""
        return TextFile(self.path, replace(self._options, decimal=mark), self.name)

    def _how(self, numbers: Sequence[str] = (), names: Sequence[str] | None = None) -> dict[str, Any]:
        pc, pa, layout = load_arrow("pyarrow.csv"), load_arrow("pyarrow"), self.layout
        over_lines = layout.plain and self._quotes.over_lines
        plain, marks = layout.plain, {**dict.fromkeys(pc.ConvertOptions().null_values)}
        if numbers:
            marks |= dict.fromkeys(spelled for mark in MISSING_MARKS for spelled in (mark, mark.upper(), mark.title()))
        encoding = {"utf-8-sig": "utf-8"}.get(layout.encoding, layout.encoding) if plain else "utf-8"
        skip = layout.skip if plain else 0
        return {
            "read_options": pc.ReadOptions(
                skip_rows=skip, column_names=layout.names, block_size=_BLOCK, encoding=encoding
            ),
            "parse_options": pc.ParseOptions(
                delimiter=layout.delimiter if plain else "\t", newlines_in_values=over_lines
            ),
            "convert_options": pc.ConvertOptions(
                strings_can_be_null=True,
                null_values=list(marks),
                decimal_point="," if layout.decimal == "," else ".",
                column_types={name: pa.float64() for name in numbers},
                include_columns=list(names) if names is not None else None,
            ),
        }

    def file_format(self, numbers: Sequence[str] = ()) -> Any:
        """How pyarrow is to read the file in pieces; `numbers` are read as floats throughout."""
        return load_arrow("pyarrow.dataset").CsvFileFormat(**self._how(numbers))

    def read(self, names: Sequence[str]) -> dict[str, Column]:
        require_one_of_each(self, names)
        if self.empty:
            return {name: np.zeros(0) for name in names}
        try:
            with arrow_problems(self.name, self):
                what = str(self.path) if self.layout.plain else self._with_tabs()
                table = load_arrow("pyarrow.csv").read_csv(what, **self._how(names=names))
        except UnicodeDecodeError:
            if self._options.encoding or self.layout.encoding != "utf-8":
                raise
            with self._raw() as raw:  # a letter far down the file shows that it is not UTF-8
                self.layout = replace(self.layout, encoding=latin_of(raw.read()))
            return self.read(names)
        return {name: _stripped(column_values(table.column(name), name, self.name)) for name in names}

    def first_rows(self) -> dict[str, Column]:
        return {name: typed_cells(cells, self.decimal) for name, cells in self.layout.sample.items()}

    def _with_tabs(self) -> Any:
        """The rows as a text that pyarrow can read."""
        sink = io.StringIO()
        csv.writer(sink, delimiter="\t", lineterminator="\n").writerows(record for _, record in self.records())
        return load_arrow("pyarrow").BufferReader(sink.getvalue().encode("utf-8"))

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The rows of values, each with its line number."""
        with self._raw() as raw, opened_text(raw, self.layout.encoding) as text:
            layout = self.layout
            yield from _rows(self._lines(text), layout.delimiter, layout.skip, strict=not layout.plain)

    def _lines(self, text: Any) -> Iterator[str]:
        while line := text.readline(_BLOCK):
            if len(line) == _BLOCK:
                raise self.too_long
            yield line

    @property
    def too_long(self) -> TableProblem:
        """The complaint about a line so long that it would fill the memory."""
        return TableProblem(
            f"{self.name} cannot be read: a line is longer than {_BLOCK >> 20} MiB. Is it a table, with a line for each row?"
        )

    def say_what_is_wrong(self, why: str) -> None:
        if "straddling" in why:
            raise self.too_long
        wanted, value = len(self.columns), re.search(r"invalid value '(.*?)'", why)
        for row, (line, record) in enumerate(self.records()):
            if len(record) != wanted:
                raise TableProblem(
                    f"line {line} of {self.name} has {len(record)} cells, but there are {wanted} column names. Quote cells "
                    "that hold the delimiter, fill in what is missing, or name the delimiter with --delimiter CHARACTER."
                )
            if value and value[1] in record:
                column = self.columns[record.index(value[1])]
                raise TableProblem(
                    f"column {column!r} holds no number in row {row + 1} (line {line} of {self.name}): {value[1]!r}. "
                    "Correct the cell, empty it and use --nan-policy omit, or choose another column."
                )

    def units(self, names: Sequence[str]) -> dict[str, str]:
        return {**super().units(names), **{name: unit for name, unit in self.layout.units.items() if name in names}}

    def remarks(self) -> list[str]:
        return self.layout.remarks()

    def place(self, row: int) -> str:
        for k, (line, _) in enumerate(self.records()):
            if k == row:
                return f"row {row + 1} (line {line} of {self.name})"
        return super().place(row)


def typed_cells(cells: Sequence[str], decimal: str | None) -> Column:
    """Cells of a text as whole numbers, numbers or texts, whichever all of them are."""
    try:
        if decimal != "," or not any("." in cell for cell in cells):
            return np.array(cells, dtype=np.int64 if all(cell.strip().isdigit() for cell in cells) else np.float64)
    except ValueError:
        pass  # not just numbers
    found = read_cells(cells, decimal if decimal in (".", ",") else None)
    odd = found.bad.any() or found.limits.any() or found.upper is not None or found.unit
    if not odd and not np.isnan(found.values).all():
        return found.values
    return np.array([None if is_missing_mark(cell) else cell for cell in cells], dtype=object)


def _stripped(values: Column) -> Column:
    """Texts without the blanks around them."""
    if values.dtype.kind != "O":
        return values
    return np.array([v.strip() if isinstance(v, str) else v for v in values], dtype=object)
