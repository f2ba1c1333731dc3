"""Write docs/evidence/coverage.md: what every metric answers under every error model, how, and how well it holds.

python tests/statistical/page.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from experiment import DIFFERENCES
from judgement import Weak, declared, verdict
from measure import read

import scorebars as sb
from scorebars.studies.capabilities import ANSWERS

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "coverage.md"
QUESTIONS = {
    "interval": "Where does the metric fall if every label is redrawn from its error bar?",
    "total_interval": "Where does the classical metric fall on a new test set of this size, measured in the same way?",
    "truth": "What is the metric of these items against their true values?",
    "truth.total_interval": "What is it over the population that the items were drawn from?",
    "remeasured": "Where does the classical metric fall if the same items are measured once more in the same way?",
    "perfect": "What does a perfect model score on these labels?",
}
HEAD = """# How well every interval holds

A 95 % interval should hold the value it promises in 95 of 100 cases. We check that by simulation, for every metric, every error
model and every interval that a score offers: items with known truth are drawn, measured, scored, and the interval is compared with the
value that only the simulation knows. `make test-coverage` measures the table again; `sb.capabilities(answer)` shows it.

Each entry says how the answer is found and how often its 95 % interval held in test sets of 40 labels (-: there is no such answer).
The same was measured for 150 labels, `src/scorebars/data/coverage.csv` has all of it; what is weak at either size stands at the end.
True values scatter by 2, true residuals by 1 and label errors by 0.3 to 0.9; class labels are wrong in 10 % of the cases. With 400
repetitions a share is known to about 1 %, with 20 (slow metrics) to about 5 %.

How to read it: of the cells, FEW rest on fewer than 100 repetitions, where only gross failures show. Cells that looked short
at first were measured again with more repetitions, most others were not. The reasons at the end are our explanations; most were
not tested by experiments of their own.

One cell of the table, in small: how often the 95 % interval of the mean squared error against the truth held in 1000 test sets.

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


DIFFERENCE = (
    "How often the 95 % intervals of `compare(...).difference(a, b)` held: where the observed difference falls on a new test "
    "set, the difference against the truth for these items, and over the population (20 to 100 repetitions)."
)


def differences() -> str:
    """What was measured of comparisons."""
    rows = [row for row in read() if row["answer"] in DIFFERENCES]
    held = {(row["metric"], row["model"], row["answer"]): f"{float(row['held95']):.0%}" for row in rows}
    names = dict.fromkeys((row["metric"], row["model"]) for row in rows)
    lines = [
        f"| {m} | {e} | " + " | ".join(held.get((m, e, answer), "-") for answer in DIFFERENCES) + " |" for m, e in names
    ]
    return "\n".join(["| metric | model | " + " | ".join(DIFFERENCES) + " |", "|---|---|---|---|---|", *lines])


def weak_cells() -> str:
    """The declared weak cells with what was measured."""
    rows, lines = read(), []
    for weak in declared():
        found = [row for row in rows if weak.covers(row)]
        held = sorted(float(row["held95"]) for row in found)
        if held:
            lines.append(f"| {_names(weak)} | {weak.verdict} | {held[0]:.0%} to {held[-1]:.0%} | {weak.reason} |")
    return "\n".join(["| what | holds | measured at 95 % | why |", "|---|---|---|---|", *lines])


def _names(weak: Weak) -> str:
    metric, model = ("every metric" if weak.metric == "*" else f"`{weak.metric.replace(' | ', '`, `')}`"), weak.model
    where = "" if model == "*" else f" under {model.replace(' | ', ', ')}"
    few = "" if weak.largest_n >= 10**9 else f", up to {weak.largest_n} labels"
    return f"{weak.answer.replace(' | ', ', ')} of {metric}{where}{few}"


TENTHS = ("hardly any", "one tenth", "one fifth", "three tenths", "two fifths", "half", "three fifths", "most")


def main() -> None:
    few = [float(row["count"]) < 100 for row in read()]
    parts = [HEAD.replace("FEW", TENTHS[min(round(10 * sum(few) / len(few)), len(TENTHS) - 1)])]
    for answer in ANSWERS:
        parts.append(f"## `{answer}`\n\n{QUESTIONS[answer]}\n\n{sb.capabilities(answer).to_markdown()}")
    parts.append(f"## Comparisons of two models\n\n{DIFFERENCE}\n\n{differences()}\n")
    short = sum(verdict(row) != "held" for row in read())
    parts.append(
        f"## Where an interval is known to hold less or more\n\n{short} of {len(read())} measured intervals. Short: it holds "
        f"less than 92 % (or 64 % at 68 %). Wide: it holds more than 98 % (or 73 %).\n\n{weak_cells()}\n"
    )
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
