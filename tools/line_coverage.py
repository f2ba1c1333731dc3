"""Which share of the lines of each room do tests run? Writes tests/line_coverage.csv from what `make line-coverage` recorded.

python tools/line_coverage.py [.coverage]
"""

from __future__ import annotations

import csv
import os
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests" / "line_coverage.csv"


def main(record: str = ".coverage") -> None:
    from coverage import Coverage

    found = Coverage(data_file=record, config_file=str(ROOT / "pyproject.toml"))
    found.load()
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    omitted = tuple(one.removeprefix("*") for one in found.get_option("run:omit") or ())
    for measured in found.get_data().measured_files():
        name = measured.partition(f"src{os.sep}scorebars{os.sep}")[2]
        if not name or measured.endswith(omitted):
            continue
        _, lines, _, missed, _ = found.analysis2(measured)
        room = name.split(os.sep)[0] if os.sep in name else "(top)"
        rooms[room][0] += len(lines)
        rooms[room][1] += len(missed)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["room", "lines", "not_run"])
        writer.writerows([room, *numbers] for room, numbers in sorted(rooms.items()))
    lines, missed = (sum(numbers[k] for numbers in rooms.values()) for k in (0, 1))
    print(f"{1 - missed / lines:.1%} of {lines:,} lines")


if __name__ == "__main__":
    main(*sys.argv[1:])
