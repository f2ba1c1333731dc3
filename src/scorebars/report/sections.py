"""What the sections of the page show, as plain data: scores, models side by side, confusion matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import scorebars as sb
from scorebars._shared.curves import law_curve
from scorebars._shared.score_texts import answer_records, noise_share
from scorebars._shared.text import percent, shortened

_MOST_CLASSES = 24
_LONGEST_CLASS = 40
# On the same labels these order models alike, so that one comparison serves them.
_ALIKE = {
    "mean_squared_error": "mean_squared_error",
    "root_mean_squared_error": "mean_squared_error",
    "r2_score": "mean_squared_error",
    "accuracy_score": "accuracy_score",
    "zero_one_loss": "accuracy_score",
}


def score_data(score: sb.Score, level: float) -> dict[str, Any]:
    """One score: texts for reading, numbers for drawing (None where there is none)."""
    share = noise_share(score)
    sentences = score.explain().splitlines()
    return {
        "answers": answer_records(score, level),
        "law": _law_data(score),
        "method": score.method,
        "explained": [line for line in sentences if not line.startswith("Warning: ")],
        "warnings": [line.removeprefix("Warning: ") for line in sentences if line.startswith("Warning: ")],
        "noise": "" if share is None else percent(share),
    }


def _law_data(score: sb.Score) -> dict[str, Any] | None:
    """The curve of the metric's distribution; None where the metric does not move."""
    law, std, middle = score.distribution, score.std, float(score)
    if std == 0:
        return None
    if math.isfinite(std) and math.isfinite(middle):
        low, high = middle - 4.5 * std, middle + 4.5 * std
    else:  # no moments: quantiles always exist
        low, high = np.asarray(law.ppf(np.array([0.01, 0.99])), dtype=float)
    low, high = max(low, law.support[0]), min(high, law.support[1])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return None
    curve = law_curve(law, low, high, score.n)
    top = float(curve.height.max())
    if not (math.isfinite(top) and top > 0):
        return None
    heights = [round(float(height) / top, 4) for height in curve.height]
    return {"low": float(curve.x[0]), "high": float(curve.x[-1]), "bars": curve.binned, "height": heights}


def distance_from_perfect(score: sb.Score) -> float:
    """How far the observed score is from that of a perfect model on exact labels: smaller is better, whatever the metric."""
    return abs(score.observed - score.declaration.perfect)


def contest_data(
    scores: Mapping[str, Mapping[str, sb.Score]], compare: Callable[..., sb.Comparison]
) -> list[dict[str, Any] | None]:
    """For each metric the model that leads, and the probability that it is really better than each other one.

    `labels`: every label redrawn from its error bar; `items`: the items are a sample too. None for metrics whose
    comparison is not exact and quick. `scores` maps metric to model to score.
    """
    compared = {
        (metric, sampling): compare(metric=metric, sampling=sampling)
        for metric in {_ALIKE[name] for name in scores if name in _ALIKE}
        for sampling in (False, True)
        if len(next(iter(scores.values()))) > 1
    }
    found: list[dict[str, Any] | None] = []
    for name, of in scores.items():
        if (_ALIKE.get(name, ""), True) not in compared:
            found.append(None)
            continue
        leader = min(of, key=lambda model: distance_from_perfect(of[model]))
        chances = {
            key: [
                None if model == leader else round(compared[_ALIKE[name], sampling].probability(leader, model), 4)
                for model in of
            ]
            for key, sampling in (("labels", False), ("items", True))
        }
        found.append({"leader": list(of).index(leader), **chances})
    return found


def matrix_data(y_true: Any, labels: Any, predictions: Mapping[str, Any], options: Any) -> dict[str, Any] | None:
    """The confusion matrix of each model; None where the predictions are no classes (probabilities, decision values)."""
    if not all(_are_classes(p, labels) for p in predictions.values()):
        return None
    classes, counts = np.unique(np.concatenate([labels, *predictions.values()]), return_counts=True)
    shown = np.sort(classes[np.argsort(-counts, kind="stable")[:_MOST_CLASSES]])
    return {
        "classes": [shortened(str(name), _LONGEST_CLASS) for name in shown.tolist()],
        "all": len(classes),
        "models": [_cells(sb.confusion_matrix(y_true, p, **options), shown) for p in predictions.values()],
    }


def _are_classes(prediction: Any, classes: Any) -> bool:
    values = np.asarray(prediction)
    return values.ndim == 1 and (values.dtype.kind not in "f" or bool(np.isin(values, classes).all()))


def _cells(matrix: Any, shown: Any) -> dict[str, Any]:
    # a class that this model never meets has an empty row and column
    at = np.searchsorted(matrix.classes, shown).clip(max=len(matrix.classes) - 1)
    met = matrix.classes[at] == shown

    def short(cells: Any) -> list[list[float]]:
        picked = np.where(np.outer(met, met), np.asarray(cells, dtype=float)[np.ix_(at, at)], 0.0)
        return [[float(f"{value:.5g}") for value in row] for row in picked.tolist()]

    cells = {
        "observed": {"value": short(matrix.observed), "std": None},
        "expected": {"value": short(matrix.expected), "std": short(matrix.std)},
    }
    try:
        truth = matrix.truth
    except ValueError:  # the transition is not known: there is no matrix of true classes
        return cells
    return {**cells, "truth": {"value": short(truth.value), "std": short(truth.std)}}


def check_data(check: sb.ErrorCheck) -> dict[str, Any]:
    """Are the label errors believable, seen from one model?"""
    lines = str(check).splitlines()[1:]
    return {"lines": [line for line in lines if not line.startswith("Warning: ")], "warnings": list(check.warnings)}
