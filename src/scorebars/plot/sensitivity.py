"""How a score depends on the size of the label errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scorebars.plot import canvas, inputs
from scorebars.plot.questions import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def sensitivity(
    y_true: Any,
    y_pred: Any,
    yerr: Any,
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
        Of the band in which the metric falls when the labels move.
    unit : text, optional
        Unit of the labels, where they bring none of their own.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import scorebars as sb
    >>> counties = sb.datasets.load_acs_poverty()
    >>> ax = sb.plot.sensitivity(counties.y, counties.predictions["acs5_2018"], counties.yerr, scales=[0, 1, 2])
    >>> ax.get_xlabel()
    'label errors, as multiples of those quoted'
    >>> plt.close(ax.figure)
    """
    if y_true is None and hasattr(yerr, "labels"):
        y_true = yerr.labels()
    quoted = inputs.one_score(y_true, y_pred, yerr, metric, sample_weight)
    scaled = inputs.scaled_errors(yerr)
    top = 3.0
    if quoted.declaration.task == "classification":
        top = min(top, 1.0 / max(float(np.max(getattr(yerr, "q", yerr))), 1e-300))
    x = np.linspace(0.0, top, 49) if scales is None else _factors(scales)
    scores = [inputs.one_score(y_true, y_pred, scaled(float(factor)), metric, sample_weight) for factor in x]
    ax = canvas.axes_of(ax)
    curves(ax, x, scores, level)
    ax.axvline(1.0, color="0.5", linewidth=1, zorder=1)
    ax.annotate("as quoted", (1.0, 1.01), xycoords=("data", "axes fraction"), ha="center", va="bottom")
    ax.set_xlabel("label errors, as multiples of those quoted")
    ax.set_ylabel(canvas.with_unit(quoted.declaration.title, canvas.score_unit(quoted, unit)))
    return ax


def _factors(scales: Any) -> inputs.FloatArray:
    x = np.sort(np.asarray(scales, dtype=np.float64).ravel())
    if len(x) < 2 or not np.all(np.isfinite(x)) or x[0] < 0:
        raise ValueError(f"scales must be at least two finite factors of at least 0, got {scales!r}.")
    return x
