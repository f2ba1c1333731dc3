"""Small figures as shapes that a template draws: the curve of a plan, and differences between models with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

_WIDE, _HIGH = 640.0, 260.0
_LEFT, _RIGHT, _TOP, _BELOW = 56.0, 16.0, 14.0, 44.0
_ROW = 34.0


def round_steps(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between low and high, about so many.

    >>> round_steps(0.0, 1.0), round_steps(3, 17, 3)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [5.0, 10.0, 15.0])
    """
    if not high > low:
        return [low]
    rough = (high - low) / count
    size = 10.0 ** math.floor(math.log10(rough))
    step = min((size * k for k in (1, 2, 5, 10)), key=lambda one: abs(one - rough))
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, math.floor(high / step + 1e-9) + 1)]


def of_plan(curve: Mapping[str, Any]) -> dict[str, Any]:
    """Power or standard error over the number of labels."""
    x, lines = curve["x"], curve["lines"]
    highest = 1.0 if curve["name"] == "power" else 1.05 * max(max(line["y"]) for line in lines)
    right, bottom = _WIDE - _RIGHT, _HIGH - _BELOW

    def across(value: float) -> float:
        return round(_LEFT + (right - _LEFT) * value / x[-1], 2)

    def up(value: float) -> float:
        return round(bottom - (bottom - _TOP) * min(max(value / highest, 0.0), 1.0), 2)

    drawn = []
    for line in lines:
        points = " ".join(f"{across(a)},{up(b)}" for a, b in zip(x, line["y"], strict=True))
        drawn.append({"points": points, "repeats": line["repeats"], "best": line["repeats"] == curve["repeats"]})
    at = min(range(len(x)), key=lambda k: abs(x[k] - curve["at"]))
    best = next(line for line in lines if line["repeats"] == curve["repeats"])
    return {
        "wide": _WIDE,
        "high": _HIGH,
        "left": _LEFT,
        "right": right,
        "bottom": bottom,
        "lines": drawn,
        "below": [{"x": across(value), "text": f"{value:g}"} for value in round_steps(0, x[-1], 6)],
        "beside": [{"y": up(value), "text": f"{value:g}"} for value in round_steps(0, highest)],
        "mark": {"x": across(curve["at"]), "y": up(best["y"][at])},
        "name": curve["name"],
        "labels": curve["at"],
    }


def differences(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Each model's difference from the reference, on one scale around zero."""
    moved = [row for row in rows if row.get("difference") is not None and _finite(row, "low", "high", "difference")]
    if not moved:
        return None
    low = min(0.0, *(row["low"] for row in moved))
    high = max(0.0, *(row["high"] for row in moved))
    room = (high - low) * 0.04 or 1.0
    low, high = low - room, high + room

    def across(value: float) -> float:
        return round(8 + (_WIDE - 16) * (value - low) / (high - low), 2)

    lines = [
        {
            "model": row["model"],
            "from": across(row["low"]),
            "to": across(row["high"]),
            "at": across(row["difference"]),
            "verdict": row["verdict"],
            "y": _ROW * k + 28,
        }
        for k, row in enumerate(moved)
    ]
    return {
        "wide": _WIDE,
        "high": _ROW * len(lines) + 34,
        "lines": lines,
        "zero": across(0.0),
        "below": [{"x": across(value), "text": f"{value:g}".replace("-", "−")} for value in round_steps(low, high)],
    }


def _finite(row: Mapping[str, Any], *names: str) -> bool:
    return all(isinstance(row[name], float | int) and math.isfinite(row[name]) for name in names)
