"""The largest and the middle residual."""

from __future__ import annotations

import math
from typing import Any

from scorebars.answers.together.all_labels_metric import AllLabelsMetric
from scorebars.errors import Normal
from scorebars.laws.law import Law
from scorebars.laws.order.largest import MaxErrorLaw
from scorebars.laws.order.median import median_law
from scorebars.measured import Measured
from scorebars.metrics.call import measured, of_all_labels, score, scored
from scorebars.metrics.registry import declares
from scorebars.moments import statistics
from scorebars.score import Declaration, Score, Scores


def _maximum_law(data: Measured, errors: Normal) -> Law:
    return MaxErrorLaw(data.residual, errors.sigma)


def _median_law(data: Measured, errors: Normal) -> Law:
    return median_law(data.residual, errors.sigma)


def _declared(name: str, title: str) -> Declaration:
    return Declaration(name, title, False, "regression", low=0.0, high=math.inf, degree=1, perfect=0.0)


_MAXIMUM = AllLabelsMetric(_declared("max_error", "Maximum error"), statistics.largest, _maximum_law, rank=1.0)
_MEDIAN = AllLabelsMetric(
    _declared("median_absolute_error", "Median absolute error"), statistics.median_absolute, _median_law, rank=0.5
)
_WEIGHTED_MEDIAN = AllLabelsMetric(_MEDIAN.declaration, statistics.median_absolute, None, rank=0.5)


@declares(_MAXIMUM.declaration)
def max_error(y_true: Any, y_pred: Any, *, yerr: Any = None) -> Score:
    r"""How large is the worst residual, and how much of it may be label error?

    Under normal errors :math:`P(\max \le x) = \prod_i [\Phi((x-\delta_i)/\sigma_i) - \Phi((-x-\delta_i)/\sigma_i)]`,
    exact at any number of labels. `truth` can only be bounded, and nothing bounds `total_interval` from above: the
    largest error of the next test set exceeds this one's half of the time.

    Parameters
    ----------
    $one_output

    References
    ----------
    H. A. David, H. N. Nagaraja, Order Statistics, 3rd edition, Wiley (2003).

    Examples
    --------
    $sampl
    >>> s = sb.max_error(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.8900 0.891 ± 0.039
    """
    data = measured(y_true, y_pred, yerr, None)
    if len(data) > 1:
        raise ValueError("Multioutput not supported in max_error: pass one output at a time.")
    return scored(of_all_labels(_MAXIMUM)(data[0]), data[0].unit)


@declares(_MEDIAN.declaration)
def median_absolute_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, multioutput: Any = "uniform_average", sample_weight: Any = None
) -> Score | Scores:
    r"""How large is the middle residual, and how well do the labels let us know it?

    Under normal errors the number of residuals below x is Poisson-binomial, so the distribution of the median is
    exact for an odd number of labels, and an integral for an even one. Where labels without error make steps among others,
    and with weights, it is drawn; `method` says which.

    Parameters
    ----------
    $regression

    References
    ----------
    H. A. David, H. N. Nagaraja, Order Statistics, 3rd edition, Wiley (2003).

    Examples
    --------
    $sampl
    >>> s = sb.median_absolute_error(y, p, yerr=logp.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.2500 0.276 ± 0.042
    """
    metric = _MEDIAN if sample_weight is None else _WEIGHTED_MEDIAN
    return score(of_all_labels(metric), y_true, y_pred, yerr, sample_weight, multioutput, by_variance=True)
