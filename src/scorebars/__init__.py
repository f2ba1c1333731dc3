"""scorebars: scores with error bars.

Machine-learning metrics that know how well the labels were measured::

    import scorebars as sb

    s = sb.mean_absolute_error(y_true, y_pred, yerr=0.1)
    print(s, s.observed, s.truth, s.perfect)
"""

from scorebars import datasets, errors
from scorebars.compare import Comparison, Ranking, compare
from scorebars.cross_validate import CrossValidation, cross_validate
from scorebars.diagnostics import ErrorCheck, check_errors
from scorebars.engines.config import show_config
from scorebars.errors import (
    Empirical,
    Flip,
    Laplace,
    LogNormal,
    Normal,
    Poisson,
    Repeats,
    Rounding,
    SplitNormal,
    StudentT,
    Triangular,
    Uniform,
)
from scorebars.evaluate import Evaluation, evaluate
from scorebars.metrics.accuracy import accuracy_score, zero_one_loss
from scorebars.metrics.chi_squared import reduced_chi_squared
from scorebars.metrics.custom import metric
from scorebars.metrics.relative import (
    mean_absolute_percentage_error,
    mean_squared_log_error,
    root_mean_squared_log_error,
    symmetric_mean_absolute_percentage_error,
)
from scorebars.metrics.residuals import (
    mean_absolute_error,
    mean_error,
    mean_squared_error,
    root_mean_squared_error,
)
from scorebars.metrics.robust import huber_loss, log_cosh_loss, mean_pinball_loss
from scorebars.metrics.scatter import intrinsic_scatter
from scorebars.metrics.tolerance import fraction_within
from scorebars.plan import Plan, plan
from scorebars.propagate import Propagated, propagate
from scorebars.score import Estimate, Interval, Score, Scores, UndefinedEstimate, UndefinedMomentWarning

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "CrossValidation",
    "Empirical",
    "ErrorCheck",
    "Estimate",
    "Evaluation",
    "Flip",
    "Interval",
    "Laplace",
    "LogNormal",
    "Normal",
    "Plan",
    "Poisson",
    "Propagated",
    "Ranking",
    "Repeats",
    "Rounding",
    "Score",
    "Scores",
    "SplitNormal",
    "StudentT",
    "Triangular",
    "UndefinedEstimate",
    "UndefinedMomentWarning",
    "Uniform",
    "accuracy_score",
    "check_errors",
    "compare",
    "cross_validate",
    "datasets",
    "errors",
    "evaluate",
    "fraction_within",
    "huber_loss",
    "intrinsic_scatter",
    "log_cosh_loss",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_error",
    "mean_pinball_loss",
    "mean_squared_error",
    "mean_squared_log_error",
    "metric",
    "plan",
    "propagate",
    "reduced_chi_squared",
    "root_mean_squared_error",
    "root_mean_squared_log_error",
    "show_config",
    "symmetric_mean_absolute_percentage_error",
    "zero_one_loss",
]
