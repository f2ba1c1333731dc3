"""How wrong labels move items between the cells of a confusion matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import scorebars as sb
from scorebars._shared.escaping import figure_text
from scorebars.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

_FEW = 4
"""Up to this many classes a cell has room for both counts."""

_BINARY = (("TN", "FP"), ("FN", "TP"))


class Flow(NamedTuple):
    """Items expected to move from one row of a column to another."""

    source: int
    target: int
    column: int
    amount: float


def flip_flow(
    y_true: Any, y_pred: Any, yerr: Any = None, *, sample_weight: Any = None, most: int = 12, ax: Any = None
) -> Axes:
    """Where do wrong labels move the items of a confusion matrix?

    A prediction stays, so a label that flips moves its item up or down a column: a true positive becomes a false
    positive, a false negative a true negative, and so on for any number of classes. Each cell holds the observed count
    and what it becomes on average when labels flip; arrows hold how many items move, the wider the more.

    Parameters
    ----------
    y_true, y_pred, sample_weight : as in `confusion_matrix`
    yerr : number, (n,) or error model of class labels
        Probability that a label is wrong, or a model.
    most : whole number
        How many arrows are drawn, the largest ones.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The confusion matrix, with arrows for the items that move.

    Examples
    --------
    >>> ax = sb.plot.flip_flow([1] * 40 + [0] * 60, [1] * 30 + [0] * 60 + [1] * 10, yerr=0.05)
    >>> ax.texts[0].get_text().splitlines()
    ['TN', '50 → 48.0 ± 1.7']
    """
    if not (isinstance(most, int) and most >= 0):
        raise ValueError(f"most must be a whole number of at least 0, got {most!r}.")
    if yerr is None:
        raise ValueError(
            "yerr is missing: without wrong labels nothing moves. Give the probability that a label is wrong."
        )
    if isinstance(yerr, sb.Verified):
        raise ValueError(yerr.only_metrics)
    matrix = sb.confusion_matrix(y_true, y_pred, yerr=yerr, sample_weight=sample_weight)
    moved = flows(matrix, y_true, y_pred, yerr, sample_weight)
    shown = moved[:most]
    size = len(matrix.classes)
    ax = canvas.axes_of(ax, rows=2 * size)
    _cells(ax, matrix)
    entries = _arrows(ax, shown, size)
    ax.set_xticks(range(size), labels=list(map(figure_text, matrix.classes)))
    ax.set_yticks(range(size), labels=list(map(figure_text, matrix.classes)))
    ax.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), xlabel="predicted class", ylabel="label")
    ax.set_aspect("equal", adjustable="box")
    ax.tick_params(length=0)
    total, drawn = sum(flow.amount for flow in moved), sum(flow.amount for flow in shown)
    title = f"on average {total:.3g} of {matrix.expected.sum():.6g} items move"
    if len(shown) < len(moved):
        title += f"; {drawn / total:.0%} of the moves are drawn"
    if shown and size > 2:
        title += f"\nwidest arrow: {shown[0].amount:.2g}"
    ax.set_title(title, fontsize="medium")
    if entries:
        ax.legend(handles=entries, loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False)
    return ax


def flows(matrix: Any, y_true: Any, y_pred: Any, yerr: Any, sample_weight: Any) -> list[Flow]:
    """Expected moves between cells, largest first: the items that show one class, followed on their own."""
    classes = matrix.classes
    shown = np.asarray(yerr.labels() if y_true is None else y_true).ravel()
    weight = (
        np.ones(len(shown))
        if sample_weight is None
        else np.broadcast_to(np.asarray(sample_weight, float).ravel(), shown.shape)
    )
    found = []
    for source, name in enumerate(classes):
        own = weight * (shown == name)
        if not own.any():
            continue
        after = sb.confusion_matrix(y_true, y_pred, yerr=yerr, labels=classes, sample_weight=own).expected
        found += [
            Flow(source, int(target), int(column), float(after[target, column]))
            for target, column in np.argwhere(after > 0)
            if target != source
        ]
    return sorted(found, key=lambda flow: -flow.amount)


def _cells(ax: Axes, matrix: Any) -> None:
    """Counts before and after; with many classes only those before, which is all that fits."""
    from matplotlib.patches import Rectangle

    size = len(matrix.classes)
    for row, column in np.ndindex(size, size):
        ground = ("C0", 0.15) if row == column else ("0.5", 0.06)
        ax.add_patch(
            Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=ground, edgecolor="0.7", linewidth=0.8, zorder=0)
        )
        before = f"{matrix.observed[row, column]:.6g}"
        after = f"{matrix.expected[row, column]:.1f} ± {matrix.std[row, column]:.1f}"
        if size == 2:
            text, x = f"{_BINARY[row][column]}\n{before} → {after}", float(column)
        elif size <= _FEW:
            text, x = f"{before}\n→ {after}".replace(" ±", "\n±"), column - 0.25
        else:
            text, x = before if before != "0" else "", column - 0.25
        ax.text(x, row, text, ha="center", va="center", fontsize="medium" if size == 2 else "small", zorder=4)


def _arrows(ax: Axes, shown: list[Flow], size: int) -> list[Patch]:
    """Arrows within a column, side by side; returns an entry of the legend for each look."""
    from matplotlib.patches import FancyArrowPatch, Patch

    largest = max((flow.amount for flow in shown), default=1.0)
    entries: dict[str, Patch] = {}
    for flow in shown:
        look, meaning = _look(flow, ax.get_facecolor())
        down = flow.target > flow.source
        if size == 2:  # to both sides of the counts
            side, gap = 0.32 if down else -0.32, 0.2
        else:
            others = [other for other in shown if other.column == flow.column]
            side, gap = 0.02 + 0.44 * (others.index(flow) + 0.5) / len(others), 0.3
        step = gap if down else -gap
        width = (2 + 8 * flow.amount / largest) / (1 if size == 2 else 2)
        ax.add_patch(
            FancyArrowPatch(
                (flow.column + side, flow.source + step),
                (flow.column + side, flow.target - step),
                arrowstyle=f"simple,tail_width={width},head_width={1.4 * width + 4},head_length={width + 3}",
                shrinkA=0,
                shrinkB=0,
                zorder=3,
                **look,
            )
        )
        entries.setdefault(meaning, Patch(label=meaning, **look))
        if size == 2:
            ax.text(flow.column + 0.55 * side, 0.5, f"{flow.amount:.1f}", ha="center", va="center", zorder=5)
    return list(entries.values())


def _look(flow: Flow, ground: Any) -> tuple[dict[str, Any], str]:
    """Full, hollow and hatched arrows, so that they differ without colours."""
    if flow.source == flow.column:
        return {"facecolor": "C1", "edgecolor": "C1"}, "the model was right, the flipped label says wrong"
    if flow.target == flow.column:
        return {"facecolor": ground, "edgecolor": "C0"}, "the model was wrong, the flipped label says right"
    return {"facecolor": ground, "edgecolor": "0.5", "hatch": "////"}, "wrong before and after"
