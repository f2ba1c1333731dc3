"""Predictions against measured labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import scorebars as sb
from scorebars.plot import canvas, inputs
from scorebars.plot.questions import EXPECTED, OBSERVED, TRUTH, estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RASTER = 1000
"""With more points than this, vector files hold the points as an image, so that they stay small."""


def parity(
    y_true: Any,
    y_pred: Any,
    *,
    yerr: Any = None,
    sample_weight: Any = None,
    metric: Any = "root_mean_squared_error",
    unit: str | None = None,
    most: int = 5000,
    ax: Any = None,
) -> Axes:
    """How do predictions compare with the labels, given the labels' error bars?

    Each point is a label with its horizontal error bar; on the diagonal the prediction equals the label. The corner
    holds the score: as observed, as expected when the labels move within their errors, and against the true values.

    Parameters
    ----------
    y_true, y_pred, yerr, sample_weight : as in every metric
        Error bars are the quoted errors; for families without a width the middle 68 % of a fresh label. The area of a
        point grows with its weight.
    metric : name or function
        The score in the corner.
    unit : text, optional
        Unit of the labels, where they bring none of their own.
    most : whole number
        With more labels than this, cells are coloured by the number (weight) of the labels in them, none is left out,
        and one error bar shows the median error.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import scorebars as sb
    >>> logp = sb.datasets.load_sampl6_logp()
    >>> ax = sb.plot.parity(logp.y, logp.predictions["hmz0n"], yerr=logp.yerr, metric="mean_absolute_error")
    >>> ax.get_xlabel()
    'measured label'
    >>> plt.close(ax.figure)
    """
    score = inputs.one_score(y_true, y_pred, yerr, metric, sample_weight)
    drawn = inputs.points(y_true, y_pred, yerr)
    weight = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float).ravel(), drawn.y.shape)
    ax = canvas.axes_of(ax)
    low, high = _range(drawn)
    ax.plot([low, high], [low, high], color="0.5", linestyle="--", label="prediction = label", zorder=1)
    if len(drawn.y) <= most:
        _points(ax, drawn, weight)
    else:
        _cells(ax, drawn, weight, (low, high))
    name = canvas.power_of(drawn.unit or unit, 1)
    ax.set(xlim=(low, high), ylim=(low, high), xlabel=canvas.with_unit("measured label", name))
    ax.set_ylabel(canvas.with_unit("prediction", name))
    ax.set_aspect("equal", adjustable="box")
    ax.text(0.03, 0.97, _corner(score, unit), transform=ax.transAxes, va="top", bbox=_box(ax))
    ax.legend(loc="lower right")
    return ax


def _range(drawn: inputs.Points) -> tuple[float, float]:
    """One range for both axes that holds every point and error bar."""
    low = min(float((drawn.y - drawn.bars[0]).min()), float(drawn.p.min()))
    high = max(float((drawn.y + drawn.bars[1]).max()), float(drawn.p.max()))
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def _points(ax: Axes, drawn: inputs.Points, weight: Any) -> None:
    raster = len(drawn.y) > _RASTER
    crowded = len(drawn.y) > 100
    if np.any(drawn.bars > 0):
        ax.errorbar(
            drawn.y,
            drawn.p,
            xerr=drawn.bars,
            fmt="none",
            ecolor="C0",
            elinewidth=0.8,
            alpha=0.4 if crowded else 0.8,
            label="label error",
            rasterized=raster,
        )
    area = (9.0 if crowded else 25.0) * (1.0 if weight is None else weight / weight.mean())
    what = f"{len(drawn.y)} labels" + ("" if weight is None else ", area as their weight")
    ax.scatter(
        drawn.y,
        drawn.p,
        s=area,
        color="C0",
        edgecolors="none" if crowded else "face",
        label=what,
        rasterized=raster,
        zorder=3,
    )


def _cells(ax: Axes, drawn: inputs.Points, weight: Any, ends: tuple[float, float]) -> None:
    cells = ax.hexbin(
        drawn.y,
        drawn.p,
        C=weight,
        reduce_C_function=np.sum,
        gridsize=60,
        bins="log",
        mincnt=None if weight is not None else 1,
        extent=(*ends, *ends),
        linewidths=0.1,
        zorder=2,
    )
    figure = ax.get_figure()
    assert figure is not None
    figure.colorbar(cells, ax=ax, label="labels in a cell" if weight is None else "weight of the labels in a cell")
    if np.any(drawn.bars > 0):
        width = ends[1] - ends[0]
        median = np.median(drawn.bars, axis=1)
        ax.errorbar(
            [ends[1] - 0.12 * width - median[1]],
            [ends[0] + 0.3 * width],
            xerr=median[:, None],
            fmt="o",
            color="C1",
            capsize=3,
            label="median label error",
            zorder=4,
        )


def _corner(score: sb.Score, unit: str | None) -> str:
    """The three numbers that belong to these points."""
    unit_text = canvas.score_unit(score, unit)
    lines = [canvas.with_unit(score.declaration.title, unit_text)]
    for question in (OBSERVED, EXPECTED, TRUTH):
        found = estimate(score, question)
        if found is not None:
            lines.append(f"{question.name} {found:.4g}" if question is OBSERVED else f"{question.name} {found}")
    return "\n".join(lines)


def _box(ax: Axes) -> dict[str, Any]:
    """A ground for text over points, as a legend has it."""
    return {"boxstyle": "round", "facecolor": ax.get_facecolor(), "edgecolor": "0.8", "alpha": 0.8}
