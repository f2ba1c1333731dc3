"""What all figures share: the axes to draw in, units, the look of each answer, and the scores behind a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import scorebars as sb
from scorebars._shared.answer_colours import ANSWER_COLOURS
from scorebars._shared.metric_names import SHORT_NAMES
from scorebars._shared.score_views import QUESTIONS, answers_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 1.9
"""Height of a row of text, in units of the font size."""

DASHES = ("-", "--", "-.", ":")
"""Line styles for curves of one kind, so that they differ in print without colours."""


class Look(NamedTuple):
    """How an answer is drawn in all figures, besides its colour."""

    marker: str
    line: str


LOOKS = {
    "expected": Look("s", "--"),
    "observed": Look("o", "-"),
    "truth": Look("D", "-."),
    "perfect": Look("^", ":"),
}
MEANINGS = {question.name: question.label for question in QUESTIONS}


def axes_of(ax: Any, rows: int = 0) -> Axes:
    """The axes to draw in; without any, new ones, high enough for this many rows of text."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes
    except ImportError as why:
        raise ImportError("scorebars.plot needs matplotlib: pip install 'scorebars[plot]'") from why
    if ax is None:
        width, height = plt.rcParams["figure.figsize"]
        needed = (rows + 4) * _LINE * plt.rcParams["font.size"] / 72 if rows else 0.0
        return plt.subplots(figsize=(width, max(height, needed)), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(
            f"ax must be the matplotlib Axes to draw in, got {type(ax).__name__}. Pass one of the subplots."
        )
    return ax


def is_dark(ground: Sequence[float]) -> bool:
    """Whether a colour, as red, green and blue, is a dark ground.

    >>> is_dark((0, 0, 0.2)), is_dark((1, 1, 0.8))
    (True, False)
    """
    return bool(np.dot(ground[:3], (0.299, 0.587, 0.114)) <= 0.5)


def color_of(name: str, ax: Axes) -> str:
    """The colour of an answer on the ground of these axes."""
    from matplotlib.colors import to_rgb

    return ANSWER_COLOURS[name][is_dark(to_rgb(ax.get_facecolor()))]


def with_unit(name: str, unit: str) -> str:
    """An axis label.

    >>> with_unit("measured", "MeV"), with_unit("accuracy", "")
    ('measured (MeV)', 'accuracy')
    """
    return f"{name} ({unit})" if unit else name


def chance(probability: float) -> str:
    """A probability in three digits that never rounds to certainty.

    >>> chance(0.7364), chance(0.99999), chance(1e-9)
    ('0.736', '>0.999', '<0.001')
    """
    return "<0.001" if probability < 0.001 else ">0.999" if probability > 0.999 else f"{probability:.3f}"


def need(value: Any, kind: type | tuple[type, ...], what: str, hint: str) -> None:
    """Refuse an object that this figure does not draw."""
    if not isinstance(value, kind):
        raise TypeError(f"{what}, got {type(value).__name__}. {hint}")


def curves(
    ax: Axes, x: NDArray[np.float64], scores: Sequence[sb.Score], level: float, marks: Mapping[float, str]
) -> None:
    """The answers of a series of scores as lines, with the band in which the metric falls if labels are redrawn.

    `marks` are lines across, by their place. No curve leaves the range of the metric, and the legend has room of its own:
    above losses, which grow with the label errors, and below scores, which fall.
    """
    ends = np.array([score.interval(level) for score in scores])
    answers = [answers_of(score, LOOKS) for score in scores]
    for name, look in LOOKS.items():
        values = np.array([found[name].value for found in answers], dtype=np.float64)  # NaN for None
        color = color_of(name, ax)
        ax.plot(x, values, color=color, linestyle=look.line, label=f"{name}: {MEANINGS[name]}")
        if name == "expected":
            band = f"… {level:.0%} of the time in this band"
            ax.fill_between(x, *ends.T, color=color, alpha=0.25, linewidth=0, label=band)
    declared = scores[0].declaration
    low, high = ax.get_ylim()
    high = min(high, declared.high + 0.03 * (declared.high - low))
    if declared.greater_is_better:
        ax.set_ylim(low - 0.5 * (high - low), high)
        ax.legend(loc="lower left")
    else:
        ax.set_ylim(low, high + 0.2 * (high - low))
        ax.legend(loc="upper left")
    ax.margins(x=0)
    for place, text in marks.items():
        ax.axvline(place, color="0.5", linewidth=1, zorder=1)
        ax.annotate(text, (place, 1.01), xycoords=("data", "axes fraction"), ha="center", va="bottom")


def score_of_model(y_true: Any, y_pred: Any, yerr: Any, metric: Any, sample_weight: Any = None) -> sb.Score:
    """The score of one model."""
    function = metric if callable(metric) else getattr(sb, SHORT_NAMES.get(metric, str(metric)), None)
    if not callable(function):
        raise ValueError(f"there is no metric {metric!r}. sb.capabilities() lists the metrics.")
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}  # correlations take none
    score = function(y_true, y_pred, yerr=yerr, **weights)
    if not isinstance(score, sb.Score):
        raise ValueError(f"metric {metric!r} gives no Score to draw. Choose one that does, such as 'accuracy_score'.")
    return score


def score_of_each_model(given: Any, metric: str | None) -> dict[str, sb.Score]:
    """One score for each model, from an Evaluation, a mapping of names to Scores, or a single Score."""
    if isinstance(given, sb.Score):
        return {given.declaration.title: given}
    if isinstance(given, sb.Evaluation):
        chosen = given.metrics[0] if metric is None else metric
        return {model: given[model, chosen] for model in given.models}
    if isinstance(given, Mapping) and given and all(isinstance(score, sb.Score) for score in given.values()):
        return {str(name): score for name, score in given.items()}
    raise TypeError(
        f"scores must be an Evaluation, a mapping of model names to Scores, or a Score, got {type(given).__name__}. Pass "
        "what sb.evaluate(...) returns."
    )


def scaled_errors(yerr: Any) -> Callable[[float], Any]:
    """How to multiply all label errors by a factor; families that are tied to the labels' values refuse."""
    if isinstance(yerr, sb.Flip):
        return lambda factor: sb.Flip(np.asarray(yerr.q) * factor, yerr.correlation, kind=yerr.kind)
    widths = (sb.Normal, sb.SplitNormal, sb.Uniform, sb.Rounding, sb.Triangular, sb.Laplace, sb.StudentT, sb.Repeats)
    if isinstance(yerr, widths):
        return yerr.scaled
    if isinstance(yerr, sb.errors.ErrorModel):
        raise ValueError(
            f"yerr is {type(yerr).__name__}, whose errors cannot be scaled as a whole. Give standard deviations, a "
            "probability of wrong labels, or an error model with a width, such as Normal(sigma)."
        )
    if yerr is None:
        raise ValueError("yerr is missing: without label errors there is nothing to scale.")
    values = yerr if hasattr(yerr, "to_value") else np.asarray(yerr, dtype=np.float64)
    return lambda factor: values * factor
