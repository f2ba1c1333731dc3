"""Is the best model really the best? Where the answer is exact and quick, the page gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import scorebars as sb

# On the same labels these order models alike, so one law of a difference serves each row.
_ALIKE = {
    "mean_squared_error": "mean_squared_error",
    "root_mean_squared_error": "mean_squared_error",
    "r2_score": "mean_squared_error",
    "accuracy_score": "accuracy_score",
    "zero_one_loss": "accuracy_score",
}


def distance(score: sb.Score) -> float:
    """How far the observed score is from that of a perfect model on exact labels: smaller is better, whatever the metric."""
    return abs(score.observed - score.declaration.perfect)


def contest_data(
    name: str, scores: Mapping[str, sb.Score], y_true: Any, predictions: Mapping[str, Any], yerr: Any, weight: Any
) -> dict[str, Any] | None:
    """The model that leads, and the probability that it is really better than each other one; None if not to be had.

    `labels`: when the labels of these items move within their errors; `items`: when the items are a sample too.
    """
    if name not in _ALIKE or len(scores) < 2:
        return None
    leader = min(scores, key=lambda model: distance(scores[model]))
    chances = {}
    for key, sampling in (("labels", False), ("items", True)):
        comparison = sb.compare(
            y_true, predictions, yerr=yerr, metric=_ALIKE[name], sample_weight=weight, sampling=sampling
        )
        chances[key] = [
            None if model == leader else round(comparison.probability(leader, model), 4) for model in scores
        ]
    return {"leader": list(scores).index(leader), **chances}
