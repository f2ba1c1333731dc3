"""The fused GPU kernel against the device's copy bandwidth and against torch's l1_loss, which knows no label errors.

    python benchmarks/gpu.py [--out DIR] [--labels 400000000]

Needs a GPU with torch and Triton. Times are what the caller waits, from the call until the device is done: the least of
many, as other load on the host delays some, and the median. The arrays are far larger than any cache. "share
of bandwidth" is (bytes of the arrays, each read once) / time, over the bandwidth of a device-to-device copy in the same run
(bytes read and written, the least time by device events). Results go to DIR/gpu.json and DIR/gpu.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton
from triton.testing import do_bench

import scorebars as sb
from scorebars.engines import normal_sums
from scorebars.engines.array_sums import array_sums
from scorebars.engines.sums import NAMES, SUMS
from scorebars.engines.triton_sums import triton_sums

Work = tuple[str, int, int, Callable[[], Any]]  # name, labels, bytes of the arrays, what to run
INTERVALS = ("mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2_score")
_WAITING = "waiting for a device that has nothing to do"
_BLIND = "torch l1_loss and its value on the host, float32"
Tensors = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def milliseconds(work: Callable[[], Any], warm_up: float = 0.5, repeat: float = 1.0) -> tuple[float, float]:
    """The least and the median of many calls, each until the device is done, after it has come up to speed."""
    work()  # compiled when first called
    times: list[float] = []
    begin = time.perf_counter()
    while (now := time.perf_counter()) < begin + warm_up + repeat or len(times) < 3:
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        if now > begin + warm_up:
            times.append(time.perf_counter() - start)
    return 1e3 * min(times), 1e3 * statistics.median(times)


def data(n: int, dtype: torch.dtype) -> Tensors:
    """Labels, predictions and errors, in memory of their own; every tenth label is exact."""
    torch.cuda.empty_cache()
    make = torch.Generator(device="cuda").manual_seed(0)
    y = torch.randn(n, dtype=dtype, device="cuda", generator=make)
    p = y + torch.randn(n, dtype=dtype, device="cuda", generator=make)
    sigma = torch.rand(n, dtype=dtype, device="cuda", generator=make).mul_(2)
    sigma[::10] = 0
    return y, p, sigma


def copy_bandwidth(size: int) -> float:
    """Bytes read and written per second."""
    source = torch.randn(size // 4, device="cuda")
    target = torch.empty_like(source)
    milliseconds = float(do_bench(lambda: target.copy_(source), warmup=50, rep=400, return_mode="min"))
    return 2 * 4 * source.numel() / (milliseconds * 1e-3)


def timings(n: int) -> list[dict[str, Any]]:
    rows = []
    for work in (singles(n), doubles(n // 2), intervals(n // 40), small(n // 4000)):
        for name, labels, size, run in work:
            least, median = milliseconds(run)
            rows.append({"what": name, "labels": labels, "bytes": size, "ms": least, "median_ms": median})
            print(f"{name:70s} {labels:12,d} {rows[-1]['ms']:10.3f} ms", flush=True)
    return rows


def singles(n: int) -> Iterator[Work]:
    y, p, sigma = data(n, torch.float32)
    weight = torch.rand(n, device="cuda")
    half = y[::2], p[::2], sigma[::2]
    yield "torch l1_loss, no label errors, float32", n, 8 * n, lambda: torch.nn.functional.l1_loss(p, y)
    yield "fused kernel, all plain sums, float32", n, 12 * n, lambda: triton_sums(y, p, sigma, None)
    yield "sb.mean_absolute_error: observed, expected, std, float32", n, 12 * n, lambda: mae(y, p, sigma)
    yield "fused kernel with weights, float32", n, 16 * n, lambda: triton_sums(y, p, sigma, weight)
    yield "fused kernel with the labels' scatter, float32", n, 12 * n, lambda: triton_sums(y, p, sigma, None, None, 0.1)
    yield "fused kernel with a tolerance, float32", n, 12 * n, lambda: triton_sums(y, p, sigma, None, 0.5)
    yield "fused kernel, every second label (strided), float32", n // 2, 12 * n, lambda: triton_sums(*half, None)
    yield "the same sums in eager torch through the array API", n, 12 * n, lambda: array_sums(y, p, sigma, None)


def doubles(n: int) -> Iterator[Work]:
    y, p, sigma = data(n, torch.float64)
    yield "torch l1_loss, no label errors, float64", n, 16 * n, lambda: torch.nn.functional.l1_loss(p, y)
    yield "fused kernel, all plain sums, float64", n, 24 * n, lambda: triton_sums(y, p, sigma, None)


def intervals(n: int) -> Iterator[Work]:
    """Calls without and with the 95 % interval, which needs a second pass on the device."""
    y, p, sigma = data(n, torch.float32)
    for name in INTERVALS:
        metric = getattr(sb, name)
        yield (
            f"sb.{name}: observed, expected, std, float32",
            n,
            12 * n,
            lambda metric=metric: metric(y, p, yerr=sigma).std,
        )
        yield f"sb.{name}: 95 % interval, float32", n, 12 * n, lambda metric=metric: metric(y, p, yerr=sigma).interval()


def small(n: int) -> Iterator[Work]:
    """What a call costs where there is little to sum."""
    y, p, sigma = data(n, torch.float32)
    yield _WAITING, n, 0, lambda: None
    yield _BLIND, n, 8 * n, lambda: torch.nn.functional.l1_loss(p, y).item()
    yield "sb.mean_absolute_error: observed, expected, std, float32", n, 12 * n, lambda: mae(y, p, sigma)


def mae(y: torch.Tensor, p: torch.Tensor, sigma: torch.Tensor) -> tuple[float, float, float]:
    score = sb.mean_absolute_error(y, p, yerr=sigma)
    return score.observed, score.expected, score.std


def accuracy(n: int = 10_000_000) -> dict[str, float]:
    """Largest relative error of any positive sum against the CPU engine, which computes in float64."""
    signed = {"d", "d_w2", "d_var_w2", "y1", "y_var_w2", "y_d_var_w2"}
    found = {}
    for dtype in (torch.float64, torch.float32):
        columns = data(n, dtype)
        exact = normal_sums(*(column.cpu().numpy() for column in columns))
        for engine in (triton_sums, array_sums):
            numbers = dict(zip(NAMES, engine(*columns, None), strict=True))
            errors = [
                abs(numbers[name] / getattr(exact, name) - 1)
                for name in SUMS
                if name not in signed and np.isfinite(getattr(exact, name))
            ]
            found[f"{engine.__name__}, {str(dtype).removeprefix('torch.')}"] = max(errors)
    return found


def table(result: dict[str, Any]) -> str:
    lines = [
        "# GPU",
        "",
        f"{result['device']}, torch {result['torch']}, Triton {result['triton']}. A device-to-device copy moves "
        f"{result['copy_bytes_per_second'] / 1e12:.2f} TB/s. Made by `python benchmarks/gpu.py`.",
        "",
        "| work | labels | least ms | share of copy bandwidth | median ms | share of copy bandwidth |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["timings"]:
        shown = [
            (ms, row["bytes"] / (ms * 1e-3) / result["copy_bytes_per_second"]) for ms in (row["ms"], row["median_ms"])
        ]
        cells = " | ".join(f"{ms:.2f} | {share:.0%}" for ms, share in shown)
        lines.append(f"| {row['what']} | {row['labels']:.0e} | {cells} |")
    lines += ["", "Ratios of least times, and what they are to be at most:", "", "| work | against | ratio | target |"]
    lines += ["|---|---|---|---|", *ratios({(row["what"], row["labels"]): row["ms"] for row in result["timings"]})]
    lines += ["", "Largest relative error of any sum over 1e7 labels, against the CPU engine:", ""]
    lines += ["| engine, input | error |", "|---|---|"]
    lines += [f"| {name} | {error:.1e} |" for name, error in result["largest_relative_error"].items()]
    return "\n".join(lines) + "\n"


def ratios(least: dict[tuple[str, int], float]) -> list[str]:
    """Rows of a table: what an interval adds to its pass, and what a small call costs."""
    lines = []
    for (what, n), ms in least.items():
        name = what.partition(":")[0]
        one_pass = least.get((f"{name}: observed, expected, std, float32", n))
        if "95 % interval" in what and one_pass is not None:
            lines.append(f"| {what}, without its pass | the pass | {(ms - one_pass) / one_pass:.2g} | 2 |")
        blind, waits = (least.get((name, n)) for name in (_BLIND, _WAITING))
        if (
            what == "sb.mean_absolute_error: observed, expected, std, float32"
            and blind is not None
            and waits is not None
        ):
            lines.append(f"| {what}, {n:.0e} labels | l1_loss and its value | {ms / blind:.2g} | 2, and the waiting |")
            lines.append(
                f"| {what}, {n:.0e} labels | twice l1_loss, and the waiting | {ms / (2 * blind + waits):.3g} | 1 |"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--labels", type=int, default=400_000_000)
    options = parser.parse_args()
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "copy_bytes_per_second": copy_bandwidth(12 * options.labels),
        "largest_relative_error": accuracy(),
        "timings": timings(options.labels),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "gpu.json").write_text(json.dumps(result, indent=2) + "\n")
    (options.out / "gpu.md").write_text(table(result))
    print(table(result))


if __name__ == "__main__":
    main()
