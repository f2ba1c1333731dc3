"""The questions of a score, side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import scorebars as sb
from scorebars.plot import canvas
from scorebars.plot.questions import EXPECTED, QUESTIONS, estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
_HEIGHT = 1.6
"""Height of the law, in rows."""


def distribution(score: sb.Score, *, level: float = 0.95, unit: str | None = None, ax: Any = None) -> Axes:
    """What does a score say to each of its questions, and how far does the metric move?

    One row for each answer: `expected` with the law of the metric when the labels move within their errors (dark where
    it falls with probability `level`), `observed`, `truth` and `perfect`, the last two with their standard errors. What
    cannot be had is said so.

    Parameters
    ----------
    score : Score
        What a metric returns.
    level : probability
        Of the dark part of the law.
    unit : text, optional
        Unit of the labels, where they bring none of their own; the mean squared error has its square.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import scorebars as sb
    >>> counties = sb.datasets.load_acs_poverty()
    >>> score = sb.root_mean_squared_error(counties.y, counties.predictions["acs5_2018"], yerr=counties.yerr)
    >>> ax = sb.plot.distribution(score, unit="%")
    >>> ax.get_yticklabels()[1].get_text().splitlines()
    ['observed 2.489', 'labels taken as exact']
    >>> plt.close(ax.figure)
    """
    canvas.need(score, sb.Score, "distribution draws a Score", "Pass what a metric returns.")
    interval = score.interval(level)
    ax = canvas.axes_of(ax)
    names = []
    for row, question in enumerate(QUESTIONS):
        found = estimate(score, question)
        place = len(QUESTIONS) - 1 - row
        if found is None or not math.isfinite(found):
            value = "not to be had" if found is None else f"{found:g}"
        elif question.name == "observed":
            value = f"{found:.4g}"
        else:
            value = str(found)
        dark = f"\n(dark: {level:.0%} of the time)" if question is EXPECTED and 0 < score.std < math.inf else ""
        names.append(f"{question.name} {value}\n{question.meaning}{dark}")
        if found is None or not math.isfinite(found):
            continue
        std = 0.0 if question.name == "observed" else found.std
        ax.axvline(found, color=question.color, linestyle=question.line, linewidth=0.8, alpha=0.6, zorder=1)
        ax.errorbar(
            [found],
            [place],
            xerr=[std] if 0 < std < math.inf else None,
            color=question.color,
            marker=question.marker,
            capsize=4,
            label=question.label,
            zorder=3,
        )
    if 0 < score.std < math.inf:
        _law(ax, score, interval, len(QUESTIONS) - 1 + 0.2)
    ax.set_yticks(range(len(QUESTIONS) - 1, -1, -1), labels=names)
    ax.set_ylim(-0.6, len(QUESTIONS) - 1 + 0.35 + _HEIGHT)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(canvas.with_unit(score.declaration.title, canvas.score_unit(score, unit)))
    return ax


def _law(ax: Axes, score: sb.Score, interval: sb.Interval, base: float) -> None:
    """The law over its row: all of it light, the interval dark."""
    x, height = law_curve(score)
    top = base + _HEIGHT * height / height.max()
    ax.fill_between(x, base, top, color=EXPECTED.color, alpha=0.25, linewidth=0)
    inside = (x >= interval.low) & (x <= interval.high)
    ax.fill_between(x, base, top, where=inside.tolist(), color=EXPECTED.color, alpha=0.35, linewidth=0)
    ax.plot(x, top, color=EXPECTED.color, linewidth=1)


def law_curve(score: sb.Score) -> tuple[FloatArray, FloatArray]:
    """Points of the density. A law of single values, or of draws, is taken together in bins, drawn as steps."""
    law = score.distribution
    low, high = (float(law.ppf(q)) for q in (0.0005, 0.9995))
    if not law.discrete and law.method != "simulation":
        x = np.linspace(low, high, 201)
        return x, np.asarray(law.pdf(x), dtype=np.float64)
    count = 40
    step = 1.0 / score.n if law.discrete else (high - low) / count  # values of counts lie on multiples of 1/n
    width = step * max(1, round((high - low) / step / count))
    edges = np.arange(low - width / 2, high + width, width)
    share = np.diff(np.asarray(law.cdf(edges), dtype=np.float64))
    return np.repeat(edges, 2)[1:-1], np.repeat(share, 2)
