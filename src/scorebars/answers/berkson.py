"""Berkson error: the error model says how the truth scatters about the label, so the truth has the law of the score."""

from __future__ import annotations

from collections.abc import Callable

from scorebars.answers.intervals import OfLaw
from scorebars.score import Answers, Estimate, Interval

REMEASURED = (
    "under Berkson error (truth = label + error) the error model says how the truth scatters about the label, "
    "not how a new measurement scatters about the truth: remeasured is not determined."
)
TRUTH = "Berkson error: the truth scatters about the label, so this is the expected score"


def truth(score: Answers, total_interval: Callable[[float], Interval] | None) -> Estimate:
    """The score against the truth: the expected score."""
    law = score.law()
    return Estimate(
        score.expected,
        score.std,
        method=law.method,
        note=TRUTH,
        interval=OfLaw(law, score.expected),
        total_interval=total_interval,
    )
