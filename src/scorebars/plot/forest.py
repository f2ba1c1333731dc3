"""Differences between models, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import scorebars as sb
from scorebars.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOK = {
    "better": ("C0", "o", "full"),
    "worse": ("C1", "s", "full"),
    "equivalent": ("C2", "D", "full"),
    "cannot tell": ("0.5", "o", "none"),
}


def forest(comparison: sb.Comparison, *, reference: str | None = None, unit: str | None = None, ax: Any = None) -> Axes:
    """Which models differ from a reference model, by how much, and how surely?

    A row for each other model: metric(model) - metric(reference) with its interval at the comparison's level, and at the
    right the verdict with the probability that the model is strictly better than the reference. Differences in the
    shaded band (`rope`) do not matter.

    Parameters
    ----------
    comparison : Comparison
        What `compare` returns.
    reference : name, optional
        The model that the others are compared with; by default the best one.
    unit : text, optional
        Unit of the labels; the axis shows that of the metric.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import scorebars as sb
    >>> counties = sb.datasets.load_acs_poverty()
    >>> ax = sb.plot.forest(sb.compare(counties.y, counties.predictions, yerr=counties.yerr))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['rf', 'ridge']
    >>> plt.close(ax.figure)
    """
    canvas.need(comparison, sb.Comparison, "forest draws a Comparison", "Pass what sb.compare(...) returns.")
    best_first = _ordered(comparison)
    chosen = best_first[0] if reference is None else reference
    others = [name for name in best_first if name != chosen]
    differences = [comparison.difference(name, chosen) for name in others]
    ax = canvas.axes_of(ax, rows=len(others))
    ax.axvline(0, color="0.3", linewidth=1, zorder=1)
    if comparison.rope:
        ax.axvspan(-comparison.rope, comparison.rope, color="0.5", alpha=0.25, linewidth=0, zorder=0)
    for row, (name, d) in enumerate(zip(others, differences, strict=True)):
        low, high = d.interval(comparison.level)
        verdict = comparison.verdict(name, chosen)
        color, marker, fill = _LOOK[verdict]
        ax.errorbar(
            [d.expected],
            [row],
            xerr=[[max(d.expected - low, 0.0)], [max(high - d.expected, 0.0)]],
            color=color,
            marker=marker,
            fillstyle=fill,
            capsize=3,
        )
        ax.annotate(
            f"{verdict} ({canvas.chance(comparison.probability(name, chosen))})",
            (1.02, row),
            xycoords=("axes fraction", "data"),
            va="center",
            annotation_clip=False,
        )
    ax.annotate("verdict (P better)", (1.02, 1.01), xycoords="axes fraction", va="bottom", annotation_clip=False)
    ax.set_yticks(range(len(others)), labels=others)
    ax.set_ylim(len(others) - 0.4, -0.6)
    title = differences[0].declaration
    what = f"{comparison.metric.replace('_', ' ')}, model − {chosen}"
    side = "← worse          better →" if title.greater_is_better else "← better          worse →"
    rope = f"\nshaded: too small to matter (up to {comparison.rope:g})" if comparison.rope else ""
    moves = "labels and items vary" if comparison.sampling else "labels vary within their errors"
    name = canvas.with_unit(what, canvas.power_of(unit, title.degree))
    ax.set_xlabel(f"{name}\n{side}\n{comparison.level:.0%} intervals, {moves}{rope}")
    return ax


def _ordered(comparison: sb.Comparison) -> list[str]:
    """The models by their score, best first."""
    first = comparison.models[0]
    gap = {name: comparison.difference(name, first) for name in comparison.models[1:]}
    sign = -1.0 if next(iter(gap.values())).greater_is_better else 1.0
    return sorted(comparison.models, key=lambda name: 0.0 if name == first else sign * gap[name].expected)
