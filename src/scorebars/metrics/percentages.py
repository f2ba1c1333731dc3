"""Errors relative to the label: percentage errors and differences of logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from scorebars import checks
from scorebars.answers.base import Answers
from scorebars.answers.means.mean_loss import MeanLoss
from scorebars.answers.means.squared import RootAnswers
from scorebars.losses import PercentageError, SquaredLogError, SymmetricPercentage
from scorebars.measured import Measured, between
from scorebars.metrics.call import mean_of, score
from scorebars.metrics.registry import declares
from scorebars.score import Declaration, Score, Scores


def _error(name: str, title: str, degree: int | None, high: float = math.inf) -> Declaration:
    return Declaration(name, title, False, "regression", low=0.0, high=high, degree=degree, perfect=0.0)


_MAPE = _error("mean_absolute_percentage_error", "Mean absolute percentage error", 0)
_SMAPE = _error("symmetric_mean_absolute_percentage_error", "Symmetric mean absolute percentage error", 0, high=2.0)
_MSLE = _error("mean_squared_log_error", "Mean squared logarithmic error", None)
_RMSLE = _error("root_mean_squared_log_error", "Root mean squared logarithmic error", None)

_percentage = mean_of(_MAPE, PercentageError())
_in_ordinary_units = mean_of(_SMAPE, SymmetricPercentage())
_squared_log = mean_of(_MSLE, SquaredLogError())
_root = partial(RootAnswers.of, _RMSLE, MeanLoss, SquaredLogError())


def _symmetric(data: Measured) -> Answers:
    """A ratio has no unit: found in one in which the squares of label errors are in range."""
    data.require_valid()
    largest = max(float(np.max(np.abs(data.y))), float(np.max(np.abs(data.p))))
    return _in_ordinary_units(data.scaled(between(largest, data.errors.largest(data.labels))))


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

    Parameters
    ----------
    $regression

    References
    ----------
    R. J. Hyndman, A. B. Koehler, Int. J. Forecast. 22 (2006) 679.

    Examples
    --------
    $black_holes
    >>> relative = sb.errors.LogNormal(holes.yerr.mean(axis=0) / y)
    >>> s = sb.mean_absolute_percentage_error(y, p, yerr=relative)
    >>> print(f"{s.observed:.4f}", s)
    0.0423 0.0439 ± 0.0015
    """
    return score(_percentage, y_true, y_pred, yerr, sample_weight, multioutput, flatten=True)


@declares(_SMAPE)
def symmetric_mean_absolute_percentage_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the residual relative to label and prediction together, and how well do the labels let us know it?

    .. math:: \mathrm{observed} = \frac1M\sum\frac{2|y_i - p_i|}{|y_i| + |p_i|}

    between 0 and 2 (not in percent), 0 where both are 0. It is bounded, so all moments exist under every error family;
    they are integrals split at 0 and at the prediction.

    Parameters
    ----------
    $regression

    References
    ----------
    S. Makridakis, Int. J. Forecast. 9 (1993) 527.

    Examples
    --------
    $black_holes
    >>> s = sb.symmetric_mean_absolute_percentage_error(y, p, yerr=holes.yerr)
    >>> print(f"{s.observed:.4f}", s)
    0.0419 0.0440 ± 0.0015
    """
    return score(_symmetric, y_true, y_pred, yerr, sample_weight, multioutput, flatten=True)


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
    Labels or predictions of -1 or less are refused.

    Parameters
    ----------
    $regression

    References
    ----------
    C. Tofallis, J. Oper. Res. Soc. 66 (2015) 1352.

    Examples
    --------
    $black_holes
    >>> relative = sb.errors.LogNormal(holes.yerr.mean(axis=0) / y)
    >>> s = sb.mean_squared_log_error(y, p, yerr=relative)
    >>> print(f"{s.observed:.5f}", s)
    0.00233 0.00250 ± 0.00015
    """
    maker = _above_minus_one("Mean Squared Logarithmic Error", _squared_log)
    return score(maker, y_true, y_pred, yerr, sample_weight, multioutput, flatten=True)


@declares(_RMSLE)
def root_mean_squared_log_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the root mean squared difference of logarithms, and how well do the labels let us know it?

    The square root of `mean_squared_log_error`, for each output before any average. Its law is that of the root; the
    expected value comes from draws (with their exact mean and variance as controls), exactly for a single label. Where
    labels can fall to -1 or below, `expected` is ``inf`` and the errors are cut at -1, as for `mean_squared_log_error`.
    Labels or predictions of -1 or less are refused.

    Parameters
    ----------
    $regression

    References
    ----------
    C. Tofallis, J. Oper. Res. Soc. 66 (2015) 1352.

    Examples
    --------
    $black_holes
    >>> relative = sb.errors.LogNormal(holes.yerr.mean(axis=0) / y)
    >>> print(sb.root_mean_squared_log_error(y, p, yerr=relative))
    0.0500 ± 0.0015
    """
    maker = _above_minus_one("Root Mean Squared Logarithmic Error", _root)
    return score(maker, y_true, y_pred, yerr, sample_weight, multioutput)
