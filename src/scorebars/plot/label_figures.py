"""Figures of the labels: predictions against them, and residuals in units of their errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import scorebars as sb
from scorebars._shared.given_data import plain_array, plain_labels
from scorebars._shared.score_texts import answers_of
from scorebars.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RASTER = 1000
"""With more points than this, vector files hold the points as an image, so that they stay small."""
_REACH = 5.0
"""Pulls farther out are counted in the outermost bins."""


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
    holds the score: as observed, as expected if every label is redrawn from its error bar, and against the true values.

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
    score = canvas.score_of_model(y_true, y_pred, yerr, metric, sample_weight)
    labels = plain_labels(y_true, yerr)
    y, p = labels.values.astype(np.float64), plain_array(y_pred, labels.unit).astype(np.float64)
    bars = np.zeros((2, len(y))) if labels.bars is None else labels.bars
    weight = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float).ravel(), y.shape)
    ax = canvas.axes_of(ax)
    low, high = min((y - bars[0]).min(), p.min()), max((y + bars[1]).max(), p.max())
    margin = 0.05 * (high - low) or 0.5
    low, high = float(low - margin), float(high + margin)
    ax.plot([low, high], [low, high], color="0.5", linestyle="--", label="prediction = label", zorder=1)
    if len(y) <= most:
        _points(ax, y, p, bars, weight)
    else:
        _cells(ax, y, p, bars, weight, (low, high))
    name = canvas.power_of(labels.unit or unit, 1)
    ax.set(xlim=(low, high), ylim=(low, high), xlabel=canvas.with_unit("measured label", name))
    ax.set_ylabel(canvas.with_unit("prediction", name))
    ax.set_aspect("equal", adjustable="box")
    ax.text(0.03, 0.97, _corner(score, unit), transform=ax.transAxes, va="top", bbox=_box(ax))
    ax.legend(loc="lower right")
    return ax


def _points(ax: Axes, y: Any, p: Any, bars: Any, weight: Any) -> None:
    raster, crowded = len(y) > _RASTER, len(y) > 100
    if np.any(bars > 0):
        look = {"fmt": "none", "ecolor": "C0", "elinewidth": 0.8, "alpha": 0.4 if crowded else 0.8}
        ax.errorbar(y, p, xerr=bars, label="label error", rasterized=raster, **look)  # type: ignore[arg-type]
    area = (9.0 if crowded else 25.0) * (1.0 if weight is None else weight / weight.mean())
    what = f"{len(y)} labels" + ("" if weight is None else ", area as their weight")
    edges = "none" if crowded else "face"
    ax.scatter(y, p, s=area, color="C0", edgecolors=edges, label=what, rasterized=raster, zorder=3)


def _cells(ax: Axes, y: Any, p: Any, bars: Any, weight: Any, ends: tuple[float, float]) -> None:
    cells = ax.hexbin(
        y,
        p,
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
    if np.any(bars > 0):
        width, median = ends[1] - ends[0], np.median(bars, axis=1)
        place = [ends[1] - 0.12 * width - median[1]], [ends[0] + 0.3 * width]
        ax.errorbar(*place, xerr=median[:, None], fmt="o", color="C1", capsize=3, label="median label error", zorder=4)


def _corner(score: sb.Score, unit: str | None) -> str:
    """The three numbers that belong to these points."""
    observed, *others = answers_of(score, ("observed", "expected", "truth")).values()
    lines = [
        canvas.with_unit(score.declaration.title, canvas.score_unit(score, unit)),
        f"observed {observed.value:.4g}",
    ]
    names = zip(("expected", "truth"), others, strict=True)
    return "\n".join([*lines, *(f"{name} {answer.text}" for name, answer in names if answer.value is not None)])


def _box(ax: Axes) -> dict[str, Any]:
    """A ground for text over points, as a legend has it."""
    return {"boxstyle": "round", "facecolor": ax.get_facecolor(), "edgecolor": "0.8", "alpha": 0.8}


def pulls(y_true: Any, y_pred: Any, yerr: Any = None, *, bins: int | None = None, ax: Any = None) -> Axes:
    """Are the residuals as large as the label errors say?

    The pull of a label is (label - prediction) / error. If the model were perfect and the errors right, pulls would
    follow the unit normal distribution. Wider: the model errs, or errors are understated. Narrower: errors are
    overstated, or the model has seen these labels. Pulls beyond 5 are counted in the outermost bins; labels with error
    zero have none.

    Parameters
    ----------
    y_true, y_pred, yerr
        Labels, predictions and label errors, as in `check_errors`.
    bins : whole number, optional
        Number of bins between -5 and 5; by default it grows with the number of labels.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import scorebars as sb
    >>> supernovae = sb.datasets.load_pantheon(binned=False)
    >>> ax = sb.plot.pulls(supernovae.y, supernovae.predictions["LCDM_Om0.298"], yerr=supernovae.yerr)
    >>> ax.get_xlabel()
    'pull: (label − prediction) / label error'
    >>> plt.close(ax.figure)
    """
    check = sb.check_errors(y_true, y_pred, yerr=yerr)
    found = check.pulls[~np.isnan(check.pulls)]
    if bins is None:
        bins = min(10 * max(1, round(len(found) ** (1 / 3) / 4)), 100)
    elif not (isinstance(bins, int) and bins > 0):
        raise ValueError(f"bins must be a whole number of at least 1, got {bins!r}.")
    ax = canvas.axes_of(ax)
    edges = np.linspace(-_REACH, _REACH, bins + 1)
    beyond = int(np.count_nonzero(np.abs(found) > _REACH))
    counts = np.histogram(np.clip(found, -_REACH, _REACH), edges)[0]
    density = counts / (len(found) * (edges[1] - edges[0]))
    outside = "" if not beyond else f", {beyond} beyond ±{_REACH:g} in the end bins"
    ax.stairs(density, edges, fill=True, color="C0", alpha=0.4, label=f"{len(found)} labels{outside}")
    x = np.linspace(-_REACH, _REACH, 201)
    normal = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    ax.plot(x, normal, color="C1", linestyle="--", label="unit normal: a perfect model and right errors")
    zero = "" if check.zero_share == 0 else f"\n{check.zero_share:.1%} of the labels have error 0"
    text = f"mean {found.mean():.2f}\nstd {found.std():.2f}\nχ²/n {check.reduced_chi_squared:.3g}{zero}"
    ax.text(0.03, 0.97, text, transform=ax.transAxes, va="top")
    ax.set(xlabel="pull: (label − prediction) / label error", ylabel="density", xlim=(-_REACH, _REACH))
    ax.set_ylim(0, 1.45 * ax.get_ylim()[1])  # room for the legend above
    ax.legend(loc="upper right")
    return ax
