"""`scorebars evaluate` on a file larger than memory: peak memory and rows per second, beside those of pyarrow alone.

    python benchmarks/large_file.py --size 5 --kind parquet

writes a table of that many GB in pieces to a temporary folder, and removes it afterwards. Peak memory must not depend on
the size; the ratio says how much slower scoring two models is than reading their columns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

PIECE = 500_000
COLUMNS = ("y", "y_err", "pred_forest", "pred_network")
SCAN = """
import sys, pyarrow as pa, pyarrow.csv as pc, pyarrow.parquet as pq
path, *columns = sys.argv[1:]
if path.endswith("parquet"):
    batches = pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False).iter_batches(1 << 18, columns=columns)
else:
    options = pc.ConvertOptions(include_columns=columns, column_types={c: pa.float64() for c in columns})
    batches = pc.open_csv(path, read_options=pc.ReadOptions(block_size=2 << 20), convert_options=options)
for batch in batches:
    pass
"""
SCORE = "import runpy; runpy.run_module('scorebars', run_name='__main__', alter_sys=True)"
# the peak of this very process: that which the system keeps for a child also holds what its parent had used
PEAK = "import atexit, sys; atexit.register(lambda: sys.stderr.write(open('/proc/self/status').read()))\n"


def piece(rng: np.random.Generator) -> pa.Table:
    y, sigma = rng.normal(10.0, 4.0, PIECE), rng.gamma(2.0, 0.2, PIECE)
    columns = {
        "id": np.arange(PIECE),
        "y": y + sigma * rng.normal(size=PIECE),
        "y_err": sigma,
        "pred_forest": y + 0.8 * rng.normal(size=PIECE),
        "pred_network": 1.02 * y + 0.7 * rng.normal(size=PIECE),
    }
    return pa.table(columns)


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


def measured(script: str, *arguments: str) -> tuple[float, float, str]:
    """Seconds, peak memory in MB, and what was printed by a script in a process of its own (Linux)."""
    start = time.perf_counter()
    command = [sys.executable, "-c", PEAK + script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    return seconds, int(done.stderr.split("VmHWM:")[1].split()[0]) / 1024, done.stdout


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--size", type=float, default=1.0, help="GB of the file")
    options.add_argument("--kind", choices=("csv", "parquet"), default="parquet")
    options.add_argument("--folder", help="where to put the file (default: the folder of temporary files)")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        path = Path(folder) / f"large.{chosen.kind}"
        rows = write(path, chosen.size, chosen.kind)
        print(f"{path.stat().st_size / 1e9:.2f} GB of {chosen.kind}, {rows:,} rows")
        score_time, score_peak, text = measured(SCORE, "evaluate", str(path), "--stream", "--json", "-q")
        scan_time, scan_peak, _ = measured(SCAN, str(path), *COLUMNS)
        assert json.loads(text)["n"] == rows
    print(f"scorebars  {rows / score_time / 1e6:7.2f} million rows/s   peak {score_peak:6.0f} MB")
    print(f"pyarrow    {rows / scan_time / 1e6:7.2f} million rows/s   peak {scan_peak:6.0f} MB   (reading alone)")
    print(f"ratio      {scan_time / score_time:7.2f}")


if __name__ == "__main__":
    main()
