"""What all figures share: the axes to draw in, and names with their units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scorebars as sb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 1.9
"""Height of a row of text, in units of the font size."""

DASHES = ("-", "--", "-.", ":")
"""Line styles for curves of one kind, so that they differ in print without colours."""


def axes_of(ax: Any, rows: int = 0) -> Axes:
    """The axes to draw in; without any, new ones, high enough for this many rows of text."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes
    except ImportError as why:
        raise ImportError("scorebars.plot needs matplotlib: pip install 'scorebars[plot]'") from why
    if ax is None:
        width, height = plt.rcParams["figure.figsize"]
        needed = (rows + 4) * _LINE * plt.rcParams["font.size"] / 72 if rows else 0.0
        return plt.subplots(figsize=(width, max(height, needed)), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(
            f"ax must be the matplotlib Axes to draw in, got {type(ax).__name__}. Pass one of the subplots."
        )
    return ax


def power_of(unit: Any, degree: int | None) -> str:
    """The unit of a metric that grows with the degree-th power of the labels.

    >>> power_of("MeV", 2), power_of("km / s", 2), power_of("MeV", 0), power_of(None, 1)
    ('MeV²', '(km / s)²', '', '')
    """
    if unit is None or not degree:
        return ""
    text = str(unit)
    if degree == 1:
        return text
    base = text if text.isalnum() else f"({text})"
    return base + ("²" if degree == 2 else f"^{degree}")


def score_unit(score: sb.Score, unit: Any) -> str:
    """The unit of a score: its own where its labels brought one, else from `unit`, that of the labels."""
    return power_of(unit, score.declaration.degree) if score.unit is None else str(score.unit)


def with_unit(name: str, unit: str) -> str:
    """An axis label.

    >>> with_unit("measured", "MeV"), with_unit("accuracy", "")
    ('measured (MeV)', 'accuracy')
    """
    return f"{name} ({unit})" if unit else name


def chance(probability: float) -> str:
    """A probability in three digits that never rounds to certainty.

    >>> chance(0.7364), chance(0.99999), chance(1e-9)
    ('0.736', '>0.999', '<0.001')
    """
    return "<0.001" if probability < 0.001 else ">0.999" if probability > 0.999 else f"{probability:.3f}"


def need(value: Any, kind: type | tuple[type, ...], what: str, hint: str) -> None:
    """Refuse an object that this figure does not draw."""
    if not isinstance(value, kind):
        raise TypeError(f"{what}, got {type(value).__name__}. {hint}")
