"""When does an interval hold what it promises, and which are known not to?

An interval at 95 % should hold 92 to 98 % of the time, one at 68 % 64 to 73 %, one at 99 % at least 97 %. A cell of the table
is *short* where even the upper end of its own error bar is below that, *wide* where the lower end is above. What is short or
wide and known to be is declared in `weak_cells.toml`, with the reason that the docs repeat; anything else fails the tests.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

DECLARED = Path(__file__).parent / "weak_cells.toml"
RANGES = {"held95": (0.92, 0.98), "held68": (0.64, 0.73), "held99": (0.97, 1.0)}
SHORT, WIDE = 2.0, 3.0
"""Standard errors beyond the range. An interval that is too short misleads, one that is too wide only wastes, and among
thousands of cells some are two standard errors off by chance."""


def error_bar(share: float, count: int, sigmas: float) -> tuple[float, float]:
    """Wilson's interval of a share."""
    z2 = sigmas**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    reach = sigmas * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return centre - reach, centre + reach


def tried(row: dict[str, str], column: str) -> int:
    """How many intervals of a level were looked at: old repetitions have none at 99 %."""
    return int(row["count99" if column == "held99" else "count"])


def verdict(row: dict[str, str]) -> str:
    """ "held", "short" or "wide"; short at any level is short."""
    wide = False
    for column, (least, most) in RANGES.items():
        if not (count := tried(row, column)):
            continue
        share = int(row[column]) / count
        if error_bar(share, count, SHORT)[1] < least:
            return "short"
        wide |= error_bar(share, count, WIDE)[0] > most
    return "wide" if wide else "held"


@dataclass(frozen=True)
class Weak:
    """A declared group of weak cells: patterns of names, which way they are off, and why."""

    metric: str
    model: str
    answer: str
    verdict: str
    reason: str
    largest_n: int = 10**9

    def covers(self, row: dict[str, str]) -> bool:
        names = ((self.metric, row["metric"]), (self.model, row["model"]), (self.answer, row["answer"]))
        fits = all(any(fnmatchcase(name, one) for one in pattern.split(" | ")) for pattern, name in names)
        return fits and self.verdict == verdict(row) and int(row["n"]) <= self.largest_n


def declared() -> list[Weak]:
    """What `weak_cells.toml` says."""
    return [Weak(**entry) for entry in tomllib.loads(DECLARED.read_text()).get("weak", [])]


# judges, groups and limits: tables of their own ------------------------------------------------------------

SITUATIONS_DECLARED = Path(__file__).parent / "weak_situations.toml"


@dataclass(frozen=True)
class WeakSituation:
    """A declared group of situations of judges, groups or limits: a pattern of their names, which way they are off, and why."""

    situation: str
    """Such as ``Verified/4/30/*/f1``, or ``unequal groups/exponential/*/95 %/r2_score``; " | " means or."""
    verdict: str
    reason: str

    def covers(self, name: str, found: str) -> bool:
        return found == self.verdict and any(fnmatchcase(name, one) for one in self.situation.split(" | "))


def declared_situations(table: str) -> list[WeakSituation]:
    """What `weak_situations.toml` says of "judges", "groups" or "limits"."""
    return [WeakSituation(**entry) for entry in tomllib.loads(SITUATIONS_DECLARED.read_text()).get(table, [])]


def verdict_of_share(share: float, count: int, column: str = "held95", wide: float = WIDE) -> str:
    """ "held", "short" or "wide" for the share of intervals that held in so many test sets.

    A few hundred test sets, all of whose intervals held, are wide by two standard errors (`wide`), not by three.
    """
    least, most = RANGES[column]
    if error_bar(share, count, SHORT)[1] < least:
        return "short"
    return "wide" if error_bar(share, count, wide)[0] > most else "held"
