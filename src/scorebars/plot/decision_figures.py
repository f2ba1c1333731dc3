"""Figures to decide by: which model is better, how much of its error is label error, what to measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb
from scorebars._shared.escaping import figure_text
from scorebars._shared.score_views import counted, power_of
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
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        One row for each model: its difference from the reference, with intervals.

    Examples
    --------
    >>> counties = sb.datasets.load_acs_poverty()
    >>> ax = sb.plot.forest(sb.compare(counties.y, counties.predictions, yerr=counties.yerr))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['rf', 'ridge']
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
    ax.set_yticks(range(len(others)), labels=list(map(figure_text, others)))
    ax.set_ylim(len(others) - 0.4, -0.6)
    title = differences[0].declaration
    what = f"{comparison.metric.replace('_', ' ')}, model − {figure_text(chosen)}"
    side = "← worse          better →" if title.greater_is_better else "← better          worse →"
    rope = f"\nshaded: too small to matter (up to {comparison.rope:g})" if comparison.rope else ""
    moves = "labels and items vary" if comparison.sampling else "labels redrawn from their error bars"
    name = canvas.with_unit(what, power_of(unit, title.degree))
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
    comparison : what `compare` returns, or its `ranking()`
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The probability of each rank for each model.

    Examples
    --------
    >>> models = {"far": [2.0, 1.0, 3.0], "near": [1.1, 2.1, 3.9]}
    >>> ax = sb.plot.ranking(sb.compare([1.0, 2.0, 4.0], models, yerr=0.2))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['near', 'far']
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
                ink = "white" if canvas.is_dark(image.cmap(image.norm(100 * table[row, column]))) else "black"
                ax.text(column, row, f"{100 * table[row, column]:.0f}", ha="center", va="center", color=ink)
    ax.set_yticks(range(len(names)), labels=list(map(figure_text, names)))
    step = 1 if len(names) <= 20 else 5
    ranks = [1, *range(step, len(names) + 1, step)] if step > 1 else list(range(1, len(names) + 1))
    ax.set_xticks([rank - 1 for rank in ranks], labels=[str(rank) for rank in ranks])
    moves = ""
    if isinstance(comparison, sb.Comparison):
        vary = "labels and items vary" if comparison.sampling else "labels redrawn from their error bars"
        moves = f"\n{comparison.metric.replace('_', ' ')}: {vary}"
    ax.set_xlabel(f"rank (1: best){moves}")
    return ax


def noise_budget(scores: Any, *, metric: str | None = None, ax: Any = None) -> Axes:
    """How much of each model's observed error is label error?

    A bar for each model, in the order given, split at `score.noise_share` (root mean squared errors are split as their
    squares, which add up). At 100 % a model does as well as a perfect one would, or better: then label errors are
    overstated, or the model has seen these labels.

    Parameters
    ----------
    scores : Evaluation, mapping of model names to Scores, or Score
    metric : name, optional
        Which metric of an Evaluation; by default its first.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        One bar for each model, split into label error and the rest.

    Examples
    --------
    >>> counties = sb.datasets.load_acs_poverty()
    >>> evaluation = sb.evaluate(counties.y, counties.predictions, yerr=counties.yerr)
    >>> ax = sb.plot.noise_budget(evaluation)
    >>> [text.get_text() for text in ax.texts]
    ['41 %', '34 %', '40 %']
    """
    chosen = canvas.score_of_each_model(scores, metric)
    shares = {name: score.noise_share for name, score in chosen.items()}
    ax = canvas.axes_of(ax, rows=len(shares))
    rows = range(len(shares))
    known = np.array([0.0 if share is None else share for share in shares.values()])
    own = np.array([0.0 if share is None else 1.0 - share for share in shares.values()])
    ground = ax.get_facecolor()
    ax.barh(rows, 100 * known, color="C0", hatch="//", edgecolor=ground, label="label error")
    ax.barh(rows, 100 * own, left=100 * known, color="C1", alpha=0.5, label="the rest")
    ax.axvline(100, color="0.3", linewidth=1)
    for row, share in zip(rows, shares.values(), strict=True):
        text = "cannot be estimated" if share is None else f"{100 * share:.0f} %"
        ax.text(101, row, text, va="center", ha="left")
    ax.set_yticks(rows, labels=list(map(figure_text, shares)))
    ax.set_ylim(len(shares) - 0.4, -0.6)
    ax.set_xlim(0, 112)
    title = ", ".join(dict.fromkeys(score.declaration.title for score in chosen.values()))
    ax.set_xlabel(f"share of the observed error (%)\n{title}")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return ax


def plan(plan: sb.Plan, *, repeats: Sequence[int] | None = None, unit: str | None = None, ax: Any = None) -> Axes:
    """How many labels, with how many repeats, reach the goal?

    The power to detect the difference (or the standard error of the score) against the number of labels, a curve for
    each number of repeats (raters, for classes). The goal is a horizontal line, the cheapest plan a star.

    Parameters
    ----------
    plan : Plan
        What `sb.plan` returns.
    repeats : whole numbers, optional
        The curves to draw; by default about the planned number.
    unit : text, optional
        Unit of the labels: the mean squared error, whose std is planned, has its square.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The power, or the standard error, against the number of labels.

    Examples
    --------
    >>> ax = sb.plot.plan(sb.plan(difference=0.15, sampling_variance=2.0, measurement_variance=8.0, cost_label=5))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('number of labels', 'power to detect a difference of 0.15')
    """
    canvas.need(plan, sb.Plan, "plan draws a Plan", "Pass what sb.plan(...) returns.")
    voters = isinstance(getattr(plan.budget, "q", None), float)
    numbers = _around(plan.repeats, voters) if repeats is None else _checked(repeats)
    ax = canvas.axes_of(ax)
    from matplotlib import rcParams

    # wide enough for every curve to reach the goal
    needed = [plan.labels_for(n) for n in (*numbers, plan.repeats)]
    x = np.geomspace(max(min(needed) / 10, 1.0), max(max(needed) * 3, 20.0), 200)
    word = "rater" if voters else "repeat"
    powered = plan.difference is not None
    value = plan.power_at if powered else plan.std_at
    for k, n in enumerate(numbers):
        ax.plot(
            x,
            [value(labels, n) for labels in x],
            color=f"C{k}",
            linestyle=canvas.DASHES[k % len(canvas.DASHES)],
            label=f"{counted(n, word)} each",
        )
    goal = value(plan.labels_for(plan.repeats), plan.repeats)
    ax.axhline(goal, color="0.5", linewidth=1, zorder=1, label=f"goal: {goal:.3g}")
    ax.plot(
        [plan.labels],
        [value(plan.labels, plan.repeats)],
        linestyle="none",
        marker="*",
        markersize=2.5 * rcParams["lines.markersize"],
        color=rcParams["text.color"],
        label=f"cheapest: {plan.labels} × {plan.repeats}, cost {plan.cost:g}",
        zorder=4,
    )
    _count_axis(ax, x)
    ax.set_xlabel("number of labels")
    if powered:
        assert plan.difference is not None
        ax.set_ylabel(f"power to detect a difference of {abs(plan.difference):.3g}")
        ax.set_ylim(0, 1.03)
    else:
        ax.set_yscale("log")
        ax.set_ylabel(canvas.with_unit("std of the mean squared error", power_of(unit, 2)))
    ax.margins(x=0)
    ax.legend(loc="lower right" if powered else "upper right")
    return ax


def _count_axis(ax: Axes, x: NDArray[np.float64]) -> None:
    """Numbers of labels on a log scale: 200, 500, 1k rather than powers of ten, as long as they find room."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if x[-1] < 500 * x[0] else (1,)))
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _around(planned: int, voters: bool) -> list[int]:
    """One repeat, the planned number, and some fewer and more; raters in odd numbers, which cannot tie."""
    near = {1, planned, max(1, math.ceil(planned / 2)), 2 * planned}
    if planned <= 2:
        near |= {4}
    return sorted({n | 1 for n in near} | {planned} if voters else near)


def _checked(repeats: Sequence[int]) -> list[int]:
    for k, n in enumerate(repeats):
        if not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"repeats must be whole numbers of at least 1, got {n!r} at index {k}.")
    if len(repeats) == 0:
        raise ValueError("repeats is empty: name at least one number of repeats, or leave it out.")
    return sorted({int(n) for n in repeats})
