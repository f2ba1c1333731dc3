"""Means of residuals: squared, root squared, absolute and signed."""

from __future__ import annotations

import math
from typing import Any

from scorebars.answers.absolute import AbsoluteAnswers
from scorebars.answers.root import RootAnswers
from scorebars.answers.signed import SignedAnswers
from scorebars.answers.squared import SquaredAnswers
from scorebars.losses import AbsoluteError, SignedError, SquaredError
from scorebars.measured import Measured
from scorebars.metrics.additive import mean_loss, score
from scorebars.metrics.registry import declares
from scorebars.score import Declaration, Score, Scores

_MSE = Declaration(
    "mean_squared_error", "Mean squared error", False, "regression", low=0.0, high=math.inf, degree=2, perfect=0.0
)
_RMSE = Declaration(
    "root_mean_squared_error",
    "Root mean squared error",
    False,
    "regression",
    low=0.0,
    high=math.inf,
    degree=1,
    perfect=0.0,
)
_MAE = Declaration(
    "mean_absolute_error", "Mean absolute error", False, "regression", low=0.0, high=math.inf, degree=1, perfect=0.0
)
_BIAS = Declaration(
    "mean_error", "Mean error (bias)", False, "regression", low=-math.inf, high=math.inf, degree=1, perfect=0.0
)

_squared = mean_loss(_MSE, SquaredError(), SquaredAnswers)
_absolute = mean_loss(_MAE, AbsoluteError(), AbsoluteAnswers)
_signed = mean_loss(_BIAS, SignedError(), SignedAnswers)


def _root(data: Measured) -> RootAnswers:
    squared = _squared(data)
    assert isinstance(squared, SquaredAnswers)
    return RootAnswers(_RMSE, squared)


@declares(_MSE, _squared)
def mean_squared_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the mean squared residual, and how well do the labels let us know it?

    With residuals :math:`\delta_i = y_i - p_i` and normal errors :math:`\sigma_i`:

    .. math::
        \mathrm{observed} = \frac1M\sum\delta_i^2, \qquad
        \mathrm{expected} = \frac1M\sum(\delta_i^2 + \sigma_i^2), \qquad
        \mathrm{variance} = \frac1{M^2}\sum(2\sigma_i^4 + 4\delta_i^2\sigma_i^2),

    the law is a generalised chi-square (non-central chi-square where all errors are equal), and the unbiased score
    against the truth is :math:`\mathrm{truth} = \frac1M\sum(\delta_i^2 - \sigma_i^2)`.

    Parameters
    ----------
    y_true, y_pred : (n,) or (n, outputs)
        Labels and predictions.
    yerr : number, (n,), (2, n) or error model, optional
        *Standard deviation* of each label (not its variance), lower and upper errors as in matplotlib, or a model from
        `scorebars.errors`. Without it the labels are exact and the score equals scikit-learn's.
    sample_weight : (n,), optional
        How much each label counts.
    multioutput : {"uniform_average", "raw_values"} or (outputs,)
        Average over outputs, one Score for each, or weights for the average.

    Returns
    -------
    Score or Scores

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.mean_squared_error([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0], yerr=0.5)
    >>> s.observed, s.expected, s.truth.value, s.perfect.value
    (0.375, 0.625, 0.125, 0.25)
    >>> print(s)
    0.62 ± 0.35
    """
    return score(_squared, y_true, y_pred, yerr, sample_weight, multioutput)


@declares(_RMSE, _root)
def root_mean_squared_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the root mean squared residual, and how well do the labels let us know it?

    The law is that of the square root of the mean squared error :math:`Q`; the expected value is
    :math:`E\sqrt Q`, which is below :math:`\sqrt{E\,Q}`:

    .. math:: \sqrt{\mu} - E\sqrt Q = \frac1{2\sqrt\pi}\int_0^\infty \bigl[E e^{-tQ} - e^{-t\mu}\bigr]\,t^{-3/2}\,dt .

    The score against the truth is :math:`\sqrt{\max(0, \mathrm{truth\ of\ the\ MSE})}`.

    Parameters are those of `mean_squared_error`.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.root_mean_squared_error([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0], yerr=0.5)
    >>> print(s, s.truth)
    0.76 ± 0.22 0.35 ± 0.35
    """
    return score(_root, y_true, y_pred, yerr, sample_weight, multioutput, flatten=False)


@declares(_MAE, _absolute)
def mean_absolute_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""How large is the mean absolute residual, and how well do the labels let us know it?

    Under normal errors each :math:`|y_i - p_i|` is a folded normal. With :math:`z_i = |\delta_i|/\sigma_i` and
    :math:`g(z) = 2[\varphi(z) - z\,Q(z)]`:

    .. math::
        \mathrm{expected} = \frac1M\sum\bigl(|\delta_i| + \sigma_i g(z_i)\bigr), \qquad
        \mathrm{variance} = \frac1{M^2}\sum\sigma_i^2\,\bigl(1 - 2 z_i g(z_i) - g(z_i)^2\bigr).

    No unbiased estimate of the score against the truth exists (the absolute value has a kink). `truth` comes from the
    nonparametric maximum likelihood estimate of the law of the true residuals (``method="npmle"``), with few labels or
    correlated errors from an extrapolation to zero label error (``"simex"``); its `note` gives the bounds that hold
    whatever the true residuals are. How well it is known comes from the likelihood, or, drawn anew, from
    ``truth.bootstrap(draws, rng)``.

    Parameters are those of `mean_squared_error`; `yerr` is a *standard deviation*.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.mean_absolute_error([0.5], [0.0], yerr=0.2)
    >>> round(s.expected, 12), round(s.variance, 12)
    (0.500801654872, 0.039197702478)
    """
    return score(_absolute, y_true, y_pred, yerr, sample_weight, multioutput)


@declares(_BIAS, _signed)
def mean_error(
    y_true: Any, y_pred: Any, *, yerr: Any = None, sample_weight: Any = None, multioutput: Any = "uniform_average"
) -> Score | Scores:
    r"""Does the model predict too high (positive) or too low (negative) on average?

    .. math:: \mathrm{observed} = \frac1M\sum(p_i - y_i), \qquad \mathrm{variance} = \frac1{M^2}\,1'\Sigma\,1

    Its law under normal errors is normal. A bias common to all labels cannot be told from a bias of the model.

    Parameters are those of `mean_squared_error`; `yerr` is a *standard deviation*.

    Examples
    --------
    >>> import scorebars as sb
    >>> s = sb.mean_error([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 3.5, 4.0], yerr=0.2)
    >>> print(s)
    0.25 ± 0.10
    """
    return score(_signed, y_true, y_pred, yerr, sample_weight, multioutput)
