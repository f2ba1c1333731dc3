"""Residuals in units of the label errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import scorebars as sb
from scorebars.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REACH = 5.0
"""Pulls farther out are counted in the outermost bins."""


def pulls(y_true: Any, y_pred: Any, yerr: Any, *, bins: int | None = None, ax: Any = None) -> Axes:
    """Are the residuals as large as the label errors say?

    The pull of a label is (label - prediction) / error. If the model were perfect and the errors right, pulls would
    follow the unit normal law. Wider: the model errs, or errors are understated. Narrower: errors are overstated, or the
    model has seen these labels. Pulls beyond 5 are gathered in the outermost bins; labels with error zero have none.

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
    >>> ax = sb.plot.pulls(supernovae.y, supernovae.predictions["LCDM_Om0.298"], supernovae.yerr)
    >>> ax.get_xlabel()
    'pull: (label − prediction) / label error'
    >>> plt.close(ax.figure)
    """
    check = sb.check_errors(y_true, y_pred, yerr)
    found = check.pulls[~np.isnan(check.pulls)]
    if bins is None:
        bins = min(10 * max(1, round(len(found) ** (1 / 3) / 4)), 100)
    elif not (isinstance(bins, int) and bins > 0):
        raise ValueError(f"bins must be a whole number of at least 1, got {bins!r}.")
    ax = canvas.axes_of(ax)
    edges = np.linspace(-_REACH, _REACH, bins + 1)
    beyond = int(np.count_nonzero(np.abs(found) > _REACH))
    counts = np.histogram(np.clip(found, -_REACH, _REACH), edges)[0]
    width = edges[1] - edges[0]
    outside = "" if not beyond else f", {beyond} beyond ±{_REACH:g} in the end bins"
    ax.stairs(
        counts / (len(found) * width), edges, fill=True, color="C0", alpha=0.4, label=f"{len(found)} labels{outside}"
    )
    x = np.linspace(-_REACH, _REACH, 201)
    ax.plot(
        x,
        np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi),
        color="C1",
        linestyle="--",
        label="unit normal: a perfect model and right errors",
    )
    zero = "" if check.zero_share == 0 else f"\n{check.zero_share:.1%} of the labels have error 0"
    text = f"mean {found.mean():.2f}\nstd {found.std():.2f}\nχ²/n {check.reduced_chi_squared:.3g}{zero}"
    ax.text(0.03, 0.97, text, transform=ax.transAxes, va="top")
    ax.set(xlabel="pull: (label − prediction) / label error", ylabel="density", xlim=(-_REACH, _REACH))
    ax.set_ylim(0, 1.45 * ax.get_ylim()[1])  # room for the legend above
    ax.legend(loc="upper right")
    return ax
