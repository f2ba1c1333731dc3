"""Throws damaged input at everything that reads: texts, Parquet, Feather, archives, spreadsheets, saved accumulators, arguments.

``python tests/fuzz/fuzz_readers.py --seconds 300`` (``make fuzz``) starts from small good files and from those that once broke
something (`corpus`), changes them at random, and keeps what ends in anything but a result or a clear error. What was found stays
in the corpus, which `test_corpus.py` runs with the other tests.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import scorebars as sb

CORPUS = Path(__file__).with_name("corpus")
CLEAR = (ValueError, TypeError, OverflowError, OSError, ImportError, KeyError)
"""What may be raised. Kinds of programming errors (AttributeError, IndexError, AssertionError, RecursionError, ...) may not."""
SLOW = 20.0
"""Seconds after which an input counts as one that hangs."""


def _table() -> bytes:
    rows = ["y,y_err,pred_a,pred_b,group", *(f"{k}.5,0.{k % 9 + 1},{k}.1,{k}.9,{'ab'[k % 2]}" for k in range(12))]
    return "\n".join(rows).encode()


def _parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    columns = {"y": np.arange(20.0), "y_err": np.full(20, 0.1), "pred_a": np.arange(20.0) + 0.3}
    pq.write_table(pa.table(columns), sink, row_group_size=7, write_page_checksum=True)
    return sink.getvalue()


def _feather() -> bytes:
    import pyarrow as pa
    import pyarrow.feather as feather

    sink = io.BytesIO()
    feather.write_feather(
        pa.table({"y": np.arange(9.0), "pred_a": np.arange(9.0) + 0.3}), sink, compression="uncompressed"
    )
    return sink.getvalue()


def _zip() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", _table())
    return sink.getvalue()


def _saved() -> bytes:
    y = np.arange(30.0)
    return sb.Accumulator(["mean_squared_error", "mean_error"]).update(y, y + 0.5, yerr=0.1).to_json().encode()


SEEDS: dict[str, Callable[[], bytes]] = {
    "csv": _table,
    "parquet": _parquet,
    "feather": _feather,
    "zip": _zip,
    "csv.gz": lambda: gzip.compress(_table(), mtime=0),
    "json": _saved,
    "args": lambda: b"evaluate t.csv --y y --pred pred_a --yerr y_err -m rmse --level 0.9 --by group --json",
}
_WORDS = [
    b"nan",
    b"inf",
    b"-1",
    b"1e999",
    b"0",
    b'"',
    b"'",
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r\n",
    b"\x00",
    b"\xff\xfe",
    b"#",
    b"\xe2\x80\xae",
]
_WORDS += [
    b"{",
    b"[",
    b"1,5",
    b"<0.5",
    b"1.2(3)",
    b"2 +/- 1",
    b"--stream",
    b"--members",
    b"pred_*",
    b"\x1b[31m",
    b"a" * 300,
]


def changed(data: bytes, rng: random.Random) -> bytes:
    """The data with a few random changes: bits, words, pieces that are cut, doubled or moved."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        place, kind = rng.randrange(len(out) + 1), rng.randrange(6)
        if kind == 0 and out:
            out[min(place, len(out) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[place:place] = rng.choice(_WORDS)
        elif kind == 2:
            del out[place : place + rng.randint(1, 1 + len(out) // 3)]
        elif kind == 3:
            out[place:place] = out[place : place + rng.randint(1, 40)] * rng.randint(1, 5)
        elif kind == 4:
            out[place : place + 4] = rng.choice(_WORDS)
        else:
            del out[place:]
    return bytes(out)


def tried(kind: str, data: bytes, folder: Path) -> str:
    """What goes wrong with this input; empty where a result or a clear error comes of it."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _run(kind, data, folder)
    except CLEAR as why:
        if isinstance(why, KeyError) and kind != "args":
            return "".join(traceback.format_exception(why))
    except Exception as why:
        return "".join(traceback.format_exception(why))
    took = time.perf_counter() - start
    return f"it took {took:.0f} s" if took > SLOW else ""


def _run(kind: str, data: bytes, folder: Path) -> None:
    if kind == "json":
        sb.Accumulator.from_json(data.decode("utf-8", "replace")).result().to_dict()
        return
    if kind == "args":
        _command(data.decode("utf-8", "replace").replace("\0", "").split(), folder)
        return
    path = folder / f"t.{kind}"
    path.write_bytes(data)
    with contextlib.suppress(*CLEAR):
        sb.evaluate(path, y="y", pred="pred_a", metrics="mean_error").to_dict()
    sb.evaluate(path, metrics="mean_error").to_dict()


def _command(arguments: list[str], folder: Path) -> None:
    from typer.testing import CliRunner

    from scorebars.cli.app import app

    (folder / "t.csv").write_bytes(_table())
    inside = [
        str(folder / "t.csv") if one == "t.csv" else one
        for one in arguments
        if not re.match(r"-o|--o|--rep|/|\.\.", one)
    ]
    done = CliRunner().invoke(app, inside, prog_name="scorebars", input="y,p\n1,2\n")
    if done.exit_code not in (0, 1, 2, 3):
        raise AssertionError(f"exit code {done.exit_code}: {done.stderr} {done.exception!r}")


def main() -> int:
    """Fuzz for some time; the number of inputs that broke something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", choices=SEEDS, default=None)
    given = parser.parse_args()
    seed = random.randrange(1 << 32) if given.seed is None else given.seed
    rng, end, tries, found = random.Random(seed), time.monotonic() + given.seconds, 0, 0
    pools = {kind: [make(), *(p.read_bytes() for p in CORPUS.glob(f"*.{kind}"))] for kind, make in SEEDS.items()}
    with tempfile.TemporaryDirectory(prefix="scorebars-fuzz-") as folder:
        while time.monotonic() < end:
            kind = given.only or rng.choice(list(SEEDS))
            data, tries = changed(rng.choice(pools[kind]), rng), tries + 1
            trouble = tried(kind, data, Path(folder))
            if trouble:
                found += 1
                name = CORPUS / f"found-{seed}-{tries}.{kind}"
                name.write_bytes(data)
                print(f"{name}:\n{trouble}")
    print(f"seed {seed}: {tries} inputs, {found} broke something")
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main())
