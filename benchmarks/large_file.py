"""Scores of a file larger than memory: rows per second and peak memory, beside pyarrow reading the same columns.

    python benchmarks/large_file.py --size 27

writes a table of that many GB in pieces to a temporary folder and removes it afterwards; writes results/large_file.md.
Reading and scoring take turns, each in a process of its own. Peak memory must not depend on the size.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from timing import machine

PIECE = 1 << 20
RESULT = Path(__file__).parent / "results" / "large_file.md"
# by default pyarrow keeps all that it has read of a Parquet file (pre_buffer), which does not fit
READ = """
import sys, pyarrow.dataset as pads
path = sys.argv[1]
options = {"fragment_scan_options": pads.ParquetFragmentScanOptions(pre_buffer=False)} if "parquet" in path else {}
dataset = pads.dataset(path, format=path.rpartition(".")[2])
print(sum(batch.num_rows for batch in dataset.scanner(columns=["y", "model", "y_err"], **options).to_batches()))
"""
SCORE = """
import sys, scorebars as sb
path, *metrics = sys.argv[1:]
print(sb.evaluate(path, y="y", pred="model", yerr="y_err", metrics=metrics or None).n)
"""
# the peak of this very process: that which the system keeps for a child also holds what its parent had used
PEAK = "import atexit, sys; atexit.register(lambda: sys.stderr.write(open('/proc/self/status').read()))\n"
WORK = {
    "pyarrow reads": (READ,),
    "scorebars: MSE, MAE": (SCORE, "mean_squared_error", "mean_absolute_error"),
    "scorebars: RMSE, MAE, bias, R2": (SCORE,),
}


class Run(NamedTuple):
    """Million rows a second, and the peak in MB."""

    pace: float
    peak: float


def piece(rng: np.random.Generator) -> pa.Table:
    y, sigma = rng.normal(10.0, 4.0, PIECE), rng.gamma(2.0, 0.2, PIECE)
    measured = y + sigma * rng.standard_normal(PIECE)
    return pa.table({"y": measured, "model": y + 0.8 * rng.standard_normal(PIECE), "y_err": sigma})


def write(path: Path, size: float, kind: str) -> int:
    """Pieces until the file has this many GB; the number of rows."""
    rng, rows = np.random.default_rng(0), 0
    schema = piece(rng).schema
    with path.open("wb") as file:
        writer = pa.csv.CSVWriter(file, schema) if kind == "csv" else pa.parquet.ParquetWriter(file, schema)
        with writer:
            while file.tell() < size * 1e9:
                writer.write_table(piece(rng))
                rows += PIECE
    return rows


def once(rows: int, path: Path, script: str, *arguments: str) -> Run:
    """One script in a process of its own (Linux)."""
    start = time.perf_counter()
    command = [sys.executable, "-c", PEAK + script, str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr or f"ended with {done.returncode}")
    assert int(done.stdout) == rows
    return Run(rows / seconds / 1e6, int(done.stderr.split("VmHWM:")[1].split()[0]) / 1024)


def table(runs: dict[str, list[Run]]) -> str:
    """A Markdown table of the best and the middle run."""
    lines = [
        "| work | million rows/s, best | middle | of reading, best | middle | peak MB |",
        "|---|---|---|---|---|---|",
    ]
    best, middle = (
        {work: float(f([run.pace for run in some])) for work, some in runs.items()} for f in (max, np.median)
    )
    for work, some in runs.items():
        shares = f"{best[work] / best['pyarrow reads']:.0%} | {middle[work] / middle['pyarrow reads']:.0%}"
        peak = max(run.peak for run in some)
        lines.append(f"| {work} | {best[work]:.1f} | {middle[work]:.1f} | {shares} | {peak:.0f} |")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--size", type=float, default=1.0, help="GB of the file")
    options.add_argument("--kind", choices=("csv", "parquet"), default="parquet")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--folder", help="where to put the file (default: the folder of temporary files)")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        path = Path(folder) / f"large.{chosen.kind}"
        rows = write(path, chosen.size, chosen.kind)
        size = path.stat().st_size / 1e9
        runs: dict[str, list[Run]] = {work: [] for work in WORK}
        for _ in range(chosen.rounds):
            for work, (script, *arguments) in WORK.items():
                runs[work].append(once(rows, path, script, *arguments))
                print(
                    f"{work:32} {runs[work][-1].pace:6.1f} million rows/s   {runs[work][-1].peak:6.0f} MB", flush=True
                )
    about = machine()
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 1e6
    RESULT.write_text(
        f"# Scores of a file of {size:.0f} GB\n\n{about['processor']}; {memory:.0f} GB of memory; pyarrow {pa.__version__}; "
        f"engine {about['scorebars']['engine']}. {rows / 1e6:.0f} million rows of three columns in one {chosen.kind} file, "
        f"{chosen.rounds} runs of each work in turns. Made by `python benchmarks/large_file.py --size {chosen.size:g}`.\n\n"
        f"{table(runs)}\n"
    )
    print(table(runs))


if __name__ == "__main__":
    main()
