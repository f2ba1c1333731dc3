"""Scores for people: a block for each metric, a line for each model, as many digits as the error allows."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from scorebars.cli.console import width_of
from scorebars.cli.output import screen

QUESTIONS = {
    "observed": "the classical metric, labels taken as exact",
    "expected": "its mean ± std when the labels move within their errors",
    "truth": "the metric against the true values behind the labels",
    "perfect": "what a perfect model would score on these labels",
    "noise": "how much of the observed error is label error",
}


def evaluation(result: Any, level: float, unit: str | None, quiet: bool, output: Path | None = None) -> str:
    """The evaluation for people: a block for each metric, a line for each model."""
    width = width_of(sys.stdout)
    parts: list[Any] = []
    for metric in result.metrics:
        parts += _block(result, metric, level, unit, width)
    if not quiet:
        parts.append(legend(QUESTIONS))
    return screen(*parts, output=output, width=width)


def _block(result: Any, metric: str, level: float, unit: str | None, width: int) -> list[Any]:
    grouped = result.groups != [None]
    rows = [(key, score) for key, score in result if key[1] == metric]
    names = ["model", *(["group"] if grouped else [])]
    interval = f"{level * 100:g} % interval"
    head = [*names, "observed", "expected ± std", interval, "truth", "perfect", "noise"]
    texts = [
        [model, *(["all" if group is None else str(group)] if grouped else []), *cells(score, level)]
        for (model, _, group), score in rows
    ]
    for extra in (interval, "noise"):  # what a narrow terminal does without
        if _natural_width([head, *texts]) > width:
            k = head.index(extra)
            head, texts = head[:k] + head[k + 1 :], [row[:k] + row[k + 1 :] for row in texts]
    table = grid()
    for name in head:
        left = name in names
        table.add_column(name, justify="left" if left else "right", no_wrap=not left, overflow="fold")
    for row in texts:
        table.add_row(*map(Text, row))
    return [_title(rows[0][1], metric, unit), table, ""]


def _natural_width(rows: list[list[str]]) -> int:
    return sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True)) - 2


def grid() -> Table:
    """An empty table in the style of all commands: two blanks between columns."""
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")


def _title(score: Any, metric: str, unit: str | None) -> Text:
    """Name, options, direction and unit of a metric."""
    declared = score.declaration
    options = metric.removeprefix(declared.name)
    parts = [direction(declared)]
    if unit and declared.degree:
        parts.append(f"in {unit}" if declared.degree == 1 else f"in ({unit})^{declared.degree}")
    parts.append(counted(score.n, "label"))
    return Text.assemble((f"{declared.title} {options}".strip(), "bold"), (f"  {', '.join(parts)}", "dim"))


def counted(number: int, what: str) -> str:
    """``1 label``, ``12 labels``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def direction(declared: Any) -> str:
    """Which way is better."""
    if declared.low < declared.perfect < declared.high:
        return f"best at {declared.perfect:g}"
    return "larger is better" if declared.greater_is_better else "smaller is better"


def cells(score: Any, level: float) -> list[str]:
    """Observed, expected, interval, truth, perfect, noise share; a dash for what cannot be had."""
    out = [rounded(score.observed, score.std), str(score)]
    out.append(_or_dash(lambda: " to ".join(rounded(end, score.std) for end in score.interval(level))))
    for name in ("truth", "perfect"):
        out.append(_or_dash(lambda name=name: str(getattr(score, name))))
    return [*out, _or_dash(lambda: share_text(score.noise_share))]


def rounded(value: float, std: float) -> str:
    """A number to the place of the second digit of its error.

    >>> rounded(0.36, 0.009), rounded(12345.678, 120.0), rounded(0.25, 0.0), rounded(3.2e-12, 4.5e-14)
    ('0.3600', '12350', '0.25', '3.2e-12')
    """
    if not (math.isfinite(value) and math.isfinite(std)) or std <= 0 or not 1e-4 <= max(abs(value), std) < 1e7:
        return f"{value:.4g}"
    places = 1 - int(f"{std:.1e}".split("e")[1])
    return f"{round(value, places):.{min(max(places, 0), 12)}f}"


def share_text(share: float) -> str:
    """A share in percent; of a score near zero the label error is a huge share, which says nothing more."""
    return f"{share * 100:.1f} %" if share < 10 else "> 999 %"


def _or_dash(text: Any) -> str:
    try:
        return str(text())
    except ValueError:
        return "-"


def legend(questions: dict[str, str]) -> Table:
    """What each column means."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, meaning in questions.items():
        table.add_row(Text(name, style="dim"), Text(meaning, style="dim"))
    return table
