"""How much of each model's error is label error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import scorebars as sb
from scorebars.plot import canvas, inputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def noise_budget(scores: Any, *, metric: str | None = None, ax: Any = None) -> Axes:
    """How much of each model's observed error is label error?

    A bar for each model, in the order given, split at `score.noise_share` (root mean squared errors are split as their
    squares, which add up). A bar beyond 100 % belongs to a model that
    does better than a perfect one should: label errors are overstated, or the model has seen these labels.

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
    chosen = inputs.scores_of(scores, metric)
    shares = {name: _share(score) for name, score in chosen.items()}
    ax = canvas.axes_of(ax, rows=len(shares))
    rows = range(len(shares))
    known = [0.0 if share is None else share if share < math.inf else 1.0 for share in shares.values()]
    own = [0.0 if share is None else max(1.0 - share, 0.0) for share in shares.values()]
    ax.barh(
        rows,
        [100 * share for share in known],
        color="C0",
        hatch="//",
        edgecolor=ax.get_facecolor(),
        label="label error",
    )
    ax.barh(
        rows,
        [100 * rest for rest in own],
        left=[100 * share for share in known],
        color="C1",
        alpha=0.5,
        label="the rest",
    )
    ax.axvline(100, color="0.3", linewidth=1)
    for row, share, drawn in zip(rows, shares.values(), known, strict=True):
        ax.text(1.01 * max(100.0, 100 * drawn), row, _text(share), va="center", ha="left")
    ax.set_yticks(rows, labels=list(shares))
    ax.set_ylim(len(shares) - 0.4, -0.6)
    ax.set_xlim(0, 1.12 * max(100.0, 100 * max(known)))
    title = ", ".join(dict.fromkeys(score.declaration.title for score in chosen.values()))
    ax.set_xlabel(f"share of the observed error (%)\n{title}")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return ax


def _text(share: float | None) -> str:
    """What stands beside the bar."""
    if share is None:
        return "not to be had"
    return f"{share:.0%}".replace("%", " %") if share < math.inf else "no error\nobserved"


def _share(score: sb.Score) -> float | None:
    try:
        return score.noise_share
    except sb.UndefinedEstimate:
        return None
