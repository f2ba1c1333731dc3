"""Measure how often every interval of every metric holds, in every world, and keep the table.

    python tests/statistical/measure.py [--n 40 150] [--most 400] [--seconds 20] [--only PATTERN] [--compare] [--below 0]

The table is `src/scorebars/data/coverage.csv`; `sb.capabilities` and the docs read it. A situation that is in the table is not
measured again, so an interrupted run goes on where it stopped; with `--below` those of fewer repetitions are, the fewest
first. Each situation has its own seed: the order and the number of processes change nothing.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from experiment import ANSWERS, DIFFERENCES, Situation, measure, situations
from worlds import WORLDS

TABLE = Path(__file__).parents[2] / "src" / "scorebars" / "data" / "coverage.csv"
COLUMNS = ["metric", "model", "answer", "n", "count", "held95", "held68", "bias", "scatter", "outside"]
Key = tuple[str, str, int, bool]
"""Metric, model, number of labels, and whether two models are compared."""


def read() -> list[dict[str, str]]:
    """The rows of the table."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def write(rows: list[dict[str, str]]) -> None:
    """Rows in a fixed order, so that a new run changes only what it measured."""
    rank = {answer: k for k, answer in enumerate((*ANSWERS, *DIFFERENCES))}
    rows = sorted(rows, key=lambda r: (r["metric"], r["model"], int(r["n"]), rank[r["answer"]]))
    part = TABLE.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(part, TABLE)


def key_of(row: dict[str, str]) -> Key:
    return row["metric"], row["model"], int(row["n"]), row["answer"] in DIFFERENCES


def one(key: Key, most: int, seconds: float) -> tuple[Key, list[dict[str, str]], str]:
    """The rows of one situation, or what went wrong."""
    metric, model, n, compare = key
    try:
        cells = measure(Situation(metric, WORLDS[model], n), most, seconds, compare=compare)
    except Exception as why:  # refused combinations and bugs alike are shown, the others go on
        return key, [], f"{type(why).__name__}: {why}"
    rows = []
    for answer, cell in cells.items():
        s = cell.summary()
        numbers = {"count": s["count"], "held95": s["95%"], "held68": s["68%"], "outside": s.get("outside", 0)}
        row = {"metric": metric, "model": model, "answer": answer, "n": str(n)}
        row |= {name: f"{value:.4g}" for name, value in numbers.items()}
        row |= {name: f"{s[name]:.3g}" if name in s else "" for name in ("bias", "scatter")}
        rows.append(row)
    return key, rows, ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[40, 150])
    parser.add_argument("--most", type=int, default=400, help="repetitions of each situation")
    parser.add_argument("--seconds", type=float, default=20.0, help="time after which a slow situation stops early")
    parser.add_argument("--only", default="*", help="situations metric/model that match, such as 'r2_score/*'")
    parser.add_argument("--compare", action="store_true", help="differences of two models instead of single scores")
    parser.add_argument("--below", type=int, default=0, help="measure again what has fewer repetitions than this")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    rows = read()
    known: dict[Key, int] = {}
    for row in rows:
        known[key_of(row)] = max(known.get(key_of(row), 0), int(float(row["count"])))
    todo = [
        key
        for n in asked.n
        for s in situations(n)
        if fnmatch(f"{s.metric}/{s.world.name}", asked.only)
        and ((key := (s.metric, s.world.name, s.n, asked.compare)) not in known or known[key] < asked.below)
    ]
    todo.sort(key=lambda key: known.get(key, 0))
    with ProcessPoolExecutor(asked.processes) as pool:
        jobs = [pool.submit(one, key, asked.most, asked.seconds) for key in todo]
        for done, job in enumerate(as_completed(jobs), 1):
            key, found, problem = job.result()
            if problem or (found and max(int(float(row["count"])) for row in found) > known.get(key, 0)):
                rows = [row for row in rows if key_of(row) != key] + found
                write(rows)
            held = "  ".join(f"{r['answer']} {float(r['held95']):.2f}" for r in found)
            print(f"{done}/{len(todo)} {key[0]}, {key[1]}, n = {key[2]}: {problem or held}", flush=True)


if __name__ == "__main__":
    main()
