"""The probability of every rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import scorebars as sb
from scorebars.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WRITTEN_UP_TO = 12
"""With more models, cells are too small for numbers and the colour alone is read off the bar."""


def ranking(comparison: sb.Comparison | sb.Ranking, *, ax: Any = None) -> Axes:
    """Which rank does each model have, and how surely?

    Rows are models by expected rank, columns are ranks, and a cell is the probability in per cent that the model has that
    rank when the labels move within their errors (and the items, where the comparison was made with ``sampling=True``).

    Parameters
    ----------
    comparison : Comparison or Ranking
        What `compare` returns, or its `ranking()`.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import scorebars as sb
    >>> counties = sb.datasets.load_acs_poverty()
    >>> ax = sb.plot.ranking(sb.compare(counties.y, counties.predictions, yerr=counties.yerr))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['acs5_2018', 'rf', 'ridge']
    >>> plt.close(ax.figure)
    """
    canvas.need(
        comparison,
        (sb.Comparison, sb.Ranking),
        "ranking draws a Comparison or a Ranking",
        "Pass what sb.compare(...) returns.",
    )
    found = comparison.ranking() if isinstance(comparison, sb.Comparison) else comparison
    names = found.order()
    table = np.array([found.probabilities[name] for name in names])
    ax = canvas.axes_of(ax, rows=len(names))
    image = ax.imshow(100 * table, vmin=0, vmax=100, aspect="auto")
    figure = ax.get_figure()
    assert figure is not None
    figure.colorbar(image, ax=ax, label="probability (%)")
    if len(names) <= _WRITTEN_UP_TO:
        for row, column in np.ndindex(table.shape):
            if table[row, column] >= 0.005:
                ground = image.cmap(image.norm(100 * table[row, column]))
                ax.text(column, row, f"{100 * table[row, column]:.0f}", ha="center", va="center", color=_ink(ground))
    ax.set_yticks(range(len(names)), labels=names)
    step = 1 if len(names) <= 20 else 5
    ranks = [1, *range(step, len(names) + 1, step)] if step > 1 else list(range(1, len(names) + 1))
    ax.set_xticks([rank - 1 for rank in ranks], labels=[str(rank) for rank in ranks])
    moves = ""
    if isinstance(comparison, sb.Comparison):
        vary = "labels and items vary" if comparison.sampling else "labels vary within their errors"
        moves = f"\n{comparison.metric.replace('_', ' ')}: {vary}"
    ax.set_xlabel(f"rank (1: best){moves}")
    return ax


def _ink(ground: tuple[float, ...]) -> str:
    """Black on light, white on dark."""
    return "black" if float(np.dot(ground[:3], (0.299, 0.587, 0.114))) > 0.5 else "white"
