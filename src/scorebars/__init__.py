"""scorebars: scores with error bars.

Machine-learning metrics that know how well the labels were measured::

    import scorebars as sb

    s = sb.mean_absolute_error(y_true, y_pred, yerr=0.1)
    print(s, s.observed, s.truth, s.perfect)
"""

from scorebars import datasets, errors
from scorebars.errors import Flip, Normal, SplitNormal
from scorebars.metrics.accuracy import accuracy_score, zero_one_loss
from scorebars.metrics.residuals import (
    mean_absolute_error,
    mean_error,
    mean_squared_error,
    root_mean_squared_error,
)
from scorebars.score import Estimate, Interval, Score, Scores, UndefinedEstimate, UndefinedMomentWarning

__version__ = "0.1.0"

__all__ = [
    "Estimate",
    "Flip",
    "Interval",
    "Normal",
    "Score",
    "Scores",
    "SplitNormal",
    "UndefinedEstimate",
    "UndefinedMomentWarning",
    "accuracy_score",
    "datasets",
    "errors",
    "mean_absolute_error",
    "mean_error",
    "mean_squared_error",
    "root_mean_squared_error",
    "zero_one_loss",
]
