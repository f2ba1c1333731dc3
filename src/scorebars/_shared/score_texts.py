"""The questions that a score answers, and the answers as records, sentences and a small table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from scorebars._shared.text import number, percent, rounded, with_error

if TYPE_CHECKING:
    from scorebars.score import Score


class Question(NamedTuple):
    """One question, as the page and notebooks ask it, with what to know about the answer."""

    name: str
    asks: str
    meaning: str
    """What the number means, for the page and ``scorebars explain``."""
    brief: str
    """The same in a few words, for tables and ``Score.explain``."""
    label: str
    """The same in fewer words, for figures; empty where no figure shows it."""


QUESTIONS = (
    Question(
        "observed",
        "What does the classical metric say?",
        "The labels are taken as exact.",
        "the classical metric, labels taken as exact",
        "labels taken as exact",
    ),
    Question(
        "expected",
        "What would it be if every label were redrawn from its error bar?",
        "The label values are taken as the true means, so an error that a label already carries counts a second time.",
        "its mean ± std when the labels move within their errors",
        "labels move within their errors",
    ),
    Question(
        "truth",
        "How far is the model from the true values behind the labels?",
        "The part that the label errors add is taken out again.",
        "the metric against the true values behind the labels",
        "against the true values",
    ),
    Question(
        "remeasured",
        "What will it be on labels measured afresh?",
        "The same items, each measured once more in the same way.",
        "the metric to expect on labels measured once more in the same way",
        "",
    ),
    Question(
        "perfect",
        "What would a perfect model score on these labels?",
        "The noise floor (or ceiling): a score beyond it is luck, overfitting, or overstated errors.",
        "what a perfect model would score on these labels",
        "a perfect model on these labels",
    ),
)


ANSWER_NAMES = tuple(question.name for question in QUESTIONS)


class Answer(NamedTuple):
    """One answer as numbers. `value` is None where it cannot be estimated, and `note` then says why."""

    value: float | None
    std: float = 0.0
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def text(self) -> str:
        return "not to be had" if self.value is None else with_error(self.value, self.std)

    @property
    def between(self) -> str:
        """The interval, to the digits that the error allows; empty where it has no width."""
        if self.low is None or self.high is None or self.low == self.high:
            return ""
        return f"{rounded(self.low, self.std)} to {rounded(self.high, self.std)}"

    def to_dict(self) -> dict[str, float | str | None]:
        """Numbers for drawing, None where a picture has no place for them, and texts for reading."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        drawn = {key: v if v is not None and math.isfinite(v) else None for key, v in numbers.items()}
        return {**drawn, "text": self.text, "between": self.between, "note": self.note}


def answers_of(
    score: Score, names: Iterable[str] = ANSWER_NAMES, level: float | None = None, repeats: int = 1
) -> dict[str, Answer]:
    """The answers of these names, each asked once; with their intervals where a `level` is given."""
    answers = {}
    for name in names:
        try:
            found = score.remeasured(repeats) if name == "remeasured" else getattr(score, name)
            if name == "observed":
                answers[name] = Answer(found)
                continue
            holder = score if name == "expected" else found
            low, high = (None, None) if level is None else holder.interval(level)
            answers[name] = Answer(float(found), holder.std, low, high, getattr(found, "note", ""))
        except ValueError as why:  # UndefinedEstimate is one
            answers[name] = Answer(None, note=str(why))
    return answers


def answer_records(score: Score, level: float) -> list[dict[str, float | str | None]]:
    """All answers as plain data, in the order of the questions."""
    answers = answers_of(score, level=level)
    plain = {"text": number(answers["observed"].value, 6)}  # it has no error of its own
    return [{**answer.to_dict(), **(plain if name == "observed" else {})} for name, answer in answers.items()]


def table_cells(score: Score, level: float) -> list[str]:
    """Observed, expected, interval, truth, perfect, noise share for a table; a dash for what cannot be estimated."""
    answers, share = answers_of(score, ("expected", "truth", "perfect")), noise_share(score)
    observed, std = score.observed, score.std
    try:
        low, high = score.interval(level)
        interval = f"{rounded(low, std)} to {rounded(high, std)}"
    except ValueError:
        interval = "-"
    expected, truth, perfect = ("-" if answer.value is None else answer.text for answer in answers.values())
    return [rounded(observed, std), expected, interval, truth, perfect, "-" if share is None else percent(share)]


def noise_share(score: Score) -> float | None:
    """How much of the observed error is label error; None where that cannot be estimated."""
    try:
        return score.noise_share
    except ValueError:
        return None


def flat(score: Score, level: float = 0.95) -> dict[str, float | int | str | None]:
    """All answers under flat names, plain floats, for loggers and JSON."""
    answers = answers_of(score, level=level)
    out: dict[str, float | int | str | None] = {"name": score.name, "n": score.n}
    out |= {name: getattr(score, name) for name in ("observed", "expected", "correction", "std")}
    out |= {"interval_low": answers["expected"].low, "interval_high": answers["expected"].high}
    for name in ANSWER_NAMES[2:]:
        value, std, low, high, _ = answers[name]
        out |= {name: value, f"{name}_std": None if value is None else std, f"{name}_low": low, f"{name}_high": high}
    try:
        sampling = score.sampling_std
    except ValueError:
        sampling = None
    return {**out, "noise_share": noise_share(score), "sampling_std": sampling, "method": score.method}


def for_trackers(score: Score, *names: str) -> dict[str, float]:
    """The finite numbers of `flat` as ``name/answer``, in the letters that experiment trackers allow."""
    prefix = "/".join(re.sub(r"[^\w\-. ]", "_", name, flags=re.ASCII) for name in names)
    numbers = {key: value for key, value in flat(score).items() if isinstance(value, float | int)}
    return {f"{prefix}/{key}": float(value) for key, value in numbers.items() if math.isfinite(value)}


def sentences(score: Score, warnings: list[str], repeats: int = 1) -> str:
    """The explanation of one score: question, answer, and what to beware of; labels are means of `repeats` repeats."""
    low, high = score.interval(0.95)
    answers, share = answers_of(score, ANSWER_NAMES[2:], None, repeats), noise_share(score)
    std, declared = score.std, score.declaration
    lines = [
        f"{declared.title} of {score.n} labels ({declared.direction}).",
        f"observed {rounded(score.observed, std)}: the classical metric, the labels taken as exact.",
        f"expected {with_error(float(score), std)}: the metric if every label were redrawn from its error bar, the label "
        f"values taken as the true means; 95 % of the time it falls between {rounded(low, std)} and {rounded(high, std)}.",
    ]
    same = "" if repeats == 1 else f", each the mean of {repeats} repeats"
    for question in QUESTIONS[2:]:
        found = answers[question.name]
        if found.value is None:
            lines.append(f"{question.name}: not to be had here. {found.note}")
            continue
        more = same if question.name == "remeasured" else ""
        note = f" ({found.note})" if found.note else ""
        lines.append(f"{question.name} {found.text}: {question.brief}{more}{note}.")
    if share is not None:
        lines.append(f"noise share {share:.3g}: how much of the observed error is label error.")
    lines += [f"Warning: {warning}" for warning in warnings]
    return "\n".join(lines)


def notebook(score: Score) -> str:
    """A small HTML table: each question with its answer."""
    answers = answers_of(score)
    rows = []
    for question in QUESTIONS:
        found = answers[question.name]
        shown = number(found.value, 6) if question.name == "observed" else found.text
        rows.append(f"<tr><td>{question.name}</td><td><b>{escape(shown)}</b></td><td>{escape(question.asks)}</td></tr>")
    head = f"<caption>{escape(score.declaration.title)}, n = {score.n}</caption>"
    return f'<table class="scorebars">{head}<tbody>{"".join(rows)}</tbody></table>'
