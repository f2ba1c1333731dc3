"""How an accuracy depends on the share of wrong labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import scorebars as sb
from scorebars.plot import canvas, inputs
from scorebars.plot.questions import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    scores = [inputs.one_score(y_true, y_pred, sb.Flip(float(value), kind=kind), metric, sample_weight) for value in x]
    ax = canvas.axes_of(ax)
    curves(ax, x, scores, level)
    declared = scores[0].declaration
    if marked is not None:
        ax.axvline(float(sb.Flip(marked).q), color="0.5", linewidth=1, zorder=1)
        ax.annotate(f"q = {marked:g}", (marked, 1.01), xycoords=("data", "axes fraction"), ha="center", va="bottom")
    ax.set(xlabel="probability q that a label is wrong", ylabel=declared.title)
    return ax
