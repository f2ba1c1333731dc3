"""How often intervals held, as tables for pages.

From the files that `make test-coverage`, `measure_judges.py`, `measure_shapes.py` and `least_intervals.py` write.
"""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path

from IPython.display import Markdown

ROOT = Path(__file__).resolve().parents[1]
ANSWERS = ("truth", "truth.total_interval", "total_interval")
DIFFERENCES = tuple(f"difference.{answer}" for answer in ANSWERS)


def _rows(path: str) -> list[dict[str, str]]:
    with (ROOT / path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markdown:
    lines = [head, ["---"] * len(head), *rows]
    return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def held(metrics: Sequence[str], models: Sequence[str] = ("Normal",), answers: Sequence[str] = ANSWERS) -> Markdown:
    """How often 95 % intervals held in simulated test sets of 40 labels, and in how many of these it was looked at."""
    found = {
        (row["metric"], row["model"], row["answer"]): f"{int(row['held95']) / int(row['count']):.0%} of {row['count']}"
        for row in _rows("src/scorebars/data/coverage.csv")
        if row["n"] == "40"
    }
    lines = [
        [metric, model, *(found.get((metric, model, answer), "-") for answer in answers)]
        for metric in metrics
        for model in models
        if any((metric, model, answer) in found for answer in answers)
    ]
    head = ["metric", "label errors", *(f"`{answer}`" for answer in answers)]
    return _table(head, lines) if len(metrics) > 1 else _table(head[1:], [line[1:] for line in lines])


def judges() -> Markdown:
    """How often 95 % intervals of the truth held where data told how the judge errs, from the fewest checks to the most."""
    rows = _rows("tests/statistical/judges.csv")
    lines = []
    for model in dict.fromkeys(row["model"] for row in rows):
        mine = [row for row in rows if row["model"] == model]
        cells = []
        for known in sorted({int(row["known"]) for row in mine}):
            cells.append(f"{known}: {_pooled([row for row in mine if int(row['known']) == known])}")
        lines.append([f"`{model}`", *cells, *["-"] * (4 - len(cells))])
    return _table(["known from", "fewest", "few", "more", "most"], lines)


def raters() -> Markdown:
    """How often 95 % intervals of the truth held where votes told how raters err, by the number of raters."""
    rows = [row for row in _rows("tests/statistical/judges.csv") if row["model"].startswith("Votes")]
    models, numbers = (list(dict.fromkeys(row[name] for row in rows)) for name in ("model", "known"))
    lines = [
        [f"`{m}`", *(_pooled([r for r in rows if (r["model"], r["known"]) == (m, k)]) for k in numbers)] for m in models
    ]
    return _table(["votes", *(f"{k} raters" for k in numbers)], lines)


def few_checks(known: int = 20) -> Markdown:
    """How often 95 % intervals of the truth held with so few checks for each class, by how many labels are wrong."""
    rows = [
        row
        for row in _rows("tests/statistical/judges.csv")
        if row["model"].endswith("from_counts") and int(row["known"]) == known
    ]
    models, rates = (list(dict.fromkeys(row[name] for row in rows)) for name in ("model", "rate"))
    lines = [
        [f"`{m}`", *(_pooled([r for r in rows if (r["model"], r["rate"]) == (m, q)]) for q in rates)] for m in models
    ]
    return _table(["rates", *(f"{float(q):.0%} wrong" for q in rates)], lines)


def _pooled(rows: Sequence[dict[str, str]]) -> str:
    count = sum(int(row["count"]) for row in rows)
    return f"{sum(int(row['count']) * float(row['held']) for row in rows) / count:.0%} of {count}"


def lowest_judges(number: int = 10, sets: int = 150) -> Markdown:
    """The situations of judges in which 95 % intervals of the truth held least often, of those with enough test sets."""
    rows = [row for row in _rows("tests/statistical/judges.csv") if int(row["count"]) >= sets]
    lines = [
        [
            f"`{row['model']}`",
            row["known"],
            row["rate"],
            row["metric"],
            row["classes"],
            f"{float(row['held']):.1%} of {row['count']}",
        ]
        for row in sorted(rows, key=lambda row: float(row["held"]))[:number]
    ]
    return _table(["known from", "how many", "wrong labels", "score", "classes", "95 % held"], lines)


def shapes(topic: str, residuals: str = "residuals", number: str = "labels", held: str = "95 % held") -> Markdown:
    """How far estimates were off on average, with the standard error of that, and how often intervals held."""
    rows = [row for row in _rows("tests/statistical/shapes.csv") if row["topic"] == topic]
    lines = []
    for row in sorted(rows, key=lambda row: (row["metric"], row["residuals"], row["setting"], int(row["n"]))):
        off = f"{float(row['bias']):+.2f} ± {float(row['bias_error']):.2f}"
        cells = [row["residuals"], row["setting"], row["n"], off, f"{float(row['held']):.0%} of {row['count']}"]
        lines.append([f"`{row['metric']}`", *cells])
    return _table(["score", residuals, "", number, "off by", held], lines)


def least_intervals(metric: str) -> Markdown:
    """What bounds of length and scatter say, and what the estimate against the truth reaches."""
    lines = []
    for row in _rows("tests/statistical/least_intervals.csv"):
        if row["least_length"] and row["metric"] == metric:
            length, scatter = (
                f"{float(row[f'least_{name}']):.2f}: {float(row[name]):.2f}" for name in ("length", "scatter")
            )
            wider = f"{float(row['length']) / (3.92 * math.hypot(float(row['scatter']), float(row['bias']))):.1f}"
            bias = f"{float(row['bias']):+.2f}"
            lines.append([row["residuals"], row["setting"], row["n"], length, wider, _held(row), scatter, bias])
    head = [
        "residuals",
        "",
        "labels",
        "least length: reached",
        "reached over 2 × 1.96 errors",
        "95 % held",
        "least scatter for a bias of 0.02: reached",
        "bias",
    ]
    return _table(head, lines)


def hardest_shapes() -> Markdown:
    """How often intervals held for the shapes that are hardest to tell from the normal one."""
    rows = [row for row in _rows("tests/statistical/least_intervals.csv") if not row["least_length"]]
    lines = [[row["setting"], row["n"], row["residuals"], _held(row), f"{float(row['bias']):+.2f}"] for row in rows]
    return _table(["", "labels", "mean absolute error", "95 % held", "bias"], lines)


def _held(row: dict[str, str]) -> str:
    return f"{float(row['held']):.0%} of {row['count']}"


def by_groups(topic: str, setting: str) -> Markdown:
    """How often intervals at this level held, for each score and law of the residuals by the number of groups."""
    rows = [row for row in _rows("tests/statistical/shapes.csv") if (row["topic"], row["setting"]) == (topic, setting)]
    numbers = sorted({int(row["n"]) for row in rows})
    found = {(row["metric"], row["residuals"], int(row["n"])): float(row["held"]) for row in rows}
    lines = [
        [f"`{metric}`", law, *(f"{found[metric, law, n]:.0%}" for n in numbers)]
        for metric, law in dict.fromkeys((row["metric"], row["residuals"]) for row in rows)
    ]
    head = f"score, in {rows[0]['count']} test sets each"
    return _table([head, "residuals", *(f"{n} groups" for n in numbers)], lines)


def range_of_shapes(topic: str, metric: str, setting: str = "95 %") -> Markdown:
    """The least and the greatest share of intervals that held, over all laws and numbers of groups."""
    rows = [row for row in _rows("tests/statistical/shapes.csv") if (row["topic"], row["metric"]) == (topic, metric)]
    shares = [float(row["held"]) for row in rows if row["setting"] == setting]
    return Markdown(f"`{metric}`: {min(shares):.0%} to {max(shares):.0%} in {len(shares)} situations")


def weak(table: str) -> Markdown:
    """Situations of "judges", "groups" or "limits" that are known to hold less or more than they promise, and why."""
    text = (ROOT / "tests/statistical/weak_situations.toml").read_text(encoding="utf-8")
    lines = [
        [f"`{one['situation']}`".replace(" | ", "`, `"), one["verdict"], one["reason"]]
        for one in tomllib.loads(text).get(table, [])
    ]
    return _table(["situations", "intervals are" if table != "limits" else "off", "why"], lines)
