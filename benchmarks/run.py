"""All benchmarks as ratios against peers, in one process but for those of memory and workers. Run: make bench, or python benchmarks/run.py [--quick]

Writes results/bench.json and results/bench.md with the machine's description, results/growth.md with every metric at every
size, the figure results/growth.png of the cost from 1e2 to 1e8 labels, where there is a GPU results/gpu.md, and the rows that
users care about most into the README.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import dask_scaling
import footprint
import forecast_peers
import growth as every_metric
import intervals
import peers
import stream
from timing import Row, labels, least_times, machine

HERE = Path(__file__).parent
RESULTS = HERE / "results"
README = HERE.parent / "README.md"
BEGIN, END = "<!-- bench: made by make bench -->", "<!-- end of bench -->"
SKLEARN, DRAWS = "scikit-learn, no errors", "1000 draws of the labels"
IN_README = {
    ("mean_absolute_error: observed, expected, std", 1_000): ("mean absolute error with error bar", SKLEARN),
    ("mean_absolute_error: observed, expected, std", 10_000_000): ("mean absolute error with error bar", SKLEARN),
    ("evaluate: six metrics with expected and std", 10_000_000): (
        "six metrics with error bars",
        "scikit-learn and NumPy, no errors",
    ),
    ("mean_absolute_error: value, std and interval", 10_000): ("mean absolute error with interval", DRAWS),
    ("huber_loss: value, std and interval", 10_000): ("Huber loss with interval", DRAWS),
    ("median_absolute_error: value, std and interval", 10_000): ("median absolute error with interval", DRAWS),
    ("spearman_correlation: value, std and interval", 10_000): ("Spearman's correlation with interval", DRAWS),
    ("mean_absolute_error: interval, the first, of arrays in memory", 10_000_000): (
        "mean absolute error, first interval",
        "its own value and error bar",
    ),
    ("accuracy_score, a q each: exact distribution and interval", 1_000_000): ("accuracy with interval", "50 ms"),
    ("compare: verdicts on all pairs of ten models by MAE, ranking", 10_000): ("ten models, all pairs compared", "2 s"),
    ("Parquet, files on disk: RMSE, MAE, bias", 60_000_000): ("three metrics of Parquet files", "pyarrow reading them"),
    ("dask arrays, 2 workers", 120_000_000): ("dask arrays on two workers", "one worker"),
}
"""The first row of each work and size goes into the README, in these words."""


def measured(quick: bool) -> list[Row]:
    seconds = 1.0 if quick else 8.0
    sizes = (1_000, 100_000) if quick else (1_000, 100_000, 10_000_000)
    return [
        *peers.one_metric(sizes, seconds),
        *peers.six_metrics(sizes[1:], seconds),
        *peers.error_bars_by_other_means(1.0),
        *forecast_peers.rows((100_000,) if quick else (100_000, 1_000_000), seconds=seconds / 2),
        *intervals.intervals(sizes),
        *intervals.streamed(sizes[1:]),
        *intervals.classes(seconds / 4),
        *intervals.comparisons(),
        *footprint.peak_memory(sizes[1:]),
        *footprint.import_time(),
        *([] if quick else [*stream.rows(), *dask_scaling.rows()]),
    ]


def table(rows: list[Row]) -> str:
    """A Markdown table."""
    lines = ["| work | n | against | ratio | target |", "|---|---|---|---|---|"]
    for row in rows:
        n = _size(row.n) if row.n else ""
        target = "" if row.target is None else f"{row.target:.3g}"
        lines.append(f"| {row.work} | {n} | {row.peer} | {_digits(row.ratio)} | {target} |")
    return "\n".join(lines)


def _size(n: int) -> str:
    return f"{n:.0e}".replace("e+0", "e")


def _digits(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio >= 0.001 else f"{ratio:.0e}".replace("e-0", "e-")


def described() -> str:
    about = machine()
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    engine = about["scorebars"]
    return f"{about['processor']}, {about['system']}; Python {about['python']}, {packages}; {engine['engine']}."


def growth(largest: int) -> dict[str, list[tuple[int, float]]]:
    """Seconds of mean_absolute_error with its error bar, and of the error-blind one, from 1e2 labels on."""
    curves: dict[str, list[tuple[int, float]]] = {}
    n = 100
    while n <= largest:
        y, p, sigma = labels(n)
        ours = peers.absolute_error(y, p, sigma)
        candidates = {
            "scorebars: value, expected, std": peers.on_threads(1, ours),
            "scorebars, 2 threads": peers.on_threads(2, ours),
            "scikit-learn: value only": lambda y=y, p=p: peers.sklearn_metrics.mean_absolute_error(y, p),
        }
        for name, seconds in least_times(candidates, 0.5, repeats=1 if n > 1e6 else 10).items():
            curves.setdefault(name, []).append((n, seconds))
        n *= 10
    return curves


def draw(curves: dict[str, list[tuple[int, float]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for (name, points), marker in zip(curves.items(), "osv", strict=True):
        n, seconds = zip(*points, strict=True)
        axes.loglog(n, [1e3 * t for t in seconds], marker=marker, label=name)
    axes.set(xlabel="labels", ylabel="milliseconds", title="mean absolute error, with and without its error bar")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def for_readme(rows: list[Row]) -> str:
    """The rows that users care about most, in columns."""
    first = {(row.work, row.n): row for row in reversed(rows)}
    shown = [("what", "labels", "time", "as a multiple of")]
    for key, (what, peer) in IN_README.items():
        if key in first:
            shown.append((what, _size(key[1]), _digits(first[key].ratio), peer))
    return "\n".join(["```text", *(f"{what:<38}{n:>6}{time:>8}  {peer}" for what, n, time, peer in shown), "```"])


def into_readme(text: str) -> None:
    """Put the table between the markers of the README."""
    readme = README.read_text()
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def has_gpu() -> bool:
    """Whether the rows of gpu.py can be measured here."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    parser.add_argument("--largest", type=float, default=1e8, help="where the growth curves end")
    options = parser.parse_args()
    rows = measured(options.quick)
    text = f"{table(rows)}\n\nMeasured on {described()}"
    print(text)
    if options.quick:
        return
    curves = growth(int(options.largest))
    found = every_metric.measured(every_metric.SIZES, every_metric.names())
    every_metric.written(found)
    rows += every_metric.rows(found)
    record = {"machine": machine(), "rows": [row.to_dict() for row in rows], "growth": curves}
    (RESULTS / "bench.json").write_text(json.dumps(record, indent=1) + "\n")
    (RESULTS / "bench.md").write_text(text + "\n")
    draw(curves, RESULTS / "growth.png")
    if has_gpu():
        subprocess.run([sys.executable, HERE / "gpu.py"], check=True)
    into_readme(for_readme(rows))


if __name__ == "__main__":
    main()
