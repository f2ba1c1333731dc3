"""How fast are scores of a dataset on disk, next to pyarrow reading the same columns, and in how much memory?

    python benchmarks/stream.py [millions of rows]

Prints rows per second of reading alone and of evaluation, for the common metrics, their ratio, and the peak memory of
each; writes results/stream.md. Files larger than memory come from the disk every time they are read; so do these, whose
pages the system is told to forget before each pass. Then the same once more with files that stay in memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from timing import Row

FILES = 4
ROUNDS = 3
RESULT = Path(__file__).parent / "results" / "stream.md"
READ = "pyarrow reads"
PLACES = {"disk": "files on disk", "memory": "files in memory"}
CHOICES = {
    "MSE, RMSE, bias": ["mean_squared_error", "root_mean_squared_error", "mean_error"],
    "RMSE, MAE, bias": ["root_mean_squared_error", "mean_absolute_error", "mean_error"],
    "RMSE, MAE, bias, R2": ["root_mean_squared_error", "mean_absolute_error", "mean_error", "r2_score"],
}


def write(folder: Path, rows: int) -> None:
    """Labels of 4 digits in float64, as measured data are, in `FILES` Parquet files."""
    rng = np.random.default_rng(0)
    for k in range(FILES):
        n = rows // FILES
        y = rng.normal(5.0, 2.0, n)
        table = {
            "y": y,
            "model": y + 0.3 * rng.standard_normal(n),
            "y_err": 0.2 * np.exp(0.5 * rng.standard_normal(n)),
        }
        pq.write_table(pa.table(table), folder / f"part{k}.parquet")


def read(folder: str) -> int:
    """Rows, as pyarrow alone reads them."""
    batches = pads.dataset(folder).to_batches(columns=["y", "model", "y_err"])
    return sum(batch.num_rows for batch in batches)


def score(folder: str, metrics: list[str]) -> int:
    """Rows, as scorebars scores them."""
    from scorebars.streaming.accumulator import Accumulator

    total = Accumulator(metrics).update_from(pads.dataset(folder), y="y", pred="model", yerr="y_err")
    total.result()
    return total.n


class Pace(NamedTuple):
    """Of one kind of work: million rows a second, processor time in ns a row, peak memory in MB."""

    rows: float
    cpu: float
    memory: float


def forget(folder: str) -> None:
    """Have the system read the files from the disk again (Linux)."""
    for path in Path(folder).iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())  # pages that are not yet written would stay
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def once(folder: str, place: str, choice: str) -> None:
    """The best of three passes in this process, as JSON."""
    work = (lambda: read(folder)) if choice == READ else (lambda: score(folder, CHOICES[choice]))
    wall, cpu, rows = float("inf"), float("inf"), 0
    for _ in range(3):
        if place == "disk":
            forget(folder)
        start, start_cpu = time.perf_counter(), time.process_time()
        rows = work()
        wall, cpu = min(wall, time.perf_counter() - start), min(cpu, time.process_time() - start_cpu)
    # of this very process: what getrusage tells of a child also holds what its parent had used
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps(Pace(rows / wall / 1e6, cpu / rows * 1e9, peak)))


def measured(folder: str, place: str) -> dict[str, Pace]:
    """The best of each kind of work, in processes that take turns: other load hits all alike."""
    best: dict[str, Pace] = {}
    for choice in (READ, *CHOICES) * ROUNDS:
        run = [sys.executable, __file__, "--once", folder, place, choice]
        new = Pace(*json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout))
        old = best.get(choice, new)
        best[choice] = Pace(max(old.rows, new.rows), min(old.cpu, new.cpu), max(old.memory, new.memory))
    return best


def rows(millions: float = 60.0) -> list[Row]:
    """Seconds of scoring against seconds of reading: from the disk, at least 60 % of the pace of reading is aimed at."""
    from timing import Row  # here, because it loads scorebars, whose memory is not that of reading

    number = int(millions * 1e6)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), number)
        paces = {place: measured(folder, place) for place in PLACES}
    peer, aims = "pyarrow reading the same columns", {"disk": 1 / 0.6, "memory": None}
    found = []
    for place, name in PLACES.items():
        times = {choice: millions / pace.rows for choice, pace in paces[place].items()}
        found += [
            Row(f"Parquet, {name}: {choice}", number, times[choice], peer, times[READ], aims[place])
            for choice in CHOICES
        ]
    return found


def table(paces: dict[str, Pace]) -> str:
    """A Markdown table."""
    lines = [
        "| work | million rows/s | of reading | processor ns/row | of reading | peak MB |",
        "|---|---|---|---|---|---|",
    ]
    reading = paces[READ]
    for choice, pace in paces.items():
        speed, effort = pace.rows / reading.rows, reading.cpu / pace.cpu
        cells = (f"{pace.rows:.1f}", f"{speed:.0%}", f"{pace.cpu:.1f}", f"{effort:.0%}", f"{pace.memory:.0f}")
        lines.append(f"| {choice} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), int(millions * 1e6))
        text = "\n\n".join(f"{PLACES[place].capitalize()}:\n\n{table(measured(folder, place))}" for place in PLACES)
    from timing import machine  # here for the same reason

    about = machine()
    RESULT.write_text(
        f"# Scores of a dataset on disk\n\n{about['processor']}; pyarrow {pa.__version__}; engine "
        f'{about["scorebars"]["engine"]}. {millions:g} million rows of three columns in {FILES} Parquet files. "Of reading": '
        "rows a second, and rows for the same processor time, next to pyarrow reading the same columns. Made by `python "
        f"benchmarks/stream.py`.\n\n{text}\n"
    )
    print(text)


if __name__ == "__main__":
    once(*sys.argv[2:]) if sys.argv[1:2] == ["--once"] else main()
