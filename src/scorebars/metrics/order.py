"""The largest and the middle residual."""

from __future__ import annotations

import math
from typing import Any

from scorebars.answers.joint import JointMetric
from scorebars.errors import Normal
from scorebars.laws.base import Law
from scorebars.laws.maximum import MaxErrorLaw
from scorebars.laws.median import MedianAbsoluteErrorLaw
from scorebars.measured import Measured
from scorebars.metrics.joint import joint_score
from scorebars.metrics.registry import declares
from scorebars.moments import statistics
from scorebars.score import Declaration, Score, Scores


def _maximum_law(data: Measured, errors: Normal) -> Law:
    return MaxErrorLaw(data.residual, errors.sigma)


def _median_law(data: Measured, errors: Normal) -> Law:
    return MedianAbsoluteErrorLaw(data.residual, errors.sigma)


def _declared(name: str, title: str) -> Declaration:
    return Declaration(name, title, False, "regression", low=0.0, high=math.inf, degree=1, perfect=0.0)


_MAXIMUM = JointMetric(_declared("max_error", "Maximum error"), statistics.largest, _maximum_law, rank=1.0)
_MEDIAN = JointMetric(
    _declared("median_absolute_error", "Median absolute error"), statistics.median_absolute, _median_law, rank=0.5
)
_WEIGHTED_MEDIAN = JointMetric(_MEDIAN.declaration, statistics.median_absolute, None, rank=0.5)


@declares(_MAXIMUM.declaration)
def max_error(y_true: Any, y_pred: Any, *, yerr: Any = None) -> Score:
    r"""How large is the worst residual, and how much of it may be label error?

    Under normal errors :math:`P(\max \le x) = \prod_i [\Phi((x-\delta_i)/\sigma_i) - \Phi((-x-\delta_i)/\sigma_i)]`,
    exact at any number of labels. `truth` can only be bounded, and nothing bounds `total_interval` from above: the
    largest error of the next test set exceeds this one's half of the time.
    Parameters are those of `mean_squared_error` (one output, no weights).

    Examples
    --------
    >>> import scorebars as sb
    >>> print(sb.max_error([0.5], [0.0], yerr=1.0))
    0.90 ± 0.67
    """
    found = joint_score(_MAXIMUM, y_true, y_pred, yerr, None)
    if not isinstance(found, Score) or (getattr(y_true, "ndim", 1) > 1 and y_true.shape[1] > 1):
        raise ValueError("Multioutput not supported in max_error: pass one output at a time.")
    return found


@declares(_MEDIAN.declaration)
def median_absolute_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, multioutput: Any = "uniform_average", sample_weight: Any = None
) -> Score | Scores:
    r"""How large is the middle residual, and how well do the labels let us know it?

    Under normal errors the number of residuals below x is Poisson-binomial, so the law of the median is exact for odd
    and even numbers of labels. With weights the law is drawn. Parameters are those of `mean_squared_error`.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.median_absolute_error([0.5, -1.25, 3.0], [0.0, 0.0, 0.25], yerr=[0.75, 0.5, 1.0])
    >>> print(s.observed, s)
    1.25 1.32 ± 0.45
    """
    metric = _MEDIAN if sample_weight is None else _WEIGHTED_MEDIAN
    return joint_score(metric, y_true, y_pred, yerr, sample_weight, multioutput)
