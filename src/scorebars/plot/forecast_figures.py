"""Figures of a forecast: are its error bars right?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import scorebars as sb
from scorebars.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ALLOWED, _IGNORED = "label errors allowed for", "label errors ignored"


def calibration(found: sb.Calibration, *, show: str = "pit", bins: int | None = None, ax: Any = None) -> Axes:
    """Are a forecast's error bars right, with label errors allowed for and with label errors ignored?

    ``"pit"`` draws the histogram of the probability integral transform: flat within the band if the forecast is
    calibrated, high at both ends if its error bars are too small, high in the middle if they are too large, sloping if it
    is biased. ``"coverage"`` draws which share of the labels the intervals of every level hold, with the band that a
    calibrated forecast stays in, at all levels at once, in 95 % of all cases. ``"spread"`` draws the error that was found
    against the spread that the forecast claims, in bins of the spread: on the diagonal both agree.

    Parameters
    ----------
    found : Calibration
        What `sb.calibration` returns.
    show : {"pit", "coverage", "spread"}
        What to draw.
    bins : whole number, optional
        Bins of the histogram, or of the spread; by default they grow with the number of labels.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        One panel, of the kind that `show` names.

    Examples
    --------
    >>> supernovae = sb.datasets.load_pantheon(binned=False)
    >>> model = supernovae.predictions["LCDM_Om0.298"]
    >>> ax = sb.plot.calibration(sb.calibration(supernovae.y, (model, 0.05), yerr=supernovae.yerr))
    >>> ax.get_xlabel()
    'probability integral transform of the label'
    """
    canvas.need(found, sb.Calibration, "calibration draws a Calibration", "Pass what sb.calibration(...) returns.")
    parts = {"pit": _histograms, "coverage": _coverage, "spread": _by_spread}
    if show not in parts:
        raise ValueError(f"show must be 'pit', 'coverage' or 'spread', got {show!r}.")
    if bins is not None and not (isinstance(bins, int | np.integer) and bins > 0):
        raise ValueError(f"bins must be a whole number of at least 1, got {bins!r}.")
    ax = canvas.axes_of(ax)
    parts[show](ax, found, bins)
    return ax


def _histograms(ax: Axes, found: sb.Calibration, bins: int | None) -> None:
    from scipy.stats import binom

    n = found.n
    count = min(max(4, round(2 * n ** (1 / 3))), 40) if bins is None else int(bins)
    edges = np.linspace(0.0, 1.0, count + 1)
    low, high = (float(binom.ppf(q, n, 1 / count)) * count / n for q in (0.025, 0.975))
    ax.axhspan(low, high, color="0.5", alpha=0.2, linewidth=0, label="calibrated: 95 % of the bins")
    ax.axhline(1.0, color="0.5", linewidth=1, zorder=1)
    tops = []
    for one, fill in _drawn(found):
        height = np.histogram(one.pit, edges)[0] * count / n
        tops.append(float(height.max()))
        if fill:
            ax.stairs(height, edges, fill=True, color="C0", alpha=0.4, label=_name(found, one), zorder=2)
            ax.stairs(height, edges, color="C0", zorder=3)
        else:
            ax.stairs(height, edges, color="C1", linestyle="--", linewidth=1.5, label=_name(found, one), zorder=4)
    ax.set(xlabel="probability integral transform of the label", ylabel="density", xlim=(0, 1))
    ax.set_ylim(0, 1.45 * max(*tops, high))  # room for the legend above
    ax.legend(loc="upper center")


def _coverage(ax: Axes, found: sb.Calibration, bins: int | None) -> None:
    curve = found.curve()
    band = "calibrated: 95 % of the curves"
    ax.fill_between(
        100 * curve.nominal, 100 * curve.low, 100 * curve.high, color="0.5", alpha=0.2, linewidth=0, label=band
    )
    ax.plot([0, 100], [0, 100], color="0.5", linewidth=1, zorder=1)
    for one, fill in _drawn(found):
        look = {"color": "C0"} if fill else {"color": "C1", "linestyle": "--"}
        share = one.curve()
        ax.plot(100 * share.nominal, 100 * share.found, label=_name(found, one), **look)  # type: ignore[arg-type]
    ax.set(xlabel="level of the interval (%)", ylabel="labels inside (%)", xlim=(0, 100), ylim=(0, 100))
    ax.legend(loc="upper left")


def _by_spread(ax: Axes, found: sb.Calibration, bins: int | None) -> None:
    parts = found.by_spread(bins)
    spread = np.array([part.spread for part in parts])
    error, low, high, naive = (
        np.array([getattr(part, name) for part in parts]) for name in ("error", "low", "high", "naive")
    )
    most = 1.1 * float(max(high.max(), naive.max(), spread.max()))
    ax.plot([0, most], [0, most], color="0.5", linewidth=1, zorder=1, label="error = spread")
    bars = np.maximum(np.stack([error - low, high - error]), 0.0)
    ax.errorbar(
        spread, error, yerr=bars, fmt="o", color="C0", capsize=3, label=f"{_name(found, found)} (95 %)", zorder=3
    )
    if found.naive is not found:
        ax.plot(spread, naive, linestyle="none", marker="s", fillstyle="none", color="C1", label=_IGNORED, zorder=2)
    ax.set_xlabel(canvas.with_unit("spread that the forecast claims", found.unit))
    ax.set_ylabel(canvas.with_unit("root mean squared error found", found.unit))
    ax.set(xlim=(0, 1.1 * float(spread.max())), ylim=(0, most))
    ax.legend(loc="lower right")


def _drawn(found: sb.Calibration) -> list[tuple[sb.Calibration, bool]]:
    """What is drawn: with label errors allowed for, filled, and ignored, where that differs."""
    return [(found, True)] + ([] if found.naive is found else [(found.naive, False)])


def _name(found: sb.Calibration, one: sb.Calibration) -> str:
    return f"{found.n} labels" if found.naive is found else _ALLOWED if one is found else _IGNORED
