"""The figures of the documentation. Run: python docs/make_figures.py"""

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import scorebars as sb
from scorebars._shared.answer_colours import ANSWER_COLOURS

IMAGES = Path(__file__).parent / "images"


def questions() -> None:
    """The law of the MSE of one small example, with the five answers marked."""
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
    ax.axvline(
        float(np.mean((truth - prediction) ** 2)), color="k", ls=":", label="the true value, known in this simulation"
    )
    ax.set(xlabel="mean squared error", ylabel="density", ylim=(0, 1.1 * top))
    ax.legend(fontsize=8)
    fig.savefig(IMAGES / "questions.png", dpi=120)


def forecasts() -> None:
    """The two PIT histograms of a Gaussian process on counties, and its coverage, from examples/poverty_forecast.py."""
    y, error, found = runpy.run_path(str(IMAGES.parents[1] / "examples" / "poverty_forecast.py"))["forecasts"]()
    judged = sb.calibration(y, found["told"], yerr=error)
    fig, axes = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    for ax, part in zip(axes, ("pit", "coverage"), strict=True):
        sb.plot.calibration(judged, show=part, ax=ax)
    fig.savefig(IMAGES / "forecasts.png", dpi=110)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    questions()
    forecasts()
