"""The pictures of the pages, drawn while the docs are built. Run: python docs/make_figures.py, for that of the README"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import scorebars as sb
from scorebars._shared.answer_colours import ANSWER_COLOURS

IMAGES = Path(__file__).resolve().parent / "images"


def three_label_qualities() -> Any:
    """The same predictions of the same items, their labels measured well, fairly and badly."""
    rng = np.random.default_rng(4)
    truth = rng.uniform(0, 10, 150)
    prediction = truth + 0.6 * rng.standard_normal(150)
    small = {"font.size": 9, "axes.titlesize": 9.5, "xtick.labelsize": 8, "ytick.labelsize": 8}
    with plt.rc_context(small):
        fig, axes = plt.subplots(1, 3, figsize=(8.6, 2.15), constrained_layout=True, sharex=True, sharey=True)
        for ax, sigma, word in zip(axes, (0.1, 0.6, 1.2), ("well", "fairly", "badly"), strict=True):
            y = truth + sigma * rng.standard_normal(150)
            s = sb.root_mean_squared_error(y, prediction, yerr=sigma)
            grey = ANSWER_COLOURS["observed"].light
            ax.errorbar(y, prediction, xerr=sigma, fmt="o", ms=2.4, mew=0, lw=0.6, color=grey, alpha=0.6)
            ax.plot([-2, 12], [-2, 12], color="0.4", lw=0.8, zorder=0)
            ax.set_title(f"labels measured {word}: ± {sigma}")
            lines = [
                f"observed {s.observed:.2f}",
                f"truth    {s.truth:.2f} ± {s.truth.std:.2f}",
                f"perfect  {s.perfect:.2f}",
            ]
            ax.text(0.03, 0.96, "\n".join(lines), transform=ax.transAxes, va="top", family="monospace", weight="bold")
        axes[0].set(ylabel="prediction", xlim=(-3, 13), ylim=(-1.5, 15.5), xticks=[0, 5, 10], yticks=[0, 5, 10])
        known = f"{_rms(prediction - truth):.2f}"
        axes[1].set_xlabel(f"label      (root mean squared error of the same predictions; its true value is {known})")
    return fig


def _rms(x: Any) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


def questions() -> Any:
    """The distribution of the MSE of one small example, with the five answers marked."""
    rng = np.random.default_rng(3)
    truth = np.linspace(0, 10, 30)
    sigma = rng.uniform(0.6, 1.4, truth.size)
    y = truth + sigma * rng.standard_normal(truth.size)
    prediction = truth + 0.8 * rng.standard_normal(truth.size)
    s = sb.mean_squared_error(y, prediction, yerr=sigma)
    x = np.linspace(*s.distribution.ppf([0.0005, 0.9995]), 400)
    fig, ax = plt.subplots(figsize=(8, 4), constrained_layout=True)
    moved = "distribution of the metric if labels are redrawn"
    ax.fill_between(x, s.distribution.pdf(x), color=ANSWER_COLOURS["expected"].light, alpha=0.25, lw=0, label=moved)
    top = float(np.max(s.distribution.pdf(x)))
    marks = (
        ("perfect", float(s.perfect), "a perfect model on these labels"),
        ("truth", float(s.truth), "against the true values"),
        ("observed", s.observed, "the classical metric"),
        ("expected", s.expected, "labels redrawn from their error bars"),
    )
    for name, value, meaning in sorted(marks, key=lambda m: m[1]):
        ax.axvline(value, color=ANSWER_COLOURS[name].light, lw=2, label=f"{name}: {meaning}")
    known = float(np.mean((truth - prediction) ** 2))
    ax.axvline(known, color="k", ls=":", label="the true value, known in this simulation")
    ax.set(xlabel="mean squared error", ylabel="density", ylim=(0, 1.1 * top))
    ax.legend(fontsize=8)
    return fig


def forecasts() -> Any:
    """The two PIT histograms of a Gaussian process on counties, and its coverage, from examples/poverty_forecast.py."""
    y, error, found = runpy.run_path(str(IMAGES.parents[1] / "examples" / "poverty_forecast.py"))["forecasts"]()
    judged = sb.calibration(y, found["told"], yerr=error)
    fig, axes = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    for ax, part in zip(axes, ("pit", "coverage"), strict=True):
        sb.plot.calibration(judged, show=part, ax=ax)
    return fig


def house() -> Any:
    """The rooms of the source from the border to the user, and which imports which: read from the source itself."""
    layers = runpy.run_path(str(IMAGES.parents[1] / "tests" / "test_layers.py"))
    found: dict[str, set[str]] = {}
    sizes: dict[str, int] = {}
    for path in layers["modules"]():
        room = layers["layer_of"](path)
        sizes[room] = sizes.get(room, 0) + 1
        for name in layers["imports"](path):
            parts = name.split(".")
            if parts[0] == "scorebars" and len(parts) > 1 and parts[1] in layers["RANK"] and parts[1] != room:
                found.setdefault(room, set()).add(parts[1])

    def reached(room: str, others: set[str]) -> bool:
        """Whether a room is imported by way of others."""
        return any(room in found.get(other, ()) or reached(room, found.get(other, set())) for other in others)

    fig, ax = plt.subplots(figsize=(9, 10), constrained_layout=True)
    places = {}
    rows = [[room for room in row if room in sizes] for row in layers["LAYERS"]]
    for height, row in enumerate(row for row in rows if row):
        for k, room in enumerate(row):
            places[room] = (2.2 * (k - (len(row) - 1) / 2) + 1.6 * np.sin(1.9 * height), -height)
    for room, others in found.items():
        for other in others & places.keys():
            if room in places and not reached(other, others - {other}):  # not what others bring with them
                line = {"arrowstyle": "-|>", "color": "0.65", "lw": 0.7, "shrinkA": 12, "shrinkB": 12}
                ax.annotate("", places[other], places[room], arrowprops={**line, "connectionstyle": "arc3,rad=0.12"})
    for room, (x, height) in places.items():
        text = f"{room}\n{sizes[room]} file{'s' if sizes[room] > 1 else ''}"
        box = {"boxstyle": "round,pad=0.35", "fc": "white", "ec": ANSWER_COLOURS["truth"].light}
        ax.text(x, height, text, ha="center", va="center", fontsize=9, color="black", bbox=box)
    ax.text(-4.4, 0, "border", rotation=90, va="top", color="0.4")
    ax.text(-4.4, min(h for _, h in places.values()), "user", rotation=90, va="bottom", color="0.4")
    ax.set(xlim=(-4.6, 4.6), ylim=(min(h for _, h in places.values()) - 0.7, 0.7))
    ax.axis("off")
    return fig


if __name__ == "__main__":
    three_label_qualities().savefig(IMAGES / "three_label_qualities.png", dpi=200, metadata={"Software": None})
