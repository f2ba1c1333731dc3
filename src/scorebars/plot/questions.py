"""The questions that a score answers, each with one look in all figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Question:
    """How an answer is drawn, and what it means."""

    name: str
    meaning: str
    color: str
    marker: str
    line: str

    @property
    def label(self) -> str:
        """The entry of a legend."""
        return f"{self.name}: {self.meaning}"

    def of(self, score: sb.Score) -> float:
        """The answer of this score; NaN, which matplotlib leaves out, where it cannot be had."""
        try:
            return float(getattr(score, self.name))
        except sb.UndefinedEstimate:
            return float("nan")


OBSERVED = Question("observed", "labels taken as exact", "C0", "o", "-")
EXPECTED = Question("expected", "labels move within their errors", "C1", "s", "--")
TRUTH = Question("truth", "against the true values", "C2", "D", "-.")
PERFECT = Question("perfect", "a perfect model on these labels", "C3", "^", ":")
QUESTIONS = (EXPECTED, OBSERVED, TRUTH, PERFECT)


def curves(ax: Axes, x: NDArray[np.float64], scores: Sequence[sb.Score], level: float) -> None:
    """The answers of a series of scores as lines, with the band in which the metric falls when the labels move.

    No curve leaves the range of the metric, and the legend has room of its own: above losses, which grow with the label
    errors, and below scores, which fall.
    """
    ends = np.array([score.interval(level) for score in scores])
    for question in QUESTIONS:
        line = ax.plot(
            x,
            [question.of(score) for score in scores],
            color=question.color,
            linestyle=question.line,
            label=question.label,
        )
        if question is EXPECTED:
            ax.fill_between(
                x,
                ends[:, 0],
                ends[:, 1],
                color=line[0].get_color(),
                alpha=0.25,
                linewidth=0,
                label=f"… {level:.0%} of the time in this band",
            )
    declared = scores[0].declaration
    low, high = ax.get_ylim()
    high = min(high, declared.high + 0.03 * (declared.high - low))
    if declared.greater_is_better:
        ax.set_ylim(low - 0.5 * (high - low), high)
        ax.legend(loc="lower left")
    else:
        ax.set_ylim(low, high + 0.2 * (high - low))
        ax.legend(loc="upper left")
    ax.margins(x=0)


def estimate(score: sb.Score, question: Question) -> Any:
    """The answer with its error (`std`), or None where it cannot be had."""
    try:
        return score if question is EXPECTED else getattr(score, question.name)
    except sb.UndefinedEstimate:
        return None
