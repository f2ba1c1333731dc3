"""Cells as numbers: decimal commas, thousands, a value with its error, limits, missing values; units in cells and names.

=====================================  ==========================================================
``1.23``, ``1,23``, ``1 234.5``        a number; which of ``,`` and ``.`` is the decimal mark follows from all cells
``1.23 ± 0.05``, ``1.23 +/- 0.05``     a value with its error
``1.23(5)``, ``1.23(0.05)``            the same; digits in brackets count in the last places of the value
``1.23 +0.05 -0.04``                   a value with upper and lower error
``<0.5``, ``≥ 10``                     a limit: the value lies on one side of it
``5 %``, ``1.2 MeV``                   a number with its unit, the same in all cells
``-``, ``n.d.``, ``NA``, ``...``       nothing is there
=====================================  ==========================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from scorebars.arrays import BoolArray, FloatArray, IntArray

_MARKS = "- -- --- .. ... … ? n.d. n.d nd n/d n.a. n/a n.a na #n/a #na nan null none missing <na> n.m."
MISSING_MARKS = frozenset(["", *_MARKS.split(" ")])
"""Texts that stand for no value, in lower case."""
_DASHES = str.maketrans(
    {"\u2212": "-", "\u2013": "-", "\u2014": "-", "\u2011": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " "}
)
_PLUS_MINUS = r"(?:±|\+\s*/\s*-|\+-|\\pm)"


def is_missing_mark(text: str) -> bool:
    """Whether a cell says that nothing is there."""
    return text.strip().translate(_DASHES).lower() in MISSING_MARKS


def missing_marks(cells: Iterable[Any]) -> int:
    """How many cells say that nothing is there."""
    return sum(isinstance(cell, str) and is_missing_mark(cell) for cell in cells)


def reads_as_number(value: Any) -> bool:
    """Whether Python reads a value as a number.

    >>> reads_as_number("1e-3"), reads_as_number("1,5"), reads_as_number(None)
    (True, False, False)
    """
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


@cache
def _grammar(decimal: str) -> re.Pattern[str]:
    point, group = (r"\.", ",") if decimal == "." else (",", r"\.")
    digits = rf"(?:\d{{1,3}}(?:{group}\d{{3}})+|\d{{1,3}}(?:[ '’]\d{{3}})+|\d+)"
    plain = rf"(?:{digits}(?:{point}\d*)?|{point}\d+)"
    power = r"(?:[eEdD][+-]?\d+)?"
    return re.compile(
        rf"(?P<limit><=?|>=?|≤|≥|≲|≳)?\s*(?P<value>[+-]?{plain}{power})"
        rf"(?:\s*{_PLUS_MINUS}\s*(?P<error>{plain}{power})"
        rf"|\((?P<digits>{plain})\)(?P<power>{power})"
        rf"|\s*\+\s*(?P<upper>{plain}{power})\s*[/,;]?\s*-\s*(?P<lower>{plain}{power})"
        rf"|\s*-\s*(?P<lower2>{plain}{power})\s*[/,;]?\s*\+\s*(?P<upper2>{plain}{power}))?"
        r"\s*(?P<unit>[^\d\s<>±()+-].*)?"
    )


def _number(text: str, decimal: str) -> float:
    plain = re.sub(r"[ '’,]" if decimal == "." else r"[ '’.]", "", text)
    return float(plain.replace(",", ".").replace("D", "e").replace("d", "e"))


@dataclass(frozen=True)
class CellNumbers:
    """What the cells of a column say. Values are NaN where nothing is there, errors NaN where none is written."""

    values: FloatArray
    lower: FloatArray | None
    """Errors written in the cells; None where no cell has one."""
    upper: FloatArray | None
    side: FloatArray
    """-1 where the value is an upper limit, as in ``<0.5``, 1 where it is a lower limit, else 0."""
    bad: BoolArray
    """Which cells hold something else than a number."""
    unit: str | None
    """What stands after every number."""

    @property
    def limits(self) -> BoolArray:
        """Which cells hold a limit."""
        return self.side != 0

    def rows(self, index: IntArray) -> CellNumbers:
        """The cells of some rows."""
        lower, upper = (None if errors is None else errors[index] for errors in (self.lower, self.upper))
        return CellNumbers(self.values[index], lower, upper, self.side[index], self.bad[index], self.unit)

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers, even if a few cells are wrong."""
        there = ~np.isnan(self.values)
        return bool(there.any()) and int(self.bad.sum()) * 4 <= int(there.sum())


def read_cells(texts: Iterable[Any], decimal: str | None = None) -> CellNumbers:
    """Numbers from texts, cell by cell; without `decimal` a comma is one where the cells leave no doubt.

    >>> found = read_cells(["1,5", "2,25 ± 0,5", "n.d."])
    >>> found.values, found.upper
    (array([1.5 , 2.25,  nan]), array([nan, 0.5, nan]))
    """
    cells = [_cleaned(text) for text in texts]
    mark = decimal or ("," if decimal_mark(cell for cell in cells if isinstance(cell, str)) == "," else ".")
    grammar, n = _grammar(mark), len(cells)
    values, lower, upper = np.full((3, n), np.nan)
    side, bad = np.zeros(n), np.zeros(n, dtype=bool)
    units: set[str] = set()
    for k, cell in enumerate(cells):
        if cell is None:
            continue
        if not isinstance(cell, str):
            values[k] = cell
            units.add("")
            continue
        found = grammar.fullmatch(cell)
        if found is None or not is_unit(found["unit"] or "%"):
            special = cell.lower().lstrip("+-")
            if special in ("inf", "infinity"):
                values[k] = float(cell)
            else:
                bad[k] = True
            continue
        units.add(found["unit"] or "")
        if found["limit"]:
            side[k] = -1.0 if found["limit"][0] in "<≤≲" else 1.0
        values[k] = _number(found["value"], mark)
        lower[k], upper[k] = _errors(found, mark)
        if found["power"]:
            values[k] = _number(found["value"] + found["power"], mark)
    with_errors = not np.isnan(upper).all()
    if len(units) > 1:  # different ones: nobody can tell what the numbers mean
        bad |= np.array([isinstance(cell, str) and bool(re.search(r"[^\d.,)]$", cell)) for cell in cells])
    unit = units.pop() or None if len(units) == 1 else None
    return CellNumbers(values, lower if with_errors else None, upper if with_errors else None, side, bad, unit)


def _cleaned(text: Any) -> Any:
    """A cell without blanks around it and with plain minus signs; None where nothing is there."""
    if text is None or (isinstance(text, float) and text != text):
        return None
    if not isinstance(text, str):
        return float(text) if isinstance(text, int | float | np.number | np.bool_) else str(text)
    text = text.strip().translate(_DASHES)
    return None if text.lower() in MISSING_MARKS else text


def _errors(found: re.Match[str], decimal: str) -> tuple[float, float]:
    """Lower and upper error that a cell holds; NaN where it holds none."""
    if found["error"]:
        error = _number(found["error"], decimal)
        return error, error
    if found["digits"]:
        if decimal in found["digits"]:
            error = _number(found["digits"], decimal)
        else:  # 1.23(5): in units of the last digit
            places = len(re.split("[eEdD]", found["value"])[0].partition(decimal)[2])
            error = _number(found["digits"], decimal) * 10.0**-places
        powers = re.findall(r"[eEdD]([+-]?\d+)", found["value"] + found["power"])
        return (error * 10.0 ** sum(map(int, powers)),) * 2
    down, up = found["lower"] or found["lower2"], found["upper"] or found["upper2"]
    return (_number(down, decimal), _number(up, decimal)) if up else (np.nan, np.nan)


_NUMBER_SIGNS = re.compile(r"[\d.,+\-eEdD±()'’<>≤≥%/\s]+")
_TOKEN = re.compile(r"\d[\d.,]*|[.,]\d+")


def decimal_mark(texts: Iterable[str]) -> str | None:
    """The decimal mark that numbers are written with: "," or ".", "?" where it cannot be told, None without any mark.

    >>> decimal_mark(["1,5"]), decimal_mark(["1,234.5"]), decimal_mark(["1,234"]), decimal_mark(["1.234", "0,5"])
    (',', '.', '?', ',')
    """
    seen = dict.fromkeys((",", ".", "maybe ,", "maybe ."), 0)
    for text in texts:
        if _NUMBER_SIGNS.fullmatch(text):
            for token in _TOKEN.findall(text):
                if mark := _mark_of(token.rstrip(",.") if token[-1] == "," else token):
                    seen[mark] += 1
    if seen[","] and seen["."]:
        return "?"
    if seen[","] or seen["."]:
        return "," if seen[","] else "."
    if seen["maybe ,"]:
        return "?"
    return "." if seen["maybe ."] else None


def _mark_of(token: str) -> str | None:
    """Which mark this number tells to be the decimal one; "maybe" where three digits follow it as in thousands."""
    commas, points = token.count(","), token.count(".")
    if not commas and not points:
        return None
    if commas and points:
        last = "," if token.rfind(",") > token.rfind(".") else "."
        return last if token.count(last) == 1 else None
    mark, count = (",", commas) if commas else (".", points)
    if count > 1:
        other = "." if mark == "," else ","
        return other if re.fullmatch(rf"\d{{1,3}}(\{mark}\d{{3}})+", token) else None
    before, _, after = token.partition(mark)
    thousands = len(after) == 3 and 0 < len(before) <= 3 and not before.startswith("0")
    return f"maybe {mark}" if thousands else mark


# units -------------------------------------------------------------------------------------------

_PREFIX = "(?:[yzafpnuµμmcdhkMGTPEZY]|da)?"
_SCALED = "eV|Hz|Pa|Ohm|Ω|mol|bar|cal|Jy|pc|Da|rad|lm|cd|Sv|Bq|Gy|sr|arcsec|m|s|g|K|J|W|V|A|N|T|C|F|L|l|M|b|B"
_ALONE = (
    "%|‰|°|°C|°F|deg|degC|arcmin|mas|mag|dex|ly|AU|au|atm|Torr|psi|Å|AA|u|amu|barn|yr|year|years|day|days|d|h|hr|hour|hours"
    "|min|sec|ppm|ppb|ppt|dB|kWh|M_?sun|R_?sun|L_?sun|Msol|M_?jup|R_?jup|M_?earth|R_?earth|Mjup|Rjup|Hartree|Ha|Ry|e|pct"
    "|percent|counts|cts|adu"
)
_ONE = rf"(?:{_ALONE}|{_PREFIX}(?:{_SCALED})|1|10\^?-?\d+)(?:\^?[-−]?\d+|\*\*-?\d+|[²³⁻¹]+)?"
_UNIT = re.compile(rf"(?:log(?:10)?\s*\(?)?\s*{_ONE}(?:\s*[/·*.⋅ ]\s*\(?{_ONE}\)?)*\)?")
_IN_BRACKETS = re.compile(r"\s*[\[(]([^\[\]()]*(?:\([^()]*\))?[^\[\]()]*)[\])]\s*$")
_AFTER_COMMA = re.compile(r"\s*,\s*([^,]+?)\s*$")
_AFTER_SLASH = re.compile(r"\s+/\s*(\S+)\s*$")


def is_unit(text: str) -> bool:
    """Whether a text can be a unit.

    >>> [is_unit(text) for text in ("MeV", "kJ/mol", "m s-1", "exp", "model")]
    [True, True, True, False, False]
    """
    return bool(_UNIT.fullmatch(text.strip()))


def without_brackets(text: str) -> str:
    """A unit without the brackets around it."""
    text = text.strip()
    return text[1:-1].strip() if len(text) > 1 and (text[0], text[-1]) in (("(", ")"), ("[", "]")) else text


def names_and_units(columns: Iterable[str]) -> dict[str, tuple[str, str | None]]:
    """The names of columns without their units, and the units."""
    return {column: name_and_unit(column) for column in columns}


def name_and_unit(column: str) -> tuple[str, str | None]:
    """The name of a column without its unit, and the unit.

    >>> name_and_unit("mass (MeV)"), name_and_unit("T [K]"), name_and_unit("E / eV"), name_and_unit("mass (exp)")
    (('mass', 'MeV'), ('T', 'K'), ('E', 'eV'), ('mass (exp)', None))
    """
    for pattern in (_IN_BRACKETS, _AFTER_SLASH, _AFTER_COMMA):
        found = pattern.search(column)
        if found and found.start() > 0:
            unit = found[1].strip()
            if is_unit(unit) or (column[found.start() :].strip().startswith("[") and unit):
                return column[: found.start()].strip(), unit
    return column.strip(), None
