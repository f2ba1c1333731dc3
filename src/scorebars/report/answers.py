"""What the page says of one score: the answers to the five questions, the law, the sentences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import scorebars as sb

# name, question, what the number means
QUESTIONS = (
    ("observed", "What does the classical metric say?", "The labels are taken as exact."),
    (
        "expected",
        "What does it become when the labels move within their errors?",
        "The label values are taken as the true means, so an error that a label already carries counts a second time.",
    ),
    (
        "truth",
        "How far is the model from the true values behind the labels?",
        "The part that the label errors add is taken out again.",
    ),
    (
        "remeasured",
        "What will it be on labels measured afresh?",
        "The same items, each measured once more in the same way.",
    ),
    (
        "perfect",
        "What would a perfect model score on these labels?",
        "The noise floor (or ceiling): a score beyond it is luck, overfitting, or overstated errors.",
    ),
)

_KNOTS = 25
_BINS = 48


def describe(score: sb.Score, level: float) -> dict[str, Any]:
    """One score as plain data: texts for reading, numbers for drawing (None where there is none)."""
    sentences = score.explain().splitlines()
    return {
        "answers": [_answer(score, name, level) for name, _, _ in QUESTIONS],
        "law": law_curve(score),
        "method": score.method,
        "explained": [line for line in sentences if not line.startswith("Warning: ")],
        "warnings": [line.removeprefix("Warning: ") for line in sentences if line.startswith("Warning: ")],
        "noise": _share(score),
    }


def _answer(score: sb.Score, name: str, level: float) -> dict[str, Any]:
    """Value, ends of its interval, and how both are written."""
    try:
        if name == "observed":
            return _entry(score.observed, None, f"{score.observed:.6g}", "")
        if name == "expected":
            ends = score.interval(level)
            return _entry(float(score), ends, str(score), _between(ends, score.std))
        estimate = score.remeasured() if name == "remeasured" else getattr(score, name)
        ends = estimate.interval(level)
    except ValueError as why:  # UndefinedEstimate is one
        return {**_entry(None, None, "not to be had", ""), "note": str(why)}
    return {**_entry(float(estimate), ends, str(estimate), _between(ends, estimate.std)), "note": estimate.note}


def _entry(value: float | None, ends: Any, text: str, between: str) -> dict[str, Any]:
    low, high = ends or (None, None)
    return {
        "value": finite(value),
        "low": finite(low),
        "high": finite(high),
        "text": text,
        "between": between,
        "note": "",
    }


def _between(ends: Any, std: float) -> str:
    """The interval, to the digits that the error allows; nothing where there is no width."""
    low, high = ends
    if low == high:
        return ""
    places = 1 - math.floor(math.log10(std)) if 0 < std < math.inf else None
    if places is None or not 0 <= places <= 12 or max(abs(low), abs(high)) >= 1e7:
        return f"{low:.4g} to {high:.4g}"
    return f"{low:.{places}f} to {high:.{places}f}"


def finite(value: float | None) -> float | None:
    """The number, or None where a picture has no place for it."""
    return float(value) if value is not None and math.isfinite(value) else None


def _share(score: sb.Score) -> str:
    try:
        share = 100 * score.noise_share
    except ValueError:
        return ""
    return f"{share:.1f} %" if share < 1000 else "> 999 %"


def law_curve(score: sb.Score) -> dict[str, Any] | None:
    """The law of the metric for drawing: density on an even grid, or probabilities of even bins where it is discrete."""
    law = score.distribution
    if score.std == 0:
        return None
    if math.isfinite(score.std) and math.isfinite(float(score)):
        low, high = float(score) - 4.5 * score.std, float(score) + 4.5 * score.std
    else:  # no moments: quantiles always exist
        low, high = (float(law.ppf(q)) for q in (0.01, 0.99))
    low, high = max(low, law.support[0]), min(high, law.support[1])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return None
    if law.discrete:
        # bins hold equally many multiples of 1/n, the values that shares of n labels take: else the bars would alias
        step = max(1, round((high - low) * score.n / _BINS)) / score.n
        low, high = (np.floor(low * score.n) - 0.5) / score.n, high + step
        height = np.diff(np.asarray(law.cdf(np.arange(low, high, step)), dtype=float))
        high = low + step * len(height)
    else:
        from scipy.interpolate import CubicSpline  # not before it is needed: it loads half of SciPy

        knots = np.linspace(low, high, _KNOTS)
        spline = CubicSpline(knots, np.asarray(law.cdf(knots), dtype=float))
        height = np.maximum(spline(np.linspace(low, high, 4 * _KNOTS - 3), 1), 0.0)
    top = float(height.max())
    if not (math.isfinite(top) and top > 0):
        return None
    return {"low": low, "high": high, "bars": bool(law.discrete), "height": [round(float(h) / top, 4) for h in height]}
