"""Write docs/evidence/coverage.md: how well every interval holds, in short, then for each metric under each error model, and why.

python tests/statistical/page.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from experiment import ANSWERS as MEASURED
from experiment import CALIBRATION, DIFFERENCES, FORECASTS
from judgement import Weak, declared, tried, verdict
from measure import Row, read
from worlds import NOISE

import scorebars as sb
from scorebars.metrics.registry import declarations
from scorebars.studies.capabilities import ANSWERS

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "coverage.md"
QUESTIONS = {
    "interval": "Where does the metric fall if every label is redrawn from its error bar?",
    "total_interval": "Where does the classical metric fall on a new test set of this size, measured in the same way?",
    "truth": "What is the metric of these items against their true values?",
    "truth.total_interval": "What is it over the population that the items were drawn from?",
    "remeasured": "Where does the classical metric fall if the same items are measured once more in the same way?",
    "perfect": "What does a perfect model score on these labels?",
    "difference.total_interval": "Where does the difference of two models fall on a new test set?",
    "difference.truth": "What is the difference of two models against the truth of these items?",
    "difference.truth.total_interval": "What is it over the population that the items were drawn from?",
}
FULL, SOME, FEW = 2000, 400, 100
"""Repetitions after which a share is known to 0.5 %, to 1 %, and to 2 %."""

HEAD = """# How well every interval holds

A 95 % interval should hold the value it promises in 95 of 100 cases. We check that by simulation, for every metric, every error
model and every interval that a score offers: items with known truth are drawn, measured, scored, and the interval is compared with the
value that only the simulation knows. A *cell* is one interval of one metric under one error model at one number of labels.
`make test-coverage` adds repetitions to the table, `src/scorebars/data/coverage.csv`, until every cell has 2000; `sb.capabilities(answer)` shows it.

True values scatter by 2, true residuals by 1 and label errors by 0.3 to 0.9; class labels are wrong in 10 % of the cases, unless
said otherwise. A cell is *in range* where its 68 % interval holds 64 to 73 %, its 95 % interval 92 to 98 %, its 99 % interval at least 97 % of
the time, as far as its repetitions can tell; *short* where it holds less, *wide* where it holds more. Every cell that is short
or wide [is named below](#where-an-interval-is-known-to-hold-less-or-more), or a test fails.
"""

EXAMPLE = """One cell of the table, in small: how often the 95 % interval of the mean squared error against the truth held in 1000 test sets.

```python
>>> import numpy as np
>>> import scorebars as sb
>>> rng, held = np.random.default_rng(0), 0
>>> for _ in range(1000):
...     residual = rng.normal(0, 1, 40)
...     low, high = sb.mean_squared_error(residual + rng.normal(0, 0.6, 40), np.zeros(40), yerr=0.6).truth.interval(0.95)
...     held += low <= np.mean(residual**2) <= high
>>> print(f"{held / 1000:.0%}")
94%

```
"""


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def share(row: Row, column: str = "held95") -> float:
    return int(row[column]) / tried(row, column)


def pooled(rows: Sequence[Row], column: str) -> str:
    """The share of all repetitions of these cells."""
    count = sum(tried(row, column) for row in rows)
    return f"{sum(int(row[column]) for row in rows) / count:.1%}" if count else "-"


def trials(rows: Sequence[Row]) -> str:
    """On how much the table rests."""
    lines = []
    for n in sorted({int(row["n"]) for row in rows}):
        mine = [row for row in rows if int(row["n"]) == n]
        counts, models = [int(row["count"]) for row in mine], {row["model"] for row in mine}
        steps = [(FULL, 10**9), (SOME, FULL), (FEW, SOME), (0, FEW)]
        lines.append(
            [
                f"{n:,}",
                str(len(models)),
                f"{len(counts):,}",
                *(f"{sum(a <= c < b for c in counts):,}" for a, b in steps),
            ]
        )
    names = [f"{FULL} and more", f"{SOME} to {FULL}", f"{FEW} to {SOME}", f"fewer than {FEW}"]
    return table(["labels", "error models", "cells", *(f"with {name}" for name in names)], lines)


def in_short(
    rows: Sequence[Row], groups: Iterable[tuple[Sequence[str], Callable[[Row], bool]]], head: Sequence[str]
) -> str:
    """How cells of each group did: the share in range, all repetitions together, and the cell that held least."""
    lines = []
    for names, belongs in groups:
        mine = [row for row in rows if belongs(row)]
        if not mine:
            continue
        said = [verdict(row) for row in mine]
        worst = min((row for row in mine if int(row["count"]) >= FEW), key=share, default=None)
        name = "-"
        if worst is not None:
            name = f"{share(worst):.1%} of {worst['count']}: `{worst['metric']}`, {worst['model']}"
        held = [pooled(mine, column) for column in ("held68", "held95", "held99")]
        counts = [
            f"{len(mine):,}",
            f"{said.count('held') / len(mine):.0%}",
            str(said.count("short")),
            str(said.count("wide")),
        ]
        lines.append([*names, *counts, *held, name])
    return table([*head, "cells", "in range", "short", "wide", "68 %", "95 %", "99 %", "least at 95 %"], lines)


def by_answer(rows: Sequence[Row]) -> str:
    sizes = sorted({int(row["n"]) for row in rows})
    groups = [
        ((f"`{answer}`", f"{n:,}"), lambda row, answer=answer, n=n: row["answer"] == answer and int(row["n"]) == n)
        for answer in (*MEASURED, *DIFFERENCES)
        for n in sizes
    ]
    usual = [row for row in rows if row["model"] not in NOISE]
    return in_short(usual, groups, ["answer", "labels"])


def by_noise(rows: Sequence[Row]) -> str:
    """The same metrics and numbers of labels at every share of noise that was measured."""
    groups = []
    for family in ("Normal", "Flip"):
        others = [name for name in NOISE if name.startswith(family)]
        models = [others[0], family, *others[1:]]
        known = [{(r["metric"], r["answer"], r["n"]) for r in rows if r["model"] == name} for name in others]
        common = set.intersection(*known)
        for name in models:
            said = {"Normal": "Normal, errors of 0.6", "Flip": "Flip, 10% wrong"}.get(name, name)
            groups.append(
                (
                    (said,),
                    lambda r, name=name, common=common: (
                        r["model"] == name and (r["metric"], r["answer"], r["n"]) in common
                    ),
                )
            )
    return in_short([row for row in rows if row["answer"] in MEASURED], groups, ["label errors"])


def calibrations(rows: Sequence[Row]) -> str:
    found = {(r["metric"], r["model"], int(r["n"]), r["answer"]): r for r in rows if r["metric"] in FORECASTS}
    lines = [
        [metric.removeprefix("calibration of "), model, f"{n:,}", row_["count"], *cells]
        for metric, model, n in sorted({key[:3] for key in found})
        for row_ in [next(found[metric, model, n, a] for a in CALIBRATION if (metric, model, n, a) in found)]
        for cells in [[held_at_all_levels(found.get((metric, model, n, answer))) for answer in CALIBRATION]]
    ]
    return table(
        ["forecasts", "label errors", "labels", "repetitions", *(f"`{answer}`" for answer in CALIBRATION)], lines
    )


def held_at_all_levels(row: Row | None) -> str:
    if row is None:
        return "-"
    return " / ".join(f"{share(row, column):.1%}" for column in ("held68", "held95", "held99"))


def of_comparisons(answer: str, rows: Sequence[Row]) -> str:
    """How often the 95 % interval of a difference held, by metric and error model."""
    held = {(r["metric"], r["model"]): f"{share(r):.0%}" for r in rows if r["answer"] == answer and r["n"] == "40"}
    parts = []
    for task in ("regression", "forecast", "classification"):
        metrics = [name for name, one in declarations().items() if one.task == task and any(m == name for m, _ in held)]
        models = list(dict.fromkeys(e for m, e in held if m in metrics))
        parts.append(table(["metric", *models], [[m, *(held.get((m, e), "-") for e in models)] for m in metrics]))
    return "\n\n".join(parts)


def weak_cells(rows: Sequence[Row]) -> str:
    """The declared weak cells with what was measured."""
    lines = []
    for weak in declared():
        found = [row for row in rows if weak.covers(row)]
        held = sorted(share(row) for row in found)
        if held:
            lines.append([_names(weak), weak.verdict, f"{held[0]:.0%} to {held[-1]:.0%}", str(len(found)), weak.reason])
    return table(["what", "holds", "measured at 95 %", "cells", "why"], lines)


def _names(weak: Weak) -> str:
    metric, model = ("every metric" if weak.metric == "*" else f"`{weak.metric.replace(' | ', '`, `')}`"), weak.model
    where = "" if model == "*" else f" under {model.replace(' | ', ', ')}"
    few = "" if weak.largest_n >= 10**9 else f", up to {weak.largest_n} labels"
    return f"{weak.answer.replace(' | ', ', ')} of {metric}{where}{few}"


def main() -> None:
    rows = read()
    few = sum(int(row["count"]) < FEW for row in rows) / len(rows)
    parts = [
        HEAD,
        f"## In short\n\n{by_answer(rows)}\n\n68 %, 95 % and 99 %: how often intervals of that level held, all repetitions of these "
        "cells together; a single cell may hold more or less.\n",
        f"## On how many repetitions it rests\n\n{trials(rows)}\n\nA share is known to 0.5 % from 2000 repetitions, to 2 % from 100. "
        f"{few:.0%} of all cells rest on fewer than {FEW}, where only gross failures show. Those that looked short after few were measured "
        "again, most others were not. The 99 % intervals were looked at in the later repetitions alone.\n",
        EXAMPLE,
        "## Other shares of noise\n\nTrue residuals scatter by 1. For normal errors and flipped classes, the cells that were measured at "
        f"every share of noise:\n\n{by_noise(rows)}\n",
        "## Calibration\n\nForecasts whose true spread is 1.2 times as large as they claim, and which are biased: how often the "
        "68 / 95 / 99 % intervals of `calibration` held the true factor on the spread, the factor once the bias is taken out, and "
        f"the bias. An ensemble has ten members.\n\n{calibrations(rows)}\n",
        "## Each metric under each error model\n\nEach entry says how the answer is found and how often its 95 % interval held in test sets of "
        "40 labels (-: there is no such answer). `coverage.csv` has the other numbers of labels.\n",
    ]
    for answer in ANSWERS:
        parts.append(f"## `{answer}`\n\n{QUESTIONS[answer]}\n\n{sb.capabilities(answer).to_markdown()}")
    parts.append(
        "## Comparisons of two models\n\nHow often the 95 % intervals of `compare(...).difference(a, b)` held.\n"
    )
    for answer in DIFFERENCES:
        parts.append(f"### `{answer}`\n\n{QUESTIONS[answer]}\n\n{of_comparisons(answer, rows)}\n")
    weak = sum(verdict(row) != "held" for row in rows)
    parts.append(
        f"## Where an interval is known to hold less or more\n\n{weak} of {len(rows)} measured intervals. Short: it holds less than "
        "92 % (64 % at 68 %, 97 % at 99 %). Wide: it holds more than 98 % (73 % at 68 %). The reasons are our explanations; most were not "
        f"tested by experiments of their own.\n\n{weak_cells(rows)}\n"
    )
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
