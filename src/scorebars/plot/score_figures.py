"""Figures of one model's score: its distribution, and how it depends on the label errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import scorebars as sb
from scorebars._shared.curves import law_curve
from scorebars._shared.score_texts import answers_of
from scorebars.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 1.6
"""Height of the distribution, in rows."""


def distribution(score: sb.Score, *, level: float = 0.95, unit: str | None = None, ax: Any = None) -> Axes:
    """What does a score say to each of its questions, and how far does the metric move?

    One row for each answer: `expected` with the distribution of the metric if every label is redrawn from its error bar
    (dark where it falls with probability `level`), `observed`, `truth` and `perfect`, the last two with their standard
    errors. An answer that cannot be estimated says so.

    Parameters
    ----------
    score : Score
        What a metric returns.
    level : probability
        Of the dark part of the distribution.
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
    interval, answers = score.interval(level), answers_of(score, canvas.LOOKS)
    ax = canvas.axes_of(ax)
    moves = 0 < score.std < math.inf
    places = range(len(answers) - 1, -1, -1)
    names = []
    for place, (name, answer) in zip(places, answers.items(), strict=True):
        value, std, look = answer.value, answer.std, canvas.LOOKS[name]
        drawn = value is not None and math.isfinite(value)
        shown = (
            f"{value:.4g}" if name == "observed" and drawn else answer.text if drawn or value is None else f"{value:g}"
        )
        dark = f"\n(dark: {level:.0%} of the time)" if name == "expected" and moves else ""
        names.append(f"{name} {shown}\n{canvas.MEANINGS[name]}{dark}")
        if value is None or not drawn:
            continue
        ax.axvline(value, color=look.color, linestyle=look.line, linewidth=0.8, alpha=0.6, zorder=1)
        ax.errorbar(
            [value],
            [place],
            xerr=[std] if 0 < std < math.inf else None,
            color=look.color,
            marker=look.marker,
            capsize=4,
            label=f"{name}: {canvas.MEANINGS[name]}",
            zorder=3,
        )
    if moves:
        _law(ax, score, interval, places[0] + 0.2)
    ax.set_yticks(places, labels=names)
    ax.set_ylim(-0.6, places[0] + 0.35 + _HEIGHT)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(canvas.with_unit(score.declaration.title, canvas.score_unit(score, unit)))
    return ax


def _law(ax: Axes, score: sb.Score, interval: sb.Interval, base: float) -> None:
    """The distribution over its row: all of it light, the interval dark."""
    law, color = score.distribution, canvas.LOOKS["expected"].color
    low, high = np.asarray(law.ppf(np.array([0.0005, 0.9995])), dtype=np.float64)
    x, height, binned = law_curve(law, low, high, score.n)
    if binned:
        x, height = np.repeat(x, 2)[1:-1], np.repeat(height, 2)
    top = base + _HEIGHT * height / height.max()
    ax.fill_between(x, base, top, color=color, alpha=0.25, linewidth=0)
    inside = (x >= interval.low) & (x <= interval.high)
    ax.fill_between(x, base, top, where=inside.tolist(), color=color, alpha=0.35, linewidth=0)
    ax.plot(x, top, color=color, linewidth=1)


def sensitivity(
    y_true: Any,
    y_pred: Any,
    yerr: Any = None,
    *,
    metric: Any = "root_mean_squared_error",
    sample_weight: Any = None,
    scales: Any = None,
    level: float = 0.95,
    unit: str | None = None,
    ax: Any = None,
) -> Axes:
    """What would the score be if all label errors were smaller, or larger, than quoted?

    All errors are multiplied by a common factor from 0 (exact labels) to 3. Where `truth` reaches the score of a flawless
    model, errors that large would explain all that is observed. An answer that cannot be had at a factor is left out.

    Parameters
    ----------
    y_true, y_pred, yerr, sample_weight : as in every metric
        `yerr` must be standard deviations, probabilities of wrong labels, or a model with a width.
    metric : name or function
    scales : sequence of numbers, optional
        The factors; by default from 0 to 3, or as far as probabilities allow.
    level : probability
        Of the band in which the metric falls if labels are redrawn.
    unit : text, optional
        Unit of the labels, where they bring none of their own.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import scorebars as sb
    >>> counties = sb.datasets.load_acs_poverty()
    >>> ax = sb.plot.sensitivity(counties.y, counties.predictions["acs5_2018"], yerr=counties.yerr, scales=[0, 1, 2])
    >>> ax.get_xlabel()
    'label errors, as multiples of those quoted'
    >>> plt.close(ax.figure)
    """
    if y_true is None and hasattr(yerr, "labels"):
        y_true = yerr.labels()
    quoted = canvas.score_of_model(y_true, y_pred, yerr, metric, sample_weight)
    scaled = canvas.scaled_errors(yerr)
    top = 3.0
    if quoted.declaration.task == "classification":
        top = min(top, 1.0 / max(float(np.max(getattr(yerr, "q", yerr))), 1e-300))
    x = np.linspace(0.0, top, 49) if scales is None else _factors(scales)
    scores = [canvas.score_of_model(y_true, y_pred, scaled(float(factor)), metric, sample_weight) for factor in x]
    ax = canvas.axes_of(ax)
    canvas.curves(ax, x, scores, level)
    ax.axvline(1.0, color="0.5", linewidth=1, zorder=1)
    ax.annotate("as quoted", (1.0, 1.01), xycoords=("data", "axes fraction"), ha="center", va="bottom")
    ax.set_xlabel("label errors, as multiples of those quoted")
    ax.set_ylabel(canvas.with_unit(quoted.declaration.title, canvas.score_unit(quoted, unit)))
    return ax


def _factors(scales: Any) -> Any:
    x = np.sort(np.asarray(scales, dtype=np.float64).ravel())
    if len(x) < 2 or not np.all(np.isfinite(x)) or x[0] < 0:
        raise ValueError(f"scales must be at least two finite factors of at least 0, got {scales!r}.")
    return x


def accuracy_vs_q(
    y_true: Any,
    y_pred: Any,
    *,
    q: Any = None,
    marked: float | None = None,
    metric: Any = "accuracy_score",
    sample_weight: Any = None,
    kind: str = "classical",
    level: float = 0.95,
    ax: Any = None,
) -> Axes:
    """What does a classification score mean if labels are wrong with probability q?

    For every q: the score as observed, as expected when labels flip with probability q, against the true classes, and
    that of a perfect model. An observed accuracy above that of a perfect model says that q is smaller than this.

    Parameters
    ----------
    y_true, y_pred, sample_weight : as in every metric
    q : sequence of probabilities, optional
        By default from 0 to 0.4.
    marked : probability, optional
        The q that you believe in, marked by a line.
    metric : name or function
        A metric of classes.
    kind : {"classical", "berkson"}
        As in `Flip`.
    level : probability
        Of the band in which the metric falls when the labels flip.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import scorebars as sb
    >>> ax = sb.plot.accuracy_vs_q([1] * 40 + [0] * 60, [1] * 30 + [0] * 70, q=[0, 0.05, 0.1], marked=0.05)
    >>> ax.get_ylabel()
    'Accuracy'
    >>> plt.close(ax.figure)
    """
    x = np.linspace(0.0, 0.4, 41) if q is None else np.sort(np.asarray(sb.Flip(q).q, dtype=np.float64).ravel())
    if len(x) < 2:
        raise ValueError(f"q must be at least two probabilities, to draw a line between them, got {q!r}.")
    scores = [
        canvas.score_of_model(y_true, y_pred, sb.Flip(float(value), kind=kind), metric, sample_weight) for value in x
    ]
    ax = canvas.axes_of(ax)
    canvas.curves(ax, x, scores, level)
    declared = scores[0].declaration
    if marked is not None:
        ax.axvline(float(sb.Flip(marked).q), color="0.5", linewidth=1, zorder=1)
        ax.annotate(f"q = {marked:g}", (marked, 1.01), xycoords=("data", "axes fraction"), ha="center", va="bottom")
    ax.set(xlabel="probability q that a label is wrong", ylabel=declared.title)
    return ax
