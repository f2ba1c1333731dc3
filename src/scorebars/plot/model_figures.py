"""Figures of one model: its predictions, its pulls, its score, and what the label errors do to it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import scorebars as sb
from scorebars._shared.escaping import figure_text
from scorebars._shared.given_data import plain_array, plain_labels
from scorebars._shared.score_views import answers_of, counted, law_curve, power_of, unit_of
from scorebars.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 1.6
"""Height of the distribution, in rows."""
_RASTER = 1000
"""With more points than this, vector files hold the points as an image, so that they stay small."""
_REACH = 5.0
"""Pulls farther out are counted in the outermost bins."""


def parity(
    y_true: Any,
    y_pred: Any,
    *,
    metric: Any = "root_mean_squared_error",
    yerr: Any = None,
    unit: str | None = None,
    sample_weight: Any = None,
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
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        Labels from left to right, predictions upwards, the score in the corner.

    Examples
    --------
    >>> logp = sb.datasets.load_sampl6_logp()
    >>> ax = sb.plot.parity(logp.y, logp.predictions["hmz0n"], yerr=logp.yerr, metric="mean_absolute_error")
    >>> ax.get_xlabel()
    'measured label'
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
    if isinstance(yerr, sb.Censored) and yerr.limited:
        _limits(ax, yerr, p, bars)
    elif len(y) <= most:
        _points(ax, y, p, bars, weight)
    else:
        _cells(ax, y, p, bars, weight, (low, high))
    name = power_of(labels.unit or unit, 1)
    ax.set(xlim=(low, high), ylim=(low, high), xlabel=canvas.with_unit("measured label", name))
    ax.set_ylabel(canvas.with_unit("prediction", name))
    ax.set_aspect("equal", adjustable="box")
    box = {"boxstyle": "round", "facecolor": ax.get_facecolor(), "edgecolor": "0.8", "alpha": 0.8}  # as a legend has it
    ax.text(0.03, 0.97, _corner(score, unit), transform=ax.transAxes, va="top", bbox=box)
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


def _limits(ax: Axes, labels: sb.Censored, p: Any, bars: Any) -> None:
    """Numbers as points, limits as arrows that point to where the label may lie, ranges as bars."""
    y, limit = labels.labels(), labels.limits
    _points(ax, y[~limit], p[~limit], bars[:, ~limit], None)
    for name, end, marker in (("upper", labels.lower, "<"), ("lower", labels.upper, ">")):
        open_end = limit & np.isinf(end)
        if open_end.any():
            what = counted(int(open_end.sum()), f"{name} limit")
            ax.scatter(y[open_end], p[open_end], marker=marker, s=30, facecolors="none", edgecolors="C3", label=what)
    between = limit & np.isfinite(labels.lower) & np.isfinite(labels.upper)
    if between.any():
        what = counted(int(between.sum()), "range")
        ax.hlines(p[between], labels.lower[between], labels.upper[between], color="C3", label=what)


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
        canvas.with_unit(score.declaration.title, unit_of(score, unit)),
        f"observed {observed.value:.4g}",
    ]
    names = zip(("expected", "truth"), others, strict=True)
    return "\n".join([*lines, *(f"{name} {answer.text}" for name, answer in names if answer.value is not None)])


def pulls(y_true: Any, y_pred: Any, yerr: Any = None, *, bins: int | None = None, ax: Any = None) -> Axes:
    """Are the residuals as large as the label errors say?

    The pull of a label is (prediction - label) / error. If the model were perfect and the errors right, pulls would
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
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The histogram of the pulls, with the curve that right errors would give.

    Examples
    --------
    >>> supernovae = sb.datasets.load_pantheon(binned=False)
    >>> ax = sb.plot.pulls(supernovae.y, supernovae.predictions["LCDM_Om0.298"], yerr=supernovae.yerr)
    >>> ax.get_xlabel()
    'pull: (prediction − label) / label error'
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
    if isinstance(yerr, sb.Censored) and yerr.limited:
        _limit_pulls(ax, yerr, y_pred)
    x = np.linspace(-_REACH, _REACH, 201)
    normal = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    ax.plot(x, normal, color="C1", linestyle="--", label="unit normal: a perfect model and right errors")
    zero = "" if check.zero_share == 0 else f"\n{check.zero_share:.1%} of the labels have error 0"
    text = f"mean {found.mean():.2f}\nstd {found.std():.2f}\nχ²/n {check.reduced_chi_squared:.3g}{zero}"
    ax.text(0.03, 0.97, text, transform=ax.transAxes, va="top")
    ax.set(xlabel="pull: (prediction − label) / label error", ylabel="density", xlim=(-_REACH, _REACH))
    ax.set_ylim(0, 1.45 * ax.get_ylim()[1])  # room for the legend above
    ax.legend(loc="upper right")
    return ax


def _limit_pulls(ax: Axes, labels: sb.Censored, y_pred: Any) -> None:
    """Arrows at the pulls of open limits, which point to where the pull may lie; the bars hold numbers drawn within."""
    p, sigma = np.asarray(plain_array(y_pred), dtype=np.float64), np.broadcast_to(labels.sigma, labels.lower.shape)
    for name, end, other, marker in (
        ("upper", labels.upper, labels.lower, ">"),
        ("lower", labels.lower, labels.upper, "<"),
    ):
        use = np.isinf(other) & (sigma > 0)
        if use.any():
            at = np.clip((p[use] - end[use]) / sigma[use], -_REACH, _REACH)
            what = f"{counted(int(use.sum()), f'{name} limit')}, drawn within them"
            ax.scatter(at, np.full(len(at), 0.01), marker=marker, s=24, facecolors="none", edgecolors="C3", label=what)


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
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        One row for each answer.

    Examples
    --------
    >>> counties = sb.datasets.load_acs_poverty()
    >>> score = sb.root_mean_squared_error(counties.y, counties.predictions["acs5_2018"], yerr=counties.yerr)
    >>> ax = sb.plot.distribution(score, unit="%")
    >>> ax.get_yticklabels()[1].get_text().splitlines()
    ['observed 2.489', 'labels taken as exact']
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
        color = canvas.color_of(name, ax)
        ax.axvline(value, color=color, linestyle=look.line, linewidth=0.8, alpha=0.6, zorder=1)
        ax.errorbar(
            [value],
            [place],
            xerr=[std] if 0 < std < math.inf else None,
            color=color,
            marker=look.marker,
            capsize=4,
            label=f"{name}: {canvas.MEANINGS[name]}",
            zorder=3,
        )
    if moves:
        _law(ax, score, interval, places[0] + 0.2)
    ax.set_yticks(places, labels=list(map(figure_text, names)))
    ax.set_ylim(-0.6, places[0] + 0.35 + _HEIGHT)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(canvas.with_unit(score.declaration.title, unit_of(score, unit)))
    return ax


def _law(ax: Axes, score: sb.Score, interval: sb.Interval, base: float) -> None:
    """The distribution over its row: all of it light, the interval dark."""
    law, color = score.distribution, canvas.color_of("expected", ax)
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
    level: float = 0.95,
    metric: Any = "root_mean_squared_error",
    scales: Any = None,
    unit: str | None = None,
    sample_weight: Any = None,
    ax: Any = None,
) -> Axes:
    """What would the score be if all label errors were smaller, or larger, than quoted?

    All errors are multiplied by a common factor from 0 (exact labels) to 3. Where `truth` reaches the score of a flawless
    model, errors that large would explain all that is observed. Answers that cannot be estimated at a factor are left out.

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
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        The score against the factor that all label errors are multiplied by.

    Examples
    --------
    >>> counties = sb.datasets.load_acs_poverty()
    >>> ax = sb.plot.sensitivity(counties.y, counties.predictions["acs5_2018"], yerr=counties.yerr, scales=[0, 1, 2])
    >>> ax.get_xlabel()
    'label errors, as multiples of those quoted'
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
    canvas.curves(ax, x, scores, level, {1.0: "as quoted"})
    ax.set_xlabel("label errors, as multiples of those quoted")
    ax.set_ylabel(canvas.with_unit(quoted.declaration.title, unit_of(quoted, unit)))
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
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        Observed, expected, truth and perfect against the probability of a wrong label.

    Examples
    --------
    >>> ax = sb.plot.accuracy_vs_q([1] * 40 + [0] * 60, [1] * 30 + [0] * 70, q=[0, 0.05, 0.1], marked=0.05)
    >>> ax.get_ylabel()
    'Accuracy'
    """
    x = np.linspace(0.0, 0.4, 41) if q is None else np.sort(np.asarray(sb.Flip(q).q, dtype=np.float64).ravel())
    if len(x) < 2:
        raise ValueError(f"q must be at least two probabilities, to draw a line between them, got {q!r}.")
    scores = [
        canvas.score_of_model(y_true, y_pred, sb.Flip(float(value), kind=kind), metric, sample_weight) for value in x
    ]
    ax = canvas.axes_of(ax)
    canvas.curves(ax, x, scores, level, {} if marked is None else {float(sb.Flip(marked).q): f"q = {marked:g}"})
    ax.set(xlabel="probability q that a label is wrong", ylabel=scores[0].declaration.title)
    return ax
