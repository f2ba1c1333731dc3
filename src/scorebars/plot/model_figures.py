"""Figures of several models: their differences, their ranks, and how much of their error is label error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import scorebars as sb
from scorebars._shared.score_texts import noise_share
from scorebars.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_VERDICTS = {
    "better": ("C0", "o", "full"),
    "worse": ("C1", "s", "full"),
    "equivalent": ("C2", "D", "full"),
    "cannot tell": ("0.5", "o", "none"),
}
_WRITTEN_UP_TO = 12
"""With more models, cells are too small for numbers and the colour alone is read off the bar."""


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
        color, marker, fill = _VERDICTS[verdict]
        ends = [[max(d.expected - low, 0.0)], [max(high - d.expected, 0.0)]]
        ax.errorbar([d.expected], [row], xerr=ends, color=color, marker=marker, fillstyle=fill, capsize=3)
        text = f"{verdict} ({canvas.chance(comparison.probability(name, chosen))})"
        ax.annotate(text, (1.02, row), xycoords=("axes fraction", "data"), va="center", annotation_clip=False)
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


def ranking(comparison: sb.Comparison | sb.Ranking, *, ax: Any = None) -> Axes:
    """Which rank does each model have, and how surely?

    Rows are models by expected rank, columns are ranks, and a cell is the probability in per cent that the model has that
    rank if every label is redrawn from its error bar (and the items too, for a comparison with ``sampling=True``).

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


def noise_budget(scores: Any, *, metric: str | None = None, ax: Any = None) -> Axes:
    """How much of each model's observed error is label error?

    A bar for each model, in the order given, split at `score.noise_share` (root mean squared errors are split as their
    squares, which add up). A bar beyond 100 % belongs to a model that does better than a perfect one should: label errors
    are overstated, or the model has seen these labels.

    Parameters
    ----------
    scores : Evaluation, mapping of model names to Scores, or Score
    metric : name, optional
        Which metric of an Evaluation; by default its first.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import scorebars as sb
    >>> counties = sb.datasets.load_acs_poverty()
    >>> evaluation = sb.evaluate(counties.y, counties.predictions, yerr=counties.yerr)
    >>> ax = sb.plot.noise_budget(evaluation)
    >>> [text.get_text() for text in ax.texts]
    ['41 %', '34 %', '40 %']
    >>> plt.close(ax.figure)
    """
    chosen = canvas.score_of_each_model(scores, metric)
    shares = {name: noise_share(score) for name, score in chosen.items()}
    ax = canvas.axes_of(ax, rows=len(shares))
    rows = range(len(shares))
    known = np.array([0.0 if share is None else share if share < math.inf else 1.0 for share in shares.values()])
    own = np.array([0.0 if share is None else max(1.0 - share, 0.0) for share in shares.values()])
    ground = ax.get_facecolor()
    ax.barh(rows, 100 * known, color="C0", hatch="//", edgecolor=ground, label="label error")
    ax.barh(rows, 100 * own, left=100 * known, color="C1", alpha=0.5, label="the rest")
    ax.axvline(100, color="0.3", linewidth=1)
    for row, share, drawn in zip(rows, shares.values(), known, strict=True):
        ax.text(1.01 * max(100.0, 100 * drawn), row, _text(share), va="center", ha="left")
    ax.set_yticks(rows, labels=list(shares))
    ax.set_ylim(len(shares) - 0.4, -0.6)
    ax.set_xlim(0, 1.12 * max(100.0, 100 * known.max()))
    title = ", ".join(dict.fromkeys(score.declaration.title for score in chosen.values()))
    ax.set_xlabel(f"share of the observed error (%)\n{title}")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return ax


def _text(share: float | None) -> str:
    """What stands beside the bar."""
    if share is None:
        return "not to be had"
    return f"{share:.0%}".replace("%", " %") if share < math.inf else "no error\nobserved"
