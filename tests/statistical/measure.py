"""Measure how often every interval of every metric holds, in every world, and keep the table.

    python tests/statistical/measure.py [--n 40 150] [--only 'f1_score/*'] [--most 2000] [--seconds 60] [--compare]

The table is `src/scorebars/data/coverage.csv`; `sb.capabilities` and the docs read it. It holds counts: of repetitions, and of
intervals that held at each level. A run makes batches of repetitions until a situation has `--most` and adds each to
what is there; every batch has its own seed, and the table is written after each. So an interrupted run goes on where it
stopped, and neither the order nor the number of processes changes what is drawn. What users meet most comes first.

`batches` are those that were added with levels of 68, 95 and 99 %; what was measured before (`count` above `count99`) has no 99 %.
`seconds` is the processor time of one repetition, from which the time of a run is estimated.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from fnmatch import fnmatch
from pathlib import Path
from statistics import median
from time import process_time

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from experiment import (
    ANSWERS,
    CALIBRATION,
    DIFFERENCES,
    FORECASTS,
    Calibrated,
    Cell,
    Experiment,
    Situation,
    calibrations,
    measure,
    situations,
)
from worlds import EVERY_WORLD, NOISE

TABLE = Path(__file__).parents[2] / "src" / "scorebars" / "data" / "coverage.csv"
COLUMNS = ["metric", "model", "answer", "n", "count", "held68", "held95", "count99", "held99"]
COLUMNS += ["bias", "scatter", "outside", "batches", "seconds"]
COUNTS = ("count", "held68", "held95", "count99", "held99", "outside", "batches")
SIZES = (40, 150, 10, 1000, 5, 10_000)
"""Numbers of labels, the most usual first."""
FIRST = ("Normal", "Flip")
TOO_LARGE = {"Normal(cov)": 1000}
"""Its covariance of 10,000 labels takes a gigabyte."""
Row = dict[str, str]
Key = tuple[str, str, int, bool]
"""Metric, model, number of labels, and whether two models are compared."""


def read() -> list[Row]:
    """The rows of the table."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def write(rows: Iterable[Row]) -> None:
    """Rows in a fixed order, so that a new run changes only what it measured."""
    rank = {answer: k for k, answer in enumerate((*ANSWERS, *DIFFERENCES, *CALIBRATION))}
    rows = sorted(rows, key=lambda r: (r["metric"], r["model"], int(r["n"]), rank[r["answer"]]))
    part = TABLE.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(part, TABLE)


def key_of(row: Row) -> Key:
    return row["metric"], row["model"], int(row["n"]), row["answer"] in DIFFERENCES


def row_of(cell: Cell) -> Row:
    """The numbers of one batch."""
    held = {f"held{round(100 * level)}": number for level, number in cell.held.items()}
    counts = {"count": cell.count, **held, "count99": cell.count, "outside": cell.outside, "batches": 1}
    row = {name: str(counts[name]) for name in COUNTS}
    some = len(cell.errors) > 0
    with np.errstate(invalid="ignore"):  # an estimate may be infinite, with no scatter about it
        row["bias"] = f"{np.mean(cell.errors):.6g}" if some else ""
        row["scatter"] = f"{np.std(cell.errors):.6g}" if some else ""
    return row


def together(first: Row, second: Row) -> Row:
    """The numbers of two sets of repetitions of one cell as those of all."""
    row = {name: str(int(first[name]) + int(second[name])) for name in COUNTS}
    row |= {"bias": second["bias"], "scatter": second["scatter"]}
    if first["bias"] and second["bias"]:
        weights = np.array([float(first["count"]), float(second["count"])])
        bias, scatter = (np.array([float(first[name]), float(second[name])]) for name in ("bias", "scatter"))
        mean = np.average(bias, weights=weights)
        spread = math.sqrt(np.average(scatter**2 + (bias - mean) ** 2, weights=weights))
        row |= {"bias": f"{mean:.6g}", "scatter": f"{spread:.6g}"}
    return row


def experiment(key: Key) -> Experiment:
    metric, model, n, _ = key
    return (Calibrated if metric in FORECASTS else Situation)(metric, EVERY_WORLD[model], n)


def one(key: Key, most: int, seconds: float, batch: int) -> tuple[Key, dict[str, Row], float, str]:
    """The rows of one batch by their answer, the time of a repetition, and what went wrong."""
    start = process_time()
    try:
        cells = measure(experiment(key), most, seconds, batch, key[-1])
    except Exception as why:  # refused combinations and bugs alike are shown, the others go on
        return key, {}, 0.0, f"{type(why).__name__}: {why}"
    count = max((cell.count for cell in cells.values()), default=1)
    return key, {answer: row_of(cell) for answer, cell in cells.items()}, (process_time() - start) / count, ""


def keys(sizes: Iterable[int], compare: bool) -> list[Key]:
    """All that can be measured, what users meet most first."""
    rank = {n: k for k, n in enumerate(SIZES)}
    found = [
        (s.metric, s.world.name, n, compare)
        for n in sizes
        for s in (
            situations(n, EVERY_WORLD.values()) if compare else [*situations(n, EVERY_WORLD.values()), *calibrations(n)]
        )
        if n <= TOO_LARGE.get(s.world.name, n) and not (compare and s.world.name in NOISE)
    ]
    return sorted(found, key=lambda key: (key[1] not in FIRST, rank.get(key[2], len(rank))))


def seconds_of(key: Key, known: dict[Key, float]) -> float:
    """The time of a repetition: measured, or guessed from the same metric elsewhere; most grow with the number of labels."""
    if key in known:
        return known[key]

    def per_label(keys: Iterable[Key]) -> list[float]:
        return [known[one] / (1 + one[2] / 100) for one in keys]

    alike = per_label(one for one in known if one[0] == key[0]) or per_label(known) or [0.1]
    return median(alike) * (1 + key[2] / 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=SIZES)
    parser.add_argument("--most", type=int, default=2000, help="repetitions of each situation")
    parser.add_argument("--seconds", type=float, default=60.0, help="time after which a batch ends early")
    parser.add_argument(
        "--only", nargs="+", default=["*"], help="situations metric/model that match, such as 'r2_score/*'"
    )
    parser.add_argument("--compare", action="store_true", help="differences of two models instead of single scores")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--estimate", action="store_true", help="say how long it would take, and stop")
    asked = parser.parse_args()
    table: dict[Key, dict[str, Row]] = {}
    for row in read():
        table.setdefault(key_of(row), {})[row["answer"]] = row

    def number(key: Key, name: str) -> float:
        return max((float(row[name] or 0) for row in table.get(key, {}).values()), default=0.0)

    todo = [
        key
        for key in keys(asked.n, asked.compare)
        if any(fnmatch(f"{key[0]}/{key[1]}", pattern) for pattern in asked.only) and number(key, "count") < asked.most
    ]
    known = {key: number(key, "seconds") for key in table if number(key, "seconds")}

    def hours() -> float:
        return sum((asked.most - number(key, "count")) * seconds_of(key, known) for key in todo) / 3600

    print(f"{len(todo)} situations: about {hours():.1f} hours of one processor", flush=True)
    if asked.estimate:
        return
    running: dict[Future[tuple[Key, dict[str, Row], float, str]], Key] = {}
    waiting = iter(list(todo))
    with ProcessPoolExecutor(asked.processes) as pool:

        def start(key: Key) -> None:
            missing = asked.most - int(number(key, "count"))
            running[pool.submit(one, key, missing, asked.seconds, int(number(key, "batches")))] = key

        while True:
            while len(running) < asked.processes and (key := next(waiting, None)) is not None:
                start(key)
            if not running:
                break
            for job in wait(running, return_when=FIRST_COMPLETED).done:
                key, found, seconds, problem = job.result()
                del running[job]
                names = {"metric": key[0], "model": key[1], "n": str(key[2]), "seconds": f"{seconds:.2g}"}
                cells = table.setdefault(key, {})
                for answer, row in found.items():
                    numbers = together(cells[answer], row) if answer in cells else row
                    cells[answer] = {**numbers, **names, "answer": answer}
                if found:
                    known[key] = seconds
                    write(row for cells in table.values() for row in cells.values())
                if found and number(key, "count") < asked.most:
                    start(key)
                else:
                    todo.remove(key)
                held = "  ".join(f"{a} {int(r['held95']) / int(r['count']):.3f}" for a, r in cells.items())
                print(
                    f"{len(todo)} left, {hours():.1f} h. {key[0]}, {key[1]}, n = {key[2]}, {number(key, 'count'):.0f} "
                    f"repetitions: {problem or held}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
