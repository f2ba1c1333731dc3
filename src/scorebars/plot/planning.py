"""What more labels and more repeats would bring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb
from scorebars.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import scorebars as sb
    >>> ax = sb.plot.plan(sb.plan(difference=0.15, sampling_variance=2.0, measurement_variance=8.0, cost_label=5))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('number of labels', 'power to detect a difference of 0.15')
    >>> plt.close(ax.figure)
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
            label=f"{n} {word}{'s' if n > 1 else ''} each",
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
        ax.set_ylabel(canvas.with_unit("std of the mean squared error", canvas.power_of(unit, 2)))
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
