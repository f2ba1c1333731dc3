"""One pass over the labels: which engine forms the sums, on how many threads, in which units.

Two environment variables, read at every call:

    SCOREBARS_ENGINE    "auto" (the compiled kernel where there is one, else NumPy), "kernel" or "numpy"
    SCOREBARS_THREADS   number of threads for large data; by default the cores at hand, at most 8

Sums are exact to a few units in the last digit and do not depend on the number of threads, nor on how the arrays lie in
memory.
"""

from __future__ import annotations

import importlib
import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from scorebars.engines import array_sums
from scorebars.engines.sums import (
    HIGHER,
    LABEL_SUMS,
    NAMES,
    SMALLEST,
    TOLERANCE_SUMS,
    HigherRows,
    HigherSums,
    NormalSums,
    combine,
)
from scorebars.measured import SAFE

_MOST_THREADS = 8
_MOST_ASKED = 1024
_OTHER_VERSION = "it was built from another version of the sources; install the package again"
_LAYOUTS = {"_kernel": 2, "_bins": 3, "_scores": 3}
"""Version of the arguments that the compiled loops take."""

# y, prediction, sigma (array or float), weight, tolerance, reference -> the numbers named in NAMES; with three more arguments
# (place in HIGHER counted from 1, per_unit, per_weight) higher sums follow
ChunkSums = Callable[..., tuple[float, ...]]


# which engine ------------------------------------------------------------------------------------


class Compiled(NamedTuple):
    """An extension module, if it was built with this installation; `note` says what it runs on, or why there is none."""

    module: Any
    note: str


@cache
def compiled(name: str) -> Compiled:
    """The extension "_kernel" (sums), "_bins" (labels into bins) or "_scores" (of forecasts)."""
    try:
        module = importlib.import_module(f"scorebars.engines.{name}")
    except ImportError as error:
        return Compiled(None, str(error))
    if getattr(module, "NAMES", NAMES) != NAMES or _LAYOUTS[name] != module.LAYOUT:
        return Compiled(None, _OTHER_VERSION)
    return Compiled(module, module.instruction_set() if name == "_kernel" else "")


def chunk_sums() -> ChunkSums:
    """The active engine's function that sums one chunk of labels."""
    wish = _wished_engine()
    if wish != "numpy":
        kernel = compiled("_kernel")
        if kernel.module is not None:
            found: ChunkSums = kernel.module.chunk_sums
            return found
        if wish == "kernel":
            raise RuntimeError(f"SCOREBARS_ENGINE=kernel, but there is no compiled kernel: {kernel.note}")
    return array_sums.numpy_sums


def bin_loops() -> Any:
    """The compiled loops that put labels into bins; None where NumPy does it."""
    return None if _wished_engine() == "numpy" else compiled("_bins").module


def score_loops() -> Any:
    """The compiled loops that score forecasts; None where NumPy does it."""
    return None if _wished_engine() == "numpy" else compiled("_scores").module


def describe() -> dict[str, str | int]:
    """What is active, in words."""
    (kernel, runs_on), (_, no_bins) = compiled("_kernel"), compiled("_bins")
    if _wished_engine() == "numpy":
        engine, bins = "numpy (SCOREBARS_ENGINE=numpy)", "numpy"
    else:
        engine = f"compiled kernel, {runs_on}" if kernel is not None else f"numpy (no compiled kernel: {runs_on})"
        bins = f"numpy (no compiled module: {no_bins})" if no_bins else "compiled"
    return {"engine": engine, "bins": bins, "threads": threads()}


def show_config() -> None:
    """Print which engine forms the sums, and what it runs on.

    Notes
    -----
    The compiled kernel and NumPy give the same sums to a few units in the last digit, on any number of threads: what chunks of
    labels add up to is added exactly. SCOREBARS_ENGINE and SCOREBARS_THREADS choose others.

    References
    ----------
    J. R. Shewchuk, Discrete Comput. Geom. 18 (1997) 305 (exact sums of floating-point numbers).

    Examples
    --------
    >>> show_config()
    scorebars ...
    engine: ...
    bins: ...
    threads: ...
    """
    import platform
    from importlib.metadata import version

    import scipy

    print(f"scorebars {version('scorebars')}, Python {platform.python_version()} on {platform.machine()}")
    for name, value in describe().items():
        print(f"{name}: {value}")
    print(f"NumPy {np.__version__}, SciPy {scipy.__version__}")


def _wished_engine() -> str:
    wish = os.environ.get("SCOREBARS_ENGINE", "").strip() or "auto"
    if wish not in ("auto", "kernel", "numpy"):
        raise ValueError(f"SCOREBARS_ENGINE must be 'auto', 'kernel' or 'numpy', got {wish!r}")
    return wish


# how many threads --------------------------------------------------------------------------------

_alone: ContextVar[bool] = ContextVar("scorebars_alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread: for work that already runs in several threads."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def threads() -> int:
    """How many threads work on large data."""
    if _alone.get():
        return 1
    wish = os.environ.get("SCOREBARS_THREADS", "").strip()
    if wish:
        if not wish.isdecimal() or len(wish) > 4 or not 1 <= int(wish) <= _MOST_ASKED:
            raise ValueError(f"SCOREBARS_THREADS must be a whole number from 1 to {_MOST_ASKED}, got {wish!r}")
        return int(wish)
    # fewer than the machine has, in a container or batch job
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_THREADS)


# work in chunks -----------------------------------------------------------------------------------
#
# The grid of chunks depends on the number of labels alone and results are returned in its order, so whatever is made of
# them is the same on any number of threads.

Result = TypeVar("Result")
CHUNK = 1 << 17  # labels: about 0.4 ms of work, and 4 MB where all columns have to be converted
_THREADS_PAY_FROM = 500_000  # labels: below, waking threads costs more than they save


def chunk_ranges(n: int, size: int = CHUNK) -> list[tuple[int, int]]:
    """Start and stop of each chunk."""
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def over_chunks(work: Callable[[int, int], Result], n: int, threads: int, size: int = CHUNK) -> list[Result]:
    """`work(start, stop)` for each chunk of n labels; the calling thread takes its share."""
    ranges = chunk_ranges(n, size)
    if threads <= 1 or n < _THREADS_PAY_FROM:
        return [work(start, stop) for start, stop in ranges]

    queue = deque(enumerate(ranges))
    results: dict[int, Result] = {}

    def drain() -> None:
        while True:
            try:
                index, (start, stop) = queue.popleft()
            except IndexError:
                return
            results[index] = work(start, stop)

    helpers: list[Future[None]] = []
    try:
        pool = _pool(threads - 1)
        helpers += [pool.submit(drain) for _ in range(min(threads, len(ranges)) - 1)]
    except RuntimeError:  # Python is shutting down and starts no more threads: the caller does it all
        pass
    try:
        drain()
    finally:
        queue.clear()  # after an error nobody need go on; else it is empty already
        for helper in helpers:
            if not helper.cancel():  # one that still waits behind another caller's work has nothing left to do
                helper.result()
    return [results[index] for index in range(len(ranges))]


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads are made when first needed, and kept."""
    return ThreadPoolExecutor(workers, thread_name_prefix="scorebars")


if hasattr(os, "register_at_fork"):  # in a forked child the parent's threads do not exist
    os.register_at_fork(after_in_child=_pool.cache_clear)


# the pass ----------------------------------------------------------------------------------------


def normal_sums(
    y: NDArray[Any],
    p: NDArray[Any],
    sigma: NDArray[Any] | float,
    weight: NDArray[Any] | None = None,
    tolerance: float | None = None,
    *,
    labels: bool = False,
    about: float | None = None,
    threads: int | None = None,
) -> NormalSums:
    """All sums over the labels `y` with predictions `p` and errors `sigma` (one for all, or one each).

    A `tolerance` adds the sums within*, `labels=True` those of the labels' own scatter (y1 ... y_d_var_w2), counted from
    `about` (None: from a typical label).
    The result does not depend on `threads` (None: as configured). Raises BadValues if a value is not finite, an error or a
    weight negative, or a sum larger than every double. Labels of extreme size are divided by a power of two before they come
    here, where they come in: `unit_for` in measured.py says by which.
    """
    columns = (y, p, sigma if isinstance(sigma, np.ndarray) and sigma.ndim else float(sigma), weight)
    reference = (typical(y) if about is None else about) if labels else None
    numbers = _one_pass(columns, tolerance, reference, threads)
    if not are_valid(numbers):
        raise BadValues
    return collect(len(y), numbers, tolerance, reference)


def higher_sums(
    y: NDArray[Any],
    p: NDArray[Any],
    sigma: NDArray[Any] | float,
    weight: NDArray[Any] | None,
    need: str,
    of: NormalSums,
) -> HigherSums | None:
    """The higher sums that serve `need`, with the sums of the same pass, given those of an earlier one.

    None where labels, errors or weights are of extreme size. Raises Changed where they are not those of the earlier pass.
    """
    rows = higher_rows(need, of)
    if rows is None:
        return None
    columns = (y, p, sigma if isinstance(sigma, np.ndarray) and sigma.ndim else float(sigma), weight)
    reference = None if math.isnan(of.y_shift) else of.y_shift
    numbers = _one_pass(columns, None, reference, None, rows)
    sums = collect(len(y), numbers[: len(NAMES)], None, reference)
    if (sums.d, sums.sq, sums.var, sums.w) != (of.d, of.sq, of.var, of.w):
        raise Changed
    return collect_higher(rows, sums, numbers[len(NAMES) :])


def higher_rows(need: str, of: NormalSums) -> HigherRows | None:
    """In which units higher sums are formed; None for labels of extreme size.

    Labels of ordinary size have sixth powers that are not: the pass multiplies each number by a power of two as it reads it.
    """
    if not of.ordinary(need == "ratio") or min(of.max_sigma, of.max_weight) < 1.0 / SAFE:
        return None
    power, lighter = (math.frexp(largest)[1] for largest in (of.max_sigma, of.max_weight))
    power, lighter = (0 if abs(x) <= most else x for x, most in ((power, 6), (lighter, 2)))
    return HigherRows(list(HIGHER).index(need) + 1, math.ldexp(1.0, -power), math.ldexp(1.0, -lighter))


def collect_higher(rows: HigherRows, sums: NormalSums, found: tuple[float, ...]) -> HigherSums | None:
    """Higher sums with the other ones in the same units; None where one is not finite."""
    if not math.isfinite(sum(found)):
        return None
    power, lighter = (1 - math.frexp(per)[1] for per in (rows.per_unit, rows.per_weight))
    sums = sums.divided(power) if power else sums
    return HigherSums(rows.need, sums.with_lighter(lighter) if lighter else sums, found, power)


class Changed(Exception):
    """The arrays are not those of an earlier pass."""


class BadValues(Exception):
    """Some value is not finite, an error or a weight is negative, or a sum leaves the doubles. The border finds out which."""


def are_valid(numbers: Sequence[float]) -> bool:
    """Whether the numbers that a pass gave are those of finite labels, and of errors and weights that are not negative."""
    return math.isfinite(sum(numbers)) and min(numbers[-len(SMALLEST) :]) >= 0


def _one_pass(
    columns: tuple[Any, ...],
    tolerance: float | None,
    reference: float | None,
    wished: int | None,
    higher: tuple[float, ...] = (),
) -> tuple[float, ...]:
    """The numbers of NAMES: at once for few labels, else chunk by chunk, so that no column is copied as a whole."""
    engine, n = chunk_sums(), len(columns[0])
    if n <= CHUNK:
        return engine(*map(_readable, columns), tolerance, reference, *higher)

    def work(start: int, stop: int) -> tuple[float, ...]:
        part = (column[start:stop] if isinstance(column, np.ndarray) else column for column in columns)
        return engine(*map(_readable, part), tolerance, reference, *higher)

    return combine(over_chunks(work, n, wished or threads()))


def _readable(column: Any) -> Any:
    """What an engine reads: float32 and float64 as they lie in memory, all else as float64."""
    if column is None or type(column) is float or (column.dtype.char in "fd" and column.dtype.isnative):
        return column
    return column.astype(np.float64)


def typical(y: NDArray[Any]) -> float:
    """The middle one of a few labels: near enough to their mean that sums about it do not cancel."""
    few = sorted(y[:: max(1, len(y) // 9)].tolist()[:9])
    return float(few[len(few) // 2])


def collect(n: int, numbers: tuple[float, ...], tolerance: float | None, reference: float | None) -> NormalSums:
    """The numbers of NAMES under their names; those that were not asked for as NaN."""
    fields = [n, *numbers[: -len(SMALLEST)], math.nan, math.nan]
    if tolerance is None:
        fields[16:19] = _NO_TOLERANCE
    else:
        fields[29] = tolerance
    if reference is None:
        fields[19:25], fields[28] = _NO_LABELS, math.nan
    else:
        fields[30] = reference
    return NormalSums._make(fields)


_NO_TOLERANCE, _NO_LABELS = [math.nan] * len(TOLERANCE_SUMS), [math.nan] * len(LABEL_SUMS)
