"""Errors relative to the label: percentage errors and differences of logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from scorebars import checks
from scorebars.answers.generic import GenericAnswers, SquaredLogAnswers
from scorebars.answers.root import RootAnswers
from scorebars.losses import PercentageError, SquaredLogError, SymmetricPercentage
from scorebars.measured import Measured, between
from scorebars.metrics import inputs
from scorebars.metrics.additive import mean_loss, score
from scorebars.metrics.registry import declares
from scorebars.score import Answers, Declaration, Score, Scores

_MAPE = Declaration(
    "mean_absolute_percentage_error",
    "Mean absolute percentage error",
    False,
    "regression",
    low=0.0,
    high=math.inf,
    degree=0,
    perfect=0.0,
)
_SMAPE = Declaration(
    "symmetric_mean_absolute_percentage_error",
    "Symmetric mean absolute percentage error",
    False,
    "regression",
    low=0.0,
    high=2.0,
    degree=0,
    perfect=0.0,
)
_MSLE = Declaration(
    "mean_squared_log_error",
    "Mean squared logarithmic error",
    False,
    "regression",
    low=0.0,
    high=math.inf,
    degree=None,
    perfect=0.0,
)
_RMSLE = Declaration(
    "root_mean_squared_log_error",
    "Root mean squared logarithmic error",
    False,
    "regression",
    low=0.0,
    high=math.inf,
    degree=None,
    perfect=0.0,
)

_percentage = mean_loss(_MAPE, PercentageError(), GenericAnswers)
_in_ordinary_units = mean_loss(_SMAPE, SymmetricPercentage(), GenericAnswers)
_squared_log = mean_loss(_MSLE, SquaredLogError(), SquaredLogAnswers)


def _symmetric(data: Measured) -> Answers:
    """A ratio has no unit: found in one in which the squares of label errors are in range."""
    inputs.diagnose(data)
    largest = max(float(np.max(np.abs(data.y))), float(np.max(np.abs(data.p))))
    return _in_ordinary_units(data.scaled(between(largest, data.errors.largest(np.asarray(data.y, dtype=np.float64)))))


def _above_minus_one(title: str, make: Callable[[Measured], Answers]) -> Callable[[Measured], Answers]:
    """Refuse labels and predictions that have no logarithm."""

    def checked(data: Measured) -> Answers:
        for values, argument in ((data.y, "y_true"), (data.p, "y_pred")):
            bad = np.asarray(values) <= -1
            if bad.any():
                raise checks.complain(
                    f"{title} cannot be used when targets contain values less than or equal to -1: {argument}",
                    "has such values",
                    bad,
                    np.asarray(values),
                    "The logarithm of 1 + value does not exist there.",
                )
        return make(data)

    return checked


def _root(data: Measured) -> RootAnswers:
    squared = _squared_log(data)
    assert isinstance(squared, SquaredLogAnswers)
    return RootAnswers(_RMSLE, squared)


@declares(_MAPE)
def mean_absolute_percentage_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the residual relative to the label, and how well do the labels let us know it?

    .. math:: \mathrm{observed} = \frac1M\sum\frac{|y_i - p_i|}{\max(|y_i|, \epsilon)}

    as a share (0.1 for 10 %), with :math:`\epsilon = 2.2\cdot10^{-16}` as in scikit-learn. **Under normal errors, and
    under every law that lets a label come close to 0, the expected value is infinite**: `expected` and `std` are then
    ``inf``, with a warning, while median and intervals of `distribution` exist. Under `LogNormal` errors (relative errors
    are what a percentage error suggests) all is finite: with :math:`W = p/y` log-normal it is :math:`E|1 - W|`.

    Parameters are those of `mean_squared_error`.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.mean_absolute_percentage_error([2.0], [2.5], yerr=sb.errors.LogNormal(0.25))
    >>> round(s.observed, 6), round(s.expected, 6), round(s.variance, 6)
    (0.25, 0.335198, 0.078828)
    """
    return score(_percentage, y_true, y_pred, yerr, sample_weight, multioutput)


@declares(_SMAPE)
def symmetric_mean_absolute_percentage_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the residual relative to label and prediction together, and how well do the labels let us know it?

    .. math:: \mathrm{observed} = \frac1M\sum\frac{2|y_i - p_i|}{|y_i| + |p_i|}

    between 0 and 2 (not in percent), 0 where both are 0. It is bounded, so all moments exist under every error family;
    they are integrals split at 0 and at the prediction.

    Parameters are those of `mean_squared_error`.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.symmetric_mean_absolute_percentage_error([1.0, -0.5, 3.0], [1.25, 0.5, 2.0], yerr=[0.5, 0.25, 0.0])
    >>> round(s.expected, 12), round(s.variance, 12)
    (0.951155425075, 0.024385702874)
    """
    return score(_symmetric, y_true, y_pred, yerr, sample_weight, multioutput)


@declares(_MSLE)
def mean_squared_log_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the mean squared difference of logarithms, and how well do the labels let us know it?

    .. math:: \mathrm{observed} = \frac1M\sum\bigl(\log(1 + y_i) - \log(1 + p_i)\bigr)^2

    Labels at or below -1 have no logarithm. **Where label errors allow them, as normal errors always do, the expected
    value does not exist**: `expected` and `std` are ``inf``, with a warning that says how probable such labels are.
    `distribution`, `interval` and the interval of `perfect` are then those of labels whose errors are cut at -1: each label
    has its law given that it is above, whether errors are independent or shared. `LogNormal`, `Poisson` and bounded errors
    are integrated. If the errors are normal in :math:`\log(1+y)`, use `mean_squared_error` of the logarithms.

    Parameters are those of `mean_squared_error`. Labels or predictions of -1 or less are refused.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.mean_squared_log_error([3.0, 5.0], [2.5, 5.0], yerr=sb.errors.LogNormal(0.1))
    >>> round(s.observed, 6), round(s.expected, 6)
    (0.008915, 0.01532)
    """
    maker = _above_minus_one("Mean Squared Logarithmic Error", _squared_log)
    return score(maker, y_true, y_pred, yerr, sample_weight, multioutput)


@declares(_RMSLE)
def root_mean_squared_log_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the root mean squared difference of logarithms, and how well do the labels let us know it?

    The square root of `mean_squared_log_error`, for each output before any average. Its law is that of the root; the
    expected value comes from draws (with their exact mean and variance as controls), exactly for a single label. Where
    labels can fall to -1 or below, `expected` is ``inf`` and the errors are cut at -1, as for `mean_squared_log_error`.

    Parameters are those of `mean_squared_error`. Labels or predictions of -1 or less are refused.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.root_mean_squared_log_error([3.0, 5.0], [2.5, 5.0], yerr=sb.errors.Uniform(0.5))
    >>> print(s)
    0.101 ± 0.047
    """
    maker = _above_minus_one("Root Mean Squared Logarithmic Error", _root)
    return score(maker, y_true, y_pred, yerr, sample_weight, multioutput, flatten=False)
