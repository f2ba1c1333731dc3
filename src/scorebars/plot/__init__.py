"""Figures with matplotlib: scores, their error bars, and what they say.

Which one do I use?

==========================================================================  ====================
you want to see                                                             figure
==========================================================================  ====================
predictions against labels, with the labels' error bars                     `parity`
the answers of a score side by side, and its distribution                   `distribution`
whether residuals are as large as the label errors say                      `pulls`
whether a forecast's error bars are right                                   `calibration`
how much of each model's error is label error                               `noise_budget`
which models differ, and by how much                                        `forest`
which rank each model has, and how surely                                   `ranking`
what happens to a score if the label errors are larger or smaller           `sensitivity`
what happens to an accuracy if labels are wrong more or less often          `accuracy_vs_q`
where wrong labels move the items of a confusion matrix                     `flip_flow`
how many labels and repeats to buy                                          `plan`
==========================================================================  ====================

Every function draws into ``ax`` (a new figure if it is None) and returns the axes. Fonts, sizes and colours are those of
your matplotlib style, but each answer has one colour everywhere: observed grey, expected blue, truth green, perfect orange,
lighter on dark axes. What a colour says is always said by a marker, a line style or a word as well.
"""

from scorebars.plot.decision_figures import forest, noise_budget, plan, ranking
from scorebars.plot.flip_flow import flip_flow
from scorebars.plot.forecast_figures import calibration
from scorebars.plot.model_figures import accuracy_vs_q, distribution, parity, pulls, sensitivity

__all__ = [
    "accuracy_vs_q",
    "calibration",
    "distribution",
    "flip_flow",
    "forest",
    "noise_budget",
    "parity",
    "plan",
    "pulls",
    "ranking",
    "sensitivity",
]


def __dir__() -> list[str]:
    """The figures, and not the modules that draw them."""
    return __all__
