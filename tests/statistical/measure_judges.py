"""Measure how often intervals hold where how a judge errs was found from data: counts, gold labels, votes.

    python tests/statistical/measure_judges.py [--most 400] [--seconds 120] [--only PATTERN] [--fresh]

The table is `tests/statistical/judges.csv`. A situation that is in the table is not measured again, so an interrupted run goes on
where it stopped. Each situation has its own seed: the order and the number of processes change nothing.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from judges import SITUATIONS, Situation

TABLE = Path(__file__).with_name("judges.csv")
COLUMNS = [
    "model",
    "classes",
    "known",
    "rate",
    "metric",
    "count",
    "held",
    "held_population",
    "bias",
    "width",
    "undefined",
]


def measure(situation: Situation, most: int, seconds: float) -> dict[str, str]:
    """One row: how often the 95 % intervals hold the score with the true classes, here and in the population."""
    held, population, errors, widths, undefined, end = [], [], [], [], 0, time.process_time() + seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for found, here, everywhere in situation.repeat(most):
            if found is None:
                undefined += 1
            else:
                low, high = found.interval(0.95)
                assert low <= min(max(float(found), low), high) <= high
                held.append(low <= here <= high)
                widths.append(high - low)
                low, high = found.total_interval(0.95)
                population.append(low <= everywhere <= high)
                errors.append(float(found) - here)
            if time.process_time() > end:
                break
    numbers = {"held": np.mean(held), "held_population": np.mean(population), "width": np.mean(widths)}
    row = dict(zip(COLUMNS, situation.key, strict=False)) | {"count": str(len(held)), "undefined": str(undefined)}
    return row | {name: f"{value:.3g}" for name, value in numbers.items()} | {"bias": f"{np.median(errors):.2g}"}


def read() -> list[dict[str, str]]:
    """The rows of the table."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def write(rows: list[dict[str, str]], place: Path) -> None:
    order = {situation.key: k for k, situation in enumerate(SITUATIONS)}
    part = place.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: order.get(key_of(row), len(order))))
    os.replace(part, place)


def key_of(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in COLUMNS[:5])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=400, help="repetitions of each situation")
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="processor time after which a slow situation stops early"
    )
    parser.add_argument("--only", default="*", help="situations model/classes/known/rate/metric that match")
    parser.add_argument("--fresh", action="store_true", help="measure again what the table has already")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--table", type=Path, default=TABLE, help="where to write")
    asked = parser.parse_args()
    rows = read()
    known = set() if asked.fresh else {key_of(row) for row in rows}
    todo = [s for s in SITUATIONS if s.key not in known and fnmatch("/".join(s.key), asked.only)]
    with ProcessPoolExecutor(asked.processes) as pool:
        jobs = [pool.submit(measure, situation, asked.most, asked.seconds) for situation in todo]
        for done, job in enumerate(as_completed(jobs), 1):
            row = job.result()
            rows = [one for one in rows if key_of(one) != key_of(row)] + [row]
            write(rows, asked.table)
            print(f"{done}/{len(todo)} {'/'.join(key_of(row))}: {row['held']} and {row['held_population']}", flush=True)


if __name__ == "__main__":
    main()
